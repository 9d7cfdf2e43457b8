// A number of tokens to think with as a word, for models that are told by a word.
import type { Effort } from '../core/chat.ts'

const LOW_TOKENS_MAX = 2048
const MEDIUM_TOKENS_MAX = 16_384

export function effortFor(budget: number): Effort {
  if (budget <= LOW_TOKENS_MAX) return 'low'
  return budget <= MEDIUM_TOKENS_MAX ? 'medium' : 'high'
}

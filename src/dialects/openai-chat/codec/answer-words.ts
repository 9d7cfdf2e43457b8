// What a whole answer and a stream say in the same words: usage, and thoughts with the seals that their supplier wants
// back. Seals leave marked with who made them, for a caller may come back with them to somebody else.
import type { Usage } from '../../../core/usage.ts'
import { printSeal } from '../../seal.ts'

export type Detail =
  | { readonly type: 'reasoning.text'; readonly text: string; readonly signature: string }
  | { readonly type: 'reasoning.encrypted'; readonly data: string }

/** A thought and its seal. */
export function sealedThought(supplier: string, text: string, data: string): Detail {
  return { type: 'reasoning.text', text, signature: printSeal(supplier, data) }
}

/** A seal that is all there is of a thought. */
export function hiddenThought(supplier: string, data: string): Detail {
  return { type: 'reasoning.encrypted', data: printSeal(supplier, data) }
}

export function writeUsage(usage: Usage): Readonly<Record<string, unknown>> {
  const { inputTokens, outputTokens, cachedTokens, cacheWriteTokens, reasoningTokens } = usage
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: {
      cached_tokens: cachedTokens,
      ...(cacheWriteTokens > 0 ? { cache_write_tokens: cacheWriteTokens } : {}),
    },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  }
}

/** Clients parse what a call is given, and nothing is no JSON. */
export const NO_INPUT = '{}'

// Refuses a text that has more tokens than it may have, before any money is held. It is counted with the vocabulary of
// whoever is asked first; where nobody knows that, or it cannot be counted in time, the supplier judges.
import { GatewayError } from '../core/problem.ts'
import type { LimitedText, TextLimit } from '../dialects/dialect.ts'
import type { Planned, Plant } from './call.ts'

/** Of one call so much is counted: what lies behind it is left to the supplier, and the Worker to others. */
const BYTES_MAX = 1024 * 1024

export async function checkLengths(
  { attempts: [first], body, key }: Planned,
  { texts, tokensMax }: TextLimit,
  { counter }: Plant,
): Promise<void> {
  const tokenizer = first?.route.limits?.tokenizer
  if (tokenizer === undefined) return
  const counted = firstOf(texts)
  const index = await counter.findLonger(body, counted, tokensMax, { tokenizer, keyId: key.id })
  const longer = index === 'late' ? undefined : counted[index]
  if (longer === undefined) return
  throw new GatewayError(
    'context_length_exceeded',
    `\`${longer.param}\` has more than ${tokensMax} tokens, which is the most that one input may have. Cut it into several.`,
    { param: longer.param },
  )
}

/** As many as are counted, in their order. */
function firstOf(texts: readonly LimitedText[]): readonly LimitedText[] {
  let bytes = 0
  const end = texts.findIndex(({ from, to }) => (bytes += to - from) > BYTES_MAX)
  return end < 0 ? texts : texts.slice(0, end)
}

// Who may be asked at which prices, as the hold writes it down. Lists are made once and shared by many calls, so
// the text is kept with the list.
import type { Terms } from '../core/record.ts'
import type { Price } from '../core/usage.ts'
import type { BoundTerms } from '../ledger/cost/bound.ts'
import type { Attempt } from '../routing/routes.ts'

export interface CallTerms {
  /** The JSON of `Terms`. */
  readonly text: string
  readonly list: readonly BoundTerms[]
}

interface Known extends CallTerms {
  readonly prices: readonly Price[]
}

const known = new WeakMap<readonly Attempt[], Known>()

export function termsOf(attempts: readonly Attempt[], prices: readonly Price[]): CallTerms {
  const last = known.get(attempts)
  if (last !== undefined && isSame(last.prices, prices)) return last
  const terms: Terms = attempts.map(({ supplier, modelId }, index) => ({
    supplier: supplier.id,
    region: supplier.region,
    model: modelId,
    price: prices[index]!,
  }))
  const list = attempts.map(({ route, rewrite, dialect }, index) => ({
    price: prices[index]!,
    limits: route.limits,
    // Only in chats can less be asked for.
    refusesLimit: rewrite.outputLimit === 'refused' || dialect.task !== undefined,
  }))
  const made = { prices, text: JSON.stringify(terms), list }
  known.set(attempts, made)
  return made
}

function isSame<Item>(one: readonly Item[], other: readonly Item[]): boolean {
  if (one.length !== other.length) return false
  for (let index = 0; index < one.length; index++) if (one[index] !== other[index]) return false
  return true
}

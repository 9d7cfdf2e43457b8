// Whether the budget of a key has room for a call, and what keeps it out where it has none. Pure: whoever asks
// takes the room in the same step.
import type { KeyRecord } from '../core/key.ts'
import { toNanoUsd } from '../core/money.ts'
import type { Purse } from './book.ts'
import { ENDLESS_TOKENS, type Bound, type Fit } from './cost/bound.ts'

/**
 * What keeps a call out: calls that will end and give something back, calls in review that only a decision
 * ends, or what is spent.
 */
export type Obstacle = 'running' | 'review' | 'spent'

/** A call of a key without a budget is held at no more than this, and one that nothing bounds at just this. */
const UNBOUNDED: Fit = {
  amount: toNanoUsd(1_000_000_000_000),
  maxTokens: undefined,
  outputTokens: ENDLESS_TOKENS,
}

export function fitOf(purse: Purse, bound: Bound, key: KeyRecord, now: number): Fit | undefined {
  const rest = purse.rest(now)
  if (rest !== undefined) return bound.fit(rest, purse.running > 0, key.fitsBudget)
  const whole = bound.whole() ?? UNBOUNDED
  return whole.amount <= UNBOUNDED.amount ? whole : { ...whole, amount: UNBOUNDED.amount }
}

/** Of a call that does not fit. */
export function obstacleOf(purse: Purse, bound: Bound, key: KeyRecord, now: number): Obstacle {
  const left = (purse.limit ?? 0) - purse.used(now)
  const fits = (rest: number): boolean => bound.fit(rest, false, key.fitsBudget) !== undefined
  if (!fits(left)) return 'spent'
  return fits(left - purse.inReview(now)) ? 'running' : 'review'
}

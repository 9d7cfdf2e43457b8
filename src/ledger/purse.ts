// What may be spent in a period and what became of it, by the hour: the budget of a key, or the spending limit of a
// wallet. Sums that only grow stop at the end of the exact range; what goes down again never comes to it.
import { HOUR_MS, HOURS_KEPT } from '../core/hour.ts'
import type { BudgetPeriod } from '../core/key.ts'
import { toNanoUsd, ZERO_USD, type NanoUsd } from '../core/money.ts'
import type { HoldRecord } from '../core/record.ts'
import { assertLedger } from './fault.ts'
import { windowOf, type PeriodWindow } from './period.ts'

/** Of a key, or of a wallet. */
export class Purse {
  readonly ownerId: string
  /** Undefined where there is none. */
  limit: NanoUsd | undefined
  period: BudgetPeriod = 'monthly'
  /** Calls whose end is to come: all but those in review. */
  running = 0
  /** By the hour that a call is charged to. */
  readonly #spent = new Map<number, NanoUsd>()
  readonly #holds = new Map<number, NanoUsd>()
  /** The part of the holds that belongs to calls in review. */
  readonly #reviews = new Map<number, NanoUsd>()
  /** All holds of all hours. It stays in the exact range, and with it the holds of every period. */
  #total: NanoUsd = ZERO_USD
  #totalReviews: NanoUsd = ZERO_USD
  /** The period at hand, and the sums of its hours. */
  #window: PeriodWindow | undefined
  #windowPeriod: BudgetPeriod | undefined
  #used: NanoUsd = ZERO_USD
  #held: NanoUsd = ZERO_USD

  constructor(ownerId: string) {
    this.ownerId = ownerId
  }

  /** Spent in the period that holds this moment. */
  used(now: number): NanoUsd {
    this.#turn(now)
    return this.#used
  }

  /** Set aside for calls of the period that holds this moment. */
  held(now: number): NanoUsd {
    this.#turn(now)
    return this.#held
  }

  /** The part of what is held that belongs to calls in review: it comes back when somebody decides. */
  inReview(now: number): NanoUsd {
    return sumOf(this.#reviews, this.#turn(now))
  }

  /** Of all periods. */
  get heldAlways(): NanoUsd {
    return this.#total
  }

  get inReviewAlways(): NanoUsd {
    return this.#totalReviews
  }

  /** What neither was spent nor is held; undefined without a limit. May be below zero after a change. */
  rest(now: number): number | undefined {
    if (this.limit === undefined) return undefined
    this.#turn(now)
    return this.limit - this.#used - this.#held
  }

  resetsAt(now: number): number | undefined {
    const window = this.#turn(now)
    let oldest: number | undefined
    for (const hour of this.#spent.keys())
      if (isIn(window, hour)) oldest = Math.min(oldest ?? hour, hour)
    return window.resetsAt(oldest === undefined ? undefined : oldest * HOUR_MS)
  }

  /** Hours in which something was spent. */
  hours(): Iterable<readonly [hour: number, amount: NanoUsd]> {
    return this.#spent
  }

  /** Past the exact range a sum stays at its end, where every limit is exhausted: it never goes down again. */
  spend(hour: number, amount: NanoUsd): void {
    if (amount === 0) return
    this.#spent.set(hour, saturated((this.#spent.get(hour) ?? 0) + amount))
    if (this.#window !== undefined && isIn(this.#window, hour))
      this.#used = saturated(this.#used + amount)
  }

  /** Whether so much more can be held: what goes down again must be exact. */
  canKeep(amount: NanoUsd): boolean {
    return this.#total + amount <= Number.MAX_SAFE_INTEGER
  }

  /** A negative amount lets go. Nothing is changed when the sum would leave the exact range. */
  keep(hour: number, amount: number): void {
    const total = toNanoUsd(this.#total + amount)
    this.#move(this.#holds, hour, amount)
    this.#total = total
    const isCounted = this.#window !== undefined && isIn(this.#window, hour)
    if (isCounted) this.#held = toNanoUsd(this.#held + amount)
  }

  /** Nobody knows when the call that holds this will end. */
  enterReview({ hour, amount }: HoldRecord): void {
    this.#move(this.#reviews, hour, amount)
    this.#totalReviews = toNanoUsd(this.#totalReviews + amount)
    this.running -= 1
  }

  /** It is decided, and what it holds is about to come back. */
  leaveReview({ hour, amount }: HoldRecord): void {
    this.#move(this.#reviews, hour, 0 - amount)
    this.#totalReviews = toNanoUsd(this.#totalReviews - amount)
    this.running += 1
  }

  #move(sums: Map<number, NanoUsd>, hour: number, amount: number): void {
    const left = toNanoUsd((sums.get(hour) ?? 0) + amount)
    assertLedger(left >= 0, `more is released than ${this.ownerId} holds`)
    if (left === 0) sums.delete(hour)
    else sums.set(hour, left)
  }

  /** Sums anew when the period has turned; else what is known still holds. */
  #turn(now: number): PeriodWindow {
    const known = this.#window
    if (known !== undefined && now < known.to && this.period === this.#windowPeriod) return known
    const window = windowOf(this.period, now)
    for (const hour of this.#spent.keys())
      if (hour < now / HOUR_MS - HOURS_KEPT) this.#spent.delete(hour)
    this.#window = window
    this.#windowPeriod = this.period
    this.#used = sumOf(this.#spent, window)
    this.#held = sumOf(this.#holds, window)
    return window
  }
}

function isIn({ from, to }: PeriodWindow, hour: number): boolean {
  return hour * HOUR_MS >= from && hour * HOUR_MS < to
}

function sumOf(hours: ReadonlyMap<number, NanoUsd>, window: PeriodWindow): NanoUsd {
  let sum = 0
  for (const [hour, amount] of hours) if (isIn(window, hour)) sum += amount
  return saturated(sum)
}

/** A sum of two that are exact is exact itself, or past the end. */
function saturated(sum: number): NanoUsd {
  return toNanoUsd(Math.min(sum, Number.MAX_SAFE_INTEGER))
}

// What was taken of a key's budget, by the hour: what was spent and what is held. Kept by whoever checks the
// books, apart from the state that they are run by, so that no mistake of the one hides in the other.
import { HOUR_MS, HOURS_KEPT } from '../../core/hour.ts'
import type { BudgetPeriod } from '../../core/key.ts'
import { windowOf, type PeriodWindow } from '../period.ts'

export interface TakenSum {
  readonly window: PeriodWindow
  readonly amount: bigint
}

interface RunningSum extends TakenSum {
  /** Until when the window stays the same. */
  readonly until: number
  amount: bigint
}

export class Taken {
  readonly #hours = new Map<number, bigint>()
  readonly #sums = new Map<BudgetPeriod, RunningSum>()

  /** A negative amount gives back. */
  add(hour: number, amount: bigint): void {
    const sum = (this.#hours.get(hour) ?? 0n) + amount
    if (sum === 0n) this.#hours.delete(hour)
    else this.#hours.set(hour, sum)
    for (const each of this.#sums.values()) if (isIn(each.window, hour)) each.amount += amount
  }

  /** In the period that holds this moment. */
  within(period: BudgetPeriod, at: number): TakenSum {
    const known = this.#sums.get(period)
    if (known !== undefined && at < known.until && at >= known.until - HOUR_MS) return known
    const window = windowOf(period, at)
    let amount = 0n
    for (const [hour, each] of this.#hours) {
      if (isIn(window, hour)) amount += each
      else if (hour < at / HOUR_MS - HOURS_KEPT) this.#hours.delete(hour)
    }
    const sum = { window, until: (Math.floor(at / HOUR_MS) + 1) * HOUR_MS, amount }
    this.#sums.set(period, sum)
    return sum
  }
}

function isIn({ from, to }: PeriodWindow, hour: number): boolean {
  return hour * HOUR_MS >= from && hour * HOUR_MS < to
}

// When a budget starts over. Pure arithmetic in UTC, so that a period is the same on every machine and
// in every season; nothing here knows what was spent or asks for the time.
import { HOUR_MS, hourOf } from '../core/hour.ts'
import type { BudgetPeriod } from '../core/key.ts'

export interface PeriodWindow {
  /** Inclusive. */
  readonly from: number
  /** Exclusive, and always after the moment that was asked about. */
  readonly to: number
  /** When the first of what was spent stops counting; undefined when nothing will. */
  resetsAt(oldestSpentAt: number | undefined): number | undefined
}

const ROLLING_MS = 30 * 24 * HOUR_MS

const WINDOWS: Readonly<Record<BudgetPeriod, (now: number) => PeriodWindow>> = {
  daily: dayOf,
  monthly: monthOf,
  rolling: lastThirtyDays,
}

/** The window of a period that holds this moment. */
export function windowOf(period: BudgetPeriod, now: number): PeriodWindow {
  return WINDOWS[period](now)
}

function dayOf(now: number): PeriodWindow {
  const date = new Date(now)
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
  return calendarWindow(Date.UTC(year, month, day), Date.UTC(year, month, day + 1))
}

function monthOf(now: number): PeriodWindow {
  const date = new Date(now)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  return calendarWindow(Date.UTC(year, month), Date.UTC(year, month + 1))
}

function calendarWindow(from: number, to: number): PeriodWindow {
  return { from, to, resetsAt: () => to }
}

/** Whole hours, so that what was spent in one leaves in one piece, 720 hours after that hour began. */
function lastThirtyDays(now: number): PeriodWindow {
  const to = hourStart(now) + HOUR_MS
  return {
    from: to - ROLLING_MS,
    to,
    resetsAt: (oldestSpentAt) =>
      oldestSpentAt === undefined ? undefined : hourStart(oldestSpentAt) + ROLLING_MS,
  }
}

function hourStart(moment: number): number {
  return hourOf(moment) * HOUR_MS
}

// What a check of the books found: figures for people, and faults by the record that shows them. A remark
// is worth knowing and no fault.
import type { ChainPlace } from '../../store/store.ts'

export interface Findings {
  readonly isClean: boolean
  /** Whose chain it is. */
  readonly writer: string
  /** The record before the first that was looked at, and the last. */
  readonly after: ChainPlace
  readonly last: ChainPlace
  readonly counts: Readonly<Counts>
  readonly months: readonly MonthTotals[]
  /** The first hundred; `faultCount` are all. */
  readonly faults: readonly Fault[]
  readonly faultCount: number
  readonly remarks: readonly Fault[]
  readonly remarkCount: number
}

export interface Counts {
  records: number
  /** Calls that were held. */
  operations: number
  settled: number
  voided: number
  /** Calls, and not rows, which may stand for many. */
  refused: number
  /** Without an end, those in review among them. */
  open: number
  inReview: number
  /** Holds that follow from something before the first record, so that nobody can tell whether they fitted. */
  unchecked: number
}

/** What the operations held in a month came to: debits less credits. */
export interface MonthTotals {
  /** `2026-10`, in UTC. */
  readonly month: string
  readonly accounts: readonly (readonly [account: string, amount: bigint])[]
}

export interface Fault {
  /** Of the record that shows it; undefined where it is none of them. */
  readonly number: number | undefined
  readonly requestId: string | undefined
  readonly what: string
}

const KEPT_MAX = 100

/** Keeps the first of many. */
export class FaultList {
  readonly kept: Fault[] = []
  count = 0

  add(what: string, number?: number, requestId?: string): void {
    this.count += 1
    if (this.kept.length < KEPT_MAX) this.kept.push({ number, requestId, what })
  }
}

// What every key has spent and holds, and every operation without an end: the one state that decides and
// is shown. Nothing here waits or writes; each change is checked, and one that cannot be is a fault.
import { HOUR_MS, HOURS_KEPT } from '../core/hour.ts'
import type { AuditRow } from '../core/audit.ts'
import type { BudgetPeriod } from '../core/key.ts'
import { toNanoUsd, ZERO_USD, type NanoUsd } from '../core/money.ts'
import type { HoldRecord, OpenOperation, SpentHour } from '../core/record.ts'
import { assertLedger } from './fault.ts'
import { windowOf, type PeriodWindow } from './period.ts'

/** `held → settled | voided | review`, `review → settled | voided`, and no other way. */
export type OperationState = 'held' | 'review' | 'settled' | 'voided'

export interface Operation {
  readonly hold: HoldRecord
  readonly purse: Purse
  state: OperationState
  /** Its last record is on its way to the store. */
  isEnding: boolean
  /** Since when nobody knows how it ended, by the books' time; 0 while it runs. */
  reviewAt: number
  /** Who else was asked, and what was delivered, as far as the records tell. */
  suppliers: readonly string[]
  outputTokens: number
}

/** The budget of a key and what became of it. */
export class Purse {
  readonly keyId: string
  /** Undefined where the key has no budget. */
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
  #total = 0
  /** The period at hand, and the sums of its hours. */
  #window: PeriodWindow | undefined
  #windowPeriod: BudgetPeriod | undefined
  #used: NanoUsd = ZERO_USD
  #held: NanoUsd = ZERO_USD

  constructor(keyId: string) {
    this.keyId = keyId
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

  /** What neither was spent nor is held; undefined without a budget. May be below zero after a change. */
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
    this.running -= 1
  }

  /** It is decided, and what it holds is about to come back. */
  leaveReview({ hour, amount }: HoldRecord): void {
    this.#move(this.#reviews, hour, 0 - amount)
    this.running += 1
  }

  #move(sums: Map<number, NanoUsd>, hour: number, amount: number): void {
    const left = toNanoUsd((sums.get(hour) ?? 0) + amount)
    assertLedger(left >= 0, `more is released than key ${this.keyId} holds`)
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

export class Book {
  readonly #purses = new Map<string, Purse>()
  readonly #open = new Map<string, Operation>()

  purse(keyId: string): Purse {
    const known = this.#purses.get(keyId)
    if (known !== undefined) return known
    const purse = new Purse(keyId)
    this.#purses.set(keyId, purse)
    return purse
  }

  find(requestId: string): Operation | undefined {
    return this.#open.get(requestId)
  }

  /** Every operation without an end. */
  open(): Iterable<Operation> {
    return this.#open.values()
  }

  get openCount(): number {
    return this.#open.size
  }

  /** Sets money aside. Whoever asks has found that there is enough; the book makes sure of it. */
  grant(hold: HoldRecord): Operation {
    const purse = this.purse(hold.keyId)
    const rest = purse.rest(hold.at)
    assertLedger(hold.amount >= 0, 'a hold is below nothing', hold.requestId)
    assertLedger(
      rest === undefined || hold.amount <= rest,
      'a hold exceeds what is left of its budget',
      hold.requestId,
    )
    return this.#put(hold, purse)
  }

  /** Takes over what an earlier process has granted, whatever the limit is by now. */
  adopt({ hold, reviewAt, suppliers, outputTokens }: OpenOperation): Operation {
    const operation = this.#put(hold, this.purse(hold.keyId))
    if (reviewAt !== undefined) this.review(operation, reviewAt)
    operation.suppliers = suppliers
    operation.outputTokens = outputTokens
    return operation
  }

  adoptSpent({ keyId, hour, amount }: SpentHour): void {
    this.purse(keyId).spend(hour, amount)
  }

  /** The hold never became durable, so nothing was sent and nothing is owed. */
  withdraw(operation: Operation): void {
    assertLedger(
      operation.state === 'held' && !operation.isEnding,
      'a hold that counts is withdrawn',
      operation.hold.requestId,
    )
    this.#release(operation, 'voided')
  }

  review(operation: Operation, at: number): void {
    assertLedger(
      operation.state === 'held' && !operation.isEnding,
      `an operation that is ${operation.state} goes into review`,
      operation.hold.requestId,
    )
    operation.state = 'review'
    operation.reviewAt = at
    operation.purse.enterReview(operation.hold)
  }

  /** Its last record is made; from now on there can be no other. */
  beginEnd(operation: Operation, row: AuditRow): void {
    const { hold } = operation
    const isOpen = operation.state === 'held' || operation.state === 'review'
    assertLedger(isOpen && !operation.isEnding, 'an operation ends twice', hold.requestId)
    assertLedger(
      row.requestId === hold.requestId && row.keyId === hold.keyId,
      "an end is another call's",
      hold.requestId,
    )
    assertLedger(
      row.hour === hold.hour && row.held === hold.amount,
      'an end does not belong to its hold',
      hold.requestId,
    )
    // Before it is written, not after: a record is final.
    const { state, cost, overrun } = row
    assertLedger(state === 'settled' || state === 'voided', 'an end is no end', hold.requestId)
    assertLedger(cost >= 0 && overrun >= 0, 'an end costs less than nothing', hold.requestId)
    assertLedger(state === 'settled' || cost === 0, 'a void call costs something', hold.requestId)
    if (operation.state === 'review') operation.purse.leaveReview(hold)
    operation.isEnding = true
  }

  /** Its last record is durable: what was held is free, and what was used is spent. */
  end(operation: Operation, { state, cost }: AuditRow): void {
    const { hold, purse } = operation
    assertLedger(operation.isEnding, 'an end was not begun', hold.requestId)
    this.#release(operation, state === 'settled' ? 'settled' : 'voided')
    purse.spend(hold.hour, cost)
  }

  #put(hold: HoldRecord, purse: Purse): Operation {
    assertLedger(!this.#open.has(hold.requestId), 'an operation is held twice', hold.requestId)
    purse.keep(hold.hour, hold.amount)
    purse.running += 1
    const operation: Operation = {
      hold,
      purse,
      state: 'held',
      isEnding: false,
      reviewAt: 0,
      suppliers: [],
      outputTokens: 0,
    }
    this.#open.set(hold.requestId, operation)
    return operation
  }

  #release(operation: Operation, state: 'settled' | 'voided'): void {
    const { hold, purse } = operation
    assertLedger(this.#open.delete(hold.requestId), 'an operation is not open', hold.requestId)
    purse.keep(hold.hour, 0 - hold.amount)
    purse.running -= 1
    operation.state = state
  }
}

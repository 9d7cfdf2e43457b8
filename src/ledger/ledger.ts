// The books while the gateway runs: money is set aside before a call leaves, and spent or given back when
// it ends. What is decided is decided in memory and in one step; what is decided is durable before it counts.
import type { AuditRow } from '../core/audit.ts'
import type { Place } from '../core/chain.ts'
import type { Clock, Ticker } from '../core/clock.ts'
import type { BudgetPeriod, KeyRecord } from '../core/key.ts'
import { toNanoUsd, type NanoUsd } from '../core/money.ts'
import type { PassedReason, PayerChain, PayerLink } from '../core/payer.ts'
import { GatewayError } from '../core/problem.ts'
import type { AttemptNote } from '../core/record.ts'
import type { WalletRecord } from '../core/tenancy.ts'
import type { Log } from '../observe/log.ts'
import type { LedgerState, Store } from '../store/store.ts'
import { Admission, type Foreseen, type Granted, type HoldAsk } from './admission.ts'
import { Book, type Operation } from './book.ts'
import { Calendar, doubtsOf } from './calendar.ts'
import { Ending } from './ending.ts'
import { LedgerFault } from './fault.ts'
import { Lines } from './line.ts'
import { Pen } from './pen.ts'
import type { LedgerPolicy } from './policy.ts'
import { Refusals } from './refusals.ts'
import { attemptNote, progressNote, resolvedRow, reviewNote, type Resolution } from './review.ts'
import { findWallet, reasonOf } from './room.ts'
import type { WalletState } from './wallet.ts'

export type { Foreseen, Granted, HoldAsk, HoldRequest } from './admission.ts'
export type { WalletState } from './wallet.ts'

export interface LedgerParts {
  readonly store: Pick<Store, 'append'>
  readonly clock: Clock
  readonly log: Log
  readonly policy: LedgerPolicy
  /** The books are in an impossible state, or the disk lies: nothing may be written any more. */
  readonly halt: (fault: Error) => void
}

/** A budget as it is shown, which is as it is enforced. */
export interface BudgetState {
  readonly limit: NanoUsd | undefined
  readonly period: BudgetPeriod
  readonly used: NanoUsd
  readonly held: NanoUsd
  /** The part of what is held that waits for a decision. */
  readonly inReview: NanoUsd
  readonly resetsAt: number | undefined
}

/** One place of a chain, and whether it would pay. */
export interface PayerState {
  readonly link: PayerLink
  readonly walletId: string | undefined
  readonly state: 'pays' | PassedReason
}

export class Ledger implements Ticker {
  policy: LedgerPolicy
  readonly #clock: Clock
  readonly #log: Log
  readonly #halt: LedgerParts['halt']
  readonly #book = new Book()
  readonly #lines: Lines
  readonly #pen: Pen
  readonly #admission: Admission
  readonly #refusals: Refusals
  #calendar: Calendar
  #ticking: Place | undefined
  #isStopped = false
  /** In elapsed time. All reviews are older. */
  #openedMs = 0

  constructor({ store, clock, log, policy, halt }: LedgerParts) {
    this.policy = policy
    this.#clock = clock
    this.#log = log
    this.#halt = halt
    this.#lines = new Lines(clock)
    const now = (): number => this.#calendar.now()
    this.#pen = new Pen({ store, clock, log, halt, now, ended: (...end) => this.ended(...end) })
    this.#admission = new Admission({
      book: this.#book,
      lines: this.#lines,
      pen: this.#pen,
      now,
      checkRunning: () => this.checkRunning(),
      judge: (thrown) => this.#judge(thrown),
      reviewsLeftMs: () => this.#reviewsLeftMs(),
    })
    this.#refusals = new Refusals(clock, (records) => this.#pen.writeLater(records))
    this.#calendar = this.#startCalendar(0)
  }

  /** Takes over what the store knows. What an earlier process left open is in review, durably, before this resolves. */
  async open({ at, spent, balances, open }: LedgerState): Promise<void> {
    this.#calendar = this.#startCalendar(at)
    const doubts = doubtsOf(at, this.#clock.now())
    if (doubts !== undefined) this.#log.note('warn', doubts)
    for (const hour of spent) this.#book.adoptSpent(hour)
    for (const balance of balances) this.#book.adoptBalance(balance)
    const now = this.#calendar.now()
    const found = open.map((each) => this.#book.adopt(each))
    const lost = found.filter(({ state }) => state === 'held')
    if (lost.length > 0) {
      await this.#pen.append(lost.map(({ hold }) => reviewNote(now, hold.requestId)))
      for (const operation of lost) this.#book.review(operation, now)
      this.#log.note(
        'warn',
        `calls under way when the last process ended, and now in review: ${lost.length}`,
      )
    }
    this.#openedMs = this.#clock.elapsed()
    this.#ticking = this.#clock.everySecond(this)
  }

  /** The budget of a key from now on. Calls that wait for it are looked at again. */
  put({ id, budgetLimit, budgetPeriod }: KeyRecord): void {
    const purse = this.#book.purse(id)
    purse.limit = budgetLimit
    purse.period = budgetPeriod ?? 'monthly'
    this.#lines.wake(id)
  }

  budgetOf(keyId: string): BudgetState {
    const purse = this.#book.purse(keyId)
    const now = this.#calendar.now()
    return {
      limit: purse.limit,
      period: purse.period,
      used: purse.used(now),
      held: purse.held(now),
      inReview: purse.inReview(now),
      resetsAt: purse.resetsAt(now),
    }
  }

  /** What a wallet may from now on. Running calls end under their old holds; those that wait look again. */
  putWallet(record: WalletRecord): void {
    this.#book.wallet(record.id).put(record)
    this.#lines.wake(record.id)
  }

  walletState(walletId: string): WalletState {
    return this.#book.wallet(walletId).state(this.#calendar.now())
  }

  /**
   * Puts money into a wallet once `write` has made that durable. Below zero it is taken back: out of reach before it
   * is written, back in the wallet when it could not be. What calls hold, and what is not there, stays.
   */
  async credit(walletId: string, amount: NanoUsd, write: () => Promise<void>): Promise<void> {
    const wallet = this.#book.wallet(walletId)
    const isTaken = amount < 0
    if (isTaken && !wallet.canTakeBack(toNanoUsd(0 - amount))) throw notThere()
    if (isTaken) wallet.credit(amount)
    try {
      await write()
      if (!isTaken) wallet.credit(amount)
    } catch (thrown) {
      if (isTaken) wallet.credit(toNanoUsd(0 - amount))
      throw thrown
    } finally {
      this.#lines.wake(walletId)
    }
  }

  /** Each place of a chain: whether it would pay so much if it were asked now, or why not. */
  explainPayers(chain: PayerChain, need: NanoUsd): readonly PayerState[] {
    const now = this.#calendar.now()
    return chain.map((place) => {
      const wallet = findWallet(this.#book, place)
      const pays = wallet?.canFund(need, now) === true
      const state = pays ? 'pays' : reasonOf(wallet, (left) => need <= left, now)
      return { ...place, state }
    })
  }

  /** Whether anybody who may be asked to pay can run out. */
  isBounded(chain: PayerChain): boolean {
    return chain.some((place) => findWallet(this.#book, place)?.isBounded === true)
  }

  /** Resolves when the hold is durable. From then on the call must be ended, exactly once. */
  hold(ask: HoldAsk): Promise<Granted> {
    return this.#isStopped ? Promise.reject(shuttingDown()) : this.#admission.hold(ask)
  }

  /** What would be held for a call now, and who would pay; rejects as a hold would. Nothing is set aside. */
  foresee(ask: HoldAsk): Promise<Foreseen> {
    return this.#admission.foresee(ask)
  }

  /**
   * Writes the call's last record. True when it is durable, false when the caller need not wait for that
   * any longer: then it is written as soon as the store can, and the hold stays until it is.
   */
  end(operation: Operation, row: AuditRow): Promise<boolean> {
    try {
      this.#book.beginEnd(operation, row)
    } catch (thrown) {
      throw this.#judge(thrown)
    }
    const written = this.#pen.append([{ type: 'audit', row }])
    return new Ending(this.#clock, written, { ledger: this, operation, row }).outcome
  }

  /** Of an `Ending`: the record is durable. */
  ended(operation: Operation, row: AuditRow): void {
    try {
      this.#book.end(operation, row)
    } catch (thrown) {
      // It is written and could not be counted: whatever the reason, memory and disk disagree.
      this.#halt(asError(thrown))
      throw thrown
    }
    this.#lines.wake(operation.hold.keyId)
    if (operation.wallet !== undefined) this.#lines.wake(operation.wallet.id)
  }

  /** Of an `Ending`: the record could not be written, and will be as soon as it can. */
  delayed(operation: Operation, row: AuditRow, cause: unknown): void {
    this.#pen.delay(operation, row, cause)
  }

  /** Somebody is asked who was not to be the first. Nobody waits for this: the hold lists all who may be. */
  noteAttempt({ hold }: Operation, asked: Required<AttemptNote>): void {
    this.#pen.writeLater([attemptNote(this.#calendar.now(), hold.requestId, asked)])
  }

  /** A long stream has come this far, should the process not see its end. */
  noteProgress({ hold }: Operation, outputTokens: number): void {
    this.#pen.writeLater([progressNote(this.#calendar.now(), hold.requestId, outputTokens)])
  }

  /** A call that was refused before anything was held. */
  refuse(row: AuditRow): void {
    this.#refusals.note(row)
  }

  /** An operation without an end. */
  find(requestId: string): Operation | undefined {
    return this.#book.find(requestId)
  }

  /** Operations that nobody has seen the end of, oldest first. */
  reviews(): readonly Operation[] {
    return [...this.#book.open()].filter(({ state }) => state === 'review')
  }

  /** When the rule ends a review, if nobody does before; undefined where only somebody can. */
  resolvesAt(requestId: string): number | undefined {
    const operation = this.#book.find(requestId)
    const leftMs = this.#reviewsLeftMs()
    if (operation === undefined || leftMs === undefined) return undefined
    return Math.min(operation.reviewAt + this.policy.recoveryAfterMs, this.now() + leftMs)
  }

  /** The books' own time. */
  now(): number {
    return this.#calendar.now()
  }

  /** The hour that the oldest operation without a durable end is charged to. */
  oldestOpenHour(): number | undefined {
    let oldest: number | undefined
    for (const { hold } of this.#book.open()) oldest = Math.min(oldest ?? hold.hour, hold.hour)
    return oldest
  }

  get openCount(): number {
    return this.#book.openCount
  }

  /** No call is under way whose end could still be written. */
  get isIdle(): boolean {
    for (const { state, isEnding } of this.#book.open())
      if (state === 'held' && !(isEnding && this.downSince !== undefined)) return false
    return true
  }

  /** Since when nothing can be written, in elapsed time; undefined while all is well. */
  get downSince(): number | undefined {
    return this.#pen.downSince
  }

  /** Ends a review. False when the store could not take it yet: then it is written as soon as it can. */
  resolve(operation: Operation, resolution: Resolution): Promise<boolean> {
    // Two people may decide at once, or one a moment after the rule did: no reason to stop the process.
    if (operation.state !== 'review' || operation.isEnding)
      return Promise.reject(new GatewayError('conflict'))
    return this.end(operation, resolvedRow(operation, resolution))
  }

  /** Of the clock. */
  tick(): void {
    const now = this.#calendar.now()
    this.#refusals.tick()
    if (this.#pen.isBehind) void this.#pen.catchUp()
    else this.#resolveOld(now)
  }

  /** From now on nothing is held, and whoever waits for it is told so. What is held can still be ended. */
  stop(): void {
    this.#isStopped = true
    this.#lines.wakeAll()
  }

  /** Throws once it is stopped: a call that is held by then and not sent yet stays here. */
  checkRunning(): void {
    if (this.#isStopped) throw shuttingDown()
  }

  /** Writes what can be written. What cannot is in review after the next start. */
  async close(): Promise<void> {
    this.#ticking?.leave()
    await this.#pen.close()
    this.#refusals.tick(true)
  }

  /** Until the rule has ended the last review; undefined where only somebody can. */
  #reviewsLeftMs(): number | undefined {
    const { recovery, recoveryAfterMs } = this.policy
    if (recovery === 'keep') return undefined
    return Math.max(0, this.#openedMs + recoveryAfterMs - this.#clock.elapsed())
  }

  #resolveOld(now: number): void {
    const { recovery, recoveryAfterMs } = this.policy
    if (recovery === 'keep') return
    // Where the books are ahead of the clock their time stands still, and reviews must end all the same.
    const isAnyDue = this.#clock.elapsed() - this.#openedMs >= recoveryAfterMs
    for (const operation of this.reviews()) {
      const isDue = isAnyDue || now - operation.reviewAt >= recoveryAfterMs
      if (operation.isEnding || !isDue) continue
      void this.end(operation, resolvedRow(operation, recovery))
    }
  }

  /** What the book throws is told first, where it says that the books are wrong. */
  #judge(thrown: unknown): Error {
    if (thrown instanceof LedgerFault) this.#halt(thrown)
    return asError(thrown)
  }

  #startCalendar(notBefore: number): Calendar {
    return new Calendar(this.#clock, notBefore, (jumpMs) =>
      this.#log.note(
        'warn',
        `the clock jumped by ${Math.round(jumpMs / 1000)} s; budgets go on as before until it has held for ten minutes`,
      ),
    )
  }
}

/** Nothing new is begun by a process that ends. */
function shuttingDown(): GatewayError {
  return new GatewayError(
    'pod_draining',
    'The gateway is shutting down, and nothing more was sent to a supplier. Try again in a moment.',
    { retryAfter: 1 },
  )
}

function notThere(): GatewayError {
  return new GatewayError(
    'conflict',
    'There is not so much in this wallet that could be taken back: what calls hold stays until they end, and nothing is taken below its credit line.',
    { retryable: false },
  )
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}

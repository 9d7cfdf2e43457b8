// The books while the gateway runs: money is set aside before a call leaves, and spent or given back when
// it ends. What is decided is decided in memory and in one step; what is decided is durable before it counts.
import { hourOf } from '../core/hour.ts'
import type { AuditRow } from '../core/audit.ts'
import type { Place } from '../core/chain.ts'
import type { Clock, Ticker } from '../core/clock.ts'
import type { BudgetPeriod, KeyRecord } from '../core/key.ts'
import type { NanoUsd } from '../core/money.ts'
import { GatewayError } from '../core/problem.ts'
import type { HoldRecord, LedgerRecord } from '../core/record.ts'
import type { Log } from '../observe/log.ts'
import type { LedgerState, Store } from '../store/store.ts'
import { Book, type Operation, type Purse } from './book.ts'
import type { Bound, Fit } from './cost/bound.ts'
import { Calendar, doubtsOf } from './calendar.ts'
import type { Uncounted } from './cost/counter.ts'
import { Ending } from './ending.ts'
import { LedgerFault } from './fault.ts'
import { Lines } from './line.ts'
import type { LedgerPolicy } from './policy.ts'
import {
  budgetExceeded,
  capacityExceeded,
  heldInReview,
  ledgerUnavailable,
  notCounted,
  tooMuchHeld,
  type Shortage,
} from './refusal.ts'
import { Refusals } from './refusals.ts'
import {
  attemptNote,
  progressNote,
  resolvedRow,
  resumedNote,
  reviewNote,
  type Resolution,
} from './review.ts'
import { fitOf, obstacleOf } from './room.ts'

export interface LedgerParts {
  readonly store: Pick<Store, 'append'>
  readonly clock: Clock
  readonly log: Log
  readonly policy: LedgerPolicy
  /** The books are in an impossible state, or the disk lies: nothing may be written any more. */
  readonly halt: (fault: Error) => void
}

/** What is to be set aside. */
export interface HoldRequest {
  readonly key: KeyRecord
  readonly requestId: string
  readonly endpoint: string
  readonly model: string
  readonly stream: boolean
  readonly terms: string
  /** What the input is thought to be. */
  readonly inputTokens: number
  readonly bound: Bound
}

/** What a call asks for, and what it can say to it before it is refused. */
export interface HoldAsk extends HoldRequest {
  /**
   * Finds a closer bound, which costs time: asked only before a refusal, and no more than it must where even
   * the closest that there could be is not worth it.
   */
  tighten(isWorthwhile: (closest: Bound) => boolean): Promise<Bound | Uncounted>
  /** The key as it is after a while; throws when it is no key any more. */
  current(): KeyRecord
}

export interface Granted {
  readonly operation: Operation
  readonly fit: Fit
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

interface Late {
  readonly operation: Operation
  readonly row: AuditRow
}

export class Ledger implements Ticker {
  policy: LedgerPolicy
  readonly #store: LedgerParts['store']
  readonly #clock: Clock
  readonly #log: Log
  readonly #halt: LedgerParts['halt']
  readonly #book = new Book()
  readonly #lines: Lines
  readonly #refusals: Refusals
  #calendar: Calendar
  #ticking: Place | undefined
  /** Ends that could not be written yet. */
  #late: Late[] = []
  #downSince: number | undefined
  #catchingUp: Promise<void> | undefined
  #isStopped = false
  /** In elapsed time. All reviews are older. */
  #openedMs = 0

  constructor({ store, clock, log, policy, halt }: LedgerParts) {
    this.policy = policy
    this.#store = store
    this.#clock = clock
    this.#log = log
    this.#halt = halt
    this.#lines = new Lines(clock)
    this.#refusals = new Refusals(clock, (records) => this.#writeLater(records))
    this.#calendar = this.#startCalendar(0)
  }

  /** Takes over what the store knows. What an earlier process left open is in review, durably, before this resolves. */
  async open({ at, spent, open }: LedgerState): Promise<void> {
    this.#calendar = this.#startCalendar(at)
    const doubts = doubtsOf(at, this.#clock.now())
    if (doubts !== undefined) this.#log.note('warn', doubts)
    for (const hour of spent) this.#book.adoptSpent(hour)
    const now = this.#calendar.now()
    const found = open.map((each) => this.#book.adopt(each))
    const lost = found.filter(({ state }) => state === 'held')
    if (lost.length > 0) {
      await this.#store.append(lost.map(({ hold }) => reviewNote(now, hold.requestId)))
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

  /** Resolves when the hold is durable. From then on the call must be ended, exactly once. */
  hold(ask: HoldAsk): Promise<Granted> {
    if (this.#isStopped) return Promise.reject(shuttingDown())
    if (this.#downSince !== undefined) return Promise.reject(ledgerUnavailable(undefined))
    const purse = this.#book.purse(ask.key.id)
    const now = this.#calendar.now()
    const fit = fitOf(purse, ask.bound, ask.key, now)
    return fit === undefined ? this.#makeRoom(ask, purse) : this.#grant(ask, purse, fit, now)
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
    const written = this.#store.append([{ type: 'audit', row }])
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
  }

  /** Of an `Ending`: the record could not be written, and will be as soon as it can. */
  delayed(operation: Operation, row: AuditRow, cause: unknown): void {
    this.#fail(cause)
    this.#late.push({ operation, row: asLate(row) })
  }

  /** Another supplier is asked. Nobody waits for this: the hold lists all who may be. */
  noteAttempt({ hold }: Operation, supplier: string): void {
    this.#writeLater([attemptNote(this.#calendar.now(), hold.requestId, supplier)])
  }

  /** A long stream has come this far, should the process not see its end. */
  noteProgress({ hold }: Operation, outputTokens: number): void {
    this.#writeLater([progressNote(this.#calendar.now(), hold.requestId, outputTokens)])
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
      if (state === 'held' && !(isEnding && this.#downSince !== undefined)) return false
    return true
  }

  /** Since when nothing can be written, in elapsed time; undefined while all is well. */
  get downSince(): number | undefined {
    return this.#downSince
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
    if (this.#downSince !== undefined || this.#late.length > 0) void this.#catchUp()
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
    // What fails while earlier ends are written is late itself, and has no other chance than this.
    await this.#catchingUp
    if (this.#late.length > 0) await this.#catchUp()
    this.#refusals.tick(true)
  }

  async #grant(ask: HoldRequest, purse: Purse, fit: Fit, now: number): Promise<Granted> {
    if (!purse.canKeep(fit.amount)) throw tooMuchHeld(this.#shortage(ask, purse, ask.bound))
    const operation = this.#take(holdOf(ask, purse, fit, now))
    try {
      await this.#store.append([{ type: 'hold', hold: operation.hold }])
    } catch (thrown) {
      this.#withdraw(operation)
      this.#fail(thrown)
      this.#lines.wake(operation.hold.keyId)
      throw ledgerUnavailable(thrown)
    }
    return { operation, fit }
  }

  /** Before a call is refused its input is counted; what only running calls keep out waits in line. */
  async #makeRoom(ask: HoldAsk, purse: Purse): Promise<Granted> {
    let closest = ask.bound
    const closer = await ask.tighten((found) => {
      closest = found
      return obstacleOf(purse, found, ask.key, this.#calendar.now()) !== 'spent'
    })
    const bound = typeof closer === 'string' ? ask.bound : closer
    const hope = closer === 'late' ? closest : undefined
    const { promise, resolve, reject } = Promise.withResolvers<Granted>()
    const retry = (): boolean => {
      try {
        const granting = this.#retry({ ...ask, bound, key: ask.current() }, purse, hope)
        if (granting === undefined) return false
        resolve(granting)
      } catch (thrown) {
        reject(thrown)
      }
      return true
    }
    const giveUp = (): void => reject(capacityExceeded(this.#shortage(ask, purse, bound)))
    if (!retry() && !this.#lines.join(ask.key.id, { retry, giveUp })) giveUp()
    return promise
  }

  /**
   * Undefined while only running calls keep it out. `hope`: the closest bound that there could be, where it
   * could not be found out in time.
   */
  #retry(ask: HoldRequest, purse: Purse, hope?: Bound): Promise<Granted> | undefined {
    this.checkRunning()
    if (this.#downSince !== undefined) throw ledgerUnavailable(undefined)
    const now = this.#calendar.now()
    const fit = fitOf(purse, ask.bound, ask.key, now)
    if (fit !== undefined) return this.#grant(ask, purse, fit, now)
    if (obstacleOf(purse, ask.bound, ask.key, now) === 'running') return undefined
    const shortage = this.#shortage(ask, purse, ask.bound)
    const obstacle = obstacleOf(purse, hope ?? ask.bound, ask.key, now)
    if (obstacle === 'running') throw notCounted(shortage)
    if (obstacle === 'review') throw heldInReview(shortage, this.#reviewsLeftMs())
    throw budgetExceeded(shortage)
  }

  /** Until the rule has ended the last review; undefined where only somebody can. */
  #reviewsLeftMs(): number | undefined {
    const { recovery, recoveryAfterMs } = this.policy
    if (recovery === 'keep') return undefined
    return Math.max(0, this.#openedMs + recoveryAfterMs - this.#clock.elapsed())
  }

  #shortage({ key }: HoldRequest, purse: Purse, bound: Bound): Shortage {
    return { key, purse, now: this.#calendar.now(), estimate: bound.whole()?.amount }
  }

  #take(hold: HoldRecord): Operation {
    try {
      return this.#book.grant(hold)
    } catch (thrown) {
      throw this.#judge(thrown)
    }
  }

  #withdraw(operation: Operation): void {
    try {
      this.#book.withdraw(operation)
    } catch (thrown) {
      throw this.#judge(thrown)
    }
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

  #catchUp(): Promise<void> {
    this.#catchingUp ??= this.#writeLate().finally(() => (this.#catchingUp = undefined))
    return this.#catchingUp
  }

  async #writeLate(): Promise<void> {
    const late = this.#late
    this.#late = []
    const since = this.#downSince ?? this.#clock.elapsed()
    try {
      await this.#store.append([
        ...late.map(({ row }): LedgerRecord => ({ type: 'audit', row })),
        resumedNote(this.#calendar.now(), this.#clock.elapsed() - since),
      ])
      this.#downSince = undefined
      for (const { operation, row } of late) this.ended(operation, row)
      this.#log.note(
        'info',
        `the books can be written again; ${late.length} calls were settled late`,
      )
    } catch (thrown) {
      this.#late = [...late, ...this.#late]
      this.#fail(thrown)
    }
  }

  /** For what nobody waits for, and what is no money. */
  #writeLater(records: readonly LedgerRecord[]): void {
    if (this.#downSince !== undefined) return
    this.#store.append(records).catch((cause: unknown) => this.#fail(cause))
  }

  #fail(cause: unknown): void {
    if (cause instanceof GatewayError && cause.details?.['fatal'] === true) {
      this.#halt(cause)
      return
    }
    if (this.#downSince !== undefined) return
    this.#downSince = this.#clock.elapsed()
    this.#log.note('error', 'the books cannot be written; new calls are refused until they can', {
      cause: describeCause(cause),
    })
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

function holdOf(ask: HoldRequest, purse: Purse, fit: Fit, now: number): HoldRecord {
  const { key } = ask
  return {
    at: now,
    hour: hourOf(now),
    requestId: ask.requestId,
    accountId: key.accountId,
    projectId: key.projectId,
    keyId: key.id,
    endpoint: ask.endpoint,
    model: ask.model,
    stream: ask.stream,
    amount: fit.amount,
    limit: purse.limit,
    period: purse.limit === undefined ? undefined : purse.period,
    inputTokens: ask.inputTokens,
    maxTokens: fit.outputTokens,
    terms: ask.terms,
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

/** Tells in the audit that the answer went out before its books were closed. */
function asLate(row: AuditRow): AuditRow {
  const code = row.stream ? 'streaming_settlement_failed' : 'supplier_settlement_failed'
  return row.code === undefined ? { ...row, code } : row
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}

function describeCause(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  return cause.cause === undefined
    ? cause.message
    : `${cause.message} ${describeCause(cause.cause)}`
}

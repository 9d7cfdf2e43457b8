// The ledger against a model of it that fits on a page: random sequences of calls, ends, limits, clocks, disks
// that fail and processes that die, and after every step all that must hold of money does hold.
import { describe, expect, it } from 'bun:test'
import { assert, asyncProperty } from 'fast-check'
import type { AuditRow } from '../src/core/audit.ts'
import { toNanoUsd } from '../src/core/money.ts'
import { GatewayError } from '../src/core/problem.ts'
import type { HoldRecord, LedgerRecord } from '../src/core/record.ts'
import { Book, type Operation } from '../src/ledger/book.ts'
import { bookTo, entriesOf, sumOf, type Accounts } from '../src/ledger/entries.ts'
import { LedgerFault } from '../src/ledger/fault.ts'
import { Ledger, type Granted } from '../src/ledger/ledger.ts'
import { verifyBooks } from '../src/ledger/check/verify.ts'
import type { Log } from '../src/observe/log.ts'
import { FakeBooks } from './fakes/books.ts'
import { createFakeClock } from './fakes/clock.ts'
import {
  commands,
  KEYS,
  settings,
  type Command,
  type Restart,
  type Setting,
} from './fakes/ledger-commands.ts'
import { askOf, boundOf, endOf, keyOf, turns } from './fakes/ledger.ts'
import { Model, Time, type Held } from './fakes/ledger-model.ts'
import { MemoryStore, stateOf } from './fakes/memory-store.ts'

const RUNS = 5000
const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

type Check = () => void
const NOTHING: Check = () => {}

const SILENT: Log = { request() {}, note() {}, flush() {} }

interface Ask {
  readonly id: string
  readonly keyId: string
  readonly most: number
  readonly least: number
  readonly fits: boolean
  readonly since: number
  outcome: Operation | string | undefined
}

/** What a rest pays of a call, as `boundOf` has it. */
function paid(
  { most, least, fits }: Pick<Ask, 'most' | 'least' | 'fits'>,
  rest: number,
): number | undefined {
  if (most <= rest) return most
  return fits && least <= rest ? rest : undefined
}

class World {
  readonly #setting: Setting
  readonly clock = createFakeClock()
  readonly store = new MemoryStore()
  readonly model = new Model()
  readonly #accounts: Accounts = new Map()
  /** What the store must never be seen to do, and the ledger never to write. */
  readonly wrong: string[] = []
  #ledger!: Ledger
  #time = new Time(this.clock, 0)
  #process = 0
  #openedMs = 0
  #halts: Error[] = []
  #mode: 'fail' | 'stall' | 'recover' = 'recover'
  // Of the process that runs.
  #asks: Ask[] = []
  #ended: { readonly operation: Operation; readonly row: AuditRow }[] = []
  readonly #expected = new Map<string, number>()
  readonly #late = new Set<string>()
  #isDown = false
  #lastHoldAt = 0
  /** Keys whose line was looked at in this step. */
  readonly #woken = new Set<string>()

  constructor(setting: Setting) {
    this.#setting = setting
    this.store.onAppend = (batch) =>
      batch.forEach((each) => each.type === 'hold' && this.#granted(each.hold))
    this.store.onDurable = (each) => this.#durable(each)
    this.store.onRefused = (batch) => batch.forEach((each) => this.#refused(each))
    for (const id of KEYS) this.model.budgets.set(id, keyOf(60 * setting.unit, { id }))
  }

  /** A process starts on what the records say. */
  async start(): Promise<void> {
    this.#process += 1
    const process = this.#process
    const append = (batch: readonly LedgerRecord[]): Promise<void> =>
      // What a dead process would still write is written by nobody.
      process === this.#process ? this.store.append(batch) : new Promise(() => {})
    const halt = (fault: Error): void => void this.#halts.push(fault)
    this.#ledger = new Ledger({
      store: { append },
      clock: this.clock,
      log: SILENT,
      policy: this.#setting.policy,
      halt,
    })
    for (const budget of this.model.budgets.values()) this.#ledger.put(budget)
    const state = this.store.load()
    this.#time = new Time(this.clock, state.at)
    this.#time.now()
    this.#openedMs = this.clock.elapsed()
    await this.#ledger.open(state)
    for (const [id, { reviewAt }] of this.model.open)
      if (reviewAt === undefined) this.wrong.push(`${id} is not in review after a start`)
  }

  async run(command: Command | Restart): Promise<void> {
    if (command.do === 'restart') return this.#restart(command.kept)
    this.#woken.clear()
    const check = this.#do(command)
    await turns()
    check()
    this.#check()
  }

  /** Gives what is to be seen of it when everything has come to rest. */
  #do(command: Command): Check {
    switch (command.do) {
      case 'hold':
        return this.#hold(command.key, command.most, command.least)
      case 'end':
        return this.#end(command.pick, command.cost)
      case 'resend':
        return this.#resend(command.pick, command.cost)
      case 'resolve':
        return this.#resolve(command.pick, command.cost)
      case 'progress':
        return this.#progress(command.pick, command.tokens)
      case 'put':
        return this.#put(command)
      case 'wait':
        return this.#wait(command.ms)
      case 'jump':
        this.clock.jump(command.ms)
        return NOTHING
      case 'store':
        this.#mode = command.how
        this.store[command.how]()
        return NOTHING
      default:
        throw new Error('nobody knows how')
    }
  }

  #hold(index: number, most: number, least: number): Check {
    const { unit } = this.#setting
    const keyId = KEYS[index]!
    const budget = this.model.budgets.get(keyId)!
    const bound = boundOf(most * unit, Math.min(least, most) * unit)
    const request = askOf(budget, 0, { bound, inputTokens: least * unit })
    const ask: Ask = {
      id: request.requestId,
      keyId,
      most: most * unit,
      least: Math.min(least, most) * unit,
      fits: budget.fitsBudget,
      since: this.clock.elapsed(),
      outcome: undefined,
    }
    const amount = paid(ask, this.model.rest(keyId, this.#time.now()))
    const wasDown = this.#isDown
    void this.#follow(ask, this.#ledger.hold(request))
    this.#asks.push(ask)
    return () => {
      const isGranted = this.model.asked.has(ask.id) || this.model.open.has(ask.id)
      if (wasDown || (amount !== undefined && this.#mode === 'fail'))
        same('the outcome', ask.outcome, 'billing_unavailable')
      else same('being granted', isGranted, amount !== undefined)
    }
  }

  async #follow(ask: Ask, promise: Promise<Granted>): Promise<void> {
    const process = this.#process
    try {
      ask.outcome = (await promise).operation
      if (process === this.#process && !this.model.open.has(ask.id))
        this.wrong.push(`${ask.id} may be sent and is not durable`)
    } catch (thrown) {
      ask.outcome = thrown instanceof GatewayError ? thrown.code : String(thrown)
    }
  }

  #end(pick: number, cost: number | undefined): Check {
    const operation = pickOf(this.#running(), pick)
    if (operation === undefined) return NOTHING
    const row = this.#rowOf(operation, cost)
    this.#expected.set(row.requestId, row.cost)
    this.#ended.push({ operation, row })
    let outcome: boolean | undefined
    const wasMode = this.#mode
    const follow = async (ending: Promise<boolean>): Promise<void> => {
      outcome = await ending
      if (outcome && this.model.open.has(row.requestId))
        this.wrong.push(`${row.requestId} was told to be durable and is not`)
    }
    void follow(this.#ledger.end(operation, row))
    return () => same('the end', outcome, wasMode === 'stall' ? undefined : wasMode === 'recover')
  }

  /** As the gateway splits it: the key pays up to its hold, the operator the rest. */
  #rowOf(operation: Operation, cost: number | undefined): AuditRow {
    const { amount } = operation.hold
    if (cost === undefined) {
      const tries = [
        { supplier: 'first', region: 'EU', evidence: 'unknown', suspense: amount } as const,
      ]
      return endOf(operation, undefined, { evidence: 'unknown', details: { tries } })
    }
    const actual = cost * this.#setting.unit
    const overrun = toNanoUsd(Math.max(0, actual - amount))
    const usage = { inputTokens: actual, outputTokens: 0 }
    return endOf(operation, Math.min(actual, amount), { overrun, ...usage })
  }

  /** The same end once more, or another one. */
  #resend(pick: number, cost: number | undefined): Check {
    const again = pickOf(this.#ended, pick)
    if (again === undefined) return NOTHING
    const { operation, row } = again
    const rows = [row, this.#rowOf(operation, cost)]
    for (const each of rows)
      expect(() => void this.#ledger.end(operation, each)).toThrow(LedgerFault)
    expect(this.#halts.splice(0)).toHaveLength(rows.length)
    return NOTHING
  }

  #resolve(pick: number, cost: number): Check {
    const operation = pickOf(this.#ledger.reviews(), pick)
    if (operation === undefined) return NOTHING
    const { requestId, amount } = operation.hold
    const isDecided = this.#expected.has(requestId) || operation.isEnding
    if (!isDecided) this.#expected.set(requestId, Math.min(cost * this.#setting.unit, amount))
    let outcome: unknown
    const resolution = {
      cost: toNanoUsd(cost * this.#setting.unit),
      by: 'root',
      reason: 'the bill',
    }
    this.#ledger.resolve(operation, resolution).then(
      (isDurable) => (outcome = isDurable),
      (thrown: unknown) => (outcome = (thrown as GatewayError).code),
    )
    return () => {
      if (isDecided) expect(outcome).toBe('conflict')
    }
  }

  #progress(pick: number, tokens: number): Check {
    const operation = pickOf(this.#running(), pick)
    if (operation !== undefined) this.#ledger.noteProgress(operation, tokens)
    return NOTHING
  }

  #put({ key: index, limit, period, fits }: Extract<Command, { do: 'put' }>): Check {
    const id = KEYS[index]!
    const amount = limit === undefined ? undefined : limit * this.#setting.unit
    const budget = keyOf(amount, { id, budgetPeriod: period, fitsBudget: fits })
    this.model.budgets.set(id, budget)
    this.#woken.add(id)
    this.#ledger.put(budget)
    return NOTHING
  }

  #wait(ms: number): Check {
    const isBehind = this.#isDown || this.#late.size > 0
    this.clock.sleep(ms)
    return () => {
      const isWell = this.#mode === 'recover'
      if (isWell && isBehind) expect([this.#isDown, this.#late.size]).toEqual([false, 0])
      if (!isWell || isBehind || this.#setting.policy.recovery === 'keep') return
      for (const [id, held] of this.model.open)
        if (this.#isDue(held)) this.wrong.push(`${id} is still in review`)
    }
  }

  async #restart(kept: number): Promise<void> {
    this.#process += 1
    this.store.crash(kept)
    this.#mode = 'recover'
    this.model.asked.clear()
    this.#asks = []
    this.#ended = []
    this.#expected.clear()
    this.#late.clear()
    this.#isDown = false
    await this.start()
    await turns()
    this.#check()
  }

  /** Everybody hangs up, the disk is well again and time passes: nothing is left that can be ended. */
  async finish(): Promise<void> {
    await this.run({ do: 'store', how: 'recover' })
    await this.run({ do: 'wait', ms: 3 * SECOND_MS })
    for (let index = 0; this.#running().length > 0; index++) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await this.run({ do: 'end', pick: index, cost: index })
    }
    await this.run({ do: 'wait', ms: 11 * MINUTE_MS })
    await this.run({ do: 'wait', ms: 11 * MINUTE_MS })
    const left = [...this.model.open.values()].filter(
      ({ reviewAt }) => reviewAt === undefined || this.#setting.policy.recovery !== 'keep',
    )
    expect(left).toEqual([])
    await this.#verify()
  }

  /** Whoever checks the books from outside finds nothing, either. */
  async #verify(): Promise<void> {
    const books = new FakeBooks()
    for (const each of this.store.records) books.put(each)
    const { faults } = await verifyBooks(books)
    expect(faults).toEqual([])
  }

  /** In the moment of a grant (I2, I14): what is spent and held, with this, is within the limit in force. */
  #granted(hold: HoldRecord): void {
    const { keyId, requestId, amount, at, hour, inputTokens } = hold
    const now = this.#time.now()
    if (amount > this.model.rest(keyId, now))
      this.wrong.push(`${requestId} is granted above the limit`)
    if (hold.limit !== this.model.budgets.get(keyId)?.budgetLimit)
      this.wrong.push(`${requestId} names another limit`)
    if (at !== now || hour !== Math.floor(now / HOUR_MS) || at < this.#lastHoldAt)
      this.wrong.push(`${requestId} is of another time`)
    if (this.model.asked.has(requestId) || this.model.open.has(requestId))
      this.wrong.push(`${requestId} is held twice`)
    this.model.asked.set(requestId, { keyId, hour, amount, inputTokens, outputTokens: 0 })
  }

  #durable(each: LedgerRecord): void {
    this.#book(each)
    if (each.type === 'hold') {
      const { requestId, at } = each.hold
      this.#lastHoldAt = at
      const held = this.model.asked.get(requestId)
      this.model.asked.delete(requestId)
      if (held !== undefined) this.model.open.set(requestId, held)
    } else if (each.type === 'audit') this.#settled(each.row)
    else {
      const { kind, requestId = '', at, body } = each.note
      const held = this.model.open.get(requestId)
      if (kind === 'resumed') this.#isDown = false
      if (held !== undefined && kind === 'review') held.reviewAt = at
      if (held !== undefined && kind === 'progress')
        held.outputTokens = (JSON.parse(body) as { outputTokens: number }).outputTokens
    }
  }

  #book(each: LedgerRecord): void {
    bookTo(this.#accounts, entriesOf(each))
    if (sumOf(this.#accounts) !== 0n) this.wrong.push('the accounts do not sum to zero')
  }

  /** I3, I4, I13, I16: one end for each hold, of its hour, within it, and at the cost that was decided. */
  #settled({ requestId, keyId, cost, held: amount, hour = 0 }: AuditRow): void {
    const held = this.model.open.get(requestId)
    if (held === undefined) return void this.wrong.push(`${requestId} ends and is not open`)
    if (amount !== held.amount || cost > held.amount)
      this.wrong.push(`${requestId} costs more than was held`)
    if (hour !== held.hour || keyId !== held.keyId)
      this.wrong.push(`${requestId} is charged elsewhere`)
    const expected = this.#expected.get(requestId) ?? this.#byRule(held)
    if (cost !== expected) this.wrong.push(`${requestId} costs ${cost}, not ${expected}`)
    this.model.open.delete(requestId)
    this.model.spent.push({ keyId, hour: held.hour, amount: expected ?? 0 })
    this.#late.delete(requestId)
    this.#woken.add(keyId)
  }

  /** What the policy makes of it; undefined before its time. */
  #byRule(held: Held): number | undefined {
    if (!this.#isDue(held)) return undefined
    const { amount, inputTokens, outputTokens } = held
    return this.#setting.policy.recovery === 'charge_hold'
      ? amount
      : Math.min(inputTokens + 10 * outputTokens, amount)
  }

  #isDue({ reviewAt }: Held): boolean {
    if (reviewAt === undefined) return false
    const { recoveryAfterMs } = this.#setting.policy
    return (
      this.#time.now() - reviewAt >= recoveryAfterMs ||
      this.clock.elapsed() - this.#openedMs >= recoveryAfterMs
    )
  }

  #refused(each: LedgerRecord): void {
    this.#isDown = true
    if (each.type === 'hold') {
      this.model.asked.delete(each.hold.requestId)
      this.#woken.add(each.hold.keyId)
    }
    if (each.type === 'audit') this.#late.add(each.row.requestId)
  }

  #running(): readonly Operation[] {
    const ended = new Set(this.#ended.map(({ operation }) => operation))
    return this.#asks.flatMap(({ outcome }) =>
      typeof outcome === 'object' && !ended.has(outcome) ? [outcome] : [],
    )
  }

  /** After every step. */
  #check(): void {
    const now = this.#time.now()
    same('what went wrong', this.wrong.join(), '')
    same('why the process stops', this.#halts.join(), '')
    same('being down', this.#ledger.downSince !== undefined, this.#isDown)
    this.#checkAsks(now)
    this.#checkBudgets(now)
    this.#checkRebuilt(now)
  }

  #checkAsks(now: number): void {
    for (const ask of this.#asks) {
      const limit = this.model.budgets.get(ask.keyId)?.budgetLimit ?? Infinity
      const alone = paid(ask, limit - this.model.used(ask.keyId, now))
      const waited = this.clock.elapsed() - ask.since
      if (ask.outcome === 'budget_exceeded') same('what there was for it', alone, undefined)
      else if (ask.outcome === 'capacity_exceeded') {
        // What is in review comes back by a decision, and is not waited for.
        const beside = paid(ask, this.model.rest(ask.keyId, now, this.model.reviews()))
        same('having waited', waited >= SECOND_MS || beside === undefined, true)
      } else if (ask.outcome === undefined && !this.model.asked.has(ask.id)) {
        same('being in line', waited < SECOND_MS, true)
        if (!this.#woken.has(ask.keyId)) continue
        same('having a chance in line', alone !== undefined, true)
        same('what is free', paid(ask, this.model.rest(ask.keyId, now)), undefined)
      }
    }
    this.#asks = this.#asks.filter(({ outcome }) => typeof outcome !== 'string')
  }

  /** I1, I8: what is shown is what the model says. */
  #checkBudgets(now: number): void {
    let posted = 0n
    for (const [keyId, { budgetLimit, budgetPeriod = 'monthly' }] of this.model.budgets) {
      const { used, held, limit, period } = this.#ledger.budgetOf(keyId)
      same(`used of ${keyId}`, used, this.model.used(keyId, now))
      same(`held of ${keyId}`, held, this.model.held(keyId, now))
      same(`limit of ${keyId}`, limit, budgetLimit)
      same(`period of ${keyId}`, period, budgetPeriod)
      posted += this.#accounts.get(`key/${keyId}`) ?? 0n
    }
    const spent = this.model.spent.reduce((sum, { amount }) => sum + BigInt(amount), 0n)
    same('what is posted', posted, spent)
    same('what is open', this.#ledger.openCount, this.model.open.size + this.model.asked.size)
  }

  /** I9: a process that started now on the records would find the same, but for what is not durable. */
  #checkRebuilt(now: number): void {
    const book = new Book()
    const { spent, open } = stateOf(this.store.records)
    for (const each of spent) book.adoptSpent(each)
    for (const each of open) book.adopt(each)
    same('what is open on disk', book.openCount, this.model.open.size)
    for (const id of this.model.open.keys())
      same(`${id} on disk`, book.find(id) !== undefined, true)
    for (const [keyId, { budgetLimit, budgetPeriod = 'monthly' }] of this.model.budgets) {
      const purse = book.purse(keyId)
      purse.limit = budgetLimit
      purse.period = budgetPeriod
      const { used, held, resetsAt } = this.#ledger.budgetOf(keyId)
      const pending = this.model.held(keyId, now, this.model.asked.values())
      same(`used of ${keyId} on disk`, purse.used(now), used)
      same(`held of ${keyId} on disk`, purse.held(now) + pending, held)
      same(`reset of ${keyId} on disk`, purse.resetsAt(now), resetsAt)
    }
  }
}

/** Plainer than an expectation, and there are millions of them. */
function same(what: string, found: unknown, expected: unknown): void {
  if (!Object.is(found, expected))
    throw new Error(`${what} is ${String(found)}, not ${String(expected)}`)
}

function pickOf<Item>(items: readonly Item[], pick: number): Item | undefined {
  return items[pick % items.length]
}

describe('the ledger', () => {
  it('is exact whatever is done to it', async () => {
    await assert(
      asyncProperty(settings, commands, async (setting, commands) => {
        const world = new World(setting)
        await world.start()
        for (const command of commands) {
          // oxlint-disable-next-line no-await-in-loop -- a sequence
          await world.run(command)
        }
        await world.finish()
      }),
      { numRuns: RUNS },
    )
  }, 60_000)
})

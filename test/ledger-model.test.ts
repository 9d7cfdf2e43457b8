// The ledger against a model of it that fits on a page: random sequences of calls, ends, limits, clocks, disks
// that fail and processes that die, and after every step all that must hold of money does hold.
import { describe, expect, it } from 'bun:test'
import { assert, asyncProperty } from 'fast-check'
import type { AuditRow } from '../src/core/audit.ts'
import { toNanoUsd } from '../src/core/money.ts'
import { GatewayError } from '../src/core/problem.ts'
import type { PayerTerms } from '../src/core/payer.ts'
import type { CreditNote, HoldRecord, LedgerRecord } from '../src/core/record.ts'
import type { Operation } from '../src/ledger/book.ts'
import { bookTo, entriesOf, sumOf, type Accounts } from '../src/ledger/entries.ts'
import { LedgerFault } from '../src/ledger/fault.ts'
import { Ledger, type Granted } from '../src/ledger/ledger.ts'
import { verifyBooks } from '../src/ledger/check/verify.ts'
import type { Log } from '../src/observe/log.ts'
import { FakeBooks } from './fakes/books.ts'
import { createFakeClock } from './fakes/clock.ts'
import { checkBudgets, checkRebuilt, checkWallets, same } from './fakes/ledger-checks.ts'
import {
  CHAINS,
  commands,
  KEYS,
  settings,
  WALLETS,
  type Command,
  type Restart,
  type Setting,
} from './fakes/ledger-commands.ts'
import { askOf, boundOf, endOf, keyOf, nano, turns, walletOf } from './fakes/ledger.ts'
import { Model, paid, Time, type Held, type Wish } from './fakes/ledger-model.ts'
import { MemoryStore } from './fakes/memory-store.ts'

const RUNS = 5000
const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

type Check = () => void
const NOTHING: Check = () => {}

const SILENT: Log = { request() {}, note() {}, flush() {} }

interface Ask extends Wish {
  readonly id: string
  readonly since: number
  outcome: Operation | string | undefined
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
  /** Keys and wallets whose line was looked at in this step. */
  readonly #woken = new Set<string>()

  constructor(setting: Setting) {
    this.#setting = setting
    this.store.onAppend = (batch) => batch.forEach((each) => this.#appended(each))
    this.store.onDurable = (each) => this.#durable(each)
    this.store.onRefused = (batch) => batch.forEach((each) => this.#refused(each))
    for (const id of KEYS) this.model.budgets.set(id, keyOf(60 * setting.unit, { id }))
    for (const id of WALLETS) this.model.wallets.set(id, walletOf({ id }))
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
    for (const wallet of this.model.wallets.values()) this.#ledger.putWallet(wallet)
    const state = this.store.load()
    this.#time = new Time(this.clock, state.at)
    this.#time.now()
    this.#openedMs = this.clock.elapsed()
    for (const held of this.model.open.values()) held.isEnding = false
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
        return this.#hold(command)
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
      case 'wallet':
        return this.#putWallet(command)
      case 'credit':
        return this.#credit(WALLETS[command.wallet]!, command.amount * this.#setting.unit)
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

  #hold({ key: index, chain: which, most, least }: Extract<Command, { do: 'hold' }>): Check {
    const { unit } = this.#setting
    const keyId = KEYS[index]!
    const chain = CHAINS[which]!
    const budget = this.model.budgets.get(keyId)!
    const bound = boundOf(most * unit, Math.min(least, most) * unit)
    const payers = (): typeof chain => chain
    const request = askOf(budget, 0, { bound, inputTokens: least * unit, payers })
    const ask: Ask = {
      id: request.requestId,
      keyId,
      chain,
      most: most * unit,
      least: Math.min(least, most) * unit,
      fits: budget.fitsBudget,
      since: this.clock.elapsed(),
      outcome: undefined,
    }
    const expected = this.model.payment(ask, this.#time.now())
    const wasDown = this.#isDown
    void this.#follow(ask, this.#ledger.hold(request))
    this.#asks.push(ask)
    return () => {
      const granted = this.model.asked.get(ask.id) ?? this.model.open.get(ask.id)
      if (wasDown || (expected !== undefined && this.#mode === 'fail'))
        same('the outcome', ask.outcome, 'billing_unavailable')
      else {
        same('who pays', granted?.walletId, expected?.walletId)
        same('what is held', granted?.amount, expected?.amount)
      }
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

  #putWallet(command: Extract<Command, { do: 'wallet' }>): Check {
    const { unit } = this.#setting
    const scaled = (amount: number | undefined): number | undefined =>
      amount === undefined ? undefined : amount * unit
    const id = WALLETS[command.wallet]!
    const wallet = walletOf({
      id,
      creditLine: nano(scaled(command.line)),
      spendingLimit: nano(scaled(command.limit)),
      spendingPeriod: command.limit === undefined ? undefined : command.period,
      endedAt: command.isClosed ? 1 : undefined,
    })
    this.model.wallets.set(id, wallet)
    this.#woken.add(id)
    this.#ledger.putWallet(wallet)
    return NOTHING
  }

  /** In the time of a stall nobody asks for one: its note would be lost with the answer, and nothing to be learnt. */
  #credit(wallet: string, amount: number): Check {
    if (amount === 0 || this.#mode === 'stall') return NOTHING
    const { creditLine = Infinity } = this.model.wallets.get(wallet)!
    const held = this.model.holds().filter(({ walletId }) => walletId === wallet)
    const there = held.reduce(
      (sum, each) => sum - each.amount,
      this.model.balance(wallet) + creditLine,
    )
    const isThere = amount > 0 || -amount <= there
    const isWell = this.#mode === 'recover'
    const reference = null
    const body: CreditNote = {
      account: 'acc_1',
      wallet,
      amount: toNanoUsd(amount),
      by: 'root',
      reason: 'r',
      reference,
    }
    const write = (): Promise<void> => {
      const note = { at: this.#ledger.now(), requestId: undefined, body: JSON.stringify(body) }
      return this.store.append([{ type: 'note', note: { ...note, kind: 'credit' } }])
    }
    if (isThere && isWell)
      this.model.credits.set(wallet, (this.model.credits.get(wallet) ?? 0) + amount)
    this.#woken.add(wallet)
    let outcome: unknown
    this.#ledger.credit(wallet, body.amount, write).then(
      () => (outcome = 'done'),
      (thrown: unknown) => (outcome = thrown instanceof GatewayError ? thrown.code : 'failed'),
    )
    return () => same('the credit', outcome, isThere ? (isWell ? 'done' : 'failed') : 'conflict')
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

  #appended(each: LedgerRecord): void {
    if (each.type === 'hold') this.#granted(each.hold)
    const held = each.type === 'audit' ? this.model.open.get(each.row.requestId) : undefined
    if (held !== undefined) held.isEnding = true
  }

  /** In the moment of a grant (I2, I14): what is spent and held, with this, is within the limits in force. */
  #granted(hold: HoldRecord): void {
    const { keyId, requestId, amount, at, hour, inputTokens } = hold
    const now = this.#time.now()
    if (amount > this.model.rest(keyId, now))
      this.wrong.push(`${requestId} is granted above the limit`)
    const terms = JSON.parse(hold.payer!) as PayerTerms
    const walletId = terms.wallet
    const wallet = this.model.wallets.get(walletId)
    if (
      wallet?.endedAt !== undefined ||
      (amount > 0 && amount > this.model.walletRest(walletId, now))
    )
      this.wrong.push(`${requestId} is granted beyond what its payer has`)
    const bounds = [terms.line ?? undefined, terms.limit ?? undefined, terms.period ?? undefined]
    const { creditLine, spendingLimit, spendingPeriod } = wallet!
    if (!Bun.deepEquals(bounds, [creditLine, spendingLimit, spendingPeriod]))
      this.wrong.push(`${requestId} names other bounds of its payer`)
    if (hold.limit !== this.model.budgets.get(keyId)?.budgetLimit)
      this.wrong.push(`${requestId} names another limit`)
    if (at !== now || hour !== Math.floor(now / HOUR_MS) || at < this.#lastHoldAt)
      this.wrong.push(`${requestId} is of another time`)
    if (this.model.asked.has(requestId) || this.model.open.has(requestId))
      this.wrong.push(`${requestId} is held twice`)
    this.model.asked.set(requestId, { keyId, walletId, hour, amount, inputTokens, outputTokens: 0 })
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
  #settled({ requestId, keyId, cost, held: amount, hour = 0, payer }: AuditRow): void {
    const held = this.model.open.get(requestId)
    if (held === undefined) return void this.wrong.push(`${requestId} ends and is not open`)
    if (amount !== held.amount || cost > held.amount)
      this.wrong.push(`${requestId} costs more than was held`)
    const { wallet } = JSON.parse(payer!) as PayerTerms
    if (hour !== held.hour || keyId !== held.keyId || wallet !== held.walletId)
      this.wrong.push(`${requestId} is charged elsewhere`)
    const expected = this.#expected.get(requestId) ?? this.#byRule(held)
    if (cost !== expected) this.wrong.push(`${requestId} costs ${cost}, not ${expected}`)
    this.model.open.delete(requestId)
    this.model.spent.push({ keyId, walletId: wallet, hour: held.hour, amount: expected ?? 0 })
    this.#late.delete(requestId)
    this.#woken.add(keyId)
    this.#woken.add(wallet)
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
    // Whoever asked for a credit is told, and nothing else happens.
    if (each.type === 'note' && each.note.kind === 'credit') return
    this.#isDown = true
    if (each.type === 'hold') {
      const { requestId, keyId } = each.hold
      this.#woken.add(keyId)
      this.#woken.add(this.model.asked.get(requestId)?.walletId ?? '')
      this.model.asked.delete(requestId)
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
    const state = { model: this.model, ledger: this.#ledger, now }
    checkBudgets(state, this.#accounts)
    checkWallets(state, this.#accounts)
    checkRebuilt(state, this.store.records)
  }

  #checkAsks(now: number): void {
    for (const ask of this.#asks) {
      const waited = this.clock.elapsed() - ask.since
      const { outcome } = ask
      if (outcome === 'budget_exceeded')
        same('what there was for it', paid(ask, this.model.rest(ask.keyId, now, [])), undefined)
      else if (outcome === 'payment_required')
        same('who could pay', this.model.openIn(ask.chain).length, 0)
      else if (outcome === 'billing_limit_reached')
        same('who could pay', this.model.payment(ask, now, []), undefined)
      else if (outcome === 'capacity_exceeded') {
        // What is in review comes back by a decision, and is not waited for.
        const beside = this.model.payment(ask, now, this.model.reviews())
        same('having waited', waited >= SECOND_MS || beside === undefined, true)
      } else if (outcome === undefined && !this.model.asked.has(ask.id)) {
        same('being in line', waited < SECOND_MS, true)
        this.#checkWaiting(ask, now)
      }
    }
    this.#asks = this.#asks.filter(({ outcome }) => typeof outcome !== 'string')
  }

  /** Who was just looked at is kept out by running calls alone: of the key, or else of every payer. */
  #checkWaiting(ask: Ask, now: number): void {
    const isKeptByKey = paid(ask, this.model.rest(ask.keyId, now)) === undefined
    const isLooked = isKeptByKey
      ? this.#woken.has(ask.keyId)
      : ask.chain.some(({ walletId = '' }) => this.#woken.has(walletId))
    if (!isLooked) return
    same('what is free', this.model.payment(ask, now), undefined)
    const chance = isKeptByKey
      ? paid(ask, this.model.rest(ask.keyId, now, []))
      : this.model.payment(ask, now, [])
    same('having a chance in line', chance !== undefined, true)
  }
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

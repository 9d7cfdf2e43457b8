// Books in memory: chained as a store chains them, and easy to damage. Beside them a clerk who keeps them as
// the gateway would, so that a test can have any number of honest records.
import type { AuditRow } from '../../src/core/audit.ts'
import type { Claim } from '../../src/core/claim.ts'
import type { BudgetPeriod } from '../../src/core/key.ts'
import { toNanoUsd, toPicoUsd, ZERO_USD, type NanoUsd } from '../../src/core/money.ts'
import type { PayerTerms } from '../../src/core/payer.ts'
import type {
  CreditNote,
  HoldRecord,
  LedgerRecord,
  NoteKind,
  NoteRecord,
} from '../../src/core/record.ts'
import { bookTo, entriesOf, type Accounts } from '../../src/ledger/entries.ts'
import { windowOf } from '../../src/ledger/period.ts'
import { costOf } from '../../src/ledger/cost/price.ts'
import { link, textOf } from '../../src/store/chain.ts'
import { readCredit } from '../../src/store/credit.ts'
import { readPayer } from '../../src/store/payer.ts'
import type {
  BalanceSum,
  ChainedRecord,
  ChainPlace,
  LedgerHead,
  LedgerRepository,
  SpentHead,
  Total,
} from '../../src/store/store.ts'

const HOUR_MS = 3_600_000
const FIRST_DAY = Date.UTC(2026, 9, 12, 9)

export class FakeBooks implements LedgerRepository {
  chain: ChainedRecord[] = []
  base: ChainPlace = { number: 0, hash: '' }
  /** By key and hour. */
  readonly sums = new Map<string, number>()
  /** By wallet. */
  readonly balances = new Map<string, BalanceSum>()
  readonly open = new Set<string>()
  /** Most records that were asked for at once. */
  largestPage = 0
  /** Runs before every page. */
  onRead: () => void = () => {}

  readonly append = async (batch: readonly LedgerRecord[]): Promise<void> => {
    for (const record of batch) this.put(record)
  }

  put(record: LedgerRecord): ChainedRecord {
    const { number, hash } = this.last
    const chained = { number: number + 1, hash: link(hash, textOf(record)), record }
    this.chain.push(chained)
    if (record.type === 'hold') this.open.add(record.hold.requestId)
    if (record.type === 'audit') {
      this.open.delete(record.row.requestId)
      this.#spend(record.row)
    }
    this.#move(record)
    return chained
  }

  #move(record: LedgerRecord): void {
    const credit = record.type === 'note' ? readCredit(record.note) : undefined
    if (credit !== undefined) this.#add(credit.wallet, credit.amount, 0)
    const { payer, cost = 0 } = record.type === 'audit' ? record.row : {}
    const terms = payer === undefined ? undefined : readPayer(payer)
    if (terms !== undefined) this.#add(terms.wallet, 0, cost)
  }

  #add(walletId: string, credited: number, charged: number): void {
    const known = this.balances.get(walletId) ?? { credited: 0n, charged: 0n, before: 0n }
    this.balances.set(walletId, {
      walletId,
      credited: known.credited + BigInt(credited),
      charged: known.charged + BigInt(charged),
      before: known.before,
    })
  }

  #spend({ keyId, hour, cost }: AuditRow): void {
    if (hour === undefined || cost === 0) return
    const name = `${keyId} ${hour}`
    this.sums.set(name, (this.sums.get(name) ?? 0) + cost)
  }

  get last(): ChainPlace {
    return this.chain.at(-1) ?? this.base
  }

  async head(): Promise<LedgerHead> {
    const { number, hash } = this.last
    const { base } = this
    return { writer: 'wrt_fake', base, last: { number, hash }, open: [...this.open] }
  }

  async spent(): Promise<SpentHead> {
    const spent = [...this.sums].map(([name, amount]) => {
      const [keyId = '', hour = ''] = name.split(' ')
      return { keyId, hour: Number(hour), amount: BigInt(amount) }
    })
    return { ...(await this.head()), spent, balances: [...this.balances.values()] }
  }

  async records(after: number, limit: number): Promise<readonly ChainedRecord[]> {
    this.onRead()
    this.largestPage = Math.max(this.largestPage, limit)
    return this.chain.filter(({ number }) => number > after).slice(0, limit)
  }

  async totals(fromHour: number, toHour: number): Promise<readonly Total[]> {
    const accounts: Accounts = new Map()
    for (const { record } of this.chain) {
      const hour = record.type === 'audit' ? record.row.hour : undefined
      if (hour !== undefined && hour >= fromHour && hour < toHour)
        bookTo(accounts, entriesOf(record))
    }
    return [...accounts].map(([account, amount]) => ({ account, amount }))
  }

  async checkpoints(): Promise<readonly NoteRecord[]> {
    return this.chain.flatMap(({ record }) =>
      record.type === 'note' && ['month', 'archive'].includes(record.note.kind)
        ? [record.note]
        : [],
    )
  }

  async forget(through: ChainPlace): Promise<void> {
    const place = this.chain.find(({ number }) => number === through.number)
    if (place?.hash !== through.hash) throw new Error('no such place')
    this.base = { number: through.number, hash: through.hash }
    this.#begin(this.chain.filter(({ number }) => number > through.number))
  }

  /** Keeps these records and what they come to. */
  #begin(chain: ChainedRecord[]): void {
    this.chain = chain
    this.sums.clear()
    for (const [id, { credited, charged, before }] of this.balances)
      this.balances.set(id, {
        walletId: id,
        credited: 0n,
        charged: 0n,
        before: before + credited - charged,
      })
    for (const { record } of chain) {
      if (record.type === 'audit') this.#spend(record.row)
      this.#recount(record)
    }
  }

  /** What stays was in the balance already. */
  #recount(record: LedgerRecord): void {
    const before = new Map(this.balances)
    this.#move(record)
    for (const [id, { credited, charged, before: start }] of this.balances) {
      const old = before.get(id)
      const moved = credited - charged - (old === undefined ? 0n : old.credited - old.charged)
      this.balances.set(id, { walletId: id, credited, charged, before: start - moved })
    }
  }

  /** Puts another record in the place of this one and leaves all hashes as they are. */
  edit(number: number, change: (record: LedgerRecord) => LedgerRecord): void {
    this.chain = this.chain.map((each) =>
      each.number === number ? { ...each, record: change(each.record) } : each,
    )
  }

  editRow(number: number, change: Partial<AuditRow>): void {
    this.edit(number, (record) =>
      record.type === 'audit' ? { type: 'audit', row: { ...record.row, ...change } } : record,
    )
  }

  editHold(number: number, change: Partial<HoldRecord>): void {
    this.edit(number, (record) =>
      record.type === 'hold' ? { type: 'hold', hold: { ...record.hold, ...change } } : record,
    )
  }

  /** Makes all numbers and hashes anew, as somebody would who can write the file and wants no one to see. */
  rechain(): void {
    let { number, hash } = this.base
    this.chain = this.chain.map(({ record }) => {
      number += 1
      hash = link(hash, textOf(record))
      return { number, hash, record }
    })
  }

  /** The number of the record that this is true of. */
  numberOf(test: (record: LedgerRecord) => boolean): number {
    const found = this.chain.find(({ record }) => test(record))
    if (found === undefined) throw new Error('no such record')
    return found.number
  }

  holdOf(requestId: string): number {
    return this.numberOf((record) => record.type === 'hold' && record.hold.requestId === requestId)
  }

  rowOf(requestId: string): number {
    return this.numberOf((record) => record.type === 'audit' && record.row.requestId === requestId)
  }
}

export const PRICE = { input: toPicoUsd(150_000), output: toPicoUsd(600_000) }
export const TERMS = JSON.stringify([
  { supplier: 'first', region: 'EU', model: 'a-model', price: PRICE },
  { supplier: 'second', region: 'US', model: 'a-model', price: PRICE },
])

export interface Budget {
  readonly limit: number
  readonly period: BudgetPeriod
}

/** Keeps books by the rules. */
export class Clerk {
  readonly books = new FakeBooks()
  at = FIRST_DAY
  /** Who pays from now on, as the JSON of `PayerTerms`. */
  payer: string | undefined
  /** The Idempotency-Key that calls are asked under from now on. */
  claim: Claim | undefined
  #calls = 0

  /** Undefined where the budget has no room for it. */
  hold(keyId: string, amount: number, budget?: Budget): HoldRecord | undefined {
    if (budget !== undefined && this.taken(keyId, budget.period) + amount > budget.limit)
      return undefined
    this.#calls += 1
    const hold: HoldRecord = {
      at: this.at,
      hour: Math.floor(this.at / HOUR_MS),
      requestId: `req_${String(this.#calls).padStart(6, '0')}`,
      accountId: 'acc_a',
      projectId: undefined,
      keyId,
      endpoint: '/v1/chat/completions',
      model: 'a-model',
      stream: true,
      amount: toNanoUsd(amount),
      limit: budget === undefined ? undefined : toNanoUsd(budget.limit),
      period: budget?.period,
      inputTokens: 100,
      maxTokens: 1000,
      terms: TERMS,
      payer: this.payer,
      claim: this.claim,
    }
    this.books.put({ type: 'hold', hold })
    return hold
  }

  /** What a key has spent and holds, looked up in the plainest way there is. */
  taken(keyId: string, period: BudgetPeriod): number {
    const { from, to } = windowOf(period, this.at)
    let sum = 0
    for (const { record } of this.books.chain) {
      if (record.type === 'note') continue
      const entry = record.type === 'hold' ? record.hold : record.row
      const { hour = 0, requestId } = entry
      if (entry.keyId !== keyId || hour * HOUR_MS < from || hour * HOUR_MS >= to) continue
      if (record.type === 'audit') sum += record.row.cost
      else if (this.books.open.has(requestId)) sum += record.hold.amount
    }
    return sum
  }

  /** Ends a call with this many tokens; what it costs beyond its hold is the operator's. */
  settle(hold: HoldRecord, outputTokens: number, change: Partial<AuditRow> = {}): AuditRow {
    const actual = costOf({ ...NO_USAGE, inputTokens: 100, outputTokens }, PRICE)
    const cost = toNanoUsd(Math.min(actual, hold.amount))
    return this.end(hold, {
      inputTokens: 100,
      outputTokens,
      cost,
      overrun: toNanoUsd(actual - cost),
      state: 'settled',
      evidence: 'reported',
      ...change,
    })
  }

  void(hold: HoldRecord, suspense?: NanoUsd): AuditRow {
    const tries = [{ supplier: 'first', region: 'EU', evidence: 'unknown', suspense } as const]
    return this.end(hold, {
      state: 'voided',
      evidence: 'unknown',
      ...(suspense === undefined ? {} : { details: { tries: tries as never } }),
    })
  }

  end(hold: HoldRecord, change: Partial<AuditRow>): AuditRow {
    const row = { ...rowOf(hold, this.at), payer: hold.payer, ...change }
    this.books.put({ type: 'audit', row })
    return row
  }

  refuse(keyId: string, count = 1): void {
    this.#calls += 1
    const requestId = `req_${String(this.#calls).padStart(6, '0')}`
    const hold = { requestId, keyId, model: 'a-model', amount: ZERO_USD }
    const nothing = { held: undefined, hour: undefined, supplier: undefined, region: undefined }
    const row = { ...rowOf(hold, this.at), ...nothing, evidence: undefined, count, status: 402 }
    this.books.put({ type: 'audit', row: { ...row, state: 'refused' } })
  }

  credit(wallet: string, amount: number): void {
    const about = { account: 'acc_a', by: 'key_root', reason: 'test', reference: null }
    const body: CreditNote = { ...about, wallet, amount: toNanoUsd(amount) }
    this.note('credit', 'req_credit', body)
  }

  note(kind: NoteKind, requestId: string | undefined, body: object): void {
    const note = { at: this.at, kind, requestId, body: JSON.stringify(body) }
    this.books.put({ type: 'note', note })
  }
}

/** The text of a wallet that pays what is in it, unless something else is said. */
export function payerText(change: Partial<PayerTerms> = {}): string {
  const terms: PayerTerms = {
    wallet: 'wal_a',
    link: 'project',
    line: ZERO_USD,
    limit: null,
    period: null,
    passed: [],
    ...change,
  }
  return JSON.stringify(terms)
}

const NO_USAGE = {
  inputTokens: 0,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  cacheWriteLongTokens: 0,
  audioInputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  audioOutputTokens: 0,
}

function rowOf(
  hold: Pick<HoldRecord, 'requestId' | 'keyId' | 'model' | 'amount'> & { readonly hour?: number },
  at: number,
): AuditRow {
  return {
    at,
    requestId: hold.requestId,
    accountId: 'acc_a',
    projectId: undefined,
    keyId: hold.keyId,
    endpoint: '/v1/chat/completions',
    model: hold.model,
    supplier: 'first',
    region: 'EU',
    inputTokens: undefined,
    outputTokens: undefined,
    cost: ZERO_USD,
    latencyMs: 12.5,
    firstTokenMs: undefined,
    status: 200,
    code: undefined,
    stream: true,
    attempts: 1,
    state: 'voided',
    evidence: 'refused',
    held: hold.amount,
    hour: hold.hour,
    overrun: ZERO_USD,
    heldMs: 0.5,
    count: 1,
    payer: undefined,
    route: undefined,
    details: undefined,
  }
}

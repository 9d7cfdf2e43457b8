// What the ledger is tested with: a ledger over books in memory, keys, and calls whose worst case is said
// outright. One token of input costs one nano-dollar, one of output ten.
import type { AuditRow } from '../../src/core/audit.ts'
import { NO_LIMITS, NO_TIES, type BudgetPeriod, type KeyRecord } from '../../src/core/key.ts'
import { toNanoUsd, toPicoUsd, ZERO_USD, type NanoUsd } from '../../src/core/money.ts'
import type { PayerChain } from '../../src/core/payer.ts'
import type { HoldRecord, Terms } from '../../src/core/record.ts'
import type { WalletRecord } from '../../src/core/tenancy.ts'
import type { Operation } from '../../src/ledger/book.ts'
import type { Bound, Fit } from '../../src/ledger/cost/bound.ts'
import { Ledger, type HoldAsk } from '../../src/ledger/ledger.ts'
import { DEFAULT_POLICY, type LedgerPolicy } from '../../src/ledger/policy.ts'
import type { Log } from '../../src/observe/log.ts'
import { createFakeClock, type FakeClock } from './clock.ts'
import { MemoryStore } from './memory-store.ts'

export const TERMS: Terms = [
  {
    supplier: 'first',
    region: 'EU',
    model: 'm',
    price: { input: toPicoUsd(1000), output: toPicoUsd(10_000) },
  },
  {
    supplier: 'second',
    region: 'US',
    model: 'm',
    price: { input: toPicoUsd(2000), output: toPicoUsd(20_000) },
  },
]
const TERMS_TEXT = JSON.stringify(TERMS)

export interface Room {
  readonly ledger: Ledger
  readonly store: MemoryStore
  readonly clock: FakeClock
  /** What operators were told, as `level: text`. */
  readonly notes: string[]
  /** Why the process would have stopped. */
  readonly halts: Error[]
}

export interface RoomOptions {
  readonly store?: MemoryStore
  readonly clock?: FakeClock
  readonly policy?: Partial<LedgerPolicy>
  /** Known before the books are opened. */
  readonly keys?: readonly KeyRecord[]
  /** Beside the account's, which pays without end. */
  readonly wallets?: readonly WalletRecord[]
}

/** A ledger as a process has it after its start. */
export async function openRoom(options: RoomOptions = {}): Promise<Room> {
  const { store = new MemoryStore(), clock = createFakeClock(), keys = [], wallets = [] } = options
  const notes: string[] = []
  const halts: Error[] = []
  const log: Log = {
    request() {},
    note: (level, text) => void notes.push(`${level}: ${text}`),
    flush() {},
  }
  const policy = { ...DEFAULT_POLICY, ...options.policy }
  const ledger = new Ledger({ store, clock, log, policy, halt: (fault) => void halts.push(fault) })
  for (const key of keys) ledger.put(key)
  for (const wallet of [walletOf(), ...wallets]) ledger.putWallet(wallet)
  await ledger.open(store.load())
  return { ledger, store, clock, notes, halts }
}

export function nano(amount: number | undefined): NanoUsd | undefined {
  return amount === undefined ? undefined : toNanoUsd(amount)
}

export function keyOf(
  limit: number | undefined,
  change: Partial<KeyRecord> & { readonly budgetPeriod?: BudgetPeriod } = {},
): KeyRecord {
  return {
    ...NO_LIMITS,
    ...NO_TIES,
    id: 'key_1',
    name: 'k',
    accountId: 'acc_1',
    kind: 'managed',
    hash: '',
    createdAt: 0,
    budgetLimit: nano(limit),
    ...change,
  }
}

/** The account's wallet, as a fresh install has it, unless something else is said. */
export function walletOf(change: Partial<WalletRecord> = {}): WalletRecord {
  return {
    id: 'wal_1',
    accountId: 'acc_1',
    name: 'w',
    createdAt: 0,
    endedAt: undefined,
    owner: 'account',
    ownerId: 'acc_1',
    creditLine: undefined,
    spendingLimit: undefined,
    spendingPeriod: undefined,
    ...change,
  }
}

const ACCOUNT_PAYS: PayerChain = [{ link: 'caller', walletId: 'wal_1' }]

/**
 * A call that costs `most` at most, and can be cut down to `least` where the key allows it: it then takes a quarter
 * of what is left where others run.
 */
export function boundOf(most: number | undefined, least = most): Bound {
  const fitOf = (amount: number): Fit => ({
    amount: toNanoUsd(amount),
    maxTokens: undefined,
    outputTokens: 8,
  })
  const bound: Pick<Bound, 'whole' | 'fit' | 'costAt' | 'inputTokens'> = {
    inputTokens: 0,
    whole: () => (most === undefined ? undefined : fitOf(most)),
    fit(rest, isShared, fits) {
      if (most !== undefined && most <= rest && !(fits && isShared)) return fitOf(most)
      if (!fits || least === undefined) return undefined
      const share = isShared ? Math.floor(rest / 4) : rest
      const amount = Math.max(least, Math.min(most ?? share, share))
      return amount <= rest ? fitOf(amount) : undefined
    },
    costAt: () => toNanoUsd(most ?? 0),
  }
  return bound as Bound
}

let asked = 0

export function askOf(key: KeyRecord, most: number, change: Partial<HoldAsk> = {}): HoldAsk {
  asked += 1
  return {
    key,
    projectId: undefined,
    claim: undefined,
    requestId: `req_${asked}`,
    endpoint: '/v1/chat/completions',
    model: 'm',
    stream: false,
    terms: TERMS_TEXT,
    inputTokens: 5,
    bound: boundOf(most),
    tighten: () => Promise.resolve('final'),
    payers: () => ACCOUNT_PAYS,
    current: () => key,
    ...change,
  }
}

export function holdOf(change: Partial<HoldRecord> = {}): HoldRecord {
  asked += 1
  const at = change.at ?? Date.UTC(2026, 0, 15, 12)
  return {
    at,
    hour: Math.floor(at / 3_600_000),
    requestId: `req_${asked}`,
    accountId: 'acc_1',
    projectId: undefined,
    keyId: 'key_1',
    endpoint: '/v1/chat/completions',
    model: 'm',
    stream: false,
    amount: toNanoUsd(100),
    limit: undefined,
    period: undefined,
    inputTokens: 5,
    maxTokens: 8,
    terms: TERMS_TEXT,
    payer: undefined,
    claim: undefined,
    ...change,
  }
}

/** The row that ends an operation: settled at a cost, or void without one. */
export function endOf(
  { hold }: Pick<Operation, 'hold'>,
  cost: number | undefined,
  change: Partial<AuditRow> = {},
): AuditRow {
  return {
    at: hold.at,
    requestId: hold.requestId,
    accountId: hold.accountId,
    projectId: hold.projectId,
    keyId: hold.keyId,
    endpoint: hold.endpoint,
    model: hold.model,
    supplier: 'first',
    region: 'EU',
    inputTokens: 5,
    outputTokens: 3,
    cost: toNanoUsd(cost ?? 0),
    latencyMs: 10,
    firstTokenMs: undefined,
    status: 200,
    code: undefined,
    stream: hold.stream,
    attempts: 1,
    state: cost === undefined ? 'voided' : 'settled',
    evidence: cost === undefined ? 'refused' : 'reported',
    held: hold.amount,
    hour: hold.hour,
    overrun: ZERO_USD,
    heldMs: 1,
    count: 1,
    payer: hold.payer,
    route: undefined,
    details: undefined,
    ...change,
  }
}

/** The row of a call that was refused before anything was held. */
export function refusedRow(change: Partial<AuditRow> = {}): AuditRow {
  return {
    ...endOf({ hold: holdOf() }, undefined),
    supplier: undefined,
    region: undefined,
    inputTokens: undefined,
    outputTokens: undefined,
    status: 402,
    code: 'budget_exceeded',
    attempts: 0,
    state: 'refused',
    evidence: undefined,
    held: undefined,
    hour: undefined,
    heldMs: undefined,
    payer: undefined,
    ...change,
  }
}

/** Lets everything run that waits for nothing but its turn. */
export async function turns(): Promise<void> {
  // oxlint-disable-next-line no-await-in-loop -- one turn after the other
  for (let turn = 0; turn < 12; turn++) await Promise.resolve()
}

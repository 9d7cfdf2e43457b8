// What can be done to a ledger, at random: calls and their ends, budgets, clocks, a disk that fails, and
// processes that die. Amounts are in units, so that the same sequence can be tried with small and large ones.
import {
  array,
  boolean,
  constant,
  constantFrom,
  integer,
  nat,
  oneof,
  record,
  type Arbitrary,
} from 'fast-check'
import type { BudgetPeriod } from '../../src/core/key.ts'
import type { PayerChain } from '../../src/core/payer.ts'
import { DEFAULT_POLICY, type LedgerPolicy } from '../../src/ledger/policy.ts'

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Few, so that their calls meet. */
export const KEYS = ['key_a', 'key_b']
export const WALLETS = ['wal_a', 'wal_b', 'wal_c']

/** One wallet, several, places without one, and nobody at all. */
export const CHAINS: readonly PayerChain[] = [
  [{ link: 'caller', walletId: 'wal_a' }],
  [
    { link: 'project', walletId: 'wal_b' },
    { link: 'organisation', walletId: undefined },
    { link: 'delegate', walletId: 'wal_c' },
    { link: 'caller', walletId: 'wal_a' },
  ],
  [
    { link: 'project', walletId: undefined },
    { link: 'organisation', walletId: 'wal_c' },
    { link: 'delegate', walletId: 'wal_b' },
    { link: 'caller', walletId: undefined },
  ],
  [{ link: 'project', walletId: 'wal_b' }],
  [{ link: 'delegate', walletId: undefined }],
]

export type Command =
  | {
      readonly do: 'hold'
      readonly key: number
      readonly chain: number
      readonly most: number
      readonly least: number
    }
  | { readonly do: 'end'; readonly pick: number; readonly cost: number | undefined }
  | { readonly do: 'resend'; readonly pick: number; readonly cost: number | undefined }
  | { readonly do: 'resolve'; readonly pick: number; readonly cost: number }
  | { readonly do: 'progress'; readonly pick: number; readonly tokens: number }
  | {
      readonly do: 'put'
      readonly key: number
      readonly limit: number | undefined
      readonly period: BudgetPeriod
      readonly fits: boolean
    }
  | {
      readonly do: 'wallet'
      readonly wallet: number
      readonly line: number | undefined
      readonly limit: number | undefined
      readonly period: BudgetPeriod
      readonly isClosed: boolean
    }
  | { readonly do: 'credit'; readonly wallet: number; readonly amount: number }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'jump'; readonly ms: number }
  | { readonly do: 'store'; readonly how: 'fail' | 'stall' | 'recover' }

/** Of what was on its way to the disk so many batches had reached it. */
export interface Restart {
  readonly do: 'restart'
  readonly kept: number
}

const key = nat(KEYS.length - 1)
const wallet = nat(WALLETS.length - 1)
const limits = oneof(nat(120), nat(120), constant(undefined))
/** Now and then nobody: the first is the one that most calls have. */
const chain = oneof(
  { weight: 1, arbitrary: constant(CHAINS.length - 1) },
  { weight: 12, arbitrary: nat(CHAINS.length - 2) },
)
const periods = constantFrom<BudgetPeriod>('daily', 'monthly', 'rolling')
const costs = oneof(
  { weight: 4, arbitrary: nat(60) },
  { weight: 1, arbitrary: constant(undefined) },
)

const WEIGHTS: readonly (readonly [number, Arbitrary<Command | Restart>])[] = [
  [10, record({ do: constant('hold'), key, chain, most: nat(50), least: nat(20) })],
  [8, record({ do: constant('end'), pick: nat(), cost: costs })],
  [1, record({ do: constant('resend'), pick: nat(), cost: costs })],
  [1, record({ do: constant('resolve'), pick: nat(), cost: nat(60) })],
  [1, record({ do: constant('progress'), pick: nat(), tokens: nat(5) })],
  [
    2,
    record({
      do: constant('put'),
      key,
      limit: limits,
      period: periods,
      fits: boolean(),
    }),
  ],
  [
    2,
    record({
      do: constant('wallet'),
      wallet,
      line: limits,
      limit: limits,
      period: periods,
      isClosed: nat(5).map((one) => one === 0),
    }),
  ],
  [3, record({ do: constant('credit'), wallet, amount: integer({ min: -60, max: 90 }) })],
  [
    4,
    record({
      do: constant('wait'),
      ms: constantFrom(
        1,
        400,
        SECOND_MS,
        3 * SECOND_MS,
        11 * MINUTE_MS,
        HOUR_MS,
        9 * HOUR_MS,
        DAY_MS,
        31 * DAY_MS,
      ),
    }),
  ],
  [
    1,
    record({
      do: constant('jump'),
      ms: constantFrom(-DAY_MS, -3 * HOUR_MS, -1500, 1500, 5 * HOUR_MS, DAY_MS, 31 * DAY_MS),
    }),
  ],
  [3, record({ do: constant('store'), how: constantFrom('fail', 'stall', 'recover', 'recover') })],
  [1, record({ do: constant('restart'), kept: nat(3) })],
]
export const commands: Arbitrary<(Command | Restart)[]> = array(
  oneof(...WEIGHTS.map(([weight, arbitrary]) => ({ weight, arbitrary }))),
  {
    minLength: 1,
    maxLength: 30,
    size: 'max',
  },
)

/** What is fixed for a whole sequence. */
export interface Setting {
  /** Nano-dollars of one unit: small ones show edges, large ones what a fraction would lose. */
  readonly unit: number
  readonly policy: LedgerPolicy
}

export const settings: Arbitrary<Setting> = record({
  unit: constantFrom(1, 1, 1_000_000_007, 2 ** 41 + 1),
  policy: constantFrom<LedgerPolicy['recovery']>('charge_estimate', 'charge_hold', 'keep').map(
    (recovery) => ({ ...DEFAULT_POLICY, recovery }),
  ),
})

// The ledger in small: sums by key, wallet and hour, what is held, who pays, and a time that goes on. Written apart from the
// ledger and by the words that define it, so that a mistake in one does not hide in the other.
import type { BudgetPeriod, KeyRecord } from '../../src/core/key.ts'
import type { PayerChain } from '../../src/core/payer.ts'
import type { WalletRecord } from '../../src/core/tenancy.ts'
import type { FakeClock } from './clock.ts'

const HOUR_MS = 3_600_000
/** What is no jump, and how long a jump must last. */
const SLIGHT_MS = 2000
const DOUBT_MS = 600_000

/** What a key without a budget holds at most, where nobody's money can run out. */
const CAP = 1e12

interface Sum {
  readonly keyId: string
  readonly walletId: string
  readonly hour: number
  readonly amount: number
}

/** A call that is held. */
export interface Held extends Sum {
  readonly inputTokens: number
  outputTokens: number
  reviewAt?: number
  /** Its end is on its way to the store. */
  isEnding?: boolean
}

/** A call, and how much of it may be cut off. */
export interface Wish {
  readonly keyId: string
  readonly chain: PayerChain
  readonly most: number
  readonly least: number
  readonly fits: boolean
}

export interface Paid {
  readonly walletId: string
  readonly amount: number
}

/** What a rest pays of a call, as `boundOf` has it: a quarter at most where it is shared, and never less than the least. */
export function paid(
  { most, least, fits }: Pick<Wish, 'most' | 'least' | 'fits'>,
  rest: number,
  isShared = false,
): number | undefined {
  if (!fits) return most <= rest ? most : undefined
  if (least > rest) return undefined
  return Math.max(least, Math.min(most, isShared ? Math.floor(rest / 4) : rest))
}

export class Model {
  readonly wallets = new Map<string, WalletRecord>()
  /** What was put into each, less what was taken back. */
  readonly credits = new Map<string, number>()
  readonly budgets = new Map<string, KeyRecord>()
  readonly spent: Sum[] = []
  /** By request id: with a durable hold, and without one yet. */
  readonly open = new Map<string, Held>()
  readonly asked = new Map<string, Held>()

  used(keyId: string, now: number): number {
    return this.#sum(this.spent, keyId, now)
  }

  held(keyId: string, now: number, ofWhom: Iterable<Held> = this.holds()): number {
    return this.#sum(ofWhom, keyId, now)
  }

  balance(walletId: string): number {
    const charged = sumOf(this.spent.filter((each) => each.walletId === walletId))
    return (this.credits.get(walletId) ?? 0) - charged
  }

  /** What counts of these for the spending limit of a wallet. */
  within(walletId: string, now: number, items: Iterable<Sum>): number {
    const { spendingPeriod = 'monthly' } = this.wallets.get(walletId)!
    const hour = Math.floor(now / HOUR_MS)
    return sumOf(
      [...items].filter(
        (each) => each.walletId === walletId && isCounted(spendingPeriod, each.hour, hour),
      ),
    )
  }

  walletRest(walletId: string, now: number, ofWhom: readonly Held[] = this.holds()): number {
    const { creditLine = Infinity, spendingLimit = Infinity } = this.wallets.get(walletId)!
    const held = sumOf(ofWhom.filter((each) => each.walletId === walletId))
    const left = spendingLimit - this.within(walletId, now, [...this.spent, ...ofWhom])
    return Math.min(this.balance(walletId) + creditLine - held, left)
  }

  /** Who pays how much of a call, beside these holds. */
  payment(wish: Wish, now: number, ofWhom: readonly Held[] = this.holds()): Paid | undefined {
    const ownRest = this.rest(wish.keyId, now, ofWhom)
    const isShared = ofWhom.some((each) => each.keyId === wish.keyId && isRunning(each))
    const own = paid(wish, ownRest, isShared)
    if (own === undefined) return undefined
    const open = this.openIn(wish.chain).map((walletId) => ({
      walletId,
      rest: this.walletRest(walletId, now, ofWhom),
    }))
    for (const { walletId, rest } of open) {
      const amount = ownRest === Infinity && rest === Infinity ? Math.min(own, CAP) : own
      if (amount <= rest) return { walletId, amount }
    }
    for (const { walletId, rest } of wish.fits ? open : []) {
      const others = ofWhom.some((each) => each.walletId === walletId && isRunning(each))
      const amount = paid(wish, Math.min(rest, ownRest), isShared || others)
      if (amount !== undefined) return { walletId, amount }
    }
    return undefined
  }

  openIn(chain: PayerChain): readonly string[] {
    return chain.flatMap(({ walletId }) =>
      walletId !== undefined && this.wallets.get(walletId)?.endedAt === undefined ? [walletId] : [],
    )
  }

  holds(): readonly Held[] {
    return [...this.open.values(), ...this.asked.values()]
  }

  reviews(): readonly Held[] {
    return [...this.open.values()].filter(({ reviewAt }) => reviewAt !== undefined)
  }

  rest(keyId: string, now: number, ofWhom?: Iterable<Held>): number {
    const limit = this.budgets.get(keyId)?.budgetLimit ?? Infinity
    return limit - this.used(keyId, now) - this.held(keyId, now, ofWhom)
  }

  #sum(items: Iterable<Sum>, keyId: string, now: number): number {
    const period = this.budgets.get(keyId)?.budgetPeriod ?? 'monthly'
    let sum = 0
    for (const each of items)
      if (each.keyId === keyId && isCounted(period, each.hour, Math.floor(now / HOUR_MS)))
        sum += each.amount
    return sum
  }
}

/** It will end by itself. */
function isRunning({ reviewAt, isEnding = false }: Held): boolean {
  return reviewAt === undefined || isEnding
}

function sumOf(items: Iterable<Sum>): number {
  let sum = 0
  for (const { amount } of items) sum += amount
  return sum
}

function isCounted(period: BudgetPeriod, hour: number, now: number): boolean {
  if (period === 'rolling') return now - hour < 720
  if (period === 'daily') return Math.floor(hour / 24) === Math.floor(now / 24)
  return monthOf(hour) === monthOf(now)
}

function monthOf(hour: number): number {
  const date = new Date(hour * HOUR_MS)
  return date.getUTCFullYear() * 12 + date.getUTCMonth()
}

/** The time of the books: a jump counts when it was seen for ten minutes, and no time comes back. */
export class Time {
  readonly #clock: FakeClock
  #trusted: number
  #last: number
  #seen: { readonly offset: number; readonly since: number } | undefined

  constructor(clock: FakeClock, notBefore: number) {
    this.#clock = clock
    this.#trusted = clock.now() - clock.elapsed()
    this.#last = notBefore
  }

  now(): number {
    const elapsed = this.#clock.elapsed()
    const offset = this.#clock.now() - elapsed
    const isSame = Math.abs(offset - (this.#seen?.offset ?? Infinity)) <= SLIGHT_MS
    this.#seen = isSame && this.#seen ? this.#seen : { offset, since: elapsed }
    const isSlight = Math.abs(offset - this.#trusted) <= SLIGHT_MS
    if (isSlight || elapsed - this.#seen.since >= DOUBT_MS) this.#trusted = offset
    // What is slight is no jump: the next one has to hold by itself.
    if (isSlight) this.#seen = undefined
    this.#last = Math.max(this.#last, this.#trusted + elapsed)
    return this.#last
  }
}

// What is in a wallet and what it may: its balance of all time, which only credits and calls change, how far below
// zero that may go, and what may be spent in a period. Memory only; each change is checked by whoever asks for it.
import type { NanoUsd } from '../core/money.ts'
import type { PayerChain, PayerTerms } from '../core/payer.ts'
import type { HoldRecord } from '../core/record.ts'
import type { WalletRecord } from '../core/tenancy.ts'
import { SUM_MAX, type BalanceSum } from '../store/store.ts'
import { passedIn } from './passed.ts'
import { Purse } from './purse.ts'

/** A wallet as it is shown, which is as it is enforced. */
export interface WalletState {
  /** Put in less taken back, less what calls cost it. */
  readonly balance: bigint
  /** Set aside for calls without an end, whatever their period. */
  readonly held: NanoUsd
  /** The part of what is held that waits for a decision. */
  readonly inReview: NanoUsd
  /** What the next call may take; undefined: as much as it likes. */
  readonly available: bigint | undefined
  /** In the period of the spending limit. */
  readonly spent: NanoUsd
  readonly spentHeld: NanoUsd
  readonly resetsAt: number | undefined
}

/** Texts that are kept for one wallet and chain. A fourth place is come to in up to 125 ways, of which few are in use. */
const TEXTS_MAX = 64

export class Wallet {
  readonly id: string
  /** Undefined: its balance may go as far below zero as it comes. */
  line: NanoUsd | undefined
  /** It does not pay, as if it were not there. So it is until somebody says what it may. */
  isClosed = true
  /** Its spending limit, and all that is held. */
  readonly purse: Purse
  /** Bounded by the line alone: where that is open it may leave the range of a number. */
  #balance = 0n
  /** These stand still where they do in the books, so that a start comes to the same balance. */
  #credited = 0n
  #charged = 0n
  /** By the ways in which places of a chain were passed over; made anew when its bounds change. */
  #texts = new WeakMap<PayerChain, Map<number, string>>()

  constructor(id: string) {
    this.id = id
    this.purse = new Purse(id)
  }

  get balance(): bigint {
    return this.#balance
  }

  /** It pays, and can run out. */
  get isBounded(): boolean {
    return !this.isClosed && (this.line !== undefined || this.purse.limit !== undefined)
  }

  /** What it may from now on. */
  put({ creditLine, spendingLimit, spendingPeriod, endedAt }: WalletRecord): void {
    this.line = creditLine
    this.purse.limit = spendingLimit
    this.purse.period = spendingPeriod ?? 'monthly'
    this.isClosed = endedAt !== undefined
    this.#texts = new WeakMap()
  }

  /** What the next call may take; undefined where nothing bounds it. May be below zero after a change. */
  rest(now: number): number | undefined {
    const { line, purse } = this
    const spending = purse.rest(now)
    if (line === undefined) return spending
    return Math.min(this.funds(purse.heldAlways), spending ?? Infinity)
  }

  /** What is in it, with its line, beside so much; infinite where that is open. Inexact only beyond every hold. */
  funds(beside = 0): number {
    const { line } = this
    return line === undefined ? Infinity : Number(this.#balance + BigInt(line) - BigInt(beside))
  }

  /** What is left of its spending limit in the period that holds this moment, held or not. */
  spendable(now: number): number {
    const { limit } = this.purse
    return limit === undefined ? Infinity : limit - this.purse.used(now)
  }

  /** What is free can be had down to the last nano-dollar, and not beyond: as with the budget of a key. */
  canFund(amount: NanoUsd, now: number): boolean {
    if (this.isClosed) return false
    const rest = this.rest(now)
    return rest === undefined || amount <= rest
  }

  /** Whether so much is there that no call holds: below its line nothing is taken back. */
  canTakeBack(amount: NanoUsd): boolean {
    return amount <= this.funds(this.purse.heldAlways)
  }

  /** Below zero: takes back. */
  credit(amount: NanoUsd): void {
    const credited = within(this.#credited + BigInt(amount))
    this.#balance += credited - this.#credited
    this.#credited = credited
  }

  /** As the books have it at a start. */
  adopt({ credited, charged, before }: Omit<BalanceSum, 'walletId'>): void {
    this.#credited = credited
    this.#charged = charged
    this.#balance = before + credited - charged
  }

  charge(hour: number, cost: NanoUsd): void {
    if (cost === 0) return
    const charged = within(this.#charged + BigInt(cost))
    this.#balance -= charged - this.#charged
    this.#charged = charged
    this.purse.spend(hour, cost)
  }

  keep({ hour, amount }: HoldRecord): void {
    this.purse.keep(hour, amount)
    this.purse.running += 1
  }

  release({ hour, amount }: HoldRecord): void {
    this.purse.keep(hour, 0 - amount)
    this.purse.running -= 1
  }

  state(now: number): WalletState {
    const { purse } = this
    return {
      balance: this.#balance,
      held: purse.heldAlways,
      inReview: purse.inReviewAlways,
      available: this.#available(now),
      spent: purse.used(now),
      spentHeld: purse.held(now),
      resetsAt: purse.resetsAt(now),
    }
  }

  /** The JSON of `PayerTerms`: the same text for all calls that came to this wallet in the same way. */
  terms(chain: PayerChain, code: number, index: number): string {
    const texts = this.#texts.get(chain)
    const known = texts?.get(code)
    if (known !== undefined) return known
    const made = this.#print(chain, code, index)
    if (texts === undefined || texts.size >= TEXTS_MAX)
      this.#texts.set(chain, new Map([[code, made]]))
    else texts.set(code, made)
    return made
  }

  #print(chain: PayerChain, code: number, index: number): string {
    const { limit, period } = this.purse
    const terms: PayerTerms = {
      wallet: this.id,
      link: chain[index]!.link,
      line: this.line ?? null,
      limit: limit ?? null,
      period: limit === undefined ? null : period,
      passed: passedIn(chain, code, index),
    }
    return JSON.stringify(terms)
  }

  #available(now: number): bigint | undefined {
    if (this.isClosed) return 0n
    const spending = this.purse.rest(now)
    if (this.line === undefined) return spending === undefined ? undefined : BigInt(spending)
    const funds = this.#balance + BigInt(this.line) - BigInt(this.purse.heldAlways)
    return spending !== undefined && BigInt(spending) < funds ? BigInt(spending) : funds
  }
}

function within(sum: bigint): bigint {
  if (sum > SUM_MAX) return SUM_MAX
  return sum < -SUM_MAX ? -SUM_MAX : sum
}

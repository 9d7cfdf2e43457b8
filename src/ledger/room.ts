// Whether there is room for a call: in the budget of its key, and with somebody who pays. And what keeps it out where
// there is none. Pure: whoever asks takes the room in the same step.
import type { KeyRecord } from '../core/key.ts'
import { toNanoUsd } from '../core/money.ts'
import type { PassedReason, PayerChain, PayerPlace } from '../core/payer.ts'
import type { Book } from './book.ts'
import { ENDLESS_TOKENS, type Bound, type Fit } from './cost/bound.ts'
import { NOBODY, withPassed } from './passed.ts'
import type { Purse } from './purse.ts'
import type { Wallet } from './wallet.ts'

/**
 * What keeps a call out: calls that will end and give something back, calls in review that only a decision
 * ends, or what is spent.
 */
export type Obstacle = 'running' | 'review' | 'spent'

/** What is asked for, and of whom. */
export interface Asked {
  readonly key: KeyRecord
  readonly purse: Purse
  readonly bound: Bound
  readonly chain: PayerChain
}

/** Who pays for how much of a call, and who was passed over before. */
export interface Payment {
  readonly fit: Fit
  readonly wallet: Wallet
  /** The JSON of `PayerTerms`. */
  readonly terms: string
}

/** `nobody`: there is no wallet in any place of the chain. */
export interface Hindrance {
  readonly by: 'key' | 'payers'
  readonly obstacle: Obstacle | 'nobody'
  /** Whose lines it can wait in. */
  readonly names: readonly string[]
}

type Wallets = Pick<Book, 'wallet'>

/** A call of a key without a budget is held at no more than this, and one that nothing bounds at just this. */
const UNBOUNDED: Fit = {
  amount: toNanoUsd(1_000_000_000_000),
  maxTokens: undefined,
  outputTokens: ENDLESS_TOKENS,
}

function fitOf(purse: Purse, bound: Bound, key: KeyRecord, now: number): Fit | undefined {
  const rest = purse.rest(now)
  if (rest !== undefined) return bound.fit(rest, purse.running > 0, key.fitsBudget)
  const whole = bound.whole() ?? UNBOUNDED
  return whole.amount <= UNBOUNDED.amount ? whole : { ...whole, amount: UNBOUNDED.amount }
}

/** Of a call that does not fit into the budget of its key. */
function obstacleOf(purse: Purse, bound: Bound, key: KeyRecord, now: number): Obstacle {
  const left = (purse.limit ?? 0) - purse.used(now)
  const fits = (rest: number): boolean => bound.fit(rest, false, key.fitsBudget) !== undefined
  if (!fits(left)) return 'spent'
  return fits(left - purse.inReview(now)) ? 'running' : 'review'
}

/** Key and payer together: the first who can pay what the budget allows, or what keeps the call out. */
export function roomOf(wallets: Wallets, asked: Asked, now: number): Payment | Hindrance {
  const { key, purse, bound } = asked
  const fit = fitOf(purse, bound, key, now)
  if (fit === undefined)
    return { by: 'key', obstacle: obstacleOf(purse, bound, key, now), names: [key.id] }
  return paymentOf(wallets, asked, fit, now) ?? payerHindrance(wallets, asked, now)
}

/** Only where nobody can pay all of it, the first who can pay a shorter call. */
function paymentOf(wallets: Wallets, asked: Asked, fit: Fit, now: number): Payment | undefined {
  const whole = wholePayment(wallets, asked, fit, now)
  if (whole !== undefined || !asked.key.fitsBudget) return whole
  return shortPayment(wallets, asked, now)
}

function wholePayment(
  wallets: Wallets,
  { chain, bound, purse }: Asked,
  fit: Fit,
  now: number,
): Payment | undefined {
  let code = NOBODY
  for (let index = 0; index < chain.length; index++) {
    const wallet = findWallet(wallets, chain[index]!)
    const due = wallet?.isBounded === true ? trueFit(fit, bound, purse) : fit
    if (wallet !== undefined && due !== undefined && wallet.canFund(due.amount, now))
      return { fit: due, wallet, terms: wallet.terms(chain, code, index) }
    code = withPassed(code, wallet === undefined ? 'none' : whyNotWhole(wallet, due, now))
  }
  return undefined
}

function whyNotWhole(wallet: Wallet, due: Fit | undefined, now: number): PassedReason {
  return reasonOf(wallet, (left) => due !== undefined && due.amount <= left, now)
}

/** What is held for want of a bound is none: who pays within limits must know the most that it can be. */
function trueFit(fit: Fit, bound: Bound, { limit }: Purse): Fit | undefined {
  return limit !== undefined || fit.amount < UNBOUNDED.amount ? fit : bound.whole()
}

function shortPayment(wallets: Wallets, asked: Asked, now: number): Payment | undefined {
  const { chain } = asked
  let code = NOBODY
  for (let index = 0; index < chain.length; index++) {
    const wallet = findWallet(wallets, chain[index]!)
    const fit = wallet === undefined ? undefined : shortFit(wallet, asked, now)
    if (wallet !== undefined && fit !== undefined)
      return { fit, wallet, terms: wallet.terms(chain, code, index) }
    code = withPassed(code, reasonOf(wallet, canPay(asked), now))
  }
  return undefined
}

/**
 * Where nothing bounds the wallet it was asked before, for all of it. What it has left is less than the budget would
 * pay, or it had paid all.
 */
function shortFit(wallet: Wallet, { bound, purse }: Asked, now: number): Fit | undefined {
  const rest = wallet.isClosed ? undefined : wallet.rest(now)
  if (rest === undefined) return undefined
  const isShared = purse.running > 0 || wallet.purse.running > 0
  return bound.fit(rest, isShared, true)
}

function payerHindrance(wallets: Wallets, asked: Asked, now: number): Hindrance {
  // Any of them may be credited meanwhile, and the key changed.
  const names = [asked.key.id]
  let obstacle: Hindrance['obstacle'] = 'nobody'
  for (const place of asked.chain) {
    const wallet = findWallet(wallets, place)
    if (wallet !== undefined) names.push(wallet.id)
    if (wallet === undefined || wallet.isClosed) continue
    const found = payerObstacle(wallet, canPay(asked), now)
    if (obstacle === 'nobody' || found === 'running' || obstacle === 'spent') obstacle = found
  }
  return { by: 'payers', obstacle, names }
}

/** Whether so much would pay for a call, cut short if need be. */
type CanPay = (left: number) => boolean

function canPay({ bound, key }: Asked): CanPay {
  return (left) => left === Infinity || bound.fit(left, false, key.fitsBudget) !== undefined
}

function payerObstacle(wallet: Wallet, can: CanPay, now: number): Obstacle {
  const { purse } = wallet
  if (!can(Math.min(wallet.funds(), wallet.spendable(now)))) return 'spent'
  const funds = wallet.funds(purse.inReviewAlways)
  return can(Math.min(funds, wallet.spendable(now) - purse.inReview(now))) ? 'running' : 'review'
}

/** Why a place that does not pay does not. */
export function reasonOf(wallet: Wallet | undefined, can: CanPay, now: number): PassedReason {
  if (wallet === undefined) return 'none'
  if (wallet.isClosed) return 'closed'
  if (!can(wallet.funds())) return 'funds'
  return can(wallet.spendable(now)) ? 'busy' : 'limit'
}

/** What keeps one place from paying for a call that nobody pays for. */
export interface PlaceHindrance {
  readonly why: PassedReason
  /** What there is too little of, running calls or not: one, both or none of them. */
  readonly lacks: readonly ('funds' | 'limit')[]
  /** Calls that will end by themselves are all that is in the way. */
  readonly isRunning: boolean
}

interface Question {
  readonly wallets: Wallets
  readonly asked: Asked
  readonly now: number
}

export function hindranceAt({ wallets, asked, now }: Question, place: PayerPlace): PlaceHindrance {
  const can = canPay(asked)
  const wallet = findWallet(wallets, place)
  const why = reasonOf(wallet, can, now)
  if (wallet === undefined || wallet.isClosed) return { why, lacks: [], isRunning: false }
  const isRunning = why === 'busy' && payerObstacle(wallet, can, now) === 'running'
  const hasFunds = can(wallet.funds())
  const isWithin = can(wallet.spendable(now))
  return {
    why,
    lacks: [...(hasFunds ? [] : (['funds'] as const)), ...(isWithin ? [] : (['limit'] as const))],
    isRunning,
  }
}

export function findWallet(wallets: Wallets, { walletId }: PayerPlace): Wallet | undefined {
  return walletId === undefined ? undefined : wallets.wallet(walletId)
}

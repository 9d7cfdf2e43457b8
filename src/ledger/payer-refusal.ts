// Why nobody pays for a call. Every answer tells the chain that was asked, the reason of each place, and who can mend
// it; the figures are those of the payer that came nearest, and can be checked against a read of its wallet.
import { toJsonUsd, type NanoUsd } from '../core/money.ts'
import type { PayerPlace } from '../core/payer.ts'
import { GatewayError } from '../core/problem.ts'
import type { Book } from './book.ts'
import { OPEN_ONE, mendOf, RESOLVE } from './mend.ts'
import { findWallet, hindranceAt, type Asked, type Hindrance, type PlaceHindrance } from './room.ts'
import type { Wallet } from './wallet.ts'

/** The figures behind a refusal. */
export interface PayerShortage {
  readonly asked: Asked
  readonly wallets: Pick<Book, 'wallet'>
  readonly now: number
}

/** `running`: its input could not be counted in time. `busy`: it has waited for running calls. */
type Kind = Hindrance['obstacle'] | 'busy'

/** `leftMs`: until a rule ends the reviews; undefined where only somebody can. */
export function payerRefusal(
  shortage: PayerShortage,
  kind: Kind,
  leftMs: number | undefined,
): GatewayError {
  if (kind === 'nobody') return paymentRequired(shortage)
  if (kind === 'spent') return limitReached(shortage)
  if (kind === 'review') return heldInReview(shortage, leftMs)
  const text =
    kind === 'busy'
      ? 'Calls under way hold the money of whoever could pay for this one. Try again in a moment, or run fewer at once.'
      : 'What is left to whoever could pay for this call may be enough, but its input could not be counted in time. Try again in a moment, or send less at once.'
  return new GatewayError('capacity_exceeded', text, { retryAfter: 1, details: describe(shortage) })
}

function paymentRequired(shortage: PayerShortage): GatewayError {
  return new GatewayError(
    'payment_required',
    'Nobody is set up to pay for this call: no place of its payer chain has an open wallet. Have one opened for the project, a user or the account.',
    {
      details: {
        payers: describePayers(shortage),
        raise: `the holder of the root key: ${OPEN_ONE}`,
      },
    },
  )
}

function limitReached(shortage: PayerShortage): GatewayError {
  return new GatewayError(
    'billing_limit_reached',
    `Nobody who could pay for this call has enough left for it. ${adviceFor(shortage)}, or ask for less.`,
    { details: describe(shortage) },
  )
}

/** A credit helps nobody whose limit is reached. */
function adviceFor(shortage: PayerShortage): string {
  const lacks = new Set(shortage.asked.chain.flatMap((place) => hindranceAt(shortage, place).lacks))
  if (!lacks.has('limit')) return 'Have a wallet credited or its line raised'
  if (!lacks.has('funds')) return 'Have a spending limit raised, wait for its reset'
  return 'Have a wallet credited, its line or its spending limit raised, wait for the reset'
}

function heldInReview(shortage: PayerShortage, leftMs: number | undefined): GatewayError {
  const { now } = shortage
  const resolvesAt = leftMs === undefined ? null : new Date(now + leftMs).toISOString()
  const details = {
    ...describe(shortage),
    review_usd: toJsonUsd(nearestOf(shortage)?.wallet.state(now).inReview ?? 0n),
    resolves_at: resolvesAt,
    resolve: `the holder of the root key, by ${RESOLVE}`,
  }
  const why =
    'Calls of a process that ended are in review and hold the money of whoever could pay for this one.'
  if (leftMs === undefined)
    return new GatewayError(
      'capacity_exceeded',
      `${why} Have them resolved by the holder of the root key, or have the wallet's bounds raised.`,
      { retryable: false, details },
    )
  return new GatewayError(
    'capacity_exceeded',
    `${why} They are resolved by ${resolvesAt}, or earlier by the holder of the root key.`,
    { retryAfter: leftMs / 1000, details },
  )
}

/** Of whoever came nearest to paying, and then of all who were asked. */
function describe(shortage: PayerShortage): Readonly<Record<string, unknown>> {
  const { asked, now } = shortage
  const nearest = nearestOf(shortage)
  if (nearest === undefined) return { payers: describePayers(shortage) }
  const { place, wallet } = nearest
  const { balance, held, spent, resetsAt } = wallet.state(now)
  const { limit } = wallet.purse
  return {
    wallet_id: wallet.id,
    balance_usd: toJsonUsd(balance),
    credit_line_usd: printAmount(wallet.line),
    limit_usd: printAmount(limit),
    used_usd: toJsonUsd(spent),
    held_usd: toJsonUsd(held),
    estimate_usd: printAmount(asked.bound.whole()?.amount),
    resets_at:
      limit === undefined || resetsAt === undefined ? null : new Date(resetsAt).toISOString(),
    payers: describePayers(shortage),
    raise: raiseOf(hindranceAt(shortage, place), wallet, now),
  }
}

/** Nobody need be asked to let calls end. */
function raiseOf(hindrance: PlaceHindrance, wallet: Wallet, now: number): string {
  const mend = mendOf(hindrance, wallet, now)
  return hindrance.isRunning ? mend : `the holder of the root key: ${mend}`
}

function describePayers(shortage: PayerShortage): readonly object[] {
  const { asked, wallets, now } = shortage
  const needed = printAmount(asked.bound.whole()?.amount)
  return asked.chain.map((place) => {
    const wallet = findWallet(wallets, place)
    const available = wallet?.state(now).available
    const hindrance = hindranceAt(shortage, place)
    return {
      link: place.link,
      wallet_id: place.walletId ?? null,
      why: hindrance.why,
      available_usd: available === undefined ? null : toJsonUsd(available),
      needed_usd: needed,
      mend: mendOf(hindrance, wallet, now),
    }
  })
}

/** The one with the most left. */
function nearestOf({ asked, wallets, now }: PayerShortage): Nearest | undefined {
  let nearest: Nearest | undefined
  for (const place of asked.chain) {
    const wallet = findWallet(wallets, place)
    if (wallet === undefined || wallet.isClosed) continue
    if (nearest === undefined || restOf(wallet, now) > restOf(nearest.wallet, now))
      nearest = { place, wallet }
  }
  return nearest
}

interface Nearest {
  readonly place: PayerPlace
  readonly wallet: Wallet
}

function restOf(wallet: Wallet, now: number): number {
  return wallet.rest(now) ?? Infinity
}

function printAmount(amount: NanoUsd | undefined): object | null {
  return amount === undefined ? null : toJsonUsd(amount)
}

// Who pays for a call. A payer is a wallet in a place of the chain: the project's own, that of its
// organisation's billing user, that of the user it delegates to, that of the caller.
import type { BudgetPeriod } from './key.ts'
import type { NanoUsd } from './money.ts'

export type PayerLink = 'project' | 'organisation' | 'delegate' | 'caller'

/** In the order in which they are asked. */
export const PAYER_LINKS: readonly PayerLink[] = ['project', 'organisation', 'delegate', 'caller']

/** One place of a chain, as it stands now; without a wallet nobody is there to pay. */
export interface PayerPlace {
  readonly link: PayerLink
  readonly walletId: string | undefined
}

/** The places that are asked for a call, in order: one of them where the project pins it. */
export type PayerChain = readonly PayerPlace[]

/**
 * Why a place did not pay: `none` it has no wallet, `closed` the wallet is closed, `funds` what is in it, with its
 * credit line, is not enough, `limit` its spending limit is reached, `busy` only calls under way keep it from paying.
 */
export type PassedReason = 'none' | 'closed' | 'funds' | 'limit' | 'busy'

export const PASSED_REASONS: readonly PassedReason[] = ['none', 'closed', 'funds', 'limit', 'busy']

export interface PassedPayer {
  readonly link: PayerLink
  readonly wallet: string | null
  readonly why: PassedReason
}

/** Fixed with the hold, as JSON: who pays, within which bounds, and who was passed over before. */
export interface PayerTerms {
  readonly wallet: string
  readonly link: PayerLink
  /** How far below zero its balance may go; null where that is open. */
  readonly line: NanoUsd | null
  /** What it may spend in a period; both null where it has no such limit. */
  readonly limit: NanoUsd | null
  readonly period: BudgetPeriod | null
  readonly passed: readonly PassedPayer[]
}

// What the ledger writes down. A record is final: what changes is said by another record. One call is one
// operation: a hold before anything is sent, and an audit row that ends it.
import type { AuditRow } from './audit.ts'
import type { Claim } from './claim.ts'
import type { BudgetPeriod } from './key.ts'
import type { NanoUsd } from './money.ts'
import type { Price } from './usage.ts'

/** Money that is set aside for a call. From here on a supplier may have been paid for it. */
export interface HoldRecord {
  /** The books' own time, which never goes back. */
  readonly at: number
  /** Hours since 1970 by the same time: what the call costs is charged to this hour, whenever it ends. */
  readonly hour: number
  readonly requestId: string
  readonly accountId: string
  readonly projectId: string | undefined
  readonly keyId: string
  readonly endpoint: string
  /** As the caller asked for it. */
  readonly model: string
  readonly stream: boolean
  /** The most that the call can cost. */
  readonly amount: NanoUsd
  /** The budget that allowed it; both undefined where the key has none. */
  readonly limit: NanoUsd | undefined
  readonly period: BudgetPeriod | undefined
  /** What the input is thought to be, for want of anything better. */
  readonly inputTokens: number
  /** The most output tokens, of all choices. */
  readonly maxTokens: number
  /** Who may be asked, and at which prices, in order: the JSON of `Terms`. One text for many calls. */
  readonly terms: string
  /** The JSON of `PayerTerms`, one text for many calls; undefined in records from before there were payers. */
  readonly payer: string | undefined
  /** The Idempotency-Key that it was asked under, if any. */
  readonly claim: Claim | undefined
}

/** Fixed with the hold: a change of prices or suppliers does not touch a call that runs. */
export type Terms = readonly TermsEntry[]

export interface TermsEntry {
  readonly supplier: string
  readonly region: string
  /** The id of the model as it is listed. */
  readonly model: string
  readonly price: Price
}

/**
 * What else is worth a record: `attempt` somebody is asked who was not to be the first, `progress` how much a long stream has
 * delivered, `review` nobody knows how the call ended, `month` a month is closed, `archive` older records
 * were moved to a file, `resumed` the books could not be written for a while, `credit` money was put into a wallet
 * or taken back, `action` somebody changed what management manages.
 */
export type NoteKind =
  | 'attempt'
  | 'progress'
  | 'review'
  | 'month'
  | 'archive'
  | 'resumed'
  | 'credit'
  | 'action'

export interface NoteRecord {
  readonly at: number
  readonly kind: NoteKind
  /** Of the call that it is about; undefined where it is about none. */
  readonly requestId: string | undefined
  /** JSON. */
  readonly body: string
}

/** The body of an `attempt`. */
export interface AttemptNote {
  readonly supplier: string
  /** The id of the model as the terms have it; older notes do not tell. */
  readonly model?: string
  /** Which attempt of the call it is, from 1; older notes are of the second and all after it. */
  readonly number?: number
}

/** The body of a `progress`. */
export interface ProgressNote {
  readonly outputTokens: number
}

/** The body of a `review`. */
export interface ReviewNote {
  readonly reason: string
}

/** The body of a `credit`. Only its entries change what is in a wallet, beside the calls that it pays for. */
export interface CreditNote {
  readonly account: string
  readonly wallet: string
  /** Nano-dollars; below zero where money is taken back. */
  readonly amount: NanoUsd
  /** The credential that asked for it. */
  readonly by: string
  readonly reason: string
  /** What it is called elsewhere, such as an invoice; a wallet takes each only once. */
  readonly reference: string | null
}

/** The body of an `action`. What was before and is after: without secrets, null where there is nothing. */
export interface ActionNote {
  readonly account: string
  /** The credential that did it. */
  readonly by: string
  /** Such as `key.create` or `project.update`. */
  readonly action: string
  /** The id of what it was done to. */
  readonly target: string
  readonly before: object | null
  readonly after: object | null
}

export type LedgerRecord =
  | { readonly type: 'hold'; readonly hold: HoldRecord }
  | { readonly type: 'audit'; readonly row: AuditRow }
  | { readonly type: 'note'; readonly note: NoteRecord }

/** What a key or a wallet has spent in one hour. */
export interface SpentHour {
  readonly ownerId: string
  readonly hour: number
  readonly amount: NanoUsd
}

/** A call that was held and has no end yet. */
export interface OpenOperation {
  readonly hold: HoldRecord
  /** Since when nobody knows how it ended; undefined while it was simply running. */
  readonly reviewAt: number | undefined
  /** Who was asked, as far as anyone wrote it down: not the first where that was the first of the terms. */
  readonly asked: readonly AttemptNote[]
  /** What is known to have been delivered. */
  readonly outputTokens: number
}

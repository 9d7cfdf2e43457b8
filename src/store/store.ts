// What the gateway asks of a database. Calls are admitted synchronously against memory; the store makes
// them last. An engine that needs an exception to the contract suite does not meet the contract.
import type { AuditRow, CallState } from '../core/audit.ts'
import type { ClaimRecord } from '../core/claim.ts'
import type { IdentityRecord, SealedTokens } from '../core/identity.ts'
import type { KeyRecord, KeySettings, PreviousSecret } from '../core/key.ts'
import type { NanoUsd } from '../core/money.ts'
import type { LedgerRecord, NoteRecord, OpenOperation, SpentHour } from '../core/record.ts'
import type { TenancyRecord } from '../core/tenancy.ts'

export interface Store {
  /** Everything that admission keeps in memory. */
  load(): Promise<StoreState>
  /**
   * Resolves when the whole batch is durable; batches that queue together share one commit. What rejects
   * is not durable and never will be. Records are chained in the order in which they are appended. A record
   * that cannot be, such as the end of a call that is not held, is refused with its batch alone. A problem
   * whose details say `fatal` means that nothing more may be appended by this process.
   */
  append(batch: readonly LedgerRecord[]): Promise<void>
  /** Grants up to `want` of what is left of a limit: all of it on one machine, a lease on several. */
  acquire(scope: string, want: NanoUsd): Promise<NanoUsd>
  readonly keys: KeyRepository
  readonly tenancy: TenancyRepository
  readonly wallets: WalletRepository
  readonly identities: IdentityRepository
  readonly claims: ClaimRepository
  readonly actions: ActionRepository
  readonly audit: AuditRepository
  readonly usage: UsageRepository
  readonly ledger: LedgerRepository
  /** Resolves when the store answers. Anyone may ask, so no number of pings delays a read or a write. */
  ping(): Promise<void>
  close(): Promise<void>
}

export interface StoreState {
  /** The first account: the operator's. */
  readonly accountId: string
  /** Everything of every account, in the order in which it was made. An account always has a wallet. */
  readonly tenancy: readonly TenancyRecord[]
  readonly keys: readonly KeyRecord[]
  /** Removed ones too, without their tokens. */
  readonly identities: readonly IdentityRecord[]
  readonly ledger: LedgerState
}

/** The books as they stand when a process starts. */
export interface LedgerState {
  /** The latest time of any hold or note: the books never go back behind it. */
  readonly at: number
  /**
   * Of every key and wallet, as far back as any period reaches. Exact by the hour for the last two days and for keys whose
   * period is rolling; of other keys a day before that stands as one sum at its last hour, so that no period
   * counts less than was spent, and periods of whole days count it exactly.
   */
  readonly spent: readonly SpentHour[]
  /** Of every wallet that anything was put into, taken from or charged to, all of its time. */
  readonly balances: readonly BalanceSum[]
  /** Every operation without an end. */
  readonly open: readonly OpenOperation[]
}

/** The records themselves, for whoever checks or exports them. */
export interface LedgerRepository {
  /** Where the books stand, all of it at one moment. */
  head(): Promise<LedgerHead>
  /**
   * The same, and what every key has spent in every hour. That is a great deal to read: it is for whoever
   * checks the books, and never beside calls.
   */
  spent(): Promise<SpentHead>
  /** Up to `limit` records whose number is above `after`, in the order of the chain. */
  records(after: number, limit: number): Promise<readonly ChainedRecord[]>
  /**
   * What operations whose hold is of these hours have booked on each account, `fromHour` inclusive and
   * `toHour` exclusive: debits less credits, so all of it sums to zero. Accounts that came to zero are left
   * out. A key's account is `key/<id>`, without hours.
   */
  totals(fromHour: number, toHour: number): Promise<readonly Total[]>
  /** The notes of kind `month` and `archive` that are still here, in the order of the chain. */
  checkpoints(): Promise<readonly NoteRecord[]>
  /** Removes the records up to this place, which must be in safe keeping. Refused while one is open. */
  forget(through: ChainPlace): Promise<void>
}

export interface Total {
  readonly account: string
  readonly amount: bigint
}

export interface LedgerHead {
  /** Whose chain it is. */
  readonly writer: string
  /**
   * The last number that is no longer here, and its hash. At first 0 and empty, or, where calls were recorded
   * before there were books, as many as those and empty.
   */
  readonly base: ChainPlace
  /** The last record. */
  readonly last: ChainPlace
  /** The request ids of every operation that the store takes for open. */
  readonly open: readonly string[]
}

export interface SpentHead extends LedgerHead {
  /** What each key has spent by the records that are here: they must add up to it. */
  readonly spent: readonly SpentSum[]
  /** The same of wallets. */
  readonly balances: readonly BalanceSum[]
}

/** `before` with what was credited, less what was charged, is in the wallet. */
export interface BalanceSum {
  readonly walletId: string
  /** Put in less taken back, and charged, by the records that are here; `SUM_MAX` stands for that and more. */
  readonly credited: bigint
  readonly charged: bigint
  /** What the balance was before the first of them. */
  readonly before: bigint
}

/**
 * Four billion dollars of one account in one hour. Nothing honest comes to it, and behind it a sum stands
 * still: one that outgrew the database would make every later commit fail.
 */
export const SUM_MAX = 2n ** 62n

/** What the records of one hour came to; `SUM_MAX` stands for that and more. */
export interface SpentSum {
  readonly keyId: string
  readonly hour: number
  readonly amount: bigint
}

export interface ChainPlace {
  readonly number: number
  readonly hash: string
}

/** A record and its place in its writer's chain. */
export interface ChainedRecord extends ChainPlace {
  readonly record: LedgerRecord
}

/** What is written with a change, in one commit with it. */
export interface Deed {
  /** Who did what: of kind `action`, or `credit`. */
  readonly note: NoteRecord
  /** The Idempotency-Key that it was asked under. */
  readonly claim: ClaimRecord | undefined
}

/** Every read and write names the account, so that another account's id is simply not found. */
export interface KeyRepository {
  insert(key: KeyRecord, deed: Deed): Promise<void>
  /** Replaces the settings; undefined when this account has no such key. */
  update(
    accountId: string,
    id: string,
    settings: KeySettings,
    deed: Deed,
  ): Promise<KeyRecord | undefined>
  revoke(accountId: string, id: string, at: number, deed: Deed): Promise<KeyRecord | undefined>
  /** Gives the key another secret. */
  rotate(
    accountId: string,
    id: string,
    secrets: { readonly hash: string; readonly previous: PreviousSecret | undefined },
    deed: Deed,
  ): Promise<KeyRecord | undefined>
  /** Gives the account's root key, or its first one, this secret. The old secret ends with it. */
  replaceRoot(accountId: string, hash: string): Promise<KeyRecord>
  /** When keys were last used; a later moment is never replaced by an earlier one. */
  touch(uses: readonly KeyUse[]): Promise<void>
  find(accountId: string, id: string): Promise<KeyRecord | undefined>
  /** Newest first; `cursor` is the `next` of the page before. */
  list(accountId: string, query: KeyQuery): Promise<Page<KeyRecord>>
}

export interface KeyUse {
  readonly id: string
  readonly at: number
}

/** A key must meet all that is given. */
export interface KeyQuery extends PageRequest {
  readonly kind: 'managed' | 'token'
  /** Of one of these projects, or of one of these teams. */
  readonly within?: { readonly projectIds: readonly string[]; readonly teamIds: readonly string[] }
  readonly projectId?: string | undefined
  readonly teamId?: string | undefined
  readonly userId?: string | undefined
  /** A part of it, in any case. */
  readonly name?: string | undefined
  /** All of these labels. */
  readonly metadata?: Readonly<Record<string, string>> | undefined
  readonly status?: 'active' | 'revoked' | 'expired' | undefined
  /** What `expired` is measured by. */
  readonly now: number
}

export interface TenancyRepository {
  /** Adds or replaces, by id, all or none. A second wallet of an owner is a `conflict`. */
  put(records: readonly TenancyRecord[], deed: Deed): Promise<void>
  /** An account that is new, with its wallet and its root key. */
  open(records: readonly TenancyRecord[], root: KeyRecord, deed: Deed): Promise<void>
}

export interface WalletRepository {
  /** Books the credit of the deed's note. A reference that this wallet has had before is a `conflict`. */
  credit(deed: Deed): Promise<void>
  /** The same `conflict`, for whoever would refuse the credit for another reason before it is written. */
  checkReference(walletId: string, reference: string): Promise<void>
  /** Newest first. */
  entries(accountId: string, walletId: string, page: PageRequest): Promise<Page<WalletEntry>>
}

export interface WalletEntry {
  readonly at: number
  readonly requestId: string
  readonly amount: NanoUsd
  readonly by: string
  readonly reason: string
  readonly reference: string | undefined
}

export interface IdentityRepository {
  insert(record: IdentityRecord, deed: Deed): Promise<void>
  /** All but its tokens, which a renewal may be changing meanwhile; of one that is ended they are wiped. */
  update(record: IdentityRecord, deed: Deed): Promise<void>
  /** Durable when it resolves: tokens are never used before. False where there is no such identity any more. */
  keepTokens(
    accountId: string,
    id: string,
    tokens: SealedTokens,
    how?: TokenChange,
  ): Promise<boolean>
}

export interface TokenChange {
  /** Of whoever has signed in; without it it is a renewal, which nobody has asked for. */
  readonly deed?: Deed | undefined
  /** What was renewed: where something else is kept by now, somebody has signed in meanwhile, and that stays. */
  readonly replaces?: Uint8Array | undefined
}

/** Claims that come with a hold or with a change are written with those. */
export interface ClaimRepository {
  /** By the connection that calls depend on: no report delays it. */
  find(id: string): Promise<KeptClaim | undefined>
  /** What was kept for it; the answers are by far the largest part, so each is read only to be shown. */
  answer(id: string): Promise<Uint8Array | undefined>
  /** For what is neither a call nor a change, or is done already. One that there is stays as it is. */
  add(claim: ClaimRecord): Promise<void>
  /**
   * Keeps the answer, in one commit with whatever is appended in the same turn of the loop. False where the claim
   * is gone, and the answer with it.
   */
  keep(id: string, answer: Uint8Array): Promise<boolean>
  /** What it was for has not happened: it is free again. In one commit with the turn, too. */
  drop(id: string): Promise<readonly KeptBytes[]>
  /** Removes some of those that are older. */
  sweep(before: number): Promise<SweptClaims>
  /** What is kept now. */
  sizes(): Promise<readonly KeptBytes[]>
}

export interface KeptClaim extends ClaimRecord {
  readonly hasAnswer: boolean
}

/** Of the answers of an account. */
export interface KeptBytes {
  readonly accountId: string
  readonly bytes: number
}

export interface SweptClaims {
  readonly count: number
  /** What the answers among them took. */
  readonly freed: readonly KeptBytes[]
}

export interface ActionRepository {
  /** Of kinds `action` and `credit`, newest first, as far as they are not archived. */
  list(accountId: string, query: ActionQuery): Promise<Page<NoteRecord>>
}

export interface ActionQuery extends PageRequest {
  readonly by?: string | undefined
  readonly target?: string | undefined
  readonly action?: string | undefined
  readonly from?: number | undefined
  readonly to?: number | undefined
}

/** In the order in which figures are listed. */
export const USAGE_DIMENSIONS = [
  'key',
  'project',
  'payer',
  'model',
  'supplier',
  'region',
  'code',
] as const

export type UsageDimension = (typeof USAGE_DIMENSIONS)[number]

/** Figures of an account from `fromHour` on and before `toHour`, in steps, apart by each dimension. */
export interface UsageQuery extends PageRequest {
  readonly fromHour: number
  readonly toHour: number
  readonly per: 'hour' | 'day' | 'total'
  readonly by: readonly UsageDimension[]
  /** Any of these; without it all of them. */
  readonly projectIds?: readonly string[] | undefined
  readonly equal: Readonly<Partial<Record<UsageDimension, string>>>
}

export interface UsageRow {
  /** The first hour of the step; undefined where there is but one. */
  readonly hour: number | undefined
  /** Of every dimension that was asked for; undefined where calls have none. */
  readonly values: Readonly<Partial<Record<UsageDimension, string | undefined>>>
  readonly figures: UsageFigures
}

export interface UsageFigures {
  /** Calls that were held, and requests that were refused before. */
  readonly calls: bigint
  readonly refused: bigint
  /** Calls that were held and did not go well. */
  readonly failed: bigint
  readonly inputTokens: bigint
  readonly outputTokens: bigint
  /** What keys paid. */
  readonly cost: bigint
  readonly overrun: bigint
}

export interface UsageRepository {
  /** In the order of the steps, then of the values. Exact to the last record that is durable. */
  read(accountId: string, query: UsageQuery): Promise<Page<UsageRow>>
  /** Adds up some of the records that are not yet. False when there were none left. */
  rollUp(): Promise<boolean>
}

export interface PageRequest {
  /** 1 to 1000. */
  readonly limit: number
  readonly cursor: string | undefined
}

export interface Page<Item> {
  readonly items: readonly Item[]
  /** Undefined on the last page. */
  readonly next: string | undefined
}

export interface AuditRepository {
  /**
   * Newest first: of one key and of failures the last that arrived, else the last that ended. Later
   * pages show what was there when the first was read. One page looks at so many rows and no more, so
   * where few of them fit it may be short or empty and still have a `next`.
   */
  list(accountId: string, query: AuditQuery): Promise<Page<AuditRow>>
  /** The row of one call. */
  find(accountId: string, requestId: string): Promise<AuditRow | undefined>
}

export interface AuditQuery extends PageRequest, AuditFilter {}

/** A row must meet all that is given. */
export interface AuditFilter {
  readonly keyId?: string | undefined
  /** Of calls for one of these. */
  readonly projectIds?: readonly string[] | undefined
  readonly model?: string | undefined
  readonly supplier?: string | undefined
  /** In any case. */
  readonly region?: string | undefined
  readonly status?: number | undefined
  readonly code?: string | undefined
  readonly requestId?: string | undefined
  readonly state?: CallState | undefined
  /** Arrived at this moment or later. */
  readonly from?: number | undefined
  /** Arrived before this moment. */
  readonly to?: number | undefined
}

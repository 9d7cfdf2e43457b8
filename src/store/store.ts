// What the gateway asks of a database. Calls are admitted synchronously against memory; the store makes
// them last. An engine that needs an exception to the contract suite does not meet the contract.
import type { AuditRow, CallState } from '../core/audit.ts'
import type { KeyRecord, KeySettings } from '../core/key.ts'
import type { NanoUsd } from '../core/money.ts'
import type { LedgerRecord, NoteRecord, OpenOperation, SpentHour } from '../core/record.ts'

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
  readonly audit: AuditRepository
  readonly ledger: LedgerRepository
  /** Resolves when the store answers. Anyone may ask, so no number of pings delays a read or a write. */
  ping(): Promise<void>
  close(): Promise<void>
}

export interface StoreState {
  readonly accountId: string
  readonly keys: readonly KeyRecord[]
  readonly ledger: LedgerState
}

/** The books as they stand when a process starts. */
export interface LedgerState {
  /** The latest time of any hold or note: the books never go back behind it. */
  readonly at: number
  /**
   * Of every key, as far back as any period reaches. Exact by the hour for the last two days and for keys whose
   * period is rolling; of other keys a day before that stands as one sum at its last hour, so that no period
   * counts less than was spent, and periods of whole days count it exactly.
   */
  readonly spent: readonly SpentHour[]
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

/** Every read and write names the account, so that another account's id is simply not found. */
export interface KeyRepository {
  insert(key: KeyRecord): Promise<void>
  /** Replaces the settings; undefined when this account has no such key. */
  update(accountId: string, id: string, settings: KeySettings): Promise<KeyRecord | undefined>
  revoke(accountId: string, id: string, at: number): Promise<KeyRecord | undefined>
  /** Gives the account's root key, or its first one, this secret. The old secret ends with it. */
  replaceRoot(accountId: string, hash: string): Promise<KeyRecord>
  find(accountId: string, id: string): Promise<KeyRecord | undefined>
  /** Managed keys, newest first; `cursor` is the `next` of the page before. */
  list(accountId: string, page: PageRequest): Promise<Page<KeyRecord>>
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

// What the gateway asks of a database. Calls are admitted synchronously against memory; the store makes
// them last. An engine that needs an exception to the contract suite does not meet the contract.
import type { AuditRow } from '../core/audit.ts'
import type { KeyRecord, KeySettings } from '../core/key.ts'
import type { NanoUsd } from '../core/money.ts'

export interface Store {
  /** Everything that admission keeps in memory. */
  load(): Promise<StoreState>
  /** Resolves when the whole batch is durable; batches that queue together share one commit. */
  append(batch: readonly StoreRecord[]): Promise<void>
  /** Grants up to `want` of what is left of a limit: all of it on one machine, a lease on several. */
  acquire(scope: string, want: NanoUsd): Promise<NanoUsd>
  readonly keys: KeyRepository
  readonly audit: AuditRepository
  /** Resolves when the store answers. Anyone may ask, so no number of pings delays a read or a write. */
  ping(): Promise<void>
  close(): Promise<void>
}

export interface StoreState {
  readonly accountId: string
  readonly keys: readonly KeyRecord[]
}

export type StoreRecord = { readonly type: 'audit'; readonly row: AuditRow }

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
  /** What a key spent from `from` (inclusive) to `to` (exclusive). */
  spent(keyId: string, from: number, to: number): Promise<Spent>
  /**
   * Newest first: of one key and of failures the last that arrived, else the last that ended. Later
   * pages show what was there when the first was read. One page looks at so many rows and no more, so
   * where few of them fit it may be short or empty and still have a `next`.
   */
  list(accountId: string, query: AuditQuery): Promise<Page<AuditRow>>
  /** The row of one call. */
  find(accountId: string, requestId: string): Promise<AuditRow | undefined>
}

export interface Spent {
  readonly cost: NanoUsd
  /** When the first counted call arrived; undefined when nothing was spent. */
  readonly oldestAt: number | undefined
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
  /** Arrived at this moment or later. */
  readonly from?: number | undefined
  /** Arrived before this moment. */
  readonly to?: number | undefined
}

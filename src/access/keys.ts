// Managed keys over their life: made, read, changed, revoked. A change is durable first and then in the
// ring and in the books, before whoever asked for it is answered, so that the next call already obeys.
import type { Clock } from '../core/clock.ts'
import { createKeyId, createSecret, hashSecret, MANAGED_PREFIX } from '../core/ids.ts'
import type { KeyRecord } from '../core/key.ts'
import { GatewayError } from '../core/problem.ts'
import type { KeyRepository, Page, PageRequest } from '../store/store.ts'
import type { Keyring } from './keyring.ts'
import { applyChange, readChange, readSettings, type SettingsBody } from './settings.ts'

export interface KeyDesk {
  readonly keys: KeyRepository
  readonly keyring: Keyring
  readonly ledger: BudgetKeeper
  readonly clock: Clock
}

/** Who holds calls to the budgets of keys. */
export interface BudgetKeeper {
  put(key: KeyRecord): void
}

export interface KeyAddress {
  readonly accountId: string
  readonly id: string
}

export interface CreatedKey {
  readonly key: KeyRecord
  /** Kept nowhere: this is the only time it is known. */
  readonly secret: string
}

export async function createKey(
  desk: KeyDesk,
  accountId: string,
  body: SettingsBody,
): Promise<CreatedKey> {
  const now = desk.clock.now()
  const secret = createSecret(MANAGED_PREFIX)
  const key: KeyRecord = {
    ...readSettings(body, now),
    id: createKeyId(),
    accountId,
    projectId: undefined,
    kind: 'managed',
    hash: hashSecret(secret),
    createdAt: now,
    revokedAt: undefined,
  }
  return inTurn(desk, async () => {
    await desk.keys.insert(key)
    return { key: keep(desk, key), secret }
  })
}

/** Throws the same `not_found` for no key, another account's key and the root key. */
export async function getKey(
  { keys }: Pick<KeyDesk, 'keys'>,
  { accountId, id }: KeyAddress,
): Promise<KeyRecord> {
  const key = await keys.find(accountId, id)
  if (key === undefined || key.kind !== 'managed') throw notFound()
  return key
}

export function listKeys(
  desk: KeyDesk,
  accountId: string,
  page: PageRequest,
): Promise<Page<KeyRecord>> {
  return desk.keys.list(accountId, page)
}

export async function patchKey(
  desk: KeyDesk,
  address: KeyAddress,
  body: SettingsBody,
): Promise<KeyRecord> {
  const change = readChange(body, desk.clock.now())
  return inTurn(desk, async () => {
    const current = await getKey(desk, address)
    if (current.revokedAt !== undefined)
      throw new GatewayError('conflict', 'This key is revoked and stays so. Create a new one.', {
        retryable: false,
      })
    const settings = applyChange(current, change)
    return keep(desk, await desk.keys.update(address.accountId, address.id, settings))
  })
}

/** Who revokes a key twice gets the same answer twice. */
export function revokeKey(desk: KeyDesk, address: KeyAddress): Promise<KeyRecord> {
  return inTurn(desk, async () => {
    await getKey(desk, address)
    const { accountId, id } = address
    return keep(desk, await desk.keys.revoke(accountId, id, desk.clock.now()))
  })
}

function keep(desk: KeyDesk, changed: KeyRecord | undefined): KeyRecord {
  if (changed === undefined) throw notFound()
  desk.keyring.put(changed)
  desk.ledger.put(changed)
  return changed
}

const lastTurns = new WeakMap<Keyring, Promise<unknown>>()

/**
 * Changes to a ring's keys happen one after another. Two at once would each write back what the other
 * has not seen, and the ring could learn of a revocation before what it followed, and forget it.
 */
function inTurn<Result>({ keyring }: KeyDesk, work: () => Promise<Result>): Promise<Result> {
  const turn = (lastTurns.get(keyring) ?? Promise.resolve()).then(work)
  // A change that failed is its caller's affair; the next one goes on.
  lastTurns.set(
    keyring,
    turn.catch(() => {}),
  )
  return turn
}

function notFound(): GatewayError {
  return new GatewayError(
    'not_found',
    'No key with this id belongs to this account. GET /v1/manage/keys lists those that do.',
  )
}

// All keys in memory, found by the hash of their secret. What is checked here is what the store holds:
// a change reaches the ring before the request that made it is answered.
import type { Clock } from '../core/clock.ts'
import { hashSecret } from '../core/ids.ts'
import type { KeyRecord, PreviousSecret } from '../core/key.ts'
import { GatewayError } from '../core/problem.ts'
import type { KeyUse } from '../store/store.ts'
import { credentialOf, invalidKey } from './credential.ts'
import type { Directory } from './directory.ts'

/**
 * Who may use a route: anyone, any valid key, whoever may call models, whoever may manage credentials (of all its
 * account, or of its projects), the account's root key, the root key of the account that runs the gateway.
 */
export type Role = 'open' | 'any' | 'infer' | 'manage' | 'administer' | 'operate'

/** A key's place in the ring. Both of its secrets lead here, and a use is noted without making anything. */
interface Seat {
  key: KeyRecord
  usedAt: number | undefined
  /** The part of `usedAt` that was handed on to be written down. */
  toldAt: number | undefined
  /** When the secret before the last rotation was last seen by this process. */
  previousUsedAt: number | undefined
}

/** What of the directory decides who is let in. */
export type Wall = Pick<Directory, 'operatorId' | 'account' | 'isOperator'>

export class Keyring {
  readonly #byHash = new Map<string, Seat>()
  readonly #byId = new Map<string, Seat>()
  readonly #counts = new Map<string, number>()
  readonly #clock: Clock
  readonly #directory: Wall

  constructor(keys: readonly KeyRecord[], clock: Clock, directory: Wall) {
    this.#clock = clock
    this.#directory = directory
    for (const key of keys) this.put(key)
  }

  /** Adds a key or replaces what is known of it, its secrets included. */
  put(key: KeyRecord): void {
    const { id, hash, previous } = key
    const seat = this.#byId.get(id) ?? this.#open(key)
    this.#byHash.delete(seat.key.hash)
    if (seat.key.previous !== undefined) this.#byHash.delete(seat.key.previous.hash)
    // What was seen of the secret before is nothing that this one did.
    if (seat.key.previous?.hash !== previous?.hash) seat.previousUsedAt = undefined
    seat.key = key
    this.#byHash.set(hash, seat)
    if (previous !== undefined) this.#byHash.set(previous.hash, seat)
  }

  /** How many keys an account has, ended ones among them. */
  countOf(accountId: string): number {
    return this.#counts.get(accountId) ?? 0
  }

  /**
   * What a key is by now, for whoever has held on to it for a while; throws when it is no valid key any more, or when
   * the secret that it came with has ended, by which it stays known.
   */
  current({ id, hash }: KeyRecord): KeyRecord {
    const seat = this.#byId.get(id)
    if (seat === undefined) throw invalidKey()
    const now = this.#clock.now()
    const { key } = seat
    const isPresent = key.hash === hash
    if (!isPresent && !isWithin(key.previous, hash, now)) throw invalidKey()
    this.#checkValid(key, now)
    return isPresent ? key : { ...key, hash }
  }

  *keys(): Iterable<KeyRecord> {
    for (const { key } of this.#byId.values()) yield key
  }

  /**
   * The key behind a request's credential, if it may use a route of this role. Its hash is that of the secret which was
   * presented. This runs for every request.
   */
  authenticate(headers: Headers, role: Exclude<Role, 'open'>): KeyRecord {
    const hash = hashSecret(credentialOf(headers))
    const seat = this.#byHash.get(hash)
    if (seat === undefined) throw invalidKey()
    const now = this.#clock.now()
    const isPresent = seat.key.hash === hash
    if (!isPresent && !isWithin(seat.key.previous, hash, now)) throw invalidKey()
    const key = this.#checkValid(seat.key, now)
    this.#checkRole(key, role)
    seat.usedAt = now
    if (isPresent) return key
    seat.previousUsedAt = now
    return { ...key, hash }
  }

  /** When a key last passed; undefined where it never did. */
  lastUsed(id: string): number | undefined {
    return this.#byId.get(id)?.usedAt
  }

  /** When the secret before the last rotation last passed, as far as this process has seen it. */
  previousLastUsed(id: string): number | undefined {
    return this.#byId.get(id)?.previousUsedAt
  }

  /** What is new since this was last asked. */
  takeUses(): readonly KeyUse[] {
    const uses: KeyUse[] = []
    for (const seat of this.#byId.values()) {
      if (seat.usedAt === undefined || seat.usedAt === seat.toldAt) continue
      uses.push({ id: seat.key.id, at: seat.usedAt })
      seat.toldAt = seat.usedAt
    }
    return uses
  }

  #open(key: KeyRecord): Seat {
    const seat = createSeat(key)
    this.#byId.set(key.id, seat)
    this.#counts.set(key.accountId, this.countOf(key.accountId) + 1)
    return seat
  }

  #checkValid(key: KeyRecord, now: number): KeyRecord {
    if (key.revokedAt !== undefined) throw invalidKey()
    if (key.expiresAt !== undefined && key.expiresAt <= now)
      throw new GatewayError('expired_api_key', 'This key has expired. Ask for a new one.', {
        retryable: false,
      })
    // The account that runs the gateway is never closed: most gateways look nothing up here.
    const { operatorId } = this.#directory
    if (
      key.accountId !== operatorId &&
      this.#directory.account(key.accountId)?.endedAt !== undefined
    )
      throw new GatewayError(
        'account_status',
        'The account of this key is closed. Ask whoever runs this gateway.',
        { retryable: false },
      )
    return key
  }

  #checkRole(key: KeyRecord, role: Exclude<Role, 'open'>): void {
    if (role === 'any' || role === 'infer') return
    if (role === 'operate') {
      if (!this.#directory.isOperator(key)) throw denied(NEEDED[role])
    } else if (key.kind !== 'root' && (role === 'administer' || !key.manages))
      throw denied(NEEDED[role])
  }
}

/** Whether it is the secret before the last rotation, while that still works. */
function isWithin(previous: PreviousSecret | undefined, hash: string, now: number): boolean {
  return previous !== undefined && previous.hash === hash && previous.until > now
}

const NEEDED = {
  manage: 'Only the root key, or a token that manages, may use this. Send one of them.',
  administer: "Only the account's root key may use this. Send the root key.",
  operate: 'Only the root key of the account that runs this gateway may use this.',
} as const

function createSeat(key: KeyRecord): Seat {
  const { lastUsedAt } = key
  return { key, usedAt: lastUsedAt, toldAt: lastUsedAt, previousUsedAt: undefined }
}

function denied(text: string): GatewayError {
  return new GatewayError('permission_denied', text)
}

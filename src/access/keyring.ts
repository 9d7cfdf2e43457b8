// All keys in memory, found by the hash of their secret. What is checked here is what the store holds:
// a change reaches the ring before the request that made it is answered.
import type { Clock } from '../core/clock.ts'
import { hashSecret } from '../core/ids.ts'
import type { KeyRecord } from '../core/key.ts'
import { GatewayError } from '../core/problem.ts'
import { credentialOf, invalidKey } from './credential.ts'

/** Who may use a route: anyone, any valid key, whoever may call models, whoever may manage. */
export type Role = 'open' | 'any' | 'infer' | 'manage'

export class Keyring {
  readonly #byHash = new Map<string, KeyRecord>()
  readonly #hashById = new Map<string, string>()
  readonly #clock: Clock

  constructor(keys: readonly KeyRecord[], clock: Clock) {
    this.#clock = clock
    for (const key of keys) this.put(key)
  }

  /** Adds a key or replaces what is known of it, its secret included. */
  put(key: KeyRecord): void {
    const known = this.#hashById.get(key.id)
    if (known !== undefined && known !== key.hash) this.#byHash.delete(known)
    this.#byHash.set(key.hash, key)
    this.#hashById.set(key.id, key.hash)
  }

  /** What a key is by now, for whoever has held on to it for a while; throws when it is no valid key any more. */
  current({ id }: KeyRecord): KeyRecord {
    const hash = this.#hashById.get(id)
    return this.#checkValid(hash === undefined ? undefined : this.#byHash.get(hash))
  }

  keys(): Iterable<KeyRecord> {
    return this.#byHash.values()
  }

  /** The key behind a request's credential, if it may use a route of this role. */
  authenticate(headers: Headers, role: Exclude<Role, 'open'>): KeyRecord {
    const key = this.#checkValid(this.#byHash.get(hashSecret(credentialOf(headers))))
    if (role === 'manage' && key.kind !== 'root')
      throw new GatewayError(
        'permission_denied',
        'Only the root key may use the management interface. Send the root key.',
      )
    return key
  }

  #checkValid(key: KeyRecord | undefined): KeyRecord {
    if (key === undefined || key.revokedAt !== undefined) throw invalidKey()
    if (key.expiresAt !== undefined && key.expiresAt <= this.#clock.now())
      throw new GatewayError('expired_api_key', 'This key has expired. Ask for a new one.', {
        retryable: false,
      })
    return key
  }
}

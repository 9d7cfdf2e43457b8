// Holds a supplier's name to the addresses that were checked. A connection goes to one of these and to no
// other, so a name that changes its mind between the check and the call leads nowhere new.
import { lookup } from 'node:dns/promises'
import { isAllowed, type AddressRules } from './address.ts'

/** All addresses of a name, in the order in which they should be tried. */
export type Resolve = (host: string) => Promise<readonly string[]>

export const resolveHost: Resolve = async (host) => {
  const found = await lookup(host, { all: true })
  return found.map(({ address }) => address)
}

/** A name leads to an address that it must not lead to. Nothing was sent there. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused'
  readonly code = 'AddressRefused'

  constructor(host: string, address: string) {
    super(
      `${host} leads to ${address}, which is not public: nothing is sent there without \`allow_private: true\``,
    )
  }
}

export interface PinOptions extends AddressRules {
  readonly host: string
  readonly resolve: Resolve
  /** Milliseconds that never jump. */
  readonly now: () => number
}

/** How long an answer is used without asking again. */
const FRESH_MS = 60_000
/** How long it is used while it is asked for again. */
const STALE_MS = 600_000
/** How long a name that could not be found is not asked for again. */
const PATIENCE_MS = 5_000
/** How long an answer is as good as a new one, so that a supplier that is down costs no look-up a call. */
const NEW_MS = 1_000

export class Pin {
  readonly #options: PinOptions
  #addresses: readonly string[] = []
  #askedAt = Number.NEGATIVE_INFINITY
  #trouble: Error | undefined
  #asking: Promise<readonly string[]> | undefined

  constructor(options: PinOptions) {
    this.#options = options
  }

  /** An address that can be called at once; undefined when one must be waited for. */
  address(): string | undefined {
    const age = this.#age()
    if (age > STALE_MS) return undefined
    // In the background: the address at hand was checked, and nobody waits for a better one.
    if (age > FRESH_MS && this.#addresses.length > 0) this.ask().catch(() => {})
    return this.#addresses[0]
  }

  /** Looks the name up, once at a time however many wait; what was just found out is not asked again. */
  ask(): Promise<readonly string[]> {
    const age = this.#age()
    const patience = this.#trouble instanceof AddressRefused ? FRESH_MS : PATIENCE_MS
    if (this.#trouble !== undefined && age < patience) return Promise.reject(this.#trouble)
    if (this.#addresses.length > 0 && age < NEW_MS) return Promise.resolve(this.#addresses)
    this.#asking ??= this.#ask().finally(() => (this.#asking = undefined))
    return this.#asking
  }

  /** Nobody answered there: the others are tried first from now on. */
  demote(address: string): void {
    if (!this.#addresses.includes(address)) return
    this.#addresses = [...this.#addresses.filter((each) => each !== address), address]
  }

  async #ask(): Promise<readonly string[]> {
    const { host, resolve, now } = this.#options
    try {
      const found = await resolve(host)
      this.#take(found)
    } catch (thrown) {
      this.#trouble = thrown instanceof Error ? thrown : new Error(String(thrown))
      // A failing resolver says nothing about the addresses at hand, and they were checked.
      if (thrown instanceof AddressRefused || this.#addresses.length === 0) throw this.#trouble
      this.#trouble = undefined
    } finally {
      this.#askedAt = now()
    }
    return this.#addresses
  }

  #take(found: readonly string[]): void {
    const { host } = this.#options
    const refused = found.find((address) => !isAllowed(address, this.#options))
    this.#addresses = refused === undefined ? found : []
    this.#trouble = undefined
    if (refused !== undefined) throw new AddressRefused(host, refused)
    if (found.length === 0)
      throw Object.assign(new Error(`${host} has no address`), { code: 'ENOTFOUND' })
  }

  #age(): number {
    return this.#options.now() - this.#askedAt
  }
}

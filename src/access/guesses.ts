// Wrong keys by where they came from. Who guesses is soon told to wait; a good key from the same place
// works all the same, since many share an address.
import { GatewayError } from '../core/problem.ts'

const WINDOW_MS = 10_000
const WRONG_MAX = 50
/** Addresses that are remembered; with more the one that came first is forgotten. */
const ADDRESSES_MAX = 10_000

interface Tally {
  readonly since: number
  count: number
}

export class Guesses {
  readonly #byAddress = new Map<string, Tally>()

  /** Counts a wrong key; throws once there were too many of them. `now` never jumps. */
  wrong(address: string, now: number): void {
    const place = placeOf(address)
    const tally = this.#tallyOf(place, now)
    tally.count += 1
    if (tally.count <= WRONG_MAX) return
    throw new GatewayError(
      'rate_limit_exceeded',
      'Too many wrong keys came from this address. Check the key before you try again.',
      { retryAfter: (tally.since + WINDOW_MS - now) / 1000 },
    )
  }

  #tallyOf(place: string, now: number): Tally {
    const known = this.#byAddress.get(place)
    if (known !== undefined && now - known.since < WINDOW_MS) return known
    this.#byAddress.delete(place)
    const [oldest] = this.#byAddress.size < ADDRESSES_MAX ? [] : this.#byAddress.keys()
    if (oldest !== undefined) this.#byAddress.delete(oldest)
    const tally = { since: now, count: 0 }
    this.#byAddress.set(place, tally)
    return tally
  }
}

const GROUPS = 8
const NETWORK_GROUPS = 4

/** One who has an address of the newer protocol has sixty-four bits of them; the network counts. */
export function placeOf(address: string): string {
  if (!address.includes(':')) return address
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  const [head = '', tail] = address.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : Math.max(0, GROUPS - before.length - after.length)
  const groups = [...before, ...Array.from({ length: zeros }, () => '0'), ...after]
  return groups
    .slice(0, NETWORK_GROUPS)
    .map((group) => group.toLowerCase().replace(/^0+(?=.)/, ''))
    .join(':')
}

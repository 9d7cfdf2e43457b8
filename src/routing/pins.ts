// The pins of one account, in the order in which they were last used. A list runs through it, because a map that is
// emptied from its front has to be walked past all that was there before.
import type { Pace } from './pace.ts'

/** Where a session is. */
export class Pin {
  readonly key: string
  /** The lane's own text for itself, so that thousands of pins share one. */
  lane: string
  at: number
  /** Undefined while no stream was read there. */
  pace: Pace | undefined
  /** Who was used before it, and after it; itself outside of a table. */
  before: Pin = this
  after: Pin = this

  constructor(key: string, lane: string, at: number) {
    this.key = key
    this.lane = lane
    this.at = at
  }
}

export class Pins {
  readonly accountId: string
  readonly #pins = new Map<string, Pin>()
  /** Before the oldest and after the latest. */
  readonly #ends = new Pin('', '', 0)

  constructor(accountId: string) {
    this.accountId = accountId
  }

  get size(): number {
    return this.#pins.size
  }

  find(key: string): Pin | undefined {
    return this.#pins.get(key)
  }

  /** Whoever was used longest ago; undefined where there is nobody. */
  get oldest(): Pin | undefined {
    return this.#ends.after === this.#ends ? undefined : this.#ends.after
  }

  add(pin: Pin): void {
    this.#pins.set(pin.key, pin)
    this.#append(pin)
  }

  /** It is the latest now. */
  touch(pin: Pin): void {
    unlink(pin)
    this.#append(pin)
  }

  drop(pin: Pin): void {
    this.#pins.delete(pin.key)
    unlink(pin)
  }

  #append(pin: Pin): void {
    const last = this.#ends.before
    pin.before = last
    pin.after = this.#ends
    last.after = pin
    this.#ends.before = pin
  }
}

function unlink(pin: Pin): void {
  pin.before.after = pin.after
  pin.after.before = pin.before
}

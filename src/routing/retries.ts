// How many third attempts may be under way. The first failover of a call is free; beyond it, calls that fail
// everywhere must not become a multiple of the load that made suppliers fail, and no key takes all there are.

/** Of the calls that run; and so many always. */
const SHARE = 0.2
const FLOOR = 3

export class Retries {
  #running = 0
  /** Of keys that have any. */
  readonly #byKey = new Map<string, number>()

  /** Takes a place if there is one, and more of them are free than the key has; whoever got it gives it back. */
  take(calls: number, key: string): boolean {
    const own = this.#byKey.get(key) ?? 0
    const free = Math.max(FLOOR, calls * SHARE) - this.#running
    if (free <= own) return false
    this.#running += 1
    this.#byKey.set(key, own + 1)
    return true
  }

  giveBack(key: string): void {
    const own = this.#byKey.get(key) ?? 0
    this.#running -= 1
    if (own > 1) this.#byKey.set(key, own - 1)
    else this.#byKey.delete(key)
  }
}

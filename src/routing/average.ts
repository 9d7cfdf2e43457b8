// A moving average of times: what came last counts most, and what came long ago fades.

/** The share of the latest figure. */
const SHARE = 0.2
/** So long unmeasured, and a route counts as twice as fast as it was: it is tried again one day. */
const FADING_MS = 30_000
/** Fewer say little, and so does what was measured longer ago. */
const TELLING_COUNT = 10
const TELLING_MS = 300_000

export class Average {
  ms = 0
  count = 0
  #at = 0

  add(ms: number, now: number): void {
    this.ms = this.count === 0 ? ms : this.ms + SHARE * (ms - this.ms)
    this.count += 1
    this.#at = now
  }

  /** What to expect of it now; 0 where nothing is known, so that everyone is tried once. */
  expected(now: number): number {
    if (this.count === 0) return 0
    return this.ms * 0.5 ** Math.floor((now - this.#at) / FADING_MS)
  }

  /** There are enough figures to judge by, and the last of them is not old. */
  isTelling(now: number): boolean {
    return this.count >= TELLING_COUNT && now - this.#at < TELLING_MS
  }

  /** Begins anew: what comes next is not to be held to what was. */
  forget(): void {
    this.ms = 0
    this.count = 0
  }
}

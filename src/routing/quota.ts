// How much of a supplier's own limits is left to one credential for one model, as its answers tell. It changes
// who is asked first and closes nothing: what is spent for certain is said by a refusal.
import type { RateLimit } from '../suppliers/rate-headers.ts'

/** No credential is given up for being spent: it is only asked last. */
const LEAST_SHARE = 0.01
/** Most limits are of a minute, and who does not say when they are whole again is taken to have such ones. */
const WINDOW_MS = 60_000

interface Left {
  readonly share: number
  readonly until: number
}

export class Quota {
  #left: readonly Left[] = []
  /** From here on nothing is known any more. */
  #until = 0

  /** From an answer; one that tells nothing changes nothing. */
  note(limits: readonly RateLimit[], now: number): void {
    if (limits.length === 0) return
    const left: Left[] = []
    this.#until = 0
    for (const { share, resetMs = WINDOW_MS } of limits) {
      if (share === undefined) continue
      const until = now + resetMs
      left.push({ share, until })
      this.#until = Math.max(this.#until, until)
    }
    this.#left = left
  }

  /** 0 exclusive to 1: what is left of whichever limit has the least, as far as anybody told. */
  share(now: number): number {
    if (now >= this.#until) return 1
    let least = 1
    for (const { share, until } of this.#left) if (now < until && share < least) least = share
    return Math.max(LEAST_SHARE, least)
  }
}

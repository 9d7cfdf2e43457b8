// What one process knows of a sign-in beside what is durable: the renewal under way, how the last ones went, and what
// its supplier thinks of its token. It is about one pair of tokens and ends with it.
import type { NewTokens } from '../../access/identities.ts'

const PAUSE_MIN_MS = 1000
const PAUSE_MAX_MS = 60_000
/** How long another token is not tried after a new one was of no use. */
const VAIN_MS = 60_000

export class Course {
  /** The tokens that it is about. */
  readonly sealed: Uint8Array | undefined
  /** The renewal under way. */
  flight: Promise<string> | undefined
  /** What the issuer has given and the store has not taken. */
  unsaved: NewTokens | undefined
  /** The issuer renews it no more. Durable, too, unless the store has failed. */
  isRefused = false
  /** The supplier has refused the access token. */
  isSpent = false
  #failures = 0
  #pausedUntil = Number.NEGATIVE_INFINITY
  #vainUntil = Number.NEGATIVE_INFINITY

  constructor(sealed: Uint8Array | undefined) {
    this.sealed = sealed
  }

  /** A renewal has come to nothing: nobody asks for so many milliseconds, which doubles with every time. */
  pause(now: number, waitMs = Math.min(PAUSE_MAX_MS, PAUSE_MIN_MS * 2 ** this.#failures)): number {
    this.#failures += 1
    this.#pausedUntil = now + waitMs
    return waitMs
  }

  /** Whether any renewal has come to nothing yet. */
  get hasFailed(): boolean {
    return this.#failures > 0
  }

  /** Milliseconds in which nobody asks. */
  pauseLeft(now: number): number {
    return Math.max(0, this.#pausedUntil - now)
  }

  /** A supplier refuses the token although it is new. */
  markVain(now: number): void {
    this.#vainUntil = now + VAIN_MS
  }

  isVain(now: number): boolean {
    return now < this.#vainUntil
  }
}

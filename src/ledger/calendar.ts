// The books' own time. It goes with the wall clock, but a jump of that is believed only after ten minutes
// in which it went on as it should; and it never goes back. So no clock that is set wrong for a moment
// starts a period over, and none that is set back opens one again.
import { HOUR_MS } from '../core/hour.ts'
import type { Clock } from '../core/clock.ts'

/** What clocks drift apart, and are drawn together, without anybody having set them. */
const SLACK_MS = 2_000
const DOUBT_MS = 600_000
const DAY_MS = 24 * HOUR_MS
/** Longer than any period: after so long a rest all of them have ended. */
const REST_MS = 35 * DAY_MS

interface Doubt {
  readonly offset: number
  /** Of elapsed time. */
  readonly since: number
}

/** Told of a jump, with its size in milliseconds. */
export type JumpListener = (jumpMs: number) => void

export class Calendar {
  readonly #clock: Clock
  readonly #onJump: JumpListener
  /** What is added to elapsed time to get the time of day. */
  #offset: number
  #last: number
  #doubt: Doubt | undefined

  /** `notBefore` is the latest time in the books. */
  constructor(clock: Clock, notBefore: number, onJump: JumpListener) {
    this.#clock = clock
    this.#onJump = onJump
    this.#offset = clock.now() - clock.elapsed()
    this.#last = notBefore
  }

  now(): number {
    const elapsed = this.#clock.elapsed()
    const offset = this.#clock.now() - elapsed
    if (isNear(offset, this.#offset)) {
      this.#offset = offset
      this.#doubt = undefined
    } else this.#consider(offset, elapsed)
    this.#last = Math.max(this.#last, Math.floor(this.#offset + elapsed))
    return this.#last
  }

  #consider(offset: number, elapsed: number): void {
    if (this.#doubt === undefined || !isNear(offset, this.#doubt.offset)) {
      this.#doubt = { offset, since: elapsed }
      this.#onJump(offset - this.#offset)
    } else if (elapsed - this.#doubt.since >= DOUBT_MS) {
      this.#offset = offset
      this.#doubt = undefined
    }
  }
}

/**
 * What is to be said of a clock at the start, when there is nothing to hold it against but the books: it is
 * believed. `newest` is the latest time in the books, 0 where they are empty.
 */
export function doubtsOf(newest: number, now: number): string | undefined {
  const last = new Date(newest).toISOString()
  if (newest - now > SLACK_MS)
    return `the clock is ${describeSpan(newest - now)} behind the books, which end at ${last}: their time stands still, and no budget starts over, until the clock has caught up. If the clock is wrong, stop the gateway, set it right and start again`
  if (newest > 0 && now - newest > REST_MS)
    return `the clock is ${describeSpan(now - newest)} past the end of the books, ${last}: every budget has started over. If the clock is wrong, stop the gateway at once, set it right and start again: the books never go back behind what is written in them`
  return undefined
}

function describeSpan(milliseconds: number): string {
  if (milliseconds >= 2 * DAY_MS) return `${Math.floor(milliseconds / DAY_MS)} days`
  return `${Math.round(milliseconds / 1000)} s`
}

function isNear(one: number, other: number): boolean {
  return Math.abs(one - other) <= SLACK_MS
}

// Calls that only other calls of their key keep out. They wait in line for a moment, and whoever ends lets
// the first that fits go on. The line is short: beyond it one is told to come back.
import { Chain, type Place } from '../core/chain.ts'
import type { Clock, Ticker } from '../core/clock.ts'

const WAIT_MS = 1_000
const WAITING_MAX = 512

export interface Waiting {
  /** Money became free: true when this one need not wait any longer, whatever came of it. */
  retry(): boolean
  /** It has waited long enough. */
  giveUp(): void
}

export class Lines {
  readonly #clock: Clock
  readonly #byKey = new Map<string, Chain<Stand>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** False when the line is too long to be joined. */
  join(keyId: string, waiting: Waiting): boolean {
    const line = this.#byKey.get(keyId) ?? new Chain<Stand>()
    if (line.size >= WAITING_MAX) return false
    this.#byKey.set(keyId, line)
    const stand = new Stand(waiting)
    stand.place = line.join(stand)
    stand.timer = this.#clock.after(WAIT_MS, stand)
    return true
  }

  /** In the order in which they came; one that asks for much does not stand in the way of the next. */
  wake(keyId: string): void {
    const line = this.#byKey.get(keyId)
    if (line === undefined) return
    for (const stand of line) if (stand.waiting.retry()) stand.leave()
    if (line.size === 0) this.#byKey.delete(keyId)
  }

  wakeAll(): void {
    for (const keyId of this.#byKey.keys()) this.wake(keyId)
  }
}

class Stand implements Ticker {
  readonly waiting: Waiting
  place: Place | undefined
  timer: Place | undefined

  constructor(waiting: Waiting) {
    this.waiting = waiting
  }

  leave(): void {
    this.place?.leave()
    this.timer?.leave()
  }

  tick(): void {
    this.leave()
    this.waiting.giveUp()
  }
}

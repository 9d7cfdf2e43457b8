// Calls that only other calls keep out: those of their key, or those of the wallets that could pay for them. They
// wait in line for a moment, and whoever ends lets the first that fits go on. A line is short: beyond it one is told
// to come back.
import { Chain, type Place } from '../core/chain.ts'
import type { Clock, Ticker } from '../core/clock.ts'

const WAIT_MS = 1_000
const WAITING_MAX = 512

export interface Waiting {
  /**
   * Money became free. Undefined when this one need not wait any longer, whatever came of it; else the names of
   * those whose money could free it.
   */
  retry(): readonly string[] | undefined
  /** It has waited long enough. */
  giveUp(): void
}

export class Lines {
  readonly #clock: Clock
  readonly #byName = new Map<string, Chain<Stand>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** False when a line is too long to be joined. */
  join(names: readonly string[], waiting: Waiting): boolean {
    const stand = new Stand(waiting)
    if (!this.#place(stand, names)) return false
    stand.timer = this.#clock.after(WAIT_MS, stand)
    return true
  }

  /** In the order in which they came; one that asks for much does not stand in the way of the next. */
  wake(name: string): void {
    const line = this.#byName.get(name)
    if (line === undefined) return
    for (const stand of line) {
      const names = stand.waiting.retry()
      if (names === undefined) stand.leave()
      else if (!this.#place(stand, names)) stand.tick()
    }
    if (line.size === 0) this.#byName.delete(name)
  }

  wakeAll(): void {
    for (const name of this.#byName.keys()) this.wake(name)
  }

  /** Where it stands already it keeps its place. False when it cannot stand everywhere: then it stands nowhere. */
  #place(stand: Stand, names: readonly string[]): boolean {
    for (const [name, place] of stand.places)
      if (!names.includes(name)) {
        place.leave()
        stand.places.delete(name)
      }
    for (const name of names) {
      if (stand.places.has(name)) continue
      const line = this.#byName.get(name) ?? new Chain<Stand>()
      if (line.size >= WAITING_MAX) {
        stand.leave()
        return false
      }
      this.#byName.set(name, line)
      stand.places.set(name, line.join(stand))
    }
    return true
  }
}

class Stand implements Ticker {
  readonly waiting: Waiting
  /** One in each line, by the name of the line. */
  readonly places = new Map<string, Place>()
  timer: Place | undefined

  constructor(waiting: Waiting) {
    this.waiting = waiting
  }

  /** All its lines at once. */
  leave(): void {
    for (const place of this.places.values()) place.leave()
    this.places.clear()
    this.timer?.leave()
  }

  tick(): void {
    this.leave()
    this.waiting.giveUp()
  }
}

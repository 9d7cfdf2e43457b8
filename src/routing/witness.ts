// Whose calls go well on a way and whose do not. What one caller alone suffers while others are served well is taken
// for the doing of its own requests: nobody closes for others what works for them.

/** Longer ago, and it says nothing about how things are. */
const RECENT_MS = 60_000

/** The last key that was served well, and when anybody else last was: enough to tell of each who else there is. */
export class Served {
  #last = ''
  #lastAt = Number.NEGATIVE_INFINITY
  #beforeAt = Number.NEGATIVE_INFINITY

  /** Of every call that goes well, so nothing is made for it. */
  note(key: string, now: number): void {
    if (key !== this.#last) {
      this.#beforeAt = this.#lastAt
      this.#last = key
    }
    this.#lastAt = now
  }

  /** Somebody else has lately been served well. */
  hasOther(key: string, now: number): boolean {
    const at = key === this.#last ? this.#beforeAt : this.#lastAt
    return now - at < RECENT_MS
  }
}

/** Troubles in a row, and whether more than one key has had them. */
export class Run {
  count = 0
  isShared = false
  #key = ''

  add(key: string): void {
    if (this.count === 0) this.#key = key
    else if (key !== this.#key) this.isShared = true
    this.count += 1
  }

  clear(): void {
    this.count = 0
    this.isShared = false
  }
}

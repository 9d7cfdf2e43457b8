// Notices that nobody is heard of any more, long before a deadline does: streams that wait together and are all left
// without a word. It costs a call a count; the time is looked at once a second.

/** So many must wait together: one that is slow proves nothing. */
const CROWD = 5
/** In the place of a number: of a call that is not missed. */
export const NOBODY = 0

export class Silence {
  #entered = 0
  /** Whoever came before somebody was heard of does not count any more. */
  #heard = 0
  #waiting = 0
  /** The crowd that is watched: since when, the last of them, and how many of them still wait. */
  #since = 0
  #last = 0
  #left = 0

  /** A call begins to wait; what it is given names it when it stops. */
  begin(): number {
    this.#waiting += 1
    return ++this.#entered
  }

  /** It waits no longer, and nothing was heard of anybody. */
  end(number: number): void {
    if (number <= this.#heard) return
    this.#waiting -= 1
    if (number <= this.#last) this.#left -= 1
  }

  /** Somebody answered, whatever it was. */
  heard(): void {
    this.#heard = this.#entered
    this.#waiting = 0
    this.#left = 0
  }

  /** For how long the same calls have all been waiting in vain; 0 where they are too few. */
  lasting(now: number): number {
    if (this.#left >= CROWD) return now - this.#since
    this.#since = now
    this.#last = this.#entered
    this.#left = this.#waiting
    return 0
  }
}

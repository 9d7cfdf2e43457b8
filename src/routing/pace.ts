// How soon the streams of one session begin where it is, and whether that has become much worse. A single late
// answer says nothing: whoever moves for it loses what is cached for the session.

/** So many are what is usual; what comes later is held against them. */
const USUAL_COUNT = 3
const RECENT_COUNT = 3
/** Slow is both: so many times what is usual, and so much more. */
const FACTOR = 3
const LEAST_MS = 1_000
/** What is usual follows slowly, because a conversation that grows begins later by itself. */
const SHARE = 0.125

export class Pace {
  #count = 0
  #usual = 0
  // The latest three, which do not count as usual yet. Zero while there are fewer.
  #last = 0
  #second = 0
  #third = 0

  add(ms: number): void {
    this.#count += 1
    if (this.#count <= USUAL_COUNT) {
      this.#usual += (ms - this.#usual) / this.#count
      return
    }
    if (this.#count > USUAL_COUNT + RECENT_COUNT) this.#usual += SHARE * (this.#third - this.#usual)
    this.#third = this.#second
    this.#second = this.#last
    this.#last = ms
  }

  /** How long its streams take to begin of late where that is slow; else undefined. */
  slowness(): number | undefined {
    const recent = middle(this.#last, this.#second, this.#third)
    const isSlow = recent > this.#usual * FACTOR && recent - this.#usual >= LEAST_MS
    return isSlow ? recent : undefined
  }
}

/** Two of three are at least as long: one that stands out changes nothing. */
function middle(one: number, two: number, three: number): number {
  return one + two + three - Math.max(one, two, three) - Math.min(one, two, three)
}

// Figures that a supplier tells: whole numbers of tokens, or said to be unread.
import type { Fields } from './json.ts'

/** More than any call can use, and little enough for every price to stay exact. */
const COUNT_MAX = 1_000_000_000

/** Reads figures, and remembers whether one of them was none. */
export class Told {
  isUnread = false

  /** Two names for one figure, by who wrote the supplier's interface; who sends both may leave one at zero. */
  count(fields: Fields | undefined, name: string, otherName = name): number | undefined {
    const first = this.#read(fields?.[name])
    const second = otherName === name ? undefined : this.#read(fields?.[otherName])
    return first === undefined || second === undefined ? (first ?? second) : Math.max(first, second)
  }

  #read(value: unknown): number | undefined {
    if (isCount(value)) return value
    if (value !== undefined && value !== null) this.isUnread = true
    return undefined
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= COUNT_MAX
}

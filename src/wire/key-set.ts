// The names that a reader of JSON wants to hear of, found without making a text of them; and what makes
// a name ambiguous, because parsers read it in different ways.

/** A member whose name is not in the key set. */
export const OTHER = -2

export interface KeySetOptions {
  /** Refuse a second or an escaped spelling of a listed name: parsers disagree on which one counts. */
  readonly once?: boolean
  /** Refuse other cases of a listed name too: some parsers fold case when they match names. */
  readonly fold?: boolean
}

/**
 * For whatever is decided by: some suppliers fold case when they match names, so another case of a listed name would
 * let a caller show us one value and the supplier another.
 */
export const STRICT: KeySetOptions = { once: true, fold: true }

const TABLE_SIZE = 256
const NAME_MAX = 64
const NAMES_MAX = 62

/** The names that a reader wants to hear of, at most 62; `nextKey` answers with a name's position. */
export class KeySet {
  readonly names: readonly string[]
  readonly once: boolean
  readonly fold: boolean
  /** A position for each value of the hash, or OTHER; the factor is one under which no two names meet. */
  readonly #table = new Int8Array(TABLE_SIZE)
  readonly #factor: number
  readonly #bytes: readonly Uint8Array[]
  readonly #hasLength = new Uint8Array(NAME_MAX)

  constructor(names: readonly string[], options: KeySetOptions = {}) {
    if (names.length > NAMES_MAX) throw new RangeError(`a key set holds at most ${NAMES_MAX} names`)
    this.names = names
    this.once = options.once === true
    this.fold = options.fold === true
    this.#bytes = names.map((name) => new TextEncoder().encode(name))
    for (const { length } of this.#bytes) this.#hasLength[length] = 1
    this.#factor = this.#fill()
  }

  /** The position of the name that stands between two offsets, or OTHER. */
  match(bytes: Uint8Array, from: number, to: number): number {
    if (to <= from) return OTHER
    const index = this.#table[hash(bytes, from, to, this.#factor)]!
    if (index === OTHER) return OTHER
    const name = this.#bytes[index]!
    return name.length === to - from && isSame(bytes, from, name) ? index : OTHER
  }

  #fill(): number {
    // Beyond the size of the table the factors say the same again.
    for (let factor = 1; factor <= TABLE_SIZE; factor++) {
      this.#table.fill(OTHER)
      const places = this.#bytes.map((name) => hash(name, 0, name.length, factor))
      for (const [index, place] of places.entries()) this.#table[place] = index
      if (new Set(places).size === places.length) return factor
    }
    throw new RangeError(`these names cannot be told apart: ${this.names.join(', ')}`)
  }

  /** False for nearly every unlisted name: plain letters of a length that no listed name has. */
  couldFold(bytes: Uint8Array, from: number, to: number): boolean {
    if (this.#hasLength[to - from] === 1) return true
    for (let at = from; at < to; at++) if (bytes[at]! > 0x7f) return true
    return false
  }

  /** The position of the name that this text could be taken for, or OTHER. */
  resembles(name: string): number {
    // Both directions, because the Kelvin sign and the long s fold in only one of them.
    const index = this.names.indexOf(this.fold ? name.toUpperCase().toLowerCase() : name)
    return index < 0 ? OTHER : index
  }
}

/** Length, first and last letter tell nearly all names apart; the middle one the rest. */
function hash(bytes: Uint8Array, from: number, to: number, factor: number): number {
  const ends = (bytes[from]! << 5) ^ bytes[to - 1]! ^ (bytes[(from + to) >> 1]! << 3)
  return ((to - from) * factor + ends * (factor + 6)) & (TABLE_SIZE - 1)
}

/** Compares bytes from an offset on with a whole name. */
export function isSame(bytes: Uint8Array, from: number, name: Uint8Array): boolean {
  for (let index = 0; index < name.length; index++)
    if (bytes[from + index] !== name[index]) return false
  return true
}

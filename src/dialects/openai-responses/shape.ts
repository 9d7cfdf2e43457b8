// The pieces of a text differ in their text, their number and what hides their length, and in nothing else. Once one
// of them is understood, those that repeat it byte for byte around these are understood too, without being parsed.

const encoder = new TextEncoder()
const TEXT = encoder.encode('"delta":"')
const NUMBER = encoder.encode('"sequence_number":')
/** Letters of any number, so that nobody can tell by its length what is said. */
const FILLER = encoder.encode('"obfuscation":"')

const QUOTE = 0x22
const BACKSLASH = 0x5c
const SPACE = 0x20
const ZERO = 0x30
const NINE = 0x39

/** How often a stream may change its shape before looking for one is given up as a waste. */
const CHANGES_MAX = 8

/** What changes from one event to the next, between what does not. */
interface Hole {
  readonly isText: boolean
  readonly isNumber: boolean
  readonly from: number
  readonly to: number
}

export class DeltaShape {
  /** One more than there are holes. */
  #literals: readonly Uint8Array[] = []
  #holes: readonly Hole[] = []
  #changes = 0
  /** Bytes of text in the event that fitted last, and its number; less than 0 where it has none. */
  textBytes = 0
  sequence = -1

  /** True when the event is the remembered one with other plain text in it. */
  fits(data: Uint8Array, from: number, to: number): boolean {
    const literals = this.#literals
    if (literals.length === 0) return false
    let at = from
    for (let place = 0; ; place++) {
      const literal = literals[place]!
      if (at + literal.length > to) return false
      for (let index = 0; index < literal.length; index++)
        if (data[at + index] !== literal[index]) return false
      at += literal.length
      const hole = this.#holes[place]
      if (hole === undefined) return at === to
      at = this.#fill(hole, data, at, to)
      if (at < 0) return false
    }
  }

  /** The end of what stands in a hole; less than 0 where it cannot be that. */
  #fill({ isText, isNumber }: Hole, data: Uint8Array, from: number, to: number): number {
    let at = from
    if (isNumber) {
      let number = 0
      for (; at < to && isDigit(data[at]!); at++) number = number * 10 + data[at]! - ZERO
      this.sequence = number
    } else while (at < to && isPlain(data[at]!)) at++
    if (isText) this.textBytes = at - from
    return at > from ? at : -1
  }

  /** Remembers an event that did nothing but add text, of so many bytes; false where it has not the usual shape. */
  learn(data: Uint8Array, textBytes: number): boolean {
    if (this.#changes === CHANGES_MAX) return false
    this.#changes++
    const text = find(data, TEXT, isPlain)
    // Whatever else it put out would be put out again by each event like it, and not be counted.
    if (text === undefined || text.to - text.from !== textBytes) return false
    const others = [find(data, NUMBER, isDigit), find(data, FILLER, isPlain)]
    const holes = [text, ...others.filter((hole) => hole !== undefined)]
    holes.sort((one, other) => one.from - other.from)
    this.#literals = [...holes, undefined].map((hole, place) =>
      data.slice(holes[place - 1]?.to ?? 0, hole?.from ?? data.length),
    )
    this.#holes = holes
    this.sequence = -1
    return true
  }
}

/** What stands behind a mark that is there once, if it is of this kind to its end. */
function find(
  data: Uint8Array,
  mark: Uint8Array,
  isKind: (byte: number) => boolean,
): Hole | undefined {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  const at = bytes.indexOf(mark)
  if (at < 0 || bytes.includes(mark, at + 1)) return undefined
  const from = at + mark.length
  let to = from
  while (to < data.length && isKind(data[to]!)) to++
  const isNumber = mark === NUMBER
  if (to === from || (!isNumber && data[to] !== QUOTE)) return undefined
  return { isText: mark === TEXT, isNumber, from, to }
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= NINE
}

/** Neither the end of a string nor an escape in one, and allowed inside of one. */
function isPlain(byte: number): boolean {
  return byte !== QUOTE && byte !== BACKSLASH && byte >= SPACE
}

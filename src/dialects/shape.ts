// The events of an answer mostly differ in their text alone. Once one of them is understood, those that
// repeat it byte for byte around the text are understood too, without being parsed.

const QUOTE = 0x22
const BACKSLASH = 0x5c
const SPACE = 0x20

/** How often a stream may change its shape before looking for one is given up as a waste. */
const CHANGES_MAX = 8

export class TextShape {
  /** What stands before the text: its name, a colon and the opening quote. */
  readonly #mark: Uint8Array
  #before: Uint8Array | undefined
  #after: Uint8Array
  #changes = 0
  /** Bytes of text in the event that fitted last. */
  textBytes = 0

  constructor(mark: Uint8Array) {
    this.#mark = mark
    this.#after = mark
  }

  /** True when the event is the remembered one with other plain text in it. */
  fits(data: Uint8Array, from: number, to: number): boolean {
    const before = this.#before
    if (before === undefined) return false
    const after = this.#after
    const textFrom = from + before.length
    const textTo = to - after.length
    if (textTo <= textFrom) return false
    for (let at = 0; at < before.length; at++) if (data[from + at] !== before[at]) return false
    for (let at = 0; at < after.length; at++) if (data[textTo + at] !== after[at]) return false
    for (let at = textFrom; at < textTo; at++) if (!isPlain(data[at]!)) return false
    this.textBytes = textTo - textFrom
    return true
  }

  /** Remembers an event that did nothing but add text, of so many bytes. */
  learn(data: Uint8Array, from: number, to: number, textBytes: number): void {
    if (this.#changes === CHANGES_MAX) return
    this.#changes++
    const textFrom = this.#findText(data, from, to)
    let textTo = textFrom
    while (textTo < to && isPlain(data[textTo]!)) textTo++
    if (textFrom < 0 || data[textTo] !== QUOTE) return
    // Whatever else it put out would be put out again by each event like it, and not be counted.
    if (textTo - textFrom !== textBytes || this.#findText(data, textTo, to) >= 0) return
    this.#before = data.slice(from, textFrom)
    this.#after = data.slice(textTo, to)
  }

  #findText(data: Uint8Array, from: number, to: number): number {
    const mark = this.#mark
    for (let at = from; at + mark.length < to; at++) {
      let matched = 0
      while (matched < mark.length && data[at + matched] === mark[matched]) matched++
      if (matched === mark.length) return at + matched
    }
    return -1
  }
}

/** Neither the end of a string nor an escape in one, and allowed inside of one. */
function isPlain(byte: number): boolean {
  return byte !== QUOTE && byte !== BACKSLASH && byte >= SPACE
}

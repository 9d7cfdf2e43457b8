// Finds where the JSON object of a call's input ends while it comes in pieces. Only brackets and strings are followed:
// whether what stands between them is sound is for its reader.

const QUOTE = 0x22
const BACKSLASH = 0x5c
const SPACE = 0x20
const OPEN_OBJECT = 0x7b

/** The brackets of JSON are the only pairs whose codes differ in the sixth bit alone: `[ {` and `] }`. */
const CASE = 0x20
const OPENING = 0x7b
const CLOSING = 0x7d

export class JsonEnd {
  /** Nothing that comes can still belong to it. */
  isComplete = false
  /** An object has begun: whatever else it may be is complete at once. */
  isObject = false
  #depth = 0
  #isInString = false
  #isEscaped = false

  /** What of the next piece belongs to the object: nothing of what is none, and nothing behind its end. */
  take(piece: string): string {
    const from = this.#depth === 0 ? this.#findStart(piece) : 0
    if (from < 0) return ''
    const to = this.#findEnd(piece, from)
    return from === 0 && to === piece.length ? piece : piece.slice(from, to)
  }

  #findStart(piece: string): number {
    if (this.isComplete) return -1
    let at = 0
    while (at < piece.length && piece.charCodeAt(at) <= SPACE) at++
    if (at === piece.length) return -1
    this.isObject = piece.charCodeAt(at) === OPEN_OBJECT
    if (this.isObject) return at
    // Another kind of value, such as the null that some send for no input: as if there were none.
    this.isComplete = true
    return -1
  }

  #findEnd(piece: string, from: number): number {
    for (let at = from; at < piece.length; at++) {
      const code = piece.charCodeAt(at)
      if (this.#isInString) this.#passString(code)
      else if (code === QUOTE) this.#isInString = true
      else if ((code | CASE) === OPENING) this.#depth++
      else if ((code | CASE) === CLOSING && --this.#depth === 0) {
        this.isComplete = true
        return at + 1
      }
    }
    return piece.length
  }

  #passString(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false
    else if (code === BACKSLASH) this.#isEscaped = true
    else if (code === QUOTE) this.#isInString = false
  }
}

/** The object that a text holds, as text; `{}` where there is none that can be read. */
export function objectIn(text: string): string {
  const object = new JsonEnd().take(text)
  try {
    JSON.parse(object)
    return object
  } catch {
    // A model has made a mistake, or was cut off: its caller sees a call without input, and not a broken answer.
    return '{}'
  }
}

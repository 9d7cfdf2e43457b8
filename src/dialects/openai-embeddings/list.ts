// Puts another list in the place of one in a JSON text, with splices around it: everything else stays as it is, and
// the items are never made into values.
import type { Span } from '../../core/load.ts'
import { applySplices, type Splice } from '../../wire/json-splice.ts'

const OPEN = Buffer.from('[')
const COMMA = Buffer.from(',')
const CLOSE = Buffer.from(']')

/** A text without a list that it had, to be given others. */
export class Frame {
  readonly #head: Uint8Array
  readonly #tail: Uint8Array

  /** The splices are in the order of the text, and none is inside of the list. */
  constructor(bytes: Uint8Array, list: Span, splices: readonly Splice[]) {
    const before = splices.filter(({ to }) => to <= list.from)
    const behind = splices.filter(({ to }) => to > list.from)
    this.#head = applySplices(bytes.subarray(0, list.from), before)
    this.#tail = applySplices(bytes.subarray(list.to), shift(behind, list.to))
  }

  /** With these as its items, or with one stretch of them that has its commas. */
  around(items: readonly Uint8Array[]): Uint8Array {
    const parts: Uint8Array[] = [this.#head]
    for (const item of items) parts.push(parts.length === 1 ? OPEN : COMMA, item)
    return Buffer.concat([...parts, CLOSE, this.#tail])
  }
}

/** For a text that begins so much later. */
export function shift(splices: readonly Splice[], by: number): readonly Splice[] {
  return splices.map(({ from, to, text }) => ({ from: from - by, to: to - by, text }))
}

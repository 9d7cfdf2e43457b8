// Reads the vectors of one answer. The first of them are proved number by number; the rest are hopped over with the
// runtime's own searches, because reading a hundred of them so takes longer than all else that is done with a call.
import type { Span } from '../../core/load.ts'
import { advise, type GatewayError } from '../../core/problem.ts'
import type { JsonCursor } from '../../wire/json-cursor.ts'
import type { Asked } from './asked.ts'
import { isSpace } from './space.ts'
import { passNumbers, readBase64, readFloats } from './vector.ts'

export interface Vector {
  readonly vector: Span
  /** In base64; else it is a list. */
  readonly isText: boolean
  /** Numbers of the vector, or bytes where these are no floats. */
  readonly size: number
}

/** So many bytes of vectors are proved number by number: those of every answer to one text, and of most to a few. */
export const PROVED_BYTES = 32_768

const QUOTE = 0x22
const MINUS = 0x2d
const ZERO = 0x30
const NINE = 0x39
const CLOSE_ARRAY = 0x5d
/** One of these is in every way to write what is no number, such as NaN, null, inf, Infinity and texts. */
const FOREIGN = [QUOTE, 0x6e, 0x4e]
/** Three floats in base64. */
const HEAD_LENGTH = 16

export function broken(what: string): GatewayError {
  return advise('upstream_invalid_response', `The supplier sent ${what}.`)
}

/**
 * What is hopped over is in the form that was asked for, begins and ends as a list of numbers or a text of the length of
 * the first, and holds no sign of what is no number: of a text the first three are looked at, since whatever makes one
 * NaN makes all of them so when a vector is put to the length of one. It is not proved that a list has as many numbers as
 * the first, that each is well written and below what 32 bits hold, nor that a text is base64 to its end. What looks
 * odd is read number by number after all, so that a hop refuses nothing.
 */
export class Vectors {
  readonly #cursor: JsonCursor
  readonly #bytes: Buffer
  readonly #asked: Asked
  readonly #foreign: readonly Search[]
  #provedBytes = 0
  #first: Vector | undefined

  /** Each is in front of the cursor when it is read, in the order of the answer. */
  constructor(cursor: JsonCursor, bytes: Uint8Array, asked: Asked) {
    this.#cursor = cursor
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    this.#asked = asked
    this.#foreign = FOREIGN.map((byte) => new Search(this.#bytes, byte))
  }

  read(): Vector {
    const first = this.#first
    if (first !== undefined && this.#provedBytes >= PROVED_BYTES) {
      const hopped = this.#hop(first)
      if (hopped !== undefined) return hopped
    }
    const proved = this.#prove()
    this.#provedBytes += proved.vector.to - proved.vector.from
    this.#first ??= proved
    if (proved.size !== this.#first.size) throw broken('embeddings of several lengths')
    return proved
  }

  #prove(): Vector {
    const cursor = this.#cursor
    const from = cursor.at
    const isText = cursor.isString()
    const size = isText ? this.#proveText() : this.#proveList()
    return { vector: { from, to: cursor.at }, isText, size }
  }

  #proveText(): number {
    const text = this.#cursor.text()
    const size = (this.#asked.isQuantized ? readBase64(text) : readFloats(text))?.length ?? 0
    if (size > 0) return size
    throw broken('an embedding that is not base64 of finite numbers')
  }

  #proveList(): number {
    const cursor = this.#cursor
    const list = cursor.isArray() ? passNumbers(this.#bytes, cursor.at) : undefined
    if (list === undefined) throw broken('an embedding that is no list of finite numbers')
    cursor.at = list.to
    return list.size
  }

  /** Undefined, with nothing read, where it has to be proved. */
  #hop(first: Vector): Vector | undefined {
    const cursor = this.#cursor
    const { format, isQuantized } = this.#asked
    const isText = cursor.isString()
    // What is converted becomes numbers anyway.
    if (isText !== first.isText || !(isQuantized || isText === (format === 'base64')))
      return undefined
    const from = cursor.at
    const to = isText ? this.#endOfText(from, first) : this.#endOfList(from, first)
    if (to === undefined) return undefined
    cursor.at = to
    return { vector: { from, to }, isText, size: first.size }
  }

  #endOfText(from: number, { vector }: Vector): number | undefined {
    const bytes = this.#bytes
    const to = bytes.indexOf(QUOTE, from + 1) + 1
    if (to - from !== vector.to - vector.from) return undefined
    if (this.#asked.isQuantized || to - from - 2 < HEAD_LENGTH) return to
    const head = bytes.toString('latin1', from + 1, from + 1 + HEAD_LENGTH)
    return readFloats(head) === undefined ? undefined : to
  }

  #endOfList(from: number, { size }: Vector): number | undefined {
    const bytes = this.#bytes
    const close = bytes.indexOf(CLOSE_ARRAY, from)
    // Each number has a digit at least, and a comma or a bracket behind it.
    if (close - from < 2 * size) return undefined
    if (!this.#cursor.isArray() || !isFramed(bytes, from, close)) return undefined
    for (const search of this.#foreign) if (search.from(from) < close) return undefined
    return close + 1
  }
}

/** There is a number behind the opening bracket, and one in front of the closing one. */
function isFramed(bytes: Uint8Array, open: number, close: number): boolean {
  let first = open + 1
  while (isSpace(bytes[first])) first++
  let last = close - 1
  while (isSpace(bytes[last])) last--
  return (bytes[first] === MINUS || isDigit(bytes[first]!)) && isDigit(bytes[last]!)
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= NINE
}

/** Where a byte stands next; searched for again only once that is passed, so that all of it is one walk. */
class Search {
  readonly #bytes: Buffer
  readonly #byte: number
  #at = -1

  constructor(bytes: Buffer, byte: number) {
    this.#bytes = bytes
    this.#byte = byte
  }

  /** Infinite where it stands nowhere behind this place, which is never before the last one. */
  from(place: number): number {
    if (this.#at < place) {
      const at = this.#bytes.indexOf(this.#byte, place)
      this.#at = at < 0 ? Infinity : at
    }
    return this.#at
  }
}

// Reads a JSON document in one pass over its bytes, pulled by whoever knows the shape. It proves the
// document well-formed and bounded, and allocates only the values that are asked for.

import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  isDigit,
  isHex,
  MINUS,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  STOPS,
  WORDS,
} from './json-bytes.ts'
import { isSame, KeySet, OTHER } from './key-set.ts'
import { endOfString, STRETCH_BYTES_MAX, takeStretch, ticket } from './string-scan.ts'

export type JsonFaultKind = 'syntax' | 'limit' | 'ambiguous'

/** Why a document was given up: broken, too deep or too wide, or readable in two ways. */
export class JsonFault extends Error {
  readonly kind: JsonFaultKind
  readonly offset: number

  constructor(kind: JsonFaultKind, offset: number, text: string) {
    super(text)
    this.name = 'JsonFault'
    this.kind = kind
    this.offset = offset
  }
}

const DEPTH_MAX = 64
const MEMBERS_MAX = 10_000
/** Over the whole document: a few bytes each would keep the process busy for seconds. */
const ALL_MEMBERS_MAX = 250_000
const ITEMS_MAX = 250_000
/** Names with escapes, or of another case, have to be spelled out to be compared. */
const DISGUISED_MAX = 20_000
/** More digits than any number that is told apart from its neighbour. */
const NUMBER_LENGTH_MAX = 64

/** The object has no further member. */
export const END = -1

const decoder = new TextDecoder()
const EMPTY = new Uint8Array(0)
/** Strings up to this length are not worth a scan. */
const NEAR = 32
/** A backslash, a `u` and four digits. */
const ESCAPE_BYTES = 6

/** What a document may hold; its depth is bounded in any case. */
export interface JsonLimits {
  /** Members of one object. */
  readonly members: number
  /** Members over all objects; any number where it is absent. */
  readonly allMembers?: number
  /** Items over all arrays. */
  readonly items: number
}

const REQUEST_LIMITS: JsonLimits = {
  members: MEMBERS_MAX,
  allMembers: ALL_MEMBERS_MAX,
  items: ITEMS_MAX,
}

export class JsonCursor {
  /** The byte that is read next; in front of a value whenever a method has returned. */
  at = 0
  /** The opening quote of the name that `nextKey` found last. */
  keyAt = 0
  #bytes: Uint8Array = EMPTY
  #end = 0
  /** The stretch of the document that is scanned for the ends of long strings; no ticket while there is none. */
  #stretchFrom = 0
  #stretchTo = 0
  #ticket = -1
  #depth = 0
  #items = 0
  #allMembers = 0
  #disguised = 0
  #isFirst = true
  /** The listed names that an object has had, a bit each: two words a level. */
  readonly #seen = new Int32Array(2 * (DEPTH_MAX + 1))
  readonly #members = new Int32Array(DEPTH_MAX + 1)
  readonly #limits: JsonLimits
  readonly #allMembersMax: number

  constructor(limits: JsonLimits = REQUEST_LIMITS) {
    this.#limits = limits
    this.#allMembersMax = limits.allMembers ?? Number.POSITIVE_INFINITY
  }

  /** Starts a document; the cursor may be used again for the next one. */
  open(bytes: Uint8Array, from = 0, to = bytes.length): void {
    this.#bytes = bytes
    this.#end = to
    this.#ticket = -1
    this.#depth = 0
    this.#items = 0
    this.#allMembers = 0
    this.#disguised = 0
    this.at = from
    this.#space()
  }

  /** Ends the document: nothing but white space may follow its value. */
  close(): void {
    this.#space()
    if (this.at < this.#end) this.#fail('text after the end of the document')
    // A cursor outlives its document, and must not keep the document alive.
    this.#bytes = EMPTY
  }

  isObject(): boolean {
    return this.#byte() === OPEN_OBJECT
  }

  isArray(): boolean {
    return this.#byte() === OPEN_ARRAY
  }

  isString(): boolean {
    return this.#byte() === QUOTE
  }

  isNumber(): boolean {
    const byte = this.#byte()
    return byte === MINUS || isDigit(byte)
  }

  isBoolean(): boolean {
    const byte = this.#byte()
    return byte === 0x74 || byte === 0x66
  }

  isNull(): boolean {
    return this.#byte() === 0x6e
  }

  /** True for `""`, `[]`, `{}` and `null`: a value that says nothing. */
  isBlank(): boolean {
    const byte = this.#byte()
    if (byte === QUOTE) return this.#bytes[this.at + 1] === QUOTE
    if (byte !== OPEN_ARRAY && byte !== OPEN_OBJECT) return byte === 0x6e
    const from = this.at++
    this.#space()
    // The brackets of JSON close two places after they open.
    const isClosed = this.#byte() === byte + 2
    this.at = from
    return isClosed
  }

  /** Compares the raw bytes at the cursor, ignoring case, without moving. */
  startsWith(text: string): boolean {
    for (let index = 0; index < text.length; index++) {
      const byte = this.#bytes[this.at + index] ?? 0
      const lower = byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte
      if (lower !== text.charCodeAt(index)) return false
    }
    return true
  }

  enterObject(): void {
    this.#enter(OPEN_OBJECT)
    const place = this.#depth << 1
    this.#seen[place] = 0
    this.#seen[place + 1] = 0
  }

  enterArray(): void {
    this.#enter(OPEN_ARRAY)
  }

  /** Moves to the value of the next member and says which listed name it has: a position, OTHER or END. */
  nextKey(keys: KeySet): number {
    if (!this.#next(CLOSE_OBJECT)) return END
    if (this.#byte() !== QUOTE) this.#fail('a member must begin with its name in quotes')
    this.keyAt = this.at
    const isPlain = this.#string()
    const index = this.#identify(keys, isPlain)
    this.#space()
    if (this.#byte() !== COLON) this.#fail('a colon must follow the name of a member')
    this.at++
    this.#space()
    return index
  }

  /** Moves to the next item of an array; false after the last one. */
  nextItem(): boolean {
    if (!this.#next(CLOSE_ARRAY)) return false
    if (++this.#items > this.#limits.items)
      throw new JsonFault('limit', this.at, `more than ${this.#limits.items} items in its arrays`)
    return true
  }

  /** Passes over one value of any kind and proves it well-formed. */
  skip(): void {
    const byte = this.#byte()
    if (byte === QUOTE) this.#string()
    else if (byte === OPEN_OBJECT) this.#skipObject()
    else if (byte === OPEN_ARRAY) this.#skipArray()
    else if (byte === MINUS || isDigit(byte)) this.#number()
    else this.#word(byte)
  }

  /** Reads a string value. */
  text(): string {
    return this.shortText(Number.POSITIVE_INFINITY) ?? ''
  }

  /** Reads a string value, or passes over it where its text in the document is longer than this. */
  shortText(bytesMax: number): string | undefined {
    const from = this.at
    const isPlain = this.#string()
    if (this.at - from - 2 > bytesMax) return undefined
    return isPlain
      ? decoder.decode(this.#bytes.subarray(from + 1, this.at - 1))
      : this.#unescape(from)
  }

  /** Reads a string value as a position in a list of words, or OTHER: no text is made of it. */
  word(words: KeySet): number {
    const from = this.at
    const isPlain = this.#string()
    if (isPlain) return words.match(this.#bytes, from + 1, this.at - 1)
    return words.resembles(this.#unescape(from))
  }

  /** Reads a number value; one with more digits than any number needs is none. */
  number(): number {
    const from = this.at
    this.#number()
    if (this.at - from > NUMBER_LENGTH_MAX) return Number.NaN
    return Number(decoder.decode(this.#bytes.subarray(from, this.at)))
  }

  /** Reads `true` or `false`. */
  boolean(): boolean {
    const isTrue = this.#byte() === 0x74
    this.#word(this.#byte())
    return isTrue
  }

  #byte(): number {
    return this.at < this.#end ? this.#bytes[this.at]! : -1
  }

  #enter(opening: number): void {
    if (this.#byte() !== opening) this.#fail('another kind of value was expected')
    if (++this.#depth > DEPTH_MAX)
      throw new JsonFault('limit', this.at, `nested more than ${DEPTH_MAX} levels deep`)
    this.#members[this.#depth] = 0
    this.at++
    this.#isFirst = true
  }

  /** Steps over a comma or the closing bracket; false when the container has ended. */
  #next(closing: number): boolean {
    this.#space()
    if (this.#byte() === closing) return this.#leave()
    if (this.#isFirst) {
      this.#isFirst = false
      return true
    }
    if (this.#byte() !== COMMA) this.#fail('a comma or a closing bracket was expected')
    this.at++
    this.#space()
    // What stands here must be a value: a closing bracket after a comma is refused by whoever reads it.
    return true
  }

  #leave(): false {
    this.at++
    this.#depth--
    this.#isFirst = false
    return false
  }

  #identify(keys: KeySet, isPlain: boolean): number {
    if (++this.#members[this.#depth]! > this.#limits.members)
      throw new JsonFault(
        'limit',
        this.at,
        `an object has more than ${this.#limits.members} members`,
      )
    if (++this.#allMembers > this.#allMembersMax)
      throw new JsonFault('limit', this.at, `more than ${this.#allMembersMax} members in all`)
    const from = this.keyAt + 1
    const to = this.at - 1
    const index = isPlain ? keys.match(this.#bytes, from, to) : OTHER
    if (!keys.once) return index
    if (index === OTHER) {
      this.#refuseLookalike(keys, isPlain)
      return OTHER
    }
    const place = (this.#depth << 1) | (index >> 5)
    const bit = 1 << (index & 31)
    if ((this.#seen[place]! & bit) !== 0) this.#refuseAmbiguous(keys.names[index]!)
    this.#seen[place]! |= bit
    return index
  }

  /** A name that is not in the set, and might still be read as one that is. */
  #refuseLookalike(keys: KeySet, isPlain: boolean): void {
    if (isPlain && !(keys.fold && keys.couldFold(this.#bytes, this.keyAt + 1, this.at - 1))) return
    // Folding and escapes change a name's length by little; longer ones cannot be meant.
    if (this.at - this.keyAt > 256) return
    // Each of them costs a hundred plain ones, and nobody writes names so.
    if (++this.#disguised > DISGUISED_MAX)
      throw new JsonFault(
        'limit',
        this.keyAt,
        `more than ${DISGUISED_MAX} names that are hard to read`,
      )
    const name = isPlain
      ? decoder.decode(this.#bytes.subarray(this.keyAt + 1, this.at - 1))
      : this.#unescape(this.keyAt)
    const index = keys.resembles(name)
    if (index !== OTHER) this.#refuseAmbiguous(keys.names[index]!)
  }

  #refuseAmbiguous(name: string): never {
    throw new JsonFault('ambiguous', this.keyAt, name)
  }

  #skipObject(): void {
    this.enterObject()
    while (this.nextKey(NO_KEYS) !== END) this.skip()
  }

  #skipArray(): void {
    this.enterArray()
    while (this.nextItem()) this.skip()
  }

  /** Passes over a string; true when it holds no escape. */
  #string(): boolean {
    const bytes = this.#bytes
    let at = this.at + 1
    const near = at + NEAR
    while (at < near && STOPS[bytes[at]!] === 0) at++
    if (bytes[at] !== QUOTE || at >= this.#end) return this.#longString(at)
    this.at = at + 1
    return true
  }

  #longString(from: number): boolean {
    if (from >= this.#end) this.#failString(from)
    let at = from
    let isPlain = true
    for (;;) {
      const found = this.#scan(at)
      if (found >= 0) {
        this.at = this.#stretchFrom + (found >> 1)
        return isPlain && (found & 1) === 0
      }
      const stop = this.#stretchFrom - 1 - found
      const isCut = stop > this.#stretchTo - ESCAPE_BYTES && this.#stretchTo < this.#end
      if (!isCut || stop === this.#stretchFrom) this.#failString(stop)
      // It goes on behind the stretch at hand, perhaps with the escape that was cut.
      this.#take(stop)
      isPlain = false
      at = stop
    }
  }

  #scan(at: number): number {
    // Another stretch may have been taken since, also by another cursor.
    if (this.#ticket !== ticket || at >= this.#stretchTo) this.#take(at)
    return endOfString(at - this.#stretchFrom)
  }

  #take(from: number): void {
    this.#stretchFrom = from
    this.#stretchTo = Math.min(from + STRETCH_BYTES_MAX, this.#end)
    this.#ticket = takeStretch(this.#bytes, from, this.#stretchTo)
  }

  #failString(at: number): never {
    if (at >= this.#end) this.#fail('the document ends inside a string')
    this.at = at
    if (this.#bytes[at] === BACKSLASH) this.#escape(at + 1)
    this.#fail('a control character stands in a string')
  }

  /** Says what is wrong with an escape. */
  #escape(at: number): void {
    const letter = this.#bytes[at]
    if (letter !== 0x75) {
      this.at = at
      this.#fail('a string holds an unknown escape')
    }
    let index = at + 1
    while (index < this.#end && isHex(this.#bytes[index]!)) index++
    this.at = index
    this.#fail('a string holds a broken \\u escape')
  }

  #unescape(from: number): string {
    const text: unknown = JSON.parse(decoder.decode(this.#bytes.subarray(from, this.at)))
    return String(text)
  }

  #number(): void {
    if (this.#byte() === MINUS) this.at++
    if (this.#byte() === 0x30) this.at++
    else this.#digits()
    if (this.#byte() === 0x2e) {
      this.at++
      this.#digits()
    }
    if ((this.#byte() | 0x20) === 0x65) {
      this.at++
      if (this.#byte() === 0x2b || this.#byte() === MINUS) this.at++
      this.#digits()
    }
  }

  #digits(): void {
    if (!isDigit(this.#byte())) this.#fail('a number is broken')
    while (isDigit(this.#byte())) this.at++
  }

  #word(first: number): void {
    const word = WORDS[first]
    if (
      word === undefined ||
      this.at + word.length > this.#end ||
      !isSame(this.#bytes, this.at, word)
    )
      this.#fail('a value was expected')
    this.at += word.length
  }

  #space(): void {
    const bytes = this.#bytes
    let at = this.at
    while (at < this.#end) {
      const byte = bytes[at]
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break
      at++
    }
    this.at = at
  }

  #fail(text: string): never {
    throw new JsonFault('syntax', Math.min(this.at, this.#end), text)
  }
}

const NO_KEYS = new KeySet([])

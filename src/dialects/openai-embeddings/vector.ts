// The numbers of an embedding, as a list in JSON or as base64: proved without being made into values, and put from the
// one form into the other. Every number is one that 32 bits can hold, so that nothing is lost between the two.
import { isSpace, SPACE } from './space.ts'

const PLUS = 0x2b
const COMMA = 0x2c
const MINUS = 0x2d
const POINT = 0x2e
const ZERO = 0x30
const CLOSE_ARRAY = 0x5d
/** An `e` of either case. */
const LETTER_E = 0x65
const CASE = 0x20
/** So many characters are below what 32 bits hold, unless there is an exponent. */
const SAFE_LENGTH = 38
/** No number ends there. */
const NONE = -1

/** A list of numbers that was passed over: how many, and the place behind its end. */
export interface NumberList {
  readonly size: number
  readonly to: number
}

/**
 * Reads the list that begins at a place; undefined where it is none, or holds anything but numbers. Nothing is made of
 * them: there are a hundred and fifty thousand in a usual answer, in three million bytes.
 */
export function passNumbers(bytes: Uint8Array, from: number): NumberList | undefined {
  let at = from
  for (let size = 1; ; size++) {
    const end = endOfNumber(bytes, endOfSpace(bytes, at + 1))
    if (end === NONE) return undefined
    at = endOfSpace(bytes, end)
    if (bytes[at] === CLOSE_ARRAY) return { size, to: at + 1 }
    if (bytes[at] !== COMMA) return undefined
  }
}

function endOfSpace(bytes: Uint8Array, from: number): number {
  let at = from
  while (bytes[at]! <= SPACE && isSpace(bytes[at])) at++
  return at
}

function endOfDigits(bytes: Uint8Array, from: number): number {
  let at = from
  // One comparison for both ends. Behind the last byte there is no number, which the zero makes one.
  while (((bytes[at]! | 0) - ZERO) >>> 0 < 10) at++
  return at
}

function endOfNumber(bytes: Uint8Array, from: number): number {
  const first = bytes[from] === MINUS ? from + 1 : from
  let at = bytes[first] === ZERO ? first + 1 : endOfDigits(bytes, first)
  if (at === first) return NONE
  const isLong = at - first > SAFE_LENGTH
  if (bytes[at] === POINT) {
    const digits = at + 1
    at = endOfDigits(bytes, digits)
    if (at === digits) return NONE
  }
  if ((bytes[at]! | CASE) === LETTER_E) return endOfExponent(bytes, from, at)
  return isLong && !isHeld(bytes, from, at) ? NONE : at
}

function endOfExponent(bytes: Uint8Array, from: number, letter: number): number {
  const sign = bytes[letter + 1]
  const digits = sign === MINUS || sign === PLUS ? letter + 2 : letter + 1
  const to = endOfDigits(bytes, digits)
  const isSmall = sign === MINUS && letter - from <= SAFE_LENGTH
  return to === digits || !(isSmall || isHeld(bytes, from, to)) ? NONE : to
}

function isHeld(bytes: Uint8Array, from: number, to: number): boolean {
  return Number.isFinite(Math.fround(Number(textOf(bytes, from, to))))
}

const decoder = new TextDecoder('latin1')

function textOf(bytes: Uint8Array, from: number, to: number): string {
  return decoder.decode(bytes.subarray(from, to))
}

/** The bytes that a base64 text stands for; undefined where it is none. */
export function readBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.fromBase64(text, { lastChunkHandling: 'strict' })
  } catch {
    // Whatever it is, a supplier has sent it: whoever asked says so.
    return undefined
  }
}

const FLOAT_BYTES = 4
const EXPONENT = 0x7f800000

/** The numbers of a base64 text; undefined where it is none, or where they are not all finite. */
export function readFloats(text: string): Float32Array | undefined {
  const bytes = readBase64(text)
  if (bytes === undefined || bytes.length % FLOAT_BYTES !== 0) return undefined
  const words = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / FLOAT_BYTES)
  for (let at = 0; at < words.length; at++)
    if ((words[at]! & EXPONENT) === EXPONENT) return undefined
  return new Float32Array(bytes.buffer, bytes.byteOffset, words.length)
}

/** A list of numbers, as its text in JSON, as the text of a JSON string. */
export function toBase64(list: string): string {
  const numbers: unknown = JSON.parse(list)
  const floats = Float32Array.from(Array.isArray(numbers) ? numbers : [])
  return `"${new Uint8Array(floats.buffer).toBase64()}"`
}

/** The numbers of a base64 text as a list in JSON, each in the fewest digits that tell it from its neighbours. */
export function toList(text: string): string {
  return JSON.stringify(Array.from(readFloats(text) ?? [], toShortest))
}

/** Seven digits do for half of all numbers; nine do for every one. */
const DIGITS_LEAST = 7
const DIGITS_MOST = 9
/** Smaller numbers have fewer bits. */
const NORMAL_LEAST = 2 ** -126
/** Powers of ten up to this one are exact, and so is what is divided by them. */
const POWER_MOST = 22
const POWERS = Array.from({ length: POWER_MOST + 1 }, (_, power) => Number(`1e${power}`))

/** The number whose digits are the fewest of all that 32 bits hold as this one. */
export function toShortest(float: number): number {
  if (Number.isInteger(float) && Math.abs(float) < 10 ** DIGITS_LEAST) return float
  const magnitude = Math.floor(Math.log10(Math.abs(float)))
  const least = Math.abs(float) < NORMAL_LEAST ? 1 : DIGITS_LEAST
  for (let digits = least; digits <= DIGITS_MOST; digits++) {
    const number = round(float, digits, digits - 1 - magnitude)
    if (Math.fround(number) === float) return number
  }
  return float
}

/** To so many digits, of which `places` stand behind the point. By arithmetic where that is exact: a text takes longer. */
function round(float: number, digits: number, places: number): number {
  const power = POWERS[places]
  return power === undefined ? Number(float.toPrecision(digits)) : Math.round(float * power) / power
}

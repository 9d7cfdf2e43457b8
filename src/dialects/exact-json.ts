// JSON whose numbers survive being read and printed again: identifiers of more digits than a number holds are common in
// the input of tools, and limits of that size in their schemas.
import { isFields } from './json.ts'

// Something that could be such a number, or one that we would print longer than it came: `1e20` has 21 digits. Texts
// have them too, which only costs time; one expression for both would take ten times as long to find neither.
const LONG = /\d[\d.]{15}/
const EXPONENT = /\d[eE][+-]?\d+[\s,}\]]/

const decoder = new TextDecoder()

const QUOTE = 0x22
const BACKSLASH = 0x5c
const MINUS = 0x2d
const ZERO = 0x30
const NINE = 0x39
const IN_NUMBERS: ReadonlySet<number> = new Set([0x2b, 0x2d, 0x2e, 0x45, 0x65])
/** Digits that any number holds. */
const HELD_LENGTH = 15

/** As deep as what is passed on may be, and a little more. */
const LEVELS_MAX = 128

/** Begins the text that stands in for a number while the rest is parsed. Nobody else can know it. */
const MARK = crypto.randomUUID().slice(0, 8)

/** Throws what the parser throws, and for numbers amid what is nested too deeply to be passed on. */
export function parseExact(text: string): unknown {
  const value: unknown = JSON.parse(text)
  if (!LONG.test(text) && !EXPONENT.test(text)) return value
  // The parser would tell what each value was read from, at a hundred times the price of a value.
  const marked = mark(text)
  return marked === text ? value : restore(JSON.parse(marked), LEVELS_MAX)
}

/** Undefined for what is no JSON. */
export function parseExactly(bytes: Uint8Array): unknown {
  try {
    return parseExact(decoder.decode(bytes))
  } catch {
    // As with any other JSON, whoever asked decides what it means.
    return undefined
  }
}

/** A number that was kept as its text is one all the same. No parser makes an object without a prototype. */
export function asNumber(value: unknown): unknown {
  return isFields(value) && Object.getPrototypeOf(value) === null ? Number(value['rawJSON']) : value
}

/** Makes texts of the numbers that would change, in JSON that is known to be sound. */
function mark(text: string): string {
  let marked = ''
  let from = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfText(text, at)
    if (code !== MINUS && !isDigit(code)) continue
    const end = endOfNumber(text, at)
    if (changes(text, at, end)) {
      marked += `${text.slice(from, at)}"${MARK}${text.slice(at, end)}"`
      from = end
    }
    at = end - 1
  }
  return from === 0 ? text : marked + text.slice(from)
}

/** Where its closing quote stands. */
function endOfText(text: string, from: number): number {
  let end = text.indexOf('"', from + 1)
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end
}

function isEscaped(text: string, at: number): boolean {
  let first = at
  while (text.charCodeAt(first - 1) === BACKSLASH) first--
  return (at - first) % 2 === 1
}

function endOfNumber(text: string, from: number): number {
  let at = from + 1
  while (at < text.length && isOfNumber(text.charCodeAt(at))) at++
  return at
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE
}

/** Digits, and what may stand between them: `.`, `+`, `-`, `e` and `E`. */
function isOfNumber(code: number): boolean {
  return isDigit(code) || IN_NUMBERS.has(code)
}

/** A number that is printed in other digits, or in more of them. Most are short and have nothing but digits. */
function changes(text: string, from: number, to: number): boolean {
  if (to - from <= HELD_LENGTH && isPlain(text, from, to)) return false
  const source = text.slice(from, to)
  const value = Number(source)
  const printed = String(value)
  if (printed === source) return false
  // An integer such as `5.0` is the same number in fewer words.
  return !Number.isSafeInteger(value) || printed.length > source.length
}

function isPlain(text: string, from: number, to: number): boolean {
  for (let at = from + 1; at < to; at++) if (!isDigit(text.charCodeAt(at))) return false
  return true
}

/** Numbers in the place of the texts that stand for them. */
function restore(value: unknown, levels: number): unknown {
  if (typeof value === 'string')
    return value.startsWith(MARK) ? JSON.rawJSON(value.slice(MARK.length)) : value
  if (typeof value !== 'object' || value === null) return value
  if (levels === 0) throw new RangeError('nested too deeply')
  if (Array.isArray(value)) {
    const items: unknown[] = value
    for (let at = 0; at < items.length; at++) items[at] = restore(items[at], levels - 1)
    return items
  }
  for (const [name, each] of Object.entries(value)) {
    const restored = restore(each, levels - 1)
    if (restored !== each) Reflect.set(value, name, restored)
  }
  return value
}

// Reads what is to be embedded: a text, a list of texts, the tokens of one text, or lists of tokens. All of a list are
// of one kind, and none is empty or longer than one input may be.
import type { JsonCursor } from '../../wire/json-cursor.ts'
import { fault, refuse, type Draft } from '../draft.ts'
import type { Asked } from './asked.ts'
import { isSpace } from './space.ts'

export const INPUTS_MAX = 10_000
/** Of one input. */
export const TOKENS_MAX = 2048
/** Of all that come as tokens. More than any supplier takes at once, and than is worth being passed on in one call. */
const ALL_TOKENS_MAX = 2_000_000

/** More bytes than a token stands for, taken over a whole text in which nothing is repeated at length. */
const TOKEN_BYTES_MOST = 16
const TEXT_BYTES_MAX = TOKENS_MAX * TOKEN_BYTES_MOST

const BACKSLASH = 0x5c
const LETTER_U = 0x75
const HEX_DIGITS = 4
/** The most that one escape of four digits stands for. */
const CODE_BYTES = 3
const COMMA = 0x2c
const ZERO = 0x30
const NINE = 0x39
const CLOSE_ARRAY = 0x5d
/** No vocabulary has tokens of more digits. */
const DIGITS_MAX = 9

const KINDS = 'must be a text, a list of texts, a list of tokens or a list of lists of tokens'
const ITEMS = 'must be a text, as all the others, or a list of tokens, as all the others'

export function readInput(draft: Draft, asked: Asked): void {
  const { cursor, load } = draft
  if (cursor.isObject()) return refuse(draft, 'input', KINDS)
  // Nothing is there to be embedded, which is said of the request as a whole.
  if (cursor.isBlank()) return cursor.skip()
  if (cursor.isString()) readText(draft, asked, 'input')
  else if (!cursor.isArray()) return refuse(draft, 'input', KINDS)
  else if (!readTokens(draft, asked, 'input')) readItems(draft, asked)
  asked.inputs ||= 1
  checkSize(draft, asked)
  // Some suppliers add words of their own to each.
  load.messages = asked.inputs
}

function checkSize(draft: Draft, { inputs, tokens }: Asked): void {
  if (inputs > INPUTS_MAX)
    fault(
      draft,
      'operation_too_large',
      'input',
      `\`input\` holds ${inputs} inputs, and a call takes ${INPUTS_MAX}. Split it into several calls.`,
    )
  if (tokens > ALL_TOKENS_MAX)
    fault(
      draft,
      'operation_too_large',
      'input',
      `\`input\` holds ${tokens} tokens, and a call takes ${ALL_TOKENS_MAX}. Split it into several calls.`,
    )
}

function readItems(draft: Draft, asked: Asked): void {
  const { cursor } = draft
  cursor.enterArray()
  let hasTexts: boolean | undefined
  for (let index = 0; cursor.nextItem(); index++) {
    const from = cursor.at
    hasTexts ??= cursor.isString()
    readItem(draft, asked, `input[${index}]`, hasTexts)
    asked.inputs += 1
    if (index < INPUTS_MAX) asked.places.push(from, cursor.at)
  }
}

function readItem(draft: Draft, asked: Asked, place: string, isText: boolean): void {
  const { cursor } = draft
  if (isText ? !cursor.isString() : !cursor.isArray()) return refuse(draft, place, ITEMS)
  if (cursor.isBlank()) return refuse(draft, place, 'is empty: there is nothing to embed')
  if (isText) readText(draft, asked, place)
  else if (!readTokens(draft, asked, place))
    refuse(draft, place, 'must be a list of tokens, which are whole numbers')
}

/** A token stands for a byte at least. What may have more tokens than are allowed is kept to be counted. */
function readText(draft: Draft, asked: Asked, place: string): void {
  const { cursor } = draft
  const from = cursor.at
  cursor.skip()
  const to = cursor.at
  const bytes = to - from - 2
  if (bytes <= TOKENS_MAX) return
  if (bytes > TEXT_BYTES_MAX) {
    const extent = extentOf(draft.body, from, to)
    if (extent.changes > TEXT_BYTES_MAX) return tooLong(draft, place)
    // The counter is exact up to this.
    if (extent.bytes > TEXT_BYTES_MAX) return
  }
  asked.longTexts.push({ param: place, from, to })
}

interface Extent {
  /** The most that the text has once its escapes are read. */
  readonly bytes: number
  /** Without those that only repeat the one before: vocabularies have single tokens for a hundred blanks. */
  readonly changes: number
}

/** Of a text as it stands in the document. Among the changes an escape counts for the one byte that it is at least. */
function extentOf(body: Uint8Array, from: number, to: number): Extent {
  let bytes = 0
  let changes = 0
  let last = -1
  for (let at = from + 1; at < to - 1; at++) {
    let byte = body[at]!
    if (byte === BACKSLASH) byte = body[++at]!
    const isCode = byte === LETTER_U && body[at - 1] === BACKSLASH
    if (isCode) at += HEX_DIGITS
    if (isCode || byte !== last) changes += 1
    bytes += isCode ? CODE_BYTES : 1
    last = byte
  }
  return { bytes, changes }
}

function tooLong(draft: Draft, place: string): void {
  fault(
    draft,
    'context_length_exceeded',
    place,
    `\`${place}\` has more than ${TOKENS_MAX} tokens, which is the most that one input may have. Cut it into several.`,
  )
}

/** False, with nothing read, where what stands there is no list of tokens or has none. */
function readTokens(draft: Draft, asked: Asked, place: string): boolean {
  const tokens = passTokens(draft.body, draft.cursor)
  if (tokens === 0) return false
  if (tokens > TOKENS_MAX) tooLong(draft, place)
  asked.tokens += tokens
  return true
}

/**
 * How many tokens the list at the cursor has, which is passed over; 0 where it holds anything else. By hand, because
 * there are more of them than a document may have items.
 */
function passTokens(body: Uint8Array, cursor: JsonCursor): number {
  let at = cursor.at
  for (let count = 1; ; count++) {
    let byte = body[++at]!
    while (isSpace(byte)) byte = body[++at]!
    const from = at
    while (byte >= ZERO && byte <= NINE) byte = body[++at]!
    const length = at - from
    if (length === 0 || length > DIGITS_MAX || (length > 1 && body[from] === ZERO)) return 0
    while (isSpace(byte)) byte = body[++at]!
    if (byte === COMMA) continue
    if (byte !== CLOSE_ARRAY) return 0
    cursor.at = at + 1
    return count
  }
}

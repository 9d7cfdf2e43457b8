// Proves that an answer holds one embedding for each input before a caller sees it, and notes where everything stands.
// Vectors are passed over as bytes: most of them need not become numbers here.
import type { Span } from '../../core/load.ts'
import { advise, asLate, type GatewayError } from '../../core/problem.ts'
import { END, JsonCursor, JsonFault } from '../../wire/json-cursor.ts'
import { KeySet } from '../../wire/key-set.ts'
import { unreadable } from '../answer.ts'
import { problem } from '../openai-chat/problem.ts'
import type { Asked } from './asked.ts'
import { broken, Vectors, type Vector } from './hops.ts'
import { readTokens, UNTOLD, type TokenReading } from './usage.ts'

/** One embedding: an object of the answer's list. */
export interface Entry extends Span, Vector {
  /** Which input it is for. */
  readonly place: number
  /** Where that stands in it, or a null in its stead; undefined where nothing does. */
  readonly index: Span | undefined
  readonly hasIndex: boolean
  readonly hasObject: boolean
}

export interface Answer {
  /** In the order of their inputs. */
  readonly entries: readonly Entry[]
  /** They came in that order. */
  readonly isSorted: boolean
  /** The list of them, with its brackets. */
  readonly data: Span
  /** Behind the opening brace. */
  readonly open: number
  /** Where these stand; undefined where they do not, or not as a value. */
  readonly object: Span | undefined
  readonly model: Span | undefined
  readonly usage: Span | undefined
  readonly isList: boolean
  readonly hasModel: boolean
  readonly reading: TokenReading
}

const KEYS = new KeySet(['data', 'usage', 'model', 'object', 'error'], { once: true })
const DATA = 0
const USAGE = 1
const MODEL = 2
const OBJECT = 3
const FAILURE = 4
const ENTRY_KEYS = new KeySet(['embedding', 'index', 'object'], { once: true })
const EMBEDDING = 0
const INDEX = 1
const KIND = 2

/** No answer that is sound comes near these; numbers are not among them. */
const LIMITS = { members: 10_000, allMembers: 1_000_000, items: 1_000_000 }

// Reading never awaits, so one cursor serves all answers.
const cursor = new JsonCursor(LIMITS)
/** What was proved is not proved again when it is told to the caller. */
const proved = new WeakMap<Uint8Array, Answer>()

/** Throws where it is no answer to so many inputs; to any number where that is 0. */
export function readAnswer(bytes: Uint8Array, asked: Asked, inputs = asked.inputs): Answer {
  const known = proved.get(bytes)
  if (known !== undefined) return known
  try {
    const answer = read(bytes, asked, inputs)
    proved.set(bytes, answer)
    return answer
  } catch (thrown) {
    throw thrown instanceof JsonFault ? unreadable(bytes, thrown) : thrown
  }
}

function read(bytes: Uint8Array, asked: Asked, inputs: number): Answer {
  const found = new Found()
  cursor.open(bytes)
  cursor.enterObject()
  const open = cursor.at
  for (let key = cursor.nextKey(KEYS); key !== END; key = cursor.nextKey(KEYS)) {
    const from = cursor.at
    found.isEmpty = false
    found.note(key)
    if (key === DATA && cursor.isArray()) found.entries = readEntries(bytes, asked, inputs)
    else cursor.skip()
    if (key >= 0) found.spans[key] = { from, to: cursor.at }
  }
  cursor.close()
  const { spans, isList, hasModel } = found
  const usage = spans[USAGE]
  const reading = usage === undefined ? UNTOLD : readTokens(bytes, usage)
  const entries = found.take(bytes, reading)
  const places = { data: spans[DATA]!, object: spans[OBJECT], model: spans[MODEL], usage }
  return { ...places, ...inOrder(entries, inputs), open, isList, hasModel, reading }
}

/** What an answer turns out to have, while it is read. */
class Found {
  /** By the key of the member. */
  readonly spans: (Span | undefined)[] = []
  entries: readonly Entry[] | undefined
  isEmpty = true
  isList = false
  hasModel = false
  #hasFailed = false

  /** Looks at the value in front of the cursor. */
  note(key: number): void {
    if (key === OBJECT) this.isList = cursor.startsWith('"list"')
    if (key === MODEL) this.hasModel = cursor.isString() && !cursor.isBlank()
    if (key === FAILURE) this.#hasFailed = !cursor.isBlank()
  }

  take(bytes: Uint8Array, { tokens }: TokenReading): readonly Entry[] {
    const { entries } = this
    if (this.#hasFailed) throw failureIn(bytes, entries !== undefined || tokens !== undefined)
    if (entries !== undefined) return entries
    if (this.isEmpty) throw advise('empty_response', 'The supplier sent an empty object.')
    throw broken('an answer without a list of embeddings')
  }
}

/** Beside an answer or a usage it comes too late to be a refusal. */
function failureIn(bytes: Uint8Array, isLate: boolean): GatewayError {
  const failure = problem.decode(0, bytes)
  return isLate ? asLate(failure) : failure
}

function readEntries(bytes: Uint8Array, asked: Asked, inputs: number): Entry[] {
  const entries: Entry[] = []
  const vectors = new Vectors(cursor, bytes, asked)
  cursor.enterArray()
  while (cursor.nextItem()) {
    if (!cursor.isObject()) throw broken('something that is no embedding among its embeddings')
    if (inputs > 0 && entries.length === inputs)
      throw broken('more embeddings than it was asked for')
    entries.push(readEntry(vectors, entries.length))
  }
  return entries
}

/**
 * One that does not say which input it is for is for the one in its place: one supplier leaves out the index of the
 * first (Gemini, samfoy/pi-session-search #13, 2026-07), others leave out all (doobidoo/mcp-memory-service #612, 2026-03).
 */
function readEntry(vectors: Vectors, position: number): Entry {
  const from = cursor.at
  let place = position
  let index: Span | undefined
  let hasIndex = false
  let hasObject = false
  let vector: Vector | undefined
  cursor.enterObject()
  for (let key = cursor.nextKey(ENTRY_KEYS); key !== END; key = cursor.nextKey(ENTRY_KEYS)) {
    const start = cursor.at
    if (key === EMBEDDING) vector = vectors.read()
    else if (key === INDEX && !cursor.isNull()) {
      place = readIndex()
      hasIndex = true
    } else cursor.skip()
    if (key === INDEX) index = { from: start, to: cursor.at }
    if (key === KIND) hasObject = true
  }
  if (vector === undefined) throw broken('an embedding without its numbers')
  return { from, to: cursor.at, place, index, hasIndex, hasObject, ...vector }
}

function readIndex(): number {
  const index = cursor.isNumber() ? cursor.number() : Number.NaN
  if (Number.isSafeInteger(index)) return index
  throw broken('an embedding whose index is no whole number')
}

/** Each input has one and only one. */
function inOrder(entries: readonly Entry[], inputs: number): Pick<Answer, 'entries' | 'isSorted'> {
  if (entries.length < inputs) throw broken('fewer embeddings than it was asked for')
  const count = Math.max(inputs, entries.length)
  const sorted: Entry[] = []
  let isSorted = true
  for (const [position, entry] of entries.entries()) {
    const { place } = entry
    if (place < 0 || place >= count || sorted[place] !== undefined)
      throw broken('an embedding for an input that has one already, or does not exist')
    if (place !== position) isSorted = false
    sorted[place] = entry
  }
  return { entries: sorted, isSorted }
}

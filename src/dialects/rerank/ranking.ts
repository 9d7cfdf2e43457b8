// Proves that a ranking is one before a caller sees it: each result names a document that was sent, once, and has a
// score. The shapes of all suppliers are read here, and told apart by what they hold.
import type { Span } from '../../core/load.ts'
import { advise, asLate, type GatewayError } from '../../core/problem.ts'
import type { Usage } from '../../core/usage.ts'
import { END, JsonCursor, JsonFault } from '../../wire/json-cursor.ts'
import { KeySet } from '../../wire/key-set.ts'
import { unreadable } from '../answer.ts'
import { problem } from '../openai-chat/problem.ts'
import { readUsage } from './usage.ts'

export interface Ranking {
  readonly results: readonly Result[]
  readonly usage: Usage | undefined
  readonly hasUnreadUsage: boolean
  /** Where the answer has them; undefined where it has none that says anything. */
  readonly id: Span | undefined
  readonly model: Span | undefined
  readonly meta: Span | undefined
  readonly told: Span | undefined
}

export interface Result {
  /** Which document it is about. */
  readonly index: number
  readonly score: number
  /** The score as it is written: no digit of it is lost. */
  readonly digits: Span
}

/**
 * `data` is Voyage's word for the results, `score` that of text-embeddings-inference, whose answer is the bare list:
 * both by what their clients read (langchain4j, openmockllm; seen 2026-11).
 */
const KEYS = new KeySet(['results', 'data', 'id', 'model', 'meta', 'usage', 'error'])
const [RESULTS, DATA, ID, MODEL, META, USAGE, FAILURE] = [0, 1, 2, 3, 4, 5, 6]
const RESULT_KEYS = new KeySet(['index', 'relevance_score', 'score'])
const INDEX = 0
const NAMED_SCORE = 1

/** Each result may bring its document, as rich as it was sent. */
const LIMITS = { members: 3_000_000, allMembers: 3_000_000, items: 2_000_000 }

// Reading never awaits, so one cursor serves all answers.
const cursor = new JsonCursor(LIMITS)

/** An answer is proved first and then expressed: what was read of it is kept as long as its bytes. */
const known = new WeakMap<Uint8Array, Ranking>()

/** `count`: how many documents were sent. */
export function readRanking(bytes: Uint8Array, count: number): Ranking {
  const last = known.get(bytes)
  if (last !== undefined) return last
  try {
    const ranking = read(bytes, count)
    known.set(bytes, ranking)
    return ranking
  } catch (thrown) {
    throw thrown instanceof JsonFault ? unreadable(bytes, thrown) : thrown
  }
}

/** What is found of an answer while it is read. */
interface Draft {
  results: List | undefined
  data: List | undefined
  readonly spans: (Span | undefined)[]
  hasFailed: boolean
  isEmpty: boolean
}

function read(bytes: Uint8Array, count: number): Ranking {
  const draft: Draft = {
    results: undefined,
    data: undefined,
    spans: [],
    hasFailed: false,
    isEmpty: true,
  }
  cursor.open(bytes)
  if (cursor.isArray()) draft.results = readList(count)
  else readObject(draft, count)
  cursor.close()
  const list = draft.results ?? draft.data
  const [meta, told] = [draft.spans[META], draft.spans[USAGE]]
  const { usage, isUnread } = readUsage(bytes, meta, told)
  if (draft.hasFailed) throw failureIn(bytes, list !== undefined || usage !== undefined)
  if (draft.isEmpty && list === undefined)
    throw advise('empty_response', 'The supplier sent an empty object.')
  if (list === undefined) throw broken('an answer without results')
  if (list.fault !== undefined) throw broken(list.fault)
  if (list.results.length === 0) throw broken('no result for any document')
  const { results } = list
  const [id, model] = [draft.spans[ID], draft.spans[MODEL]]
  return { results, usage, hasUnreadUsage: isUnread, id, model, meta, told }
}

function readObject(draft: Draft, count: number): void {
  cursor.enterObject()
  for (let key = cursor.nextKey(KEYS); key !== END; key = cursor.nextKey(KEYS)) {
    draft.isEmpty = false
    if (key === RESULTS && cursor.isArray()) draft.results = readList(count)
    else if (key === DATA && cursor.isArray()) draft.data = readList(count)
    else readOther(draft, key)
  }
}

function readOther(draft: Draft, key: number): void {
  const isText = key === ID || key === MODEL
  const isWanted = isText ? cursor.isString() : cursor.isObject()
  const isBlank = cursor.isBlank()
  if (key === FAILURE) draft.hasFailed = !isBlank
  const from = cursor.at
  cursor.skip()
  if (key >= ID && isWanted && !isBlank) draft.spans[key] = { from, to: cursor.at }
}

/** Beside results or a usage it comes too late to be a refusal. */
function failureIn(bytes: Uint8Array, isLate: boolean): GatewayError {
  const failure = problem.decode(0, bytes)
  return isLate ? asLate(failure) : failure
}

function broken(what: string): GatewayError {
  return advise('upstream_invalid_response', `The supplier sent ${what}.`)
}

interface List {
  readonly results: readonly Result[]
  /** The first thing that is wrong with it. */
  readonly fault: string | undefined
}

/** Faults are kept until the end: an error beside them says more. */
function readList(count: number): List {
  const results: Result[] = []
  const seen = new Set<number>()
  let fault: string | undefined
  cursor.enterArray()
  while (cursor.nextItem()) {
    const result = readResult()
    if (typeof result === 'string') fault ??= result
    else if (!(result.index < count)) fault ??= 'a result for a document that it was not sent'
    else if (seen.has(result.index)) fault ??= 'two results for one document'
    else {
      seen.add(result.index)
      results.push(result)
    }
  }
  return { results, fault }
}

/** What is wrong with it, where it is none. */
function readResult(): Result | string {
  if (!cursor.isObject()) {
    cursor.skip()
    return 'a result that is no object'
  }
  let index = Number.NaN
  let score = Number.NaN
  let digits: Span = { from: 0, to: 0 }
  let isNamed = false
  cursor.enterObject()
  for (let key = cursor.nextKey(RESULT_KEYS); key !== END; key = cursor.nextKey(RESULT_KEYS)) {
    const from = cursor.at
    const isRead = key >= 0 && cursor.isNumber() && (key <= NAMED_SCORE || !isNamed)
    if (!isRead) cursor.skip()
    else if (key === INDEX) index = cursor.number()
    else {
      score = cursor.number()
      digits = { from, to: cursor.at }
      isNamed ||= key === NAMED_SCORE
    }
  }
  if (!Number.isSafeInteger(index) || index < 0) return 'a result without the place of its document'
  return Number.isFinite(score) ? { index, score, digits } : 'a result without a score'
}

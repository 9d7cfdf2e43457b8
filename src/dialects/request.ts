// Reads what requests of every language have in common: one pass over the body, its model, its region, its
// session. A broken document outranks a wrong field, so faults are kept until the end is read.
import { isUtf8 } from 'node:buffer'
import { GatewayError } from '../core/problem.ts'
import { END, JsonCursor, JsonFault } from '../wire/json-cursor.ts'
import { asBodyProblem, emptyBody, notAnObject, notUtf8 } from '../wire/json-problem.ts'
import type { Member } from '../wire/json-splice.ts'
import { KeySet } from '../wire/key-set.ts'
import { SESSION_LENGTH_MAX, type Facts } from './dialect.ts'
import { createDraft, fault, refuse, type Draft } from './draft.ts'

/** Reads the value of the listed field that the cursor stands before. */
export type FieldReader = (draft: Draft, key: number) => void

// Peeking never awaits, so one cursor serves all calls.
const cursor = new JsonCursor()

/** Where a language has what is to be answered, and what is said to whoever has sent nothing there. */
export interface PromptField {
  readonly name: string
  readonly text: string
}

const MESSAGES: PromptField = {
  name: 'messages',
  text: 'Send at least one message in `messages`.',
}

/** Reads a body whose listed fields the reader understands. */
export function readRequest(
  body: Uint8Array,
  keys: KeySet,
  reader: FieldReader,
  prompt: PromptField = MESSAGES,
): Facts {
  try {
    return read(body, keys, reader, prompt)
  } catch (thrown) {
    if (!(thrown instanceof JsonFault)) throw thrown
    throw asBodyProblem(thrown.kind === 'ambiguous' ? firstFault(body, thrown) : thrown)
  }
}

/** What is written twice matters only in a document that is otherwise sound. */
function firstFault(body: Uint8Array, known: JsonFault): JsonFault {
  try {
    cursor.open(body)
    cursor.skip()
    cursor.close()
    return known
  } catch (thrown) {
    return thrown instanceof JsonFault ? thrown : known
  }
}

function read(body: Uint8Array, keys: KeySet, reader: FieldReader, prompt: PromptField): Facts {
  cursor.open(body)
  if (body.length === 0) throw emptyBody()
  if (!isUtf8(body)) throw notUtf8()
  if (!cursor.isObject()) return refuseDocument()
  const draft = createDraft(cursor, body)
  const members = readMembers(draft, keys, (key) => reader(draft, key))
  const close = cursor.at - 1
  cursor.close()
  if (draft.fault !== undefined) throw draft.fault
  if (draft.model === '')
    throw new GatewayError('missing_model', 'Name the model in `model`.', { param: 'model' })
  if (draft.load.messages === 0)
    throw new GatewayError('missing_prompt', prompt.text, { param: prompt.name })
  const { metadata, streamOptions, thinking } = draft
  return {
    model: draft.model,
    stream: draft.stream,
    maxTokens: draft.load.maxTokens,
    choices: draft.load.choices,
    region: draft.region,
    sessionId: draft.sessionId ?? draft.stickyKey,
    opening: draft.opening,
    goesOn: draft.goesOn,
    usesTools: draft.usesTools,
    asksReasoning: draft.asksReasoning,
    thoughts: draft.thoughts,
    asksUsage: draft.asksUsage,
    load: draft.load,
    layout: { members, metadata, streamOptions, thinking, close },
  }
}

/** A document that is no object: broken JSON if it is broken, else a wrong shape. */
function refuseDocument(): never {
  cursor.skip()
  cursor.close()
  throw notAnObject()
}

/** Reads an object and says where its members stand. `null` on a listed field is absence. */
export function readMembers(draft: Draft, keys: KeySet, reader: (key: number) => void): Member[] {
  const { cursor } = draft
  const members: Member[] = []
  cursor.enterObject()
  for (let key = cursor.nextKey(keys); key !== END; key = cursor.nextKey(keys)) {
    const from = cursor.keyAt
    const value = cursor.at
    if (key < 0 || cursor.isNull()) cursor.skip()
    else reader(key)
    members.push({ key, from, value, to: cursor.at })
  }
  return members
}

/** An escape takes six bytes for a character. */
const BYTES_A_CHARACTER = 6
const MODEL_LENGTH_MAX = 256

/** Half of a surrogate pair could neither be printed nor put into an address. */
export function readModel(draft: Draft): void {
  if (!draft.cursor.isString()) return refuse(draft, 'model', 'must be a string')
  const model = draft.cursor.shortText(MODEL_LENGTH_MAX * BYTES_A_CHARACTER)
  if (model !== undefined && model.length <= MODEL_LENGTH_MAX && model.isWellFormed())
    draft.model = model
  else
    fault(
      draft,
      'validation_error',
      'model',
      `\`model\` must be the id of a model, of at most ${MODEL_LENGTH_MAX} characters.`,
    )
}

export function readBoolean(draft: Draft, field: string): boolean {
  if (draft.cursor.isBoolean()) return draft.cursor.boolean()
  refuse(draft, field, 'must be true or false')
  return false
}

export interface Range {
  readonly from: number
  readonly to: number
  readonly whole?: boolean
}

export function readNumber(draft: Draft, field: string, range: Range): number | undefined {
  if (!draft.cursor.isNumber()) {
    refuse(draft, field, 'must be a number')
    return undefined
  }
  const value = draft.cursor.number()
  const isRight = value >= range.from && value <= range.to
  if (isRight && (range.whole !== true || Number.isInteger(value))) return value
  const kind = range.whole === true ? 'a whole number' : 'a number'
  const limit =
    range.to === Number.MAX_SAFE_INTEGER
      ? `of at least ${range.from}`
      : `from ${range.from} to ${range.to}`
  fault(draft, 'validation_error', field, `\`${field}\` must be ${kind} ${limit}.`)
  return undefined
}

const REGION_LENGTH_MAX = 64
const REGION = /^[\w-]+$/

export function readRegion(draft: Draft): void {
  if (!draft.cursor.isString()) return refuse(draft, 'region', 'must be the name of a region')
  const region = draft.cursor.shortText(REGION_LENGTH_MAX * BYTES_A_CHARACTER) ?? ''
  if (region.length <= REGION_LENGTH_MAX && REGION.test(region)) draft.region = region.toUpperCase()
  else
    fault(
      draft,
      'validation_error',
      'region',
      '`region` must be the name of a region such as EU: letters, digits, - and _.',
    )
}

const METADATA_KEYS = new KeySet(['session_id', 'sticky_key'], { once: true })

export function readMetadata(draft: Draft): void {
  const { cursor } = draft
  if (!cursor.isObject()) return refuse(draft, 'metadata', 'must be an object')
  draft.metadata = readMembers(draft, METADATA_KEYS, (key) => {
    const field = `metadata.${METADATA_KEYS.names[key]}`
    if (!cursor.isString()) return refuse(draft, field, 'must be a string')
    const text = cursor.shortText(SESSION_LENGTH_MAX * BYTES_A_CHARACTER)
    if (text === undefined || text.length > SESSION_LENGTH_MAX)
      fault(
        draft,
        'validation_error',
        field,
        `\`${field}\` exceeds ${SESSION_LENGTH_MAX} characters.`,
      )
    else if (text !== '' && key === 0) draft.sessionId = text
    else if (text !== '') draft.stickyKey = text
  })
}

/** Longer than any word that is listed, however it is escaped. */
export const WORD_BYTES_MAX = 256

/** Other tiers have other prices, which nobody has told us. */
export function readTier(draft: Draft, tiers: readonly string[]): void {
  const { cursor } = draft
  if (!cursor.isString()) return refuse(draft, 'service_tier', 'must be a string')
  if (tiers.includes(cursor.shortText(WORD_BYTES_MAX) ?? '')) return
  const text = `\`service_tier\` must be one of ${tiers.join(', ')}: other tiers have no known price.`
  fault(draft, 'unsupported_parameter', 'service_tier', text)
}

/** Another one is another model at some suppliers, past the key's list and its price (openrouter.ai on gpt-5.6, 2026-11). */
export function readMode(draft: Draft): void {
  const isStandard = draft.cursor.startsWith('"standard"')
  draft.cursor.skip()
  if (isStandard) return
  const text =
    'Remove `reasoning.mode` and name the model that you want in `model`: other modes have no known price.'
  fault(draft, 'unsupported_parameter', 'reasoning.mode', text)
}

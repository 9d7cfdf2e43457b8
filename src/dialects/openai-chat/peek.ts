// Reads from a chat request what admission needs, in one pass, and refuses what every
// supplier would call wrong. A broken document outranks a wrong field, so faults are kept until the end is read.
import { isUtf8 } from 'node:buffer'
import { GatewayError } from '../../core/problem.ts'
import { END, JsonCursor, JsonFault } from '../../wire/json-cursor.ts'
import { type KeySet } from '../../wire/key-set.ts'
import { asBodyProblem, emptyBody, notAnObject, notUtf8 } from '../../wire/json-problem.ts'
import type { Member } from '../../wire/json-splice.ts'
import { SESSION_LENGTH_MAX, type Facts } from '../dialect.ts'
import {
  readExtra,
  readModalities,
  readPrediction,
  readPrevious,
  readTools,
  readUnbounded,
  readVoice,
} from './cost.ts'
import { createDraft, fault, refuse, type Draft } from './draft.ts'
import {
  FORMAT_KEYS,
  METADATA_KEYS,
  REQUEST_FIELDS,
  REQUEST_KEYS,
  STREAM_OPTION_KEYS,
  UNBOUNDED_FIELDS,
  type RequestField,
  type UnboundedField,
} from './fields.ts'
import { readMessages } from './messages.ts'

const CHOICES_MAX = 128
const FORMATS = ['text', 'json_object', 'json_schema', 'grammar', 'structural_tag']

type Reader = (draft: Draft) => void

const READERS: Readonly<Record<Exclude<RequestField, UnboundedField>, Reader>> = {
  model: readModel,
  messages: readMessages,
  stream: (draft) => (draft.stream = readBoolean(draft, 'stream')),
  stream_options: readStreamOptions,
  max_tokens: (draft) => readMaximum(draft, 'max_tokens'),
  max_completion_tokens: (draft) => readMaximum(draft, 'max_completion_tokens'),
  n: (draft) =>
    (draft.load.choices = readNumber(draft, 'n', { from: 1, to: CHOICES_MAX, whole: true }) ?? 1),
  temperature: (draft) => void readNumber(draft, 'temperature', { from: 0, to: 2 }),
  top_p: (draft) => void readNumber(draft, 'top_p', { from: 0, to: 1 }),
  region: readRegion,
  metadata: readMetadata,
  tools: readTools,
  response_format: readFormat,
  api_key: (draft) => refuseSecret(draft, 'api_key'),
  base_url: (draft) => refuseSecret(draft, 'base_url'),
  api_base: (draft) => refuseSecret(draft, 'api_base'),
  custom_host: (draft) => refuseSecret(draft, 'custom_host'),
  models: (draft) => refuseRouting(draft, 'models'),
  route: (draft) => refuseRouting(draft, 'route'),
  fallbacks: (draft) => refuseRouting(draft, 'fallbacks'),
  service_tier: readTier,
  prediction: readPrediction,
  modalities: readModalities,
  audio: readVoice,
  previous_response_id: readPrevious,
  extra_body: readExtra,
}
const READERS_BY_KEY = REQUEST_FIELDS.map((field): Reader =>
  isUnbounded(field) ? (draft) => readUnbounded(draft, field) : READERS[field],
)

function isUnbounded(field: RequestField): field is UnboundedField {
  return UNBOUNDED_FIELDS.some((each) => each === field)
}

// Peeking never awaits, so one cursor serves all calls.
const cursor = new JsonCursor()

export function peek(body: Uint8Array): Facts {
  try {
    return read(body)
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

function read(body: Uint8Array): Facts {
  cursor.open(body)
  if (body.length === 0) throw emptyBody()
  if (!isUtf8(body)) throw notUtf8()
  if (!cursor.isObject()) return refuseDocument()
  const draft = createDraft(cursor, body)
  const members = readMembers(REQUEST_KEYS, (key) => READERS_BY_KEY[key]!(draft))
  const close = cursor.at - 1
  cursor.close()
  if (draft.fault !== undefined) throw draft.fault
  if (draft.model === '')
    throw new GatewayError('missing_model', 'Name the model in `model`.', { param: 'model' })
  if (draft.load.messages === 0)
    throw new GatewayError('missing_prompt', 'Send at least one message in `messages`.', {
      param: 'messages',
    })
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
    asksUsage: draft.asksUsage,
    load: draft.load,
    layout: { members, metadata: draft.metadata, streamOptions: draft.streamOptions, close },
  }
}

/** A document that is no object: broken JSON if it is broken, else a wrong shape. */
function refuseDocument(): never {
  cursor.skip()
  cursor.close()
  throw notAnObject()
}

/** Reads an object and says where its members stand. `null` on a listed field is absence. */
function readMembers(keys: KeySet, reader: (key: number) => void): Member[] {
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
function readModel(draft: Draft): void {
  if (!cursor.isString()) return refuse(draft, 'model', 'must be a string')
  const model = cursor.shortText(MODEL_LENGTH_MAX * BYTES_A_CHARACTER)
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

function readBoolean(draft: Draft, field: string): boolean {
  if (cursor.isBoolean()) return cursor.boolean()
  refuse(draft, field, 'must be true or false')
  return false
}

interface Range {
  readonly from: number
  readonly to: number
  readonly whole?: boolean
}

function readNumber(draft: Draft, field: string, range: Range): number | undefined {
  if (!cursor.isNumber()) {
    refuse(draft, field, 'must be a number')
    return undefined
  }
  const value = cursor.number()
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

/** Two names for one limit; the looser counts, because either may be the one a supplier obeys. */
function readMaximum(draft: Draft, field: string): void {
  const range = { from: 1, to: Number.MAX_SAFE_INTEGER, whole: true }
  const value = readNumber(draft, field, range)
  if (value !== undefined) draft.load.maxTokens = Math.max(draft.load.maxTokens ?? 0, value)
}

const REGION_LENGTH_MAX = 64
const REGION = /^[\w-]+$/

function readRegion(draft: Draft): void {
  if (!cursor.isString()) return refuse(draft, 'region', 'must be the name of a region')
  const region = cursor.shortText(REGION_LENGTH_MAX * BYTES_A_CHARACTER) ?? ''
  if (region.length <= REGION_LENGTH_MAX && REGION.test(region)) draft.region = region.toUpperCase()
  else
    fault(
      draft,
      'validation_error',
      'region',
      '`region` must be the name of a region such as EU: letters, digits, - and _.',
    )
}

function readMetadata(draft: Draft): void {
  if (!cursor.isObject()) return refuse(draft, 'metadata', 'must be an object')
  draft.metadata = readMembers(METADATA_KEYS, (key) => {
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

function readStreamOptions(draft: Draft): void {
  if (!cursor.isObject()) return refuse(draft, 'stream_options', 'must be an object')
  draft.streamOptions = readMembers(STREAM_OPTION_KEYS, () => {
    draft.asksUsage = readBoolean(draft, 'stream_options.include_usage')
  })
}

function readFormat(draft: Draft): void {
  if (!cursor.isObject()) return refuse(draft, 'response_format', 'must be an object')
  readMembers(FORMAT_KEYS, () => {
    const field = 'response_format.type'
    if (!cursor.isString()) return refuse(draft, field, 'must be a string')
    if (!FORMATS.includes(cursor.shortText(WORD_BYTES_MAX) ?? ''))
      fault(draft, 'validation_error', field, `\`${field}\` must be one of ${FORMATS.join(', ')}.`)
  })
}

/** Some suppliers run another model than `model` when these are there, past the key's list and its price. */
function refuseRouting(draft: Draft, field: string): void {
  cursor.skip()
  const text = `Remove \`${field}\` and name one model in \`model\`: the gateway fails over by itself.`
  fault(draft, 'unsupported_parameter', field, text)
}

/** Longer than any word that is listed, however it is escaped. */
const WORD_BYTES_MAX = 256
const TIERS = ['auto', 'default', 'standard']

/** Other tiers have other prices, which nobody has told us. */
function readTier(draft: Draft): void {
  if (!cursor.isString()) return refuse(draft, 'service_tier', 'must be a string')
  if (TIERS.includes(cursor.shortText(WORD_BYTES_MAX) ?? '')) return
  const text = `\`service_tier\` must be one of ${TIERS.join(', ')}: other tiers have no known price.`
  fault(draft, 'unsupported_parameter', 'service_tier', text)
}

/** No caller chooses a destination or brings a supplier's credential. */
function refuseSecret(draft: Draft, field: string): void {
  cursor.skip()
  const text = `Remove \`${field}\`: suppliers and their credentials are set by the operator.`
  fault(draft, 'raw_secret_field_rejected', field, text)
}

// Reads from a chat request what admission needs, in one pass, and refuses what every
// supplier would call wrong. A broken document outranks a wrong field, so faults are kept until the end is read.
import type { Facts } from '../dialect.ts'
import { fault, refuse, type Draft } from '../draft.ts'
import {
  readBoolean,
  readMembers,
  readMetadata,
  readMode,
  readModel,
  readNumber,
  readRegion,
  readRequest,
  readTier,
  WORD_BYTES_MAX,
} from '../request.ts'
import { isRefused, refuseField, type RefusedField } from '../refused.ts'
import { readExtra, readUnbounded, UNBOUNDED_FIELDS } from '../unbounded.ts'
import { readModalities, readPrediction, readPrevious, readTools, readVoice } from './cost.ts'
import {
  FORMAT_KEYS,
  REASONING_KEYS,
  REQUEST_FIELDS,
  REQUEST_KEYS,
  STREAM_OPTION_KEYS,
  type RequestField,
} from './fields.ts'
import { readMessages } from './messages.ts'

const CHOICES_MAX = 128
const TIERS = ['auto', 'default', 'standard']
const MODE = REASONING_KEYS.names.indexOf('mode')
const FORMATS = ['text', 'json_object', 'json_schema', 'grammar', 'structural_tag']

type UnboundedField = (typeof UNBOUNDED_FIELDS)[number]
type Reader = (draft: Draft) => void

const READERS: Readonly<Record<Exclude<RequestField, UnboundedField | RefusedField>, Reader>> = {
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
  reasoning_effort: (draft) => {
    if (!isOff(draft)) draft.asksReasoning = true
  },
  reasoning: readReasoning,
  service_tier: (draft) => readTier(draft, TIERS),
  prediction: readPrediction,
  modalities: readModalities,
  audio: readVoice,
  previous_response_id: readPrevious,
  extra_body: readExtra,
}
const READERS_BY_KEY = REQUEST_FIELDS.map((field): Reader => {
  if (isRefused(field)) return (draft) => refuseField(draft, field)
  return isUnbounded(field) ? (draft) => readUnbounded(draft, field) : READERS[field]
})

function isUnbounded(field: RequestField): field is UnboundedField {
  return UNBOUNDED_FIELDS.some((each) => each === field)
}

export function peek(body: Uint8Array): Facts {
  return readRequest(body, REQUEST_KEYS, (draft, key) => READERS_BY_KEY[key]!(draft))
}

/** Two names for one limit; the looser counts, because either may be the one a supplier obeys. */
function readMaximum(draft: Draft, field: string): void {
  const range = { from: 1, to: Number.MAX_SAFE_INTEGER, whole: true }
  const value = readNumber(draft, field, range)
  if (value !== undefined) draft.load.maxTokens = Math.max(draft.load.maxTokens ?? 0, value)
}

function readStreamOptions(draft: Draft): void {
  if (!draft.cursor.isObject()) return refuse(draft, 'stream_options', 'must be an object')
  draft.streamOptions = readMembers(draft, STREAM_OPTION_KEYS, () => {
    draft.asksUsage = readBoolean(draft, 'stream_options.include_usage')
  })
}

function readFormat(draft: Draft): void {
  const { cursor } = draft
  if (!cursor.isObject()) return refuse(draft, 'response_format', 'must be an object')
  readMembers(draft, FORMAT_KEYS, () => {
    const field = 'response_format.type'
    if (!cursor.isString()) return refuse(draft, field, 'must be a string')
    if (!FORMATS.includes(cursor.shortText(WORD_BYTES_MAX) ?? ''))
      fault(draft, 'validation_error', field, `\`${field}\` must be one of ${FORMATS.join(', ')}.`)
  })
}

/** Its effort, or whether it is to think at all. Who says neither asks for it by naming it. */
function readReasoning(draft: Draft): void {
  const { cursor } = draft
  let isWanted = true
  if (!cursor.isObject()) cursor.skip()
  else
    readMembers(draft, REASONING_KEYS, (key) => {
      if (key === MODE) readMode(draft)
      else if (isOff(draft)) isWanted = false
    })
  if (isWanted) draft.asksReasoning = true
}

/** Passes over a value; true where it says that the model is not to think. */
function isOff({ cursor }: Draft): boolean {
  const isNone = cursor.startsWith('"none"') || cursor.startsWith('false')
  cursor.skip()
  return isNone
}

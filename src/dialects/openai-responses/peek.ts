// Reads from a responses request what admission needs, in one pass, and refuses what every supplier would
// call wrong. Unknown fields pass; the supplier judges them.
import { readModalities, readVoice } from '../openai-chat/cost.ts'
import type { Facts } from '../dialect.ts'
import { fault, noteOpening, refuse, type Draft } from '../draft.ts'
import { isRefused, refuseField, type RefusedField } from '../refused.ts'
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
  type PromptField,
} from '../request.ts'
import { readExtra, readUnbounded } from '../unbounded.ts'
import { readKept, readTools } from './cost.ts'
import {
  FORMAT_KEYS,
  KEPT_FIELDS,
  REASONING_KEYS,
  REQUEST_FIELDS,
  REQUEST_KEYS,
  TEXT_KEYS,
  UNBOUNDED_FIELDS,
  type KeptField,
  type RequestField,
  type UnboundedField,
} from './fields.ts'
import { readInput } from './input.ts'

const TIERS = ['auto', 'default', 'standard']
const FORMATS = ['text', 'json_object', 'json_schema', 'grammar', 'structural_tag']
const LIMIT = { from: 1, to: Number.MAX_SAFE_INTEGER, whole: true }

const PROMPT: PromptField = {
  name: 'input',
  text: 'Send in `input` what is to be answered: a text, or a list of at least one item.',
}

type Reader = (draft: Draft) => void
type OtherField = UnboundedField | RefusedField | KeptField

const READERS: Readonly<Record<Exclude<RequestField, OtherField>, Reader>> = {
  model: readModel,
  input: readInput,
  instructions: readInstructions,
  stream: (draft) => (draft.stream = readBoolean(draft, 'stream')),
  max_output_tokens: (draft) =>
    (draft.load.maxTokens = readNumber(draft, 'max_output_tokens', LIMIT)),
  temperature: (draft) => void readNumber(draft, 'temperature', { from: 0, to: 2 }),
  top_p: (draft) => void readNumber(draft, 'top_p', { from: 0, to: 1 }),
  region: readRegion,
  metadata: readMetadata,
  tools: (draft) => readTools(draft, 'tools'),
  text: readText,
  reasoning: readReasoning,
  background: refuseBackground,
  service_tier: (draft) => readTier(draft, TIERS),
  modalities: readModalities,
  audio: readVoice,
  extra_body: readExtra,
}
const READERS_BY_KEY = REQUEST_FIELDS.map((field): Reader => {
  if (isRefused(field)) return (draft) => refuseField(draft, field)
  if (isKept(field)) return (draft) => readKept(draft, field)
  return isUnbounded(field) ? (draft) => readUnbounded(draft, field) : READERS[field]
})

function isUnbounded(field: RequestField): field is UnboundedField {
  return UNBOUNDED_FIELDS.some((each) => each === field)
}

function isKept(field: RequestField): field is KeptField {
  return KEPT_FIELDS.some((each) => each === field)
}

export function peek(body: Uint8Array): Facts {
  return readRequest(body, REQUEST_KEYS, readField, PROMPT)
}

/** Reads the value of the field whose place in the list this is. */
export function readField(draft: Draft, key: number): void {
  READERS_BY_KEY[key]!(draft)
}

function readInstructions(draft: Draft): void {
  const { cursor } = draft
  const from = cursor.at
  if (!cursor.isString()) return refuse(draft, 'instructions', 'must be a string')
  cursor.skip()
  noteOpening(draft, from)
}

function readText(draft: Draft): void {
  const { cursor } = draft
  if (!cursor.isObject()) return refuse(draft, 'text', 'must be an object')
  readMembers(draft, TEXT_KEYS, () => {
    if (!cursor.isObject()) return refuse(draft, 'text.format', 'must be an object')
    return void readMembers(draft, FORMAT_KEYS, () => readFormat(draft))
  })
}

function readFormat(draft: Draft): void {
  const { cursor } = draft
  const field = 'text.format.type'
  if (!cursor.isString()) return refuse(draft, field, 'must be a string')
  if (!FORMATS.includes(cursor.shortText(WORD_BYTES_MAX) ?? ''))
    fault(draft, 'validation_error', field, `\`${field}\` must be one of ${FORMATS.join(', ')}.`)
}

const EFFORT = 0
const ENABLED = 1
const MODE = REASONING_KEYS.names.indexOf('mode')

/** Whoever says anything of it asks for it, unless it is said to be off: clients send it back empty, as they got it. */
function readReasoning(draft: Draft): void {
  const { cursor } = draft
  if (!cursor.isObject()) return refuse(draft, 'reasoning', 'must be an object')
  let isAsked = false
  let isOff = false
  readMembers(draft, REASONING_KEYS, (key) => {
    isAsked = true
    if (key === MODE) return readMode(draft)
    if (key === EFFORT) isOff ||= cursor.startsWith('"none"')
    if (key === ENABLED) isOff ||= cursor.startsWith('false')
    cursor.skip()
  })
  if (isAsked && !isOff) draft.asksReasoning = true
}

/** Its answer would be fetched later and elsewhere, and nobody would tell us what it has cost. */
function refuseBackground(draft: Draft): void {
  if (!readBoolean(draft, 'background')) return
  const text = 'Remove `background`: an answer is given while the call lasts, whole or as a stream.'
  fault(draft, 'unsupported_parameter', 'background', text)
}

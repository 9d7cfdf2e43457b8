// Reads from an embeddings request what admission needs, in one pass, and refuses what every supplier would call
// wrong. Unknown fields pass; the supplier judges them.
import type { Load, Span } from '../../core/load.ts'
import type { Facts } from '../dialect.ts'
import { fault, refuse, type Draft } from '../draft.ts'
import { isRefused, refuseField, type RefusedField } from '../refused.ts'
import {
  readBoolean,
  readMetadata,
  readModel,
  readNumber,
  readRegion,
  readRequest,
  WORD_BYTES_MAX,
  type PromptField,
} from '../request.ts'
import { readExtra, readUnbounded, UNBOUNDED_FIELDS } from '../unbounded.ts'
import { Asked } from './asked.ts'
import { fieldKey, REQUEST_FIELDS, REQUEST_KEYS, type RequestField } from './fields.ts'
import { readInput, TOKENS_MAX } from './input.ts'

const SIZE = { from: 1, to: Number.MAX_SAFE_INTEGER, whole: true }

const PROMPT: PromptField = {
  name: 'input',
  text: 'Send in `input` what is to be embedded: a text, or a list of at least one.',
}

type UnboundedField = (typeof UNBOUNDED_FIELDS)[number]
type Reader = (draft: Draft, asked: Asked) => void

const READERS: Readonly<Record<Exclude<RequestField, UnboundedField | RefusedField>, Reader>> = {
  model: readModel,
  input: readInput,
  encoding_format: readFormat,
  dimensions: (draft, asked) => (asked.dimensions = readNumber(draft, 'dimensions', SIZE)),
  output_dtype: readKind,
  stream: readStream,
  region: readRegion,
  metadata: readMetadata,
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
  const asked = new Asked()
  const read = (draft: Draft, key: number): void => READERS_BY_KEY[key]!(draft, asked)
  const facts = readRequest(body, REQUEST_KEYS, read, PROMPT)
  const { inputs, longTexts: texts } = asked
  const limited = texts.length > 0 && { limited: { tokensMax: TOKENS_MAX, texts } }
  return { ...facts, maxTokens: 0, load: loadOf(facts, asked), inputs, detail: asked, ...limited }
}

/** Nothing is put out that would be counted in tokens, whatever price somebody has set for it. */
function loadOf(facts: Facts, { tokens }: Asked): Load {
  const load = { ...facts.load, maxTokens: 0 }
  return tokens === 0 ? load : { ...load, messages: 0, tokens, inline: inlineOf(facts) }
}

const EXTRA = fieldKey('extra_body')

/** Beside tokens, only a field that nobody here knows could be text that a model is made to read. */
function inlineOf({ layout: { members }, load: { bytes } }: Facts): readonly Span[] {
  const spans: Span[] = []
  let end = 0
  for (const { key, from, to } of members) {
    if (key >= 0 && key !== EXTRA) continue
    spans.push({ from: end, to: from })
    end = to
  }
  return [...spans, { from: end, to: bytes }]
}

function readFormat(draft: Draft, asked: Asked): void {
  const { cursor } = draft
  if (!cursor.isString()) return refuse(draft, 'encoding_format', 'must be a string')
  const format = cursor.shortText(WORD_BYTES_MAX)
  if (format === 'float' || format === 'base64') asked.format = format
  else
    fault(
      draft,
      'validation_error',
      'encoding_format',
      '`encoding_format` must be float or base64.',
    )
}

/** A word of some suppliers, which judge it themselves; here it only says what an answer may look like. */
function readKind(draft: Draft, asked: Asked): void {
  asked.isQuantized = !draft.cursor.startsWith('"float"')
  draft.cursor.skip()
}

function readStream(draft: Draft): void {
  if (!readBoolean(draft, 'stream')) return
  fault(draft, 'unsupported_parameter', 'stream', 'Remove `stream`: embeddings come all at once.')
}

// Reads from a reranking request what admission needs, in one pass, and refuses what every supplier would call
// wrong. Unknown fields pass; the supplier judges them.
import { GatewayError } from '../../core/problem.ts'
import type { Facts } from '../dialect.ts'
import { fault, refuse, type Draft } from '../draft.ts'
import { isRefused, refuseField, type RefusedField } from '../refused.ts'
import {
  readBoolean,
  readMembers,
  readMetadata,
  readModel,
  readNumber,
  readRegion,
  readRequest,
  type PromptField,
} from '../request.ts'
import { readExtra, readUnbounded, UNBOUNDED_FIELDS } from '../unbounded.ts'
import {
  DOCUMENT_KEYS,
  REQUEST_FIELDS,
  REQUEST_KEYS,
  TEXT_WORDS,
  type RequestField,
} from './fields.ts'
import { loadOf } from './load.ts'
import { Notes } from './notes.ts'

/** As many as Cohere takes in one call; others take fewer, and say so themselves (docs.cohere.com/docs/reranking-best-practices, seen 2026-11). */
const DOCUMENTS_MAX = 10_000
const LIMIT = { from: 1, to: Number.MAX_SAFE_INTEGER, whole: true }

const PROMPT: PromptField = {
  name: 'query',
  text: 'Send in `query` what the documents are to be ranked by.',
}

type Reader = (draft: Draft, notes: Notes) => void
type UnboundedField = (typeof UNBOUNDED_FIELDS)[number]

const READERS: Readonly<Record<Exclude<RequestField, UnboundedField | RefusedField>, Reader>> = {
  model: readModel,
  query: readQuery,
  documents: readDocuments,
  top_n: (draft, notes) => readLimit(draft, notes, 'top_n'),
  top_k: (draft, notes) => readLimit(draft, notes, 'top_k'),
  return_documents: (draft, notes) =>
    (notes.wantsDocuments = readBoolean(draft, 'return_documents')),
  rank_fields: readRankFields,
  stream: refuseStream,
  region: readRegion,
  metadata: readMetadata,
  texts: (draft) => refuse(draft, 'texts', 'is called `documents` here'),
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
  const notes = new Notes(body)
  const facts = readRequest(
    body,
    REQUEST_KEYS,
    (draft, key) => READERS_BY_KEY[key]!(draft, notes),
    PROMPT,
  )
  if (notes.papers.length === 0)
    throw new GatewayError(
      'missing_fields',
      'Send in `documents` what is to be ranked: a list of at least one text.',
      { param: 'documents' },
    )
  return { ...facts, load: loadOf(facts.load, notes), detail: notes }
}

function readQuery(draft: Draft, notes: Notes): void {
  const { cursor } = draft
  if (!cursor.isString()) return refuse(draft, 'query', 'must be a string')
  const from = cursor.at
  cursor.skip()
  notes.queryBytes = cursor.at - from - 2
  // What there is to be answered: without it the request is one without a prompt.
  if (notes.queryBytes > 0) draft.load.messages = 1
}

function readDocuments(draft: Draft, notes: Notes): void {
  const { cursor } = draft
  if (!cursor.isArray()) return refuse(draft, 'documents', 'must be a list of texts')
  cursor.enterArray()
  while (cursor.nextItem()) {
    notes.hasTooMany = notes.papers.length === DOCUMENTS_MAX
    if (notes.hasTooMany) cursor.skip()
    else readDocument(draft, notes)
  }
  if (notes.hasTooMany) {
    const text = `\`documents\` may hold at most ${DOCUMENTS_MAX} of them: send them in several calls.`
    fault(draft, 'operation_too_large', 'documents', text)
  }
}

function readDocument(draft: Draft, { papers }: Notes): void {
  const { cursor } = draft
  const from = cursor.at
  if (cursor.isString()) {
    cursor.skip()
    const to = cursor.at
    papers.push({ from, to, text: { from, to } })
    return
  }
  const name = `documents[${papers.length}]`
  if (!cursor.isObject()) return refuse(draft, name, 'must be a text, or an object with a `text`')
  let text = { from, to: from }
  readMembers(draft, DOCUMENT_KEYS, () => {
    if (!cursor.isString()) return refuse(draft, `${name}.text`, 'must be a string')
    const start = cursor.at
    cursor.skip()
    text = { from: start, to: cursor.at }
  })
  if (text.to === text.from)
    fault(draft, 'validation_error', name, `\`${name}\` must have a \`text\`.`)
  papers.push({ from, to: cursor.at, text })
}

/** Who names it twice must mean one thing by it: a supplier is told it once. */
function readLimit(draft: Draft, notes: Notes, field: 'top_n' | 'top_k'): void {
  const limit = readNumber(draft, field, LIMIT)
  if (notes.limit !== undefined && limit !== undefined && limit !== notes.limit)
    fault(draft, 'validation_error', field, '`top_n` and `top_k` are one limit: send one of them.')
  notes.limit ??= limit
}

/** Every supplier is sent the text alone, and nobody ranks what it is not sent. */
function readRankFields(draft: Draft, notes: Notes): void {
  const { cursor } = draft
  if (!cursor.isArray()) return refuse(draft, 'rank_fields', 'must be a list of names')
  cursor.enterArray()
  while (cursor.nextItem()) {
    if (!cursor.isString()) refuse(draft, 'rank_fields', 'must be a list of names')
    else if (cursor.word(TEXT_WORDS) !== 0) notes.ranksFields = true
  }
}

function refuseStream(draft: Draft): void {
  if (!readBoolean(draft, 'stream')) return
  const text = 'Remove `stream`: a ranking comes whole.'
  fault(draft, 'unsupported_parameter', 'stream', text)
}

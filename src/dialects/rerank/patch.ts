// The splices that a reranking request gets: the model's name at the supplier, documents as plain texts, the limit by
// the supplier's name for it, the gateway's own fields taken out, and the supplier's quirks.
import { applySplices, type Member, type Splice } from '../../wire/json-splice.ts'
import type { BodyLayout, Facts, Rewrite } from '../dialect.ts'
import { OwnFields } from '../own-fields.ts'
import type { RerankShape } from '../quirk.ts'
import { hasQuirks, isNull, NO_EDITS } from '../quirks.ts'
import { fieldKey } from './fields.ts'
import { notesOf, type Notes, type Paper } from './notes.ts'
import { rerankQuirks } from './quirks.ts'

const DOCUMENTS = fieldKey('documents')
const TOP_N = fieldKey('top_n')
const TOP_K = fieldKey('top_k')
const own = new OwnFields(fieldKey)

/**
 * Never sent on. Documents are given back out of the request, which has them, so nobody is asked to return any; some
 * suppliers refuse fields that they do not know.
 */
const UNSENT = new Set(
  (['stream', 'return_documents', 'rank_fields', 'texts'] as const).map(fieldKey),
)

interface Manner {
  readonly documents: 'documents' | 'texts'
  /** Undefined: it ranks all, and we cut. */
  readonly limit: 'top_n' | 'top_k' | undefined
  /** What it has to be told in any case, as members of the request. */
  readonly always: string
}

/**
 * Seen 2026-11. Cohere: docs.cohere.com/reference/rerank. vLLM, which asks alike: its entrypoints/pooling/scoring. The
 * others by what their clients and imitators say: Jina, with documents returned by default (boxxxie/jina-clojure),
 * Voyage (its own TypeScript client), text-embeddings-inference (docs.trieve.ai), Infinity (as litellm asks it).
 */
const MANNERS: Readonly<Record<RerankShape, Manner>> = {
  cohere: { documents: 'documents', limit: 'top_n', always: '' },
  jina: { documents: 'documents', limit: 'top_n', always: ',"return_documents":false' },
  voyage: { documents: 'documents', limit: 'top_k', always: '' },
  tei: { documents: 'texts', limit: undefined, always: '' },
}

const decoder = new TextDecoder()

export function patch(body: Uint8Array, facts: Facts, rewrite: Rewrite): Uint8Array {
  const { layout } = facts
  const notes = notesOf(facts)
  const manner = MANNERS[rewrite.rerankShape ?? 'cohere']
  const limit = findLimit(body, layout, notes, manner)
  const edits = hasQuirks(rewrite) ? rerankQuirks.findEdits(body, layout, rewrite) : NO_EDITS
  const isUnwanted = (member: Member): boolean =>
    UNSENT.has(member.key) ||
    edits.dropped.has(member) ||
    (isLimit(member) && member !== limit.kept)
  const splices = [...own.drop(layout, isUnwanted), ...edits.splices]
  if (facts.model !== rewrite.model) splices.push(own.rename(layout, rewrite.model))
  if (manner.documents !== 'documents') splices.push(renameDocuments(body, layout, manner))
  for (const paper of notes.papers) if (isObject(paper)) splices.push(flatten(body, paper))
  const added = limit.text + manner.always
  if (added !== '') splices.push({ from: layout.close, to: layout.close, text: added })
  if (splices.length > 1) splices.sort((left, right) => left.from - right.from)
  return applySplices(body, splices)
}

const QUOTE = 0x22

/** The name is written plainly: an escaped spelling of it would have been refused. */
function renameDocuments(body: Uint8Array, { members }: BodyLayout, { documents }: Manner): Splice {
  const { from } = members.find(({ key }) => key === DOCUMENTS)!
  return { from, to: body.indexOf(QUOTE, from + 1) + 1, text: JSON.stringify(documents) }
}

function isObject({ from, text }: Paper): boolean {
  return text.from !== from
}

/** Most suppliers take texts alone. */
function flatten(body: Uint8Array, { from, to, text }: Paper): Splice {
  return { from, to, text: decoder.decode(body.subarray(text.from, text.to)) }
}

/** The member that may stay as it is, or what is to be added. A limit that cuts nothing off is none. */
function findLimit(
  body: Uint8Array,
  { members }: BodyLayout,
  { limit, papers }: Notes,
  { limit: name }: Manner,
): { readonly kept: Member | undefined; readonly text: string } {
  if (limit === undefined || limit >= papers.length || name === undefined)
    return { kept: undefined, text: '' }
  const kept = members.find((member) => member.key === fieldKey(name) && !isNull(body, member))
  return { kept, text: kept === undefined ? `,"${name}":${limit}` : '' }
}

function isLimit({ key }: Member): boolean {
  return key === TOP_N || key === TOP_K
}

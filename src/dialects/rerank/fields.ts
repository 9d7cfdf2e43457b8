// The fields of a reranking request that the gateway reads or changes. Every other field passes unread.
import { KeySet, STRICT } from '../../wire/key-set.ts'
import { REFUSED_FIELDS } from '../refused.ts'
import { UNBOUNDED_FIELDS } from '../unbounded.ts'

/** Position in this list is the member's key in a request's layout. */
export const REQUEST_FIELDS = [
  'model',
  'query',
  'documents',
  // Two names of one limit, by whose client it is.
  'top_n',
  'top_k',
  'return_documents',
  'rank_fields',
  'stream',
  'region',
  'metadata',
  // What one supplier calls the documents: nobody may send it others than we have read.
  'texts',
  'extra_body',
  ...REFUSED_FIELDS,
  ...UNBOUNDED_FIELDS,
] as const

export type RequestField = (typeof REQUEST_FIELDS)[number]

export function fieldKey(field: RequestField): number {
  return REQUEST_FIELDS.indexOf(field)
}

export const REQUEST_KEYS = new KeySet(REQUEST_FIELDS, STRICT)
export const DOCUMENT_KEYS = new KeySet(['text'], STRICT)
export const TEXT_WORDS = new KeySet(['text'])

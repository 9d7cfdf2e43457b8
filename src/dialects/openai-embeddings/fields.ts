// The fields of an embeddings request that the gateway reads or changes. Every other field passes unread.
import { KeySet, STRICT } from '../../wire/key-set.ts'
import { REFUSED_FIELDS } from '../refused.ts'
import { UNBOUNDED_FIELDS } from '../unbounded.ts'

/** Position in this list is the member's key in a request's layout. */
export const REQUEST_FIELDS = [
  'model',
  'input',
  'encoding_format',
  'dimensions',
  'output_dtype',
  'stream',
  'region',
  'metadata',
  'extra_body',
  ...REFUSED_FIELDS,
  ...UNBOUNDED_FIELDS,
] as const

export type RequestField = (typeof REQUEST_FIELDS)[number]

export function fieldKey(field: RequestField): number {
  return REQUEST_FIELDS.indexOf(field)
}

export const REQUEST_KEYS = new KeySet(REQUEST_FIELDS, STRICT)

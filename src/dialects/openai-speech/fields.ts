// The fields of a speech request that the gateway reads or changes. Every other field passes unread.
import { KeySet, STRICT } from '../../wire/key-set.ts'
import { QuirkBook } from '../quirks.ts'
import { REFUSED_FIELDS } from '../refused.ts'

/** Position in this list is the member's key in a request's layout. */
export const REQUEST_FIELDS = [
  'model',
  'input',
  'voice',
  'response_format',
  'speed',
  'instructions',
  'stream',
  'stream_format',
  'region',
  'metadata',
  ...REFUSED_FIELDS,
] as const

export type RequestField = (typeof REQUEST_FIELDS)[number]

export function fieldKey(field: RequestField): number {
  return REQUEST_FIELDS.indexOf(field)
}

export const REQUEST_KEYS = new KeySet(REQUEST_FIELDS, STRICT)
export const VOICE_KEYS = new KeySet(['id'], STRICT)

// A supplier may demand a voice, or take another format than mp3 for the usual one: both are given by a default.
const FREE_FIELDS = new Set(['voice', 'response_format', 'speed', 'instructions'])

export const speechQuirks = new QuirkBook({
  keys: REQUEST_KEYS,
  free: FREE_FIELDS,
  droppable: new Set([...FREE_FIELDS, 'stream', 'stream_format']),
  advice: { model: ': set `as` to say how the supplier calls it' },
  hasTwoLimits: false,
})

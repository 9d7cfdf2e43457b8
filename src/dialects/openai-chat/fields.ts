// The fields of a chat request that the gateway reads or changes. Every other field passes unread.
import { KeySet } from '../../wire/key-set.ts'

/** Position in this list is the member's key in a request's layout. */
export const REQUEST_FIELDS = [
  'model',
  'messages',
  'stream',
  'stream_options',
  'max_tokens',
  'max_completion_tokens',
  'n',
  'temperature',
  'top_p',
  'region',
  'metadata',
  'tools',
  'response_format',
  'api_key',
  'base_url',
  'api_base',
  'custom_host',
  'models',
  'route',
  'fallbacks',
  'service_tier',
] as const

export type RequestField = (typeof REQUEST_FIELDS)[number]

export function fieldKey(field: RequestField): number {
  return REQUEST_FIELDS.indexOf(field)
}

// Suppliers fold case when they match names in some languages, so another case of a listed name would
// let a caller show us one value and the supplier another.
export const REQUEST_KEYS = new KeySet(REQUEST_FIELDS, { once: true, fold: true })
export const STREAM_OPTION_KEYS = new KeySet(['include_usage'], { once: true, fold: true })
export const METADATA_KEYS = new KeySet(['session_id', 'sticky_key'], { once: true })
export const MESSAGE_KEYS = new KeySet(
  ['role', 'content', 'tool_calls', 'function_call', 'refusal', 'audio'],
  { once: true },
)
export const PART_KEYS = new KeySet(['image_url'], { once: true })
export const URL_KEYS = new KeySet(['url'], { once: true })
export const FORMAT_KEYS = new KeySet(['type'], { once: true })

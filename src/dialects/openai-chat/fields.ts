// The fields of a chat request that the gateway reads or changes. Every other field passes unread.
import { KeySet, STRICT } from '../../wire/key-set.ts'
import { REFUSED_FIELDS } from '../refused.ts'
import { UNBOUNDED_FIELDS } from '../unbounded.ts'

/** Read for what they can cost, and for nothing else. */
export const COST_FIELDS = [
  'prediction',
  'modalities',
  'audio',
  'previous_response_id',
  'extra_body',
  ...UNBOUNDED_FIELDS,
] as const

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
  'reasoning_effort',
  'reasoning',
  ...REFUSED_FIELDS,
  'service_tier',
  ...COST_FIELDS,
] as const

export type RequestField = (typeof REQUEST_FIELDS)[number]

export function fieldKey(field: RequestField): number {
  return REQUEST_FIELDS.indexOf(field)
}

export const REQUEST_KEYS = new KeySet(REQUEST_FIELDS, STRICT)
export const STREAM_OPTION_KEYS = new KeySet(['include_usage'], STRICT)
export const FORMAT_KEYS = new KeySet(['type'], { once: true })
export const REASONING_KEYS = new KeySet(['effort', 'enabled', 'mode'], STRICT)
export const URL_KEYS = new KeySet(['url'], STRICT)
export const AUDIO_KEYS = new KeySet(['data'], STRICT)
export const FILE_KEYS = new KeySet(['file_data'], STRICT)

// Names that are only passed over stand in these lists where many send them: an unknown one has to be looked
// at for another spelling of a known one.
export const MESSAGE_KEYS = new KeySet(
  [
    'role',
    'content',
    'tool_calls',
    'function_call',
    'refusal',
    'audio',
    'images',
    'reasoning_details',
    'cache_control',
    'name',
    'tool_call_id',
    'reasoning_content',
  ],
  STRICT,
)
export const PART_KEYS = new KeySet(
  [
    'type',
    'text',
    'image_url',
    'input_audio',
    'file',
    'cache_control',
    'prompt_cache_breakpoint',
    'signature',
  ],
  STRICT,
)
export const TOOL_KEYS = new KeySet(['type', 'function', 'name'], STRICT)

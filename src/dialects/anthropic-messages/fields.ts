// The fields of a messages request that the gateway reads or changes. Every other field passes unread.
import { KeySet, STRICT } from '../../wire/key-set.ts'
import { REFUSED_FIELDS } from '../refused.ts'
import { UNBOUNDED_FIELDS as COMMON_FIELDS } from '../unbounded.ts'

/** Each sets a supplier to work that no number of tokens bounds; the first are of this language (the maker's client, 2026-11). */
export const UNBOUNDED_FIELDS = [
  // Tools of other servers, which the supplier calls as often as the model likes.
  'mcp_servers',
  // A machine at the supplier, with files from earlier calls.
  'container',
  // A further call of the model, to sum up what was said so far.
  'compaction',
  ...COMMON_FIELDS,
] as const

export type UnboundedField = (typeof UNBOUNDED_FIELDS)[number]

/** Read for what they can cost, and for nothing else. */
export const COST_FIELDS = [
  'cache_control',
  'context_management',
  'speed',
  'service_tier',
  'extra_body',
  ...UNBOUNDED_FIELDS,
] as const

/** Position in this list is the member's key in a request's layout. */
export const REQUEST_FIELDS = [
  'model',
  'messages',
  'max_tokens',
  'stream',
  'system',
  'tools',
  'metadata',
  'region',
  'thinking',
  'temperature',
  'top_p',
  'thread',
  'inference_geo',
  ...REFUSED_FIELDS,
  ...COST_FIELDS,
] as const

export type RequestField = (typeof REQUEST_FIELDS)[number]

export function fieldKey(field: RequestField): number {
  return REQUEST_FIELDS.indexOf(field)
}

export const REQUEST_KEYS = new KeySet(REQUEST_FIELDS, STRICT)
export const THINKING_KEYS = new KeySet(['budget_tokens', 'type'], STRICT)
export const CONTEXT_KEYS = new KeySet(['edits'], STRICT)
export const TYPE_KEYS = new KeySet(['type'], STRICT)

// Names that are only passed over stand in these lists where many send them: an unknown one has to be looked
// at for another spelling of a known one.
export const MESSAGE_KEYS = new KeySet(['role', 'content', 'output_config'], STRICT)
export const TOOL_KEYS = new KeySet(
  ['type', 'input_schema', 'name', 'description', 'cache_control', 'defer_loading', 'strict'],
  STRICT,
)
export const BLOCK_KEYS = new KeySet(
  [
    'type',
    'text',
    'source',
    'content',
    'tool',
    'cache_control',
    'id',
    'name',
    'input',
    'tool_use_id',
    'is_error',
    'thinking',
    'signature',
    'data',
    'title',
    'citations',
  ],
  STRICT,
)
export const SOURCE_KEYS = new KeySet(
  ['type', 'data', 'url', 'content', 'media_type', 'file_id'],
  STRICT,
)

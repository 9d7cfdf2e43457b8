// The fields of a responses request that the gateway reads or changes. Every other field passes unread.
import { KeySet, STRICT } from '../../wire/key-set.ts'
import { REFUSED_FIELDS } from '../refused.ts'
import { UNBOUNDED_FIELDS as COMMON_FIELDS } from '../unbounded.ts'

/** Each sets a supplier to work that no number of tokens bounds; the first is of this language (the maker's client, 2026-11). */
export const UNBOUNDED_FIELDS = [
  // A further call of the model, to sum up what was said so far.
  'context_management',
  // Several models at once, on trial.
  'multi_agent',
  ...COMMON_FIELDS,
] as const

export type UnboundedField = (typeof UNBOUNDED_FIELDS)[number]

/** A conversation, or a prompt, that the supplier has kept: what it holds is not in here. */
export const KEPT_FIELDS = ['previous_response_id', 'conversation', 'prompt'] as const

export type KeptField = (typeof KEPT_FIELDS)[number]

/** Read for what they can cost, and for nothing else. */
export const COST_FIELDS = [
  'service_tier',
  'modalities',
  'audio',
  'extra_body',
  ...KEPT_FIELDS,
  ...UNBOUNDED_FIELDS,
] as const

/** Position in this list is the member's key in a request's layout. */
export const REQUEST_FIELDS = [
  'model',
  'input',
  'instructions',
  'stream',
  'max_output_tokens',
  'temperature',
  'top_p',
  'region',
  'metadata',
  'tools',
  'text',
  'reasoning',
  'background',
  ...REFUSED_FIELDS,
  ...COST_FIELDS,
] as const

export type RequestField = (typeof REQUEST_FIELDS)[number]

export function fieldKey(field: RequestField): number {
  return REQUEST_FIELDS.indexOf(field)
}

export const REQUEST_KEYS = new KeySet(REQUEST_FIELDS, STRICT)
export const TEXT_KEYS = new KeySet(['format'], { once: true })
export const FORMAT_KEYS = new KeySet(['type'], { once: true })
export const REASONING_KEYS = new KeySet(
  ['effort', 'enabled', 'summary', 'max_tokens', 'mode'],
  STRICT,
)
export const AUDIO_KEYS = new KeySet(['data'], STRICT)
export const TYPE_KEYS = new KeySet(['type'], STRICT)

// Names that are only passed over stand in these lists where many send them: an unknown one has to be looked
// at for another spelling of a known one.
export const ITEM_KEYS = new KeySet(
  [
    'type',
    'role',
    'content',
    'output',
    'tools',
    'encrypted_content',
    'result',
    'id',
    'summary',
    'call_id',
    'name',
    'arguments',
    'status',
    'input',
    'phase',
    'action',
    'namespace',
  ],
  STRICT,
)
export const PART_KEYS = new KeySet(
  [
    'type',
    'text',
    'refusal',
    'stdout',
    'stderr',
    'image_url',
    'input_audio',
    'file_data',
    'file_url',
    'file_id',
    'detail',
    'filename',
    'annotations',
    'logprobs',
    'outcome',
    'prompt_cache_breakpoint',
  ],
  STRICT,
)
export const TOOL_KEYS = new KeySet(
  [
    'type',
    'name',
    'function',
    'tools',
    'environment',
    'execution',
    'parameters',
    'description',
    'strict',
    'format',
    'defer_loading',
  ],
  STRICT,
)

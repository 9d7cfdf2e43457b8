// Reads from a messages request what admission needs, in one pass, and refuses what every supplier would
// call wrong. Unknown fields pass; the supplier judges them.
import { GatewayError } from '../../core/problem.ts'
import { KeySet } from '../../wire/key-set.ts'
import type { Facts } from '../dialect.ts'
import { fault, noteOpening, refuse, type Draft } from '../draft.ts'
import {
  readBoolean,
  readMembers,
  readMetadata,
  readModel,
  readNumber,
  readRegion,
  readRequest,
  readTier,
} from '../request.ts'
import { isRefused, refuseField, type RefusedField } from '../refused.ts'
import { readExtra, readUnbounded } from '../unbounded.ts'
import { readBlocks } from './blocks.ts'
import { LEAST_BUDGET } from './budget.ts'
import { readContextEdits, readSpeed, readTools, writesLong } from './cost.ts'
import {
  REQUEST_FIELDS,
  REQUEST_KEYS,
  THINKING_KEYS,
  UNBOUNDED_FIELDS,
  type RequestField,
  type UnboundedField,
} from './fields.ts'
import { readMessages } from './messages.ts'

// The first takes capacity that its account has bought beforehand, where there is some: no other price for a token.
const TIERS = ['auto', 'standard_only']
/** None at all is how a cache is filled without an answer (the maker's reference of the interface, seen 2026-11). */
const LIMIT = { from: 0, to: Number.MAX_SAFE_INTEGER, whole: true }

/** Of what `thinking` has. */
const BUDGET = 0
const TYPE = 1
const OFF = new KeySet(['disabled'])

type Reader = (draft: Draft) => void

const READERS: Readonly<Record<Exclude<RequestField, UnboundedField | RefusedField>, Reader>> = {
  model: readModel,
  messages: readMessages,
  max_tokens: (draft) => (draft.load.maxTokens = readNumber(draft, 'max_tokens', LIMIT)),
  stream: (draft) => (draft.stream = readBoolean(draft, 'stream')),
  system: readSystem,
  tools: readTools,
  metadata: readMetadata,
  region: readRegion,
  thinking: readThinking,
  // One maker stops at 1, others of this language do not.
  temperature: (draft) => void readNumber(draft, 'temperature', { from: 0, to: 2 }),
  top_p: (draft) => void readNumber(draft, 'top_p', { from: 0, to: 1 }),
  thread: refuseThread,
  inference_geo: refusePlace,
  cache_control: ({ cursor }) => cursor.skip(),
  context_management: readContextEdits,
  speed: readSpeed,
  service_tier: (draft) => readTier(draft, TIERS),
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
  const facts = peekCount(body)
  if (facts.maxTokens !== undefined) return facts
  throw new GatewayError(
    'missing_fields',
    'Send `max_tokens`: the most tokens that the answer may have.',
    { param: 'max_tokens' },
  )
}

/** The same for a request that is only to be counted: nothing is answered, so nothing limits the answer. */
export function peekCount(body: Uint8Array): Facts {
  const facts = readRequest(body, REQUEST_KEYS, (draft, key) => READERS_BY_KEY[key]!(draft))
  return writesLong(body) ? { ...facts, load: { ...facts.load, writesLong: true } } : facts
}

function readSystem(draft: Draft): void {
  const { cursor } = draft
  const from = cursor.at
  if (cursor.isArray()) return readBlocks(draft, 'system')
  if (!cursor.isString()) return refuse(draft, 'system', 'must be a string or an array of blocks')
  cursor.skip()
  noteOpening(draft, from)
}

/** What a model thinks is within `max_tokens`. Where its budget stands matters, should that be lowered. */
function readThinking(draft: Draft): void {
  const { cursor, load } = draft
  if (!cursor.isObject()) return refuse(draft, 'thinking', 'must be an object')
  draft.thinking = readMembers(draft, THINKING_KEYS, (key) => {
    if (key === TYPE && cursor.isString()) {
      draft.asksReasoning = cursor.word(OFF) < 0
      return
    }
    if (key === BUDGET && cursor.isNumber()) load.thinkingTokens = LEAST_BUDGET
    cursor.skip()
  })
}

/**
 * A conversation that the supplier keeps: its next call holds no history, and only that supplier could answer it.
 * Clients begin anew without a thread when they are refused in these words (seen in the maker's client, 2026-11).
 */
function refuseThread(draft: Draft): void {
  draft.cursor.skip()
  draft.fault ??= new GatewayError(
    'unsupported_parameter',
    'Remove `thread` and send the whole conversation in `messages`: no supplier keeps it for this gateway.',
    {
      param: 'thread',
      details: { details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] } },
    },
  )
}

/** It would choose a place past the key's regions, at another price. */
function refusePlace(draft: Draft): void {
  draft.cursor.skip()
  const text = 'Remove `inference_geo` and name the place in `region`, which the gateway keeps to.'
  fault(draft, 'unsupported_parameter', 'inference_geo', text)
}

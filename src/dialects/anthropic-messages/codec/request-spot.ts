// Where something of a request stands, what of it nobody misses, and what makes no sense in it.
import { invalid, type GatewayError } from '../../../core/problem.ts'
import { isFields } from '../../json.ts'
import type { Lost } from '../../lost.ts'

/** Where something of a request stands. */
export interface Spot {
  /** The one place, as a problem names it: `messages[2].content[0]`. */
  readonly param: string
  /** All places like it, with `*` in the place of a number. */
  readonly pointer: string
  readonly lost: Lost
}

/** What nobody asks for by it. */
const DEFAULTS: Readonly<Record<string, (value: unknown) => boolean>> = {
  // The model has called by itself, and not a program of its.
  caller: (value) => isFields(value) && value['type'] === 'direct',
  allowed_callers: (value) => Array.isArray(value) && value.every((each) => each === 'direct'),
  citations: (value) =>
    Array.isArray(value) ? value.length === 0 : isFields(value) && value['enabled'] === false,
  defer_loading: isFalse,
  eager_input_streaming: isFalse,
  input_examples: isEmpty,
  mcp_servers: isEmpty,
  context_management: isIdle,
  service_tier: (value) => value === 'auto',
  speed: (value) => value === 'standard',
  // Whatever is told of a thought is shown.
  display: (value) => value === 'summarized',
}

/** Null, or what is the rule without a word. */
export function isDefault(value: unknown, name: string): boolean {
  return value === null || (Object.hasOwn(DEFAULTS, name) && DEFAULTS[name]!(value))
}

function isFalse(value: unknown): boolean {
  return value === false
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

/** One client always sends an edit that clears nothing away (seen 2026-11). */
function isIdle(value: unknown): boolean {
  if (!isFields(value)) return false
  const { edits = [], ...rest } = value
  if (!Array.isArray(edits) || Object.keys(rest).length > 0) return false
  return edits.every((edit) => isFields(edit) && edit['keep'] === 'all')
}

/** A known thing without which the conversation makes no sense. */
export function wrong(param: string, rule: string): GatewayError {
  return invalid(param, `\`${param}\` ${rule}.`)
}

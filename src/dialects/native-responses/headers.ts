// The headers of an agent that its maker's servers have to see: who asks, in which conversation, with what on trial.
// Everything else stays here, above all whatever says who pays.
import { invalid, quoteName } from '../../core/problem.ts'

/** As the agent has sent them over its versions (openai/codex, seen 2026-11), and what it was called with itself. */
const PASSED = new Set([
  'conversation-id',
  'conversation_id',
  'openai-beta',
  'originator',
  'session-id',
  'session_id',
  'thread-id',
  'user-agent',
  'version',
  'x-client-request-id',
])
const FAMILIES = /^x-(?:codex|openai)-./

/**
 * Of these families what is for the gateway to say and for no caller: a credential, an account and what it was granted
 * (`x-openai-actor-authorization`, `x-openai-fedramp`), a region (`x-openai-internal-codex-residency`), or another way
 * to name a model and its tier (`x-codex-routing-hint`). The words stand for names that nobody has seen yet, too.
 */
const WITHHELD = new RegExp(
  [
    'auth|bearer|jwt|credential|cookie|token|secret|key',
    'account|organi[sz]ation|project|workspace|tenant|actor|fedramp|billing',
    'residency|region|routing|model|tier|priority',
  ].join('|'),
)

const VALUE_LENGTH_MAX = 8_192
const LENGTH_MAX = 32_768
const COUNT_MAX = 32
const SENDABLE = /^[\x20-\x7e]*$/

/** Answers are always streamed, whatever the caller says that it takes. */
const ACCEPT = { accept: 'text/event-stream' } as const

export function readHeaders(headers: Headers): Readonly<Record<string, string>> {
  const passed: Record<string, string> = { ...ACCEPT }
  let length = 0
  let count = 0
  for (const [name, value] of headers) {
    if (value === '' || !isPassed(name)) continue
    count++
    length += name.length + value.length
    if (value.length > VALUE_LENGTH_MAX || !SENDABLE.test(value))
      throw refuse(name, `Send it with at most ${VALUE_LENGTH_MAX} plain characters`)
    if (count > COUNT_MAX) throw refuse(name, `Send at most ${COUNT_MAX} headers of this kind`)
    if (length > LENGTH_MAX)
      throw refuse(name, `Send at most ${LENGTH_MAX} characters of such headers`)
    passed[name] = value
  }
  return passed
}

function isPassed(name: string): boolean {
  return PASSED.has(name) || (FAMILIES.test(name) && !WITHHELD.test(name))
}

function refuse(header: string, advice: string): Error {
  const name = quoteName(header)
  return invalid(name, `\`${name}\` cannot be passed on. ${advice}.`)
}

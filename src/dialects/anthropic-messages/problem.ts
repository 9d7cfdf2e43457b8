// Problems in the messages language. It has no codes of its own: what a supplier means is told by the type and
// the wording, which both survive, and by a code of ours where the wording leaves no doubt.
import { toEnvelope, type Envelope } from '../../core/envelope.ts'
import {
  GatewayError,
  isProblemCode,
  messagesType,
  type ProblemCode,
  type ProblemOrigin,
} from '../../core/problem.ts'
import type { ProblemCodec } from '../dialect.ts'
import { isErrorStatus, readErrorBody, type ErrorBody } from '../error-body.ts'
import { asFields } from '../json.ts'

/** Statuses of errors that come without one, inside of a 200 or of a stream. */
const STATUSES: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  conflict_error: 409,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
}
const UNKNOWN_STATUS = 502

// As the maker words it, with status 400 (seen in anthropics/claude-code #66314, 2026-06).
const SPENT_TEXT = /^Your credit balance is too low\b/
const SPENT_TYPE = 'billing_error'
const SPENT_STATUS = 402

// Both wordings of the maker's; clients look for the first to shorten a conversation.
const TOO_LONG = /^prompt is too long\b|^input length and `max_tokens` exceed context limit/
const TOO_LONG_CODE = 'context_length_exceeded'
const TOO_LONG_WORDS = 'prompt is too long'
/** A figure of tokens in a sentence, with or without separators. */
const FIGURE = /(?<![\w.,-])\d{1,3}(?:,\d{3})+(?![\w-]|[.,]\d)|(?<![\w.,-])\d+(?![\w-]|[.,]\d)/g
const FIGURE_MAX = 1_000_000_000
const WINDOW_MIN = 1000

/** How this language calls its errors, those of tomorrow too: its clients do not know the words of others. */
const OWN_TYPE = /_error$|^request_too_large$/
const FOREIGN_TYPES = new Set(['server_error'])

// As the maker words it, with and without the marks around the names, and with more sentences behind it (seen in
// ding113/claude-code-hub #518, 2026-01, and anomalyco/opencode #48637, 2026-09).
const FOREIGN_SEAL = /\binvalid\b.{0,40}\b(?:signature|data)\b.{0,40}\bthinking\b/i
// Where others were left out before (seen in lbjlaq/Antigravity-Manager #139, 2025-12).
const MISSING_THOUGHT = /\bExpected `thinking` or `redacted_thinking`/

interface ErrorEvent {
  readonly type: 'error'
  readonly error: Envelope
  readonly request_id: string
}

export const problem: ProblemCodec = {
  encode: (error, requestId) => JSON.stringify(toEvent(error, requestId)),

  frame: (error, requestId) =>
    `event: error\ndata: ${JSON.stringify(toEvent(error, requestId))}\n\n`,

  decode(status, body) {
    const said = readErrorBody(body)
    const { text } = said
    const origin = withCode(said)
    const details = asFields(said.fields['details'])
    return new GatewayError(codeOf(origin, text), text, {
      origin,
      retryable: false,
      status: statusOf(status, origin, text),
      // Clients find out from it what to leave out of their next try.
      ...(details === undefined ? {} : { details: { details } }),
    })
  },

  isSpent: ({ origin, message }) => origin?.type === SPENT_TYPE || SPENT_TEXT.test(message),

  refusesThoughts: ({ message }) => FOREIGN_SEAL.test(message) || MISSING_THOUGHT.test(message),
}

function toEvent(error: GatewayError, requestId: string): ErrorEvent {
  const envelope = toEnvelope(error, messagesType)
  const type = isOwnType(envelope.type) ? envelope.type : messagesType(error.status)
  return { type: 'error', error: { ...envelope, type, ...wordsOf(error) }, request_id: requestId }
}

function isOwnType(type: string): boolean {
  return OWN_TYPE.test(type) && !FOREIGN_TYPES.has(type)
}

/**
 * Clients shorten a conversation when they read these words, and in no other case. The maker's other wording stays as
 * it is: they lower their output limit by it.
 */
function wordsOf(error: GatewayError): Pick<Envelope, 'message' | 'human_message'> | undefined {
  const { code, wireCode, message } = error
  if (code !== TOO_LONG_CODE && wireCode !== TOO_LONG_CODE) return undefined
  if (message.includes(TOO_LONG_WORDS) || TOO_LONG.test(message)) return undefined
  const text = `${TOO_LONG_WORDS}${printFigures(message)}. ${message}`
  return { message: `${wireCode} - ${text}`, human_message: text }
}

/** How long it is and how long it may be, where the supplier says both. */
function printFigures(message: string): string {
  const figures = (message.match(FIGURE) ?? [])
    .map((text) => Number(text.replaceAll(',', '')))
    .filter((figure) => figure > 0 && figure <= FIGURE_MAX)
  // A status, or a number of messages, is less than any window.
  const lengths = figures.filter((figure) => figure >= WINDOW_MIN)
  const [first, second] = lengths.length < 2 ? figures : lengths
  if (first === undefined || second === undefined || first === second) return ''
  return `: ${Math.max(first, second)} tokens > ${Math.min(first, second)} maximum`
}

/** Some errors have a code, in a place of its own. */
function withCode({ origin, fields }: ErrorBody): ProblemOrigin {
  const code = asFields(fields['details'])?.['error_code']
  return origin.code === undefined && typeof code === 'string' ? { ...origin, code } : origin
}

function codeOf({ code }: ProblemOrigin, text: string): ProblemCode {
  if (code !== undefined) return isProblemCode(code) ? code : 'provider_error'
  return TOO_LONG.test(text) ? 'context_length_exceeded' : 'provider_error'
}

/** An account of ours without money is nothing that the caller has done wrong, whatever the status says. */
function statusOf(status: number, { type = '' }: ProblemOrigin, text: string): number {
  if (SPENT_TEXT.test(text)) return SPENT_STATUS
  return isErrorStatus(status) ? status : (STATUSES[type] ?? UNKNOWN_STATUS)
}

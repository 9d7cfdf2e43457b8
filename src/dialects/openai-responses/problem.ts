// Problems in the responses language: refusals are those of chats, a stream that fails ends in an event of its own.
// Clients match on a supplier's own code and wording, so both survive.
import { toEnvelope } from '../../core/envelope.ts'
import { chatType, type GatewayError } from '../../core/problem.ts'
import type { StreamPlace } from '../codec.ts'
import type { ProblemCodec } from '../dialect.ts'
import { isErrorStatus, readErrorBody } from '../error-body.ts'
import { asFields, isFields, printShallow, type Fields } from '../json.ts'
import { problem as chatProblem } from '../openai-chat/problem.ts'

/** Statuses of errors that come without one, inside of a 200 or of a stream (the maker's client and agent, 2026-11). */
const STATUSES: Readonly<Record<string, number>> = {
  invalid_prompt: 400,
  invalid_encrypted_content: 400,
  context_length_exceeded: 400,
  bio_policy: 400,
  cyber_policy: 400,
  misalignment_policy_violation: 400,
  invalid_image: 400,
  invalid_image_format: 400,
  invalid_base64_image: 400,
  invalid_image_url: 400,
  image_too_large: 400,
  image_too_small: 400,
  image_parse_error: 400,
  image_content_policy_violation: 400,
  invalid_image_mode: 400,
  image_file_too_large: 400,
  unsupported_image_media_type: 400,
  empty_image_file: 400,
  failed_to_download_image: 400,
  image_file_not_found: 400,
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  usage_limit_reached: 429,
  usage_not_included: 429,
  server_error: 500,
  server_is_overloaded: 503,
  slow_down: 503,
  vector_store_timeout: 504,
}

// Of another account, or of another maker (seen in openai/codex #8145, 2025-12, and vscode-unify-chat-provider #178,
// 2026-05).
const FOREIGN_SEAL_CODE = 'invalid_encrypted_content'
const FOREIGN_SEAL = /\bencrypted content\b.{0,200}\bcould not be (?:verified|decrypted)/is

const encoder = new TextEncoder()

export type { StreamPlace }

export const problem: ProblemCodec = {
  encode: (error, requestId) => chatProblem.encode(error, requestId),

  // Clients give up on a stream whose last event is about another answer than its first.
  frame(error, requestId, { id = idOf(requestId), sequence } = NOWHERE) {
    const type = 'response.failed'
    const response = {
      id,
      object: 'response',
      status: 'failed',
      error: toEnvelope(error, chatType),
      incomplete_details: null,
      // What there was of it came before. Some clients cannot do without a list.
      output: [],
      usage: null,
    }
    const event = { type, sequence_number: sequence, response }
    return `event: ${type}\ndata: ${JSON.stringify(event)}\n\n`
  },

  decode(status, body) {
    if (isErrorStatus(status)) return chatProblem.decode(status, body)
    return chatProblem.decode(STATUSES[readErrorBody(body).origin.code ?? ''] ?? status, body)
  },

  isSpent: (error) => chatProblem.isSpent(error),

  refusesThoughts: ({ origin, message }) =>
    origin?.code === FOREIGN_SEAL_CODE || FOREIGN_SEAL.test(message),
}

const NOWHERE: StreamPlace = { id: undefined, sequence: 0 }

/** The id of an answer that the gateway has made itself. */
export function idOf(requestId: string): string {
  return `resp_${requestId}`
}

/** What an event, or an answer, says of its failure: in an object, inside of the answer, or by itself. */
export function failureOf(fields: Fields): GatewayError {
  const { response, error } = fields
  const told = asFields(response)?.['error'] ?? error
  // Its type is that of the event, and no kind of error.
  const { type: _type, sequence_number: _number, response: _response, ...flat } = fields
  const said = isFields(told) || typeof told === 'string' ? told : flat
  return problem.decode(0, encoder.encode(printShallow({ error: said }) ?? '{}'))
}

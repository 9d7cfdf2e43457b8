// What is wrong with an answer that cannot be read, in the same words for every language.
import { advise, type GatewayError } from '../core/problem.ts'
import type { JsonFault } from '../wire/json-cursor.ts'

const OPENING_BRACE = 0x7b

/** Says in which way it is no answer: too much, nothing at all, broken JSON, or something else entirely. */
export function unreadable(bytes: Uint8Array, cause: JsonFault): GatewayError {
  if (cause.kind === 'limit')
    return advise('provider_response_too_large', 'The supplier sent more than can be read.', {
      cause,
    })
  const first = firstOf(bytes)
  if (first === undefined) return advise('empty_response', 'The supplier sent nothing.')
  if (first === OPENING_BRACE)
    return advise('upstream_invalid_response', 'The supplier sent broken JSON.', {
      cause,
    })
  return advise('non_json_provider_response', 'The supplier sent no JSON object.')
}

/** The first byte that is no white space. A search by callback takes half a second of a blank answer. */
function firstOf(bytes: Uint8Array): number | undefined {
  let at = 0
  while (at < bytes.length && bytes[at]! <= 0x20) at++
  return bytes[at]
}

// Proves that a unary answer is one before a caller sees it, and reads its usage on the way. Only the
// usage is made into values: everything else passes as bytes, and building it would be work for nobody.
import { advise, type GatewayError } from '../../core/problem.ts'
import type { Usage } from '../../core/usage.ts'
import { END, JsonCursor, JsonFault } from '../../wire/json-cursor.ts'
import { KeySet } from '../../wire/key-set.ts'
import type { AnswerFacts } from '../dialect.ts'
import { parseJson } from './json.ts'
import { problem } from './problem.ts'
import { readUsage } from './usage.ts'

const KEYS = new KeySet(['choices', 'usage', 'error'])
const CHOICES = 0
const USAGE = 1
const FAILURE = 2
const OPENING_BRACE = 0x7b

// Reading never awaits, so one cursor serves all answers. Their size alone is bounded: the probabilities
// of a long answer are millions of items.
const cursor = new JsonCursor({ members: Number.MAX_SAFE_INTEGER, items: Number.MAX_SAFE_INTEGER })

export function readAnswer(bytes: Uint8Array): AnswerFacts {
  try {
    return read(bytes)
  } catch (thrown) {
    throw thrown instanceof JsonFault ? unreadable(bytes, thrown) : thrown
  }
}

function read(bytes: Uint8Array): AnswerFacts {
  let usage: Usage | undefined
  let hasChoices = false
  let hasFailed = false
  let isEmpty = true
  cursor.open(bytes)
  cursor.enterObject()
  for (let key = cursor.nextKey(KEYS); key !== END; key = cursor.nextKey(KEYS)) {
    const from = cursor.at
    const isBlank = cursor.isBlank()
    isEmpty = false
    if (key === CHOICES) hasChoices = cursor.isArray() && !isBlank
    if (key === FAILURE) hasFailed = !isBlank
    cursor.skip()
    if (key === USAGE) usage = readUsage(parseJson(bytes.subarray(from, cursor.at)))
  }
  cursor.close()
  if (hasFailed) throw problem.decode(0, bytes)
  if (hasChoices) return { usage }
  if (isEmpty) throw advise('empty_response', 'The supplier sent an empty object.')
  throw advise('upstream_invalid_response', 'The supplier sent an answer without choices.')
}

/** Says in which way it is no answer: nothing at all, broken JSON, or something else entirely. */
function unreadable(bytes: Uint8Array, cause: JsonFault): GatewayError {
  const first = bytes.find((byte) => byte > 0x20)
  if (first === undefined) return advise('empty_response', 'The supplier sent nothing.')
  if (first === OPENING_BRACE)
    return advise('upstream_invalid_response', 'The supplier sent broken JSON.', {
      cause,
    })
  return advise('non_json_provider_response', 'The supplier sent no JSON object.')
}

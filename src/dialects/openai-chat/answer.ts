// Proves that a unary answer is one before a caller sees it, and reads its usage on the way. Only the
// usage is made into values: everything else passes as bytes, and building it would be work for nobody.
import { advise, asLate, type GatewayError } from '../../core/problem.ts'
import { END, JsonCursor, JsonFault } from '../../wire/json-cursor.ts'
import { KeySet } from '../../wire/key-set.ts'
import { unreadable } from '../answer.ts'
import type { AnswerFacts } from '../dialect.ts'
import { parseJson } from '../json.ts'
import { outputOfAll, type Output } from './output.ts'
import { problem } from './problem.ts'
import { NO_USAGE, readUsageText } from './usage.ts'

const KEYS = new KeySet(['choices', 'usage', 'error'])
const CHOICES = 0
const USAGE = 1
const FAILURE = 2

/** The probabilities of the longest answers are about as many; more would only keep the process busy. */
const MEMBERS_MAX = 3_000_000
const ITEMS_MAX = 2_000_000
/** Making values of more could keep the process busy for a second. */
const PARSED_BYTES_MAX = 1_048_576

const UNCOUNTED: Output = { outputBytes: 0, audioBytes: 0 }

// Reading never awaits, so one cursor serves all answers.
const cursor = new JsonCursor({ members: MEMBERS_MAX, allMembers: MEMBERS_MAX, items: ITEMS_MAX })

export function readAnswer(bytes: Uint8Array): AnswerFacts {
  try {
    return read(bytes)
  } catch (thrown) {
    throw thrown instanceof JsonFault ? unreadable(bytes, thrown) : thrown
  }
}

function read(bytes: Uint8Array): AnswerFacts {
  let reading = NO_USAGE
  let hasChoices = false
  let hasFailed = false
  let isEmpty = true
  let choicesFrom = 0
  let choicesTo = 0
  cursor.open(bytes)
  cursor.enterObject()
  for (let key = cursor.nextKey(KEYS); key !== END; key = cursor.nextKey(KEYS)) {
    const from = cursor.at
    const isBlank = cursor.isBlank()
    isEmpty = false
    if (key === CHOICES) hasChoices = cursor.isArray() && !isBlank
    if (key === FAILURE) hasFailed = !isBlank
    cursor.skip()
    if (key === CHOICES) {
      choicesFrom = from
      choicesTo = cursor.at
    }
    if (key === USAGE) reading = readUsageText(bytes, from, cursor.at)
  }
  cursor.close()
  if (hasFailed) throw failureIn(bytes, hasChoices || reading.usage !== undefined)
  if (hasChoices)
    return {
      usage: reading.usage,
      hasUnreadUsage: reading.isUnread,
      ...(reading.usage === undefined ? countOutput(bytes, choicesFrom, choicesTo) : UNCOUNTED),
    }
  if (isEmpty) throw advise('empty_response', 'The supplier sent an empty object.')
  throw advise('upstream_invalid_response', 'The supplier sent an answer without choices.')
}

/** Beside an answer or a usage it comes too late to be a refusal. */
function failureIn(bytes: Uint8Array, isLate: boolean): GatewayError {
  const failure = problem.decode(0, bytes)
  return isLate ? asLate(failure) : failure
}

/** Where it cannot be told, or where telling would keep the process busy, all bytes count: the text is less. */
function countOutput(bytes: Uint8Array, from: number, to: number): Output {
  const isShort = to - from <= PARSED_BYTES_MAX
  const output = isShort ? outputOfAll(parseJson(bytes.subarray(from, to))) : undefined
  return output ?? { outputBytes: to - from, audioBytes: 0 }
}

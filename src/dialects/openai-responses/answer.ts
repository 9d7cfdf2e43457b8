// Proves that a unary answer is one before a caller sees it, and reads its usage on the way. Only the usage is
// made into values: everything else passes as bytes, and building it would be work for nobody.
import { advise, asLate, type GatewayError } from '../../core/problem.ts'
import { END, JsonCursor, JsonFault } from '../../wire/json-cursor.ts'
import { KeySet } from '../../wire/key-set.ts'
import { unreadable } from '../answer.ts'
import type { AnswerFacts } from '../dialect.ts'
import { asFields, parseJson } from '../json.ts'
import { outputOfAll } from './output.ts'
import { failureOf } from './problem.ts'
import { NO_USAGE, readUsageText } from './usage.ts'

const KEYS = new KeySet(['status', 'output', 'usage', 'error'])
const STATUS = 0
const OUTPUT = 1
const USAGE = 2
const FAILURE = 3
const STATUSES = new KeySet(['completed', 'incomplete', 'failed'])
const FAILED = 2
/** Some leave it out of what is whole. */
const NO_STATUS = -3

const MEMBERS_MAX = 3_000_000
const ITEMS_MAX = 2_000_000
/** Making values of more could keep the process busy for a second. */
const PARSED_BYTES_MAX = 1_048_576

// Reading never awaits, so one cursor serves all answers.
const cursor = new JsonCursor({ members: MEMBERS_MAX, allMembers: MEMBERS_MAX, items: ITEMS_MAX })

/** What was found so far. */
class Reading {
  usage = NO_USAGE
  status = NO_STATUS
  isEmpty = true
  failureFrom = -1
  failureTo = -1
  outputFrom = -1
  outputTo = -1
  hasItems = false
}

export function readAnswer(bytes: Uint8Array): AnswerFacts {
  try {
    return judge(read(bytes), bytes)
  } catch (thrown) {
    throw thrown instanceof JsonFault ? unreadable(bytes, thrown) : thrown
  }
}

function read(bytes: Uint8Array): Reading {
  const reading = new Reading()
  cursor.open(bytes)
  cursor.enterObject()
  for (let key = cursor.nextKey(KEYS); key !== END; key = cursor.nextKey(KEYS)) {
    reading.isEmpty = false
    if (key === STATUS && cursor.isString()) reading.status = cursor.word(STATUSES)
    else readMember(reading, key, bytes)
  }
  cursor.close()
  return reading
}

function readMember(reading: Reading, key: number, bytes: Uint8Array): void {
  const from = cursor.at
  const isBlank = cursor.isBlank()
  const isArray = cursor.isArray()
  cursor.skip()
  if (key === USAGE) reading.usage = readUsageText(bytes, from, cursor.at)
  if (key === FAILURE && !isBlank) {
    reading.failureFrom = from
    reading.failureTo = cursor.at
  }
  if (key !== OUTPUT || !isArray) return
  reading.outputFrom = from
  reading.outputTo = cursor.at
  reading.hasItems = !isBlank
}

function judge(reading: Reading, bytes: Uint8Array): AnswerFacts {
  const { usage, status, outputFrom, outputTo, failureFrom } = reading
  if (failureFrom >= 0 || status === FAILED) throw failureIn(reading, bytes)
  if (reading.isEmpty) throw advise('empty_response', 'The supplier sent an empty object.')
  if (outputFrom < 0 || (status < 0 && status !== NO_STATUS))
    throw advise(
      'upstream_invalid_response',
      'The supplier sent no response, or one that is not finished.',
    )
  return {
    usage: usage.usage,
    hasUnreadUsage: usage.isUnread,
    outputBytes: usage.usage === undefined ? countOutput(bytes, outputFrom, outputTo) : 0,
    audioBytes: 0,
  }
}

/** Beside an answer or a usage it comes too late to be a refusal. */
function failureIn(
  { failureFrom, failureTo, hasItems, usage }: Reading,
  bytes: Uint8Array,
): GatewayError {
  const error = parseJson(bytes.subarray(Math.max(0, failureFrom), Math.max(0, failureTo)))
  const failure = failureOf({ error: asFields(error) ?? error })
  return hasItems || usage.usage !== undefined ? asLate(failure) : failure
}

/** Where it cannot be told, or where telling would keep the process busy, all bytes count: the text is less. */
function countOutput(bytes: Uint8Array, from: number, to: number): number {
  const isShort = to - from <= PARSED_BYTES_MAX
  return (isShort ? outputOfAll(parseJson(bytes.subarray(from, to))) : undefined) ?? to - from
}

// Proves that a unary answer is one before a caller sees it, and reads its usage on the way. Only the usage is
// made into values: everything else passes as bytes, and building it would be work for nobody.
import { advise, asLate, type GatewayError } from '../../core/problem.ts'
import { END, JsonCursor, JsonFault } from '../../wire/json-cursor.ts'
import { KeySet } from '../../wire/key-set.ts'
import { unreadable } from '../answer.ts'
import type { AnswerFacts } from '../dialect.ts'
import { parseJson } from '../json.ts'
import { outputOfBlock } from './output.ts'
import { problem } from './problem.ts'
import { unshownOf } from './thoughts.ts'
import { UsageTally } from './usage.ts'

const KEYS = new KeySet(['type', 'content', 'stop_reason', 'usage', 'error'])
const TYPE = 0
const CONTENT = 1
const REASON = 2
const USAGE = 3
const FAILURE = 4
const TYPES = new KeySet(['message', 'error'])
const MESSAGE = 0
const FAILED = 1

const MEMBERS_MAX = 3_000_000
const ITEMS_MAX = 2_000_000
/** Making values of more could keep the process busy for a second. */
const PARSED_BYTES_MAX = 1_048_576

// Reading never awaits, so one cursor serves all answers.
const cursor = new JsonCursor({ members: MEMBERS_MAX, allMembers: MEMBERS_MAX, items: ITEMS_MAX })

/** What was found so far. */
class Reading {
  readonly tally = new UsageTally()
  type = END
  hasReason = false
  hasFailed = false
  isEmpty = true
  contentFrom = -1
  contentTo = -1
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
    if (key === TYPE && cursor.isString()) reading.type = cursor.word(TYPES)
    else readMember(reading, key, bytes)
  }
  cursor.close()
  return reading
}

function readMember(reading: Reading, key: number, bytes: Uint8Array): void {
  const from = cursor.at
  const isBlank = cursor.isBlank()
  const isArray = cursor.isArray()
  if (key === REASON) reading.hasReason = cursor.isString() && !isBlank
  if (key === FAILURE) reading.hasFailed = !isBlank
  cursor.skip()
  if (key === USAGE && !isBlank) reading.tally.tellText(bytes, from, cursor.at)
  if (key !== CONTENT || !isArray) return
  reading.contentFrom = from
  reading.contentTo = cursor.at
}

function judge(reading: Reading, bytes: Uint8Array): AnswerFacts {
  const { tally, contentFrom, contentTo } = reading
  const { usage } = tally
  const hasContent = contentFrom >= 0
  if (reading.hasFailed || reading.type === FAILED)
    throw failureIn(bytes, hasContent || usage !== undefined)
  if (reading.isEmpty) throw advise('empty_response', 'The supplier sent an empty object.')
  if (reading.type !== MESSAGE || !hasContent || !reading.hasReason)
    throw advise(
      'upstream_invalid_response',
      'The supplier sent no message, or one without its content or its reason to stop.',
    )
  return {
    usage,
    hasUnreadUsage: tally.isUnread,
    outputBytes: usage === undefined ? countOutput(bytes, contentFrom, contentTo) : 0,
    audioBytes: 0,
  }
}

/** Beside an answer or a usage it comes too late to be a refusal. */
function failureIn(bytes: Uint8Array, isLate: boolean): GatewayError {
  const failure = problem.decode(0, bytes)
  return isLate ? asLate(failure) : failure
}

/** Where it cannot be told, or where telling would keep the process busy, all bytes count: the text is less. */
function countOutput(bytes: Uint8Array, from: number, to: number): number {
  const isShort = to - from <= PARSED_BYTES_MAX
  const content = isShort ? parseJson(bytes.subarray(from, to)) : undefined
  if (!Array.isArray(content)) return to - from
  return content.reduce((sum: number, each) => sum + outputOfBlock(each) + unshownOf(each), 0)
}

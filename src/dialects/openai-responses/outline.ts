// The outline of an event that is too long to be made into values: what the watcher asks about, and in the place of
// everything that was said only how long it is.
import { advise } from '../../core/problem.ts'
import { END, JsonCursor, JsonFault } from '../../wire/json-cursor.ts'
import { KeySet } from '../../wire/key-set.ts'
import { parseJson, type Fields } from '../json.ts'
import { UnreadText } from './output.ts'

const EVENT = new KeySet(['type', 'response', 'delta', 'error', 'output_index', 'sequence_number'])
const TYPE = 0
const RESPONSE = 1
const DELTA = 2
const FAILURE = 3

const ANSWER = new KeySet(['id', 'usage', 'error', 'output'])
const OUTPUT = 3

const ITEM = new KeySet(['item'])
const KIND = new KeySet(['type'])
/** Others are long for what they hold beside text, such as an image. */
const TEXT_KINDS = new KeySet(['message', 'reasoning', 'function_call', 'custom_tool_call'])

/** Longer than any of what is read. */
const VALUE_BYTES_MAX = 16_384
const PARTS_MAX = 500_000

// Reading never awaits, so one cursor serves all events.
const cursor = new JsonCursor({ members: PARTS_MAX, allMembers: PARTS_MAX, items: PARTS_MAX })

/** Undefined for what is no JSON object; throws for one that has too many parts to read. */
export function outline(data: Uint8Array): Fields | undefined {
  try {
    cursor.open(data)
    const event = readFields(data, EVENT, readMember)
    cursor.close()
    cursor.open(data)
    return { ...event, ...readFields(data, ITEM, readItem) }
  } catch (thrown) {
    if (!(thrown instanceof JsonFault)) throw thrown
    if (thrown.kind !== 'limit') return undefined
    throw advise(
      'provider_response_too_large',
      'The supplier sent an event that is too large to read.',
      { cause: thrown },
    )
  }
}

type MemberReader = (data: Uint8Array, key: number) => unknown

function readFields(data: Uint8Array, keys: KeySet, reader: MemberReader): Fields {
  const fields: Record<string, unknown> = {}
  cursor.enterObject()
  for (let key = cursor.nextKey(keys); key !== END; key = cursor.nextKey(keys))
    if (key < 0 || cursor.isNull()) cursor.skip()
    else fields[keys.names[key]!] = reader(data, key)
  return fields
}

function readMember(data: Uint8Array, key: number): unknown {
  if (key === TYPE && cursor.isString()) return cursor.shortText(VALUE_BYTES_MAX)
  if (key === RESPONSE && cursor.isObject()) return readFields(data, ANSWER, readAnswer)
  return key === DELTA ? readLength() : readValue(data, key === FAILURE)
}

function readItem(data: Uint8Array): unknown {
  if (!cursor.isObject()) return readLength()
  const from = cursor.at
  const { type } = readFields(data, KIND, () => cursor.isString() && cursor.word(TEXT_KINDS) >= 0)
  return new UnreadText(type === true ? cursor.at - from : 1)
}

function readAnswer(data: Uint8Array, key: number): unknown {
  return key === OUTPUT ? [readLength()] : readValue(data, true)
}

/** As it is written: no less than what it stands for. */
function readLength(): UnreadText {
  const from = cursor.at
  cursor.skip()
  return new UnreadText(cursor.at - from)
}

/** Undefined for what is longer than it can be; where it matters that there was something, at least that. */
function readValue(data: Uint8Array, matters: boolean): unknown {
  const from = cursor.at
  cursor.skip()
  if (cursor.at - from <= VALUE_BYTES_MAX) return parseJson(data.subarray(from, cursor.at))
  return matters ? '…' : undefined
}

// The outline of an event that is too long to be made into values: what the watcher asks about, and in
// the place of everything that was said only how long it is.
import { advise } from '../../core/problem.ts'
import { END, JsonCursor, JsonFault } from '../../wire/json-cursor.ts'
import { KeySet } from '../../wire/key-set.ts'
import { parseJson, type Fields } from '../json.ts'
import { UnreadText } from './output.ts'
import { USAGE_BYTES_MAX } from './usage.ts'

const CHUNK = new KeySet(['choices', 'usage', 'error', 'object'])
const CHOICES = 0
const USAGE = 1
const FAILURE = 2
const OBJECT = 3

const CHOICE = new KeySet(['index', 'delta', 'finish_reason'])
const INDEX = 0
const DELTA = 1
const REASON = 2

const TEXTLESS = new KeySet(['role', 'audio', 'images'])
const ROLE = 0
const KINDS = new KeySet(['error'])

const MARK = '…'
const PARTS_MAX = 500_000

// Reading never awaits, so one cursor serves all events.
const cursor = new JsonCursor({ members: PARTS_MAX, allMembers: PARTS_MAX, items: PARTS_MAX })

/** Undefined for what is no JSON object; throws for one that has too many parts to read. */
export function outline(data: Uint8Array, from: number, to: number): Fields | undefined {
  try {
    cursor.open(data, from, to)
    const chunk = readChunk(data)
    cursor.close()
    return chunk
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

function readChunk(data: Uint8Array): Fields {
  const chunk: Record<string, unknown> = {}
  cursor.enterObject()
  for (let key = cursor.nextKey(CHUNK); key !== END; key = cursor.nextKey(CHUNK)) {
    const from = cursor.at
    if (key === CHOICES && cursor.isArray()) chunk['choices'] = readChoices()
    else if (key === OBJECT && cursor.isString())
      chunk['object'] = KINDS.names[cursor.word(KINDS)] ?? MARK
    else if (key === FAILURE) chunk['error'] = readMark()
    else cursor.skip()
    if (key === USAGE)
      chunk['usage'] =
        cursor.at - from > USAGE_BYTES_MAX ? MARK : parseJson(data.subarray(from, cursor.at))
  }
  return chunk
}

function readChoices(): readonly Fields[] {
  const choices: Fields[] = []
  cursor.enterArray()
  while (cursor.nextItem()) {
    if (cursor.isObject()) choices.push(readChoice())
    else cursor.skip()
  }
  return choices
}

function readChoice(): Fields {
  const choice: Record<string, unknown> = {}
  cursor.enterObject()
  for (let key = cursor.nextKey(CHOICE); key !== END; key = cursor.nextKey(CHOICE)) {
    if (key === INDEX && cursor.isNumber()) choice['index'] = cursor.number()
    else if (key === DELTA && cursor.isObject()) choice['delta'] = readDelta()
    else if (key === REASON) choice['finish_reason'] = readMark()
    else cursor.skip()
  }
  return choice
}

/** In text as it is written: no less than what it stands for. Sound and images are none. */
function readDelta(): Fields {
  let bytes = 0
  cursor.enterObject()
  for (let key = cursor.nextKey(TEXTLESS); key !== END; key = cursor.nextKey(TEXTLESS)) {
    const from = cursor.at
    if (readMark() !== undefined && key !== ROLE) bytes += key < 0 ? cursor.at - from : 1
  }
  return bytes === 0 ? {} : { content: new UnreadText(bytes) }
}

/** Passes over a value; undefined when it says nothing. */
function readMark(): string | undefined {
  const isBlank = cursor.isBlank()
  cursor.skip()
  return isBlank ? undefined : MARK
}

// The outline of an event that is too long to be made into values: what kind it is, and which block it belongs to.
import { advise } from '../../core/problem.ts'
import { END, JsonCursor, JsonFault } from '../../wire/json-cursor.ts'
import { KeySet } from '../../wire/key-set.ts'

const KEYS = new KeySet(['type', 'index', 'error'])
const TYPE = 0
const INDEX = 1
const FAILURE = 2
const TYPES = ['content_block_start', 'content_block_delta', 'error'] as const
const TYPE_WORDS = new KeySet(TYPES)
const PARTS_MAX = 500_000

// Reading never awaits, so one cursor serves all events.
const cursor = new JsonCursor({ members: PARTS_MAX, allMembers: PARTS_MAX, items: PARTS_MAX })

export interface Outline {
  readonly type: 'content_block_start' | 'content_block_delta' | 'error'
  /** The block's. */
  readonly index: number
}

/** Undefined for what is no JSON object; throws for one that has too many parts, and for what should be short. */
export function outline(data: Uint8Array, from: number, to: number): Outline | undefined {
  try {
    cursor.open(data, from, to)
    const event = readEvent()
    cursor.close()
    return event
  } catch (thrown) {
    if (!(thrown instanceof JsonFault)) throw thrown
    if (thrown.kind !== 'limit') return undefined
    throw tooLarge(thrown)
  }
}

function readEvent(): Outline {
  let type: Outline['type'] | undefined
  let index = 0
  let hasFailed = false
  cursor.enterObject()
  for (let key = cursor.nextKey(KEYS); key !== END; key = cursor.nextKey(KEYS)) {
    if (key === TYPE && cursor.isString()) type = TYPES[cursor.word(TYPE_WORDS)]
    else if (key === INDEX && cursor.isNumber()) index = cursor.number()
    else {
      if (key === FAILURE) hasFailed = !cursor.isBlank()
      cursor.skip()
    }
  }
  if (hasFailed) return { type: 'error', index }
  if (type === undefined) throw tooLarge()
  return { type, index }
}

function tooLarge(cause?: JsonFault): Error {
  const text = 'The supplier sent an event that is too large to read.'
  return advise('provider_response_too_large', text, cause === undefined ? {} : { cause })
}

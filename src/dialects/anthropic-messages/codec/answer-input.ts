// The inputs of calls, as the very text in which they were sent: made into values they would lose big numbers and the
// order of some names.
import { END, JsonCursor, JsonFault } from '../../../wire/json-cursor.ts'
import { KeySet } from '../../../wire/key-set.ts'

const ANSWER_KEYS = new KeySet(['content'])
const EVENT_KEYS = new KeySet(['content_block'])
const BLOCK_KEYS = new KeySet(['input'])
const WANTED = 0

// No more than what has proven the answer whole lets through.
const PARTS_MAX = 3_000_000

// Reading never awaits, so one cursor serves all answers.
const cursor = new JsonCursor({ members: PARTS_MAX, allMembers: PARTS_MAX, items: PARTS_MAX })
const decoder = new TextDecoder()

/** Of each block of an answer; undefined for one without input. */
export function readInputs(answer: Uint8Array): readonly (string | undefined)[] {
  let inputs: (string | undefined)[] = []
  readMember(answer, ANSWER_KEYS, () => {
    // A second list takes the place of the first, as it does for every parser.
    inputs = []
    cursor.enterArray()
    while (cursor.nextItem()) inputs.push(readBlock(answer))
  })
  return inputs
}

/** Of the block that an event begins. */
export function readInput(event: Uint8Array): string | undefined {
  let input: string | undefined
  readMember(event, EVENT_KEYS, () => {
    input = readBlock(event)
  })
  return input
}

function readMember(bytes: Uint8Array, keys: KeySet, read: () => void): void {
  try {
    cursor.open(bytes)
    cursor.enterObject()
    for (let key = cursor.nextKey(keys); key !== END; key = cursor.nextKey(keys))
      if (key === WANTED) read()
      else cursor.skip()
    cursor.close()
  } catch (thrown) {
    // Too deep, or of another shape than it has: then values have to do.
    if (!(thrown instanceof JsonFault)) throw thrown
  }
}

function readBlock(bytes: Uint8Array): string | undefined {
  let input: string | undefined
  if (!cursor.isObject()) {
    cursor.skip()
    return input
  }
  cursor.enterObject()
  for (let key = cursor.nextKey(BLOCK_KEYS); key !== END; key = cursor.nextKey(BLOCK_KEYS)) {
    const from = cursor.at
    cursor.skip()
    if (key === WANTED) input = decoder.decode(bytes.subarray(from, cursor.at))
  }
  return input
}

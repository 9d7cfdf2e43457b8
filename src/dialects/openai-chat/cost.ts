// Reads the fields of a chat request that can make it cost more than its text does. What cannot be told
// apart is taken for the dearer, and nothing is refused here: whether it matters is for the books to say.
import { END } from '../../wire/json-cursor.ts'
import { KeySet } from '../../wire/key-set.ts'
import { refuse, type Draft } from '../draft.ts'
import { skipUnbounded } from '../unbounded.ts'
import { TOOL_KEYS } from './fields.ts'

/** A conversation that the supplier has kept, and reads anew. */
export function readPrevious(draft: Draft): void {
  draft.cursor.skip()
  draft.load.elsewhere ??= 'previous_response_id'
}

export function readPrediction(draft: Draft): void {
  const from = draft.cursor.at
  draft.cursor.skip()
  draft.load.predictedBytes = draft.cursor.at - from
}

export function readVoice(draft: Draft): void {
  draft.cursor.skip()
  draft.load.asksAudio = true
}

const MODALITIES = new KeySet(['text', 'audio'])
const AUDIO = 1

/** Whatever is neither text nor sound, such as images, has a price that no price of tokens tells. */
export function readModalities(draft: Draft): void {
  const { cursor } = draft
  if (!cursor.isArray()) return skipUnbounded(draft, 'modalities')
  cursor.enterArray()
  while (cursor.nextItem()) {
    const modality = readWord(draft, MODALITIES)
    if (modality === AUDIO) draft.load.asksAudio = true
    else if (modality < 0) draft.load.unbounded ??= 'modalities'
  }
}

const TOOL_TYPES = new KeySet(['function', 'custom'])
const TYPE = 0
const FUNCTION = 1
const NAME = 2

/** The caller runs functions and custom tools. Every other kind runs at the supplier, as often as it likes. */
export function readTools(draft: Draft): void {
  const { cursor } = draft
  if (!cursor.isArray()) return refuse(draft, 'tools', 'must be an array')
  cursor.enterArray()
  for (let index = 0; cursor.nextItem(); index++) {
    draft.usesTools = true
    if (!cursor.isObject()) skipUnbounded(draft, `tools[${index}]`)
    else if (!readTool(draft)) draft.load.unbounded ??= `tools[${index}]`
  }
}

/** True for a tool of the caller's. Without a type it is one if it has a name: some suppliers name theirs by a key. */
function readTool(draft: Draft): boolean {
  const { cursor } = draft
  let type: number | undefined
  let isNamed = false
  cursor.enterObject()
  for (let key = cursor.nextKey(TOOL_KEYS); key !== END; key = cursor.nextKey(TOOL_KEYS)) {
    if (key < 0 || cursor.isNull()) cursor.skip()
    else if (key === TYPE) type = readWord(draft, TOOL_TYPES)
    else {
      if (key === FUNCTION || key === NAME) isNamed = true
      cursor.skip()
    }
  }
  return type === undefined ? isNamed : type >= 0
}

/** The position of a word in a list; less than 0 for others, and for what is no word. */
function readWord({ cursor }: Draft, words: KeySet): number {
  if (cursor.isString()) return cursor.word(words)
  cursor.skip()
  return END
}

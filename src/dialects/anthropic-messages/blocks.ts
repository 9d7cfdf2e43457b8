// Reads the blocks of a message for what is not text in them: images and documents, also those in the result of
// a tool. Unknown kinds pass, the supplier judges them; they count as being elsewhere, because nobody knows what
// they hold.
import { END } from '../../wire/json-cursor.ts'
import { KeySet } from '../../wire/key-set.ts'
import { fault, noteOpening, refuse, type Draft } from '../draft.ts'
import { SEAL_PREFIX } from '../seal.ts'
import { readType } from './cost.ts'
import { BLOCK_KEYS } from './fields.ts'
import { checkSource, NO_SOURCE, readSource, SOURCE } from './source.ts'

const TYPE = 0
const TEXT = 1
const SOURCE_FIELD = 2
const CONTENT = 3
const TOOL = 4
const SIGNATURE = BLOCK_KEYS.names.indexOf('signature')
const DATA = BLOCK_KEYS.names.indexOf('data')

const KINDS = new KeySet([
  'image',
  'document',
  'text',
  'tool_use',
  'tool_result',
  'thinking',
  'redacted_thinking',
  'server_tool_use',
  'web_search_tool_result',
  'web_search_result',
  'search_result',
  'tool_reference',
  'mcp_tool_use',
  'mcp_tool_result',
  'tool_addition',
  'tool_removal',
])
const IMAGE = 0
const DOCUMENT = 1
const THINKING = 5
const REDACTED_THINKING = 6

const MARK = `"${SEAL_PREFIX}`

const QUOTE = 0x22

/** What was thought is noted where it is said by a message itself, and not inside of something in it. */
export function readBlocks(draft: Draft, place: string, isMessage = false): void {
  const { cursor } = draft
  cursor.enterArray()
  for (let index = 0; cursor.nextItem(); index++)
    if (draft.fault !== undefined) cursor.skip()
    else if (cursor.isObject()) readBlock(draft, `${place}[${index}]`, isMessage)
    else refuse(draft, `${place}[${index}]`, 'must be an object')
}

function readBlock(draft: Draft, place: string, isMessage: boolean): void {
  const { cursor } = draft
  const blockFrom = cursor.at
  let kind: number | undefined
  let source = NO_SOURCE
  let isMarked = false
  cursor.enterObject()
  for (let key = cursor.nextKey(BLOCK_KEYS); key !== END; key = cursor.nextKey(BLOCK_KEYS)) {
    const from = cursor.at
    isMarked ||= isMark(draft, key)
    if (key === TYPE) kind = readKind(draft)
    else if (key === SOURCE_FIELD) source = readSource(draft, `${place}.source`, readBlocks)
    else if (key === CONTENT && cursor.isArray()) readBlocks(draft, `${place}.content`)
    else if (key === TOOL) readChange(draft, `${place}.tool`)
    else cursor.skip()
    if (key === TEXT || key === SOURCE_FIELD) noteOpening(draft, from)
  }
  if (kind === undefined)
    fault(draft, 'validation_error', `${place}.type`, `\`${place}.type\` is missing.`)
  else weigh(draft, kind, source, place)
  if (isMessage) noteThought(draft, kind, blockFrom, isMarked)
}

function noteThought(
  { thoughts, cursor }: Draft,
  kind: number | undefined,
  from: number,
  isMarked: boolean,
): void {
  if (kind === THINKING || kind === REDACTED_THINKING)
    thoughts.push({ from, to: cursor.at, isMarked })
}

/** A seal that this gateway has made, by its raw spelling. */
function isMark({ cursor }: Draft, key: number): boolean {
  return (key === SIGNATURE || key === DATA) && cursor.startsWith(MARK)
}

/** By its raw spelling: an escaped one is not known. */
function readKind({ cursor, body }: Draft): number | undefined {
  const from = cursor.at
  cursor.skip()
  return body[from] === QUOTE ? KINDS.match(body, from + 1, cursor.at - 1) : undefined
}

function weigh(draft: Draft, kind: number, source: number, place: string): void {
  const { load } = draft
  if (kind >= 0) checkSource(draft, source, `${place}.source`)
  if (kind === IMAGE) load.images++
  if (!isBounded(kind, source)) load.elsewhere ??= place
}

/** All that it holds stands in the body, or is an image. */
function isBounded(kind: number, source: number): boolean {
  if (kind === IMAGE) return source === SOURCE.base64 || source === SOURCE.url
  // The pages of a document are bounded by nothing in here, even where all of its bytes are.
  if (kind === DOCUMENT) return source === SOURCE.text || source === SOURCE.content
  return kind >= 0 && (source === NO_SOURCE || source === SOURCE.name)
}

/** A tool that was described before is one of the request's; a new one may be any, also of the supplier's. */
function readChange(draft: Draft, place: string): void {
  if (!readType(draft, '"tool_reference"')) draft.load.unbounded ??= place
}

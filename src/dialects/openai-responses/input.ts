// Checks the input of a responses request as far as every supplier agrees: a text, or a list of items of which each
// says what it is. Unknown kinds pass, the supplier judges them; they count as being elsewhere, because nobody knows
// what they hold.
import type { Span } from '../../core/load.ts'
import { END } from '../../wire/json-cursor.ts'
import { KeySet } from '../../wire/key-set.ts'
import { fault, noteOpening, refuse, type Draft } from '../draft.ts'
import { SEAL_PREFIX } from '../seal.ts'
import { readTools } from './cost.ts'
import { ITEM_KEYS } from './fields.ts'
import { readPart, readParts } from './parts.ts'

const TYPE = 0
const ROLE = 1
const CONTENT = 2
const OUTPUT = 3
const TOOLS = 4
const SEAL = 5
const RESULT = 6
const ID = 7

const ROLES = new KeySet(['user', 'assistant', 'system', 'developer'])
const USER = 0
const ASSISTANT = 1

/** All that they hold stands in the body. What a search or a program at the supplier has found does not. */
const KINDS = new KeySet([
  'message',
  'reasoning',
  'image_generation_call',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
  'local_shell_call',
  'local_shell_call_output',
  'shell_call',
  'shell_call_output',
  'apply_patch_call',
  'apply_patch_call_output',
  'computer_call',
  'computer_call_output',
  'mcp_list_tools',
  'mcp_call',
  'mcp_approval_request',
  'mcp_approval_response',
  'tool_search_call',
  'tool_search_output',
  'additional_tools',
  'configuration_update',
])
const MESSAGE = 0
const REASONING = 1
const IMAGE = 2
/** Clients name an item of before by its id alone. */
const NO_KIND = -3
const NO_ROLE = -3

const MARK = `"${SEAL_PREFIX}`
const QUOTE = 0x22

export function readInput(draft: Draft): void {
  const { cursor } = draft
  const from = cursor.at
  if (cursor.isArray()) return readItems(draft)
  if (!cursor.isString()) return refuse(draft, 'input', 'must be a string or an array of items')
  cursor.skip()
  draft.load.messages++
  noteOpening(draft, from)
  draft.isOpened = true
}

function readItems(draft: Draft): void {
  const { cursor } = draft
  cursor.enterArray()
  for (let index = 0; cursor.nextItem(); index++) {
    draft.load.messages++
    // One fault is told; the rest need only be well-formed.
    if (draft.fault !== undefined) cursor.skip()
    else if (cursor.isObject()) readItem(draft, `input[${index}]`)
    else refuse(draft, `input[${index}]`, 'must be an object')
  }
}

/** What an item was seen to have. */
class Item {
  kind = NO_KIND
  role = NO_ROLE
  hasContent = false
  isEmpty = true
  result: Span | undefined
  hasId = false
  isSealed = false
  isMarked = false
}

function readItem(draft: Draft, place: string): void {
  const { cursor, thoughts } = draft
  const from = cursor.at
  const item = new Item()
  cursor.enterObject()
  for (let key = cursor.nextKey(ITEM_KEYS); key !== END; key = cursor.nextKey(ITEM_KEYS))
    if (key > ID || key < 0 || cursor.isNull()) cursor.skip()
    else readMember(draft, item, key, place)
  // Many leave the kind of a message out.
  if (item.kind === NO_KIND && item.role !== NO_ROLE) item.kind = MESSAGE
  noteTurn(draft, item)
  if (item.kind === MESSAGE) checkMessage(draft, item, place)
  else if (item.kind === NO_KIND && !item.hasId)
    fault(draft, 'validation_error', `${place}.type`, `\`${place}.type\` is missing.`)
  weigh(draft, item, place)
  if (item.kind === REASONING) thoughts.push({ from, to: cursor.at, isMarked: item.isMarked })
}

function readMember(draft: Draft, item: Item, key: number, place: string): void {
  const { cursor } = draft
  if (key === TYPE) item.kind = readKind(draft)
  else if (key === ROLE) item.role = readRole(draft, `${place}.role`)
  else if (key === CONTENT) readContent(draft, item, `${place}.content`)
  else if (key === OUTPUT) readOutput(draft, `${place}.output`)
  else if (key === TOOLS && cursor.isArray()) readTools(draft, `${place}.tools`)
  else {
    const from = cursor.at
    const isText = cursor.isString()
    if (key === SEAL) readSeal(draft, item)
    if (key === ID) item.hasId = true
    cursor.skip()
    if (key === RESULT && isText) item.result = { from: from + 1, to: cursor.at - 1 }
  }
}

/** By its raw spelling: an escaped one is not known. */
function readKind({ cursor, body }: Draft): number {
  const from = cursor.at
  cursor.skip()
  return body[from] === QUOTE ? KINDS.match(body, from + 1, cursor.at - 1) : END
}

function readRole(draft: Draft, field: string): number {
  const { cursor } = draft
  if (cursor.isString()) return cursor.word(ROLES)
  refuse(draft, field, 'must be a string')
  return END
}

/** What a model has thought has content, too. */
function readContent(draft: Draft, item: Item, field: string): void {
  const { cursor } = draft
  const from = cursor.at
  // Only of a message is it known what else it cannot be.
  item.hasContent = cursor.isArray() || cursor.isString()
  item.isEmpty = cursor.isBlank()
  if (cursor.isArray()) return readParts(draft, field)
  const isText = cursor.isString()
  cursor.skip()
  if (isText) noteOpening(draft, from)
}

/** What a tool has found: a text, parts, or a single one. */
function readOutput(draft: Draft, field: string): void {
  const { cursor } = draft
  if (cursor.isArray()) readParts(draft, field)
  else if (cursor.isObject()) readPart(draft, field)
  else cursor.skip()
}

function readSeal({ cursor }: Draft, item: Item): void {
  item.isSealed = cursor.isString() && !cursor.isBlank()
  item.isMarked = cursor.startsWith(MARK)
}

/** The conversation goes on with what a model has said, or with what came of it. */
function noteTurn(draft: Draft, { kind, role }: Item): void {
  if (draft.isOpened && (kind !== MESSAGE || role === ASSISTANT)) draft.goesOn = true
  draft.isOpened ||= kind === MESSAGE && role === USER
}

function checkMessage(draft: Draft, { role, hasContent }: Item, place: string): void {
  const field = `${place}.role`
  const names = ROLES.names.join(', ')
  if (role === NO_ROLE) fault(draft, 'validation_error', field, `\`${field}\` is missing.`)
  else if (role < 0)
    fault(draft, 'validation_error', field, `\`${field}\` must be one of ${names}.`)
  else if (!hasContent) refuseEmpty(draft, `${place}.content`)
}

function refuseEmpty(draft: Draft, field: string): void {
  fault(draft, 'validation_error', field, `\`${field}\` must be a string or an array of parts.`)
}

function weigh({ load }: Draft, item: Item, place: string): void {
  const { kind, result } = item
  if (!isBounded(item)) load.elsewhere ??= place
  if (kind !== IMAGE || result === undefined) return
  load.images++
  load.inline.push(result)
}

/** All that it holds stands in the body, or is an image. A thought without a seal is looked up by its id. */
function isBounded({ kind, isSealed, isEmpty, result }: Item): boolean {
  if (kind === REASONING) return isSealed || !isEmpty
  return kind === IMAGE ? result !== undefined : kind >= 0
}

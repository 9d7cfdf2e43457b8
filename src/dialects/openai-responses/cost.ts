// Reads the fields of a responses request that can make it cost more than its text does. What cannot be told
// apart is taken for the dearer; whether it matters is for the books to say.
import { END } from '../../wire/json-cursor.ts'
import { KeySet } from '../../wire/key-set.ts'
import { refuse, type Draft } from '../draft.ts'
import { skipUnbounded } from '../unbounded.ts'
import { TOOL_KEYS, TYPE_KEYS, type KeptField } from './fields.ts'

/**
 * A conversation that the supplier has kept, and reads anew; there may be nothing to add to it. A prompt that it has
 * kept has tools of its own besides, and a model.
 */
export function readKept(draft: Draft, field: KeptField): void {
  draft.cursor.skip()
  draft.load.elsewhere ??= field
  draft.load.messages++
  draft.goesOn = true
  if (field === 'prompt') draft.load.unbounded ??= field
}

const TYPE = 0
const NAME = 1
const FUNCTION = 2
const TOOLS = 3
const ENVIRONMENT = 4
const EXECUTION = 5

/** The caller runs these, and those in a namespace; a shell and a search for tools if it is said so. */
const KINDS = new KeySet([
  'function',
  'custom',
  'local_shell',
  'apply_patch',
  'namespace',
  'shell',
  'tool_search',
])
const NAMESPACE = 4
const SHELL = 5
const SEARCH = 6

/** Every other kind runs at the supplier, as often as the model likes. */
export function readTools(draft: Draft, place: string): void {
  const { cursor } = draft
  if (!cursor.isArray()) return refuse(draft, place, 'must be an array')
  cursor.enterArray()
  for (let index = 0; cursor.nextItem(); index++) {
    draft.usesTools = true
    if (cursor.isObject()) readTool(draft, `${place}[${index}]`)
    else refuse(draft, `${place}[${index}]`, 'must be an object')
  }
}

/** What a tool was seen to have. */
class Tool {
  /** Undefined where it says none. */
  kind: number | undefined
  isNamed = false
  /** Its environment, or its execution, is said to be the caller's. */
  isLocal = false
  isClients = false
}

function readTool(draft: Draft, place: string): void {
  const { cursor, load } = draft
  const tool = new Tool()
  cursor.enterObject()
  for (let key = cursor.nextKey(TOOL_KEYS); key !== END; key = cursor.nextKey(TOOL_KEYS))
    if (key < 0 || key > EXECUTION || cursor.isNull()) cursor.skip()
    else readMember(draft, tool, key, place)
  if (!isCallers(tool)) load.unbounded ??= place
}

function readMember(draft: Draft, tool: Tool, key: number, place: string): void {
  const { cursor } = draft
  if (key === TYPE) tool.kind = readKind(draft)
  else if (key === TOOLS) readNested(draft, `${place}.tools`)
  else if (key === ENVIRONMENT) tool.isLocal ||= readType(draft, '"local"')
  else {
    if (key === EXECUTION) tool.isClients = cursor.startsWith('"client"')
    if (key === NAME || key === FUNCTION) tool.isNamed = true
    cursor.skip()
  }
}

function readNested(draft: Draft, place: string): void {
  if (draft.cursor.isArray()) readTools(draft, place)
  else skipUnbounded(draft, place)
}

/** Without a kind it is the caller's if it has a name. */
function isCallers({ kind, isNamed, isLocal, isClients }: Tool): boolean {
  if (kind === undefined) return isNamed
  if (kind === SHELL) return isLocal
  if (kind === SEARCH) return isClients
  return kind >= 0 && kind <= NAMESPACE
}

function readKind({ cursor }: Draft): number {
  if (cursor.isString()) return cursor.word(KINDS)
  cursor.skip()
  return END
}

/** True for an object whose type begins so; passes over it in any case. */
function readType({ cursor }: Draft, beginning: string): boolean {
  if (!cursor.isObject()) {
    cursor.skip()
    return false
  }
  let isMeant = false
  cursor.enterObject()
  for (let key = cursor.nextKey(TYPE_KEYS); key !== END; key = cursor.nextKey(TYPE_KEYS)) {
    if (key === 0) isMeant = cursor.startsWith(beginning)
    cursor.skip()
  }
  return isMeant
}

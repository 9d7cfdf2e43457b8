// Reads the fields of a messages request that can make it cost more than its text does. What cannot be told
// apart is taken for the dearer; whether it matters is for the books to say.
import { END } from '../../wire/json-cursor.ts'
import { fault, refuse, type Draft } from '../draft.ts'
import { WORD_BYTES_MAX } from '../request.ts'
import { skipUnbounded } from '../unbounded.ts'
import { CONTEXT_KEYS, TOOL_KEYS, TYPE_KEYS } from './fields.ts'

/** The one lifetime with a price of its own, and whatever could be an escaped spelling of it. */
const LIFETIMES = ['"1h"', '\\u0031', '\\u0068']

/**
 * Marks for a cache may stand on anything at any depth, so the words are looked for, wherever they are. Where
 * they mean something else, more is held than need be.
 */
export function writesLong(body: Uint8Array): boolean {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  return LIFETIMES.some((text) => bytes.includes(text))
}

/** The fast one has several times the price, which nobody has told us. */
export function readSpeed(draft: Draft): void {
  const { cursor } = draft
  if (!cursor.isString()) return refuse(draft, 'speed', 'must be a string')
  if (cursor.shortText(WORD_BYTES_MAX) === 'standard') return
  const text = '`speed` must be standard: other speeds have no known price.'
  fault(draft, 'unsupported_parameter', 'speed', text)
}

/** Edits that clear something away make a call cheaper; others have the model sum up first, in a call of its own. */
export function readContextEdits(draft: Draft): void {
  const { cursor } = draft
  if (!cursor.isObject()) return skipUnbounded(draft, 'context_management')
  cursor.enterObject()
  for (let key = cursor.nextKey(CONTEXT_KEYS); key !== END; key = cursor.nextKey(CONTEXT_KEYS))
    if (key < 0 || cursor.isNull()) cursor.skip()
    else if (cursor.isArray()) readEdits(draft)
    else skipUnbounded(draft, 'context_management')
}

function readEdits(draft: Draft): void {
  const { cursor } = draft
  cursor.enterArray()
  while (cursor.nextItem())
    if (!cursor.isObject() || !readType(draft, '"clear_'))
      draft.load.unbounded ??= 'context_management'
}

/** True for an object whose type begins so; passes over it in any case. */
export function readType({ cursor }: Draft, ...beginnings: readonly string[]): boolean {
  let isMeant = false
  if (!cursor.isObject()) {
    cursor.skip()
    return false
  }
  cursor.enterObject()
  for (let key = cursor.nextKey(TYPE_KEYS); key !== END; key = cursor.nextKey(TYPE_KEYS)) {
    if (key === 0) isMeant = beginnings.some((text) => cursor.startsWith(text))
    cursor.skip()
  }
  return isMeant
}

const TYPE = 0
const SCHEMA = 1
/** Described by the maker, and run by the caller all the same. */
const CALLERS_OWN = /^(?:custom$|(?:bash|text_editor|computer|memory)_\d)/

/** The caller runs its own tools. Every other kind runs at the supplier, as often as the model likes. */
export function readTools(draft: Draft): void {
  const { cursor } = draft
  if (!cursor.isArray()) return refuse(draft, 'tools', 'must be an array')
  cursor.enterArray()
  for (let index = 0; cursor.nextItem(); index++) {
    draft.usesTools = true
    if (cursor.isObject()) readTool(draft, `tools[${index}]`)
    else refuse(draft, `tools[${index}]`, 'must be an object')
  }
}

function readTool(draft: Draft, place: string): void {
  const { cursor } = draft
  let type = 'custom'
  let hasSchema = false
  cursor.enterObject()
  for (let key = cursor.nextKey(TOOL_KEYS); key !== END; key = cursor.nextKey(TOOL_KEYS)) {
    if (key === TYPE && cursor.isString()) type = cursor.shortText(WORD_BYTES_MAX) ?? ''
    else {
      if (key === SCHEMA) hasSchema = cursor.isObject()
      cursor.skip()
    }
  }
  const field = `${place}.input_schema`
  if (!CALLERS_OWN.test(type)) draft.load.unbounded ??= place
  else if (type === 'custom' && !hasSchema)
    fault(draft, 'validation_error', field, `\`${field}\` must be an object.`)
}

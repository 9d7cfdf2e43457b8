// Checks the messages of a chat request as far as every supplier agrees: known roles, content where it
// is due, no local files. Unknown fields and part types pass; the supplier judges them.
import { END } from '../../wire/json-cursor.ts'
import { KeySet } from '../../wire/key-set.ts'
import { fault, refuse, type Draft } from './draft.ts'
import { MESSAGE_KEYS, PART_KEYS, URL_KEYS } from './fields.ts'

const ROLES = new KeySet(['system', 'developer', 'user', 'assistant', 'tool', 'function'])
const ROLE = 0
const CONTENT = 1

export function readMessages(draft: Draft): void {
  const { cursor } = draft
  if (!cursor.isArray()) return refuse(draft, 'messages', 'must be an array')
  cursor.enterArray()
  for (let index = 0; cursor.nextItem(); index++) {
    draft.hasMessages = true
    // One fault is told; the rest need only be well-formed.
    if (draft.fault !== undefined) cursor.skip()
    else if (cursor.isObject()) readMessage(draft, index)
    else refuse(draft, `messages[${index}]`, 'must be an object')
  }
}

function readMessage(draft: Draft, index: number): void {
  const { cursor } = draft
  let role = ''
  let hasContent = false
  let hasSubstitute = false
  cursor.enterObject()
  for (let key = cursor.nextKey(MESSAGE_KEYS); key !== END; key = cursor.nextKey(MESSAGE_KEYS)) {
    if (key === ROLE) role = readRole(draft, index)
    else if (key === CONTENT) hasContent = readContent(draft, index)
    else {
      // Tool calls, a refusal or audio stand in for text that is null or left out.
      if (key > CONTENT && !cursor.isNull()) hasSubstitute = true
      cursor.skip()
    }
  }
  if (role === '')
    fault(
      draft,
      'validation_error',
      `messages[${index}].role`,
      `\`messages[${index}].role\` is missing.`,
    )
  else if (!hasContent && !hasSubstitute) refuseEmpty(draft, index)
}

function refuseEmpty(draft: Draft, index: number): void {
  const field = `messages[${index}].content`
  fault(draft, 'validation_error', field, `\`${field}\` must be a string or an array of parts.`)
}

function readRole(draft: Draft, index: number): string {
  const { cursor } = draft
  if (!cursor.isString()) {
    refuse(draft, `messages[${index}].role`, 'must be a string')
    return 'unknown'
  }
  const role = ROLES.names[cursor.word(ROLES)]
  if (role !== undefined) return role
  const field = `messages[${index}].role`
  fault(draft, 'validation_error', field, `\`${field}\` must be one of ${ROLES.names.join(', ')}.`)
  return 'unknown'
}

/** True when there is content; null is none. */
function readContent(draft: Draft, index: number): boolean {
  const { cursor } = draft
  if (cursor.isNull()) {
    cursor.skip()
    return false
  }
  if (cursor.isArray()) readParts(draft, index)
  else if (cursor.isString()) cursor.skip()
  else refuse(draft, `messages[${index}].content`, 'must be a string or an array of parts')
  return true
}

function readParts(draft: Draft, index: number): void {
  const { cursor } = draft
  cursor.enterArray()
  for (let part = 0; cursor.nextItem(); part++)
    if (draft.fault !== undefined) cursor.skip()
    else if (cursor.isObject()) readPart(draft, index, part)
    else refuse(draft, `messages[${index}].content[${part}]`, 'must be an object')
}

function readPart(draft: Draft, index: number, part: number): void {
  const { cursor } = draft
  cursor.enterObject()
  for (let key = cursor.nextKey(PART_KEYS); key !== END; key = cursor.nextKey(PART_KEYS))
    if (key < 0) cursor.skip()
    else readImage(draft, `messages[${index}].content[${part}]`)
}

/** An image is named by `{url}` or, by some clients, by the address itself. */
function readImage(draft: Draft, field: string): void {
  const { cursor } = draft
  if (!cursor.isObject()) return readUrl(draft, `${field}.image_url`)
  cursor.enterObject()
  for (let key = cursor.nextKey(URL_KEYS); key !== END; key = cursor.nextKey(URL_KEYS))
    if (key < 0) cursor.skip()
    else readUrl(draft, `${field}.image_url.url`)
}

const INLINE_SCHEME = '"data:'
/** Signed addresses are long, but not that long. */
const ADDRESS_BYTES_MAX = 16_384
const FILE_SCHEME = /^[\0-\x20]*file:/i

function readUrl(draft: Draft, field: string): void {
  const { cursor } = draft
  if (!cursor.isString()) return refuse(draft, field, 'must be an address')
  // An inline image is megabytes of text that nobody here needs.
  if (cursor.startsWith(INLINE_SCHEME)) return cursor.skip()
  const address = cursor.shortText(ADDRESS_BYTES_MAX)
  // Read as an address parser would: escapes mean what they stand for, line breaks and tabs nothing.
  if (address !== undefined && !FILE_SCHEME.test(address.replaceAll(/[\t\n\r]/g, ''))) return
  const rule = `must be an http or https address of at most ${ADDRESS_BYTES_MAX} bytes, or a data address`
  fault(draft, 'validation_error', field, `\`${field}\` ${rule}.`)
}

// Checks the messages of a chat request as far as every supplier agrees: known roles, content where it
// is due, no local files. Unknown fields pass; the supplier judges them.
import { END } from '../../wire/json-cursor.ts'
import { KeySet } from '../../wire/key-set.ts'
import { fault, noteOpening, refuse, type Draft } from '../draft.ts'
import { SEAL_PREFIX } from '../seal.ts'
import { MESSAGE_KEYS } from './fields.ts'
import { readParts } from './parts.ts'

const ROLES = new KeySet(['system', 'developer', 'user', 'assistant', 'tool', 'function'])
const ROLE = 0
const CONTENT = 1
const AUDIO = 5
const IMAGES = 6
const THOUGHTS = 7

const BACKSLASH = 0x5c
const MARK = Buffer.from(`"${SEAL_PREFIX}`)

export function readMessages(draft: Draft): void {
  const { cursor } = draft
  if (!cursor.isArray()) return refuse(draft, 'messages', 'must be an array')
  cursor.enterArray()
  for (let index = 0; cursor.nextItem(); index++) {
    draft.load.messages++
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
    else if (key < 0 || key > THOUGHTS || cursor.isNull()) cursor.skip()
    else {
      // Tool calls, a refusal or audio stand in for text that is null or left out.
      if (key <= AUDIO) hasSubstitute = true
      readOther(draft, key, index)
    }
  }
  draft.goesOn = draft.isOpened
  draft.isOpened ||= role === 'user'
  if (role === '')
    fault(
      draft,
      'validation_error',
      `messages[${index}].role`,
      `\`messages[${index}].role\` is missing.`,
    )
  else if (!hasContent && !hasSubstitute) refuseEmpty(draft, index)
}

/** What a message has beside its content, as far as it costs more than its text. */
function readOther(draft: Draft, key: number, index: number): void {
  const { cursor } = draft
  // Sound that was put out before, by its id.
  if (key === AUDIO) draft.load.elsewhere ??= `messages[${index}].audio`
  if (key === IMAGES && cursor.isArray()) countImages(draft)
  else if (key === THOUGHTS) readThoughts(draft)
  else cursor.skip()
}

/** Images that a model has made: some suppliers want them handed back. */
function countImages({ cursor, load }: Draft): void {
  cursor.enterArray()
  for (; cursor.nextItem(); load.images++) cursor.skip()
}

/** What this gateway has sealed for a supplier of another language is of no use to any that speaks this one. */
function readThoughts({ cursor, body, thoughts }: Draft): void {
  const from = cursor.keyAt
  const value = cursor.at
  cursor.skip()
  if (isMarked(body, value, cursor.at)) thoughts.push({ from, to: cursor.at, isMarked: true })
}

/** A text in there begins with the mark: a quote behind a backslash begins none. */
function isMarked({ buffer, byteOffset }: Uint8Array, from: number, to: number): boolean {
  const text = Buffer.from(buffer, byteOffset + from, to - from)
  let at = text.indexOf(MARK)
  while (at > 0 && text[at - 1] === BACKSLASH) at = text.indexOf(MARK, at + 1)
  return at >= 0
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
  else if (cursor.isString()) skipText(draft)
  else refuse(draft, `messages[${index}].content`, 'must be a string or an array of parts')
  return true
}

function skipText(draft: Draft): void {
  const from = draft.cursor.at
  draft.cursor.skip()
  noteOpening(draft, from)
}

// Checks the messages of a request as far as every supplier agrees: known roles, content in each of them, and
// a user who says something. Clients put what the system says among them, also at the end (seen 2026-11).
import { END } from '../../wire/json-cursor.ts'
import { KeySet } from '../../wire/key-set.ts'
import { fault, noteOpening, refuse, type Draft } from '../draft.ts'
import { readBlocks } from './blocks.ts'
import { MESSAGE_KEYS } from './fields.ts'

const ROLES = new KeySet(['user', 'assistant', 'system'])
const USER = 0
const ASSISTANT = 1
const NO_ROLE = -3

const ROLE = 0
const CONTENT = 1

export function readMessages(draft: Draft): void {
  const { cursor } = draft
  if (!cursor.isArray()) return refuse(draft, 'messages', 'must be an array')
  cursor.enterArray()
  for (let index = 0; cursor.nextItem(); index++) {
    draft.load.messages++
    // One fault is told; the rest need only be well-formed.
    if (draft.fault !== undefined) cursor.skip()
    else if (cursor.isObject()) readMessage(draft, `messages[${index}]`)
    else refuse(draft, `messages[${index}]`, 'must be an object')
  }
  if (draft.load.messages > 0 && !draft.isOpened)
    fault(draft, 'validation_error', 'messages', '`messages` must have one of the role user.')
}

function readMessage(draft: Draft, place: string): void {
  const { cursor } = draft
  let role = NO_ROLE
  let hasContent = false
  cursor.enterObject()
  for (let key = cursor.nextKey(MESSAGE_KEYS); key !== END; key = cursor.nextKey(MESSAGE_KEYS)) {
    if (key === ROLE) role = readRole(draft, place)
    else if (key === CONTENT) hasContent = readContent(draft, `${place}.content`)
    else cursor.skip()
  }
  draft.goesOn ||= draft.isOpened && role === ASSISTANT
  draft.isOpened ||= role === USER
  if (role === NO_ROLE)
    fault(draft, 'validation_error', `${place}.role`, `\`${place}.role\` is missing.`)
  else if (!hasContent) refuseEmpty(draft, `${place}.content`)
}

function readRole(draft: Draft, place: string): number {
  const { cursor } = draft
  const role = cursor.isString() ? cursor.word(ROLES) : skip(draft)
  const field = `${place}.role`
  if (role < 0)
    fault(
      draft,
      'validation_error',
      field,
      `\`${field}\` must be one of ${ROLES.names.join(', ')}.`,
    )
  return role
}

function skip({ cursor }: Draft): number {
  cursor.skip()
  return END
}

/** False where there is none, as where it is null. */
function readContent(draft: Draft, field: string): boolean {
  const { cursor } = draft
  const from = cursor.at
  if (cursor.isArray()) readBlocks(draft, field, true)
  else {
    const isText = cursor.isString()
    cursor.skip()
    if (!isText) return false
    noteOpening(draft, from)
  }
  return true
}

function refuseEmpty(draft: Draft, field: string): void {
  fault(draft, 'validation_error', field, `\`${field}\` must be a string or an array of blocks.`)
}

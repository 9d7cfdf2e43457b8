// Reads the parts of a message for what is not text in them: images, sound, files. Unknown fields and kinds
// pass, the supplier judges them; their content counts as being elsewhere, because nobody knows what it is.
import { END } from '../../wire/json-cursor.ts'
import { KeySet, OTHER } from '../../wire/key-set.ts'
import { fault, noteOpening, refuse, type Draft } from '../draft.ts'
import { beginsAsBase64, skipInline } from '../inline.ts'
import { AUDIO_KEYS, FILE_KEYS, PART_KEYS, URL_KEYS } from './fields.ts'

const TYPE = 0
const TEXT = 1
const IMAGE = 2
const AUDIO = 3
const FILE = 4

const TEXT_KINDS = [
  'text',
  'input_text',
  'output_text',
  'refusal',
  'thinking',
  'redacted_thinking',
  'reasoning',
]
const IMAGE_KINDS = ['image_url', 'image', 'input_image']
const KINDS = new KeySet([...TEXT_KINDS, ...IMAGE_KINDS, 'input_audio'])
const FIRST_IMAGE_KIND = TEXT_KINDS.length
const AUDIO_KIND = FIRST_IMAGE_KIND + IMAGE_KINDS.length
const NO_KIND = AUDIO_KIND + 1

const TEXT_TYPE_BYTES = 6

/** What a part was seen to have, a bit for each name; this one for any that is not listed. */
const STRANGE = 1 << 30

export function readParts(draft: Draft, index: number): void {
  const { cursor } = draft
  cursor.enterArray()
  for (let part = 0; cursor.nextItem(); part++)
    if (draft.fault !== undefined) cursor.skip()
    else if (cursor.isObject()) readPart(draft, index, part)
    else refuse(draft, placeOf(index, part), 'must be an object')
}

function readPart(draft: Draft, index: number, part: number): void {
  const { cursor } = draft
  let has = 0
  let typeAt = 0
  let typeTo = 0
  cursor.enterObject()
  for (let key = cursor.nextKey(PART_KEYS); key !== END; key = cursor.nextKey(PART_KEYS)) {
    const from = cursor.at
    const isAbsent = cursor.isNull()
    if (isAbsent || key < IMAGE || key > FILE) cursor.skip()
    else readMedium(draft, key, placeOf(index, part))
    if (key === TYPE) {
      typeAt = from
      typeTo = cursor.at
    } else if (!isAbsent) {
      has |= key === OTHER ? STRANGE : 1 << key
      if (key >= TEXT && key <= FILE) noteOpening(draft, from)
    }
  }
  // Nearly all of them are `text`, in quotes, and have it.
  if (has === 1 << TEXT && typeTo - typeAt === TEXT_TYPE_BYTES) return
  weigh(draft, has, findKind(draft, typeAt, typeTo), placeOf(index, part))
}

/** The kind of a part by its raw type: an escaped one is not known. */
function findKind({ body }: Draft, from: number, to: number): number {
  // Left out, or null.
  if (body[from] !== QUOTE) return NO_KIND
  return KINDS.match(body, from + 1, to - 1)
}

function weigh(draft: Draft, has: number, kind: number, place: string): void {
  if (isImage(kind) || hasKey(has, IMAGE)) draft.load.images++
  if (isStrange(kind, has)) draft.load.elsewhere ??= place
}

function placeOf(index: number, part: number): string {
  return `messages[${index}].content[${part}]`
}

function hasKey(has: number, key: number): boolean {
  return (has & (1 << key)) !== 0
}

function isImage(kind: number): boolean {
  return kind >= FIRST_IMAGE_KIND && kind < AUDIO_KIND
}

/** True for a kind that is not known, and for what does not hold what its kind says. */
function isStrange(kind: number, has: number): boolean {
  if (kind < 0) return true
  if (kind === AUDIO_KIND) return !hasKey(has, AUDIO)
  if (kind !== NO_KIND) return false
  // Some suppliers tell the kind by the names, where it is left out.
  return (has & STRANGE) !== 0 || (has & ((1 << TEXT) | (1 << IMAGE) | (1 << AUDIO))) === 0
}

function readMedium(draft: Draft, key: number, place: string): void {
  if (key === IMAGE) readImage(draft, `${place}.image_url`)
  else if (key === AUDIO) readAudio(draft, `${place}.input_audio`)
  else readFile(draft, `${place}.file`)
}

/** An image is named by `{url}` or, by some clients, by the address itself. */
function readImage(draft: Draft, field: string): void {
  const { cursor } = draft
  if (!cursor.isObject()) return readUrl(draft, field)
  cursor.enterObject()
  for (let key = cursor.nextKey(URL_KEYS); key !== END; key = cursor.nextKey(URL_KEYS))
    if (key < 0) cursor.skip()
    else readUrl(draft, `${field}.url`)
}

const INLINE_SCHEME = '"data:'
/** Signed addresses are long, but not that long. */
const ADDRESS_BYTES_MAX = 16_384
const FILE_SCHEME = /^[\0-\x20]*file:/i
const IMAGE_SCHEME = /^[\0-\x20]*(?:https?:|data:image\/)/i

function readUrl(draft: Draft, field: string): void {
  const { cursor } = draft
  if (!cursor.isString()) return refuse(draft, field, 'must be an address')
  if (cursor.startsWith(INLINE_SCHEME)) return readInline(draft, field)
  const address = cursor.shortText(ADDRESS_BYTES_MAX)?.replaceAll(/[\t\n\r]/g, '')
  // Read as an address parser would: escapes mean what they stand for, line breaks and tabs nothing.
  if (address === undefined || FILE_SCHEME.test(address)) {
    const rule = `must be an http or https address of at most ${ADDRESS_BYTES_MAX} bytes, or a data address`
    return fault(draft, 'validation_error', field, `\`${field}\` ${rule}.`)
  }
  // Such as a file in a supplier's own storage: a film or a book, for all we know.
  if (!IMAGE_SCHEME.test(address)) draft.load.elsewhere ??= field
}

/** An inline image is megabytes of text that nobody here needs. Some suppliers take documents this way too. */
function readInline(draft: Draft, field: string): void {
  const { cursor } = draft
  if (!cursor.startsWith('"data:image/') && !cursor.startsWith('"data:image\\/'))
    draft.load.elsewhere ??= field
  skipInline(draft)
}

/** Sound is `{data}` or, by some clients, the data itself; an address leads to any amount of it. */
function readAudio(draft: Draft, field: string): void {
  const { cursor } = draft
  let hasData = cursor.isString()
  if (!cursor.isObject()) readSound(draft, field)
  else {
    cursor.enterObject()
    for (let key = cursor.nextKey(AUDIO_KEYS); key !== END; key = cursor.nextKey(AUDIO_KEYS))
      if (key < 0) cursor.skip()
      else {
        hasData = true
        readSound(draft, `${field}.data`)
      }
  }
  if (!hasData) draft.load.elsewhere ??= field
}

function readSound(draft: Draft, field: string): void {
  const { cursor, body } = draft
  if (!cursor.isString()) {
    cursor.skip()
    draft.load.elsewhere ??= field
    return
  }
  if (!cursor.startsWith(INLINE_SCHEME) && !beginsAsBase64(body, cursor.at + 1))
    draft.load.elsewhere ??= field
  draft.load.audioBytes += Math.ceil((skipInline(draft) * 3) / 4)
}

const QUOTE = 0x22

/** The pages of a document are bounded by nothing in here, even where all of its bytes are. */
function readFile(draft: Draft, field: string): void {
  const { cursor } = draft
  draft.load.elsewhere ??= field
  if (!cursor.isObject()) return cursor.skip()
  cursor.enterObject()
  for (let key = cursor.nextKey(FILE_KEYS); key !== END; key = cursor.nextKey(FILE_KEYS))
    if (key < 0 || !cursor.isString()) cursor.skip()
    else skipInline(draft)
}

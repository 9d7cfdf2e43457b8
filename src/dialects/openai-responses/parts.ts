// Reads the parts of an item for what is not text in them: images, sound, files. Unknown fields and kinds pass, the
// supplier judges them; their content counts as being elsewhere, because nobody knows what it is.
import { END } from '../../wire/json-cursor.ts'
import { KeySet, OTHER } from '../../wire/key-set.ts'
import { fault, noteOpening, refuse, type Draft } from '../draft.ts'
import { beginsAsBase64, skipInline } from '../inline.ts'
import { AUDIO_KEYS, PART_KEYS } from './fields.ts'

const TYPE = 0
const TEXT = 1
/** The last of those that are text. */
const LAST_TEXT = 4
const IMAGE = 5
const AUDIO = 6
const FILE_DATA = 7
const FILE_URL = 8
const FILE_ID = 9

const TEXT_KINDS = [
  'input_text',
  'output_text',
  'refusal',
  'text',
  'summary_text',
  'reasoning_text',
] as const
const IMAGE_KINDS = ['input_image', 'computer_screenshot'] as const
const KINDS = new KeySet([...TEXT_KINDS, ...IMAGE_KINDS, 'input_audio'])
const FIRST_IMAGE_KIND = TEXT_KINDS.length
const AUDIO_KIND = FIRST_IMAGE_KIND + IMAGE_KINDS.length
const NO_KIND = AUDIO_KIND + 1

/** What a part was seen to have, a bit for each name; this one for any that is not listed. */
const STRANGE = 1 << 30
const TEXTS = ((1 << LAST_TEXT) - 1) << TEXT
const FILES = (1 << FILE_DATA) | (1 << FILE_URL) | (1 << FILE_ID)

export function readParts(draft: Draft, place: string): void {
  const { cursor } = draft
  cursor.enterArray()
  for (let index = 0; cursor.nextItem(); index++)
    if (draft.fault !== undefined) cursor.skip()
    else if (cursor.isObject()) readPart(draft, `${place}[${index}]`)
    else refuse(draft, `${place}[${index}]`, 'must be an object')
}

export function readPart(draft: Draft, place: string): void {
  const { cursor } = draft
  let has = 0
  let typeAt = 0
  let typeTo = 0
  cursor.enterObject()
  for (let key = cursor.nextKey(PART_KEYS); key !== END; key = cursor.nextKey(PART_KEYS)) {
    const from = cursor.at
    const isAbsent = cursor.isNull()
    if (isAbsent || key < IMAGE || key > FILE_URL) cursor.skip()
    else readMedium(draft, key, place)
    if (key === TYPE) {
      typeAt = from
      typeTo = cursor.at
    } else if (!isAbsent) {
      has |= key === OTHER ? STRANGE : 1 << key
      if (key >= TEXT && key <= FILE_ID) noteOpening(draft, from)
    }
  }
  weigh(draft, has, findKind(draft, typeAt, typeTo), place)
}

/** The kind of a part by its raw type: an escaped one is not known. */
function findKind({ body }: Draft, from: number, to: number): number {
  // Left out, or null.
  if (body[from] !== QUOTE) return NO_KIND
  return KINDS.match(body, from + 1, to - 1)
}

function weigh({ load }: Draft, has: number, kind: number, place: string): void {
  if (isImage(kind) || (has & (1 << IMAGE)) !== 0) load.images++
  if (isStrange(kind, has)) load.elsewhere ??= place
}

function isImage(kind: number): boolean {
  return kind >= FIRST_IMAGE_KIND && kind < AUDIO_KIND
}

/** True for a kind that is not known, for files of any kind, and for what does not hold what its kind says. */
function isStrange(kind: number, has: number): boolean {
  // The pages of a document are bounded by nothing in here, even where all of its bytes are.
  if (kind < 0 || (has & FILES) !== 0) return true
  if (isImage(kind)) return (has & (1 << IMAGE)) === 0
  if (kind === AUDIO_KIND) return (has & (1 << AUDIO)) === 0
  // What a program of the caller's has printed comes without a kind.
  return kind === NO_KIND && ((has & STRANGE) !== 0 || (has & TEXTS) === 0)
}

function readMedium(draft: Draft, key: number, place: string): void {
  if (key === IMAGE) readAddress(draft, `${place}.image_url`)
  else if (key === AUDIO) readAudio(draft, `${place}.input_audio`)
  else if (key === FILE_URL) readAddress(draft, `${place}.file_url`)
  else if (draft.cursor.isString()) skipInline(draft)
  else draft.cursor.skip()
}

const INLINE_SCHEME = '"data:'
/** Signed addresses are long, but not that long. */
const ADDRESS_BYTES_MAX = 16_384
const FILE_SCHEME = /^[\0-\x20]*file:/i
const IMAGE_SCHEME = /^[\0-\x20]*(?:https?:|data:image\/)/i

function readAddress(draft: Draft, field: string): void {
  const { cursor, load } = draft
  if (!cursor.isString()) return refuse(draft, field, 'must be an address')
  if (cursor.startsWith(INLINE_SCHEME)) return readInline(draft, field)
  const address = cursor.shortText(ADDRESS_BYTES_MAX)?.replaceAll(/[\t\n\r]/g, '')
  // Read as an address parser would: escapes mean what they stand for, line breaks and tabs nothing.
  if (address === undefined || FILE_SCHEME.test(address)) {
    const rule = `must be an http or https address of at most ${ADDRESS_BYTES_MAX} bytes, or a data address`
    return fault(draft, 'validation_error', field, `\`${field}\` ${rule}.`)
  }
  // Such as a file in a supplier's own storage: a film or a book, for all we know.
  if (!IMAGE_SCHEME.test(address)) load.elsewhere ??= field
}

/** An inline image is megabytes of text that nobody here needs. */
function readInline(draft: Draft, field: string): void {
  const { cursor, load } = draft
  if (!cursor.startsWith('"data:image/') && !cursor.startsWith('"data:image\\/'))
    load.elsewhere ??= field
  skipInline(draft)
}

/** Sound is `{data}`; whatever else it is leads to any amount of it. */
function readAudio(draft: Draft, field: string): void {
  const { cursor, load } = draft
  let hasData = false
  if (!cursor.isObject()) cursor.skip()
  else {
    cursor.enterObject()
    for (let key = cursor.nextKey(AUDIO_KEYS); key !== END; key = cursor.nextKey(AUDIO_KEYS))
      if (key < 0 || !cursor.isString()) cursor.skip()
      else hasData = readSound(draft)
  }
  if (!hasData) load.elsewhere ??= field
}

/** False for what is no data, such as an address. */
function readSound(draft: Draft): boolean {
  const { cursor, body, load } = draft
  const isData = cursor.startsWith(INLINE_SCHEME) || beginsAsBase64(body, cursor.at + 1)
  load.audioBytes += Math.ceil((skipInline(draft) * 3) / 4)
  return isData
}

const QUOTE = 0x22

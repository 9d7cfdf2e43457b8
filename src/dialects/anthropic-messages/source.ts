// Where an image or a document comes from: bytes in the body, text, blocks, or an address elsewhere.
import { END } from '../../wire/json-cursor.ts'
import { KeySet } from '../../wire/key-set.ts'
import { fault, type Draft } from '../draft.ts'
import { isBase64Letter } from '../inline.ts'
import { SOURCE_KEYS } from './fields.ts'

const KINDS = new KeySet(['base64', 'text', 'content', 'url', 'file'])

/** What a source turned out to be. A name is a text in the place of a source, as a result of a search has it. */
export const SOURCE = { base64: 0, text: 1, content: 2, url: 3, file: 4, name: 5 } as const
export const NO_SOURCE = -1
const ODD = -2
/** Wrong for an image and for a document. Of other kinds nobody here knows what is right. */
const BAD_DATA = -3
const BAD_URL = -4

const TYPE = 0
const DATA = 1
const URL = 2
const CONTENT = 3

/** Signed addresses are long, but not that long. */
const ADDRESS_BYTES_MAX = 16_384
const FILE_SCHEME = /^[\0-\x20]*file:/i
const WEB_SCHEME = /^[\0-\x20]*https?:/i

type BlockReader = (draft: Draft, place: string) => void

/** One of `SOURCE`, or less than that for what cannot be told. A source may be made of blocks in turn. */
export function readSource(draft: Draft, place: string, readBlocks: BlockReader): number {
  const { cursor } = draft
  if (!cursor.isObject()) return readOther(draft)
  let kind = ODD
  let dataFrom = -1
  let dataTo = -1
  let address = ODD
  cursor.enterObject()
  for (let key = cursor.nextKey(SOURCE_KEYS); key !== END; key = cursor.nextKey(SOURCE_KEYS)) {
    const from = cursor.at
    if (key === URL) address = readUrl(draft, `${place}.url`)
    else if (key === CONTENT && cursor.isArray()) readBlocks(draft, `${place}.content`)
    else cursor.skip()
    if (key === TYPE) kind = findKind(draft, from)
    else if (key === DATA && draft.body[from] === QUOTE) {
      dataFrom = from + 1
      dataTo = cursor.at - 1
    }
  }
  if (kind === SOURCE.base64) return readData(draft, dataFrom, dataTo)
  return kind === SOURCE.url ? address : kind
}

/** Refuses a source of a known kind that every supplier would call wrong. */
export function checkSource(draft: Draft, source: number, place: string): void {
  if (source === BAD_DATA)
    fault(draft, 'validation_error', `${place}.data`, `\`${place}.data\` must be base64.`)
  if (source === BAD_URL)
    fault(draft, 'validation_error', `${place}.url`, `\`${place}.url\` must be an address.`)
}

function readOther({ cursor }: Draft): number {
  const isText = cursor.isString()
  const isAbsent = cursor.isNull()
  cursor.skip()
  if (isAbsent) return NO_SOURCE
  return isText ? SOURCE.name : ODD
}

/** By its raw spelling: an escaped one is not known. */
function findKind({ body, cursor }: Draft, from: number): number {
  return body[from] === QUOTE ? KINDS.match(body, from + 1, cursor.at - 1) : ODD
}

/** Read as an address parser would: escapes stand for what they mean. A file is nobody's to name, in any kind. */
function readUrl(draft: Draft, field: string): number {
  const { cursor } = draft
  if (!cursor.isString()) {
    cursor.skip()
    return BAD_URL
  }
  const address = cursor.shortText(ADDRESS_BYTES_MAX)?.replaceAll(/[\t\n\r]/g, '')
  if (address === undefined || FILE_SCHEME.test(address)) {
    const rule = `must be an http or https address of at most ${ADDRESS_BYTES_MAX} bytes`
    fault(draft, 'validation_error', field, `\`${field}\` ${rule}.`)
    return ODD
  }
  return WEB_SCHEME.test(address) ? SOURCE.url : ODD
}

const QUOTE = 0x22
const SLASH = 0x2f
const BACKSLASH = 0x5c
/** How much of the beginning and of the end is looked at: megabytes of it would be work for nobody. */
const SAMPLE_BYTES = 256

/** Bytes that are written as text, and are none. */
function readData(draft: Draft, from: number, to: number): number {
  const isRight =
    from >= 0 &&
    isBase64(draft.body, from, Math.min(to, from + SAMPLE_BYTES)) &&
    isBase64(draft.body, Math.max(from, to - SAMPLE_BYTES), to)
  if (!isRight) return BAD_DATA
  draft.load.inline.push({ from, to })
  return SOURCE.base64
}

function isBase64(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const isEscape = bytes[at] === BACKSLASH && (bytes[at + 1] === SLASH || at + 1 === to)
    if (!isEscape && !isBase64Letter(bytes[at]!)) return false
  }
  return true
}

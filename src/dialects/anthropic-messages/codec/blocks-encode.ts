// Parts of a conversation as blocks. A part that cannot be said leaves none, and is told as lost.
import type {
  CacheMark,
  CallPart,
  FilePart,
  ImagePart,
  ResultPart,
  TextPart,
  Trait,
} from '../../../core/chat.ts'
import { parseExact } from '../../exact-json.ts'
import { isFields, isShallow, type Fields } from '../../json.ts'
import type { CallIds } from './ids-encode.ts'

type Losses = Set<Trait>

/** The first letters of an image, as base64, by its type. */
const IMAGE_TYPES: Readonly<Record<string, string>> = {
  iVBORw0KGgo: 'image/png',
  '/9j/': 'image/jpeg',
  R0lGOD: 'image/gif',
}
/** An image that is a kind of RIFF, of which sounds are another. */
const WEBP = /^UklGR.{7}RUJQ/
const PDF = 'application/pdf'
const PDF_BEGINNING = 'JVBERi'

/** For an hour costs more, which nobody who asks in another language has agreed to. */
export function encodeCache(cache: CacheMark | undefined, lost: Losses): Fields {
  if (cache === undefined) return {}
  if (cache === 'long') lost.add('cache_long')
  return { cache_control: { type: 'ephemeral' } }
}

/** Suppliers refuse a text that is blank: an empty one says nothing, and white space hardly anything. */
export function encodeText({ text, cache }: TextPart, lost: Losses): readonly Fields[] {
  if (text.trim() !== '') return [{ type: 'text', text, ...encodeCache(cache, lost) }]
  if (text !== '') lost.add('text')
  if (cache !== undefined) lost.add('cache')
  return []
}

export function encodeImage(part: ImagePart, lost: Losses): readonly Fields[] {
  const { detail } = part
  if (detail !== undefined && detail !== 'auto') lost.add('image_detail')
  const source = imageSource(part, lost)
  if (source === undefined) return []
  return [{ type: 'image', source, ...encodeCache(part.cache, lost) }]
}

function imageSource({ source }: ImagePart, lost: Losses): Fields | undefined {
  if (source.kind === 'url') return { type: 'url', url: source.url }
  if (source.kind === 'data') {
    const { data, mediaType } = source
    const type = guessImage(data) ?? spellImage(mediaType)
    if (type !== '') return { type: 'base64', media_type: type, data }
  }
  lost.add(source.kind === 'id' ? 'image_id' : 'image_data')
  return undefined
}

/** Suppliers look at the bytes, and refuse an image that says it is of another type. */
function guessImage(data: string): string | undefined {
  if (WEBP.test(data)) return 'image/webp'
  return Object.entries(IMAGE_TYPES).find(([beginning]) => data.startsWith(beginning))?.[1]
}

function spellImage(mediaType: string): string {
  const type = mediaType.toLowerCase()
  return type === 'image/jpg' ? 'image/jpeg' : type
}

export function encodeFile(part: FilePart, lost: Losses): readonly Fields[] {
  const { name, cache } = part
  const source = fileSource(part, lost)
  if (source === undefined) return []
  const title = name === undefined ? {} : { title: name }
  return [{ type: 'document', source, ...title, ...encodeCache(cache, lost) }]
}

function fileSource({ source }: FilePart, lost: Losses): Fields | undefined {
  if (source.kind === 'url') return { type: 'url', url: source.url }
  if (source.kind === 'text') return textSource(source.text, 'file_text', lost)
  if (source.kind === 'data') return dataSource(source, lost)
  lost.add('file_id')
  return undefined
}

function dataSource(
  { mediaType, data }: { readonly mediaType: string; readonly data: string },
  lost: Losses,
): Fields | undefined {
  if (mediaType.startsWith('text/'))
    return textSource(Buffer.from(data, 'base64').toString(), 'file_data', lost)
  if (mediaType === PDF || (mediaType === '' && data.startsWith(PDF_BEGINNING)))
    return { type: 'base64', media_type: PDF, data }
  lost.add('file_data')
  return undefined
}

/** Suppliers refuse one that is blank, as they do a text. */
function textSource(text: string, trait: Trait, lost: Losses): Fields | undefined {
  if (text.trim() === '') {
    lost.add(trait)
    return undefined
  }
  return { type: 'text', media_type: 'text/plain', data: text }
}

/** More than the input of any tool; to make values of it could keep the process busy for seconds. */
const INPUT_LENGTH_MAX = 2 * 1_048_576

export function encodeCall(
  { id, name, input, cache }: CallPart,
  ids: CallIds,
  lost: Losses,
): Fields {
  const value = parseInput(input)
  if (value === undefined && input.trim() !== '') lost.add('call_input')
  return {
    type: 'tool_use',
    id: ids.call(id),
    name,
    input: value ?? {},
    ...encodeCache(cache, lost),
  }
}

/** Undefined for what is no object, or too deep to be printed. */
function parseInput(text: string): Fields | undefined {
  if (text.length > INPUT_LENGTH_MAX) return undefined
  try {
    const value = parseExact(text)
    return isFields(value) && isShallow(value) ? value : undefined
  } catch {
    // Models make mistakes in what they write; whoever asked says so.
    return undefined
  }
}

export function encodeResult(
  { id, parts, isError, cache }: ResultPart,
  ids: CallIds,
  lost: Losses,
): Fields {
  const content = encodeFound(parts, lost)
  return {
    type: 'tool_result',
    tool_use_id: ids.result(id),
    ...(content === undefined ? {} : { content }),
    ...(isError ? { is_error: true } : {}),
    ...encodeCache(cache, lost),
  }
}

/** One text is said as a text, which may also be blank. */
function encodeFound(parts: ResultPart['parts'], lost: Losses): unknown {
  const [first] = parts
  if (parts.length === 1 && first?.kind === 'text' && first.cache === undefined)
    return first.text === '' ? undefined : first.text
  const blocks = parts.flatMap((part) => encodeShown(part, lost))
  return blocks.length === 0 ? undefined : blocks
}

export function encodeShown(
  part: TextPart | ImagePart | FilePart,
  lost: Losses,
): readonly Fields[] {
  if (part.kind === 'text') return encodeText(part, lost)
  return part.kind === 'image' ? encodeImage(part, lost) : encodeFile(part, lost)
}

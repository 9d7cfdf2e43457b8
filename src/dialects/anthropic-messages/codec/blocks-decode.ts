// Blocks that hold something to be looked at, in words of our own: texts, images, documents and what a search found.
import type { CacheMark, FilePart, ImagePart, Source, TextPart } from '../../../core/chat.ts'
import { asFields, isFields, type Fields } from '../../json.ts'
import { getText } from '../../reader.ts'
import { sourceTrait } from '../../trait.ts'
import { isDefault, wrong, type Spot } from './request-spot.ts'

const CACHE_FIELDS = new Set(['type', 'ttl'])
const TEXT_FIELDS = new Set(['type', 'text', 'cache_control'])
const IMAGE_FIELDS = new Set(['type', 'source', 'cache_control'])
const FILE_FIELDS = new Set(['type', 'source', 'title', 'cache_control'])
const SEARCH_FIELDS = new Set(['type', 'source', 'title', 'content', 'cache_control'])
const SOURCE_FIELDS = new Set(['type', 'media_type', 'data', 'url', 'file_id', 'content'])

export type Shown = TextPart | ImagePart | FilePart

/** Undefined for a block of another kind, and for one that says nothing; throws for one that makes no sense. */
export function decodeShown(block: Fields, spot: Spot): Shown | undefined {
  switch (block['type']) {
    case 'text':
      return decodeText(block, spot)
    case 'image':
      return decodeImage(block, spot)
    case 'document':
      return decodeFile(block, spot)
    case 'search_result':
      return decodeFinding(block, spot)
    default:
      spot.lost.addNamed(spot.pointer, block['type'])
      return undefined
  }
}

export function decodeCache(fields: Fields, { pointer, lost }: Spot): CacheMark | undefined {
  const mark = fields['cache_control'] ?? undefined
  if (mark === undefined) return undefined
  const place = `${pointer}/cache_control`
  if (!isFields(mark) || mark['type'] !== 'ephemeral') {
    lost.add(place)
    return undefined
  }
  lost.note('cache', place)
  lost.addOthers(place, mark, CACHE_FIELDS, isDefault)
  const ttl = mark['ttl'] ?? '5m'
  if (ttl !== '5m' && ttl !== '1h') lost.add(`${place}/ttl`)
  if (ttl !== '1h') return 'short'
  lost.note('cache_long', `${place}/ttl`)
  return 'long'
}

export function withCache<Part extends { readonly cache?: CacheMark }>(
  part: Part,
  cache: CacheMark | undefined,
): Part {
  return cache === undefined ? part : { ...part, cache }
}

export function decodeText(block: Fields, spot: Spot): TextPart | undefined {
  const text = getText(block['text'], `${spot.param}.text`)
  spot.lost.addOthers(spot.pointer, block, TEXT_FIELDS, isDefault)
  const cache = decodeCache(block, spot)
  return text === '' ? undefined : withCache<TextPart>({ kind: 'text', text }, cache)
}

function decodeImage(block: Fields, spot: Spot): ImagePart | undefined {
  spot.lost.addOthers(spot.pointer, block, IMAGE_FIELDS, isDefault)
  const source = decodeSource(block, spot)
  if (source === undefined) return undefined
  return withCache<ImagePart>({ kind: 'image', source }, decodeCache(block, spot))
}

function decodeFile(block: Fields, spot: Spot): FilePart | undefined {
  const { title } = block
  spot.lost.addOthers(spot.pointer, block, FILE_FIELDS, isDefault)
  const source = decodeSource(block, spot)
  if (source === undefined) return undefined
  const isNamed = typeof title === 'string' && title !== ''
  if (isNamed) spot.lost.note('file_name', `${spot.pointer}/title`)
  return withCache<FilePart>(
    { kind: 'file', source, ...(isNamed && { name: title }) },
    decodeCache(block, spot),
  )
}

/** What a source has beside its type. */
const SOURCE_VALUES: Readonly<Record<string, string>> = {
  base64: 'data',
  text: 'data',
  url: 'url',
  file: 'file_id',
  content: 'content',
}

function decodeSource(block: Fields, spot: Spot): Source | undefined {
  const source = asFields(block['source'])
  if (source === undefined) throw wrong(`${spot.param}.source`, 'must be an object')
  const place = `${spot.pointer}/source`
  const type = String(source['type'])
  const isImage = block['type'] === 'image'
  if (!Object.hasOwn(SOURCE_VALUES, type) || (isImage && (type === 'text' || type === 'content'))) {
    spot.lost.addNamed(place, source['type'])
    return undefined
  }
  spot.lost.addOthers(place, source, SOURCE_FIELDS, isDefault)
  const field = SOURCE_VALUES[type]!
  const found = sourceOf(type, source, spot)
  spot.lost.note(sourceTrait(isImage ? 'image' : 'file', found), `${place}/${field}`)
  return found
}

function sourceOf(type: string, source: Fields, spot: Spot): Source {
  if (type === 'content') {
    const text = joinTexts(source['content'], spot, `${spot.pointer}/source/content/*`)
    return { kind: 'text', text }
  }
  const field = SOURCE_VALUES[type]!
  const value = getText(source[field], `${spot.param}.source.${field}`)
  if (type === 'url') return { kind: 'url', url: value }
  if (type === 'file') return { kind: 'id', id: value }
  if (type === 'text') return { kind: 'text', text: value }
  const { media_type: mediaType } = source
  return { kind: 'data', mediaType: typeof mediaType === 'string' ? mediaType : '', data: value }
}

/** What a search of the caller's own has found: a text with its title and where it is from. */
function decodeFinding(block: Fields, spot: Spot): TextPart | undefined {
  const { title, source, content } = block
  spot.lost.addOthers(spot.pointer, block, SEARCH_FIELDS, isDefault)
  const found = joinTexts(content, spot, `${spot.pointer}/content/*`)
  const lines = [title, source, found].filter((each) => typeof each === 'string' && each !== '')
  const cache = decodeCache(block, spot)
  if (lines.length === 0) return undefined
  return withCache<TextPart>({ kind: 'text', text: lines.join('\n') }, cache)
}

/** The texts among blocks, or a text that stands in their place. */
function joinTexts(content: unknown, { lost }: Spot, pointer: string): string {
  if (typeof content === 'string') return content
  const texts: string[] = []
  for (const block of Array.isArray(content) ? content : []) {
    const { type, text } = asFields(block) ?? {}
    if (type === 'text' && typeof text === 'string') texts.push(text)
    else lost.addNamed(pointer, type)
  }
  return texts.join('\n')
}

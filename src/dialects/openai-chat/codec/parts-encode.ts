// Parts as chat says them. What it cannot say is left out and told as lost; the text of a document is said as text.
import type {
  AudioPart,
  CacheMark,
  FilePart,
  ImagePart,
  Source,
  TextPart,
  Trait,
} from '../../../core/chat.ts'
import { printData, printFileName } from '../../data-address.ts'
import type { Fields } from '../../json.ts'

export type ContentPart = Fields & { readonly type: string }

/** What a message says: a text if that is all there is, which every supplier reads. */
export function printContent(parts: readonly ContentPart[]): string | readonly ContentPart[] {
  const [first] = parts
  if (first === undefined) return ''
  const text = first['text']
  return parts.length === 1 && typeof text === 'string' ? text : parts
}

export function textPart(text: string): ContentPart {
  return { type: 'text', text }
}

/** Models that are spoken to in chat cache by themselves, and their suppliers refuse marks or ignore them. */
export function noteCache({ cache }: { readonly cache?: CacheMark }, lost: Set<Trait>): void {
  if (cache !== undefined) lost.add('cache')
}

export function encodeTexts(parts: readonly TextPart[], lost: Set<Trait>): readonly ContentPart[] {
  return parts.map((part) => {
    noteCache(part, lost)
    return textPart(part.text)
  })
}

/** None where the part is lost. */
export function encodePart(
  part: TextPart | ImagePart | FilePart | AudioPart,
  lost: Set<Trait>,
): readonly ContentPart[] {
  if (part.kind === 'audio')
    return [{ type: 'input_audio', input_audio: { data: part.data, format: part.format } }]
  noteCache(part, lost)
  if (part.kind === 'text') return [textPart(part.text)]
  return part.kind === 'image' ? encodeImage(part, lost) : encodeFile(part, lost)
}

function encodeImage({ source, detail }: ImagePart, lost: Set<Trait>): readonly ContentPart[] {
  const url = printAddress(source)
  if (url === undefined) {
    lost.add(source.kind === 'id' ? 'image_id' : 'image_data')
    return []
  }
  return [{ type: 'image_url', image_url: { url, ...(detail !== undefined && { detail }) } }]
}

function printAddress(source: Source): string | undefined {
  if (source.kind === 'url') return source.url
  return source.kind === 'data' ? printData(source.mediaType, source.data) : undefined
}

function encodeFile({ source, name }: FilePart, lost: Set<Trait>): readonly ContentPart[] {
  switch (source.kind) {
    case 'data': {
      const { mediaType, data } = source
      const fileData = mediaType === '' ? data : printData(mediaType, data)
      return [{ type: 'file', file: { filename: printFileName(name), file_data: fileData } }]
    }
    case 'text':
      return [textPart(name === undefined ? source.text : `${name}\n${source.text}`)]
    default:
      lost.add(source.kind === 'url' ? 'file_url' : 'file_id')
      return []
  }
}

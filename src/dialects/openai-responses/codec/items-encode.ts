// Parts as the items of this language hold them. What it cannot say is left out and told as lost; the text of a document
// is said as text.
import type {
  AudioPart,
  CacheMark,
  FilePart,
  ImagePart,
  Source,
  TextPart,
  Trait,
} from '../../../core/chat.ts'
import type { Fields } from '../../json.ts'
import { printData, printFileName } from '../../data-address.ts'

export type ContentPart = Fields & { readonly type: string }

/** What an item holds: a text if that is all there is, which every supplier reads. */
export function printContent(parts: readonly ContentPart[]): string | readonly ContentPart[] {
  const [first] = parts
  if (first === undefined) return ''
  const text = first['text']
  return parts.length === 1 && typeof text === 'string' ? text : parts
}

export function textPart(text: string): ContentPart {
  return { type: 'input_text', text }
}

/** Only the newest models take marks, and all of them cache by themselves. */
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
  if (part.kind === 'audio') {
    lost.add('audio')
    return []
  }
  noteCache(part, lost)
  if (part.kind === 'text') return [textPart(part.text)]
  return part.kind === 'image' ? encodeImage(part, lost) : encodeFile(part, lost)
}

/** Some suppliers refuse an image without a word on how closely to look (vllm-project/vllm#57241, seen 2026-11). */
function encodeImage(
  { source, detail = 'auto' }: ImagePart,
  lost: Set<Trait>,
): readonly ContentPart[] {
  const url = printAddress(source)
  if (url !== undefined) return [{ type: 'input_image', image_url: url, detail }]
  lost.add(source.kind === 'id' ? 'image_id' : 'image_data')
  return []
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
      return [{ type: 'input_file', filename: printFileName(name), file_data: fileData }]
    }
    case 'url':
      // Both together are refused (0xPlaygrounds/rig#1429, seen 2026-11).
      if (name !== undefined) lost.add('file_name')
      return [{ type: 'input_file', file_url: source.url }]
    case 'text':
      return [textPart(name === undefined ? source.text : `${name}\n${source.text}`)]
    default:
      lost.add('file_id')
      return []
  }
}

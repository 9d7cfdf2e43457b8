// The parts of a message in our words, by their kind. A kind that is not known is lost, and the part with it.
import type {
  AudioPart,
  FilePart,
  ImagePart,
  Source,
  TextPart,
  RefusalPart,
  ThinkingPart,
} from '../../../core/chat.ts'
import { invalid } from '../../../core/problem.ts'
import { findFileName, readAddress, readData } from '../../data-address.ts'
import { isBlank, isFields, type Fields } from '../../json.ts'
import { decodeCache } from './parts-cache.ts'
import type { Lost } from '../../lost.ts'
import { findText, getFields, getText, isAbsent, told } from '../../reader.ts'
import { sourceTrait } from '../../trait.ts'
import { decodeThinkingPart } from './turns-thinking.ts'

/** Where all parts stand, as lost tell it. */
const PARTS = '/messages/*/content/*'

export type SpokenPart = TextPart | RefusalPart | ThinkingPart
export type ShownPart = TextPart | ImagePart | FilePart | AudioPart

interface Content<Part> {
  readonly parts: readonly Part[]
  /** There were others, which are lost. */
  readonly isCut: boolean
}

/** Reads one part of a known kind; undefined where its kind is not known here. */
type PartReader<Part> = (kind: string, fields: Fields, place: PartPlace) => Part | undefined

interface PartPlace {
  readonly param: string
  readonly lost: Lost
}

interface PartSpot extends PartPlace {
  readonly pointer: string
}

/** What a system or a developer says. */
export function decodeTexts(content: unknown, param: string, lost: Lost): readonly TextPart[] {
  return decodeContent<TextPart>(content, { param, lost }, readText).parts
}

/** What an assistant says. */
export function decodeSpoken(content: unknown, param: string, lost: Lost): readonly SpokenPart[] {
  return decodeContent<SpokenPart>(content, { param, lost }, readSpoken).parts
}

/** What a user or a tool says and shows. */
export function decodeShown(content: unknown, param: string, lost: Lost): Content<ShownPart> {
  return decodeContent<ShownPart>(content, { param, lost }, readShown)
}

/** A text or a list of parts. What is empty says nothing, and some suppliers refuse it. */
function decodeContent<Part extends { readonly kind: string }>(
  content: unknown,
  { param, lost }: PartPlace,
  read: PartReader<Part | TextPart>,
): Content<Part | TextPart> {
  if (isAbsent(content) || content === '') return { parts: [], isCut: false }
  if (typeof content === 'string') return { parts: [{ kind: 'text', text: content }], isCut: false }
  if (!Array.isArray(content))
    throw invalid(param, `\`${param}\` must be a string or an array of parts.`)
  const parts: (Part | TextPart)[] = []
  let isCut = false
  for (const [index, item] of content.entries()) {
    const place = { param: `${param}[${index}]`, lost }
    const fields = getFields(item, place.param)
    const kind = kindOf(fields, place.param)
    const part = read(kind, fields, place)
    if (part === undefined) {
      lost.addNamed(PARTS, kind === '' ? undefined : kind)
      isCut = true
    } else if (!isSilent(part)) parts.push(part)
  }
  return { parts, isCut }
}

function isSilent(part: {
  readonly kind: string
  readonly text?: string
  seal?: unknown
}): boolean {
  return part.text === '' && part.seal === undefined
}

/** Some clients leave the type out and let the name of the content tell it. */
const KIND_NAMES = ['text', 'image_url', 'input_audio', 'file', 'refusal']

function kindOf(fields: Fields, param: string): string {
  const type = findText(fields['type'], `${param}.type`)
  return type ?? KIND_NAMES.find((name) => !isAbsent(fields[name])) ?? ''
}

const TEXT_FIELDS = new Set(['type', 'text', 'cache_control'])

function readText(kind: string, fields: Fields, { param, lost }: PartPlace): TextPart | undefined {
  if (kind !== 'text' && kind !== 'input_text' && kind !== 'output_text') return undefined
  lost.addOthers(PARTS, fields, TEXT_FIELDS, isBlank)
  const text = getText(fields['text'], `${param}.text`)
  return told<TextPart>({ kind: 'text', text, cache: decodeCache(fields, PARTS, lost) })
}

function readSpoken(kind: string, fields: Fields, place: PartPlace): SpokenPart | undefined {
  if (kind === 'refusal')
    return { kind: 'refusal', text: getText(fields['refusal'], `${place.param}.refusal`) }
  return decodeThinkingPart(kind, fields, place.lost) ?? readText(kind, fields, place)
}

function readShown(kind: string, fields: Fields, place: PartPlace): ShownPart | undefined {
  switch (kind) {
    case 'image_url':
    case 'image':
    case 'input_image':
      return readImage(fields, place)
    case 'input_audio':
      return readAudio(fields, place)
    case 'file':
    case 'input_file':
      return readFile(fields, place)
    default:
      return readText(kind, fields, place)
  }
}

const IMAGE_FIELDS = new Set(['type', 'image_url', 'file_id', 'detail', 'cache_control'])
const URL_FIELDS = new Set(['url', 'detail'])

/** An image is named by `{url}`, by the address itself, or by the id of a file. */
function readImage(fields: Fields, { param, lost }: PartPlace): ImagePart | undefined {
  const { image_url: image, file_id: id } = fields
  if (isAbsent(image) && isAbsent(id)) return undefined
  lost.addOthers(PARTS, fields, IMAGE_FIELDS, isBlank)
  const inner = isFields(image) ? image : { url: image }
  lost.addOthers(`${PARTS}/image_url`, inner, URL_FIELDS, isBlank)
  const urlParam = isFields(image) ? `${param}.image_url.url` : `${param}.image_url`
  const isInside = !isAbsent(inner['detail'])
  const detail = isInside ? inner['detail'] : fields['detail']
  if (!isAbsent(detail)) lost.note('image_detail', `${PARTS}${isInside ? '/image_url' : ''}/detail`)
  return told<ImagePart>({
    kind: 'image',
    source: isAbsent(image)
      ? { kind: 'id', id: getText(id, `${param}.file_id`) }
      : readAddress(getText(inner['url'], urlParam), urlParam),
    detail: findText(detail, `${param}.image_url.detail`),
    cache: decodeCache(fields, PARTS, lost),
  })
}

const AUDIO_FIELDS = new Set(['type', 'input_audio'])
const SOUND_FIELDS = new Set(['data', 'format'])

/** Sound is `{data, format}` or, by some clients, the data itself. */
function readAudio(fields: Fields, { param, lost }: PartPlace): AudioPart {
  lost.addOthers(PARTS, fields, AUDIO_FIELDS, isBlank)
  const place = `${param}.input_audio`
  const audio = fields['input_audio']
  if (typeof audio === 'string') return { kind: 'audio', data: audio, format: '' }
  const inner = getFields(audio, place)
  lost.addOthers(`${PARTS}/input_audio`, inner, SOUND_FIELDS, isBlank)
  return {
    kind: 'audio',
    data: getText(inner['data'], `${place}.data`),
    format: findText(inner['format'], `${place}.format`) ?? '',
  }
}

const FILE_FIELDS = new Set(['file_data', 'file_id', 'file_url', 'filename'])
const FLAT_FILE_FIELDS = new Set([...FILE_FIELDS, 'type', 'cache_control'])
const FILE_PART_FIELDS = new Set(['type', 'file', 'cache_control'])

function readFile(fields: Fields, { param, lost }: PartPlace): FilePart | undefined {
  const isFlat = isAbsent(fields['file'])
  const place = isFlat ? param : `${param}.file`
  const inner = isFlat ? fields : getFields(fields['file'], place)
  lost.addOthers(PARTS, fields, isFlat ? FLAT_FILE_FIELDS : FILE_PART_FIELDS, isBlank)
  if (!isFlat) lost.addOthers(`${PARTS}/file`, inner, FILE_FIELDS, isBlank)
  const pointer = isFlat ? PARTS : `${PARTS}/file`
  const source = findSource(inner, { param: place, pointer, lost })
  if (source === undefined) return undefined
  const name = findFileName(findText(inner['filename'], `${place}.filename`))
  if (name !== undefined) lost.note('file_name', `${pointer}/filename`)
  return told<FilePart>({
    kind: 'file',
    source,
    name,
    cache: decodeCache(fields, PARTS, lost),
  })
}

/** Of several the first that is there counts. */
const SOURCES: readonly (readonly [name: string, read: (text: string, param: string) => Source])[] =
  [
    ['file_data', readData],
    ['file_url', readAddress],
    ['file_id', (id) => ({ kind: 'id', id })],
  ]

function findSource(file: Fields, { param, pointer, lost }: PartSpot): Source | undefined {
  let source: Source | undefined
  for (const [name, read] of SOURCES) {
    const text = findText(file[name], `${param}.${name}`)
    if (text === undefined) continue
    if (source === undefined) {
      source = read(text, `${param}.${name}`)
      lost.note(sourceTrait('file', source), `${pointer}/${name}`)
    } else lost.add(`${pointer}/${name}`)
  }
  return source
}

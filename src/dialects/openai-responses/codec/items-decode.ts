// What the items of a request hold, in our words, part by part. A kind that is not known is lost, and the part with it.
import type {
  CacheMark,
  FilePart,
  ImagePart,
  RefusalPart,
  Source,
  TextPart,
} from '../../../core/chat.ts'
import { invalid } from '../../../core/problem.ts'
import { isBlank, isFields, type Fields } from '../../json.ts'
import type { Lost } from '../../lost.ts'
import { findText, getFields, getText, isAbsent, told } from '../../reader.ts'
import { sourceTrait } from '../../trait.ts'
import { findFileName, readAddress, readData } from '../../data-address.ts'

export type SpokenPart = TextPart | RefusalPart
export type ShownPart = TextPart | ImagePart | FilePart

/** Where something of a request stands. */
export interface Spot {
  /** The one place, as a problem names it: `input[2].content`. */
  readonly param: string
  /** All places like it, with `*` in the place of a number. */
  readonly pointer: string
  readonly lost: Lost
}

export interface Content<Part> {
  readonly parts: readonly Part[]
  /** There were others, which are lost. */
  readonly isCut: boolean
}

/** Reads one part of a known kind; undefined where its kind is not known here. */
type PartReader<Part> = (kind: string | undefined, fields: Fields, spot: Spot) => Part | undefined

/** What a system or a developer says. */
export function decodeTexts(content: unknown, spot: Spot): Content<TextPart> {
  return decodeContent<TextPart>(content, spot, readText)
}

/** What an assistant says. */
export function decodeSpoken(content: unknown, spot: Spot): Content<SpokenPart> {
  return decodeContent<SpokenPart>(content, spot, readSpoken)
}

/** What a user says and shows, or a tool. */
export function decodeShown(content: unknown, spot: Spot): Content<ShownPart> {
  return decodeContent<ShownPart>(content, spot, readShown)
}

/** A text or a list of parts. What is empty says nothing, and some suppliers refuse it. */
function decodeContent<Part extends { readonly kind: string }>(
  content: unknown,
  { param, pointer, lost }: Spot,
  read: PartReader<Part | TextPart>,
): Content<Part | TextPart> {
  if (isAbsent(content) || content === '') return { parts: [], isCut: false }
  if (typeof content === 'string') return { parts: [{ kind: 'text', text: content }], isCut: false }
  if (!Array.isArray(content))
    throw invalid(param, `\`${param}\` must be a string or an array of parts.`)
  const parts: (Part | TextPart)[] = []
  let isCut = false
  for (const [index, value] of content.entries()) {
    const spot = { param: `${param}[${index}]`, pointer: `${pointer}/*`, lost }
    const fields = getFields(value, spot.param)
    const kind = findText(fields['type'], `${spot.param}.type`)
    const part = read(kind, fields, spot)
    if (part === undefined) {
      lost.addNamed(spot.pointer, kind)
      isCut = true
    } else if (!isSilent(part)) parts.push(part)
  }
  return { parts, isCut }
}

function isSilent(part: { readonly kind: string; readonly text?: string }): boolean {
  return part.text === ''
}

const CACHE = 'prompt_cache_breakpoint'

function decodeCache(fields: Fields, { pointer, lost }: Spot): CacheMark | undefined {
  const mark = fields[CACHE]
  if (isAbsent(mark)) return undefined
  const place = `${pointer}/${CACHE}`
  if (!isFields(mark)) {
    lost.add(place)
    return undefined
  }
  lost.note('cache', place)
  if (mark['ttl'] !== '12h') return 'short'
  lost.note('cache_long', `${place}/ttl`)
  return 'long'
}

const TEXT_FIELDS = new Set(['type', 'text', CACHE])

function readText(kind: string | undefined, fields: Fields, spot: Spot): TextPart | undefined {
  if (kind !== 'input_text' && kind !== 'output_text' && kind !== 'text') return undefined
  // Citations and probabilities of what was said before are blank mostly.
  spot.lost.addOthers(spot.pointer, fields, TEXT_FIELDS, isBlank)
  const text = getText(fields['text'], `${spot.param}.text`)
  return told<TextPart>({ kind: 'text', text, cache: decodeCache(fields, spot) })
}

function readSpoken(kind: string | undefined, fields: Fields, spot: Spot): SpokenPart | undefined {
  if (kind !== 'refusal') return readText(kind, fields, spot)
  return { kind: 'refusal', text: getText(fields['refusal'], `${spot.param}.refusal`) }
}

function readShown(kind: string | undefined, fields: Fields, spot: Spot): ShownPart | undefined {
  if (kind === 'input_image') return readImage(fields, spot)
  return kind === 'input_file' ? readFile(fields, spot) : readText(kind, fields, spot)
}

/** What is done without a word. */
const AUTO = 'auto'

function isUnsaid(value: unknown, name: string): boolean {
  return isBlank(value) || (name === 'detail' && value === AUTO)
}

const IMAGE_FIELDS = new Set(['type', 'image_url', 'file_id', 'detail', CACHE])

/** By its address, or by the id of a file. */
const IMAGE_SOURCES: readonly SourceName[] = [
  ['image_url', readAddress],
  ['file_id', readId],
]

function readImage(fields: Fields, spot: Spot): ImagePart | undefined {
  const detail = findText(fields['detail'], `${spot.param}.detail`)
  const source = findSource('image', fields, IMAGE_SOURCES, spot)
  if (source === undefined) return undefined
  spot.lost.addOthers(spot.pointer, fields, IMAGE_FIELDS, isBlank)
  if (detail !== undefined) spot.lost.note('image_detail', `${spot.pointer}/detail`)
  return told<ImagePart>({
    kind: 'image',
    source,
    detail: detail === AUTO ? undefined : detail,
    cache: decodeCache(fields, spot),
  })
}

const FILE_FIELDS = new Set(['type', 'file_data', 'file_id', 'file_url', 'filename', CACHE])

const FILE_SOURCES: readonly SourceName[] = [
  ['file_data', readData],
  ['file_url', readAddress],
  ['file_id', readId],
]

function readFile(fields: Fields, spot: Spot): FilePart | undefined {
  const source = findSource('file', fields, FILE_SOURCES, spot)
  if (source === undefined) return undefined
  spot.lost.addOthers(spot.pointer, fields, FILE_FIELDS, isUnsaid)
  const name = findFileName(findText(fields['filename'], `${spot.param}.filename`))
  if (name !== undefined) spot.lost.note('file_name', `${spot.pointer}/filename`)
  return told<FilePart>({ kind: 'file', source, name, cache: decodeCache(fields, spot) })
}

type SourceName = readonly [name: string, read: (text: string, param: string) => Source]

function readId(id: string): Source {
  return { kind: 'id', id }
}

/** Of several the first that is there counts. */
function findSource(
  kind: 'image' | 'file',
  fields: Fields,
  names: readonly SourceName[],
  { param, pointer, lost }: Spot,
): Source | undefined {
  let source: Source | undefined
  for (const [name, read] of names) {
    const text = findText(fields[name], `${param}.${name}`)
    if (text === undefined) continue
    if (source === undefined) {
      source = read(text, `${param}.${name}`)
      lost.note(sourceTrait(kind, source), `${pointer}/${name}`)
    } else lost.add(`${pointer}/${name}`)
  }
  return source
}

// What admission needs to know of a transcription: its fields, what kind of sound it brings and how long that plays. The
// file is judged by its bytes: its name and its type are whatever a program put there.
import type { Form, FormFile } from '../../core/form.ts'
import { NO_LOAD, type Load } from '../../core/load.ts'
import { GatewayError, invalid, quoteName } from '../../core/problem.ts'
import { durationOf } from '../../wire/audio/duration.ts'
import { formatOf, type AudioFormat } from '../../wire/audio/format.ts'
import { AudioFault } from '../../wire/audio/source.ts'
import { JsonCursor } from '../../wire/json-cursor.ts'
import type { Facts } from '../dialect.ts'
import { createDraft } from '../draft.ts'
import { isRefused, refuseField, type RefusedField } from '../refused.ts'
import {
  GRANULARITIES,
  READ_FIELDS,
  RESPONSE_FORMATS,
  TranscriptionDetail,
  type ReadField,
  type ResponseFormat,
} from './fields.ts'
import { LANGUAGES } from './languages.ts'

const MODEL_LENGTH_MAX = 256
const REGION = /^[\w-]{1,64}$/
const DECIMAL = /^\d+(?:\.\d*)?(?:e-?\d+)?$/i
/** What is passed on may stand in a header of a part as it is. */
const FIELD_NAME = /^[\w.[\]-]{1,128}$/

export async function peekForm(form: Form, defaultModel: string | undefined): Promise<Facts> {
  const entries = form.entries
  checkNames(entries.map(([name]) => name))
  const file = fileOf(form)
  const format = formatOf(file.head)
  if (format === undefined) throw unknownFormat(file)
  const { fields } = form
  const model = modelOf(fields, defaultModel)
  const region = regionOf(fields)
  checkStream(valueOf(fields, 'stream'))
  checkLanguage(valueOf(fields, 'language'))
  checkTemperature(valueOf(fields, 'temperature'))
  const asksTimes = fields.has(GRANULARITIES)
  const detail = new TranscriptionDetail(format, answerFormatOf(fields), asksTimes)
  const load = await loadOf(file, format, entries)
  return { ...NO_CHAT, model, region, load, detail }
}

/** What a conversation would have, and a file has not. */
const NO_CHAT: Omit<Facts, 'model' | 'region' | 'load' | 'detail'> = {
  stream: false,
  maxTokens: undefined,
  choices: 1,
  sessionId: undefined,
  opening: [],
  goesOn: false,
  usesTools: false,
  asksUsage: false,
  asksReasoning: false,
  thoughts: [],
  layout: {
    members: [],
    metadata: undefined,
    streamOptions: undefined,
    thinking: undefined,
    close: 0,
  },
}

/** An empty field is how many programs leave one out. */
export function valueOf(fields: Form['fields'], name: ReadField): string | undefined {
  const value = fields.get(name)
  return value === '' ? undefined : value
}

/**
 * A field that is read here must mean the same to every supplier: it comes once, in its plain spelling, and not as the
 * list that some programs make of it.
 */
function checkNames(names: readonly string[]): void {
  const seen = new Set<string>()
  for (const name of names) {
    const field = name.toLowerCase().replace(/\[.*$/, '')
    if (isRefused(field)) throw refusalOf(field)
    if (READ_FIELDS.some((each) => each === field)) {
      if (name !== field || seen.has(name))
        throw invalid(field, `Send \`${field}\` once and in its plain spelling.`)
      seen.add(name)
    } else if (!FIELD_NAME.test(name)) {
      const text = 'Fields have names of letters, digits, ".", "-", "_" and brackets.'
      throw new GatewayError('invalid_request', text)
    }
  }
}

const NOTHING = new TextEncoder().encode('null')

/** In the words that every language has for it. */
function refusalOf(field: RefusedField): GatewayError {
  const cursor = new JsonCursor()
  cursor.open(NOTHING)
  const draft = createDraft(cursor, NOTHING)
  refuseField(draft, field)
  return draft.fault ?? invalid(field, `Remove \`${field}\`.`)
}

function fileOf(form: Form): FormFile {
  if (form.fields.has('file'))
    throw invalid('file', '`file` must be a file: give its part a filename.')
  const { fileField: field } = form
  if (form.file === undefined || field !== 'file') {
    const other = field === undefined ? '' : ` The file came as \`${quoteName(field)}\`.`
    const text = `Send the audio as a file in the part \`file\`.${other}`
    throw new GatewayError('missing_fields', text, { param: 'file' })
  }
  if (form.file.bytes === 0) throw invalid('file', '`file` is empty.')
  return form.file
}

function unknownFormat({ head }: FormFile): GatewayError {
  const isAiff = Buffer.from(head.subarray(0, 4)).toString('latin1') === 'FORM'
  const found = isAiff ? ' This one is AIFF.' : ''
  return new GatewayError(
    'unsupported_media_type',
    `\`file\` must be WAV, MP3, M4A, FLAC, OGG or WebM; its first bytes are of none of them.${found}`,
    { param: 'file' },
  )
}

function modelOf(fields: Form['fields'], defaultModel: string | undefined): string {
  const model = valueOf(fields, 'model') ?? defaultModel
  if (model === undefined)
    throw new GatewayError(
      'missing_model',
      'Name the model in `model`: the operator has set none in `defaults.transcription`.',
      { param: 'model' },
    )
  if (model.length <= MODEL_LENGTH_MAX) return model
  throw invalid(
    'model',
    `\`model\` must be the id of a model, of at most ${MODEL_LENGTH_MAX} characters.`,
  )
}

function regionOf(fields: Form['fields']): string | undefined {
  const region = valueOf(fields, 'region')
  if (region === undefined || REGION.test(region)) return region?.toUpperCase()
  throw invalid(
    'region',
    '`region` must be the name of a region such as EU: letters, digits, - and _.',
  )
}

function checkStream(stream: string | undefined): void {
  if (stream === undefined || stream.toLowerCase() === 'false') return
  if (stream.toLowerCase() !== 'true') throw invalid('stream', '`stream` must be true or false.')
  const text = 'Transcriptions are not streamed here: leave `stream` out.'
  throw new GatewayError('unsupported_parameter', text, { param: 'stream' })
}

function checkLanguage(language: string | undefined): void {
  if (language === undefined || LANGUAGES.has(language)) return
  throw invalid(
    'language',
    '`language` must be the two letters of ISO 639-1, such as en, de or ja; without it the language is found out.',
  )
}

function checkTemperature(temperature: string | undefined): void {
  if (temperature === undefined) return
  const isRight = DECIMAL.test(temperature) && Number(temperature) <= 1
  if (!isRight) throw invalid('temperature', '`temperature` must be a number from 0 to 1.')
}

function answerFormatOf(fields: Form['fields']): ResponseFormat {
  const asked = valueOf(fields, 'response_format') ?? 'json'
  const format = RESPONSE_FORMATS.find((each) => each === asked)
  if (format !== undefined) return format
  throw invalid(
    'response_format',
    `\`response_format\` must be one of ${RESPONSE_FORMATS.join(', ')}.`,
  )
}

async function loadOf(
  file: FormFile,
  format: AudioFormat,
  entries: Form['entries'],
): Promise<Load> {
  const bytes = entries.reduce((sum, [, value]) => sum + Buffer.byteLength(value), 0)
  const seconds = await secondsOf(file, format)
  return { ...NO_LOAD, bytes, messages: 1, audioBytes: file.bytes, units: { seconds } }
}

async function secondsOf(file: FormFile, format: AudioFormat): Promise<number> {
  try {
    return (await durationOf(file, format)).seconds
  } catch (thrown) {
    // What is wrong with the file is for its sender to hear; all else is ours.
    if (thrown instanceof AudioFault) throw invalid('file', thrown.message)
    throw thrown
  }
}

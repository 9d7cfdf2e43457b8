// The fields of a transcription that the gateway reads itself. All others pass as they are.
import { KeySet } from '../../wire/key-set.ts'
import type { AudioFormat } from '../../wire/audio/format.ts'
import type { Facts } from '../dialect.ts'
import { QuirkBook } from '../quirks.ts'
import { REFUSED_FIELDS } from '../refused.ts'

export const RESPONSE_FORMATS = ['json', 'text', 'verbose_json', 'srt', 'vtt'] as const
export type ResponseFormat = (typeof RESPONSE_FORMATS)[number]

export const READ_FIELDS = [
  'file',
  'model',
  'language',
  'prompt',
  'response_format',
  'temperature',
  'stream',
  'region',
] as const
export type ReadField = (typeof READ_FIELDS)[number]

export const GRANULARITIES = 'timestamp_granularities[]'

/** What has to be known of the request when it is sent and when its answer comes. */
export class TranscriptionDetail {
  readonly format: AudioFormat
  readonly answer: ResponseFormat
  readonly asksTimes: boolean

  constructor(format: AudioFormat, answer: ResponseFormat, asksTimes: boolean) {
    this.format = format
    this.answer = answer
    this.asksTimes = asksTimes
  }
}

export function detailOf(facts: Facts | undefined): TranscriptionDetail | undefined {
  return facts?.detail instanceof TranscriptionDetail ? facts.detail : undefined
}

const FREE_FIELDS = new Set(['language', 'prompt', 'temperature'])

export const transcriptionQuirks = new QuirkBook({
  keys: new KeySet([...READ_FIELDS, ...REFUSED_FIELDS]),
  free: FREE_FIELDS,
  droppable: FREE_FIELDS,
  advice: { model: ': set `as` to say how the supplier calls it' },
  hasTwoLimits: false,
})

// The demo's transcripts. No model listens: what demo/speak has made is read back from its comment, and of every other
// file it is told what it is and how long it plays.
import { AudioFault, type AudioSource } from '../../wire/audio/source.ts'
import { durationOf } from '../../wire/audio/duration.ts'
import { formatOf } from '../../wire/audio/format.ts'
import type { Json } from './json.ts'
import { badRequest } from './refusal.ts'
import { missing } from './request.ts'
import { readSpokenText } from './sound-file.ts'
import { answerJson, type TaskAnswer, type TaskRequest } from './task.ts'

const FORMATS = ['json', 'text', 'verbose_json', 'srt', 'vtt'] as const

type Format = (typeof FORMATS)[number]

interface Transcript {
  readonly text: string
  readonly language: string
  readonly seconds: number
}

export async function readTranscribeRequest(request: Request): Promise<TaskRequest> {
  const form = await readForm(request)
  const model = form.get('model')
  const file = form.get('file')
  if (typeof model !== 'string') throw missing('model')
  if (file === null || typeof file === 'string') throw missing('file')
  const format = readFormat(form.get('response_format'))
  const language = form.get('language')
  const heard = await hear(Buffer.from(await file.arrayBuffer()))
  const transcript = { ...heard, language: typeof language === 'string' ? language : 'en' }
  const usage = { usage: { type: 'duration', seconds: heard.seconds } }
  return {
    model,
    compose: ({ hidesUsage }) => PRINTERS[format](transcript, hidesUsage ? {} : usage),
  }
}

async function readForm(request: Request): ReturnType<Request['formData']> {
  try {
    return await request.formData()
  } catch {
    // The runtime's own words differ from version to version; what follows is what clients can act on.
    throw badRequest('We could not parse the form of your request.', 'file')
  }
}

function readFormat(value: unknown): Format {
  const format = FORMATS.find((each) => each === (value ?? 'json'))
  if (format !== undefined) return format
  throw badRequest(
    `Invalid 'response_format': expected one of ${FORMATS.join(', ')}.`,
    'response_format',
  )
}

async function hear(file: Buffer): Promise<Omit<Transcript, 'language'>> {
  const format = formatOf(file)
  if (format === undefined) throw badRequest("Invalid 'file': this is no audio.", 'file')
  const source: AudioSource = {
    bytes: file.length,
    read: (from, length) => Promise.resolve(file.subarray(from, from + length)),
  }
  try {
    const { seconds, isTold } = await durationOf(source, format)
    const length = isTold ? `plays for ${seconds} s` : 'does not tell how long it plays'
    const told = `Demo supplier: no model listened. This ${format} file has ${file.length} bytes and ${length}.`
    return { text: readSpokenText(file) ?? told, seconds }
  } catch (thrown) {
    if (thrown instanceof AudioFault) throw badRequest(`Invalid 'file': ${thrown.message}`, 'file')
    throw thrown
  }
}

type Printer = (transcript: Transcript, usage: Json) => TaskAnswer

/** Only JSON has room for what was used. */
const PRINTERS: Readonly<Record<Format, Printer>> = {
  json: ({ text }, usage) => answerJson({ text, ...usage }),
  verbose_json: (transcript, usage) => answerJson({ ...verbose(transcript), ...usage }),
  text: ({ text }) => answerText(`${text}\n`),
  srt: ({ text, seconds }) => answerText(`1\n${span(seconds, ',')}\n${oneLine(text)}\n\n`),
  vtt: ({ text, seconds }) => answerText(`WEBVTT\n\n${span(seconds, '.')}\n${oneLine(text)}\n\n`),
}

/** Subtitles, too, as the makers of such models send them. */
function answerText(body: string): TaskAnswer {
  return { body, contentType: 'text/plain; charset=utf-8' }
}

function verbose({ text, language, seconds }: Transcript): Json {
  const segment = {
    id: 0,
    seek: 0,
    start: 0,
    end: seconds,
    text,
    tokens: [],
    temperature: 0,
    avg_logprob: -0.1,
    compression_ratio: 1,
    no_speech_prob: 0,
  }
  return { task: 'transcribe', language, duration: seconds, text, segments: [segment] }
}

/** The one subtitle that there is lasts as long as the file. */
function span(seconds: number, mark: ',' | '.'): string {
  return `00:00:00${mark}000 --> ${clock(seconds)}${mark}000`
}

function clock(seconds: number): string {
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
  return parts.map((part) => String(part).padStart(2, '0')).join(':')
}

/** An empty line would end the subtitle. */
function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}

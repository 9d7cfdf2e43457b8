// Proves that an answer is a transcription, reads what it tells of its cost, and hands it on in the format that was asked
// for. JSON passes as it is; what a supplier has no format for is said to be lost.
import { isUtf8 } from 'node:buffer'
import { advise, asLate, type GatewayError } from '../../core/problem.ts'
import { NO_TOKENS, type Usage } from '../../core/usage.ts'
import type { AnswerFacts, Expressed, Facts } from '../dialect.ts'
import { Told } from '../figures.ts'
import { asFields, isBlank, parseJson, type Fields } from '../json.ts'
import { problem } from '../openai-chat/problem.ts'
import { detailOf, GRANULARITIES, type ResponseFormat } from './fields.ts'

const CONTENT_TYPES = {
  text: 'text/plain; charset=utf-8',
  srt: 'application/x-subrip; charset=utf-8',
  vtt: 'text/vtt; charset=utf-8',
} as const

const decoder = new TextDecoder()
const encoder = new TextEncoder()

export function readAnswer(bytes: Uint8Array, facts?: Facts): AnswerFacts {
  const asked = detailOf(facts)?.answer ?? 'json'
  if (bytes.length === 0) throw advise('empty_response', 'The supplier sent nothing.')
  if (!isUtf8(bytes)) throw invalidAnswer('The supplier sent an answer that is not text.')
  const fields = asFields(parseObject(bytes))
  if (fields !== undefined) return readFields(fields, bytes)
  if (isJson(asked)) throw notJson(bytes)
  checkText(decoder.decode(bytes), asked)
  return { usage: undefined, outputBytes: bytes.length, audioBytes: 0, hasUnreadUsage: false }
}

export function express(bytes: Uint8Array, facts: Facts): Expressed {
  const detail = detailOf(facts)
  const asked = detail?.answer ?? 'json'
  if (asked === 'json') return { bytes }
  const fields = asFields(parseObject(bytes))
  const times = detail?.asksTimes === true ? [`/${GRANULARITIES}`] : []
  const losses = ['/response_format', ...times]
  if (asked === 'verbose_json') return isVerbose(fields) ? { bytes } : { bytes, losses }
  const contentType = CONTENT_TYPES[asked]
  if (fields === undefined) return { bytes, contentType }
  // The text alone can be told from any answer; when it was said cannot.
  if (asked !== 'text') return { bytes, losses }
  return { bytes: encoder.encode(`${String(fields['text'])}\n`), contentType }
}

function isJson(format: ResponseFormat): boolean {
  return format === 'json' || format === 'verbose_json'
}

/** A text that begins otherwise is no object, and need not be parsed to know it. */
function parseObject(bytes: Uint8Array): unknown {
  let at = 0
  while (bytes[at] !== undefined && bytes[at]! <= 0x20) at++
  return bytes[at] === 0x7b ? parseJson(bytes) : undefined
}

function isVerbose(fields: Fields | undefined): boolean {
  return fields !== undefined && ('segments' in fields || 'words' in fields || 'duration' in fields)
}

function readFields(fields: Fields, bytes: Uint8Array): AnswerFacts {
  const { text, error } = fields
  if (!isBlank(error)) {
    const failure = problem.decode(0, bytes)
    throw typeof text === 'string' ? asLate(failure) : failure
  }
  if (Object.keys(fields).length === 0)
    throw advise('empty_response', 'The supplier sent an empty object.')
  if (typeof text !== 'string') throw invalidAnswer('The supplier sent an answer without `text`.')
  const told = new Told()
  const usage = readUsage(fields, told)
  return {
    usage,
    outputBytes: usage === undefined ? Buffer.byteLength(text) : 0,
    audioBytes: 0,
    hasUnreadUsage: told.isUnread,
  }
}

/** Of seconds or of tokens; Mistral tells both (seen 2026-11). What plays for no time was not measured. */
function readUsage(fields: Fields, told: Told): Usage | undefined {
  const usage = asFields(fields['usage'])
  const input = told.count(usage, 'input_tokens', 'prompt_tokens')
  const output = told.count(usage, 'output_tokens', 'completion_tokens')
  const parts = asFields(usage?.['input_token_details'] ?? usage?.['prompt_tokens_details'])
  const audio = told.count(parts, 'audio_tokens') ?? 0
  const seconds = findSeconds(usage, fields['duration'], told)
  if (input === undefined && output === undefined && seconds === undefined) return undefined
  return {
    ...NO_TOKENS,
    inputTokens: input ?? 0,
    audioInputTokens: Math.min(audio, input ?? 0),
    outputTokens: output ?? 0,
    ...(seconds !== undefined && { units: { seconds } }),
  }
}

function findSeconds(usage: Fields | undefined, duration: unknown, told: Told): number | undefined {
  return (
    readSeconds(usage?.['seconds'], told) ??
    readSeconds(usage?.['prompt_audio_seconds'], told) ??
    readSeconds(duration, told)
  )
}

/** More than a file can play. */
const SECONDS_MAX = 1_000_000_000

/** One that has begun counts. Some tell it as text. */
function readSeconds(value: unknown, told: Told): number | undefined {
  if (value === undefined || value === null) return undefined
  const seconds = typeof value === 'string' && value !== '' ? Number(value) : value
  if (typeof seconds !== 'number' || !(seconds >= 0 && seconds <= SECONDS_MAX)) {
    told.isUnread = true
    return undefined
  }
  return seconds === 0 ? undefined : Math.ceil(seconds)
}

/** No more than a look: whether it is what its format begins with, and no page of a server in between. */
function checkText(text: string, asked: ResponseFormat): void {
  const start = text.trimStart()
  if (/^<(?:!doctype|html|\?xml)/i.test(start))
    throw advise('non_json_provider_response', 'The supplier sent a page, and no transcription.')
  if (asked === 'vtt' && !start.replace(/^\uFEFF/, '').startsWith('WEBVTT'))
    throw invalidAnswer('The supplier sent an answer that is not WebVTT.')
  if (asked === 'srt' && start !== '' && !text.includes('-->'))
    throw invalidAnswer('The supplier sent an answer that is not SubRip.')
}

function notJson(bytes: Uint8Array): GatewayError {
  const text = decoder.decode(bytes).trimStart()
  if (text === '') return advise('empty_response', 'The supplier sent nothing.')
  if (text.startsWith('{')) return invalidAnswer('The supplier sent broken JSON.')
  return advise('non_json_provider_response', 'The supplier sent no JSON object.')
}

function invalidAnswer(text: string): GatewayError {
  return advise('upstream_invalid_response', text)
}

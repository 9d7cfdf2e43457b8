// Suppliers that do every task but chat, and a gateway in front of them: each answers as its maker's public reference
// says, from what it was sent alone, so that a test can tell one answer from another.
import { createHash } from 'node:crypto'
import { toPicoUsd, type PicoUsd } from '../../src/core/money.ts'
import type { Task } from '../../src/core/task.ts'
import type { Price } from '../../src/core/usage.ts'
import { openaiChat } from '../../src/dialects/openai-chat/index.ts'
import { openaiEmbeddings } from '../../src/dialects/openai-embeddings/index.ts'
import { openaiSpeech } from '../../src/dialects/openai-speech/index.ts'
import { openaiTranscriptions } from '../../src/dialects/openai-transcriptions/index.ts'
import { rerank } from '../../src/dialects/rerank/index.ts'
import type { ModelRoute, Service, Supplier } from '../../src/suppliers/supplier.ts'
import { startGateway, supplierAt, type Gateway, type GatewayOptions } from './gateway.ts'
import { good, tidy } from './street.ts'
import {
  startFakeSupplier,
  type FakeReply,
  type FakeRequest,
  type FakeSupplier,
  type Script,
} from './supplier.ts'

const ZERO = toPicoUsd(0)
function priceOf(rates: Partial<Price>): Price {
  return { input: ZERO, output: ZERO, ...rates }
}

/** Pico-dollars a unit. */
export const RATES = {
  'test-model': { input: 150_000, output: 600_000 },
  'test-embed': { input: 20_000 },
  'test-rank': { search: 2_000_000_000 },
  'test-hear': { second: 100_000_000 },
  'test-speak': { character: 15_000_000 },
} as const
export type TaskModel = keyof typeof RATES

const TASKS: Readonly<Record<TaskModel, Task>> = {
  'test-model': 'chat',
  'test-embed': 'embedding',
  'test-rank': 'rerank',
  'test-hear': 'transcription',
  'test-speak': 'speech',
}

export const PATHS = {
  embed: '/v1/embeddings',
  rank: '/v1/rerank',
  hear: '/v1/audio/transcriptions',
  speak: '/v1/audio/speech',
} as const

export const TASK_SERVICES: readonly Service[] = [
  { dialect: openaiEmbeddings, path: PATHS.embed },
  { dialect: rerank, path: PATHS.rank },
  { dialect: openaiTranscriptions, path: PATHS.hear },
  { dialect: openaiSpeech, path: PATHS.speak },
]
const SERVICES: readonly Service[] = [
  { dialect: openaiChat, path: '/v1/chat/completions' },
  ...TASK_SERVICES,
]

/** A supplier of all tasks, whose models have the names of `RATES`; it embeds so many texts at once. */
export function tasksAt(
  origin: string,
  changes: Partial<Supplier> = {},
  inputsMax?: number,
): Supplier {
  const toRoute = ([id, rates]: [string, Readonly<Record<string, number>>]): [
    string,
    ModelRoute,
  ] => {
    const pico = Object.entries(rates).map(([unit, rate]): [string, PicoUsd] => [
      unit,
      toPicoUsd(rate),
    ])
    const price = priceOf(Object.fromEntries(pico))
    const task = TASKS[id as TaskModel]
    return [id, { as: `their-${id}`, prices: [{ from: 0, price }], ownedBy: 'maker', task }]
  }
  return supplierAt(origin, {
    services: SERVICES.map((service) =>
      service.dialect === openaiEmbeddings && inputsMax !== undefined
        ? { ...service, inputsMax }
        : service,
    ),
    models: new Map(Object.entries(RATES).map(toRoute)),
    ...changes,
  })
}

export function pathOf({ head }: FakeRequest): string {
  return head.split(' ', 2)[1] ?? ''
}

export function bodyOf({ body }: FakeRequest): unknown {
  return JSON.parse(body.toString())
}

/** Numbers that nobody else's text has, each exactly a number of 32 bits. */
export function vectorOf(input: unknown): readonly number[] {
  const bytes = createHash('sha256').update(JSON.stringify(input)).digest()
  return Array.from({ length: 8 }, (_, index) => (bytes[index]! - 128) / 256)
}

export function toBase64(vector: readonly number[]): string {
  return Buffer.from(Float32Array.from(vector).buffer).toString('base64')
}

export interface EmbedRequest {
  readonly model: string
  readonly input: string | readonly unknown[]
  readonly encoding_format?: string
  readonly dimensions?: number
}

/** One text, one list of tokens, or a list of either. */
function inputsOf(input: EmbedRequest['input']): readonly unknown[] {
  return typeof input === 'string' || typeof input[0] === 'number' ? [input] : input
}

function tokensOf(input: unknown): number {
  return typeof input === 'string' ? Math.max(1, Math.ceil(input.length / 4)) : (input as []).length
}

/** `knows`: the one format that it answers in, whatever it is asked for. */
export function embed(request: FakeRequest, reply: FakeReply, knows?: 'float' | 'base64'): void {
  const { input, encoding_format: asked } = bodyOf(request) as EmbedRequest
  const inputs = inputsOf(input)
  const isText = (knows ?? asked) === 'base64'
  const data = inputs.map((each, index) => {
    const vector = vectorOf(each)
    return { object: 'embedding', index, embedding: isText ? toBase64(vector) : vector }
  })
  const tokens = inputs.reduce<number>((sum, each) => sum + tokensOf(each), 0)
  const usage = { prompt_tokens: tokens, total_tokens: tokens }
  reply.json(200, { object: 'list', data, model: 'their-test-embed', usage })
}

/** By how many words of the question a document has. */
export function scoreOf(query: string, text: string): number {
  const words = new Set(query.toLowerCase().split(/\W+/))
  const shared = text
    .toLowerCase()
    .split(/\W+/)
    .filter((word) => words.has(word)).length
  return shared / (shared + 1)
}

function rank(request: FakeRequest, reply: FakeReply): void {
  const body = bodyOf(request) as {
    readonly query: string
    readonly documents: readonly string[]
    readonly top_n?: number
  }
  const results = body.documents
    .map((text, index) => ({ index, relevance_score: scoreOf(body.query, text) }))
    .toSorted((left, right) => right.relevance_score - left.relevance_score)
    .slice(0, body.top_n ?? body.documents.length)
  const meta = { api_version: { version: '2' }, billed_units: { search_units: 1 } }
  reply.json(200, { id: 'rank-1', results, meta })
}

/** A sound of so many seconds: PCM of 8 bits, 8000 a second, one channel. */
export function waveOf(seconds: number): Buffer {
  const rate = 8000
  const data = Buffer.alloc(Math.round(seconds * rate), 128)
  const head = Buffer.alloc(44)
  head.write('RIFF', 0)
  head.writeUInt32LE(36 + data.length, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(rate, 24)
  head.writeUInt32LE(rate, 28)
  head.writeUInt16LE(1, 32)
  head.writeUInt16LE(8, 34)
  head.write('data', 36)
  head.writeUInt32LE(data.length, 40)
  return Buffer.concat([head, data])
}

/** What stands in a form that a supplier was sent. */
export async function formOf({ headers, body }: FakeRequest): Promise<FormData> {
  const type = headers.get('content-type') ?? ''
  return (await new Response(new Uint8Array(body), {
    headers: { 'content-type': type },
  }).formData()) as FormData
}

const SPAN = '00:00:00'

async function hear(request: FakeRequest, reply: FakeReply): Promise<void> {
  const form = await formOf(request)
  const file = form.get('file') as File
  const text = `I heard ${file.size} bytes.`
  const seconds = Math.ceil((file.size - 44) / 8000)
  const usage = { type: 'duration', seconds }
  const said = { segments: [{ id: 0, start: 0, end: 1, text }], language: 'english', words: [] }
  switch (form.get('response_format')) {
    case 'text':
      return reply.json(200, `${text}\n`, { 'content-type': 'text/plain; charset=utf-8' })
    case 'srt':
      return reply.json(200, `1\n${SPAN},000 --> ${SPAN},900\n${text}\n`, {
        'content-type': 'text/plain; charset=utf-8',
      })
    case 'vtt':
      return reply.json(200, `WEBVTT\n\n${SPAN}.000 --> ${SPAN}.900\n${text}\n`, {
        'content-type': 'text/vtt; charset=utf-8',
      })
    case 'verbose_json':
      return reply.json(200, { task: 'transcribe', duration: seconds, text, ...said, usage })
    default:
      return reply.json(200, { text, usage })
  }
}

/** The sound of a text: the same bytes for the same text. */
export function soundOf(text: string, format = 'mp3'): Buffer {
  if (format === 'wav') return waveOf(text.length / 10)
  const frame = Buffer.alloc(417, text.length)
  frame.set([0xff, 0xfb, 0x90, 0x00])
  return Buffer.concat(Array.from({ length: 8 + text.length }, () => frame))
}

function speak(request: FakeRequest, reply: FakeReply): void {
  const { input, response_format: format = 'mp3' } = bodyOf(request) as {
    readonly input: string
    readonly response_format?: string
  }
  const bytes = soundOf(input, format)
  const type = format === 'wav' ? 'audio/wav' : 'audio/mpeg'
  const stream = reply.stream({ 'content-type': type })
  for (let from = 0; from < bytes.length; from += 1000)
    stream.send(bytes.subarray(from, from + 1000))
  stream.end()
}

/** Does whatever it is asked for. */
export const able: Script = (request, reply, index) => {
  switch (pathOf(request)) {
    case PATHS.embed:
      return embed(request, reply)
    case PATHS.rank:
      return rank(request, reply)
    case PATHS.hear:
      return hear(request, reply)
    case PATHS.speak:
      return speak(request, reply)
    default:
      return good(request, reply, index)
  }
}

export interface Workshop {
  readonly gateway: Gateway
  readonly supplier: FakeSupplier
}

/** A gateway in front of one supplier of all tasks; both are stopped by `closeStreet`. */
export async function openWorkshop(
  script: Script = able,
  options: GatewayOptions & { readonly inputsMax?: number } = {},
): Promise<Workshop> {
  const { inputsMax, ...rest } = options
  const supplier = tidy(await startFakeSupplier(script))
  const suppliers = [tasksAt(supplier.origin, {}, inputsMax)]
  const gateway = tidy(await startGateway({ suppliers, ...rest }))
  return { gateway, supplier }
}

// What every kind of supplier is sent for what is no chat: the path, the signature and the fields that it insists on, by
// a loopback that refuses all others; and that the caller gets what it asked for all the same.
import { afterAll, beforeAll, describe, expect, it } from 'bun:test'
import { kinds } from '../src/suppliers/index.ts'
import { MARK } from './fakes/canary.ts'
import { ROOT_KEY, startGateway, type Gateway } from './fakes/gateway.ts'
import { startFakeSupplier, type FakeRequest, type FakeSupplier } from './fakes/supplier.ts'

const KEY = `${MARK}-supplier-1234567890`
const TASKS = ['embedding', 'rerank', 'transcription', 'speech'] as const
type Task = (typeof TASKS)[number]

const VECTORS = [
  [0.5, -0.25],
  [1, 0],
]
const BASE64 = VECTORS.map((vector) =>
  Buffer.from(new Float32Array(vector).buffer).toString('base64'),
)

/** A tenth of a second of silence. */
const WAV = wav(800)

function wav(samples: number): Buffer {
  const head = Buffer.alloc(44)
  head.write('RIFF', 0)
  head.writeUInt32LE(36 + samples * 2, 4)
  head.write('WAVEfmt ', 8)
  for (const [at, value] of [
    [16, 16],
    [24, 8000],
    [28, 16_000],
  ] as const)
    head.writeUInt32LE(value, at)
  for (const [at, value] of [
    [20, 1],
    [22, 1],
    [32, 2],
    [34, 16],
  ] as const)
    head.writeUInt16LE(value, at)
  head.write('data', 36)
  head.writeUInt32LE(samples * 2, 40)
  return Buffer.concat([head, Buffer.alloc(samples * 2)])
}

let supplier: FakeSupplier
let gateway: Gateway
/** What the supplier does not have by another name, or at all: it answers with floats whatever it is asked. */
beforeAll(async () => {
  supplier = await startFakeSupplier((request, reply) => {
    const path = pathOf(request)
    if (path.includes('/embeddings'))
      return reply.json(200, { object: 'list', model: 'm', data: embed(request) })
    if (path.includes('/rerank')) return reply.json(200, rank(path))
    if (path.includes('/transcriptions')) return reply.json(200, { text: 'Hello', segments: [] })
    reply.raw(
      Buffer.concat([
        Buffer.from(
          `HTTP/1.1 200 OK\r\ncontent-type: audio/wav\r\ncontent-length: ${WAV.length}\r\n\r\n`,
        ),
        WAV,
      ]),
    )
  })
  gateway = await startGateway({ config: describeAll(supplier), environment: { THE_KEY: KEY } })
})

afterAll(async () => {
  await gateway.stop()
  await supplier.stop()
})

function embed(request: FakeRequest): readonly object[] {
  const { input } = sentTo(request) as { input: readonly string[] }
  return input.map((_, index) => ({ object: 'embedding', index, embedding: VECTORS[index % 2]! }))
}

const RANKED = [
  { index: 1, relevance_score: 0.9 },
  { index: 0, relevance_score: 0.1 },
]

function rank(path: string): object {
  return path.startsWith('/voyage')
    ? { object: 'list', data: RANKED, usage: { total_tokens: 5 } }
    : { results: RANKED, meta: { billed_units: { search_units: 1 } } }
}

/** Every kind by its own name, at a prefix of its own, with a model for each task that it has. */
function describeAll({ origin }: FakeSupplier): string {
  const lines = kinds.flatMap(({ id, services, versionOf }) => {
    const tasks = TASKS.filter((task) => services.some(({ dialect }) => dialect.task === task))
    if (tasks.length === 0) return []
    const versions = versionOf === undefined ? [undefined] : ['v1', '2025-04-01-preview']
    return versions.flatMap((version) => [
      `  ${id}${version?.startsWith('20') === true ? '-dated' : ''}:`,
      `    kind: ${id}`,
      `    origin: ${origin}/${id}`,
      '    allow_private: true',
      '    credential: ${THE_KEY}',
      ...(version === undefined ? [] : [`    api_version: "${version}"`]),
      '    models:',
      ...tasks.map((task) => `      ${task}-model: { as: up/${task}, price: free }`),
    ])
  })
  const models = TASKS.map((task) => `  ${task}-model: { kind: ${task} }`)
  return ['suppliers:', ...lines, 'models:', ...models, ''].join('\n')
}

function pathOf({ head }: FakeRequest): string {
  return head.split(' ')[1]!
}

function sentTo({ body }: FakeRequest): unknown {
  return JSON.parse(body.toString())
}

/** What the supplier got of the one request that was just sent. */
async function ask(
  path: string,
  body: object | FormData,
): Promise<readonly [Response, FakeRequest]> {
  const before = supplier.requests.length
  const isForm = body instanceof FormData
  const response = await fetch(gateway.url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${ROOT_KEY}`,
      ...(isForm ? {} : { 'content-type': 'application/json' }),
    },
    body: isForm ? body : JSON.stringify(body),
  })
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`)
  expect(supplier.requests).toHaveLength(before + 1)
  return [response, supplier.requests[before]!]
}

function expectDoor(request: FakeRequest, kind: string, path: string): void {
  expect(pathOf(request)).toBe(`/${kind}${path}`)
  const isAzure = kind === 'azure'
  expect(request.headers.get('authorization')).toBe(isAzure ? undefined : `Bearer ${KEY}`)
  expect(request.headers.get('api-key')).toBe(isAzure ? KEY : undefined)
}

const DEPLOYED = (task: Task, path: string): string =>
  `/openai/deployments/up%2F${task}/${path}?api-version=2025-04-01-preview`

describe('vectors', () => {
  const asked = { input: ['one', 'two'], encoding_format: 'base64', dimensions: 2, user: 'u' }
  const ALL = { encoding_format: 'base64', dimensions: 2, user: 'u' }
  it.each([
    ['openai', '/v1/embeddings', ALL],
    ['azure', '/openai/v1/embeddings', ALL],
    ['azure-dated', DEPLOYED('embedding', 'embeddings'), ALL],
    ['mistral', '/v1/embeddings', { encoding_format: 'base64', output_dimension: 2 }],
    ['together', '/v1/embeddings', ALL],
    ['openrouter', '/api/v1/embeddings', ALL],
    ['gemini', '/v1beta/openai/embeddings', { dimensions: 2 }],
    ['fireworks', '/inference/v1/embeddings', ALL],
    ['nebius', '/v1/embeddings', ALL],
    ['cohere', '/compatibility/v1/embeddings', { dimensions: 2, encoding_format: 'float' }],
    ['voyage', '/v1/embeddings', { output_dimension: 2 }],
    ['jina', '/v1/embeddings', { dimensions: 2 }],
    ['ollama', '/v1/embeddings', ALL],
    ['openai-compatible', '/v1/embeddings', ALL],
  ])('of %s are asked for at %s', async (id, path, fields) => {
    const model = `${id}/embedding-model`
    const [response, request] = await ask('/v1/embeddings', { model, region: null, ...asked })
    expectDoor(request, id.replace('-dated', ''), path)
    expect(sentTo(request)).toEqual({ model: 'up/embedding', input: asked.input, ...fields })
    const { data } = (await response.json()) as { data: readonly { embedding: unknown }[] }
    expect(data.map(({ embedding }) => embedding)).toEqual(BASE64)
  })

  it('come from as many requests as it takes', async () => {
    const before = supplier.requests.length
    const input = Array.from({ length: 101 }, (_, index) => `text ${index}`)
    const response = await fetch(`${gateway.url}/v1/embeddings`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ROOT_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'cohere/embedding-model', input }),
    })
    const { data } = (await response.json()) as { data: readonly { index: number }[] }
    expect(data.map(({ index }) => index)).toEqual(input.map((_, index) => index))
    const sent = supplier.requests.slice(before).map((request) => sentTo(request))
    const sizes = sent.map((each) => (each as { input: readonly string[] }).input.length)
    expect(sizes).toHaveLength(2)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(96)
  })
})

describe('rankings', () => {
  const documents = ['first', { text: 'second' }, 'third']
  const texts = ['first', 'second', 'third']
  const asked = { query: 'which?', documents, top_n: 2, return_documents: true }
  it.each([
    ['cohere', '/v2/rerank', { top_n: 2 }],
    ['voyage', '/v1/rerank', { top_k: 2 }],
    ['jina', '/v1/rerank', { top_n: 2, return_documents: false }],
    ['together', '/v1/rerank', { top_n: 2 }],
    ['openrouter', '/api/v1/rerank', { top_n: 2 }],
    ['openai-compatible', '/v1/rerank', { top_n: 2 }],
  ])('of %s are asked for at %s', async (id, path, fields) => {
    const [response, request] = await ask('/v1/rerank', { model: `${id}/rerank-model`, ...asked })
    expectDoor(request, id, path)
    const sent = { model: 'up/rerank', query: 'which?', documents: texts, ...fields }
    expect(sentTo(request)).toEqual(sent)
    expect(await response.json()).toMatchObject({
      results: [
        { index: 1, relevance_score: 0.9, document: { text: 'second' } },
        { index: 0, relevance_score: 0.1, document: { text: 'first' } },
      ],
    })
  })
})

describe('transcripts', () => {
  const ASKED_FOR = 'verbose_json'
  const PRESENT = `/openai/deployments/up%2Ftranscription/audio/transcriptions?api-version=2025-03-01-preview`
  it.each([
    ['openai', '/v1/audio/transcriptions', ASKED_FOR],
    ['azure', PRESENT, ASKED_FOR],
    ['azure-dated', DEPLOYED('transcription', 'audio/transcriptions'), ASKED_FOR],
    ['mistral', '/v1/audio/transcriptions', 'json'],
    ['groq', '/openai/v1/audio/transcriptions', ASKED_FOR],
    ['openrouter', '/api/v1/audio/transcriptions', ASKED_FOR],
    ['openai-compatible', '/v1/audio/transcriptions', ASKED_FOR],
  ])('of %s are asked for at %s, as %s', async (id, path, format) => {
    const form = new FormData()
    form.set('file', new File([WAV], 'a.wav', { type: 'audio/wav' }))
    form.set('model', `${id}/transcription-model`)
    form.set('response_format', ASKED_FOR)
    form.set('region', '')
    const [response, request] = await ask('/v1/audio/transcriptions', form)
    expectDoor(request, id.replace('-dated', ''), path)
    const sent = await new Response(new Uint8Array(request.body), {
      headers: { 'content-type': request.headers.get('content-type')! },
    }).formData()
    expect(sent.get('model')).toBe('up/transcription')
    expect(sent.get('response_format')).toBe(format)
    expect(sent.has('region')).toBe(false)
    const file = sent.get('file') as unknown as Blob
    expect(Buffer.from(await file.arrayBuffer()).equals(WAV)).toBe(true)
    expect(await response.json()).toMatchObject({ text: 'Hello' })
  })
})

describe('speech', () => {
  const ALLOY = { voice: 'alloy' }
  it.each([
    ['openai', '/v1/audio/speech', ALLOY],
    ['azure', '/openai/v1/audio/speech?api-version=preview', ALLOY],
    ['azure-dated', DEPLOYED('speech', 'audio/speech'), ALLOY],
    ['groq', '/openai/v1/audio/speech', { voice: 'autumn', response_format: 'wav' }],
    ['together', '/v1/audio/speech', {}],
    ['openrouter', '/api/v1/audio/speech', {}],
    ['openai-compatible', '/v1/audio/speech', {}],
  ])('of %s is asked for at %s', async (id, path, fields) => {
    const model = `${id}/speech-model`
    const [response, request] = await ask('/v1/audio/speech', { model, input: 'Hello' })
    expectDoor(request, id.replace('-dated', ''), path)
    expect(sentTo(request)).toEqual({ model: 'up/speech', input: 'Hello', ...fields })
    // What the bytes are, whatever was asked for.
    expect(response.headers.get('content-type')).toBe('audio/wav')
    expect(Buffer.from(await response.arrayBuffer()).equals(WAV)).toBe(true)
  })

  it('keeps the voice that is asked for', async () => {
    const asked = { model: 'groq/speech-model', input: 'Hello', voice: 'hannah' }
    const [, request] = await ask('/v1/audio/speech', asked)
    expect(sentTo(request)).toMatchObject({ voice: 'hannah', response_format: 'wav' })
  })
})

it('every kind that does more than chat is in these tables', () => {
  const offered = kinds.flatMap(({ id, services }) =>
    services.flatMap(({ dialect }) => (dialect.task === undefined ? [] : `${id} ${dialect.task}`)),
  )
  const asked = supplier.requests.map((request) => pathOf(request))
  const isAsked = (kind: string, task: string): boolean =>
    asked.some((path) => path.startsWith(`/${kind}/`) && path.includes(WORDS[task as Task]))
  const missing = offered.filter((each) => !isAsked(...(each.split(' ') as [string, string])))
  expect(missing).toEqual([])
})

const WORDS: Readonly<Record<Task, string>> = {
  embedding: '/embeddings',
  rerank: '/rerank',
  transcription: '/audio/transcriptions',
  speech: '/audio/speech',
}

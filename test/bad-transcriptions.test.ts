// Bad requests for transcriptions over the wire: each gets the status and the code that say what is wrong with it, none
// reaches a supplier, and none leaves a file behind. What only looks wrong must pass.
import { afterAll, beforeAll, describe, expect, it } from 'bun:test'
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { supplierAt, ROOT_KEY, startGateway, type Gateway } from './fakes/gateway.ts'
import { createFakeClock } from './fakes/clock.ts'
import { flac, mp3, mp4, opus, wav, webm } from './fakes/audio-files.ts'
import { SPEECH, transcriberAt, TRANSCRIPTIONS_PATH } from './fakes/forms.ts'
import { connectRaw, formatChunk, formatRequest, sendRaw, type RawResponse } from './fakes/raw.ts'
import { startFakeSupplier, type FakeSupplier } from './fakes/supplier.ts'

const clock = createFakeClock()
let gateway: Gateway
let supplier: FakeSupplier
beforeAll(async () => {
  supplier = await startFakeSupplier((_, reply) => reply.json(200, { text: 'Hello.' }))
  const chat = supplierAt(supplier.origin, { id: 'chat', models: CHAT_MODELS })
  gateway = await startGateway({ suppliers: [transcriberAt(supplier.origin), chat], clock })
})
afterAll(async () => {
  await gateway.stop()
  await supplier.stop()
})

const CHAT_MODELS = new Map(
  [...supplierAt('http://x').models].map(([, route]) => ['chat-model', route] as const),
)

type Header = readonly [string, string]
type Piece = string | Uint8Array

/** Stands in what callers send; no refusal may repeat it. */
const CANARY = 'canary-91be'
const KEY: Header = ['Authorization', `Bearer ${ROOT_KEY}`]
const TYPE: Header = ['Content-Type', 'multipart/form-data; boundary=edge']

interface Sent {
  readonly body?: Uint8Array
  readonly headers?: readonly Header[]
}

function bytesOf(...pieces: readonly Piece[]): Buffer {
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece)))
}

function field(name: string, value: Piece): Buffer {
  return bytesOf(`--edge\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n`, value, '\r\n')
}

function file(content: Piece, name = `${CANARY}.wav`, part = 'file'): Buffer {
  const head = `--edge\r\nContent-Disposition: form-data; name="${part}"; filename="${name}"\r\n\r\n`
  return bytesOf(head, content, '\r\n')
}

const END = '--edge--\r\n'
const MODEL = field('model', 'test-model')

function form(...parts: readonly Uint8Array[]): Sent {
  return { body: bytesOf(...parts, END) }
}

function withFields(...fields: readonly (readonly [string, string])[]): Sent {
  return form(MODEL, ...fields.map(([name, value]) => field(name, value)), file(SPEECH))
}

function hearing(content: Uint8Array): Sent {
  return form(MODEL, file(content))
}

function send({ body = new Uint8Array(0), headers = [KEY, TYPE] }: Sent): Promise<RawResponse> {
  const bytes = formatRequest({ method: 'POST', target: TRANSCRIPTIONS_PATH, headers, body })
  return sendRaw(gateway.url, bytes)
}

function uploads(): readonly string[] {
  const folder = join(dirname(gateway.file), 'data', 'uploads')
  return existsSync(folder) ? readdirSync(folder) : []
}

function problemOf({ status, body }: RawResponse): object {
  const text = body.toString()
  expect(text).not.toContain(CANARY)
  const { error } = JSON.parse(text) as { error: Record<string, unknown> }
  expect(error['message']).toBe(`${String(error['code'])} - ${String(error['human_message'])}`)
  return { status, code: error['code'], param: error['param'] ?? undefined }
}

const AIFF = bytesOf('FORM\0\0\0\x20AIFFCOMM', new Uint8Array(40))
const LONG = 'x'.repeat(257)

const REFUSED: readonly (readonly [string, Sent, number, string, string?])[] = [
  ['no credential', { headers: [TYPE], body: form(MODEL).body! }, 401, 'missing_api_key'],
  [
    'JSON',
    { headers: [KEY, ['Content-Type', 'application/json']], body: Buffer.from('{}') },
    415,
    'unsupported_media_type',
  ],
  ['no type', { headers: [KEY], body: Buffer.from('x') }, 415, 'unsupported_media_type'],
  ['two types', { headers: [KEY, TYPE, TYPE], body: form(MODEL).body! }, 400, 'invalid_request'],
  [
    'no boundary',
    { headers: [KEY, ['Content-Type', 'multipart/form-data']], body: Buffer.from('x') },
    400,
    'invalid_request',
  ],
  [
    'a packed body',
    { headers: [KEY, TYPE, ['Content-Encoding', 'gzip']], body: form(MODEL).body! },
    415,
    'unsupported_media_type',
  ],
  ['no last boundary', { body: bytesOf(MODEL, file(SPEECH)) }, 400, 'invalid_request'],
  ['nothing', {}, 400, 'invalid_request'],
  ['no parts', form(), 400, 'missing_fields', 'file'],
  [
    'headers of 1 MB',
    { body: bytesOf(`--edge\r\nX: ${'x'.repeat(1_000_000)}`) },
    413,
    'request_too_large',
  ],
  ['a field of 10 MB', form(field('prompt', 'x'.repeat(10_000_000))), 413, 'request_too_large'],
  ['a file name of 10 KB', form(MODEL, file(SPEECH, 'x'.repeat(10_240))), 400, 'invalid_request'],
  ['two files', form(MODEL, file(SPEECH), file(SPEECH)), 400, 'invalid_request'],
  ['65 parts', form(...Array.from({ length: 65 }, () => field('a', ''))), 413, 'request_too_large'],
  ['no file', form(MODEL), 400, 'missing_fields', 'file'],
  [
    'a file in another part',
    form(MODEL, file(SPEECH, 'a.wav', 'audio')),
    400,
    'missing_fields',
    'file',
  ],
  [
    'a text where the file belongs',
    form(MODEL, field('file', 'RIFF')),
    400,
    'validation_error',
    'file',
  ],
  ['an empty file', hearing(new Uint8Array(0)), 400, 'validation_error', 'file'],
  ['AIFF', hearing(AIFF), 415, 'unsupported_media_type', 'file'],
  ['text as a file', hearing(Buffer.from('hello')), 415, 'unsupported_media_type', 'file'],
  ['a rate of 0', hearing(wav({ rate: 0, frames: 9 })), 400, 'validation_error', 'file'],
  [
    'an MP3 of a free format',
    hearing(bytesOf('ID3\x04\0\0\0\0\0\0', new Uint8Array([0xff, 0xfb, 0, 0]))),
    400,
    'validation_error',
    'file',
  ],
  ['no model', form(file(SPEECH)), 400, 'missing_model', 'model'],
  ['an empty model', form(field('model', ''), file(SPEECH)), 400, 'missing_model', 'model'],
  ['two models', withFields(['model', 'chat-model']), 400, 'validation_error', 'model'],
  [
    'a list of models',
    withFields(['model[]', 'a'], ['model[]', 'b']),
    400,
    'validation_error',
    'model',
  ],
  ['a model in another case', withFields(['Model', 'dear']), 400, 'validation_error', 'model'],
  [
    'a model that is too long',
    form(field('model', LONG), file(SPEECH)),
    400,
    'validation_error',
    'model',
  ],
  [
    'an unknown model',
    form(field('model', '../../x'), file(SPEECH)),
    404,
    'model_not_found',
    'model',
  ],
  [
    'a model of another kind',
    form(field('model', 'chat-model'), file(SPEECH)),
    400,
    'capability_unsupported',
    'model',
  ],
  [
    'a language by its name',
    withFields(['language', 'english']),
    400,
    'validation_error',
    'language',
  ],
  [
    'a language with a country',
    withFields(['language', 'en-US']),
    400,
    'validation_error',
    'language',
  ],
  ['a language that is none', withFields(['language', 'xx']), 400, 'validation_error', 'language'],
  [
    'a format that is none',
    withFields(['response_format', 'xml']),
    400,
    'validation_error',
    'response_format',
  ],
  [
    'a temperature of 1.1',
    withFields(['temperature', '1.1']),
    400,
    'validation_error',
    'temperature',
  ],
  [
    'a temperature of -1',
    withFields(['temperature', '-1']),
    400,
    'validation_error',
    'temperature',
  ],
  [
    'a temperature in words',
    withFields(['temperature', 'warm']),
    400,
    'validation_error',
    'temperature',
  ],
  ['a stream', withFields(['stream', 'true']), 400, 'unsupported_parameter', 'stream'],
  ['a stream of another spelling', withFields(['stream', '1']), 400, 'validation_error', 'stream'],
  ['a region that is no name', withFields(['region', 'E U']), 400, 'validation_error', 'region'],
  ['a credential', withFields(['api_key', CANARY]), 400, 'raw_secret_field_rejected', 'api_key'],
  ['an address', withFields(['base_url', CANARY]), 400, 'raw_secret_field_rejected', 'base_url'],
  ['other models', withFields(['fallbacks[]', 'x']), 400, 'unsupported_parameter', 'fallbacks'],
  ['a field with a strange name', withFields(['a\\', 'x']), 400, 'invalid_request'],
]

describe('a request for a transcription', () => {
  for (const [what, sent, status, code, param] of REFUSED)
    it(`is refused with ${what}`, async () => {
      const before = supplier.requests.length
      expect(problemOf(await send(sent))).toEqual({ status, code, param })
      expect(supplier.requests).toHaveLength(before)
      expect(uploads()).toEqual([])
    })

  it.each([
    ['MP3', hearing(mp3(20))],
    ['M4A', hearing(mp4({ ticks: 44_100 }))],
    ['FLAC', hearing(flac(44_100, 44_100))],
    ['Ogg', hearing(opus(48_000))],
    ['WebM', hearing(webm({ seconds: 1 }))],
    ['a length that nobody can tell', hearing(wav({ codec: 0x11, frames: 900 }))],
    ['a name that lies', form(MODEL, file(SPEECH, 'a.aiff'))],
    ['the file before the model', form(file(SPEECH), MODEL)],
    ['empty fields', withFields(['language', ''], ['temperature', ''], ['prompt', ''])],
    [
      'fields that nobody knows',
      withFields(['x.y-z[0]', 'é'], ['include[]', 'a'], ['include[]', 'b']),
    ],
    ['a temperature of 1.0', withFields(['temperature', '1.0'])],
    ['stream=false', withFields(['stream', 'False'])],
    ['its own region', withFields(['region', 'eu'])],
  ])('passes with %s', async (_, sent) => {
    const response = await send(sent)
    expect([response.status, response.body.toString()]).toEqual([200, '{"text":"Hello."}'])
  })
})

describe('a file that is too large', () => {
  it('is refused before all of it has come, and nothing of it stays', async () => {
    const client = await connectRaw(gateway.url)
    const headers: readonly Header[] = [KEY, TYPE, ['Transfer-Encoding', 'chunked']]
    await client.send(formatRequest({ method: 'POST', target: TRANSCRIPTIONS_PATH, headers }))
    await client.send(formatChunk(bytesOf(MODEL, file(SPEECH).subarray(0, -2))))
    const piece = formatChunk(new Uint8Array(1_048_576))
    for (let sent = 0; sent < 25; sent++) await client.send(piece)
    // The end was never sent.
    expect(problemOf(await client.response())).toMatchObject({
      status: 413,
      code: 'request_too_large',
    })
    expect(uploads()).toEqual([])
    client.close()
  })

  it('is refused by its length alone', async () => {
    const headers: readonly Header[] = [KEY, TYPE, ['Content-Length', String(27 * 1_048_576)]]
    const response = await send({ body: MODEL, headers })
    expect(problemOf(response)).toMatchObject({ status: 413, code: 'request_too_large' })
  })
})

describe('a slow upload', () => {
  it.each([
    ['chunks', ['Transfer-Encoding', 'chunked'] as const, formatChunk(MODEL)],
    ['a length that lies', ['Content-Length', '1000'] as const, MODEL],
  ])('is given up: %s', async (_, framing, start) => {
    const client = await connectRaw(gateway.url)
    const waiting = clock.listeners()
    const headers: readonly Header[] = [KEY, TYPE, framing]
    await client.send(formatRequest({ method: 'POST', target: TRANSCRIPTIONS_PATH, headers }))
    await client.send(start)
    while (clock.listeners() === waiting)
      await new Promise<void>((resolve) => setImmediate(resolve))
    clock.advance(11_000)
    expect(problemOf(await client.response())).toMatchObject({
      status: 408,
      code: 'request_timeout',
    })
    client.close()
  })
})

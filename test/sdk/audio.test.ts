// Real clients send sound and get sound through the gateway as they do at the maker's: files from disk, from memory and
// without a length told beforehand; answers as JSON, as text and as bytes for a file.
import { afterEach, describe, expect, it } from 'bun:test'
import {
  createReadStream,
  createWriteStream,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream as WebStream } from 'node:stream/web'
import { createOpenAI } from '@ai-sdk/openai'
import { APICallError, experimental_generateSpeech, experimental_transcribe } from 'ai'
import { toFile } from 'openai'
import { ROOT_KEY, type Gateway } from '../fakes/gateway.ts'
import { closeStreet, tidy, until } from '../fakes/street.ts'
import { able, formOf, openWorkshop, pathOf, soundOf, waveOf } from '../fakes/tasks.ts'
import { connect, rejection, SDKS } from './house.ts'

const HEAR = 'test-hear'
const SPEAK = 'test-speak'
const TEXT = 'One, two, three.'
const MEBIBYTE = 1_048_576
const PIECE = 10_000
const POOR = { name: 'poor', budget_limit: 0.000_000_001 }
const PATIENCE_MS = 30_000

/** More than is kept in memory. */
const LONG = waveOf(200)
const SHORT = waveOf(2)

afterEach(closeStreet)

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-audio-'))
  tidy({ stop: async () => rmSync(folder, { recursive: true, force: true }) })
  return folder
}

/** A file on disk. */
function store(bytes: Uint8Array, name: string): string {
  const path = join(createFolder(), name)
  writeFileSync(path, bytes)
  return path
}

const heardOf = (bytes: Uint8Array): string => `I heard ${bytes.length} bytes.`

/** What a program reads of an error. */
interface Problem {
  readonly status: number
  readonly code: string
  readonly message: string
}

async function problemOf(work: PromiseLike<unknown>): Promise<readonly [number, string]> {
  const { status, code } = (await rejection(work)) as Problem
  return [status, code]
}

/** Sends a form as a stream, with no word of how long it is. */
async function sendUnmeasured(
  input: string | URL | Request,
  init?: RequestInit,
): Promise<Response> {
  // First it tries what `fetch` can do, with nothing to send.
  if (!(init?.body instanceof FormData)) return fetch(input, init)
  const form = new Response(init.body)
  const headers = new Headers(init.headers)
  headers.set('content-type', form.headers.get('content-type') ?? '')
  const bytes = new Uint8Array(await form.arrayBuffer())
  const body = new ReadableStream({
    start(controller) {
      for (let from = 0; from < bytes.length; from += PIECE)
        controller.enqueue(bytes.subarray(from, from + PIECE))
      controller.close()
    },
  })
  return fetch(input, { ...init, headers, body })
}

describe.each(SDKS)('%s hears', (_, Client) => {
  it.each([
    ['short', SHORT],
    ['long', LONG],
  ])('a %s file from disk', async (_name, bytes) => {
    const { gateway, supplier } = await openWorkshop()
    const { client } = connect(Client, gateway.url)
    const file = createReadStream(store(bytes, 'talk.wav'))
    const { text } = await client.audio.transcriptions.create({ model: HEAR, file, language: 'de' })
    expect(text).toBe(heardOf(bytes))
    const form = await formOf(supplier.requests[0]!)
    const sent = form.get('file') as File
    expect(Buffer.from(await sent.arrayBuffer()).equals(bytes)).toBe(true)
    expect(sent.name).toEndWith('.wav')
    expect([form.get('model'), form.get('language')]).toEqual(['their-test-hear', 'de'])
  })

  it('a file from memory, of whatever type it says', async () => {
    const { gateway } = await openWorkshop()
    const { client } = connect(Client, gateway.url)
    const file = await toFile(SHORT, 'talk.wav', { type: 'application/octet-stream' })
    const { text } = await client.audio.transcriptions.create({ model: HEAR, file })
    expect(text).toBe(heardOf(SHORT))
    expect(gateway.audit()[0]).toMatchObject({ status: 200, cost: 200_000 })
  })

  it('a file whose length nobody has told', async () => {
    const { gateway } = await openWorkshop()
    const { client } = connect(Client, gateway.url, { fetch: sendUnmeasured })
    const file = createReadStream(store(LONG, 'talk.wav'))
    const { text } = await client.audio.transcriptions.create({ model: HEAR, file })
    expect(text).toBe(heardOf(LONG))
  })

  it('in every format that there is', async () => {
    const { gateway } = await openWorkshop()
    const { client } = connect(Client, gateway.url)
    const ask = async (
      format: 'json' | 'text' | 'srt' | 'vtt' | 'verbose_json',
    ): Promise<unknown> =>
      client.audio.transcriptions.create({
        model: HEAR,
        file: await toFile(SHORT, 'talk.wav'),
        response_format: format,
        timestamp_granularities: ['segment'],
      })
    const heard = heardOf(SHORT)
    expect(await ask('json')).toMatchObject({ text: heard })
    expect(await ask('text')).toBe(`${heard}\n`)
    expect(await ask('srt')).toContain('00:00:00,000 --> 00:00:00,900')
    expect(await ask('vtt')).toStartWith('WEBVTT')
    expect(await ask('verbose_json')).toMatchObject({
      text: heard,
      duration: 2,
      segments: [{ id: 0, text: heard }],
    })
  })

  it('what is wrong, by status and code, and nobody is asked', async () => {
    const { gateway, supplier } = await openWorkshop()
    const hear = async (bytes: Uint8Array, changes: object = {}, key = ROOT_KEY) => {
      const { client } = connect(Client, gateway.url, { apiKey: key, maxRetries: 0 })
      const file = await toFile(bytes, 'talk.wav')
      return problemOf(client.audio.transcriptions.create({ model: HEAR, file, ...changes }))
    }
    expect(await hear(SHORT, { language: 'english' })).toEqual([400, 'validation_error'])
    expect(await hear(SHORT, { model: 'test-model' })).toEqual([400, 'capability_unsupported'])
    const aiff = Buffer.concat([Buffer.from('FORM\0\0\0\0AIFF'), Buffer.alloc(1000)])
    expect(await hear(aiff)).toEqual([415, 'unsupported_media_type'])
    const large = Buffer.alloc(25 * MEBIBYTE + 1)
    SHORT.copy(large)
    expect(await hear(large)).toEqual([413, 'request_too_large'])
    const { key } = await gateway.createKey(POOR)
    expect(await hear(SHORT, {}, key)).toEqual([402, 'budget_exceeded'])
    expect(supplier.requests).toEqual([])
    const slow = await gateway.createKey({ name: 'slow', rate_limit_rpm: 1 })
    const { client } = connect(Client, gateway.url, { apiKey: slow.key })
    await client.audio.transcriptions.create({ model: HEAR, file: await toFile(SHORT, 'a.wav') })
    expect(await hear(SHORT, {}, slow.key)).toEqual([429, 'rate_limit_exceeded'])
  })

  it('nothing any more when it is aborted, and neither does the supplier', async () => {
    const { gateway, supplier } = await openWorkshop(() => {})
    const { client } = connect(Client, gateway.url, { maxRetries: 0 })
    const control = new AbortController()
    const { signal } = control
    const file = await toFile(SHORT, 'talk.wav')
    const answer = rejection(client.audio.transcriptions.create({ model: HEAR, file }, { signal }))
    const { closed } = await supplier.request(0)
    control.abort()
    expect(((await answer) as Error).constructor.name).toBe('APIUserAbortError')
    await closed
  })
})

describe.each(SDKS)('%s speaks', (_, Client) => {
  it.each(['mp3', 'wav'] as const)('into a file of %s', async (format) => {
    const { gateway } = await openWorkshop()
    const { client } = connect(Client, gateway.url)
    const asked = { model: SPEAK, voice: 'alloy', input: TEXT, response_format: format } as const
    const path = join(createFolder(), `speech.${format}`)
    const response = await client.audio.speech.create(asked)
    const body = Readable.fromWeb(response.body as unknown as WebStream)
    await pipeline(body, createWriteStream(path))
    expect(readFileSync(path).equals(soundOf(TEXT, format))).toBe(true)
    expect(response.headers.get('content-type')).toBe(format === 'mp3' ? 'audio/mpeg' : 'audio/wav')
    const whole = await client.audio.speech.create(asked)
    expect(Buffer.from(await whole.arrayBuffer()).equals(soundOf(TEXT, format))).toBe(true)
    expect(gateway.audit().map(({ cost }) => cost)).toEqual([240_000, 240_000])
  })

  it('and is told what is wrong as JSON, by status and code', async () => {
    const { gateway, supplier } = await openWorkshop()
    const speak = (changes: object, key = ROOT_KEY) => {
      const { client } = connect(Client, gateway.url, { apiKey: key, maxRetries: 0 })
      const asked = { model: SPEAK, voice: 'alloy', input: TEXT, ...changes }
      return problemOf(client.audio.speech.create(asked))
    }
    expect(await speak({ input: '' })).toEqual([400, 'missing_prompt'])
    expect(await speak({ input: 'x'.repeat(4097) })).toEqual([400, 'validation_error'])
    expect(await speak({ speed: 4.01 })).toEqual([400, 'validation_error'])
    expect(await speak({ stream_format: 'sse' })).toEqual([400, 'unsupported_parameter'])
    expect(await speak({}, (await gateway.createKey(POOR)).key)).toEqual([402, 'budget_exceeded'])
    expect(supplier.requests).toEqual([])
  })

  it('until it is aborted in the middle of a sound', async () => {
    const { gateway, supplier } = await openWorkshop((_request, reply) => {
      reply.stream({ 'content-type': 'audio/mpeg' }).send(soundOf(TEXT))
    })
    const { client } = connect(Client, gateway.url, { maxRetries: 0 })
    const control = new AbortController()
    const asked = { model: SPEAK, voice: 'alloy', input: TEXT }
    const response = await client.audio.speech.create(asked, { signal: control.signal })
    const reader = response.body!.getReader()
    await reader.read()
    control.abort()
    const { closed } = await supplier.request(0)
    await closed
    await until(() => gateway.audit().length === 1)
    expect(gateway.audit()[0]).toMatchObject({ status: 499, cost: 240_000 })
  })
})

describe('the AI SDK with @ai-sdk/openai', () => {
  const openaiAt = ({ url }: Gateway, apiKey = ROOT_KEY) =>
    createOpenAI({ baseURL: `${url}/v1`, apiKey })

  it('hears a file', async () => {
    const { gateway, supplier } = await openWorkshop()
    const model = openaiAt(gateway).transcription(HEAR)
    const { text } = await experimental_transcribe({ model, audio: LONG })
    expect(text).toBe(heardOf(LONG))
    expect((await formOf(supplier.requests[0]!)).get('model')).toBe('their-test-hear')
  })

  it('speaks', async () => {
    const { gateway } = await openWorkshop()
    const model = openaiAt(gateway).speech(SPEAK)
    const { audio } = await experimental_generateSpeech({ model, text: TEXT, voice: 'alloy' })
    expect(Buffer.from(audio.uint8Array).equals(soundOf(TEXT))).toBe(true)
    expect(audio.format).toBe('mp3')
  })

  it(
    'throws errors with the status and the body, once',
    async () => {
      const { gateway, supplier } = await openWorkshop(able)
      const { key } = await gateway.createKey(POOR)
      const openai = openaiAt(gateway, key)
      const works = [
        () => experimental_transcribe({ model: openai.transcription(HEAR), audio: SHORT }),
        () => experimental_generateSpeech({ model: openai.speech(SPEAK), text: TEXT }),
      ]
      for (const work of works) {
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        const thrown = await rejection(work())
        expect(APICallError.isInstance(thrown)).toBe(true)
        const { statusCode, message } = thrown as APICallError
        expect(statusCode).toBe(402)
        expect(message).toStartWith('budget_exceeded - ')
      }
      expect(supplier.requests.map(pathOf)).toEqual([])
    },
    PATIENCE_MS,
  )
})

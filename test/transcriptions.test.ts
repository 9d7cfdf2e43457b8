// Transcriptions through the whole gateway: the form that reaches the supplier, the answer that reaches the caller, what it
// costs, and who is asked next; with files that are too large to be held.
import { afterEach, describe, expect, it } from 'bun:test'
import { existsSync, readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import OpenAI, { toFile } from 'openai'
import type { Supplier } from '../src/suppliers/supplier.ts'
import { mp3, wavOfBytes } from './fakes/audio-files.ts'
import {
  fieldsOf,
  fileOf,
  formOf,
  sentForm,
  SPEECH,
  transcribe,
  transcriberAt,
  TRANSCRIPTIONS_PATH,
  type FormFields,
} from './fakes/forms.ts'
import { ROOT_KEY, startGateway, type Gateway, type GatewayOptions } from './fakes/gateway.ts'
import { startFakeSupplier, type FakeSupplier, type Script } from './fakes/supplier.ts'

const open: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.stop()
})

interface House {
  readonly gateway: Gateway
  readonly supplier: FakeSupplier
}

async function house(
  script: Script,
  changes: Partial<Supplier> = {},
  options: GatewayOptions = {},
): Promise<House> {
  const supplier = await startFakeSupplier(script)
  const gateway = await startGateway({
    suppliers: [transcriberAt(supplier.origin, changes)],
    ...options,
  })
  open.push(supplier, gateway)
  return { gateway, supplier }
}

const says =
  (value: unknown): Script =>
  (_, reply) =>
    reply.json(200, value)
const hello = says({ text: 'Hello.', usage: { type: 'duration', seconds: 2 } })

/** Seconds are paid in thousandths of a dollar here. */
async function costOf(response: Response): Promise<number> {
  await response.arrayBuffer()
  return Number(response.headers.get('x-svc-cost-usd')) * 1000
}

function uploadsOf({ file }: Gateway): readonly string[] {
  const folder = join(dirname(file), 'data', 'uploads')
  return existsSync(folder) ? readdirSync(folder) : []
}

describe('a transcription', () => {
  it('reaches the supplier as a form of its own, with all that was asked and nothing that is ours', async () => {
    const { gateway, supplier } = await house(hello)
    const fields: FormFields = [
      ['model', 'test-model'],
      ['region', 'eu'],
      ['language', 'de'],
      ['prompt', 'Grüße\r\n--x'],
      ['temperature', '0.2'],
      ['stream', 'false'],
      ['response_format', 'verbose_json'],
      ['timestamp_granularities[]', 'word'],
      ['timestamp_granularities[]', 'segment'],
      ['chunking_strategy', 'auto'],
    ]
    const response = await transcribe(gateway, formOf(fields))
    expect(response.status).toBe(200)
    const request = await supplier.request(0)
    expect(request.headers.get('content-length')).toBe(String(request.body.length))
    expect(request.headers.has('transfer-encoding')).toBe(false)
    const sent = await sentForm(request)
    expect(fieldsOf(sent)).toEqual([
      ['model', 'upstream-model'],
      ['response_format', 'verbose_json'],
      ['language', 'de'],
      ['prompt', 'Grüße\r\n--x'],
      ['temperature', '0.2'],
      ['timestamp_granularities[]', 'word'],
      ['timestamp_granularities[]', 'segment'],
      ['chunking_strategy', 'auto'],
    ])
    const file = await fileOf(sent)
    expect(file.name).toBe('audio.wav')
    expect(request.body.includes('\r\nContent-Type: audio/wav\r\n')).toBe(true)
    expect(file.bytes.equals(SPEECH)).toBe(true)
  })

  it('comes back as it is, with all seven headers', async () => {
    const { gateway } = await house(hello)
    const response = await transcribe(gateway, formOf())
    expect(await response.json()).toEqual({
      text: 'Hello.',
      usage: { type: 'duration', seconds: 2 },
    })
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/json',
      'x-svc-supplier': 'fake',
      'x-svc-region': 'EU',
      'x-svc-failover': 'false',
      'x-svc-latency-ms': expect.stringMatching(/^\d+$/),
      'x-svc-input-tokens': '0',
      'x-svc-output-tokens': '0',
      'x-svc-cost-usd': '0.002',
      'x-svc-settlement': 'settled',
    })
  })

  it('names its file by what it is, whatever it is called', async () => {
    const { gateway, supplier } = await house(hello)
    const form = new FormData()
    form.append('model', 'test-model')
    const name = 'a"; filename="../../x.exe'
    form.append('file', new File([new Uint8Array(mp3(50))], name, { type: 'text/html' }))
    expect((await transcribe(gateway, form)).status).toBe(200)
    const file = await fileOf(await sentForm(await supplier.request(0)))
    expect([file.name, file.type]).toEqual(['audio.mp3', 'audio/mpeg'])
  })

  it('may come in chunks, without a length', async () => {
    const { gateway, supplier } = await house(hello)
    const encoded = new Response(formOf())
    const type = encoded.headers.get('content-type')!
    const bytes = new Uint8Array(await encoded.arrayBuffer())
    const pieces = [bytes.slice(0, 70), bytes.slice(70, 71), bytes.slice(71, -5), bytes.slice(-5)]
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const piece = pieces.shift()
        if (piece === undefined) controller.close()
        else controller.enqueue(piece)
      },
    })
    const response = await fetch(gateway.url + TRANSCRIPTIONS_PATH, {
      method: 'POST',
      headers: { authorization: `Bearer ${ROOT_KEY}`, 'content-type': type },
      body,
    })
    expect(response.status).toBe(200)
    const file = await fileOf(await sentForm(await supplier.request(0)))
    expect(file.bytes.equals(SPEECH)).toBe(true)
  })

  it('may leave the model to the operator', async () => {
    const supplier = await startFakeSupplier(hello)
    open.push(supplier)
    const config = 'defaults: { transcription: test-model }\n'
    const gateway = await startGateway({ suppliers: [transcriberAt(supplier.origin)], config })
    open.push(gateway)
    expect((await transcribe(gateway, formOf([]))).status).toBe(200)
    expect((await sentForm(await supplier.request(0))).get('model')).toBe('upstream-model')
  })

  it('works with the official client', async () => {
    const { gateway, supplier } = await house(hello)
    const client = new OpenAI({ apiKey: ROOT_KEY, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
    const file = await toFile(SPEECH, 'a.wav')
    const answer = await client.audio.transcriptions.create({
      file,
      model: 'test-model',
      language: 'en',
    })
    expect(answer.text).toBe('Hello.')
    const times = await client.audio.transcriptions.create({
      file,
      model: 'test-model',
      response_format: 'verbose_json',
      timestamp_granularities: ['word', 'segment'],
    })
    expect(times.text).toBe('Hello.')
    const sent = await sentForm(await supplier.request(1))
    expect(sent.getAll('timestamp_granularities[]')).toEqual(['word', 'segment'])
  })
})

describe('the format of the answer', () => {
  const SUBTITLES = '1\n00:00:00,000 --> 00:00:02,000\nHello.\n'
  const asking = (format: string): FormData =>
    formOf([
      ['model', 'test-model'],
      ['response_format', format],
    ])
  const plain =
    (text: string, type: string): Script =>
    (_, reply) =>
      reply.json(200, text, { 'content-type': type })

  it.each([
    ['text', 'Hello.\n', 'text/plain; charset=utf-8'],
    ['srt', SUBTITLES, 'application/x-subrip; charset=utf-8'],
    ['vtt', `WEBVTT\n\n${SUBTITLES}`, 'text/vtt; charset=utf-8'],
  ])('may be %s', async (format, text, type) => {
    const { gateway, supplier } = await house(plain(text, 'text/plain'))
    const response = await transcribe(gateway, asking(format))
    expect([response.status, await response.text()]).toEqual([200, text])
    expect(response.headers.get('content-type')).toBe(type)
    expect(response.headers.has('x-svc-losses')).toBe(false)
    // Nobody has told how long it was, so the file's own length counts.
    expect(response.headers.get('x-svc-cost-usd')).toBe('0.002')
    expect((await sentForm(await supplier.request(0))).get('response_format')).toBe(format)
  })

  const QUIRKS = { usage: 'ask', formats: ['json'] } as const

  it('is text also where the supplier has only JSON, and nothing is lost', async () => {
    const { gateway, supplier } = await house(hello, { quirks: QUIRKS })
    const response = await transcribe(gateway, asking('text'))
    expect(await response.text()).toBe('Hello.\n')
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8')
    expect(response.headers.has('x-svc-losses')).toBe(false)
    expect((await sentForm(await supplier.request(0))).get('response_format')).toBe('json')
  })

  it.each(['srt', 'vtt', 'verbose_json'])(
    'is JSON where the supplier has no %s, and that is said',
    async (format) => {
      const { gateway, supplier } = await house(hello, { quirks: QUIRKS })
      const form = asking(format)
      form.append('timestamp_granularities[]', 'word')
      const response = await transcribe(gateway, form)
      expect(await response.json()).toMatchObject({ text: 'Hello.' })
      expect(response.headers.get('content-type')).toBe('application/json')
      const losses = response.headers.get('x-svc-losses')
      expect(losses).toContain('/response_format')
      expect(losses).toContain('/timestamp_granularities[]')
      const sent = await sentForm(await supplier.request(0))
      expect(sent.get('response_format')).toBe('json')
      expect(sent.has('timestamp_granularities[]')).toBe(false)
    },
  )
})

describe('what it costs', () => {
  it.each([
    ['what the supplier tells', { text: 'x', usage: { type: 'duration', seconds: 1.2 } }, 2],
    [
      'what the supplier tells beside tokens',
      { text: 'x', usage: { prompt_audio_seconds: 1, prompt_tokens: 4, completion_tokens: 9 } },
      1,
    ],
    ['the length that the answer tells', { text: 'x', duration: 0.9, segments: [] }, 1],
    ['the length of the file where nobody tells any', { text: 'x' }, 2],
  ])('is %s', async (_, answer, thousandths) => {
    const { gateway } = await house(says(answer))
    expect(await costOf(await transcribe(gateway, formOf()))).toBe(thousandths)
  })

  it('is held before the supplier is asked', async () => {
    const { gateway, supplier } = await house(hello)
    const { key } = await gateway.createKey({ name: 'poor', budget_limit: 0.0019 })
    const response = await transcribe(gateway, formOf(), { authorization: `Bearer ${key}` })
    expect([response.status, supplier.requests.length]).toEqual([402, 0])
  })

  it('is nothing where the supplier answers without a text', async () => {
    const { gateway } = await house(says({ language: 'en' }))
    const response = await transcribe(gateway, formOf())
    const { error } = (await response.json()) as { error: { code: string } }
    expect([response.status, error.code]).toEqual([502, 'upstream_invalid_response'])
    expect(gateway.audit().at(-1)?.cost).toBe(0)
  })
})

describe('failover', () => {
  it('sends the whole file again', async () => {
    const first = await startFakeSupplier((_, reply) =>
      reply.json(500, { error: { message: 'down' } }),
    )
    const second = await startFakeSupplier(hello)
    const suppliers = [
      transcriberAt(first.origin, { id: 'first' }),
      transcriberAt(second.origin, { id: 'second' }),
    ]
    const gateway = await startGateway({ suppliers })
    open.push(first, second, gateway)
    const large = new Uint8Array(wavOfBytes(3_000_000))
    const response = await transcribe(gateway, formOf(undefined, large))
    expect([response.status, response.headers.get('x-svc-failover')]).toEqual([200, 'true'])
    for (const supplier of [first, second]) {
      const file = await fileOf(await sentForm(await supplier.request(0)))
      expect(file.bytes.equals(large)).toBe(true)
    }
    expect(uploadsOf(gateway)).toEqual([])
  })

  it('also meets a supplier that answers before it has read', async () => {
    // It refuses at the first bytes of the form, and closes.
    const refused = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: {
        data(socket) {
          socket.end('HTTP/1.1 503 Busy\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}')
        },
      },
    })
    const second = await startFakeSupplier(hello)
    const suppliers = [
      transcriberAt(`http://127.0.0.1:${refused.port}`, { id: 'first' }),
      transcriberAt(second.origin, { id: 'second' }),
    ]
    const gateway = await startGateway({ suppliers })
    open.push(second, gateway)
    const response = await transcribe(
      gateway,
      formOf(undefined, new Uint8Array(wavOfBytes(9_000_000))),
    )
    expect([response.status, response.headers.get('x-svc-supplier')]).toEqual([200, 'second'])
    refused.stop(true)
  })
})

describe('a large file', () => {
  it('is on disk while it is needed, and gone afterwards', async () => {
    let during: readonly string[] = []
    const known: { house?: House } = {}
    known.house = await house((_, reply) => {
      during = uploadsOf(known.house!.gateway)
      reply.json(200, { text: 'x' })
    })
    const large = new Uint8Array(wavOfBytes(20_000_000))
    const response = await transcribe(known.house.gateway, formOf(undefined, large))
    expect(response.status).toBe(200)
    expect(during).toHaveLength(1)
    expect(uploadsOf(known.house.gateway)).toEqual([])
    const file = await fileOf(await sentForm(await known.house.supplier.request(0)))
    expect(file.bytes.equals(large)).toBe(true)
  })

  it('is gone as well where its caller leaves in the middle', async () => {
    const place = await house(hello)
    const leaving = new AbortController()
    const form = formOf(undefined, new Uint8Array(wavOfBytes(4_000_000)))
    const encoded = new Response(form)
    const type = encoded.headers.get('content-type')!
    const bytes = new Uint8Array(await encoded.arrayBuffer())
    let isHalf = false
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (!isHalf) controller.enqueue(bytes.slice(0, 3_000_000))
        isHalf = true
        while (uploadsOf(place.gateway).length === 0)
          await new Promise<void>((resolve) => setImmediate(resolve))
        leaving.abort()
      },
    })
    const sent = fetch(place.gateway.url + TRANSCRIPTIONS_PATH, {
      method: 'POST',
      headers: { authorization: `Bearer ${ROOT_KEY}`, 'content-type': type },
      body,
      signal: leaving.signal,
    })
    expect(await sent.catch(() => 'left')).toBe('left')
    while (uploadsOf(place.gateway).length > 0)
      await new Promise<void>((resolve) => setImmediate(resolve))
    expect(place.supplier.requests).toHaveLength(0)
  })
})

describe('a caller who leaves', () => {
  it('ends the sending of its file, which is gone then', async () => {
    const began = Promise.withResolvers<void>()
    // It takes the first bytes and reads no further.
    const stuck = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: {
        data(socket) {
          socket.pause()
          began.resolve()
        },
      },
    })
    const gateway = await startGateway({
      suppliers: [transcriberAt(`http://127.0.0.1:${stuck.port}`)],
    })
    open.push(gateway, { stop: async () => stuck.stop(true) })
    const leaving = new AbortController()
    const sent = fetch(gateway.url + TRANSCRIPTIONS_PATH, {
      method: 'POST',
      headers: { authorization: `Bearer ${ROOT_KEY}` },
      body: formOf(undefined, new Uint8Array(wavOfBytes(20_000_000))),
      signal: leaving.signal,
    }).catch(() => 'left')
    await began.promise
    expect(uploadsOf(gateway)).toHaveLength(1)
    leaving.abort()
    expect(await sent).toBe('left')
    while (uploadsOf(gateway).length > 0)
      await new Promise<void>((resolve) => setImmediate(resolve))
  })
})

describe('files', () => {
  it('are no more at a time than a key may have, so that no key fills the disk', async () => {
    const { gateway } = await house(hello)
    const { hostname, port } = new URL(gateway.url)
    const head =
      `POST ${TRANSCRIPTIONS_PATH} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer ${ROOT_KEY}\r\n` +
      'content-type: multipart/form-data; boundary=b\r\ncontent-length: 1000\r\n\r\n--b\r\n'
    const sockets = Array.from({ length: 129 }, () => connect(Number(port), hostname))
    // One is refused at once, and then all others are in.
    await new Promise<unknown>((resolve) => {
      for (const socket of sockets)
        socket
          .on('error', () => {})
          .once('data', resolve)
          .write(head)
    })
    const refused = await transcribe(gateway, formOf())
    expect(await refused.json()).toMatchObject({ error: { code: 'capacity_exceeded' } })
    expect(refused.headers.get('retry-after')).toBe('1')
    for (const socket of sockets) socket.destroy()
    while (!(await transcribe(gateway, formOf())).ok);
  })
})

describe('an Idempotency-Key', () => {
  it('stands for the form, in whatever order it comes', async () => {
    const { gateway, supplier } = await house(hello)
    const headers = { 'idempotency-key': 'once' }
    const fields: FormFields = [
      ['model', 'test-model'],
      ['language', 'en'],
    ]
    const first = await transcribe(gateway, formOf(fields), headers)
    const again = await transcribe(gateway, formOf(fields.toReversed()), headers)
    expect(await again.text()).toBe(await first.text())
    expect(supplier.requests).toHaveLength(1)
    const other = await transcribe(gateway, formOf([['model', 'test-model']]), headers)
    expect(other.status).toBe(422)
  })

  it('is free again where the form is refused', async () => {
    const { gateway, supplier } = await house(hello)
    const headers = { 'idempotency-key': 'once' }
    const bad = (): FormData => formOf(undefined, new TextEncoder().encode('no sound'))
    expect((await transcribe(gateway, bad(), headers)).status).toBe(415)
    expect((await transcribe(gateway, bad(), headers)).status).toBe(415)
    expect((await transcribe(gateway, formOf(), headers)).status).toBe(200)
    expect(supplier.requests).toHaveLength(1)
  })
})

// What the demo does beside chats, seen from outside: vectors, rankings, sounds and transcripts that follow from the
// request alone, true to their formats, and misfortunes where a row promises them.
import { afterAll, describe, expect, test } from 'bun:test'
import { durationOf } from '../../wire/audio/duration.ts'
import { formatOf } from '../../wire/audio/format.ts'
import { scoreOf } from './rank.ts'
import { startDemo } from './server.ts'
import { CREDENTIAL, type Failure } from '../../../test/fakes/demo-client.ts'

const demo = startDemo({ name: 'demo', credential: CREDENTIAL })
const backup = startDemo({ name: 'demo-backup', credential: CREDENTIAL })

afterAll(async () => {
  await demo.stop()
  await backup.stop()
})

const PATHS = {
  embed: '/v1/embeddings',
  rerank: '/v1/rerank',
  speak: '/v1/audio/speech',
  transcribe: '/v1/audio/transcriptions',
}

function post(path: string, body: object, server = demo): Promise<Response> {
  return fetch(server.origin + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${CREDENTIAL}`,
      ...(body instanceof FormData ? {} : { 'content-type': 'application/json' }),
    },
    body: body instanceof FormData ? body : JSON.stringify(body),
  })
}

interface Embedded {
  readonly data: readonly {
    readonly index: number
    readonly embedding: readonly number[] | string
  }[]
  readonly usage: object
}

async function embed(fields: object): Promise<Embedded> {
  const response = await post(PATHS.embed, { model: 'embed', ...fields })
  expect(response.status).toBe(200)
  return (await response.json()) as Embedded
}

async function vectors(...input: readonly string[]): Promise<readonly (readonly number[])[]> {
  const { data } = await embed({ input })
  return data.map(({ embedding }) => (typeof embedding === 'string' ? [] : embedding))
}

function cosine(left: readonly number[], right: readonly number[]): number {
  return left.reduce((sum, number, index) => sum + number * right[index]!, 0)
}

async function errorOf(
  response: Response,
): Promise<Failure['error'] & { readonly status: number }> {
  const { error }: Failure = JSON.parse(await response.text())
  return { ...error, status: response.status }
}

describe('vectors', () => {
  test('lie close where texts share words, and far apart where they share none', async () => {
    const [red, same, near, far] = await vectors(
      'The red house',
      'house, RED the!',
      'The red car',
      'Seven quiet mornings',
    )
    expect(cosine(red!, same!)).toBeCloseTo(1, 5)
    expect(cosine(red!, near!)).toBeCloseTo(2 / 3, 1)
    expect(Math.abs(cosine(red!, far!))).toBeLessThan(0.4)
    for (const vector of [red, near, far]) {
      expect(vector).toHaveLength(256)
      expect(cosine(vector!, vector!)).toBeCloseTo(1, 5)
    }
  })

  test('are the same numbers in both encodings, and in any number of dimensions', async () => {
    for (const dimensions of [1, 7, 256]) {
      const input = 'Some words of a text.'
      const [plain] = (await embed({ input, dimensions })).data
      const [packed] = (await embed({ input, dimensions, encoding_format: 'base64' })).data
      const bytes = Buffer.from(String(packed!.embedding), 'base64')
      expect(bytes).toHaveLength(4 * dimensions)
      const numbers = Array.from({ length: dimensions }, (_, index) => bytes.readFloatLE(4 * index))
      const told = Array.isArray(plain!.embedding) ? plain!.embedding : []
      expect(told.map((number: number) => Math.fround(number))).toEqual(numbers)
    }
  })

  test('are made of tokens, too, and all of them are counted', async () => {
    const { data, usage } = await embed({ input: [[1, 2, 3], [4]] })
    expect(data.map(({ index }) => index)).toEqual([0, 1])
    expect(usage).toEqual({ prompt_tokens: 4, total_tokens: 4 })
    expect((await embed({ input: [9, 8] })).data).toHaveLength(1)
    expect((await embed({ input: '...' })).data).toHaveLength(1)
  })

  test.each([
    { input: undefined },
    { input: [] },
    { input: '' },
    { input: ['a', 1] },
    { input: [[1], 'a'] },
    { input: 'a', dimensions: 257 },
    { input: 'a', encoding_format: 'int8' },
  ])('are not made of %p', async (fields) => {
    expect((await post(PATHS.embed, { model: 'embed', ...fields })).status).toBe(400)
  })
})

describe('a ranking', () => {
  const ASKED = {
    model: 'rerank',
    query: 'red house',
    documents: ['a blue car', 'the red house', 'a red car', { text: 'house red' }],
  }

  test('has the best first, and equals in their order', async () => {
    const response = await post(PATHS.rerank, ASKED)
    const { results, meta } = JSON.parse(await response.text())
    expect(results.map(({ index }: { index: number }) => index)).toEqual([3, 1, 2, 0])
    expect(results.at(0)).toEqual({ index: 3, relevance_score: 1 })
    expect(results.at(-1).relevance_score).toBe(0)
    expect(meta).toEqual({ billed_units: { search_units: 1 } })
  })

  test('is cut where only so many are asked for, and shows them if it is asked to', async () => {
    const response = await post(PATHS.rerank, { ...ASKED, top_n: 1, return_documents: true })
    const { results } = JSON.parse(await response.text())
    expect(results).toEqual([{ index: 3, relevance_score: 1, document: { text: 'house red' } }])
  })

  test('of more than a hundred documents is more than one search', async () => {
    const documents = Array.from({ length: 101 }, (_, index) => `text ${index}`)
    const response = await post(PATHS.rerank, { ...ASKED, documents })
    expect(JSON.parse(await response.text()).meta.billed_units.search_units).toBe(2)
  })

  test('never leaves the range from nothing to all', () => {
    expect(scoreOf('', 'x')).toBe(0)
    expect(scoreOf('x', '')).toBe(0)
    expect(scoreOf('a b', 'a b')).toBe(1)
    expect(scoreOf('a b', 'a c')).toBeGreaterThan(0)
  })

  test.each([{ documents: [] }, { documents: [1] }, { documents: undefined }, { query: '' }])(
    'is not made of %p',
    async (fields) => {
      expect((await post(PATHS.rerank, { ...ASKED, ...fields })).status).toBe(400)
    },
  )
})

const TEXT = 'Grüße aus der Ferne 🙂, und noch ein Satz: er ist etwas länger als der erste.'

async function speak(fields: object): Promise<Buffer> {
  const response = await post(PATHS.speak, { model: 'speak', input: TEXT, ...fields })
  expect(response.status).toBe(200)
  return Buffer.from(await response.bytes())
}

async function secondsOf(file: Buffer): Promise<number> {
  const source = {
    bytes: file.length,
    read: async (from: number, length: number) => file.subarray(from, from + length),
  }
  const { seconds, isTold } = await durationOf(source, formatOf(file)!)
  expect(isTold).toBe(true)
  return seconds
}

describe('a sound', () => {
  test('is called what it is, and mp3 where nobody says', async () => {
    const typeOf = async (fields: object): Promise<string | null> => {
      const response = await post(PATHS.speak, { model: 'speak', input: TEXT, ...fields })
      return response.headers.get('content-type')
    }
    expect(await typeOf({})).toBe('audio/mpeg')
    expect(await typeOf({ response_format: 'wav' })).toBe('audio/wav')
    expect(formatOf(await speak({}))).toBe('mp3')
    expect(formatOf(await speak({ response_format: 'wav' }))).toBe('wav')
  })

  test.each(['mp3', 'wav'])('lasts as long as its text, as %s', async (format) => {
    const input = 'x'.repeat(160)
    expect(await secondsOf(await speak({ response_format: format, input }))).toBe(10)
    expect(await secondsOf(await speak({ response_format: format, input, speed: 4 }))).toBe(3)
    expect(await secondsOf(await speak({ response_format: format, input, speed: 0.25 }))).toBe(40)
    const longest = await speak({ response_format: format, input: 'x'.repeat(4096) })
    expect(await secondsOf(longest)).toBe(256)
  })

  test('is made of chunks, or frames, that fill the file to its last byte', async () => {
    const wav = await speak({ response_format: 'wav' })
    expect(wav.readUInt32LE(4)).toBe(wav.length - 8)
    const names: string[] = []
    for (
      let at = 12;
      at < wav.length;
      at += 8 + wav.readUInt32LE(at + 4) + (wav.readUInt32LE(at + 4) % 2)
    )
      names.push(wav.toString('latin1', at, at + 4))
    expect(names).toEqual(['fmt ', 'LIST', 'data'])
    const mp3 = await speak({})
    const sounds = mp3.indexOf(Buffer.from([0xff, 0xfb]))
    expect((mp3.length - sounds) % 96).toBe(0)
    for (let at = sounds; at < mp3.length; at += 96) expect(mp3.readUInt32BE(at)).toBe(0xfffb14c4)
  })

  test.each([
    { input: '' },
    { input: 'ab'.repeat(2049) },
    { speed: 5 },
    { response_format: 'aac' },
    { voice: 1 },
  ])('is not made of the wrong fields (%#)', async (fields) => {
    const response = await post(PATHS.speak, { model: 'speak', input: TEXT, ...fields })
    expect(response.status).toBe(400)
  })

  test('breaks off where its row says so, and comes in pieces where it is slow', async () => {
    const asked = { input: TEXT, response_format: 'mp3' }
    const cut = await post(PATHS.speak, { model: 'speak-cut', ...asked })
    expect(cut.headers.get('content-type')).toBe('audio/mpeg')
    expect(await cut.bytes().catch((thrown: unknown) => thrown)).toBeInstanceOf(Error)
    const garbage = await post(PATHS.speak, { model: 'speak-garbage', ...asked })
    expect(garbage.headers.get('content-type')).toBe('application/json')
    const slow = await post(PATHS.speak, { model: 'speak-slow', ...asked })
    expect((await speak(asked)).equals(await slow.bytes())).toBe(true)
  })
})

function formOf(
  file: Uint8Array<ArrayBuffer>,
  fields: Readonly<Record<string, string>> = {},
): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries({ model: 'transcribe', ...fields }))
    form.set(name, value)
  form.set('file', new Blob([file]), 'sound')
  return form
}

async function hear(file: Buffer, fields: Readonly<Record<string, string>> = {}): Promise<string> {
  const response = await post(PATHS.transcribe, formOf(new Uint8Array(file), fields))
  expect(response.status).toBe(200)
  return response.text()
}

describe('a transcript', () => {
  test.each(['mp3', 'wav'])('says what was spoken, as %s', async (format) => {
    for (const input of [TEXT, 'odd', 'even'])
      expect(JSON.parse(await hear(await speak({ response_format: format, input })))).toEqual({
        text: input,
        usage: { type: 'duration', seconds: input === TEXT ? 5 : 1 },
      })
  })

  test('of another file says what that is', async () => {
    const spoken = await speak({ response_format: 'wav', input: 'x'.repeat(160) })
    const other = Buffer.from(spoken.toString('latin1').replace('ICMT', 'ICRD'), 'latin1')
    const { text } = JSON.parse(await hear(other))
    expect(text).toContain('no model listened')
    expect(text).toContain('wav')
    expect(text).toContain('10 s')
  })

  test('comes in every format', async () => {
    const file = await speak({ input: 'One line.\n\nAnother one.' })
    expect(await hear(file, { response_format: 'text' })).toBe('One line.\n\nAnother one.\n')
    expect(await hear(file, { response_format: 'srt' })).toBe(
      '1\n00:00:00,000 --> 00:00:02,000\nOne line. Another one.\n\n',
    )
    expect(await hear(file, { response_format: 'vtt' })).toBe(
      'WEBVTT\n\n00:00:00.000 --> 00:00:02.000\nOne line. Another one.\n\n',
    )
    const verbose = await hear(file, { response_format: 'verbose_json', language: 'de' })
    expect(JSON.parse(verbose)).toMatchObject({
      language: 'de',
      duration: 2,
      segments: [{ end: 2 }],
    })
  })

  test('is not made of what is no sound, or no form', async () => {
    const text = formOf(Buffer.from('hello there, this is text'))
    expect((await post(PATHS.transcribe, text)).status).toBe(400)
    expect((await post(PATHS.transcribe, { model: 'transcribe' })).status).toBe(400)
    const empty = new FormData()
    empty.set('model', 'transcribe')
    expect((await errorOf(await post(PATHS.transcribe, empty))).message).toContain("'file'")
    const damaged = formOf(Buffer.from('RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0', 'latin1'))
    expect((await post(PATHS.transcribe, damaged)).status).toBeLessThan(500)
  })
})

describe('a model of another kind', () => {
  test('fails on demo and answers on demo-backup', async () => {
    const requests: readonly (readonly [string, object])[] = [
      [PATHS.embed, { model: 'embed-failover', input: 'x' }],
      [PATHS.rerank, { model: 'rerank-failover', query: 'x', documents: ['x'] }],
      [PATHS.speak, { model: 'speak-failover', input: 'x' }],
      [PATHS.transcribe, formOf(new Uint8Array(await speak({})), { model: 'transcribe-failover' })],
    ]
    for (const [path, body] of requests) {
      expect((await errorOf(await post(path, body))).status).toBe(500)
      expect((await post(path, body, backup)).status).toBe(200)
    }
  })

  test('is known at its own address alone, to whoever has the credential', async () => {
    const wrong = await post(PATHS.speak, { model: 'embed', input: 'x' })
    expect((await errorOf(wrong)).code).toBe('model_not_found')
    const nobody = await fetch(demo.origin + PATHS.embed, { method: 'POST', body: '{}' })
    expect(nobody.status).toBe(401)
    const headers = { authorization: `Bearer ${CREDENTIAL}` }
    expect((await fetch(demo.origin + PATHS.rerank, { headers })).status).toBe(405)
  })
})

// Bad requests for embeddings over the wire: each gets the status and the code that say what is wrong with it, in the
// one envelope, and none reaches a supplier. What only looks wrong must pass.
import { afterAll, beforeAll, describe, expect, it } from 'bun:test'
import { createFakeClock } from './fakes/clock.ts'
import { embedderAt, EMBEDDINGS_PATH, goodEmbeddings } from './fakes/embedder.ts'
import { ROOT_KEY, startGateway, supplierAt, type Gateway } from './fakes/gateway.ts'
import { connectRaw, formatRequest, sendRaw, type RawResponse } from './fakes/raw.ts'
import { startFakeSupplier, type FakeSupplier } from './fakes/supplier.ts'

let gateway: Gateway
let supplier: FakeSupplier
beforeAll(async () => {
  supplier = await startFakeSupplier(goodEmbeddings)
  const { models } = supplierAt('')
  gateway = await startGateway({
    suppliers: [
      embedderAt(supplier.origin),
      supplierAt(supplier.origin, {
        id: 'talker',
        models: new Map([['chat-model', models.get('test-model')!]]),
      }),
    ],
  })
})
afterAll(async () => {
  await gateway.stop()
  await supplier.stop()
})

type Header = readonly [string, string]

/** Stands in what callers send; no refusal may repeat it. */
const CANARY = 'canary-7f3a'
const KEY: Header = ['Authorization', `Bearer ${ROOT_KEY}`]
const JSON_TYPE: Header = ['Content-Type', 'application/json']
const HELLO = { model: 'test-model', input: CANARY }
const SOUND = JSON.stringify(HELLO)

interface Sent {
  readonly method?: string
  readonly body?: string | Uint8Array
  readonly headers?: readonly Header[]
}

function send({ method = 'POST', body, headers = [KEY, JSON_TYPE] }: Sent): Promise<RawResponse> {
  const target = EMBEDDINGS_PATH
  const bytes = formatRequest({ method, target, headers, ...(body !== undefined && { body }) })
  return sendRaw(gateway.url, bytes)
}

/** A sound request but for these fields. */
function but(changes: object): Sent {
  return { body: JSON.stringify({ ...HELLO, ...changes }) }
}

/** A sound request but for what stands at its end. */
function and(rest: string): Sent {
  return { body: `${SOUND.slice(0, -1)},${rest}}` }
}

function bearing(...headers: readonly Header[]): Sent {
  return { body: SOUND, headers: [KEY, JSON_TYPE, ...headers] }
}

function times<Item>(count: number, item: Item): readonly Item[] {
  return Array.from({ length: count }, () => item)
}

const FORM: Header = ['Content-Type', 'application/x-www-form-urlencoded']
const KEYS = Array.from({ length: 100_000 }, (_, index) => `"k${index}":1`).join(',')
const LONG = `${CANARY} `.repeat(3000)

type Row = readonly [sent: Sent, status: number, code: string, param?: string]

const REFUSED: Readonly<Record<string, Row>> = {
  'no credential': [{ body: SOUND, headers: [JSON_TYPE] }, 401, 'missing_api_key'],
  'a wrong credential before a wrong body': [
    { body: '{', headers: [['Authorization', `Bearer svc_${CANARY}`], JSON_TYPE] },
    401,
    'invalid_api_key',
  ],
  'a form': [{ body: 'a=b', headers: [KEY, FORM] }, 415, 'unsupported_media_type'],
  'two types': [{ body: SOUND, headers: [KEY, JSON_TYPE, FORM] }, 400, 'invalid_request'],
  'ten compressions': [
    bearing(['Content-Encoding', times(10, 'gzip').join(', ')]),
    415,
    'unsupported_media_type',
  ],
  nothing: [{ body: '' }, 400, 'invalid_json'],
  'a list': [{ body: '[]' }, 400, 'validation_error'],
  'a trailing comma': [{ body: `${SOUND.slice(0, -1)},}` }, 400, 'invalid_json'],
  'a trailing comma among tokens': [
    { body: '{"model":"test-model","input":[1,2,]}' },
    400,
    'invalid_json',
  ],
  'half a list of tokens': [{ body: '{"model":"test-model","input":[1,2' }, 400, 'invalid_json'],
  'a mark of its byte order': [{ body: `\uFEFF${SOUND}` }, 400, 'invalid_json'],
  'two hundred levels': [and(`"x":${'['.repeat(200)}${']'.repeat(200)}`), 400, 'validation_error'],
  'two hundred levels of input': [
    { body: `{"model":"test-model","input":${'['.repeat(200)}1${']'.repeat(200)}}` },
    400,
    'validation_error',
  ],
  'a hundred thousand fields': [and(KEYS), 400, 'validation_error'],
  'two inputs of one name': [and('"input":"y"'), 400, 'validation_error', 'input'],
  'an input by another spelling': [and('"Input":"y"'), 400, 'validation_error', 'input'],
  'a secret': [but({ api_key: CANARY }), 400, 'raw_secret_field_rejected', 'api_key'],
  'other models': [but({ models: [CANARY] }), 400, 'unsupported_parameter', 'models'],
  'no model': [but({ model: undefined }), 400, 'missing_model', 'model'],
  'an empty model': [but({ model: '' }), 400, 'missing_model', 'model'],
  'two models in one': [but({ model: ['a', 'b'] }), 400, 'validation_error', 'model'],
  'a path for a model': [but({ model: '../../x' }), 404, 'model_not_found', 'model'],
  'a model that chats': [but({ model: 'chat-model' }), 400, 'capability_unsupported', 'model'],
  'no input': [but({ input: undefined }), 400, 'missing_prompt', 'input'],
  null: [but({ input: null }), 400, 'missing_prompt', 'input'],
  'an empty text': [but({ input: '' }), 400, 'missing_prompt', 'input'],
  'an empty list': [but({ input: [] }), 400, 'missing_prompt', 'input'],
  'a number': [but({ input: 5 }), 400, 'validation_error', 'input'],
  'an object': [but({ input: { text: CANARY } }), 400, 'validation_error', 'input'],
  'nested texts': [but({ input: [[CANARY]] }), 400, 'validation_error', 'input[0]'],
  'numbers beside texts': [but({ input: [CANARY, 1] }), 400, 'validation_error', 'input[1]'],
  'null among texts': [but({ input: [CANARY, null] }), 400, 'validation_error', 'input[1]'],
  'an empty text among others': [but({ input: [CANARY, ''] }), 400, 'validation_error', 'input[1]'],
  'a token below zero': [but({ input: [-1] }), 400, 'validation_error', 'input[0]'],
  'one token too many': [but({ input: times(2049, 1) }), 400, 'context_length_exceeded', 'input'],
  'one token too many in the second list': [
    but({ input: [[1], times(2049, 1)] }),
    400,
    'context_length_exceeded',
    'input[1]',
  ],
  'a text that no vocabulary makes short': [
    but({ input: [CANARY, LONG] }),
    400,
    'context_length_exceeded',
    'input[1]',
  ],
  'one input too many': [but({ input: times(10_001, 'x') }), 400, 'operation_too_large', 'input'],
  'more tokens than a call takes': [
    but({ input: times(1000, times(2001, 1)) }),
    400,
    'operation_too_large',
    'input',
  ],
  'another encoding': [
    but({ encoding_format: CANARY }),
    400,
    'validation_error',
    'encoding_format',
  ],
  'half a dimension': [but({ dimensions: 1.5 }), 400, 'validation_error', 'dimensions'],
  'no dimensions': [but({ dimensions: 0 }), 400, 'validation_error', 'dimensions'],
  'dimensions as text': [but({ dimensions: '5' }), 400, 'validation_error', 'dimensions'],
  'a stream': [but({ stream: true }), 400, 'unsupported_parameter', 'stream'],
  'a region that is a number': [but({ region: 7 }), 400, 'validation_error', 'region'],
  'a region that nobody is in': [but({ region: 'MARS' }), 403, 'sovereign_route_unavailable'],
  'a long idempotency key': [
    bearing(['Idempotency-Key', 'x'.repeat(256)]),
    400,
    'invalid_idempotency_key',
  ],
}

interface Envelope {
  readonly error: Readonly<Record<string, unknown>>
}

const TYPES = new Map([
  [401, 'authentication_error'],
  [403, 'permission_error'],
])

describe('a request for embeddings is refused', () => {
  it.each(Object.entries(REFUSED))('with %s', async (_, [sent, status, code, param]) => {
    const asked = supplier.requests.length
    const response = await send(sent)
    const text = response.body.toString()
    const { error } = JSON.parse(text) as Envelope
    expect([response.status, error['code']]).toEqual([status, code])
    if (param !== undefined) expect(error['param']).toBe(param)
    expect(error['type']).toBe(TYPES.get(status) ?? 'invalid_request_error')
    expect(error['message']).toBe(`${code} - ${String(error['human_message'])}`)
    expect(response.headers.get('x-should-retry')).toBe('false')
    expect(response.headers.get('x-request-id')).toMatch(/^req_/)
    expect(`${text}${JSON.stringify([...response.headers])}`).not.toContain(CANARY)
    expect(supplier.requests).toHaveLength(asked)
  })

  it('with a body that never comes to its end', async () => {
    const clock = createFakeClock()
    const slow = await startGateway({ clock, suppliers: [embedderAt(supplier.origin)] })
    const client = await connectRaw(slow.url)
    try {
      const headers: readonly Header[] = [KEY, JSON_TYPE, ['Content-Length', '100']]
      const target = EMBEDDINGS_PATH
      await client.send(
        formatRequest({ method: 'POST', target, headers, body: SOUND.slice(0, 10) }),
      )
      while (clock.listeners() === 0) await new Promise(setImmediate)
      clock.advance(600_000)
      const response = await client.response()
      expect(response.status).toBe(408)
      expect(response.body.toString()).toContain('request_timeout')
      await client.closed
    } finally {
      client.close()
      await slow.stop()
    }
  })

  it('by another method, with the one that there is', async () => {
    const response = await send({ method: 'GET', headers: [KEY] })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
  })
})

const PASSED: Readonly<Record<string, Sent>> = {
  'nulls in optional fields': but({ encoding_format: null, dimensions: null, user: null }),
  'a stream that is none': but({ stream: false }),
  'fields that nobody here knows': but({ truncate: 'END', input_type: 'query' }),
  'as many inputs as a call takes': but({ input: times(10_000, 'x') }),
  'as many tokens as an input has': but({ input: times(2048, 1) }),
  'a text of blanks, which are few tokens': but({ input: ' '.repeat(50_000) }),
  'a text of two thousand bytes': but({ input: 'x'.repeat(2048) }),
}

describe('a request for embeddings passes', () => {
  it.each(Object.entries(PASSED))('with %s', async (_, sent) => {
    expect((await send(sent)).status).toBe(200)
  })
})

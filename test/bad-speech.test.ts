// Bad speech requests over the wire: each gets the status and the code that say what is wrong with it, as JSON although
// sound was asked for, and none reaches a supplier.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'bun:test'
import { createFakeClock } from './fakes/clock.ts'
import { ROOT_KEY, startGateway, type Gateway } from './fakes/gateway.ts'
import { connectRaw, formatRequest, sendRaw, type RawResponse } from './fakes/raw.ts'
import { speakerAt, SPEECH, spoken } from './fakes/speaker.ts'
import { startFakeSupplier, type FakeSupplier } from './fakes/supplier.ts'

let gateway: Gateway
let supplier: FakeSupplier
beforeAll(async () => {
  supplier = await startFakeSupplier(spoken)
  gateway = await startGateway({ suppliers: [speakerAt(supplier.origin)] })
})
afterEach(() => expect(supplier.requests).toHaveLength(0))
afterAll(async () => {
  await gateway.stop()
  await supplier.stop()
})

type Header = readonly [string, string]

/** Stands in what callers send; no refusal may repeat it. */
const CANARY = 'canary-7f3a'
const PATH = '/v1/audio/speech'
const KEY: Header = ['Authorization', `Bearer ${ROOT_KEY}`]
const JSON_TYPE: Header = ['Content-Type', 'application/json']
const WHOLE = { ...SPEECH, input: `Say ${CANARY}.` }
const SOUND = JSON.stringify(WHOLE)

interface Sent {
  readonly method?: string
  readonly body?: string | Uint8Array
  readonly headers?: readonly Header[]
}

function format({ method = 'POST', body, headers = [KEY, JSON_TYPE] }: Sent): Buffer {
  return formatRequest({ method, target: PATH, headers, ...(body !== undefined && { body }) })
}

function send(sent: Sent): Promise<RawResponse> {
  return sendRaw(gateway.url, format(sent), { isHead: sent.method === 'HEAD' })
}

/** A sound request but for these fields. */
function but(changes: object): Sent {
  return { body: JSON.stringify({ ...WHOLE, ...changes }) }
}

/** A sound request but for what stands at its end. */
function and(rest: string): Sent {
  return { body: `${SOUND.slice(0, -1)},${rest}}` }
}

function bearing(...headers: readonly Header[]): Sent {
  return { body: SOUND, headers: [KEY, JSON_TYPE, ...headers] }
}

function typed(...headers: readonly Header[]): Sent {
  return { body: SOUND, headers: [KEY, ...headers] }
}

const FORM: Header = ['Content-Type', 'application/x-www-form-urlencoded']
const KEYS = Array.from({ length: 100_000 }, (_, index) => `"k${index}":1`).join(',')

type Row = readonly [sent: Sent, status: number, code: string, param?: string]

const REFUSED: Readonly<Record<string, Row>> = {
  'no credential': [{ body: SOUND, headers: [JSON_TYPE] }, 401, 'missing_api_key'],
  'a form': [typed(FORM), 415, 'unsupported_media_type'],
  'two types': [typed(JSON_TYPE, FORM), 400, 'invalid_request'],
  'ten compressions': [
    bearing(['Content-Encoding', Array.from({ length: 10 }, () => 'gzip').join(', ')]),
    415,
    'unsupported_media_type',
  ],
  'a list': [{ body: '[]' }, 400, 'validation_error'],
  'a trailing comma': [{ body: `${SOUND.slice(0, -1)},}` }, 400, 'invalid_json'],
  'a mark of its byte order': [{ body: `\uFEFF${SOUND}` }, 400, 'invalid_json'],
  'two hundred levels': [and(`"x":${'['.repeat(200)}${']'.repeat(200)}`), 400, 'validation_error'],
  'a hundred thousand fields': [and(KEYS), 400, 'validation_error'],
  'a secret': [but({ api_key: CANARY }), 400, 'raw_secret_field_rejected', 'api_key'],
  'no model': [but({ model: undefined }), 400, 'missing_model', 'model'],
  'an empty model': [but({ model: '' }), 400, 'missing_model', 'model'],
  'two models in one': [but({ model: ['a', 'b'] }), 400, 'validation_error', 'model'],
  'two models': [and(`"model":"${CANARY}"`), 400, 'validation_error', 'model'],
  'two texts': [and(`"input":"${CANARY}"`), 400, 'validation_error', 'input'],
  'a path for a model': [but({ model: '../../x' }), 404, 'model_not_found', 'model'],
  'no text': [but({ input: undefined }), 400, 'missing_prompt', 'input'],
  'an empty text': [but({ input: '' }), 400, 'missing_prompt', 'input'],
  'a blank text': [but({ input: '   ' }), 400, 'validation_error', 'input'],
  'a text that is too long': [but({ input: 'x'.repeat(4097) }), 400, 'validation_error', 'input'],
  'a list of texts': [but({ input: [CANARY] }), 400, 'validation_error', 'input'],
  'a path for a voice': [but({ voice: '../x' }), 400, 'validation_error', 'voice'],
  'a number for a format': [
    but({ response_format: 1 }),
    400,
    'validation_error',
    'response_format',
  ],
  'a format that is not offered': [
    but({ response_format: 'pcm' }),
    400,
    'validation_error',
    'response_format',
  ],
  'too high a speed': [but({ speed: 4.01 }), 400, 'validation_error', 'speed'],
  'a speed in quotes': [but({ speed: '1' }), 400, 'validation_error', 'speed'],
  'a stream': [but({ stream: true }), 400, 'unsupported_parameter', 'stream'],
  'a stream of events': [
    but({ stream_format: 'sse' }),
    400,
    'unsupported_parameter',
    'stream_format',
  ],
  'a region that is none': [but({ region: '../' }), 400, 'validation_error', 'region'],
  'a long idempotency key': [
    bearing(['Idempotency-Key', 'x'.repeat(256)]),
    400,
    'invalid_idempotency_key',
  ],
}

interface Envelope {
  readonly error: Readonly<Record<string, unknown>>
}

describe('a speech request is refused', () => {
  it.each(Object.entries(REFUSED))('with %s', async (_, [sent, status, code, param]) => {
    const response = await send(sent)
    const text = response.body.toString()
    const { error } = JSON.parse(text) as Envelope
    expect([response.status, error['code']]).toEqual([status, code])
    if (param !== undefined) expect(error['param']).toBe(param)
    expect(error['type']).toBe(status === 401 ? 'authentication_error' : 'invalid_request_error')
    expect(error['message']).toBe(`${code} - ${String(error['human_message'])}`)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(response.headers.get('x-should-retry')).toBe('false')
    expect(response.headers.get('x-request-id')).toMatch(/^req_/)
    expect(`${text}${JSON.stringify([...response.headers])}`).not.toContain(CANARY)
  })

  it.each(['GET', 'HEAD', 'PUT', 'DELETE', 'TRACE'])(
    'by %s, with the method that there is',
    async (method) => {
      const response = await send({ method, headers: [KEY] })
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
    },
  )

  it('by a key that may not ask for the model, or not there', async () => {
    const elsewhere = await gateway.createKey({ name: 'other', allowed_models: ['another'] })
    const bound = await gateway.createKey({ name: 'far', allowed_regions: 'US' })
    const codes = await Promise.all(
      [elsewhere, bound].map(async ({ key }) => {
        const headers: readonly Header[] = [['Authorization', `Bearer ${key}`], JSON_TYPE]
        const { status, body } = await send({ body: SOUND, headers })
        const { error } = JSON.parse(body.toString()) as Envelope
        return [status, error['code']]
      }),
    )
    expect(codes).toEqual([
      [403, 'model_not_allowed'],
      [403, 'sovereign_route_unavailable'],
    ])
  })

  it('with a body that never comes to its end', async () => {
    const clock = createFakeClock()
    const slow = await startGateway({ clock, suppliers: [speakerAt(supplier.origin)] })
    const client = await connectRaw(slow.url)
    try {
      const headers: readonly Header[] = [KEY, JSON_TYPE, ['Content-Length', '100']]
      await client.send(format({ body: SOUND.slice(0, 10), headers }))
      while (clock.listeners() === 0) await new Promise(setImmediate)
      clock.advance(600_000)
      const response = await client.response()
      expect(response.status).toBe(408)
      await client.closed
    } finally {
      client.close()
      await slow.stop()
    }
  })
})

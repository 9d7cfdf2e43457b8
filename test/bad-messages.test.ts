// Bad requests for messages over the wire: each gets the status and the code that say what is wrong with it, in the
// envelope of the language, and none reaches a supplier. What only looks wrong must pass.
import { afterAll, beforeAll, describe, expect, it } from 'bun:test'
import { ROOT_KEY, startGateway, type Gateway } from './fakes/gateway.ts'
import { goodMessages, HELLO_MESSAGES, messagesAt, MESSAGES_PATH } from './fakes/messages.ts'
import { formatRequest, sendRaw, type RawResponse } from './fakes/raw.ts'
import { startFakeSupplier, type FakeSupplier } from './fakes/supplier.ts'

let gateway: Gateway
let supplier: FakeSupplier
beforeAll(async () => {
  supplier = await startFakeSupplier(goodMessages)
  gateway = await startGateway({ suppliers: [messagesAt(supplier.origin)] })
})
afterAll(async () => {
  await gateway.stop()
  await supplier.stop()
})

type Header = readonly [string, string]

/** Stands in what callers send; no refusal may repeat it. */
const CANARY = 'canary-7f3a'
const KEY: Header = ['x-api-key', ROOT_KEY]
const JSON_TYPE: Header = ['Content-Type', 'application/json']

interface Sent {
  readonly method?: string
  readonly body?: string | Uint8Array
  readonly headers?: readonly Header[]
}

function send({ method = 'POST', body, headers = [KEY, JSON_TYPE] }: Sent): Promise<RawResponse> {
  const bytes = formatRequest({
    method,
    target: MESSAGES_PATH,
    headers,
    ...(body !== undefined && { body }),
  })
  return sendRaw(gateway.url, bytes)
}

/** A sound request but for these fields. */
function but(changes: object): Sent {
  return { body: JSON.stringify({ ...HELLO_MESSAGES, ...changes }) }
}

function saying(...content: readonly unknown[]): Sent {
  return but({ messages: [{ role: 'user', content }] })
}

function bearing(...headers: readonly Header[]): Sent {
  return { ...but({}), headers: [KEY, JSON_TYPE, ...headers] }
}

const SOUND = JSON.stringify(HELLO_MESSAGES)
const TYPES = new Map([
  [401, 'authentication_error'],
  [404, 'not_found_error'],
])

const REFUSED: readonly (readonly [string, Sent, number, string, string?])[] = [
  ['no credential', { body: SOUND, headers: [JSON_TYPE] }, 401, 'missing_api_key'],
  [
    'a wrong one',
    { body: SOUND, headers: [['x-api-key', `svc_${CANARY}`], JSON_TYPE] },
    401,
    'invalid_api_key',
  ],
  [
    'a wrong one before a wrong body',
    { body: '{', headers: [['x-api-key', 'x'], JSON_TYPE] },
    401,
    'invalid_api_key',
  ],
  [
    'a form',
    { body: 'a=b', headers: [KEY, ['Content-Type', 'application/x-www-form-urlencoded']] },
    415,
    'unsupported_media_type',
  ],
  ['a list', { body: '[]' }, 400, 'validation_error'],
  ['nothing', { body: '' }, 400, 'invalid_json'],
  ['a trailing comma', { body: `${SOUND.slice(0, -1)},}` }, 400, 'invalid_json'],
  ['a mark of its byte order', { body: `\uFEFF${SOUND}` }, 400, 'invalid_json'],
  ['broken text', { body: new Uint8Array([0x22, 0xff, 0x22]) }, 400, 'invalid_json'],
  [
    'two hundred levels',
    { body: `${SOUND.slice(0, -1)},"x":${'['.repeat(200)}${']'.repeat(200)}}` },
    400,
    'validation_error',
  ],
  [
    'two models',
    { body: `{"model":"${CANARY}",${SOUND.slice(1)}` },
    400,
    'validation_error',
    'model',
  ],
  [
    'an escaped model',
    { body: `{"mod\\u0065l":"${CANARY}",${SOUND.slice(1)}` },
    400,
    'validation_error',
    'model',
  ],
  [
    'two roles',
    { body: SOUND.replace('"role"', '"role":"assistant","role"') },
    400,
    'validation_error',
    'role',
  ],
  ['a secret', but({ api_key: CANARY }), 400, 'raw_secret_field_rejected', 'api_key'],
  ['an empty model', but({ model: '' }), 400, 'missing_model', 'model'],
  ['two models in one', but({ model: ['a', 'b'] }), 400, 'validation_error', 'model'],
  ['a path for a model', but({ model: '../../x' }), 404, 'model_not_found', 'model'],
  ['a model that nobody has', but({ model: 'nobody' }), 404, 'model_not_found', 'model'],
  ['no limit', but({ max_tokens: undefined }), 400, 'missing_fields', 'max_tokens'],
  ['half a token', but({ max_tokens: 1.5 }), 400, 'validation_error', 'max_tokens'],
  ['a limit in quotes', but({ max_tokens: '5' }), 400, 'validation_error', 'max_tokens'],
  ['no messages', but({ messages: undefined }), 400, 'missing_prompt', 'messages'],
  ['empty messages', but({ messages: [] }), 400, 'missing_prompt', 'messages'],
  [
    'no user',
    but({ messages: [{ role: 'assistant', content: CANARY }] }),
    400,
    'validation_error',
    'messages',
  ],
  [
    'content of null',
    but({ messages: [{ role: 'user', content: null }] }),
    400,
    'validation_error',
    'messages[0].content',
  ],
  [
    'an image that is none',
    saying({ type: 'image', source: { type: 'base64', data: `${CANARY} !` } }),
    400,
    'validation_error',
    'messages[0].content[0].source.data',
  ],
  [
    'an image of this machine',
    saying({ type: 'image', source: { type: 'url', url: 'file:///etc/passwd' } }),
    400,
    'validation_error',
    'messages[0].content[0].source.url',
  ],
  ['a number for a system', but({ system: 5 }), 400, 'validation_error', 'system'],
  [
    'a tool without a schema',
    but({ tools: [{ name: CANARY }] }),
    400,
    'validation_error',
    'tools[0].input_schema',
  ],
  ['a word for a stream', but({ stream: 'yes' }), 400, 'validation_error', 'stream'],
  ['a thread', but({ thread: { type: 'create' } }), 400, 'unsupported_parameter', 'thread'],
  ['a text for metadata', but({ metadata: 'x' }), 400, 'validation_error', 'metadata'],
  ['a number for a region', but({ region: 7 }), 400, 'validation_error', 'region'],
  [
    'a version of yesterday',
    bearing(['messages-version', 'yesterday']),
    400,
    'invalid_schema_version',
    'messages-version',
  ],
  [
    'two versions',
    bearing(['anthropic-version', '2023-06-01'], ['anthropic-version', '2023-06-02']),
    400,
    'invalid_schema_version',
    'anthropic-version',
  ],
  [
    'trials without an end',
    bearing(['anthropic-beta', 'x'.repeat(5000)]),
    400,
    'validation_error',
    'anthropic-beta',
  ],
  [
    'a session without an end',
    bearing(['X-Session-Id', 'x'.repeat(300)]),
    400,
    'validation_error',
    'X-Session-Id',
  ],
  [
    'a long idempotency key',
    bearing(['Idempotency-Key', 'x'.repeat(256)]),
    400,
    'invalid_idempotency_key',
  ],
]

describe('messages are refused', () => {
  it.each(REFUSED.map(([name, ...row]) => [name, row] as const))('with %s', async (_, row) => {
    const [sent, status, code, param] = row
    const before = supplier.requests.length
    const response = await send(sent)
    const text = response.body.toString()
    const {
      type,
      error,
      request_id: id,
    } = JSON.parse(text) as {
      readonly type: string
      readonly request_id: string
      readonly error: Readonly<Record<string, unknown>>
    }
    expect([response.status, error['code'], type]).toEqual([status, code, 'error'])
    expect(error['type']).toBe(TYPES.get(status) ?? 'invalid_request_error')
    if (param !== undefined) expect(error['param']).toBe(param)
    expect(error['message']).toBe(`${code} - ${String(error['human_message'])}`)
    expect(response.headers.get('x-should-retry')).toBe('false')
    expect([id, response.headers.get('request-id')]).toEqual([id, id])
    expect(`${text}${JSON.stringify([...response.headers])}`).not.toContain(CANARY)
    expect(supplier.requests).toHaveLength(before)
  })

  it.each(['GET', 'PUT', 'DELETE', 'PATCH'])(
    'by %s, with the methods that there are',
    async (method) => {
      const response = await send({ method, headers: [KEY] })
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
      expect(JSON.parse(response.body.toString())).toMatchObject({
        type: 'error',
        error: { code: 'method_not_allowed' },
      })
    },
  )
})

describe('messages pass', () => {
  const PASSED: readonly (readonly [string, Sent])[] = [
    ['a version of any day', bearing(['anthropic-version', '2199-12-31'])],
    ['trials that nobody knows', bearing(['anthropic-beta', 'tomorrow-2030-01-01'])],
    ['no limit but zero', but({ max_tokens: 0 })],
    ['nulls', but({ stream: null, system: null, tools: null, metadata: null, thinking: null })],
    ['fields that nobody knows', but({ odd: { deep: [1] }, output_config: { effort: 'low' } })],
    ['blocks that nobody knows', saying({ type: 'hologram', data: [1] })],
    [
      'the system at the end',
      but({ messages: [...HELLO_MESSAGES.messages, { role: 'system', content: 's' }] }),
    ],
    ['a user twice', but({ messages: [...HELLO_MESSAGES.messages, ...HELLO_MESSAGES.messages] })],
    ['an empty text', but({ messages: [{ role: 'user', content: '' }] })],
  ]
  it.each(PASSED)('with %s', async (_, sent) => {
    const response = await send(sent)
    expect(response.body.toString()).toContain('"type":"message"')
    expect(response.status).toBe(200)
  })
})

// Bad reranking requests over the wire: each gets the status and the code that say what is wrong with it, and none
// reaches a supplier.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'bun:test'
import { toPicoUsd } from '../src/core/money.ts'
import { rerank } from '../src/dialects/rerank/index.ts'
import { openaiChat } from '../src/dialects/openai-chat/index.ts'
import type { ModelRoute, Supplier } from '../src/suppliers/supplier.ts'
import { createFakeClock } from './fakes/clock.ts'
import { ROOT_KEY, startGateway, supplierAt, type Gateway } from './fakes/gateway.ts'
import { connectRaw, formatRequest, sendRaw, type RawResponse } from './fakes/raw.ts'
import { startFakeSupplier, type FakeSupplier } from './fakes/supplier.ts'

let gateway: Gateway
let supplier: FakeSupplier
beforeAll(async () => {
  supplier = await startFakeSupplier((_, reply) => reply.json(500, {}))
  gateway = await startGateway({ suppliers: [rankerAt(supplier.origin)] })
})
afterEach(() => expect(supplier.requests).toHaveLength(0))
afterAll(async () => {
  await gateway.stop()
  await supplier.stop()
})

/** It chats, too, by another model. */
function rankerAt(origin: string): Supplier {
  const price = { input: toPicoUsd(0), output: toPicoUsd(0), search: toPicoUsd(1000) }
  const route = { as: 'x', prices: [{ from: 0, price }], ownedBy: 'maker' } as const
  return supplierAt(origin, {
    services: [
      { dialect: openaiChat, path: '/v1/chat/completions' },
      { dialect: rerank, path: '/v1/rerank' },
    ],
    models: new Map<string, ModelRoute>([
      ['ranker', { ...route, task: 'rerank' }],
      ['talker', route],
    ]),
  })
}

type Header = readonly [string, string]

/** Stands in what callers send; no refusal may repeat it. */
const CANARY = 'canary-5b1e'
const KEY: Header = ['Authorization', `Bearer ${ROOT_KEY}`]
const JSON_TYPE: Header = ['Content-Type', 'application/json']
const FORM: Header = ['Content-Type', 'application/x-www-form-urlencoded']
const ASKED = { model: 'ranker', query: CANARY, documents: [CANARY, CANARY] }
const SOUND = JSON.stringify(ASKED)

interface Sent {
  readonly body: string
  readonly headers?: readonly Header[]
}

function format({ body, headers = [KEY, JSON_TYPE] }: Sent): Buffer {
  return formatRequest({ method: 'POST', target: '/v1/rerank', headers, body })
}

function send(sent: Sent): Promise<RawResponse> {
  return sendRaw(gateway.url, format(sent))
}

/** A sound request but for these fields. */
function but(changes: object): Sent {
  return { body: JSON.stringify({ ...ASKED, ...changes }) }
}

/** A sound request but for what stands at its end. */
function and(rest: string): Sent {
  return { body: `${SOUND.slice(0, -1)},${rest}}` }
}

function bearing(...headers: readonly Header[]): Sent {
  return { body: SOUND, headers: [KEY, JSON_TYPE, ...headers] }
}

const KEYS = Array.from({ length: 100_000 }, (_, index) => `"k${index}":1`).join(',')
const TEN_TIMES = Array.from({ length: 10 }, () => 'gzip').join(', ')
const MANY = Array.from({ length: 10_001 }, () => 'a')

type Row = readonly [sent: Sent, status: number, code: string, param?: string]

const REFUSED: Readonly<Record<string, Row>> = {
  'no credential': [{ body: SOUND, headers: [JSON_TYPE] }, 401, 'missing_api_key'],
  'a form': [{ body: SOUND, headers: [KEY, FORM] }, 415, 'unsupported_media_type'],
  'two types': [{ body: SOUND, headers: [KEY, JSON_TYPE, FORM] }, 400, 'invalid_request'],
  'ten compressions': [bearing(['Content-Encoding', TEN_TIMES]), 415, 'unsupported_media_type'],
  'a list': [{ body: '[]' }, 400, 'validation_error'],
  'a trailing comma': [{ body: `${SOUND.slice(0, -1)},}` }, 400, 'invalid_json'],
  'a mark of its byte order': [{ body: `\uFEFF${SOUND}` }, 400, 'invalid_json'],
  'two hundred levels': [and(`"x":${'['.repeat(200)}${']'.repeat(200)}`), 400, 'validation_error'],
  'a hundred thousand fields': [and(KEYS), 400, 'validation_error'],
  'a secret': [but({ api_key: CANARY }), 400, 'raw_secret_field_rejected', 'api_key'],
  'an empty model': [but({ model: '' }), 400, 'missing_model', 'model'],
  'two models in one': [but({ model: ['a', 'b'] }), 400, 'validation_error', 'model'],
  'two models': [and(`"model":"${CANARY}"`), 400, 'validation_error', 'model'],
  'a path for a model': [but({ model: '../../x' }), 404, 'model_not_found', 'model'],
  'a model that chats': [but({ model: 'talker' }), 400, 'capability_unsupported'],
  'no query': [but({ query: undefined }), 400, 'missing_prompt', 'query'],
  'an empty query': [but({ query: '' }), 400, 'missing_prompt', 'query'],
  'a number for a query': [but({ query: 5 }), 400, 'validation_error', 'query'],
  'two queries': [and(`"query":"${CANARY}"`), 400, 'validation_error', 'query'],
  'no documents': [but({ documents: undefined }), 400, 'missing_fields', 'documents'],
  'documents of null': [but({ documents: null }), 400, 'missing_fields', 'documents'],
  'an empty list of documents': [but({ documents: [] }), 400, 'missing_fields', 'documents'],
  'a text for documents': [but({ documents: CANARY }), 400, 'validation_error', 'documents'],
  'a document of null': [but({ documents: [null] }), 400, 'validation_error', 'documents[0]'],
  'a document in a list': [but({ documents: [['a']] }), 400, 'validation_error', 'documents[0]'],
  'ten thousand documents and one': [
    but({ documents: MANY }),
    400,
    'operation_too_large',
    'documents',
  ],
  'a limit of nothing': [but({ top_n: 0 }), 400, 'validation_error', 'top_n'],
  'a limit in quotes': [but({ top_n: '5' }), 400, 'validation_error', 'top_n'],
  'half a limit': [but({ top_n: 0.5 }), 400, 'validation_error', 'top_n'],
  'a word for yes': [but({ return_documents: 'yes' }), 400, 'validation_error', 'return_documents'],
  'a stream': [but({ stream: true }), 400, 'unsupported_parameter', 'stream'],
  'a long idempotency key': [
    bearing(['Idempotency-Key', 'x'.repeat(256)]),
    400,
    'invalid_idempotency_key',
  ],
}

describe('a reranking request is refused', () => {
  it.each(Object.entries(REFUSED))('with %s', async (_, [sent, status, code, param]) => {
    const response = await send(sent)
    const text = response.body.toString()
    const { error } = JSON.parse(text) as { readonly error: Readonly<Record<string, unknown>> }
    expect([response.status, error['code']]).toEqual([status, code])
    if (param !== undefined) expect(error['param']).toBe(param)
    expect(response.headers.get('x-request-id')).toMatch(/^req_/)
    expect(text).not.toContain(CANARY)
  })

  it('by every method but one', async () => {
    const headers = [KEY]
    const request = formatRequest({ method: 'GET', target: '/v1/rerank', headers })
    const response = await sendRaw(gateway.url, request)
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
  })

  it('with a body that never comes to its end', async () => {
    const clock = createFakeClock()
    const slow = await startGateway({ clock, suppliers: [rankerAt(supplier.origin)] })
    const client = await connectRaw(slow.url)
    try {
      const headers: readonly Header[] = [KEY, JSON_TYPE, ['Content-Length', '100']]
      await client.send(format({ body: SOUND.slice(0, 10), headers }))
      while (clock.listeners() === 0) await new Promise(setImmediate)
      clock.advance(600_000)
      const response = await client.response()
      expect(response.status).toBe(408)
      expect(JSON.parse(response.body.toString())).toMatchObject({
        error: { code: 'request_timeout' },
      })
      await client.closed
    } finally {
      client.close()
      await slow.stop()
    }
  })

  it('of a key that may not call the model', async () => {
    const { key } = await gateway.createKey({ name: 'talks', allowed_models: ['talker'] })
    const headers: readonly Header[] = [['Authorization', `Bearer ${key}`], JSON_TYPE]
    const response = await send({ body: SOUND, headers })
    expect(response.status).toBe(403)
    expect(response.body.toString()).toContain('model_not_allowed')
  })
})

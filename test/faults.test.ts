// Whatever a supplier does wrong, down to the byte: what the caller is told, whether the next supplier is
// asked, what the books say, and that abandoned work is stopped at its source.
import { afterEach, describe, expect, it } from 'bun:test'
import { gzipSync } from 'node:zlib'
import { HELLO } from './fakes/gateway.ts'
import {
  ANSWER,
  closeStreet,
  good,
  openStreet,
  refuse,
  ROLE,
  sendEvents,
  tidy,
  type ErrorBody,
} from './fakes/street.ts'
import { DONE, startFakeSupplier, type FakeReply, type Script } from './fakes/supplier.ts'

afterEach(closeStreet)

const MEBIBYTE = 1_048_576

interface Fault {
  readonly name: string
  readonly script: Script
  /** Both when absent. */
  readonly asks?: 'unary' | 'stream'
  readonly status: number
  readonly code: string
  readonly shouldRetry: boolean
  readonly retryAfter?: number | undefined
  /** The caller's own fault, or one that every other supplier would share. */
  readonly isFinal?: true
  /** The supplier is still at work and must be stopped. */
  readonly isAbandoned?: true
  readonly provider?: unknown
}

function sendEncoded(reply: FakeReply, encoding: string, bytes: Uint8Array): void {
  reply.raw(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: ${encoding}\r\n`,
  )
  reply.raw(`content-length: ${bytes.length}\r\n\r\n`)
  reply.raw(bytes)
}

const REFUSED_CREDENTIAL = { shouldRetry: false, retryAfter: undefined }
const EXHAUSTED = { status: 503, code: 'all_providers_exhausted', shouldRetry: true, retryAfter: 1 }
const BUSY = { status: 429, code: 'all_providers_exhausted', shouldRetry: true }
const LATE = { status: 504, code: 'all_providers_exhausted', shouldRetry: true }

const REFUSALS: readonly Fault[] = [
  {
    name: 'a 429 without a time',
    script: refuse(429, { message: 'slow' }),
    ...BUSY,
    retryAfter: 1,
  },
  {
    name: 'a 429 with seconds',
    script: refuse(429, { message: 'slow' }, { 'retry-after': '7' }),
    ...BUSY,
    retryAfter: 7,
  },
  {
    name: 'a 429 with a date',
    script: (_, reply) => {
      const date = new Date(Date.UTC(2026, 0, 15, 12, 0, 30)).toUTCString()
      reply.json(429, { error: { message: 'slow' } }, { 'retry-after': date })
    },
    ...BUSY,
    retryAfter: 30,
  },
  {
    name: 'a 429 with an hour',
    script: refuse(429, { message: 'slow' }, { 'retry-after': '3600' }),
    ...BUSY,
    retryAfter: 60,
  },
  {
    name: 'a 429 with a time that is none',
    script: refuse(429, { message: 'slow' }, { 'retry-after': 'soon' }),
    ...BUSY,
    retryAfter: 1,
  },
  ...[500, 502, 503, 529].map((status) => ({
    name: `a ${status}`,
    script: refuse(status, { message: 'broken', code: 'server_error' }),
    ...EXHAUSTED,
  })),
  { name: 'a 504', script: refuse(504, { message: 'late' }), ...LATE },
  {
    name: 'a 503 with an hour',
    script: refuse(503, { message: 'down' }, { 'retry-after': '3600' }),
    ...EXHAUSTED,
    retryAfter: 60,
  },
  {
    name: 'a 502 with a web page larger than an error may be',
    script: (_, reply) =>
      reply.json(502, `<html>${'x'.repeat(100_000)}</html>`, { 'content-type': 'text/html' }),
    ...EXHAUSTED,
  },
  ...[401, 402, 403, 408].map((status) => ({
    name: `a ${status}`,
    script: refuse(status, { message: 'Incorrect API key', code: 'invalid_api_key' }),
    ...EXHAUSTED,
    // Waiting cures a timeout and no credential.
    ...(status === 408 ? {} : REFUSED_CREDENTIAL),
  })),
  {
    name: 'a 404',
    script: refuse(404, { message: 'no such model', code: 'model_not_found' }),
    status: 503,
    code: 'model_unavailable',
    shouldRetry: false,
  },
  ...[400, 413, 422].map((status) => ({
    name: `a ${status} with a code of its own`,
    script: refuse(status, { message: 'Too long.', code: 'context_length_exceeded', extra: [1] }),
    status,
    code: 'context_length_exceeded',
    shouldRetry: false,
    isFinal: true as const,
    provider: { message: 'Too long.', code: 'context_length_exceeded', extra: [1] },
  })),
  {
    name: 'a 400 with a number for a code',
    script: refuse(400, { message: 'No.', code: 3210 }),
    status: 400,
    code: '3210',
    shouldRetry: false,
    isFinal: true,
    provider: { message: 'No.', code: 3210 },
  },
  {
    name: 'a 400 without a code',
    script: refuse(400, { message: 'No.' }),
    status: 400,
    code: 'provider_error',
    shouldRetry: false,
    isFinal: true,
    provider: { message: 'No.' },
  },
]

const MUMBLED: readonly Fault[] = [
  {
    name: 'an empty body',
    asks: 'unary',
    script: (_, reply) => reply.json(200, ''),
    status: 502,
    code: 'empty_response',
    shouldRetry: false,
  },
  {
    name: 'an empty object',
    asks: 'unary',
    script: (_, reply) => reply.json(200, {}),
    status: 502,
    code: 'empty_response',
    shouldRetry: false,
  },
  {
    name: 'a web page',
    script: (_, reply) => reply.json(200, '<html></html>', { 'content-type': 'text/html' }),
    status: 502,
    code: 'non_json_provider_response',
    shouldRetry: false,
  },
  {
    name: 'half a JSON',
    asks: 'unary',
    script: (_, reply) => reply.json(200, '{"choices":[{"index":0'),
    status: 502,
    code: 'upstream_invalid_response',
    shouldRetry: true,
  },
  {
    name: 'a body that is shorter than its length',
    asks: 'unary',
    script: (_, reply) => {
      reply.json(200, '{"choices":[', { 'content-length': '500' })
      reply.close()
    },
    ...EXHAUSTED,
  },
  {
    name: 'an error inside a 200',
    asks: 'unary',
    script: refuse(200, { message: 'sorry', type: 'server_error' }),
    ...EXHAUSTED,
  },
  {
    name: 'a refused credential inside a 200',
    asks: 'unary',
    script: refuse(200, { message: 'who?', code: 401 }),
    ...EXHAUSTED,
    ...REFUSED_CREDENTIAL,
  },
  {
    name: 'an encoding on top of another',
    asks: 'unary',
    script: (_, reply) => sendEncoded(reply, 'gzip, gzip', gzipSync(gzipSync('{"choices":[{}]}'))),
    status: 502,
    code: 'non_json_provider_response',
    shouldRetry: false,
  },
  {
    name: 'an encoding that it does not keep to',
    asks: 'unary',
    script: (_, reply) => sendEncoded(reply, 'gzip', Buffer.from('{"choices":[{}]}')),
    ...EXHAUSTED,
  },
  {
    name: 'an answer of 33 MiB that says so',
    asks: 'unary',
    script: (_, reply) => reply.json(200, ' ', { 'content-length': String(33 * MEBIBYTE) }),
    status: 502,
    code: 'provider_response_too_large',
    shouldRetry: false,
    isFinal: true,
    isAbandoned: true,
  },
  {
    name: 'an answer that grows past 32 MiB',
    asks: 'unary',
    script: (_, reply) => {
      const stream = reply.stream({ 'content-type': 'application/json' })
      for (let sent = 0; sent < 33; sent++) stream.send(Buffer.alloc(MEBIBYTE, ' '))
    },
    status: 502,
    code: 'provider_response_too_large',
    shouldRetry: false,
    isFinal: true,
    isAbandoned: true,
  },
]

const BROKEN_CONNECTIONS: readonly Fault[] = [
  { name: 'a reset after the request', script: (_, reply) => reply.reset(), ...EXHAUSTED },
  { name: 'a close after the request', script: (_, reply) => reply.close(), ...EXHAUSTED },
  {
    name: 'a reset in the middle of the headers',
    script: (_, reply) => {
      reply.raw('HTTP/1.1 200 OK\r\ncontent-ty')
      reply.close()
    },
    ...EXHAUSTED,
  },
  {
    name: 'something that is no HTTP',
    script: (_, reply) => {
      reply.raw('SSH-2.0-OpenSSH\r\n\r\n')
      reply.close()
    },
    ...EXHAUSTED,
  },
]

/** Streams that fail before anything of them could be passed on. */
const STILLBORN: readonly Fault[] = [
  {
    name: 'an error as the first event',
    asks: 'stream',
    script: (_, reply) => sendEvents(reply, ['data: {"error":{"message":"sorry"}}\n\n']),
    ...EXHAUSTED,
  },
  {
    name: 'an error after the role',
    asks: 'stream',
    script: (_, reply) => sendEvents(reply, [ROLE, 'data: {"error":{"message":"sorry"}}\n\n']),
    ...EXHAUSTED,
  },
  {
    name: 'an error in the place of a stream',
    asks: 'stream',
    script: refuse(200, { message: 'sorry' }),
    status: 503,
    code: 'all_providers_exhausted',
    shouldRetry: true,
  },
  {
    name: 'a stream without an event',
    asks: 'stream',
    script: (_, reply) => sendEvents(reply, []),
    status: 502,
    code: 'empty_stream',
    shouldRetry: false,
  },
  {
    name: 'a stream of nothing but its marker',
    asks: 'stream',
    script: (_, reply) => sendEvents(reply, [DONE]),
    status: 502,
    code: 'empty_stream',
    shouldRetry: false,
  },
  {
    name: 'a stream that is reset after the role',
    asks: 'stream',
    script: (_, reply) => {
      reply.stream().send(ROLE)
      reply.close()
    },
    ...EXHAUSTED,
  },
  {
    name: 'a first event that is no JSON',
    asks: 'stream',
    script: (_, reply) => sendEvents(reply, ['data: {"choices\n\n']),
    status: 502,
    code: 'stream_error',
    shouldRetry: false,
  },
  {
    name: 'a first line of 17 MiB',
    asks: 'stream',
    script: (_, reply) => {
      const stream = reply.stream()
      stream.send('data: ')
      for (let sent = 0; sent < 17; sent++) stream.send(Buffer.alloc(MEBIBYTE, 'x'))
    },
    status: 502,
    code: 'provider_response_too_large',
    shouldRetry: false,
    isAbandoned: true,
  },
]

const FAULTS = [...REFUSALS, ...MUMBLED, ...BROKEN_CONNECTIONS, ...STILLBORN].flatMap((fault) =>
  (fault.asks === undefined ? (['unary', 'stream'] as const) : [fault.asks]).map(
    (asks) => [fault.name, asks, fault] as const,
  ),
)

async function expectRefusal(response: Response, fault: Fault): Promise<void> {
  const { error } = (await response.json()) as ErrorBody
  expect({ status: response.status, code: error.code }).toEqual({
    status: fault.status,
    code: fault.code,
  })
  expect(error.message).toBe(`${error.code} - ${error.human_message}`)
  expect(error.retryable).toBe(fault.shouldRetry)
  expect(response.headers.get('x-should-retry')).toBe(String(fault.shouldRetry))
  const retryAfter = response.headers.get('retry-after')
  if (fault.retryAfter !== undefined) expect(retryAfter).toBe(String(fault.retryAfter))
  else if (retryAfter !== null) expect(retryAfter).toMatch(/^([1-9]|[1-5]\d|60)$/)
  if (!fault.shouldRetry) expect(retryAfter).toBeNull()
  expect(error.provider).toEqual(fault.provider)
}

describe('a supplier that fails before the first content', () => {
  it.each(FAULTS)('alone with %s (%s)', async (_, asks, fault) => {
    const { gateway, suppliers } = await openStreet([fault.script])
    const response = await gateway.chat({ ...HELLO, stream: asks === 'stream' })
    await expectRefusal(response, fault)
    expect(suppliers[0]!.requests).toHaveLength(1)
    if (fault.isAbandoned) await suppliers[0]!.requests[0]!.closed
    expect(gateway.audit()).toMatchObject([
      {
        request_id: response.headers.get('x-request-id'),
        status: fault.status,
        code: fault.code,
        supplier: 'fake',
        attempts: 1,
        stream: asks === 'stream' ? 1 : 0,
        input_tokens: null,
        output_tokens: null,
        cost: 0,
      },
    ])
  })

  it.each(FAULTS.filter(([, , { isFinal }]) => isFinal !== true))(
    'is replaced by the next one after %s (%s)',
    async (_, asks, fault) => {
      const { gateway, suppliers } = await openStreet([fault.script, good])
      const response = await gateway.chat({ ...HELLO, stream: asks === 'stream' })
      const text = await response.text()
      expect(response.status).toBe(200)
      expect(text).toContain('Hi')
      if (asks === 'stream') expect(text).toStartWith(ANSWER.join(''))
      expect(response.headers.get('x-svc-supplier')).toBe('fake-2')
      expect(response.headers.get('x-svc-failover')).toBe('true')
      if (fault.isAbandoned) await suppliers[0]!.requests[0]!.closed
      expect(gateway.audit()).toMatchObject([
        { status: 200, code: null, supplier: 'fake-2', attempts: 2, input_tokens: 11, cost: 5850 },
      ])
    },
  )

  it.each(FAULTS.filter(([, , { isFinal }]) => isFinal === true))(
    'is believed, and nobody else is asked, after %s (%s)',
    async (_, asks, fault) => {
      const { gateway, suppliers } = await openStreet([fault.script, good])
      await expectRefusal(await gateway.chat({ ...HELLO, stream: asks === 'stream' }), fault)
      expect(suppliers[1]!.connections()).toBe(0)
      expect(gateway.audit()).toMatchObject([
        { status: fault.status, supplier: 'fake', attempts: 1 },
      ])
    },
  )

  it.each([false, true])(
    'at a closed port is replaced by the next one (stream: %p)',
    async (stream) => {
      const { gateway, suppliers } = await openStreet([good, good])
      await suppliers[0]!.stop()
      const response = await gateway.chat({ ...HELLO, stream })
      expect(response.headers.get('x-svc-supplier')).toBe('fake-2')
      expect(await response.text()).toContain('Hi')
      await suppliers[1]!.stop()
      const refused = await gateway.chat({ ...HELLO, stream })
      expect(refused.status).toBe(503)
      expect(refused.headers.get('retry-after')).toBe('1')
      expect(await refused.json()).toMatchObject({ error: { code: 'all_providers_exhausted' } })
      expect(gateway.audit()).toMatchObject([
        { status: 200, attempts: 2 },
        { status: 503, code: 'all_providers_exhausted', attempts: 2, supplier: 'fake-2' },
      ])
    },
  )

  it('never leads elsewhere by a redirect', async () => {
    const elsewhere = tidy(await startFakeSupplier(good))
    const redirect: Script = (_, reply) =>
      reply.json(302, '', { location: `${elsewhere.origin}/v1/chat/completions` })
    const { gateway } = await openStreet([redirect])
    const response = await gateway.chat(HELLO)
    expect(response.status).toBe(502)
    expect(response.headers.get('x-should-retry')).toBe('false')
    expect(response.headers.get('location')).toBeNull()
    expect(await response.json()).toMatchObject({ error: { code: 'provider_redirect_forbidden' } })
    const second = await openStreet([redirect, good])
    expect((await second.gateway.chat(HELLO)).headers.get('x-svc-supplier')).toBe('fake-2')
    expect(elsewhere.connections()).toBe(0)
  })

  it('is asked for the smallest of the times that all of them named', async () => {
    const { gateway } = await openStreet([
      refuse(429, { message: 'slow' }, { 'retry-after': '40' }),
      refuse(429, { message: 'slow' }, { 'retry-after': '20' }),
    ])
    const response = await gateway.chat(HELLO)
    expect(response.status).toBe(429)
    expect(response.headers.get('retry-after')).toBe('20')
  })
})

// Counting before asking: by the supplier itself where it counts, else by a guess that gets better. It costs nothing,
// takes nothing away from calls, and no supplier's failure is an error of it.
import { afterEach, describe, expect, it } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import { countTokens as countO200k } from 'vocabularies/encoding/o200k_base'
import { anthropicMessages } from '../src/dialects/anthropic-messages/index.ts'
import type { Supplier } from '../src/suppliers/supplier.ts'
import { createFakeClock } from './fakes/clock.ts'
import {
  ROOT_KEY,
  startGateway,
  supplierAt,
  type Gateway,
  type GatewayOptions,
} from './fakes/gateway.ts'
import { goodMessages, message, messagesAt, MESSAGES_PATH, postMessages } from './fakes/messages.ts'
import { startFakeSupplier, type FakeSupplier, type Script } from './fakes/supplier.ts'

const COUNT_PATH = `${MESSAGES_PATH}/count_tokens`
const ASKED = { model: 'test-model', messages: [{ role: 'user', content: 'Hello' }] }

const open: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.stop()
})

const COUNTS = [{ dialect: anthropicMessages, path: MESSAGES_PATH, countPath: COUNT_PATH }]

/** One that counts, and answers calls. */
function countingAt(origin: string, changes: Partial<Supplier> = {}): Supplier {
  return messagesAt(origin, { services: COUNTS, ...changes })
}

interface House {
  readonly gateway: Gateway
  readonly supplier: FakeSupplier
  readonly ask: (body: unknown, headers?: Readonly<Record<string, string>>) => Promise<Response>
}

/** `script`: what the supplier does where it is asked to count. */
async function house(
  script: Script,
  options: GatewayOptions = {},
  describeAt: (origin: string) => readonly Supplier[] = (origin) => [countingAt(origin)],
): Promise<House> {
  const supplier = await startFakeSupplier((request, reply, index) =>
    isCount(request.head) ? script(request, reply, index) : goodMessages(request, reply, index),
  )
  const gateway = await startGateway({ suppliers: describeAt(supplier.origin), ...options })
  open.push(supplier, gateway)
  return { gateway, supplier, ask: (body, headers = {}) => post(gateway, body, { headers }) }
}

function isCount(head: string): boolean {
  return head.startsWith(`POST ${COUNT_PATH} `)
}

function post({ url }: Gateway, body: unknown, init: RequestInit = {}): Promise<Response> {
  return fetch(url + COUNT_PATH, {
    method: 'POST',
    ...init,
    headers: {
      'content-type': 'application/json',
      'x-api-key': ROOT_KEY,
      ...(init.headers as Record<string, string> | undefined),
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

async function tokensOf(response: Response): Promise<number> {
  const text = await response.text()
  expect([response.status, text]).toEqual([200, expect.stringMatching(/^\{"input_tokens":\d+\}$/)])
  return (JSON.parse(text) as { input_tokens: number }).input_tokens
}

async function problemOf(response: Response): Promise<Readonly<Record<string, unknown>>> {
  const problem = (await response.json()) as Record<string, unknown>
  expect(problem['type']).toBe('error')
  expect(problem['request_id']).toBe(response.headers.get('request-id'))
  return { status: response.status, ...(problem['error'] as object) }
}

function told(tokens: number): Script {
  return (_, reply) => reply.json(200, { input_tokens: tokens })
}

const PROSE = 'The quick brown fox jumps over the lazy dog and says that it is fine. '

function bodyOf(text: string, model = 'test-model'): object {
  return { model, messages: [{ role: 'user', content: text }] }
}

describe('a supplier that counts', () => {
  it('is asked, and its count is told as exact', async () => {
    const { ask } = await house(told(42))
    const response = await ask(ASKED)
    expect(await tokensOf(response)).toBe(42)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/json',
      'x-svc-count': 'exact',
      'x-svc-model': 'test-model',
      'request-id': response.headers.get('x-request-id')!,
    })
    expect(response.headers.get('x-svc-count-error')).toBeNull()
  })

  it('is sent the request alone: nothing of the gateway, nothing about an answer', async () => {
    const { ask, supplier } = await house(told(42))
    const kept =
      '"system":"s","tools":[],"messages":[{"role":"user","content":"\\u0061"}],"odd":1.0'
    await ask(
      `{"max_tokens":5,"model":"test-model","region":"EU",${kept},"stream":true,` +
        '"metadata":{"session_id":"x","user_id":"u"},"temperature":1,"top_p":1,"service_tier":"auto"}',
      { 'anthropic-beta': 'odd-2026-01-01', 'messages-version': '2026-01-01' },
    )
    const { body, headers } = await supplier.request(0)
    expect(body.toString()).toBe(`{"model":"upstream-model",${kept}}`)
    expect(headers.get('anthropic-beta')).toBe('odd-2026-01-01')
    expect(headers.get('anthropic-version')).toBe('2026-01-01')
  })

  it('has its word about a request that it calls wrong', async () => {
    const words = 'messages.0: `tool_use` ids were found without `tool_result` blocks'
    const { ask } = await house((_, reply) =>
      reply.json(400, { type: 'error', error: { type: 'invalid_request_error', message: words } }),
    )
    const problem = await problemOf(await ask(ASKED))
    expect(problem).toMatchObject({ status: 400, type: 'invalid_request_error' })
    expect(String(problem['message'])).toContain(words)
  })

  const failures: readonly (readonly [string, Script])[] = [
    ['knows no such address', (_, reply) => reply.json(404, {})],
    ['is busy', (_, reply) => reply.json(429, {}, { 'retry-after': '60' })],
    ['fails', (_, reply) => reply.json(529, {})],
    ['refuses our credential', (_, reply) => reply.json(401, {})],
    ['calls it wrong without a word', (_, reply) => reply.json(400, 'no')],
    ['tells something else', (_, reply) => reply.json(200, { tokens: 5 })],
    ['tells none', (_, reply) => reply.json(200, { input_tokens: 0 })],
    ['tells half a token', (_, reply) => reply.json(200, { input_tokens: 1.5 })],
    ['tells no JSON', (_, reply) => reply.json(200, '{"input_tokens":')],
    ['hangs up', (_, reply) => reply.reset()],
  ]
  it.each(failures)('that %s is made up for by an estimate', async (_title, script) => {
    const { ask, gateway, supplier } = await house(script)
    const health = async (): Promise<string> => (await gateway.manage('GET', '/suppliers')).text()
    const before = await health()
    const response = await ask(ASKED)
    expect(await tokensOf(response)).toBeGreaterThan(1)
    expect(response.headers.get('x-svc-count')).toBe('estimated')
    // It is left alone for a while, and calls go there as before.
    await tokensOf(await ask(ASKED))
    expect(supplier.requests.filter(({ head }) => isCount(head))).toHaveLength(1)
    expect(await health()).toBe(before)
    const call = await postMessages(gateway, { ...ASKED, max_tokens: 9 })
    expect([call.status, call.headers.get('x-svc-failover')]).toEqual([200, 'false'])
  })

  it('that does not answer is waited for no longer than five seconds', async () => {
    const clock = createFakeClock()
    const { ask, supplier } = await house(() => undefined, { clock })
    const asked = ask(ASKED)
    await supplier.request(0)
    clock.advance(5_000)
    const response = await asked
    expect(response.headers.get('x-svc-count')).toBe('estimated')
    await (
      await supplier.request(0)
    ).closed
  })

  it('hears no more of a caller who has left', async () => {
    const { gateway, supplier } = await house(() => undefined)
    const leaving = new AbortController()
    const asked = post(gateway, ASKED, { signal: leaving.signal })
    const { closed } = await supplier.request(0)
    leaving.abort()
    expect(await asked.catch((thrown: unknown) => thrown)).toBeInstanceOf(Error)
    await closed
  })

  it('is asked for the model that `auto` would be, which is named', async () => {
    const { ask, supplier } = await house(told(42))
    const response = await ask({ ...ASKED, model: 'auto' })
    expect(await tokensOf(response)).toBe(42)
    expect(response.headers.get('x-svc-model')).toBe('test-model')
    expect((await supplier.request(0)).body.toString()).toContain('"model":"upstream-model"')
  })

  it('is asked where the models of its kind are found: with the demo', async () => {
    const gateway = await startGateway()
    open.push(gateway)
    const response = await post(gateway, bodyOf('Hello, demo!', 'demo/messages'))
    expect(response.headers.get('x-svc-count')).toBe('exact')
    const counted = await tokensOf(response)
    const call = await postMessages(gateway, {
      ...bodyOf('Hello, demo!', 'demo/messages'),
      max_tokens: 9,
    })
    expect(call.headers.get('x-svc-input-tokens')).toBe(String(counted))
  })
})

describe('an estimate', () => {
  const alone = (script: Script = told(1)): Promise<House> =>
    house(script, {}, (origin) => [messagesAt(origin)])

  it('is made where no supplier counts, and nobody is asked', async () => {
    const { ask, supplier } = await alone()
    const response = await ask(bodyOf(PROSE.repeat(100)))
    const tokens = await tokensOf(response)
    const ours = countO200k(PROSE.repeat(100))
    expect(tokens / ours).toBeGreaterThan(1.15)
    expect(tokens / ours).toBeLessThan(1.3)
    expect(response.headers.get('x-svc-count')).toBe('estimated')
    expect(response.headers.get('x-svc-model')).toBe('test-model')
    expect(supplier.requests).toHaveLength(0)
  })

  it('is made for a model whose suppliers speak another language', async () => {
    const { ask, supplier } = await house(told(1), {}, (origin) => [supplierAt(origin)])
    const response = await ask(ASKED)
    expect(await tokensOf(response)).toBeGreaterThan(1)
    expect(response.headers.get('x-svc-count')).toBe('estimated')
    expect(supplier.requests).toHaveLength(0)
  })

  it('counts system and tools too, and escapes as what they mean', async () => {
    const { ask } = await alone()
    const plain = await tokensOf(await ask(ASKED))
    const system = await tokensOf(await ask({ ...ASKED, system: PROSE }))
    const tool = { name: 'look', description: PROSE, input_schema: { type: 'object' } }
    const tools = await tokensOf(await ask({ ...ASKED, tools: [tool] }))
    const least = countO200k(PROSE)
    expect(system).toBeGreaterThan(plain + least)
    expect(tools).toBeGreaterThan(plain + least)
    const escaped = JSON.stringify(ASKED).replace('Hello', '\\u0048\\u0065llo')
    expect(await tokensOf(await ask(escaped))).toBe(plain)
  })

  it('takes an image for what it shows and not for its bytes', async () => {
    const { ask } = await alone()
    const plain = await tokensOf(await ask(ASKED))
    const source = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo='.repeat(20_000) }
    const content = [
      { type: 'text', text: 'Hello' },
      { type: 'image', source },
    ]
    const tokens = await tokensOf(await ask({ ...ASKED, messages: [{ role: 'user', content }] }))
    expect(tokens).toBeGreaterThan(plain + 1000)
    expect(tokens).toBeLessThan(plain + 1300)
  })

  it('of a text of megabytes is made from samples of it, and near to what all of it comes to', async () => {
    const { ask } = await alone()
    const halves = PROSE.repeat(20_000) + '可能性がある。'.repeat(100_000)
    const tokens = await tokensOf(await ask(bodyOf(halves)))
    const ours =
      (countO200k(PROSE.repeat(100)) * 200 + countO200k('可能性がある。'.repeat(100)) * 1000) * 1.2
    expect(tokens / ours).toBeGreaterThan(0.9)
    expect(tokens / ours).toBeLessThan(1.1)
  })

  it('is at least one token', async () => {
    const { ask } = await alone()
    expect(
      await tokensOf(await ask({ ...ASKED, messages: [{ role: 'user', content: '' }] })),
    ).toBeGreaterThan(0)
  })

  it('is made while the one supplier wants to be left alone', async () => {
    const supplier = await startFakeSupplier((_, reply) =>
      reply.json(429, {}, { 'retry-after': '60' }),
    )
    const gateway = await startGateway({ suppliers: [countingAt(supplier.origin)] })
    open.push(supplier, gateway)
    const call = (): Promise<Response> => postMessages(gateway, { ...ASKED, max_tokens: 9 })
    expect((await call()).status).toBe(429)
    expect((await call()).status).toBe(429)
    const before = supplier.requests.length
    const response = await post(gateway, ASKED)
    expect(await tokensOf(response)).toBeGreaterThan(1)
    expect(response.headers.get('x-svc-count')).toBe('estimated')
    expect(supplier.requests).toHaveLength(before)
  })

  it('gets better by what suppliers have counted, and says how far it is off', async () => {
    let isCounting = true
    // This one has 1.7 tokens for each of ours.
    const script: Script = ({ body }, reply) => {
      const { messages } = JSON.parse(body.toString()) as { messages: { content: string }[] }
      if (!isCounting) return reply.json(500, {})
      return reply.json(200, { input_tokens: Math.round(1.7 * countO200k(messages[0]!.content)) })
    }
    const { ask } = await house(script, {}, (origin) => [
      countingAt(origin),
      messagesAt(origin, {
        id: 'other',
        models: new Map([['other-model', [...messagesAt(origin).models.values()][0]!]]),
      }),
    ])
    const text = PROSE.repeat(400)
    const truth = Math.round(1.7 * countO200k(text))
    const before = await tokensOf(await ask(bodyOf(text, 'other-model')))
    expect(Math.abs(before - truth) / truth).toBeGreaterThan(0.25)
    for (let lesson = 1; lesson <= 8; lesson++) {
      await tokensOf(await ask(bodyOf(PROSE.repeat(100 * lesson))))
      // Counted here, and so behind what was learned.
      await tokensOf(await ask(bodyOf('x', 'other-model')))
    }
    isCounting = false
    const response = await ask(bodyOf(text))
    const after = await tokensOf(response)
    expect(response.headers.get('x-svc-count')).toBe('estimated')
    expect(Math.abs(after - truth) / truth).toBeLessThan(0.03)
    const error = Number(response.headers.get('x-svc-count-error'))
    expect(error).toBeGreaterThanOrEqual(0)
    expect(error).toBeLessThan(0.05)
    expect(response.headers.get('x-svc-count-error')).toMatch(/^0\.\d\d$/)
  })
})

describe('a count', () => {
  it('leaves nothing in the books, and is asked of a key that has nothing left', async () => {
    const { gateway, ask } = await house(told(42))
    const { key } = await gateway.createKey({ name: 'k', budget_limit: 0 })
    const call = await postMessages(
      gateway,
      { ...ASKED, max_tokens: 9 },
      { headers: { 'x-api-key': key } },
    )
    expect(call.status).toBe(402)
    expect(await tokensOf(await ask(ASKED, { 'x-api-key': key }))).toBe(42)
    await gateway.drain()
    expect(gateway.audit().map(({ code }) => code)).toEqual(['budget_exceeded'])
  })

  it("does not count for a key's rate", async () => {
    const { gateway, ask } = await house(told(42))
    const { key } = await gateway.createKey({ name: 'k', rate_limit_rpm: 1 })
    const headers = { 'x-api-key': key }
    for (let time = 0; time < 3; time++) await tokensOf(await ask(ASKED, headers))
    const call = (): Promise<Response> =>
      postMessages(gateway, { ...ASKED, max_tokens: 9 }, { headers })
    expect((await call()).status).toBe(200)
    expect((await call()).status).toBe(429)
    await tokensOf(await ask(ASKED, headers))
  })

  it('can be asked 25 times at once by one key, of what is as long as an agent has it', async () => {
    const { ask } = await house(told(1), {}, (origin) => [messagesAt(origin)])
    const body = JSON.stringify(bodyOf(PROSE.repeat(860)))
    const ours = countO200k(PROSE.repeat(860))
    const counts = await Promise.all(
      Array.from({ length: 25 }, async () => tokensOf(await ask(body))),
    )
    expect(new Set(counts).size).toBe(1)
    expect(counts[0]! / ours).toBeCloseTo(1.2, 1)
  })

  it('is refused to the 65th of one key at once, and to nobody else', async () => {
    let release = (): void => undefined
    const released = new Promise<void>((resolve) => (release = resolve))
    const { gateway, ask, supplier } = await house(async (_, reply) => {
      await released
      reply.json(200, { input_tokens: 42 })
    })
    const { key } = await gateway.createKey({ name: 'k' })
    const headers = { 'x-api-key': key }
    const waiting = Array.from({ length: 64 }, () => ask(ASKED, headers))
    await supplier.request(63)
    const response = await ask(ASKED, headers)
    expect(response.headers.get('retry-after')).toBe('1')
    expect(await problemOf(response)).toMatchObject({ status: 429, code: 'capacity_exceeded' })
    const other = ask(ASKED)
    await supplier.request(64)
    release()
    for (const each of [...waiting, other]) expect(await tokensOf(await each)).toBe(42)
    expect(await tokensOf(await ask(ASKED, headers))).toBe(42)
  })

  it('is the same for all queries, as clients add some', async () => {
    const { gateway } = await house(told(42))
    const response = await fetch(`${gateway.url}${COUNT_PATH}?beta=true`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${ROOT_KEY}` },
      body: JSON.stringify(ASKED),
    })
    expect(await tokensOf(response)).toBe(42)
  })

  it("is what the maker's client reads", async () => {
    const { gateway } = await house(told(42))
    const client = new Anthropic({ baseURL: gateway.url, apiKey: ROOT_KEY })
    const counted = await client.messages.countTokens({
      model: 'test-model',
      messages: [{ role: 'user', content: 'Hello' }],
    })
    expect(counted.input_tokens).toBe(42)
  })

  it('under an Idempotency-Key is counted anew, whatever it is, and nothing is written', async () => {
    const { ask, supplier, gateway } = await house((_, reply, index) =>
      reply.json(200, { input_tokens: 42 + index }),
    )
    const headers = { 'idempotency-key': 'one' }
    expect(await tokensOf(await ask(ASKED, headers))).toBe(42)
    const again = await ask(ASKED, headers)
    expect(again.headers.get('idempotency-replayed')).toBeNull()
    expect(await tokensOf(again)).toBe(43)
    expect(await tokensOf(await ask({ ...ASKED, system: 'x' }, headers))).toBe(44)
    expect(supplier.requests).toHaveLength(3)
    // The key is still free for a call.
    const call = await postMessages(gateway, { ...ASKED, max_tokens: 9 }, { headers })
    expect([call.status, call.headers.get('idempotency-replayed')]).toEqual([200, null])
  })
})

describe('exact counts for all', () => {
  const FILE = {
    type: 'document',
    source: { type: 'file', file_id: 'file_gone' },
  }
  const withFile = { ...ASKED, messages: [{ role: 'user', content: [FILE] }] }
  const missing = { type: 'not_found_error', message: 'File not found: file_gone' }

  /** Does something to a body that has the word in it, and counts all others. */
  const unless = (word: string, script: Script): Script => {
    const other = told(42)
    return (request, reply, index) =>
      (request.body.includes(word) ? script : other)(request, reply, index)
  }

  const howOf = async (asking: Promise<Response>): Promise<string | null> => {
    const response = await asking
    await tokensOf(response)
    return response.headers.get('x-svc-count')
  }

  it.each<[string, Script]>([
    ['is not there', (_, reply) => reply.json(404, { type: 'error', error: missing })],
    ['cannot be fetched', (_, reply) => reply.json(500, {})],
    ['is not there, in no words', (_, reply) => reply.json(404, '')],
  ])('outlive a file that %s', async (_title, script) => {
    const { ask } = await house(unless('file_gone', script))
    expect(await howOf(ask(withFile))).toBe('estimated')
    expect(await howOf(ask(ASKED))).toBe('exact')
  })

  it('outlive a body that is too large for the supplier', async () => {
    const { ask } = await house(unless('large', (_, reply) => reply.json(413, '<html>')))
    expect(await howOf(ask(bodyOf('large')))).toBe('estimated')
    expect(await howOf(ask(ASKED))).toBe('exact')
  })

  it.each<[string, Script]>([
    ['breaks the supplier', (_, reply) => reply.json(500, {})],
    ['makes it hang up', (_, reply) => reply.reset()],
    ['makes it say nonsense', (_, reply) => reply.json(200, {})],
    ['makes it forget its address', (_, reply) => reply.json(404, {})],
  ])('outlive a caller whose body %s', async (_title, script) => {
    const { gateway, ask, supplier } = await house(unless('poison', script))
    const { key } = await gateway.createKey({ name: 'k' })
    const headers = { 'x-api-key': key }
    for (let time = 0; time < 3; time++)
      expect(await howOf(ask(bodyOf('poison'), headers))).toBe('estimated')
    // One time was enough for the one who has sent it.
    expect(await howOf(ask(ASKED, headers))).toBe('estimated')
    expect(supplier.requests).toHaveLength(1)
    expect(await howOf(ask(ASKED))).toBe('exact')
  })

  it('outlive a caller whose body takes too long to count', async () => {
    const clock = createFakeClock()
    const { gateway, ask, supplier } = await house(
      unless('slow', () => undefined),
      { clock },
    )
    const { key } = await gateway.createKey({ name: 'k' })
    const asking = ask(bodyOf('slow'), { 'x-api-key': key })
    await supplier.request(0)
    clock.advance(5_000)
    expect(await howOf(asking)).toBe('estimated')
    expect(await howOf(ask(ASKED))).toBe('exact')
  })

  it.each([
    ['half a minute after a failure', 500, {}, 30_000],
    ['half a minute after a refusal in its own words', 404, { error: missing }, 30_000],
    ['ten minutes where the address is not known', 404, {}, 600_000],
  ] as const)('are asked for again %s', async (_title, status, body, ms) => {
    const clock = createFakeClock()
    const { ask } = await house(
      (_, reply, index) =>
        index === 0 ? reply.json(status, body) : reply.json(200, { input_tokens: 42 }),
      { clock },
    )
    expect(await howOf(ask(ASKED))).toBe('estimated')
    clock.advance(ms - 1_000)
    expect(await howOf(ask(ASKED))).toBe('estimated')
    clock.advance(1_000)
    expect(await howOf(ask(ASKED))).toBe('exact')
  })
})

describe('what is refused at messages is refused here', () => {
  const user = { role: 'user', content: 'Hello' }
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: '???' } }
  it.each([
    ['no JSON', '{', {}, 400, 'invalid_json'],
    ['no model', { messages: [user] }, {}, 400, 'missing_model'],
    ['no messages', { model: 'test-model', messages: [] }, {}, 400, 'missing_prompt'],
    [
      'content of 7',
      { ...ASKED, messages: [{ role: 'user', content: 7 }] },
      {},
      400,
      'validation_error',
    ],
    [
      'a broken image',
      { ...ASKED, messages: [{ role: 'user', content: [image] }] },
      {},
      400,
      'validation_error',
    ],
    ['a limit that is none', { ...ASKED, max_tokens: '5' }, {}, 400, 'validation_error'],
    ['a secret in it', { ...ASKED, api_key: 'x' }, {}, 400, 'raw_secret_field_rejected'],
    ['a model that is none', { ...ASKED, model: '../../x' }, {}, 404, 'model_not_found'],
    [
      'a region where it is not served',
      { ...ASKED, region: 'US' },
      {},
      403,
      'sovereign_route_unavailable',
    ],
    ['a version that is none', ASKED, { 'anthropic-version': 'x' }, 400, 'invalid_schema_version'],
    [
      'a key of 256 characters',
      ASKED,
      { 'idempotency-key': 'k'.repeat(256) },
      400,
      'invalid_idempotency_key',
    ],
    [
      'a form',
      ASKED,
      { 'content-type': 'application/x-www-form-urlencoded' },
      415,
      'unsupported_media_type',
    ],
    ['no credential', ASKED, { 'x-api-key': '' }, 401, 'missing_api_key'],
  ] as const)('%s', async (_title, body, ...[headers, status, code]) => {
    const { ask, supplier } = await house(told(42))
    expect(await problemOf(await ask(body, headers))).toMatchObject({ status, code })
    expect(supplier.requests).toHaveLength(0)
  })

  it('a model that is not on the list of the key', async () => {
    const { gateway, ask } = await house(told(42))
    const { key } = await gateway.createKey({ name: 'k', allowed_models: ['other'] })
    const problem = await problemOf(await ask(ASKED, { 'x-api-key': key }))
    expect(problem).toMatchObject({ status: 403, code: 'model_not_allowed' })
  })

  it('another method, in the same language', async () => {
    const { gateway } = await house(told(42))
    const response = await fetch(gateway.url + COUNT_PATH, { headers: { 'x-api-key': ROOT_KEY } })
    expect(await problemOf(response)).toMatchObject({ status: 405 })
  })
})

it('messages are answered as before', async () => {
  const { gateway } = await house(told(42))
  const response = await postMessages(gateway, { ...ASKED, max_tokens: 9 })
  expect(await response.json()).toEqual(message('Hi'))
})

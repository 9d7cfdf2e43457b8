// The main road of messages: a request through the whole gateway to a supplier of the same language and back.
import { afterEach, describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import { SUPPLIER_CANARY } from './fakes/canary.ts'
import { startGateway, supplierAt, type Gateway, type GatewayOptions } from './fakes/gateway.ts'
import {
  begin,
  BODY,
  BOTH_SERVICES,
  end,
  event,
  goodMessages,
  HELLO_MESSAGES,
  isMessages,
  message,
  messagesAt,
  MESSAGES_COST,
  overloaded,
  postMessages,
  reason,
  say,
  START,
  STOP,
} from './fakes/messages.ts'
import {
  completion,
  startFakeSupplier,
  type FakeReply,
  type FakeSupplier,
  type Script,
} from './fakes/supplier.ts'

const open: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.stop()
})

interface House {
  readonly gateway: Gateway
  readonly suppliers: readonly FakeSupplier[]
  readonly ask: (body: unknown, headers?: Readonly<Record<string, string>>) => Promise<Response>
}

async function house(scripts: readonly Script[], options: GatewayOptions = {}): Promise<House> {
  const suppliers = await Promise.all(scripts.map((script) => startFakeSupplier(script)))
  const gateway = await startGateway({
    suppliers: suppliers.map(({ origin }, index) =>
      messagesAt(origin, index === 0 ? {} : { id: `fake-${index + 1}`, region: 'US' }),
    ),
    ...options,
  })
  open.push(...suppliers, gateway)
  return {
    gateway,
    suppliers,
    ask: (body, headers = {}) => postMessages(gateway, body, { headers }),
  }
}

const STREAM = { ...HELLO_MESSAGES, stream: true }
const COMMENTS =
  `: x-svc-input-tokens: 11\n: x-svc-output-tokens: 7\n: x-svc-cost-usd: ${MESSAGES_COST}\n` +
  ': x-svc-settlement: settled\n\n'

function streamed(text: string): Script {
  return (_, reply) => {
    const stream = reply.stream()
    stream.send(text)
    stream.end()
  }
}

interface Problem {
  readonly type: string
  readonly request_id: string
  readonly error: Readonly<Record<string, unknown>>
}

async function problemOf(response: Response): Promise<Problem> {
  const problem = (await response.json()) as Problem
  expect(problem.type).toBe('error')
  expect(problem.request_id).toBe(response.headers.get('request-id')!)
  return problem
}

describe('messages', () => {
  it('passes the answer as it came, with all headers and a price for all three kinds of input', async () => {
    const answer = JSON.stringify(message('Hi'), null, 2)
    const { ask } = await house([(_, reply) => reply.json(200, answer)])
    const response = await ask(HELLO_MESSAGES)
    expect(await response.text()).toBe(answer)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/json',
      'x-svc-supplier': 'fake',
      'x-svc-region': 'EU',
      'x-svc-failover': 'false',
      'x-svc-input-tokens': '11',
      'x-svc-output-tokens': '7',
      'x-svc-cost-usd': MESSAGES_COST,
      'request-id': response.headers.get('x-request-id')!,
    })
  })

  it('sends the body on with its model renamed and nothing of its own left in it', async () => {
    const { ask, suppliers } = await house([goodMessages])
    const kept =
      '"system":[{"type":"text","text":"b"},{"type":"text","text":"\\u0061","cache_control":{"type":"ephemeral","ttl":"1h"}}],' +
      '"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]},' +
      '{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"Eq=="},{"type":"redacted_thinking","data":"x"},' +
      '{"type":"tool_use","id":"toolu_1","name":"t","input":{"a":1.0}}]},' +
      '{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"r"}]}]},' +
      '{"role":"system","content":"late","output_config":{"effort":"medium"}}]'
    const sent =
      `{ "model" : "test-model" ,"region":"eu", "max_tokens":128000,${kept},` +
      '"metadata":{"session_id":"s","user_id":"u"},"thinking":{"type":"adaptive"},"unknown":{"deep":[1,2.50,null]} }'
    expect((await ask(sent)).status).toBe(200)
    const { body } = await suppliers[0]!.request(0)
    expect(body.toString()).toBe(
      `{ "model" : "upstream-model" ,"max_tokens":128000,${kept},` +
        '"metadata":{"user_id":"u"},"thinking":{"type":"adaptive"},"unknown":{"deep":[1,2.50,null]} }',
    )
  })

  it('signs with the supplier’s own key, and hands on the version, what is on trial, and no other header', async () => {
    const { ask, suppliers } = await house([goodMessages])
    await ask(HELLO_MESSAGES, {
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'one-2025-01-01,two-2026-01-01',
      'anthropic-dangerous-direct-browser-access': 'true',
      'x-app': 'cli',
      cookie: 'a=b',
    })
    await ask(HELLO_MESSAGES)
    await ask(HELLO_MESSAGES, { 'messages-version': '2024-02-03' })
    const [first, second, third] = suppliers[0]!.requests.map(({ headers }) => headers)
    expect(Object.fromEntries(first!)).toMatchObject({
      'x-api-key': SUPPLIER_CANARY,
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'one-2025-01-01,two-2026-01-01',
      'content-type': 'application/json',
    })
    for (const name of ['authorization', 'cookie', 'x-app', 'x-svc-project'])
      expect(first!.has(name)).toBe(false)
    expect(first!.has('anthropic-dangerous-direct-browser-access')).toBe(false)
    expect(second!.get('anthropic-version')).toBe('2023-06-01')
    expect(second!.has('anthropic-beta')).toBe(false)
    expect(third!.get('anthropic-version')).toBe('2024-02-03')
  })

  it('is found whatever stands behind the path, and by a bearer', async () => {
    const { gateway } = await house([goodMessages])
    const asked = await fetch(`${gateway.url}/v1/messages?beta=true`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${(await gateway.createKey({ name: 'k' })).key}`,
      },
      body: JSON.stringify(HELLO_MESSAGES),
    })
    expect(asked.status).toBe(200)
    expect((await fetch(`${gateway.url}/v1/messages`)).status).toBe(405)
  })

  it('streams the events as they came, with what it cost before the last one', async () => {
    const { ask } = await house([goodMessages])
    const response = await ask(STREAM)
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    expect(await response.text()).toBe(BODY + COMMENTS + STOP)
  })

  it('gives the same bytes and the same bill for a stream in any slices', async () => {
    const whole = Buffer.from(BODY.replace('"H"', '"é✓"') + STOP)
    let slices: readonly number[] = []
    const { ask, gateway } = await house([
      (_, reply) => {
        const stream = reply.stream()
        const cuts = [...new Set([0, ...slices, whole.length])].toSorted((one, two) => one - two)
        for (const [index, from] of cuts.slice(0, -1).entries())
          stream.send(whole.subarray(from, cuts[index + 1]))
        stream.end()
      },
    ])
    const cuts = fc.uniqueArray(fc.integer({ min: 1, max: whole.length - 1 }), { maxLength: 40 })
    const expected = whole.toString().replace(STOP, COMMENTS + STOP)
    await fc.assert(
      fc.asyncProperty(cuts, async (places) => {
        slices = places
        expect(await (await ask(STREAM)).text()).toBe(expected)
      }),
      { numRuns: 60 },
    )
    expect(new Set(gateway.audit().map(({ cost }) => cost)).size).toBe(1)
  })
})

describe('a supplier of messages that fails', () => {
  const FAILURES: readonly (readonly [string, Script])[] = [
    ['is overloaded', (_, reply) => reply.json(529, JSON.parse(overloaded().split('data: ')[1]!))],
    ['breaks', (_, reply) => reply.json(500, { type: 'error', error: { type: 'api_error' } })],
    ['hangs up', (_, reply) => reply.reset()],
    ['answers with a web page', (_, reply) => reply.json(200, '<html>')],
    [
      'sends a message without an end',
      (_, reply) => reply.json(200, message('Hi', { stop_reason: null })),
    ],
    ['answers in another language', (_, reply) => reply.json(200, completion('Hi'))],
    [
      'has an account without money',
      (_, reply) =>
        reply.json(400, {
          type: 'error',
          error: {
            type: 'invalid_request_error',
            message: 'Your credit balance is too low to access the API.',
          },
        }),
    ],
  ]
  it.each(FAILURES)('and %s is made up for by the next one', async (_, script) => {
    const { ask } = await house([script, goodMessages])
    const response = await ask(HELLO_MESSAGES)
    expect(response.status).toBe(200)
    expect(response.headers.get('x-svc-failover')).toBe('true')
    expect(response.headers.get('x-svc-supplier')).toBe('fake-2')
  })

  it.each([
    ['with its first event', overloaded()],
    ['behind its first events', START + overloaded()],
    ['by ending there', START],
    ['by saying nothing', ''],
  ])('%s is made up for by the next one, and nobody sees it', async (_, text) => {
    const { ask } = await house([streamed(text), goodMessages])
    const response = await ask(STREAM)
    expect(response.headers.get('x-svc-failover')).toBe('true')
    expect(await response.text()).toBe(BODY + COMMENTS + STOP)
  })

  const BREAKS: readonly (readonly [string, string, (reply: FakeReply) => void, string])[] = [
    ['an error', overloaded(), () => {}, 'stream_error'],
    ['a mere end', '', () => {}, 'stream_interrupted'],
    ['a broken line', '', (reply) => reply.reset(), 'stream_interrupted'],
  ]
  it.each(BREAKS)(
    'after content by %s is told so by name, and charged for what came',
    async (_, last, stop, code) => {
      const seen = Promise.withResolvers<void>()
      const { ask, gateway, suppliers } = await house([
        async (_request, reply) => {
          const stream = reply.stream()
          stream.send(START + begin(0) + say('Hello, you'))
          // What breaks a line may overtake what was not read yet.
          await seen.promise
          if (last !== '') stream.send(last)
          stop(reply)
          stream.end()
        },
        goodMessages,
      ])
      let text = ''
      for await (const chunk of (await ask(STREAM)).body!.pipeThrough(new TextDecoderStream())) {
        text += chunk
        if (text.includes('Hello, you')) seen.resolve()
      }
      expect(text.startsWith(START + begin(0) + say('Hello, you'))).toBe(true)
      const failure = text.slice(text.indexOf('event: error\n'))
      expect(failure).toMatch(/^event: error\ndata: \{.*\}\n\n$/)
      const problem = JSON.parse(failure.split('data: ')[1]!) as Problem
      expect(problem).toMatchObject({ type: 'error', error: { type: 'api_error', code } })
      if (last !== '') expect(problem.error['human_message']).toBe('Overloaded')
      expect(text).not.toContain('message_stop')
      expect(suppliers[1]!.requests).toHaveLength(0)
      // The input as it was told, and the ten letters as three tokens.
      expect(gateway.audit()).toMatchObject([
        { code, input_tokens: 11, output_tokens: 3, cost: 3450 },
      ])
    },
  )

  it('keeps its own words for what the caller did wrong, and is asked once', async () => {
    const said = {
      type: 'invalid_request_error',
      message: 'tools.0: odd',
      details: { error_code: 'odd_tool' },
    }
    const { ask, suppliers } = await house([
      (_, reply) => reply.json(400, { type: 'error', error: said, request_id: 'req_theirs' }),
      goodMessages,
    ])
    const response = await ask(HELLO_MESSAGES)
    expect([response.status, response.headers.get('x-should-retry')]).toEqual([400, 'false'])
    expect((await problemOf(response)).error).toMatchObject({
      code: 'odd_tool',
      type: 'invalid_request_error',
      human_message: 'tools.0: odd',
      details: { error_code: 'odd_tool' },
      provider: said,
    })
    expect(suppliers[1]!.requests).toHaveLength(0)
  })

  it('tells a prompt that is too long by its code and in the words that clients look for', async () => {
    const text = 'prompt is too long: 210000 tokens > 200000 maximum'
    const { ask } = await house([
      (_, reply) =>
        reply.json(400, { type: 'error', error: { type: 'invalid_request_error', message: text } }),
    ])
    const response = await ask(HELLO_MESSAGES)
    expect(response.status).toBe(400)
    expect((await problemOf(response)).error).toMatchObject({
      code: 'context_length_exceeded',
      type: 'invalid_request_error',
      message: `context_length_exceeded - ${text}`,
    })
  })

  it('ends a stream at its limit that a supplier would not end, in a way that clients understand', async () => {
    const { ask } = await house([
      streamed(START + begin(0) + say('a'.repeat(16)) + say('b'.repeat(1_000)) + reason() + STOP),
    ])
    const text = await (await ask({ ...STREAM, max_tokens: 2 })).text()
    const closing = end(0) + reason('max_tokens', { output_tokens: 2 }) + STOP
    expect(text.replaceAll(/^: .*\n/gm, '')).toBe(
      `${START}${begin(0)}${say('a'.repeat(16))}\n${closing}`,
    )
  })
})

describe('what keys may do', () => {
  it('is the same on messages: regions, models, rates and budgets, in the envelope of the language', async () => {
    const { gateway, suppliers } = await house([goodMessages])
    const refused = async (settings: object, calls = 1): Promise<readonly unknown[]> => {
      const { key } = await gateway.createKey({ name: 'k', ...settings })
      const ask = (): Promise<Response> =>
        postMessages(gateway, HELLO_MESSAGES, { headers: { 'x-api-key': key } })
      for (let call = 1; call < calls; call++) expect((await ask()).status).toBe(200)
      const response = await ask()
      const { error } = await problemOf(response)
      return [response.status, error['code'], error['type'], response.headers.get('x-should-retry')]
    }
    expect(await refused({ allowed_regions: 'US' })).toEqual([
      403,
      'sovereign_route_unavailable',
      'permission_error',
      'false',
    ])
    expect(await refused({ allowed_models: ['other'] })).toEqual([
      403,
      'model_not_allowed',
      'permission_error',
      'false',
    ])
    expect(await refused({ budget_limit: 0.000001 })).toEqual([
      402,
      'budget_exceeded',
      'billing_error',
      'false',
    ])
    expect(suppliers[0]!.requests).toHaveLength(0)
    expect(await refused({ rate_limit_rpm: 1 }, 2)).toEqual([
      429,
      'rate_limit_exceeded',
      'rate_limit_error',
      'true',
    ])
    const unknown = await postMessages(gateway, HELLO_MESSAGES, {
      headers: { 'x-api-key': 'nope' },
    })
    expect([unknown.status, unknown.headers.get('x-should-retry')]).toEqual([401, 'false'])
    expect((await problemOf(unknown)).error['type']).toBe('authentication_error')
  })

  it('is cut to what a budget can pay, and the thinking with it', async () => {
    const { gateway, suppliers } = await house([goodMessages])
    const { key } = await gateway.createKey({ name: 'k', budget_limit: 0.0052 })
    const body = {
      ...HELLO_MESSAGES,
      max_tokens: 9_000,
      thinking: { type: 'enabled', budget_tokens: 8_000 },
    }
    const response = await postMessages(gateway, body, { headers: { 'x-api-key': key } })
    expect(response.status).toBe(200)
    const limit = Number(response.headers.get('x-svc-max-tokens'))
    expect(limit).toBeGreaterThan(2_048)
    expect(limit).toBeLessThan(8_000)
    const sent = await suppliers[0]!.request(0)
    expect(JSON.parse(sent.body.toString())).toEqual({
      ...body,
      model: 'upstream-model',
      max_tokens: limit,
      thinking: { type: 'enabled', budget_tokens: limit - 1_024 },
    })
  })

  it('never leaves the region that the call names', async () => {
    const { ask, suppliers } = await house([(_, reply) => reply.json(500, {}), goodMessages])
    const response = await ask({ ...HELLO_MESSAGES, region: 'EU' })
    expect(response.status).toBe(503)
    expect((await problemOf(response)).error['code']).toBe('sovereign_route_unavailable')
    expect(suppliers[1]!.connections()).toBe(0)
  })
})

describe('the records of messages', () => {
  it('say what was asked, where, and what it cost', async () => {
    const { gateway, ask } = await house([goodMessages])
    const id = (await ask(HELLO_MESSAGES)).headers.get('request-id')!
    const call = await (await gateway.manage('GET', `/calls/${id}`)).json()
    expect(call).toMatchObject({ endpoint: '/v1/messages', model: 'test-model', supplier: 'fake' })
    expect(gateway.audit()).toMatchObject([
      { request_id: id, status: 200, input_tokens: 11, output_tokens: 7, cost: 5850 },
    ])
  })

  it('keep an answer for whoever asks again under the same key, streams too', async () => {
    const { ask, suppliers } = await house([goodMessages])
    for (const [key, body] of [
      ['one', HELLO_MESSAGES],
      ['two', STREAM],
    ] as const) {
      const first = await ask(body, { 'idempotency-key': key })
      const text = await first.text()
      const again = await ask(body, { 'idempotency-key': key })
      expect(again.headers.get('idempotency-replayed')).toBe('true')
      expect(await again.text()).toBe(text)
      const other = await ask({ ...body, max_tokens: 9 }, { 'idempotency-key': key })
      expect(other.status).toBe(422)
      expect((await problemOf(other)).error['code']).toBe('idempotency_conflict')
    }
    expect(suppliers[0]!.requests).toHaveLength(2)
  })

  it('keep a session where it is, by the header that an agent sends', async () => {
    let isBroken = true
    const { ask } = await house([
      (request, reply, index) =>
        isBroken ? reply.json(500, {}) : goodMessages(request, reply, index),
      goodMessages,
    ])
    const headers = { 'x-claude-code-session-id': '7bad5c49' }
    expect((await ask(HELLO_MESSAGES, headers)).headers.get('x-svc-supplier')).toBe('fake-2')
    isBroken = false
    const again = await ask(HELLO_MESSAGES, headers)
    expect(again.headers.get('x-svc-supplier')).toBe('fake-2')
    expect(again.headers.get('x-svc-session')).toBe('kept')
  })

  it('explain beforehand what would happen', async () => {
    const { gateway, suppliers } = await house([goodMessages])
    const body = { endpoint: '/v1/messages', request: HELLO_MESSAGES }
    const response = await gateway.manage('POST', '/explain', body)
    expect(response.status).toBe(200)
    expect(JSON.stringify(await response.json())).toContain('fake')
    expect(suppliers[0]!.requests).toHaveLength(0)
  })
})

describe('a supplier that speaks both languages', () => {
  it('is asked in the caller’s own, with the file’s quirks for chats alone', async () => {
    const supplier = await startFakeSupplier((request, reply, index) =>
      request.head.startsWith('POST /anthropic/v1/messages ')
        ? goodMessages(request, reply, index)
        : reply.json(200, completion('Hi')),
    )
    const config = `suppliers:
  maker:
    kind: deepseek
    origin: ${supplier.origin}
    allow_private: true
    credential: ${SUPPLIER_CANARY}
    quirks: { drop: [temperature] }
`
    const gateway = await startGateway({ config })
    open.push(supplier, gateway)
    const request = { ...HELLO_MESSAGES, model: 'deepseek-flash', temperature: 1 }
    expect((await postMessages(gateway, request)).status).toBe(200)
    expect((await gateway.chat(request)).status).toBe(200)
    const [messages, chat] = supplier.requests
    expect(messages!.head).toStartWith('POST /anthropic/v1/messages HTTP/1.1')
    expect(chat!.head).toStartWith('POST /chat/completions HTTP/1.1')
    expect(chat!.headers.has('anthropic-version')).toBe(false)
    expect(messages!.body.toString()).toContain('temperature')
    expect(chat!.body.toString()).not.toContain('temperature')
  })

  it('is signed for each as it wants', async () => {
    const supplier = await startFakeSupplier((request, reply, index) =>
      isMessages(request) ? goodMessages(request, reply, index) : reply.json(200, completion('Hi')),
    )
    const services = BOTH_SERVICES
    const gateway = await startGateway({ suppliers: [supplierAt(supplier.origin, { services })] })
    open.push(supplier, gateway)
    await postMessages(gateway, HELLO_MESSAGES)
    await gateway.chat(HELLO_MESSAGES)
    const [messages, chat] = supplier.requests
    expect(messages!.headers.get('x-api-key')).toBe(SUPPLIER_CANARY)
    expect(messages!.headers.has('authorization')).toBe(false)
    expect(chat!.headers.get('authorization')).toBe(`Bearer ${SUPPLIER_CANARY}`)
    expect(chat!.headers.has('x-api-key')).toBe(false)
  })
})

it('is sent with the quirks of its own language', async () => {
  const supplier = await startFakeSupplier((request, reply, index) =>
    isMessages(request) ? goodMessages(request, reply, index) : reply.json(200, completion('Hi')),
  )
  const [chat, messages] = BOTH_SERVICES
  const quirks = { usage: 'always' as const, drop: ['top_k'] }
  const services = [chat!, { ...messages!, quirks }]
  const gateway = await startGateway({ suppliers: [supplierAt(supplier.origin, { services })] })
  open.push(supplier, gateway)
  const request = { ...HELLO_MESSAGES, top_k: 5 }
  await postMessages(gateway, request)
  await gateway.chat(request)
  expect(supplier.requests.map(({ body }) => body.includes('top_k'))).toEqual([false, true])
})

describe('any other server of the language', () => {
  it('is a supplier of the kind anthropic-compatible', async () => {
    const supplier = await startFakeSupplier(goodMessages)
    const config = `suppliers:
  rack:
    kind: anthropic-compatible
    origin: ${supplier.origin}/api/v1
    allow_private: true
    models:
      our-model: { as: org/model, price: free }
`
    const gateway = await startGateway({ config })
    open.push(supplier, gateway)
    const response = await postMessages(gateway, { ...HELLO_MESSAGES, model: 'our-model' })
    expect(response.status).toBe(200)
    expect(supplier.requests[0]!.head).toStartWith('POST /api/v1/messages HTTP/1.1')
    expect(supplier.requests[0]!.headers.has('x-api-key')).toBe(false)
  })
})

it('shows tools, thinking and an answer in every form by the demo', async () => {
  const gateway = await startGateway()
  open.push(gateway)
  const body = {
    model: 'demo/messages-reason',
    max_tokens: 200,
    stream: true,
    tools: [
      {
        name: 'weather',
        input_schema: { type: 'object', properties: { city: { type: 'string' } } },
      },
    ],
    messages: [{ role: 'user', content: 'Ask weather' }],
  }
  const text = await (await postMessages(gateway, body)).text()
  for (const part of [
    'thinking_delta',
    'signature_delta',
    'tool_use',
    'input_json_delta',
    '"stop_reason":"tool_use"',
  ])
    expect(text).toContain(part)
  expect(text.endsWith(event('message_stop'))).toBe(true)
})

// The main road of responses: a request through the whole gateway to a supplier of the same language and back.
import { afterEach, describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import { SUPPLIER_CANARY } from './fakes/canary.ts'
import { startGateway, type Gateway, type GatewayOptions } from './fakes/gateway.ts'
import { MESSAGES_COST as COST } from './fakes/messages.ts'
import {
  beginText,
  completed,
  endText,
  errorEvent,
  failedEvent,
  HELLO_RESPONSES,
  messageItem,
  postResponses,
  PREAMBLE,
  printEvents,
  response,
  responsesAt,
  textEvents,
  thoughtItem,
} from './fakes/response-supplier.ts'
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
      responsesAt(origin, index === 0 ? {} : { id: `fake-${index + 1}`, region: 'US' }),
    ),
    ...options,
  })
  open.push(...suppliers, gateway)
  return {
    gateway,
    suppliers,
    ask: (body, headers = {}) => postResponses(gateway, body, { headers }),
  }
}

type Fields = Readonly<Record<string, unknown>>

const STREAM = { ...HELLO_RESPONSES, stream: true }
const EVENTS = textEvents('Hi', ['H', 'i'])
const BODY = printEvents(EVENTS.slice(0, -1))
const LAST = printEvents(EVENTS.slice(-1), EVENTS.length - 1)
const START = printEvents(PREAMBLE)
const COMMENTS =
  `: x-svc-input-tokens: 11\n: x-svc-output-tokens: 7\n: x-svc-cost-usd: ${COST}\n` +
  ': x-svc-settlement: settled\n\n'

function streamed(text: string): Script {
  return (_, reply) => {
    const stream = reply.stream()
    stream.send(text)
    stream.end()
  }
}

/** Answers what it is asked for, whole or as a stream. */
const good: Script = (request, reply, index) =>
  request.body.includes('"stream":true')
    ? streamed(BODY + LAST)(request, reply, index)
    : reply.json(200, response([messageItem('Hi')]))

async function errorOf(answer: Response): Promise<Fields> {
  const { error } = (await answer.json()) as { readonly error: Fields }
  return error
}

function eventsOf(text: string): readonly Fields[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)) as Fields)
}

describe('responses', () => {
  it('pass the answer as it came, with all headers and a price for all kinds of input', async () => {
    const answer = JSON.stringify(response([messageItem('Hi')]), null, 2)
    const { ask } = await house([(_, reply) => reply.json(200, answer)])
    const asked = await ask(HELLO_RESPONSES)
    expect(await asked.text()).toBe(answer)
    expect(Object.fromEntries(asked.headers)).toMatchObject({
      'content-type': 'application/json',
      'x-svc-supplier': 'fake',
      'x-svc-region': 'EU',
      'x-svc-failover': 'false',
      'x-svc-input-tokens': '11',
      'x-svc-output-tokens': '7',
      'x-svc-cost-usd': COST,
      'request-id': asked.headers.get('x-request-id')!,
    })
  })

  it('send the body on with its model renamed and nothing of the gateway’s left in it', async () => {
    const { ask, suppliers } = await house([good])
    const kept =
      '"instructions":"Be \\u0061 help","input":[{"type":"message","id":"msg_1","role":"user","content":[{"type":"input_text","text":"hi"}]},' +
      '{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},' +
      '{"type":"function_call","call_id":"c","name":"t","arguments":"{\\"a\\":1.0}"},' +
      '{"type":"function_call_output","call_id":"c","output":"r"}],"store":false,' +
      '"include":["reasoning.encrypted_content"],"tools":[{"type":"namespace","name":"n","tools":[]},{"type":"web_search"}]'
    const sent =
      `{ "model" : "test-model" ,"region":"eu", "max_output_tokens":1000,${kept},` +
      '"metadata":{"session_id":"s","mine":"u"},"reasoning":{"summary":"auto"},"unknown":{"deep":[1,2.50,null]} }'
    expect((await ask(sent, { cookie: 'a=b', 'x-codex-window-id': 'w' })).status).toBe(200)
    const { body, headers } = await suppliers[0]!.request(0)
    expect(body.toString()).toBe(
      `{ "model" : "upstream-model" ,"max_output_tokens":1000,${kept},` +
        '"metadata":{"mine":"u"},"reasoning":{"summary":"auto"},"unknown":{"deep":[1,2.50,null]} }',
    )
    expect(headers.get('authorization')).toBe(`Bearer ${SUPPLIER_CANARY}`)
    for (const name of ['cookie', 'x-codex-window-id']) expect(headers.has(name)).toBe(false)
  })

  it('stream the events as they came, with what it cost before the last one', async () => {
    const { ask } = await house([good])
    const asked = await ask(STREAM)
    expect(asked.headers.get('content-type')).toContain('text/event-stream')
    expect(await asked.text()).toBe(BODY + COMMENTS + LAST)
  })

  it('give the same bytes and the same bill for a stream in any slices', async () => {
    const whole = Buffer.from((BODY + LAST).replaceAll('"H"', '"é✓"'))
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
    const expected = whole.toString().replace(LAST, COMMENTS + LAST)
    await fc.assert(
      fc.asyncProperty(cuts, async (places) => {
        slices = places
        expect(await (await ask(STREAM)).text()).toBe(expected)
      }),
      { numRuns: 40 },
    )
    expect(new Set(gateway.audit().map(({ cost }) => cost)).size).toBe(1)
  })

  it('are whole at the limit of their supplier, and where nothing is told in pieces', async () => {
    const cut = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
    const incomplete = { ...completed([messageItem('Hi')], cut), type: 'response.incomplete' }
    const short = printEvents([
      { type: 'response.output_item.done', output_index: 0, item: messageItem('Hi') },
    ])
    const { ask } = await house([
      (request, reply, index) =>
        streamed(index === 0 ? START + printEvents([incomplete], 2) : short + LAST)(
          request,
          reply,
          index,
        ),
    ])
    expect(await (await ask(STREAM)).text()).toContain('event: response.incomplete\n')
    expect(await (await ask(STREAM)).text()).toBe(short + COMMENTS + LAST)
  })
})

describe('a supplier of responses that fails', () => {
  const rateLimited = { code: 'rate_limit_exceeded', message: 'Slow down' }
  const FAILURES: readonly (readonly [string, Script])[] = [
    ['breaks', (_, reply) => reply.json(500, { error: { message: 'down' } })],
    ['is busy', (_, reply) => reply.json(429, { error: rateLimited })],
    ['hangs up', (_, reply) => reply.reset()],
    ['answers with a web page', (_, reply) => reply.json(200, '<html>')],
    ['answers in another language', (_, reply) => reply.json(200, completion('Hi'))],
    [
      'says so inside of its answer',
      (_, reply) =>
        reply.json(200, response([], { status: 'failed', error: rateLimited, usage: null })),
    ],
    ['has not finished', (_, reply) => reply.json(200, response([], { status: 'in_progress' }))],
    [
      'has no money left',
      (_, reply) => reply.json(429, { error: { message: 'No more', code: 'insufficient_quota' } }),
    ],
  ]
  it.each(FAILURES)('and %s is made up for by the next one', async (_, script) => {
    const { ask } = await house([script, good])
    const asked = await ask(HELLO_RESPONSES)
    expect(asked.status).toBe(200)
    expect(asked.headers.get('x-svc-failover')).toBe('true')
    expect(asked.headers.get('x-svc-supplier')).toBe('fake-2')
  })

  it.each([
    ['with its first event', printEvents([errorEvent('no')])],
    ['behind its first events', START + printEvents([failedEvent('no')], 2)],
    ['by ending there', START],
    ['by ending at a marker of another language', `${START}data: [DONE]\n\n`],
    ['by saying nothing', ''],
  ])('%s is made up for by the next one, and nobody sees it', async (_, text) => {
    const { ask } = await house([streamed(text), good])
    const asked = await ask(STREAM)
    expect(asked.headers.get('x-svc-failover')).toBe('true')
    expect(await asked.text()).toBe(BODY + COMMENTS + LAST)
  })

  const BEGUN = [...PREAMBLE, ...beginText(['Hello, you'])]
  const none = (): void => {}
  const BREAKS: readonly (readonly [
    string,
    readonly Fields[],
    (reply: FakeReply) => void,
    string,
  ])[] = [
    ['an error', [errorEvent('Overloaded')], none, 'stream_error'],
    ['a failure', [failedEvent('Overloaded')], none, 'stream_error'],
    ['a mere end', [], none, 'stream_interrupted'],
    ['a broken line', [], (reply) => reply.reset(), 'stream_interrupted'],
  ]
  it.each(BREAKS)(
    'after content by %s is told so by name, and charged for what came',
    async (_, last, stop, code) => {
      const seen = Promise.withResolvers<void>()
      const { ask, gateway, suppliers } = await house([
        async (_request, reply) => {
          const stream = reply.stream()
          stream.send(printEvents(BEGUN))
          // What breaks a line may overtake what was not read yet.
          await seen.promise
          stream.send(printEvents(last, BEGUN.length) || '\n')
          stop(reply)
          stream.end()
        },
        good,
      ])
      let text = ''
      for await (const chunk of (await ask(STREAM)).body!.pipeThrough(new TextDecoderStream())) {
        text += chunk
        if (text.includes('Hello, you')) seen.resolve()
      }
      expect(text.startsWith(printEvents(BEGUN))).toBe(true)
      const failure = text.slice(text.indexOf('event: response.failed\n'))
      expect(failure).toMatch(/^event: response\.failed\ndata: \{.*\}\n\n$/)
      const event = eventsOf(failure)[0]!
      // Clients give up on a stream whose answer changes its name.
      expect(event).toMatchObject({ sequence_number: BEGUN.length, response: { id: 'resp_1' } })
      const problem = event['response'] as Fields
      expect(problem).toMatchObject({ object: 'response', status: 'failed', error: { code } })
      if (last.length > 0) expect(problem['error']).toMatchObject({ human_message: 'Overloaded' })
      expect(text).not.toContain('event: error')
      expect(text).not.toContain('response.completed')
      expect(suppliers[1]!.requests).toHaveLength(0)
      const [row] = gateway.audit()
      // The ten letters as three tokens.
      expect(row).toMatchObject({ code, output_tokens: 3 })
    },
  )

  it('keeps its own words for what the caller did wrong, and is asked once', async () => {
    const said = {
      message: 'Unknown parameter',
      type: 'invalid_request_error',
      param: 'odd',
      code: 'unknown_parameter',
    }
    const { ask, suppliers } = await house([(_, reply) => reply.json(400, { error: said }), good])
    const asked = await ask(HELLO_RESPONSES)
    expect([asked.status, asked.headers.get('x-should-retry')]).toEqual([400, 'false'])
    expect(await errorOf(asked)).toMatchObject({
      code: 'unknown_parameter',
      type: 'invalid_request_error',
      human_message: 'Unknown parameter',
      param: 'odd',
      provider: said,
    })
    expect(suppliers[1]!.requests).toHaveLength(0)
  })

  it('keeps them on a stream, too, as a refusal with a status', async () => {
    const error = { code: 'invalid_prompt', message: 'Not like this' }
    const failed = { type: 'response.failed', response: response([], { status: 'failed', error }) }
    const { ask, suppliers } = await house([streamed(printEvents([failed])), good])
    const asked = await ask(STREAM)
    expect(asked.status).toBe(400)
    expect(await errorOf(asked)).toMatchObject({ code: 'invalid_prompt' })
    expect(suppliers[1]!.requests).toHaveLength(0)
  })

  it('is ended at its limit where it would not end, and nothing is passed off as whole', async () => {
    const events = [...PREAMBLE, ...beginText(['a'.repeat(16), 'b'.repeat(1_000)])]
    const { ask } = await house([streamed(printEvents([...events, ...endText('ab')]) + LAST)])
    const text = await (await ask({ ...STREAM, max_output_tokens: 2 })).text()
    expect(text.startsWith(printEvents(events.slice(0, -1)))).toBe(true)
    expect(text).not.toContain('bbb')
    expect(eventsOf(text).at(-1)).toMatchObject({
      type: 'response.incomplete',
      response: {
        id: 'resp_1',
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
      },
    })
  })
})

it('ends the supplier’s work the moment a caller hangs up, and charges what came', async () => {
  const { gateway, suppliers } = await house([
    (_, reply) => reply.stream().send(printEvents([...PREAMBLE, ...beginText(['Hello, you'])])),
  ])
  const leaving = new AbortController()
  const asked = await postResponses(gateway, STREAM, { signal: leaving.signal })
  const reader = asked.body!.getReader()
  await reader.read()
  leaving.abort()
  await suppliers[0]!.requests[0]!.closed
  await gateway.drain()
  expect(gateway.audit()).toMatchObject([{ status: 499, output_tokens: 3 }])
})

describe('what keys may do', () => {
  it('is the same on responses: regions, models, rates and budgets', async () => {
    const { gateway, suppliers } = await house([good])
    const refused = async (settings: object, calls = 1): Promise<readonly unknown[]> => {
      const { key } = await gateway.createKey({ name: 'k', ...settings })
      const headers = { authorization: `Bearer ${key}` }
      const ask = (): Promise<Response> => postResponses(gateway, HELLO_RESPONSES, { headers })
      for (let call = 1; call < calls; call++) expect((await ask()).status).toBe(200)
      const asked = await ask()
      return [asked.status, (await errorOf(asked))['code'], asked.headers.get('x-should-retry')]
    }
    expect(await refused({ allowed_regions: 'US' })).toEqual([
      403,
      'sovereign_route_unavailable',
      'false',
    ])
    expect(await refused({ allowed_models: ['other'] })).toEqual([
      403,
      'model_not_allowed',
      'false',
    ])
    expect(await refused({ budget_limit: 0.000001 })).toEqual([402, 'budget_exceeded', 'false'])
    expect(suppliers[0]!.requests).toHaveLength(0)
    expect(await refused({ rate_limit_rpm: 1 }, 2)).toEqual([429, 'rate_limit_exceeded', 'true'])
    const headers = { authorization: 'Bearer nope' }
    const unknown = await postResponses(gateway, HELLO_RESPONSES, { headers })
    expect([unknown.status, unknown.headers.get('x-should-retry')]).toEqual([401, 'false'])
  })

  it.each([
    ['lowered', { ...HELLO_RESPONSES, max_output_tokens: 90_000 }],
    ['set', { model: 'test-model', input: 'Hello' }],
  ])('has the limit %s to what a budget can pay', async (_, body) => {
    const { gateway, suppliers } = await house([good])
    const { key } = await gateway.createKey({ name: 'k', budget_limit: 0.01 })
    const headers = { authorization: `Bearer ${key}` }
    const asked = await postResponses(gateway, body, { headers })
    expect(asked.status).toBe(200)
    const limit = Number(asked.headers.get('x-svc-max-tokens'))
    expect(limit).toBeGreaterThan(1_000)
    expect(limit).toBeLessThan(20_000)
    const sent = await suppliers[0]!.request(0)
    expect(JSON.parse(sent.body.toString())).toEqual({
      ...body,
      model: 'upstream-model',
      max_output_tokens: limit,
    })
  })

  it.each([
    { tools: [{ type: 'web_search' }] },
    { tools: [{ type: 'mcp', server_label: 'x', server_url: 'https://a.example' }] },
    { prompt: { id: 'pmpt_1' } },
    { context_management: [{ type: 'compaction' }] },
  ])('does not go as far as what nothing bounds, with a budget: %j', async (fields) => {
    const { gateway, suppliers, ask } = await house([good])
    const { key } = await gateway.createKey({ name: 'k', budget_limit: 1 })
    const headers = { authorization: `Bearer ${key}` }
    const refused = await postResponses(gateway, { ...HELLO_RESPONSES, ...fields }, { headers })
    expect([refused.status, suppliers[0]!.requests.length]).toEqual([400, 0])
    expect((await ask({ ...HELLO_RESPONSES, ...fields })).status).toBe(200)
  })

  it('never leaves the region that the call names', async () => {
    const { ask, suppliers } = await house([(_, reply) => reply.json(500, {}), good])
    const asked = await ask({ ...HELLO_RESPONSES, region: 'EU' })
    expect(asked.status).toBe(503)
    expect((await errorOf(asked))['code']).toBe('sovereign_route_unavailable')
    expect(suppliers[1]!.connections()).toBe(0)
  })
})

describe('what is refused', () => {
  it.each<readonly [unknown, string, string | null]>([
    ['{', 'invalid_json', null],
    ['[]', 'validation_error', null],
    ['{"model":"test-model","input":"a","input":"b"}', 'validation_error', 'input'],
    [{ model: 'test-model' }, 'missing_prompt', 'input'],
    [{ model: 'test-model', input: [] }, 'missing_prompt', 'input'],
    [{ model: 'test-model', input: 7 }, 'validation_error', 'input'],
    [{ input: 'Hi' }, 'missing_model', 'model'],
    [{ ...HELLO_RESPONSES, background: true }, 'unsupported_parameter', 'background'],
    [{ ...HELLO_RESPONSES, service_tier: 'flex' }, 'unsupported_parameter', 'service_tier'],
    [{ ...HELLO_RESPONSES, api_key: 'x' }, 'raw_secret_field_rejected', 'api_key'],
    [{ ...HELLO_RESPONSES, models: ['a'] }, 'unsupported_parameter', 'models'],
    [{ ...HELLO_RESPONSES, reasoning: { mode: 'pro' } }, 'unsupported_parameter', 'reasoning.mode'],
  ])('%j', async (body, code, param) => {
    const { ask, suppliers } = await house([good])
    const asked = await ask(body)
    expect([asked.status, asked.headers.get('x-should-retry')]).toEqual([400, 'false'])
    expect(await errorOf(asked)).toMatchObject({
      code,
      param,
      message: expect.stringContaining(`${code} - `),
      type: 'invalid_request_error',
    })
    expect(suppliers[0]!.connections()).toBe(0)
  })

  it('by another method, and below the path', async () => {
    const { gateway } = await house([good])
    const got = await fetch(`${gateway.url}/v1/responses`)
    expect([got.status, (await errorOf(got))['code']]).toEqual([405, 'method_not_allowed'])
    const below = await fetch(`${gateway.url}/v1/responses/resp_1`)
    expect([below.status, (await errorOf(below))['code']]).toEqual([404, 'not_found'])
  })
})

describe('the records of responses', () => {
  it('say what was asked, where, and what it cost', async () => {
    const { gateway, ask } = await house([good])
    const id = (await ask(HELLO_RESPONSES)).headers.get('request-id')!
    const call = await (await gateway.manage('GET', `/calls/${id}`)).json()
    expect(call).toMatchObject({ endpoint: '/v1/responses', model: 'test-model', supplier: 'fake' })
    expect(gateway.audit()).toMatchObject([
      { request_id: id, status: 200, input_tokens: 11, output_tokens: 7, cost: 5850 },
    ])
  })

  it('mark as estimated what nobody told', async () => {
    const { ask } = await house([
      (_, reply) => reply.json(200, response([messageItem('Hello, you')], { usage: null })),
    ])
    const { headers } = await ask(HELLO_RESPONSES)
    expect(headers.get('x-svc-settlement')).toBe('estimated')
    expect(headers.get('x-svc-output-tokens')).toBe('3')
  })

  it('keep an answer for whoever asks again under the same key, streams too', async () => {
    const { ask, suppliers } = await house([good])
    for (const [key, body] of [
      ['one', HELLO_RESPONSES],
      ['two', STREAM],
    ] as const) {
      const text = await (await ask(body, { 'idempotency-key': key })).text()
      const again = await ask(body, { 'idempotency-key': key })
      expect(again.headers.get('idempotency-replayed')).toBe('true')
      expect(await again.text()).toBe(text)
    }
    expect(suppliers[0]!.requests).toHaveLength(2)
  })

  it.each([
    ['its program sends', { 'session-id': '01a1' }, {}],
    ['its cache goes by', {}, { prompt_cache_key: '01a1' }],
  ])('keep a session where it is, by the name that %s', async (_, headers, fields) => {
    let isBroken = true
    const { ask } = await house([
      (request, reply, index) => (isBroken ? reply.json(500, {}) : good(request, reply, index)),
      good,
    ])
    const body = { ...HELLO_RESPONSES, ...fields }
    expect((await ask(body, headers)).headers.get('x-svc-supplier')).toBe('fake-2')
    isBroken = false
    const again = await ask(body, headers)
    expect(again.headers.get('x-svc-supplier')).toBe('fake-2')
    expect(again.headers.get('x-svc-session')).toBe('kept')
  })

  it('explain beforehand what would happen', async () => {
    const { gateway, suppliers } = await house([good])
    const body = { endpoint: '/v1/responses', request: HELLO_RESPONSES }
    const explained = await gateway.manage('POST', '/explain', body)
    expect(explained.status).toBe(200)
    expect(JSON.stringify(await explained.json())).toContain('fake')
    expect(suppliers[0]!.requests).toHaveLength(0)
  })
})

describe('what was thought before', () => {
  const user = { role: 'user', content: 'Hi' }
  const history = (seal: string): object => ({
    ...HELLO_RESPONSES,
    input: [user, thoughtItem('hm', seal), messageItem('Hello'), user],
  })

  it('is not shown to anybody if this gateway has sealed it for another', async () => {
    const { ask, suppliers } = await house([good])
    const asked = await ask(history('gw1.abc'))
    expect(asked.status).toBe(200)
    expect(asked.headers.has('x-svc-losses')).toBe(true)
    const { body } = await suppliers[0]!.request(0)
    expect(JSON.parse(body.toString())).toMatchObject({ input: [user, { id: 'msg_1' }, user] })
    expect((await ask(history('gAAA'))).headers.has('x-svc-losses')).toBe(false)
    expect((await suppliers[0]!.request(1)).body.toString()).toContain('gAAA')
  })

  it('is left out, with a loss, where a supplier refuses the seal of another', async () => {
    const error = { code: 'invalid_encrypted_content', message: 'It could not be verified.' }
    const { ask, suppliers } = await house([
      (request, reply, index) =>
        request.body.includes('gAAA') ? reply.json(400, { error }) : good(request, reply, index),
    ])
    const asked = await ask(history('gAAA'))
    expect([asked.status, asked.headers.get('x-svc-failover')]).toEqual([200, 'false'])
    expect(asked.headers.has('x-svc-losses')).toBe(true)
    expect(suppliers[0]!.requests).toHaveLength(2)
  })
})

describe('a supplier that speaks several languages', () => {
  it('is asked in the caller’s own, each at its path and with its own quirks', async () => {
    const supplier = await startFakeSupplier((request, reply, index) =>
      request.head.startsWith('POST /v1/responses ')
        ? good(request, reply, index)
        : reply.json(200, completion('Hi')),
    )
    const config = `suppliers:
  maker:
    kind: openai
    origin: ${supplier.origin}
    allow_private: true
    credential: ${SUPPLIER_CANARY}
    quirks: { drop: [temperature] }
`
    const gateway = await startGateway({ config })
    open.push(supplier, gateway)
    const model = 'gpt-5.6-terra'
    const body = { ...HELLO_RESPONSES, model, temperature: 1 }
    expect((await postResponses(gateway, body)).status).toBe(200)
    const messages = [{ role: 'user', content: 'Hi' }]
    expect((await gateway.chat({ model, messages, max_tokens: 9 })).status).toBe(200)
    const [first, second] = supplier.requests
    expect(first!.head).toStartWith('POST /v1/responses HTTP/1.1')
    expect(JSON.parse(first!.body.toString())).toEqual(body)
    expect(second!.head).toStartWith('POST /v1/chat/completions HTTP/1.1')
    expect(second!.body.toString()).toContain('max_completion_tokens')
  })

  it('is asked for the model `auto`, where that is offered', async () => {
    const { gateway, ask } = await house([good], { config: 'auto: { endpoints: [responses] }\n' })
    const asked = await ask({ ...HELLO_RESPONSES, model: 'auto' })
    expect([asked.status, asked.headers.get('x-svc-model')]).toEqual([200, 'test-model'])
    const messages = [{ role: 'user', content: 'Hi' }]
    const refused = await errorOf(await gateway.chat({ model: 'auto', messages }))
    expect(refused).toMatchObject({ code: 'unsupported_auto_mode' })
    expect(refused['message']).toContain('POST /v1/responses')
  })
})

describe('the demo', () => {
  it('fails over, breaks off and fails, as the names of its models say', async () => {
    const gateway = await startGateway()
    open.push(gateway)
    const ask = (model: string, stream: boolean): Promise<Response> =>
      postResponses(gateway, { model: `demo/${model}`, input: 'Hello there, you', stream })
    expect((await ask('responses-failover', true)).headers.get('x-svc-supplier')).toBe(
      'demo-backup',
    )
    for (const [model, code] of [
      ['responses-cut-stream', 'stream_interrupted'],
      ['responses-error-mid-stream', 'stream_error'],
    ] as const) {
      const last = eventsOf(await (await ask(model, true)).text()).at(-1)!
      expect(last).toMatchObject({ type: 'response.failed', response: { error: { code } } })
    }
  })
})

// Real suppliers from a file, as far as a loopback can be one: each fake insists on the path, the headers
// and the fields that the supplier insists on, and answers in its shape, its errors included.
import { afterEach, describe, expect, it } from 'bun:test'
import { startGateway, type Gateway } from './fakes/gateway.ts'
import { MARK } from './fakes/canary.ts'
import {
  completion,
  DONE,
  startFakeSupplier,
  USAGE,
  type FakeReply,
  type FakeRequest,
  type FakeSupplier,
  type Script,
} from './fakes/supplier.ts'

const open: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.stop()
})

async function fake(script: Script): Promise<FakeSupplier> {
  const supplier = await startFakeSupplier(script)
  open.push(supplier)
  return supplier
}

const KEYS = {
  OPENAI_KEY: `${MARK}-sk-proj-1234567890`,
  AZURE_KEY: `${MARK}-azure-1234567890`,
  SECOND_KEY: `${MARK}-second-1234567890`,
}

/** A gateway whose file has these suppliers, all at addresses of this machine. */
async function gatewayOf(suppliers: string): Promise<Gateway> {
  const gateway = await startGateway({ config: `suppliers:\n${suppliers}`, environment: KEYS })
  open.push(gateway)
  return gateway
}

const ASKED = { model: 'gpt-5.6-terra', messages: [{ role: 'user', content: 'Hello' }] }

interface Envelope {
  readonly error: Readonly<Record<string, unknown>>
}

async function envelope(response: Response): Promise<Envelope['error']> {
  const text = await response.text()
  expect(text).not.toContain(MARK)
  return (JSON.parse(text) as Envelope).error
}

function bodyOf(request: FakeRequest | undefined): unknown {
  return JSON.parse(request?.body.toString() ?? 'null')
}

/** All headers that a supplier may see, and nothing of the caller among them. */
function expectHeaders(
  request: FakeRequest | undefined,
  own: Readonly<Record<string, string>>,
): void {
  const { host, 'content-length': length, ...others } = Object.fromEntries(request?.headers ?? [])
  expect(host).toMatch(/^127\.0\.0\.1:\d+$/)
  expect(Number(length)).toBe(request?.body.length ?? 0)
  expect(others).toEqual({
    'content-type': 'application/json',
    'accept-encoding': 'identity',
    'user-agent': 'inference-gateway',
    accept: '*/*',
    connection: 'keep-alive',
    ...own,
  })
}

function line(request: FakeRequest | undefined): string {
  return request?.head.split('\r\n')[0] ?? ''
}

/** Answers as the supplier would to whoever knocks at the wrong door or with the wrong key. */
function openaiDoor(answer: Script): Script {
  return (request, reply, index) => {
    if (line(request) !== 'POST /v1/chat/completions HTTP/1.1')
      return reply.json(404, {
        error: { message: 'Invalid URL', type: 'invalid_request_error', param: null, code: null },
      })
    const key = request.headers.get('authorization')?.replace('Bearer ', '') ?? ''
    if (key !== KEYS.OPENAI_KEY) return refuseKey(reply, key)
    const { max_tokens: old } = bodyOf(request) as { max_tokens?: number }
    if (old !== undefined)
      return reply.json(400, {
        error: {
          message:
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
          type: 'invalid_request_error',
          param: 'max_tokens',
          code: 'unsupported_parameter',
        },
      })
    return answer(request, reply, index)
  }
}

function refuseKey(reply: FakeReply, key: string): void {
  reply.json(401, {
    error: {
      message: `Incorrect API key provided: ${key}. You can find your API key at https://platform.openai.com/account/api-keys.`,
      type: 'invalid_request_error',
      param: null,
      code: 'invalid_api_key',
    },
  })
}

function azureDoor(target: string, answer: Script): Script {
  return (request, reply, index) => {
    if (line(request) !== `POST ${target} HTTP/1.1`)
      return reply.json(404, { error: { code: '404', message: 'Resource not found' } })
    if (request.headers.get('api-key') !== KEYS.AZURE_KEY)
      return reply.json(401, {
        error: {
          code: '401',
          message:
            'Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.',
        },
      })
    return answer(request, reply, index)
  }
}

const openaiAt = ({ origin }: FakeSupplier, more = ''): string => `
  openai:
    kind: openai
    origin: ${origin}
    allow_private: true
    credential: \${OPENAI_KEY}
${more}`

const azureAt = ({ origin }: FakeSupplier, version = 'v1'): string => `
  azure:
    kind: azure
    origin: ${origin}
    allow_private: true
    api_version: "${version}"
    region: EU
    credential: \${AZURE_KEY}
    models:
      gpt-5.6-terra: { as: my deployment }
`

describe('two suppliers of one model', () => {
  it('are asked in the order of the file, each in its own way', async () => {
    const openai = await fake(
      openaiDoor((_, reply) =>
        reply.json(
          429,
          {
            error: {
              message: 'Rate limit reached for gpt-5.6-terra. Please try again in 20ms.',
              type: 'tokens',
              param: null,
              code: 'rate_limit_exceeded',
            },
          },
          {
            'retry-after': '1',
            'x-ratelimit-remaining-tokens': '0',
            'x-request-id': 'req_theirs',
            'set-cookie': 'a=b',
          },
        ),
      ),
    )
    const azure = await fake(
      azureDoor('/openai/v1/chat/completions', (_, reply) =>
        reply.json(200, {
          ...completion('Hi'),
          prompt_filter_results: [{ prompt_index: 0, content_filter_results: {} }],
        }),
      ),
    )
    const gateway = await gatewayOf(openaiAt(openai) + azureAt(azure))
    const response = await gateway.chat(
      { ...ASKED, max_tokens: 5, region: undefined, metadata: { session_id: 's' } },
      { headers: { 'x-session-id': 's', cookie: 'a=b', 'openai-organization': 'org' } },
    )
    expect(response.status).toBe(200)
    expect(response.headers.get('x-svc-supplier')).toBe('azure')
    expect(response.headers.get('x-svc-region')).toBe('EU')
    expect(response.headers.get('x-svc-failover')).toBe('true')
    expect(response.headers.get('x-ratelimit-remaining-tokens')).toBeNull()
    expect(response.headers.get('set-cookie')).toBeNull()
    expect(await response.json()).toMatchObject({ prompt_filter_results: [{ prompt_index: 0 }] })
    expectHeaders(openai.requests[0], { authorization: `Bearer ${KEYS.OPENAI_KEY}` })
    expectHeaders(azure.requests[0], { 'api-key': KEYS.AZURE_KEY })
    const sent = { messages: ASKED.messages, max_completion_tokens: 5 }
    expect(bodyOf(openai.requests[0])).toEqual({ model: 'gpt-5.6-terra', ...sent })
    expect(bodyOf(azure.requests[0])).toEqual({ model: 'my deployment', ...sent })
  })

  it('have a price each, and that of the region where it costs more', async () => {
    const openai = await fake(openaiDoor((_, reply) => reply.json(200, completion('Hi'))))
    const azure = await fake(
      azureDoor('/openai/v1/chat/completions', (_, reply) => reply.json(200, completion('Hi'))),
    )
    const gateway = await gatewayOf(openaiAt(openai) + azureAt(azure))
    const costOf = async (model: string): Promise<number> => {
      const response = await gateway.chat({ ...ASKED, model })
      await response.text()
      return Number(response.headers.get('x-svc-cost-usd'))
    }
    const plain = await costOf('openai/gpt-5.6-terra')
    expect(plain).toBeGreaterThan(0)
    expect(await costOf('azure/gpt-5.6-terra')).toBeCloseTo(plain * 1.1, 9)
  })

  it('keep a key inside of its region', async () => {
    const openai = await fake(openaiDoor((_, reply) => reply.json(200, completion('Hi'))))
    const azure = await fake(
      azureDoor('/openai/v1/chat/completions', (_, reply) => reply.json(500, {})),
    )
    const gateway = await gatewayOf(openaiAt(openai) + azureAt(azure))
    const response = await gateway.chat({ ...ASKED, region: 'EU' })
    expect(response.status).toBe(503)
    expect(azure.requests).toHaveLength(1)
    expect(openai.connections()).toBe(0)
  })
})

describe('openai', () => {
  it('with a wrong credential is skipped, and the caller hears nothing of it', async () => {
    const openai = await fake(openaiDoor((_, reply) => reply.json(200, completion('never'))))
    const config = openaiAt(openai).replace('OPENAI_KEY', 'SECOND_KEY')
    const gateway = await gatewayOf(config)
    const response = await gateway.chat(ASKED)
    expect(response.status).toBe(503)
    const error = await envelope(response)
    expect(error['code']).toBe('all_providers_exhausted')
    expect(JSON.stringify(error)).not.toContain('Incorrect')
  })

  it('with several credentials is asked with the next where one is refused', async () => {
    const openai = await fake(openaiDoor((_, reply) => reply.json(200, completion('Hi'))))
    const config = openaiAt(openai).replace(
      'credential: ${OPENAI_KEY}',
      'credentials: ["${SECOND_KEY}", "${OPENAI_KEY}"]',
    )
    const gateway = await gatewayOf(config)
    const response = await gateway.chat(ASKED)
    expect(response.status).toBe(200)
    expect(response.headers.get('x-svc-supplier')).toBe('openai')
    expect(openai.requests.map(({ headers }) => headers.get('authorization'))).toEqual([
      `Bearer ${KEYS.SECOND_KEY}`,
      `Bearer ${KEYS.OPENAI_KEY}`,
    ])
  })

  it('refuses a request in its own words', async () => {
    const refusal = {
      message: "Invalid value: 'loud'. Supported values are: 'low', 'medium', and 'high'.",
      type: 'invalid_request_error',
      param: 'reasoning_effort',
      code: 'invalid_value',
    }
    const openai = await fake(openaiDoor((_, reply) => reply.json(400, { error: refusal })))
    const gateway = await gatewayOf(openaiAt(openai))
    const response = await gateway.chat({ ...ASKED, reasoning_effort: 'loud' })
    expect(response.status).toBe(400)
    expect(await envelope(response)).toMatchObject({
      code: 'invalid_value',
      type: 'invalid_request_error',
      param: 'reasoning_effort',
      human_message: refusal.message,
      provider: refusal,
    })
  })
})

describe('azure', () => {
  const filtered = {
    error: {
      message:
        "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
      type: null,
      param: 'prompt',
      code: 'content_filter',
      status: 400,
      innererror: {
        code: 'ResponsibleAIPolicyViolation',
        content_filter_result: { violence: { filtered: true, severity: 'medium' } },
      },
    },
  }

  it('says why it filtered a prompt, and nobody else is asked', async () => {
    const azure = await fake(
      azureDoor('/openai/v1/chat/completions', (_, reply) => reply.json(400, filtered)),
    )
    const openai = await fake(openaiDoor((_, reply) => reply.json(200, completion('never'))))
    const gateway = await gatewayOf(azureAt(azure) + openaiAt(openai))
    const response = await gateway.chat(ASKED)
    expect(response.status).toBe(400)
    expect(await envelope(response)).toMatchObject({
      code: 'content_filter',
      param: 'prompt',
      provider: { innererror: filtered.error.innererror },
    })
    expect(openai.connections()).toBe(0)
  })

  it('has the deployment in the path of a dated version, and keeps the name of the limit', async () => {
    const target = '/openai/deployments/my%20deployment/chat/completions?api-version=2024-10-21'
    const azure = await fake(azureDoor(target, (_, reply) => reply.json(200, completion('Hi'))))
    const gateway = await gatewayOf(azureAt(azure, '2024-10-21'))
    const response = await gateway.chat({ ...ASKED, max_tokens: 5 })
    expect(response.status).toBe(200)
    expect(bodyOf(azure.requests[0])).toEqual({ ...ASKED, model: 'my deployment', max_tokens: 5 })
  })

  it('streams with its filter results, and tells usage when it is asked', async () => {
    const events = [
      { choices: [], prompt_filter_results: [{ prompt_index: 0 }], model: '', id: '', object: '' },
      {
        choices: [
          {
            index: 0,
            delta: { role: 'assistant', content: 'Hi' },
            content_filter_results: { hate: { filtered: false } },
            finish_reason: null,
          },
        ],
      },
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    ].map((event) => `data: ${JSON.stringify(event)}\n\n`)
    const azure = await fake(
      azureDoor('/openai/v1/chat/completions', (_, reply) => {
        const stream = reply.stream()
        for (const event of events) stream.send(event)
        stream.send(`data: ${JSON.stringify({ choices: [], usage: USAGE })}\n\n${DONE}`)
        stream.end()
      }),
    )
    const gateway = await gatewayOf(azureAt(azure))
    const response = await gateway.chat({ ...ASKED, stream: true })
    const text = await response.text()
    expect(text.startsWith(events.join(''))).toBe(true)
    expect(text).toEndWith(DONE)
    expect(bodyOf(azure.requests[0])).toMatchObject({ stream_options: { include_usage: true } })
    expect(gateway.audit()[0]).toMatchObject({ input_tokens: 11, output_tokens: 7 })
  })
})

describe('a server of one’s own', () => {
  const rackAt = ({ origin }: FakeSupplier, more = ''): string => `
  rack:
    kind: openai-compatible
    origin: ${origin}/v1
    allow_private: true
${more}`

  it('is asked at its prefix, without a credential, for any model', async () => {
    const rack = await fake((_, reply) => reply.json(200, completion('Hi')))
    const gateway = await gatewayOf(rackAt(rack))
    const response = await gateway.chat({ ...ASKED, model: 'rack/org/model-v3' })
    expect(response.status).toBe(200)
    expect(response.headers.get('x-svc-cost-usd')).toBe('0')
    expect(line(rack.requests[0])).toBe('POST /v1/chat/completions HTTP/1.1')
    expectHeaders(rack.requests[0], {})
    expect(bodyOf(rack.requests[0])).toEqual({ ...ASKED, model: 'org/model-v3' })
  })

  it('refuses in its flat way', async () => {
    const rack = await fake((_, reply) =>
      reply.json(400, {
        object: 'error',
        message: "This model's maximum context length is 4096 tokens.",
        type: 'BadRequestError',
        param: null,
        code: 400,
      }),
    )
    const gateway = await gatewayOf(rackAt(rack))
    const response = await gateway.chat({ ...ASKED, model: 'rack/m' })
    expect(response.status).toBe(400)
    expect(await envelope(response)).toMatchObject({
      code: 'context_length_exceeded',
      type: 'BadRequestError',
      human_message: "This model's maximum context length is 4096 tokens.",
    })
  })

  it('gets its quirks, and its answers the usual shape', async () => {
    const rack = await fake((request, reply) => {
      const { stream } = bodyOf(request) as { stream?: boolean }
      if (stream !== true)
        return reply.json(200, {
          choices: [{ message: { content: 'Hi' } }],
          usage: { prompt_tokens: 1, completion_tokens: 2 },
        })
      const events = reply.stream()
      events.send('data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n')
      events.send('data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n')
      events.send(`data: {"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\n${DONE}`)
      return events.end()
    })
    const gateway = await gatewayOf(
      rackAt(
        rack,
        `
    models: { own: { price: { input: 1, output: 2 } } }
    quirks:
      normalize: true
      usage: always
      max_tokens_name: max_tokens
      rename: { stop: stop_sequences }
      drop: [user]
      default: { seed: 7 }
`,
      ),
    )
    const asked = { ...ASKED, model: 'own', user: 'u', stop: ['.'], max_completion_tokens: 9 }
    const response = await gateway.chat(asked)
    const id = response.headers.get('x-request-id')
    expect(await response.json()).toMatchObject({
      id: `chatcmpl-${id}`,
      object: 'chat.completion',
      model: 'own',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    })
    expect(bodyOf(rack.requests[0])).toEqual({
      model: 'own',
      messages: ASKED.messages,
      stop_sequences: ['.'],
      max_tokens: 9,
      seed: 7,
    })
    const streamed = await gateway.chat({
      ...asked,
      stream: true,
      stream_options: { include_usage: true },
    })
    const text = await streamed.text()
    const chunks = [...text.matchAll(/^data: (\{.*)$/gm)].map(
      (match) => JSON.parse(match[1]!) as { id: string; object: string; choices: unknown[] },
    )
    expect(new Set(chunks.map((chunk) => chunk.id)).size).toBe(1)
    expect(chunks.map((chunk) => chunk.object)).toEqual(Array(3).fill('chat.completion.chunk'))
    expect(chunks[0]?.choices).toEqual([
      { index: 0, delta: { role: 'assistant', content: 'Hi' }, finish_reason: null },
    ])
    expect(chunks[2]).toMatchObject({ choices: [], usage: { total_tokens: 3 } })
    expect(bodyOf(rack.requests[1])).not.toHaveProperty('stream_options')
    expect(gateway.audit().map((row) => row.cost)).toEqual([5000, 5000])
  })
})

describe('the others', () => {
  const supplierOf = (kind: string, { origin }: FakeSupplier): string => `
  theirs:
    kind: ${kind}
    origin: ${origin}
    allow_private: true
    credential: \${SECOND_KEY}
    models: { own: { price: free } }
`
  const asked = { ...ASKED, model: 'own' }

  it.each([
    ['cohere', 'POST /compatibility/v1/chat/completions HTTP/1.1'],
    ['mistral', 'POST /v1/chat/completions HTTP/1.1'],
    ['groq', 'POST /openai/v1/chat/completions HTTP/1.1'],
    ['deepseek', 'POST /chat/completions HTTP/1.1'],
    ['openrouter', 'POST /api/v1/chat/completions HTTP/1.1'],
    ['gemini', 'POST /v1beta/openai/chat/completions HTTP/1.1'],
    ['fireworks', 'POST /inference/v1/chat/completions HTTP/1.1'],
  ])('%s is asked by %s', async (kind, expected) => {
    const theirs = await fake((_, reply) => reply.json(200, completion('Hi')))
    const gateway = await gatewayOf(supplierOf(kind, theirs))
    expect((await gateway.chat(asked)).status).toBe(200)
    expect(line(theirs.requests[0])).toBe(expected)
    expectHeaders(theirs.requests[0], { authorization: `Bearer ${KEYS.SECOND_KEY}` })
  })

  it.each([
    [
      'cohere',
      { id: '9f3c', message: 'invalid request: unknown field: parameter x is not valid' },
      {
        code: 'provider_error',
        human_message: 'invalid request: unknown field: parameter x is not valid',
      },
    ],
    [
      'mistral',
      {
        object: 'error',
        message: { detail: [{ type: 'extra_forbidden', loc: ['body', 'x'], msg: 'Extra inputs' }] },
        type: 'invalid_request_error',
        param: null,
        code: null,
      },
      {
        code: 'provider_error',
        type: 'invalid_request_error',
        human_message: expect.stringContaining('extra_forbidden') as unknown,
      },
    ],
    [
      'gemini',
      [{ error: { code: 400, message: 'Unknown name "x".', status: 'INVALID_ARGUMENT' } }],
      { code: '400', human_message: 'Unknown name "x".' },
    ],
  ])(
    '%s refuses in its own shape, and the caller reads its words',
    async (kind, body, expected) => {
      const theirs = await fake((_, reply) => reply.json(400, body))
      const gateway = await gatewayOf(supplierOf(kind, theirs))
      const response = await gateway.chat(asked)
      expect(response.status).toBe(400)
      expect(await envelope(response)).toMatchObject(expected)
    },
  )

  it('that refuse fields of SDKs do not get them', async () => {
    const theirs = await fake((_, reply) => reply.json(200, completion('Hi')))
    const gateway = await gatewayOf(supplierOf('mistral', theirs))
    const response = await gateway.chat({
      ...asked,
      store: false,
      user: 'u',
      seed: 7,
      max_completion_tokens: 5,
      stream_options: { include_usage: true },
    })
    expect(response.status).toBe(200)
    expect(bodyOf(theirs.requests[0])).toEqual({ ...asked, random_seed: 7, max_tokens: 5 })
  })
})

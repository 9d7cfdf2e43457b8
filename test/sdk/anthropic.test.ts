// The official SDK of messages works against the gateway as it is, in the two versions in use: its calls, helpers,
// errors and retries. Nothing of it is changed but the address that it is given.
import { afterEach, describe, expect, it } from 'bun:test'
import Anthropic, { type ClientOptions } from '@anthropic-ai/sdk'
import Anthropic0 from 'anthropic-0'
import { ROOT_KEY, startGateway, type Gateway } from '../fakes/gateway.ts'
import { begin, goodMessages, messagesAt, overloaded, say, START } from '../fakes/messages.ts'
import { startFakeSupplier, type FakeSupplier, type Script } from '../fakes/supplier.ts'
import { collect, rejection } from './house.ts'

type Sdk = typeof Anthropic

/** The older version is driven through the newer one's types: their calls are spelled alike. */
const SDKS: readonly (readonly [string, Sdk])[] = [
  ['version 1', Anthropic],
  ['version 0', Anthropic0 as unknown as Sdk],
]

const open: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.stop()
})

interface House {
  readonly gateway: Gateway
  readonly suppliers: readonly FakeSupplier[]
  readonly client: Anthropic
  /** How often it has asked. */
  readonly asked: () => number
}

/** The demo suppliers, or those that do as they are told. */
async function house(
  Client: Sdk,
  scripts: readonly Script[] = [],
  options: ClientOptions = {},
): Promise<House> {
  const suppliers = await Promise.all(scripts.map((script) => startFakeSupplier(script)))
  const described = suppliers.map(({ origin }, index) =>
    messagesAt(origin, { id: `fake-${index + 1}` }),
  )
  const gateway = await startGateway(described.length === 0 ? {} : { suppliers: described })
  open.push(...suppliers, gateway)
  let asked = 0
  const client = new Client({
    apiKey: ROOT_KEY,
    baseURL: gateway.url,
    logLevel: 'off',
    fetch: (input, init) => {
      asked++
      return fetch(input, init)
    },
    ...options,
  })
  return { gateway, suppliers, client, asked: () => asked }
}

const EXACTLY: Anthropic.MessageParam = {
  role: 'user',
  content: 'Reply with exactly: one two three',
}
const DEMO = { model: 'demo/messages', max_tokens: 100, messages: [EXACTLY] }
const CALL = { ...DEMO, model: 'test-model' }
const WEATHER: Anthropic.Tool = {
  name: 'weather',
  description: 'Tells the weather',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

function textOf({ content }: Anthropic.Message): string {
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('')
}

/** What a program reads of an error. */
interface Problem {
  readonly status: number | undefined
  readonly type: string | undefined
  readonly requestID: string | null
  readonly error: { readonly error: { readonly code: string; readonly human_message: string } }
}

async function problemOf(work: PromiseLike<unknown>): Promise<Problem> {
  return (await rejection(work)) as Problem
}

describe.each(SDKS)('%s of the SDK', (_, Client) => {
  it('gets an answer with its usage and the id of its request', async () => {
    const { client, asked } = await house(Client)
    const { data, response } = await client.messages.create(DEMO).withResponse()
    expect(textOf(data)).toBe('one two three')
    expect(data).toMatchObject({ type: 'message', role: 'assistant', stop_reason: 'end_turn' })
    expect(data.usage.output_tokens).toBe(Number(response.headers.get('x-svc-output-tokens')))
    expect(data).toMatchObject({ _request_id: response.headers.get('x-request-id')! })
    expect(asked()).toBe(1)
  })

  it('gets a stream by its iterator and by its helper, and the same message from both ways', async () => {
    const { client } = await house(Client)
    const events = await collect(await client.messages.create({ ...DEMO, stream: true }))
    expect(events.map(({ type }) => type).filter((type) => type !== 'content_block_delta')).toEqual(
      [
        'message_start',
        'content_block_start',
        'content_block_stop',
        'message_delta',
        'message_stop',
      ],
    )
    const helper = client.messages.stream(DEMO)
    const seen: string[] = []
    helper.on('text', (text) => seen.push(text))
    const streamed = await helper.finalMessage()
    const whole = await client.messages.create(DEMO)
    expect(seen.join('')).toBe('one two three')
    expect(textOf(streamed)).toBe(textOf(whole))
    expect(streamed.usage.output_tokens).toBe(whole.usage.output_tokens)
  })

  it('calls a tool and hands its result back, whole and streamed', async () => {
    const { client } = await house(Client)
    const ask: Anthropic.MessageParam = { role: 'user', content: 'Ask weather about it' }
    const first = { ...DEMO, tools: [WEATHER], messages: [ask] }
    for (const answer of [
      await client.messages.create(first),
      await client.messages.stream(first).finalMessage(),
    ]) {
      expect(answer.stop_reason).toBe('tool_use')
      const call = answer.content.find((block) => block.type === 'tool_use')
      expect(call).toMatchObject({ name: 'weather', input: { city: 'demo' } })
      const result = { type: 'tool_result' as const, tool_use_id: call!.id, content: 'It rains.' }
      const second = await client.messages.create({
        ...first,
        messages: [
          ask,
          { role: 'assistant', content: answer.content },
          { role: 'user', content: [result] },
        ],
      })
      expect(textOf(second)).toContain('"It rains."')
    }
  })

  it('gets thinking with its signature', async () => {
    const { client } = await house(Client)
    const answer = await client.messages
      .stream({ ...DEMO, model: 'demo/messages-reason' })
      .finalMessage()
    expect(answer.content[0]).toMatchObject({
      type: 'thinking',
      signature: expect.stringMatching(/.+/),
    })
    expect(textOf(answer)).toBe('one two three')
  })

  it('raises the error of its own for each refusal, and asks no second time', async () => {
    const { client, asked, gateway } = await house(Client)
    const cases: readonly (readonly [
      object,
      new (...values: never[]) => Error,
      number,
      string,
      string,
    ])[] = [
      [{ model: 'nope' }, Client.NotFoundError, 404, 'model_not_found', 'not_found_error'],
      [{ messages: [] }, Client.BadRequestError, 400, 'missing_prompt', 'invalid_request_error'],
    ]
    for (const [changes, type, status, code, name] of cases) {
      const thrown = await problemOf(client.messages.create({ ...DEMO, ...changes }))
      expect(thrown).toBeInstanceOf(type)
      expect([thrown.status, thrown.error.error.code, thrown.type]).toEqual([status, code, name])
      expect(thrown.requestID).toMatch(/^req_/)
    }
    expect(asked()).toBe(cases.length)
    const { key } = await gateway.createKey({ name: 'k', budget_limit: 0.0000001 })
    const poor = new Client({ apiKey: key, baseURL: gateway.url, logLevel: 'off' })
    const broke = await problemOf(poor.messages.create(DEMO))
    expect([broke.status, broke.error.error.code, broke.type]).toEqual([
      402,
      'budget_exceeded',
      'billing_error',
    ])
    const stranger = new Client({ apiKey: 'svc_nope', baseURL: gateway.url, logLevel: 'off' })
    expect(await rejection(stranger.messages.create(DEMO))).toBeInstanceOf(
      Client.AuthenticationError,
    )
  })

  it('hears of an error in the middle of a stream, after what came before it', async () => {
    const { client, asked } = await house(Client, [
      (_request, reply) => {
        const stream = reply.stream()
        stream.send(START + begin(0) + say('half') + overloaded())
        stream.end()
      },
    ])
    const helper = client.messages.stream(CALL)
    const seen: string[] = []
    helper.on('text', (text) => seen.push(text))
    const thrown = await problemOf(helper.finalMessage())
    expect(thrown).toBeInstanceOf(Client.APIError)
    expect(thrown.error.error).toMatchObject({ code: 'stream_error', human_message: 'Overloaded' })
    expect(seen.join('')).toBe('half')
    expect(asked()).toBe(1)
  })

  it.each<readonly [string, Script]>([
    [
      'is overloaded',
      (_request, reply) => reply.json(529, { type: 'error', error: { type: 'overloaded_error' } }),
    ],
    ['hangs up', (_request, reply) => reply.reset()],
    [
      'fails with its first event',
      (request, reply) => {
        if (!request.body.includes('"stream":true')) return reply.json(500, {})
        const stream = reply.stream()
        stream.send(overloaded())
        return stream.end()
      },
    ],
  ])('sees nothing of a first supplier that %s', async (_name, script) => {
    const whole = await house(Client, [script, goodMessages])
    expect(textOf(await whole.client.messages.create(CALL))).toBe('Hi')
    const streamed = await house(Client, [script, goodMessages])
    expect(textOf(await streamed.client.messages.stream(CALL).finalMessage())).toBe('Hi')
    expect([whole.asked(), streamed.asked()]).toEqual([1, 1])
    expect(streamed.suppliers.map(({ requests }) => requests.length)).toEqual([1, 1])
  })

  it('ends the supplier’s work when it leaves', async () => {
    const { client, suppliers } = await house(Client, [
      (_request, reply) => reply.stream().send(START + begin(0) + say('half')),
    ])
    const stream = await client.messages.create({ ...CALL, stream: true })
    for await (const { type } of stream) if (type === 'content_block_delta') break
    await (
      await suppliers[0]!.request(0)
    ).closed
  })

  it('runs its tools by itself, over as many calls as it takes', async () => {
    const { client } = await house(Client)
    const runner = client.beta.messages.toolRunner({
      ...DEMO,
      messages: [{ role: 'user', content: 'Ask weather about it' }],
      tools: [
        {
          type: 'custom',
          name: 'weather',
          description: 'Tells the weather',
          input_schema: WEATHER.input_schema,
          run: () => 'It rains.',
          parse: (input: unknown) => input,
        },
      ],
    })
    const last = await runner.runUntilDone()
    expect(JSON.stringify(last.content)).toContain('It rains.')
  })

  it('lists the models', async () => {
    const { client } = await house(Client)
    const ids = (await collect(client.models.list())).map(({ id }) => id)
    expect(ids).toContain('demo/messages')
  })
})

// Models that reason beside tools in responses and not in chats: whoever asks in another language is put into the one in
// which they do both.
import { afterEach, describe, expect, it } from 'bun:test'
import { MARK } from './fakes/canary.ts'
import { startGateway, type Gateway } from './fakes/gateway.ts'
import { ask, GOOD, isStream, sentTo } from './fakes/languages.ts'
import { callItem, response, thoughtItem } from './fakes/response-supplier.ts'
import { startFakeSupplier, type FakeSupplier, type Script } from './fakes/supplier.ts'

const open: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.stop()
})

/** Answers chats, and responses with a thought and a call. */
const both: Script = (request, reply, index) => {
  if (request.head.startsWith('POST /v1/chat/completions ')) return GOOD.chat(request, reply, index)
  expect(request.head).toStartWith('POST /v1/responses ')
  if (isStream(request.body)) return GOOD.responses(request, reply, index)
  return reply.json(200, response([thoughtItem('Hm', 'c2ln'), callItem('c1', 'look', '{"a":1}')]))
}

async function stage(): Promise<{ gateway: Gateway; supplier: FakeSupplier }> {
  const supplier = await startFakeSupplier(both)
  open.push(supplier)
  const account = `{ kind: openai, origin: '${supplier.origin}', allow_private: true, credential: '\${OPENAI_KEY}' }`
  const environment = { OPENAI_KEY: `${MARK}-sk-proj-1234567890` }
  const gateway = await startGateway({ config: `suppliers:\n  own: ${account}\n`, environment })
  open.push(gateway)
  return { gateway, supplier }
}

async function pathOf(supplier: FakeSupplier, index = 0): Promise<string> {
  return (await supplier.request(index)).head.split(' ')[1]!
}

const THINKING = { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } }
const TOOLS = [{ name: 'look', input_schema: { type: 'object' } }]
const FUNCTIONS = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }]

describe('a model that does not reason beside tools in chats', () => {
  it.each(['gpt-6-sol', 'gpt-5.4', 'gpt-6.1-sol'])(
    'does both for callers of messages, and goes on from its thoughts: %s',
    async (model) => {
      const { gateway, supplier } = await stage()
      const first = await ask(gateway, 'messages', { model, ...THINKING, tools: TOOLS })
      expect(first.status).toBe(200)
      expect(first.headers.has('x-svc-losses')).toBe(false)
      const { content } = (await first.json()) as { content: object[] }
      expect(content).toMatchObject([
        { type: 'thinking', thinking: 'Hm' },
        { type: 'tool_use', id: 'c1', name: 'look', input: { a: 1 } },
      ])
      expect(await pathOf(supplier)).toBe('/v1/responses')
      expect(await sentTo(supplier)).toMatchObject({
        reasoning: { effort: 'low' },
        include: ['reasoning.encrypted_content'],
        tools: [{ type: 'function', name: 'look' }],
        store: false,
      })
      const result = { type: 'tool_result', tool_use_id: 'c1', content: 'none' }
      const messages = [
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content },
        { role: 'user', content: [result] },
      ]
      const asked = { model, ...THINKING, tools: TOOLS, messages }
      const second = await ask(gateway, 'messages', asked)
      expect(second.headers.has('x-svc-losses')).toBe(false)
      await second.arrayBuffer()
      expect(await sentTo(supplier, 1)).toMatchObject({
        input: [
          { role: 'user' },
          { type: 'reasoning', encrypted_content: 'c2ln' },
          { type: 'function_call', call_id: 'c1' },
          { type: 'function_call_output', call_id: 'c1' },
        ],
      })
    },
  )

  it('is asked by callers of chats as they ask, where it takes tools there', async () => {
    const { gateway, supplier } = await stage()
    const asked = { model: 'gpt-6-sol', tools: FUNCTIONS }
    expect((await ask(gateway, 'chat', asked)).status).toBe(200)
    expect(await pathOf(supplier)).toBe('/v1/chat/completions')
    expect(await sentTo(supplier)).toMatchObject({ tools: FUNCTIONS })
  })

  it('is asked in responses where it takes none in chats, whole and on a stream', async () => {
    const { gateway, supplier } = await stage()
    const asked = { model: 'gpt-6.1-sol', tools: FUNCTIONS, reasoning_effort: 'low' }
    const whole = await ask(gateway, 'chat', asked)
    expect(whole.headers.has('x-svc-losses')).toBe(false)
    expect(await whole.json()).toMatchObject({
      choices: [{ message: { tool_calls: [{ id: 'c1', function: { name: 'look' } }] } }],
    })
    const stream = await ask(gateway, 'chat', { ...asked, stream: true })
    expect(await stream.text()).toEndWith('data: [DONE]\n\n')
    for (const index of [0, 1]) {
      expect(await pathOf(supplier, index)).toBe('/v1/responses')
      expect(await sentTo(supplier, index)).toMatchObject({ reasoning: { effort: 'low' } })
    }
  })
})

describe('any other model', () => {
  it('is asked in chats by callers of messages, as before', async () => {
    const { gateway, supplier } = await stage()
    const response = await ask(gateway, 'messages', { model: 'gpt-5.1', tools: TOOLS })
    expect(response.status).toBe(200)
    expect(await pathOf(supplier)).toBe('/v1/chat/completions')
  })
})

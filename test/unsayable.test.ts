// What cannot be said in the language of a supplier: it is nobody's fault but the request's, it goes to who can be told,
// and where the operator wants nothing lost it is sent to nobody else.
import { afterEach, describe, expect, it } from 'bun:test'
import { toPicoUsd } from '../src/core/money.ts'
import { ask, closeHouses, GOOD, house } from './fakes/languages.ts'
import { printSeal } from '../src/dialects/seal.ts'

afterEach(closeHouses)

const REFUSES = { config: 'conversion: { losses: refuse }\n' }

describe('what nobody can be told', () => {
  const content = [{ type: 'image', source: { type: 'file', file_id: 'file_1' } }]
  const UNSAYABLE = { messages: [{ role: 'user', content }] }

  it('is refused as the fault of the request, and no supplier is blamed for it', async () => {
    const { gateway, suppliers } = await house([
      ['chat', GOOD.chat],
      ['chat', GOOD.chat],
    ])
    for (let time = 0; time < 8; time++) {
      const response = await ask(gateway, 'messages', UNSAYABLE)
      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({ error: { code: 'unsupported_parameter' } })
    }
    expect(suppliers.map(({ requests }) => requests.length)).toEqual([0, 0])
    expect(gateway.audit()[0]).toMatchObject({ status: 400, cost: 0 })
    const health = await (await gateway.manage('GET', '/suppliers')).json()
    expect(JSON.stringify(health)).not.toContain('"open"')
    expect((await ask(gateway, 'messages')).headers.get('x-svc-supplier')).toBe('chat-1')
  })

  it('goes to who speaks the language and can be told', async () => {
    const { gateway } = await house([
      ['chat', GOOD.chat],
      ['messages', GOOD.messages],
    ])
    const response = await ask(gateway, 'messages', UNSAYABLE)
    expect(response.status).toBe(200)
    expect(response.headers.get('x-svc-supplier')).toBe('messages-2')
  })
})

describe('where nothing may be lost', () => {
  const SERVER_TOOL = {
    tools: [{ type: 'bash_20250124', name: 'bash' }],
    tool_choice: { type: 'tool', name: 'bash' },
  }

  it('what only a relay can say is relayed', async () => {
    const { gateway } = await house(
      [
        ['chat', GOOD.chat],
        ['messages', GOOD.messages],
      ],
      REFUSES,
    )
    const response = await ask(gateway, 'messages', SERVER_TOOL)
    expect(response.status).toBe(200)
    expect(response.headers.get('x-svc-supplier')).toBe('messages-2')
  })

  it('what nobody can be told is refused in its own words', async () => {
    const { gateway } = await house([['chat', GOOD.chat]], REFUSES)
    const response = await ask(gateway, 'messages', SERVER_TOOL)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { param: 'tool_choice' } })
  })

  it('what a budget leaves no room for is refused once that is known', async () => {
    const price = { input: toPicoUsd(150_000), output: toPicoUsd(600_000) }
    const route = {
      as: 'upstream-model',
      prices: [{ from: 0, price }],
      ownedBy: 'maker',
      limits: { contextWindow: 200_000, outputCeiling: 64_000 },
      capabilities: ['reasoning'],
      reasoning: 'budget',
    } as const
    const { gateway, suppliers } = await house([['messages', GOOD.messages]], {
      ...REFUSES,
      changes: { models: new Map([['test-model', route]]) },
    })
    const { key } = await gateway.createKey({ name: 'poor', budget_limit: 0.004 })
    const body = {
      model: 'test-model',
      messages: [{ role: 'user', content: 'Hi' }],
      reasoning_effort: 'high',
      max_tokens: 30_000,
    }
    const response = await gateway.chat(body, { headers: { authorization: `Bearer ${key}` } })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { losses: ['/reasoning_effort'] } })
    expect(suppliers[0]!.requests).toHaveLength(0)
    expect(gateway.audit()).toMatchObject([{ status: 400, cost: 0 }])
  })

  it('thoughts that a supplier cannot read are refused, too', async () => {
    const { gateway, suppliers } = await house([['messages', GOOD.messages]], REFUSES)
    const signature = printSeal('another', '')
    const response = await ask(gateway, 'messages', {
      messages: [
        { role: 'user', content: 'a' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature },
            { type: 'text', text: 'b' },
          ],
        },
        { role: 'user', content: 'c' },
      ],
    })
    expect(response.status).toBe(400)
    expect(suppliers[0]!.requests).toHaveLength(0)
  })
})

describe('a small request', () => {
  const image = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }
  const beside = { calls: { x: { big: 'y '.repeat(10_000) } } }
  const calls = Array.from({ length: 100 }, () => ({
    type: 'tool_use',
    id: 'x',
    name: 'n',
    input: {},
  }))
  const result = { type: 'tool_result', content: Array.from({ length: 50 }, () => image) }

  it.each([
    ['ids', [{ role: 'user', content: [{ ...result, tool_use_id: 'i'.repeat(30_000) }] }]],
    [
      'a forged seal',
      [
        { role: 'user', content: 'a' },
        {
          role: 'assistant',
          content: [
            { type: 'redacted_thinking', data: printSeal('chat-1', JSON.stringify(beside)) },
            ...calls,
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'x', content: 'r' }] },
      ],
    ],
  ])('does not become a huge one by %s', async (_, messages) => {
    const { gateway, suppliers } = await house([['chat', GOOD.chat]])
    const response = await ask(gateway, 'messages', { messages })
    expect(response.status).toBe(200)
    const { body } = await suppliers[0]!.request(0)
    expect(body.length).toBeLessThan(3 * JSON.stringify(messages).length)
  })
})

// What cannot be said in the language of a supplier: it is nobody's fault but the request's, it goes to who can be told,
// and where the operator wants nothing lost it is sent to nobody else.
import { afterEach, describe, expect, it } from 'bun:test'
import { toPicoUsd } from '../src/core/money.ts'
import { Secret } from '../src/core/secret.ts'
import { printSeal } from '../src/dialects/seal.ts'
import type { ModelRoute, Supplier } from '../src/suppliers/supplier.ts'
import { startGateway, supplierAt } from './fakes/gateway.ts'
import { ask, closeHouses, GOOD, house, unwell } from './fakes/languages.ts'
import { messagesAt } from './fakes/messages.ts'
import { dataOf, readRecords } from './fakes/records.ts'
import { closeStreet, tidy } from './fakes/street.ts'
import { startFakeSupplier, type Script } from './fakes/supplier.ts'

afterEach(closeHouses)
afterEach(closeStreet)

const REFUSES = { config: 'conversion: { losses: refuse }\n' }

function modelOf(changes: Partial<ModelRoute>, id = 'test-model'): Supplier['models'] {
  const price = { input: toPicoUsd(150_000), output: toPicoUsd(600_000) }
  const prices = [{ from: 0, price }] as const
  const route = { as: 'upstream-model', prices, ownedBy: 'maker', ...changes }
  return new Map([[id, route]])
}

const refusing =
  (status: number, type: string, headers: Record<string, string> = {}): Script =>
  (_, reply) =>
    reply.json(status, { type: 'error', error: { type, message: 'no' } }, headers)

const paused = refusing(429, 'rate_limit_error', { 'retry-after': '30' })
const locked = refusing(401, 'authentication_error')

const content = [{ type: 'image', source: { type: 'file', file_id: 'file_1' } }]
const UNSAYABLE = { messages: [{ role: 'user', content }] }
const SERVER_TOOL = {
  tools: [{ type: 'bash_20250124', name: 'bash' }],
  tool_choice: { type: 'tool', name: 'bash' },
}

describe('what nobody can be told', () => {
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
    const unmarked = { state: 'ready', local_failures: 0, remote_failures: 0 }
    const health = {
      credentials: [expect.objectContaining({ state: 'ready', in_flight: 0 })],
      routes: [expect.objectContaining(unmarked)],
    }
    expect(await (await gateway.manage('GET', '/suppliers')).json()).toMatchObject({
      data: [health, health],
    })
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

  it.each([
    ['chat', 'messages'],
    ['messages', 'chat'],
  ] as const)('makes sense to who speaks the language (%s, %s)', async (one, other) => {
    const { gateway } = await house([
      [one, GOOD[one]],
      [other, GOOD[other]],
    ])
    const response = await ask(gateway, 'messages', SERVER_TOOL)
    expect(response.status).toBe(200)
    expect(response.headers.get('x-svc-supplier')).toStartWith('messages')
  })

  it('and makes no sense to anybody has no money held for it', async () => {
    const { gateway } = await house([['chat', GOOD.chat]])
    const messages = [{ role: 'user', content: [{ type: 'tool_result', content: 'x' }] }]
    expect((await ask(gateway, 'messages', { messages })).status).toBe(400)
    expect(readRecords(dataOf(gateway)).holds).toEqual([])
  })

  it('goes to the one who can be told, however many stand before it', async () => {
    const { gateway } = await house([
      ['chat', GOOD.chat],
      ['chat', GOOD.chat],
      ['chat', GOOD.chat],
      ['messages', GOOD.messages],
    ])
    const response = await ask(gateway, 'messages', UNSAYABLE)
    expect(response.status).toBe(200)
    expect(response.headers.get('x-svc-supplier')).toBe('messages-4')
  })

  it('because it grows on the way goes to who is sent it as it is', async () => {
    const functions = Array.from({ length: 9000 }, (_, at) => ({ name: `f${at}` }))
    const alone = await house([['messages', GOOD.messages]])
    expect((await ask(alone.gateway, 'chat', { functions })).status).toBe(413)
    const { gateway } = await house([
      ['messages', GOOD.messages],
      ['chat', GOOD.chat],
    ])
    expect((await ask(gateway, 'chat', { functions })).status).toBe(200)
  })
})

describe('who cannot be told a request', () => {
  it('was not asked before the one who answers it', async () => {
    const { gateway } = await house([
      ['chat', GOOD.chat],
      ['messages', GOOD.messages],
    ])
    for (const stream of [false, true]) {
      const response = await ask(gateway, 'messages', { ...UNSAYABLE, stream })
      await response.text()
      expect(response.headers.get('x-svc-failover')).toBe('false')
      const id = response.headers.get('x-request-id')!
      const { explanation } = (await (await gateway.manage('GET', `/calls/${id}`)).json()) as {
        readonly explanation: string
      }
      expect(explanation).toContain('chat-1 could not be told this request')
      expect(explanation).not.toContain('chat-1 was asked')
      expect(explanation).toContain('messages-2 was asked and answered')
    }
  })

  it('is not counted among those who failed', async () => {
    const { gateway } = await house([
      ['chat', GOOD.chat],
      ['messages', locked],
    ])
    const { error } = (await (await ask(gateway, 'messages', UNSAYABLE)).json()) as {
      readonly error: { readonly message: string; readonly attempts: readonly object[] }
    }
    expect(error.message).toContain('Every supplier that was asked refuses the credential')
    expect(error.attempts).toMatchObject([{ supplier: 'messages-2', status: 401 }])
  })

  it.each([
    ['chat', 'messages'],
    ['messages', 'chat'],
  ] as const)('hides no failure of somebody else (%s, %s)', async (one, other) => {
    const scripts = { chat: GOOD.chat, messages: unwell }
    const { gateway } = await house([
      [one, scripts[one]],
      [other, scripts[other]],
    ])
    const response = await ask(gateway, 'messages', UNSAYABLE)
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({
      error: { message: expect.stringContaining('The supplier that was asked failed.') },
    })
  })

  it('takes no place of those who may be asked', async () => {
    const unable = tidy(await startFakeSupplier(GOOD.chat))
    const able = tidy(
      await startFakeSupplier((request, reply, index) =>
        (index === 0 ? paused : GOOD.messages)(request, reply, index),
      ),
    )
    const accounts = ['one', 'other'].map((secret) =>
      messagesAt(able.origin, { id: 'able', credential: new Secret(secret) }),
    )
    const gateway = tidy(
      await startGateway({
        config: 'limits: { attempts: 2 }\n',
        suppliers: [supplierAt(unable.origin, { id: 'unable' }), ...accounts],
      }),
    )
    const response = await ask(gateway, 'messages', UNSAYABLE)
    expect(response.status).toBe(200)
    expect(response.headers.get('x-svc-failover')).toBe('true')
    expect([unable.requests.length, able.requests.length]).toEqual([0, 2])
  })

  it('says nothing about when to come back to the one who can', async () => {
    const { gateway } = await house([
      ['chat', GOOD.chat],
      ['messages', paused],
    ])
    const response = await ask(gateway, 'messages', UNSAYABLE)
    expect(response.status).toBe(429)
    expect(response.headers.get('retry-after')).toBe('30')
  })

  it('is no reason to come back to another who speaks its language', async () => {
    const { gateway } = await house([
      ['chat', paused],
      ['chat', GOOD.chat],
      ['messages', refusing(429, 'rate_limit_error', { 'retry-after': '60' })],
    ])
    expect((await ask(gateway, 'messages')).headers.get('x-svc-supplier')).toBe('chat-2')
    const response = await ask(gateway, 'messages', UNSAYABLE)
    expect(response.headers.get('retry-after')).toBe('60')
  })

  it('because it grows on the way makes no fault of the pause of the one who can', async () => {
    const functions = Array.from({ length: 9000 }, (_, at) => ({ name: `f${at}` }))
    const { gateway, suppliers } = await house([
      ['chat', paused],
      ['messages', GOOD.messages],
    ])
    expect((await ask(gateway, 'chat', { functions })).status).toBe(429)
    const response = await ask(gateway, 'chat', { functions })
    expect(response.status).toBe(429)
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(20)
    expect(suppliers.map(({ requests }) => requests.length)).toEqual([1, 0])
  })

  it('does not hide from the record that another may have worked', async () => {
    const { gateway } = await house([
      ['messages', (_, reply) => reply.reset()],
      ['chat', GOOD.chat],
    ])
    const response = await ask(gateway, 'messages', UNSAYABLE)
    expect(response.status).toBe(503)
    const call = await gateway.manage('GET', `/calls/${response.headers.get('x-request-id')}`)
    expect(await call.json()).toMatchObject({ supplier: 'messages-1', evidence: 'unknown' })
  })

  it.each([
    ['the request', {}, UNSAYABLE],
    ['what makes no sense elsewhere', {}, SERVER_TOOL],
    ['all of it where nothing may be lost', REFUSES, { top_k: 5 }],
  ])('%s makes no fault of the pause of the one who can', async (_, options, changes) => {
    const { gateway, suppliers } = await house(
      [
        ['messages', paused],
        ['chat', GOOD.chat],
      ],
      options,
    )
    for (let time = 0; time < 2; time++) {
      const response = await ask(gateway, 'messages', changes)
      await response.text()
      expect(response.status).toBe(429)
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(20)
    }
    expect(suppliers.map(({ requests }) => requests.length)).toEqual([1, 0])
  })
})

describe('where nothing may be lost', () => {
  it('only who speaks the language is asked for what others would lose', async () => {
    const { gateway } = await house(
      [
        ['chat', GOOD.chat],
        ['messages', GOOD.messages],
      ],
      REFUSES,
    )
    const response = await ask(gateway, 'messages', { top_k: 5 })
    expect(response.headers.get('x-svc-supplier')).toBe('messages-2')
    expect(response.headers.get('x-svc-failover')).toBe('false')
  })

  it.each([
    ['thinks', 'does-not'],
    ['does-not', 'thinks'],
  ])('who can be told all of it is asked, whoever else cannot (%s, %s)', async (one, other) => {
    const models = {
      thinks: modelOf({ capabilities: ['reasoning'], reasoning: 'effort' }),
      'does-not': modelOf({}),
    } as const
    const { origin } = tidy(await startFakeSupplier(GOOD.messages))
    const suppliers = [one, other].map((id) =>
      messagesAt(origin, { id, models: models[id as keyof typeof models] }),
    )
    const gateway = tidy(await startGateway({ ...REFUSES, suppliers }))
    const response = await ask(gateway, 'chat', { reasoning_effort: 'high' })
    expect(response.status).toBe(200)
    expect(response.headers.get('x-svc-supplier')).toBe('thinks')
  })

  it('a limit that nobody has named is not too small to think in', async () => {
    const limits = { contextWindow: 200_000, outputCeiling: 64_000 }
    const models = modelOf({ limits, capabilities: ['reasoning'], reasoning: 'budget' })
    const { gateway } = await house([['messages', GOOD.messages]], {
      ...REFUSES,
      changes: { models },
    })
    expect((await ask(gateway, 'chat', { reasoning_effort: 'high' })).status).toBe(200)
  })

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
    const limits = { contextWindow: 200_000, outputCeiling: 64_000 }
    const models = modelOf({ limits, capabilities: ['reasoning'], reasoning: 'budget' })
    const { gateway, suppliers } = await house([['messages', GOOD.messages]], {
      ...REFUSES,
      changes: { models },
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

  it('another model of the same supplier stands in for the one that has no room for it', async () => {
    const limits = { contextWindow: 200_000, outputCeiling: 64_000 }
    const thinking = { limits, capabilities: ['reasoning'] } as const
    const models = new Map([
      ...modelOf({ ...thinking, reasoning: 'budget' }),
      ...modelOf({ ...thinking, reasoning: 'effort' }, 'small'),
    ])
    const { gateway } = await house([['messages', GOOD.messages]], {
      config: `${REFUSES.config}models: { test-model: { fallbacks: [small] } }\n`,
      changes: { models },
    })
    const { key } = await gateway.createKey({ name: 'poor', budget_limit: 0.004 })
    const headers = { authorization: `Bearer ${key}` }
    const changes = { reasoning_effort: 'high', max_tokens: 30_000 }
    const response = await ask(gateway, 'chat', changes, { headers })
    expect(response.headers.get('x-svc-model')).toBe('small')
    expect(response.headers.get('x-svc-failover')).toBe('false')
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
    expect(await response.text()).not.toContain('another language')
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

// What suppliers are sent of requests that are converted, or sent once more without what was thought before.
import { afterEach, describe, expect, it } from 'bun:test'
import type { ModelLimits } from '../src/core/load.ts'
import { toPicoUsd } from '../src/core/money.ts'
import { printSeal } from '../src/dialects/seal.ts'
import type { Supplier } from '../src/suppliers/supplier.ts'
import { ROOT_KEY } from './fakes/gateway.ts'
import { ask, closeHouses, GOOD, house, REFUSING, sentTo } from './fakes/languages.ts'
import { HELLO_MESSAGES, postMessages } from './fakes/messages.ts'
import type { Script } from './fakes/supplier.ts'

afterEach(closeHouses)

function modelsWith(limits: ModelLimits): Supplier['models'] {
  const price = { input: toPicoUsd(150_000), output: toPicoUsd(600_000) }
  const prices = [{ from: 0, price }] as const
  const route = { as: 'upstream-model', prices, ownedBy: 'maker', limits }
  return new Map([['test-model', route]])
}

const refusing: Script = (request, reply) =>
  request.body.includes('"signature"')
    ? reply.json(
        400,
        REFUSING.messages('messages.1.content.0: Invalid `signature` in `thinking` block'),
      )
    : GOOD.messages(request, reply, 0)

function historyWith(signature: string): object {
  const thought = { type: 'thinking', thinking: 'hm', signature }
  return {
    messages: [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: [thought, { type: 'text', text: 'b' }] },
      { role: 'user', content: 'c' },
    ],
  }
}

describe('requests', () => {
  it('no header of the language goes to a supplier of another', async () => {
    const { gateway, suppliers } = await house([['chat', GOOD.chat]])
    const headers = { 'anthropic-beta': 'context-1m-2025-08-07', 'anthropic-version': '2023-06-01' }
    await (await postMessages(gateway, HELLO_MESSAGES, { headers })).text()
    const sent = await suppliers[0]!.request(0)
    expect([...sent.headers.keys()].filter((name) => name.startsWith('anthropic'))).toEqual([])
  })

  it('sent once more have the limit that was held for', async () => {
    const limits = { contextWindow: 200_000, outputCeiling: 64_000 }
    const { gateway, suppliers } = await house([['messages', refusing]], {
      changes: { models: modelsWith(limits) },
    })
    const { key } = await gateway.createKey({ name: 'poor', budget_limit: 0.004 })
    const response = await postMessages(
      gateway,
      { ...HELLO_MESSAGES, ...historyWith('Eq=='), max_tokens: 30_000 },
      { headers: { 'x-api-key': key } },
    )
    expect(response.status).toBe(200)
    const sent = await sentTo(suppliers[0]!, 1)
    expect(sent['max_tokens']).toBe((await sentTo(suppliers[0]!, 0))['max_tokens'])
    expect(sent['max_tokens']).toBeLessThan(30_000)
    expect(String(sent['max_tokens'])).toBe(response.headers.get('x-svc-max-tokens')!)
  })

  it('where nothing may be lost the refusal of a thought stays that of its supplier', async () => {
    const { gateway, suppliers } = await house([['messages', refusing]], {
      config: 'conversion: { losses: refuse }\n',
    })
    const response = await ask(gateway, 'messages', historyWith('Eq=='))
    expect(response.status).toBe(400)
    expect(await response.text()).toContain('Invalid `signature`')
    expect(suppliers[0]!.requests).toHaveLength(1)
  })

  it('who is asked to think as before loses no more than the thought', async () => {
    const { gateway } = await house([['messages', GOOD.messages]])
    const thinking = { type: 'enabled', budget_tokens: 1024 }
    const response = await ask(gateway, 'messages', {
      ...historyWith(printSeal('chat-1', '')),
      thinking,
      max_tokens: 4096,
    })
    const losses = response.headers.get('x-svc-losses')?.split(', ') ?? []
    expect(losses).not.toEqual([])
    expect(losses).not.toContain('/thinking')
  })

  it('what nobody has sealed is left out, too, once thoughts are refused', async () => {
    const { gateway, suppliers } = await house([['messages', refusing]])
    const details = ['gw1.broken', printSeal('messages-1', 'Eq==')].map((signature) => ({
      type: 'reasoning.text',
      text: 'hm',
      signature,
    }))
    const messages = [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'b', reasoning_details: details },
      { role: 'user', content: 'c' },
    ]
    const response = await ask(gateway, 'chat', { messages })
    expect(JSON.stringify(await sentTo(suppliers[0]!, 1))).not.toContain('thinking')
    expect(response.status).toBe(200)
  })
})

describe('a count for suppliers of another language', () => {
  it.each([
    [200, 200],
    [50_000, 1600],
  ])('takes an image of %i tokens for %i', async (imageTokens, counted) => {
    const { gateway } = await house([['chat', GOOD.chat]], {
      changes: { models: modelsWith({ imageTokens }) },
    })
    const count = async (content: unknown): Promise<number> => {
      const response = await fetch(`${gateway.url}/v1/messages/count_tokens`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': ROOT_KEY },
        body: JSON.stringify({ model: 'test-model', messages: [{ role: 'user', content }] }),
      })
      return ((await response.json()) as { input_tokens: number }).input_tokens
    }
    const text = { type: 'text', text: 'Hi' }
    const image = {
      type: 'image',
      source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' },
    }
    const more = (await count([text, image])) - (await count([text]))
    expect(more).toBeGreaterThanOrEqual(counted)
    expect(more).toBeLessThan(counted + 60)
  })
})

// The official SDK with an Idempotency-Key: the same call again is the same answer, whole or streamed, and what is
// not to be repeated is not.
import { afterEach, describe, expect, it } from 'bun:test'
import type OpenAI from 'openai'
import { good } from '../fakes/street.ts'
import { closeHouses, collect, rejection, scriptedHouse, SDKS } from './house.ts'

afterEach(closeHouses)

type Params = Omit<OpenAI.Chat.ChatCompletionCreateParamsNonStreaming, 'stream'>

const CHAT: Params = { model: 'test-model', messages: [{ role: 'user', content: 'Hello' }] }
const ONCE = { headers: { 'Idempotency-Key': 'order 4711' } }

describe.each(SDKS)('%s under an Idempotency-Key', (_, Client) => {
  it('gets the same answer again', async () => {
    const { client, supplier } = await scriptedHouse(Client, good)
    const first = await client.chat.completions.create(CHAT, ONCE)
    const again = await client.chat.completions.create(CHAT, ONCE)
    expect(again).toEqual(first)
    expect(supplier.requests).toHaveLength(1)
  })

  it('gets the same stream again, to its end', async () => {
    const { client, supplier } = await scriptedHouse(Client, good)
    const body = { ...CHAT, stream: true } as const
    const first = await collect(await client.chat.completions.create(body, ONCE))
    const again = await collect(await client.chat.completions.create(body, ONCE))
    expect(again).toEqual(first)
    expect(again.at(-1)!.choices[0]!.finish_reason).toBe('stop')
    expect(supplier.requests).toHaveLength(1)
  })

  it('does not send again by itself what may have run', async () => {
    const house = await scriptedHouse(Client, (__, reply) => reply.reset())
    const { client, tries } = house.connect({ maxRetries: 5 })
    expect(await rejection(client.chat.completions.create(CHAT, ONCE))).toMatchObject({
      status: 503,
    })
    expect(tries).toEqual(['0'])
    expect(house.supplier.requests).toHaveLength(1)
  })
})

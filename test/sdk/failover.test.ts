// The official SDK in front of suppliers that fail: it sees one good answer, asks once, and only a header tells that
// somebody else has given it.
import { afterEach, describe, expect, it } from 'bun:test'
import type OpenAI from 'openai'
import { startGateway, supplierAt } from '../fakes/gateway.ts'
import { good, tidy, closeStreet, HI, ROLE } from '../fakes/street.ts'
import { startFakeSupplier, type Script } from '../fakes/supplier.ts'
import { collect, connect, rejection, SDKS, type Connection, type Sdk } from './house.ts'

afterEach(closeStreet)

const CHAT: Pick<OpenAI.Chat.ChatCompletionCreateParams, 'model' | 'messages'> = {
  model: 'test-model',
  messages: [{ role: 'user', content: 'Hello' }],
}

const FAILURES: readonly (readonly [string, Script])[] = [
  [
    'answers 429',
    (_, reply) => reply.json(429, { error: { message: 'busy', type: 'rate_limit' } }),
  ],
  ['answers 500', (_, reply) => reply.json(500, { error: { message: 'on fire' } })],
  ['answers 401', (_, reply) => reply.json(401, { error: { code: 'invalid_api_key' } })],
  ['answers with a web page', (_, reply) => reply.json(200, '<html>Sorry</html>')],
  ['answers with nothing', (_, reply) => reply.json(200, '')],
  ['hangs up', (_, reply) => reply.reset()],
  [
    'begins with an error',
    (request, reply) => {
      if (!request.body.includes('"stream":true')) return reply.json(503, { error: {} })
      const stream = reply.stream()
      stream.send('data: {"error":{"message":"overloaded","type":"overloaded_error"}}\n\n')
      return stream.end()
    },
  ],
]

async function behind(Client: Sdk, first: Script): Promise<Connection> {
  const [one, two] = [tidy(await startFakeSupplier(first)), tidy(await startFakeSupplier(good))]
  const suppliers = [supplierAt(one.origin), supplierAt(two.origin, { id: 'other' })]
  return connect(Client, tidy(await startGateway({ suppliers })).url)
}

describe.each(SDKS)('%s', (_, Client) => {
  it.each(FAILURES)(
    'sees nothing but a header when the first supplier %s',
    async (_name, script) => {
      const whole = await behind(Client, script)
      const { data, response } = await whole.client.chat.completions.create(CHAT).withResponse()
      expect(data.choices[0]?.message.content).toBe('Hi')
      expect(response.headers.get('x-svc-failover')).toBe('true')
      expect(response.headers.get('x-svc-supplier')).toBe('other')
      // Another house: this one may have learned to leave the first supplier alone.
      const other = await behind(Client, script)
      const streamed = await other.client.chat.completions
        .create({ ...CHAT, stream: true })
        .withResponse()
      const chunks = await collect(streamed.data)
      expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('Hi')
      expect(streamed.response.headers.get('x-svc-failover')).toBe('true')
      // One request each: nothing was left for the SDK to try again.
      expect([whole.tries, other.tries]).toEqual([['0'], ['0']])
    },
  )

  it('gets the error of a stream that breaks after content, and what came before it', async () => {
    const { client, tries } = await behind(Client, (_request, reply) => {
      const stream = reply.stream()
      stream.send(ROLE + HI)
      stream.send('data: {"error":{"message":"lost it","code":"boom"}}\n\n')
      stream.end()
    })
    const stream = await client.chat.completions.create({ ...CHAT, stream: true })
    const seen: string[] = []
    const read = async (): Promise<void> => {
      for await (const { choices } of stream) seen.push(choices[0]?.delta.content ?? '')
    }
    expect(await rejection(read())).toMatchObject({
      code: 'stream_error',
      message: expect.stringContaining('lost it'),
    })
    expect(seen.join('')).toBe('Hi')
    expect(tries).toEqual(['0'])
  })
})

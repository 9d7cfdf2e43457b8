// The official SDK, in the two versions in use, gets from the gateway what it gets from the supplier
// itself, whole and streamed, and when it leaves, the supplier is let go at once.
import { afterEach, describe, expect, it } from 'bun:test'
import { chunk, completion, DONE, USAGE, USAGE_CHUNK, type Script } from '../fakes/supplier.ts'
import { closeHouses, collect, rejection, scriptedHouse, SDKS } from './house.ts'

const HELLO = {
  model: 'test-model',
  messages: [{ role: 'user' as const, content: 'Hello' }],
}

afterEach(closeHouses)

describe.each(SDKS)('%s', (_, Client) => {
  describe('leaves, and the supplier is let go at once', () => {
    const endless: Script = (_, reply) => {
      const stream = reply.stream()
      stream.send(chunk({ role: 'assistant', content: '' }) + chunk({ content: 'Hi' }))
    }
    const asked = { ...HELLO, stream: true } as const

    it('by a break', async () => {
      const { client, supplier } = await scriptedHouse(Client, endless)
      for await (const { choices } of await client.chat.completions.create(asked))
        if (choices[0]?.delta.content === 'Hi') break
      await (
        await supplier.request(0)
      ).closed
    })

    it('by an abort', async () => {
      const { client, supplier } = await scriptedHouse(Client, endless)
      const stream = await client.chat.completions.create(asked)
      for await (const { choices } of stream)
        if (choices[0]?.delta.content === 'Hi') stream.controller.abort()
      await (
        await supplier.request(0)
      ).closed
    })

    it('by an abort of the helper', async () => {
      const { client, supplier } = await scriptedHouse(Client, endless)
      const stream = client.chat.completions.stream(HELLO)
      stream.on('content', () => stream.abort())
      expect(await rejection(stream.finalContent())).toBeInstanceOf(Client.APIUserAbortError)
      await (
        await supplier.request(0)
      ).closed
    })

    it('by an abort before anything came', async () => {
      const { client, supplier } = await scriptedHouse(Client, () => {})
      const leaving = new AbortController()
      const asking = client.chat.completions.create(HELLO, { signal: leaving.signal })
      const { closed } = await supplier.request(0)
      leaving.abort()
      expect(await rejection(asking)).toBeInstanceOf(Client.APIUserAbortError)
      await closed
    })
  })

  describe('returns what it returns from the supplier itself', () => {
    const message = { role: 'assistant', content: 'Grüße \u{1f600}\u2028', refusal: null }
    const calls = [
      { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":"é"}' } },
      { id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } },
    ]
    const answers: Readonly<Record<string, object>> = {
      text: completion('Hi'),
      foreign: { ...completion(''), choices: [{ index: 0, message, finish_reason: 'length' }] },
      tools: {
        ...completion(''),
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: null, tool_calls: calls },
            finish_reason: 'tool_calls',
          },
        ],
      },
      more: {
        ...completion('Hi'),
        system_fingerprint: null,
        service_tier: 'x',
        of_tomorrow: [{ a: 1.5 }],
      },
    }
    const streams: Readonly<Record<string, readonly string[]>> = {
      text: [
        chunk({ role: 'assistant', content: '' }),
        chunk({ content: 'Hi' }),
        chunk({}, 'stop'),
      ],
      foreign: [
        chunk({ role: 'assistant', content: 'Grüße \u{1f600}\u2028' }).replaceAll('\n', '\r\n'),
        ': a remark\n\n',
        chunk({ content: ' more' }, 'length', { service_tier: 'x', of_tomorrow: { a: [1.5] } }),
      ],
      tools: [
        chunk({ role: 'assistant', content: null }),
        ...calls.flatMap((call, index) => [
          chunk({
            tool_calls: [{ index, ...call, function: { name: call.function.name, arguments: '' } }],
          }),
          chunk({ tool_calls: [{ index, function: { arguments: call.function.arguments } }] }),
        ]),
        chunk({}, 'tool_calls'),
      ],
      reasoning: [
        chunk({ role: 'assistant', reasoning_content: 'Hm' }),
        chunk({ content: 'Hi' }),
        chunk({}, 'stop', { usage: USAGE }),
      ],
    }

    const script: Script = (request, reply) => {
      const asked = JSON.parse(request.body.toString()) as {
        readonly stream?: boolean
        readonly user: string
        readonly stream_options?: { readonly include_usage?: boolean }
      }
      if (asked.stream !== true) return reply.json(200, answers[asked.user])
      const stream = reply.stream()
      for (const event of streams[asked.user]!) stream.send(event)
      if (asked.stream_options?.include_usage === true) stream.send(USAGE_CHUNK)
      stream.send(DONE)
      return stream.end()
    }

    it.each(Object.keys(answers))('as an answer: %s', async (user) => {
      const { client, direct } = await scriptedHouse(Client, script)
      const asked = { ...HELLO, user }
      const [through, itself] = await Promise.all(
        [client, direct].map((each) => each.chat.completions.create(asked)),
      )
      expect(through!).toEqual(itself!)
      expect(JSON.stringify(through)).toBe(JSON.stringify(answers[user]))
    })

    it.each(Object.keys(streams))('as a stream: %s', async (user) => {
      const { client, direct } = await scriptedHouse(Client, script)
      for (const usage of [{}, { stream_options: { include_usage: true } }]) {
        const asked = { ...HELLO, user, ...usage }
        const [through, itself] = await Promise.all(
          [client, direct].map(async (each) =>
            collect(await each.chat.completions.create({ ...asked, stream: true })),
          ),
        )
        expect(through!.length).toBeGreaterThan(1)
        expect(through!).toEqual(itself!)
        const [helped, alone] = await Promise.all(
          [client, direct].map((each) => each.chat.completions.stream(asked).finalChatCompletion()),
        )
        expect(helped!).toEqual(alone!)
      }
    })

    it('as a refusal, but for the words around its message', async () => {
      const error = { message: 'No.', type: 'odd_type', code: 'odd_code', param: 'user' }
      const { client, direct } = await scriptedHouse(Client, (_, reply) =>
        reply.json(422, { error }),
      )
      for (const each of [client, direct]) {
        const thrown = await rejection(each.chat.completions.create(HELLO))
        expect(thrown).toBeInstanceOf(Client.UnprocessableEntityError)
        const { message: __, ...fields } = error
        expect(thrown).toMatchObject({ status: 422, ...fields })
      }
    })
  })
})

// What a limit means for messages: an answer ends at it, what nothing bounds is refused, and whoever leaves pays for
// what was thought, also where it was not shown.
import { afterEach, describe, expect, it, spyOn } from 'bun:test'
import { anthropicMessages } from '../src/dialects/anthropic-messages/index.ts'
import { startGateway, type Gateway } from './fakes/gateway.ts'
import {
  begin,
  end,
  event,
  goodMessages,
  HELLO_MESSAGES,
  messagesAt,
  postMessages,
  reason,
  say,
  START,
  STOP,
} from './fakes/messages.ts'
import { until } from './fakes/street.ts'
import { startFakeSupplier, type FakeSupplier, type Script } from './fakes/supplier.ts'

const open: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.stop()
})

interface House {
  readonly gateway: Gateway
  readonly supplier: FakeSupplier
  readonly ask: (body: object, signal?: AbortSignal) => Promise<Response>
}

/** A key with a budget asks. */
async function house(script: Script, budget: number): Promise<House> {
  const supplier = await startFakeSupplier(script)
  const gateway = await startGateway({ suppliers: [messagesAt(supplier.origin)] })
  open.push(supplier, gateway)
  const { key } = await gateway.createKey({ name: 'k', budget_limit: budget })
  const headers = { 'x-api-key': key }
  return {
    gateway,
    supplier,
    ask: (body, signal) =>
      postMessages(gateway, body, { headers, ...(signal !== undefined && { signal }) }),
  }
}

function streamed(...events: readonly string[]): Script {
  return (_, reply) => {
    const stream = reply.stream()
    stream.send(events.join(''))
    stream.end()
  }
}

const STREAM = { ...HELLO_MESSAGES, stream: true }

describe('the limit of an answer', () => {
  it.each([
    [0, ''],
    [1, say('a'.repeat(16))],
  ])('of %d holds for a supplier that does not keep to it', async (limit, passed) => {
    const long = say('b'.repeat(10_000))
    const { ask, gateway } = await house(
      streamed(START, begin(0), say('a'.repeat(16)), long, end(0), reason(), STOP),
      1,
    )
    const text = await (await ask({ ...STREAM, max_tokens: limit })).text()
    const closing = end(0) + reason('max_tokens', { output_tokens: limit }) + STOP
    const events = text.replaceAll(/^: .*\n/gm, '').replaceAll(/\n{3,}/g, '\n\n')
    expect(events).toBe(START + begin(0) + passed + closing)
    expect(gateway.audit()).toMatchObject([{ status: 200 }])
  })

  it('of nothing is no hindrance to an answer of nothing', async () => {
    const { ask } = await house(streamed(START, reason('max_tokens'), STOP), 1)
    const text = await (await ask({ ...STREAM, max_tokens: 0 })).text()
    expect(text).toContain(reason('max_tokens'))
    expect(text).toEndWith(STOP)
  })
})

describe('a budget', () => {
  it('refuses what nothing bounds, by the names of any language', async () => {
    const { ask, supplier } = await house(goodMessages, 1)
    for (const field of ['plugins', 'preset', 'web_search_options', 'deferred', 'extra_body']) {
      const response = await ask({ ...HELLO_MESSAGES, [field]: { x: 1 } })
      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({
        error: { code: 'unsupported_parameter', param: field },
      })
    }
    expect(supplier.requests).toHaveLength(0)
  })

  it('that cannot pay the least of thinking and an answer beside it pays nothing', async () => {
    const { ask, supplier } = await house(goodMessages, 0.0007)
    const thinking = { type: 'enabled', budget_tokens: 8_000 }
    const response = await ask({ ...HELLO_MESSAGES, max_tokens: 9_000, thinking })
    expect(response.status).toBe(402)
    expect(supplier.requests).toHaveLength(0)
    expect((await ask({ ...HELLO_MESSAGES, max_tokens: 9_000 })).status).toBe(200)
  })
})

const THOUGHT = begin(0, { type: 'thinking', thinking: '', signature: '' })

function think(delta: object): string {
  return event('content_block_delta', { index: 0, delta })
}

it.each([
  ['its length', think({ type: 'thinking_delta', thinking: '', estimated_tokens: 40 }), 41],
  ['its seal', think({ type: 'signature_delta', signature: 'x'.repeat(160) }), 41],
])('whoever leaves pays for a thought of which only %s was told', async (_, told, tokens) => {
  const { ask, gateway } = await house((_request, reply) => {
    const stream = reply.stream()
    stream.send(START + THOUGHT + told + end(0) + begin(1) + say('Hi', 1))
  }, 1)
  const caller = new AbortController()
  const response = await ask({ ...STREAM, max_tokens: 500 }, caller.signal)
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!text.includes('"Hi"')) text += (await reader.read()).value
  caller.abort()
  await until(() => gateway.audit().length === 1)
  expect(gateway.audit()).toMatchObject([{ status: 499, output_tokens: tokens }])
})

/** Resolves when the gateway has read something of a thought. */
function watchThoughts(): Promise<void> {
  const seen = Promise.withResolvers<void>()
  const { relay } = anthropicMessages
  const watch = relay.watch.bind(relay)
  const spy = spyOn(relay, 'watch').mockImplementation(() => {
    const watcher = watch()
    const see = watcher.see.bind(watcher)
    watcher.see = (...data) => {
      const kind = see(...data)
      if (watcher.unshownBytes() > 0) seen.resolve()
      return kind
    }
    return watcher
  })
  open.push({ stop: async () => spy.mockRestore() })
  return seen.promise
}

it('whoever leaves before any content pays for what was thought until then', async () => {
  const thought = watchThoughts()
  const { ask, gateway } = await house((_, reply) => {
    const seal = think({ type: 'signature_delta', signature: 'x'.repeat(160) })
    reply.stream().send(START + THOUGHT + seal)
  }, 1)
  const caller = new AbortController()
  const asking = ask({ ...STREAM, max_tokens: 500 }, caller.signal)
  await thought
  caller.abort()
  expect(await asking.catch((thrown: unknown) => thrown)).toBeInstanceOf(Error)
  await until(() => gateway.audit().length === 1)
  expect(gateway.audit()).toMatchObject([{ status: 499, output_tokens: 40 }])
})

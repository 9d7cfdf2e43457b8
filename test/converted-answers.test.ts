// What callers get of answers in another language: names, figures and ends as their own has them, and told what was lost.
import { afterEach, describe, expect, it } from 'bun:test'
import {
  ask,
  CHUNKS,
  closeHouses,
  frames,
  GOOD,
  house,
  isStream,
  streamed,
} from './fakes/languages.ts'
import { checkMessageStream } from './fakes/message-grammar.ts'
import { begin, end, HELLO_MESSAGES, message, reason, say, START, STOP } from './fakes/messages.ts'
import { createGate } from './fakes/street.ts'
import { chunk, completion, DONE, type Script } from './fakes/supplier.ts'

afterEach(closeHouses)

interface SentTools {
  readonly tools: readonly { readonly function: { readonly name: string } }[]
}

/** Calls the first tool by the name that it was told. */
const calling: Script = (request, reply) => {
  const { tools } = JSON.parse(request.body.toString()) as SentTools
  const called = { name: tools[0]!.function.name, arguments: '{}' }
  const parts = {
    role: 'assistant',
    tool_calls: [{ index: 0, id: 'c', type: 'function', function: called }],
  }
  if (!isStream(request.body)) {
    const choice = { index: 0, message: { ...parts, content: null }, finish_reason: 'tool_calls' }
    return reply.json(200, { ...completion(''), choices: [choice] })
  }
  const stream = reply.stream()
  stream.send(chunk(parts) + chunk({}, 'tool_calls') + DONE)
  return stream.end()
}

describe('answers in another language', () => {
  const SEARCH = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }
  const searched = START + begin(0, SEARCH) + end(0) + begin(1) + say('Hi', 1)

  it('what of a whole answer is lost is told with its place there, in header and record', async () => {
    const content = [SEARCH, { type: 'text', text: 'Hi' }]
    const { gateway } = await house([
      ['messages', (_, reply) => reply.json(200, message('', { content }))],
    ])
    const response = await ask(gateway, 'chat', { seed: 3 })
    const losses = response.headers.get('x-svc-losses')?.split(', ') ?? []
    expect(losses).toEqual(['/seed', expect.stringMatching(/^answer:\/content\//)])
    const id = response.headers.get('x-request-id')!
    expect(await (await gateway.manage('GET', `/calls/${id}`)).json()).toMatchObject({ losses })
  })

  it('what of a stream is lost is told in a comment at its end', async () => {
    const gate = createGate()
    const { gateway } = await house([
      [
        'messages',
        async (_, reply) => {
          const stream = reply.stream()
          stream.send(searched)
          await gate.opened
          stream.send(end(1) + reason() + STOP)
          stream.end()
        },
      ],
    ])
    const response = await ask(gateway, 'chat', { seed: 3, stream: true })
    expect(response.headers.get('x-svc-losses')).toBe('/seed')
    gate.open()
    const text = await response.text()
    expect(text).toMatch(/^: x-svc-losses: \/seed, answer:\/\S+$/m)
    const id = response.headers.get('x-request-id')!
    const record = (await (await gateway.manage('GET', `/calls/${id}`)).json()) as {
      losses: string[]
    }
    expect(record.losses).toHaveLength(2)
  })

  it('what the header has told is not told again', async () => {
    const { gateway } = await house([['messages', GOOD.messages]])
    const response = await ask(gateway, 'chat', { seed: 3, stream: true })
    expect(await response.text()).not.toContain('x-svc-losses')
  })

  it('what of an answer that is cut off is lost is told, too', async () => {
    const long = say('word '.repeat(5000), 1)
    const { gateway } = await house([['messages', streamed(searched + long)]])
    const response = await ask(gateway, 'chat', { stream: true, max_tokens: 20 })
    // By the header, where all of it has come with the first content; else by a comment.
    const header = response.headers.get('x-svc-losses') ?? ''
    const told = `x-svc-losses: ${header}\n${await response.text()}`
    expect(told).toContain('x-svc-losses: answer:/')
  })

  it('an answer without usage is told with a guess at all of it', async () => {
    const { gateway } = await house([
      [
        'chat',
        (_, reply) => reply.json(200, { ...completion('word '.repeat(100)), usage: undefined }),
      ],
    ])
    const body = (await (await ask(gateway, 'messages')).json()) as {
      usage: { output_tokens: number }
    }
    expect(body.usage.output_tokens).toBeGreaterThan(50)
  })

  it('a chat is told the second of its call', async () => {
    const { gateway } = await house([['messages', GOOD.messages]])
    const before = Math.floor(Date.now() / 1000)
    const { created } = (await (await ask(gateway, 'chat')).json()) as { created: number }
    expect(created).toBeGreaterThanOrEqual(before)
    expect(created).toBeLessThanOrEqual(Math.floor(Date.now() / 1000))
  })

  it('calls of a tool that was told by a shorter name have their own', async () => {
    const name = `mcp__${'n'.repeat(80)}`
    const { gateway } = await house([['chat', calling]])
    const tools = [{ name, input_schema: { type: 'object' } }]
    expect(await (await ask(gateway, 'messages', { tools })).json()).toMatchObject({
      content: [{ type: 'tool_use', name }],
    })
    expect(await (await ask(gateway, 'messages', { tools, stream: true })).text()).toContain(
      `"name":"${name}"`,
    )
  })

  it('an answer that goes on behind its end has one end', async () => {
    const late = CHUNKS.join('') + chunk({ content: 'word '.repeat(5000) })
    const { gateway } = await house([['chat', streamed(late)]])
    const text = await (await ask(gateway, 'messages', { stream: true })).text()
    checkMessageStream(text)
    expect(text.match(/message_delta"/g)).toHaveLength(1)
  })

  it('an answer that goes on past its limit ends at that limit', async () => {
    const endless =
      chunk({ role: 'assistant', content: '' }) + chunk({ content: 'word '.repeat(5000) })
    const { gateway } = await house([['chat', streamed(endless)]])
    const cut = frames(await (await ask(gateway, 'messages', { stream: true })).text())
    expect(cut.find(({ type }) => type === 'message_delta')).toMatchObject({
      usage: { output_tokens: HELLO_MESSAGES.max_tokens },
    })
  })

  it('a supplier that just ends behind its reason has answered who asked for several', async () => {
    const { gateway } = await house([
      ['messages', streamed(START + begin(0) + say('Hi') + end(0) + reason())],
    ])
    const text = await (await ask(gateway, 'chat', { stream: true, n: 2 })).text()
    expect(text).toEndWith(DONE)
  })
})

describe('a supplier that leaves the reason to stop out (`normalize`)', () => {
  const HI = 'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n'

  it('ends a converted stream with its marker, as it ends a relayed one', async () => {
    const quirks = { usage: 'always', normalize: true } as const
    const { gateway } = await house([['chat', streamed(HI + DONE)]], { changes: { quirks } })
    expect(await (await ask(gateway, 'chat', { stream: true })).text()).toEndWith(DONE)
    const text = await (await ask(gateway, 'messages', { stream: true })).text()
    checkMessageStream(text)
  })
})

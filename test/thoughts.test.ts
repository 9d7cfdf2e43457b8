// What a model has thought, on its way back to it: through callers of either language, to who has sealed it and to
// nobody else.
import { afterEach, describe, expect, it } from 'bun:test'
import { printSeal } from '../src/dialects/seal.ts'
import { ask, closeHouses, GOOD, house, isStream, sentTo, streamed } from './fakes/languages.ts'
import { chunk, completion, DONE, type Script } from './fakes/supplier.ts'

afterEach(closeHouses)

describe('what was thought before', () => {
  const THOUGHT = { type: 'thinking', thinking: 'hm', signature: 'Eq==' }
  const history = (block: object): object => ({
    messages: [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: [block, { type: 'text', text: 'b' }] },
      { role: 'user', content: 'c' },
    ],
  })

  it('is left out, with a loss, where a supplier refuses the seal of another', async () => {
    const script: Script = (request, reply) =>
      request.body.includes('Eq==')
        ? reply.json(400, {
            type: 'error',
            error: {
              type: 'invalid_request_error',
              message: 'messages.1.content.0: Invalid `signature` in `thinking` block',
            },
          })
        : GOOD.messages(request, reply, 0)
    const { gateway, suppliers } = await house([['messages', script]])
    for (const stream of [false, true]) {
      const response = await ask(gateway, 'messages', { ...history(THOUGHT), stream })
      expect(response.status).toBe(200)
      expect(response.headers.get('x-svc-losses')).toContain('/messages/*/content/*')
      expect(response.headers.get('x-svc-failover')).toBe('false')
      await response.arrayBuffer()
    }
    expect(suppliers[0]!.requests).toHaveLength(4)
    expect(await sentTo(suppliers[0]!, 1)).toMatchObject({
      messages: [{}, { content: [{ type: 'text', text: 'b' }] }, {}],
    })
  })

  it('is not thought on where a supplier demands to see it and cannot', async () => {
    const script: Script = (request, reply) =>
      request.body.includes('"budget_tokens"')
        ? reply.json(400, {
            type: 'error',
            error: {
              type: 'invalid_request_error',
              message:
                'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.',
            },
          })
        : GOOD.messages(request, reply, 0)
    const { gateway, suppliers } = await house([['messages', script]])
    const thinking = { type: 'enabled', budget_tokens: 1024 }
    const response = await ask(gateway, 'messages', {
      ...history(THOUGHT),
      max_tokens: 4096,
      thinking,
    })
    expect(response.status).toBe(200)
    expect(response.headers.get('x-svc-losses')?.split(', ')).toContain('/thinking')
    expect(await sentTo(suppliers[0]!, 1)).toMatchObject({ thinking: { type: 'disabled' } })
    // Without thoughts of before there is nothing to leave out, and the supplier has the last word.
    expect((await ask(gateway, 'messages', { thinking, max_tokens: 4096 })).status).toBe(400)
    expect(suppliers[0]!.requests).toHaveLength(3)
  })

  it('comes back to the supplier that has sealed it, in its own words, and to nobody else', async () => {
    const thinking: Script = (request, reply) => {
      const answer = completion('b')
      const choice = { role: 'assistant', content: 'b', reasoning_content: 'deep thought' }
      return isStream(request.body)
        ? streamed(
            chunk({ role: 'assistant', reasoning_content: 'deep ' }) +
              chunk({ reasoning_content: 'thought' }) +
              chunk({ content: 'b' }) +
              chunk({}, 'stop') +
              DONE,
          )(request, reply, 0)
        : reply.json(200, {
            ...answer,
            choices: [{ index: 0, message: choice, finish_reason: 'stop' }],
          })
    }
    const changes = { quirks: { usage: 'ask', thoughts: 'reasoning_content' } as const }
    const { gateway, suppliers } = await house([['chat', thinking]], { changes })
    const first = await ask(gateway, 'messages')
    const { content } = (await first.json()) as { content: { type: string; signature?: string }[] }
    expect(content).toMatchObject([
      { type: 'thinking', thinking: 'deep thought' },
      { type: 'text' },
    ])
    const block = content[0]!
    expect(typeof block.signature).toBe('string')
    await (await ask(gateway, 'messages', history(block))).arrayBuffer()
    expect(await sentTo(suppliers[0]!, 1)).toMatchObject({
      messages: [{}, { role: 'assistant', content: 'b', reasoning_content: 'deep thought' }, {}],
    })
    const other = await house([['messages', GOOD.messages]])
    const response = await ask(other.gateway, 'messages', history(block))
    expect(response.headers.get('x-svc-losses')).toContain('/messages/*/content/*')
    expect(JSON.stringify(await sentTo(other.suppliers[0]!))).not.toContain('deep thought')
    // One of another name can make nothing of it, and its maker may take nothing back.
    for (const id of ['another', 'chat-1']) {
      const third = await house([['chat', GOOD.chat]], { changes: { id } })
      const dropped = await ask(third.gateway, 'messages', history(block))
      expect(dropped.status).toBe(200)
      expect(dropped.headers.get('x-svc-losses')).toContain('/messages/*/content/*')
      expect(JSON.stringify(await sentTo(third.suppliers[0]!))).not.toContain('deep thought')
    }
  })

  it('is left out, with a loss, where its own supplier refuses to be handed it back', async () => {
    const script: Script = (request, reply) =>
      request.body.includes('"reasoning_content"')
        ? reply.json(400, {
            error: {
              message: "'messages.1' : property 'reasoning_content' is unsupported",
              type: 'invalid_request_error',
            },
          })
        : GOOD.chat(request, reply, 0)
    const changes = { quirks: { usage: 'ask', thoughts: 'reasoning_content' } as const }
    const { gateway, suppliers } = await house([['chat', script]], { changes })
    const block = { ...THOUGHT, signature: printSeal('chat-1', '') }
    const response = await ask(gateway, 'messages', history(block))
    expect(response.status).toBe(200)
    expect(response.headers.get('x-svc-losses')).toContain('/messages/*/content/*')
    expect(await sentTo(suppliers[0]!, 0)).toMatchObject({
      messages: [{}, { reasoning_content: 'hm' }, {}],
    })
    expect(suppliers[0]!.requests).toHaveLength(2)
    expect(JSON.stringify(await sentTo(suppliers[0]!, 1))).not.toContain('reasoning_content')
  })
})

// Tools whose names are too long for a supplier of chats or of responses: it knows them by shorter ones, and the caller
// by its own.
import { afterEach, describe, expect, it } from 'bun:test'
import { ask, closeHouses, frames, house, isStream, sentTo, streamed } from '../fakes/languages.ts'
import {
  callEvents,
  callItem,
  completed,
  PREAMBLE,
  printEvents,
  response,
} from '../fakes/response-supplier.ts'
import { chunk, completion, DONE, type Script } from '../fakes/supplier.ts'

afterEach(closeHouses)

const NAME = 'mcp__plugin_a-long-plugin_and-its-server__find_all_of_the_open_tickets'
const TOOL = { name: NAME, description: 'Finds them', input_schema: { type: 'object' } }

interface Sent {
  readonly tools: readonly { readonly function: { readonly name: string } }[]
}

/** Calls the first tool by the name that it was told. */
const calling: Script = (request, reply) => {
  const { tools } = JSON.parse(request.body.toString()) as Sent
  const { name } = tools[0]!.function
  const call = { index: 0, id: 'c1', type: 'function', function: { name, arguments: '{"a":1}' } }
  if (isStream(request.body)) {
    const begun = { ...call, function: { name, arguments: '' } }
    const text =
      chunk({ role: 'assistant', tool_calls: [begun] }) +
      chunk({ tool_calls: [{ index: 0, function: { arguments: '{"a":1}' } }] }) +
      chunk({}, 'tool_calls') +
      DONE
    return streamed(text)(request, reply, 0)
  }
  const message = { role: 'assistant', content: null, tool_calls: [call] }
  const choices = [{ index: 0, message, finish_reason: 'tool_calls' }]
  return reply.json(200, { ...completion(''), choices })
}

describe('a tool with a long name', () => {
  it('is called by its own name in a whole answer and on a stream, and so on', async () => {
    const { gateway, suppliers } = await house([['chat', calling]])
    const asked = { tools: [TOOL], tool_choice: { type: 'tool', name: NAME } }
    const called = { type: 'tool_use', name: NAME }
    const whole = await ask(gateway, 'messages', asked)
    expect(whole.headers.has('x-svc-losses')).toBe(false)
    const answer = (await whole.json()) as { content: object[] }
    expect(answer.content).toMatchObject([{ ...called, input: { a: 1 } }])
    const stream = await (await ask(gateway, 'messages', { ...asked, stream: true })).text()
    const starts = frames(stream).filter(({ type }) => type === 'content_block_start')
    expect(starts).toMatchObject([{ content_block: called }])
    const result = { type: 'tool_result', tool_use_id: 'c1', content: 'none' }
    const messages = [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: answer.content },
      { role: 'user', content: [result] },
    ]
    await (await ask(gateway, 'messages', { tools: [TOOL], messages })).arrayBuffer()
    const first = await sentTo(suppliers[0]!)
    const { name } = (first as unknown as Sent).tools[0]!.function
    expect(name).toHaveLength(64)
    expect(first['tool_choice']).toMatchObject({ function: { name } })
    expect(await sentTo(suppliers[0]!, 2)).toMatchObject({
      messages: [{}, { tool_calls: [{ function: { name } }] }, { role: 'tool' }],
    })
  })

  it('is so by a supplier of responses, for callers of either other language', async () => {
    const answering: Script = (request, reply) => {
      const { tools } = JSON.parse(request.body.toString()) as { tools: { name: string }[] }
      const call = callItem('c1', tools[0]!.name, '{"a":1}')
      if (!isStream(request.body)) return reply.json(200, response([call]))
      const events = [...PREAMBLE, ...callEvents(call), completed([call])]
      return streamed(printEvents(events))(request, reply, 0)
    }
    const { gateway, suppliers } = await house([['responses', answering]])
    const whole = await ask(gateway, 'messages', { tools: [TOOL] })
    expect(whole.headers.has('x-svc-losses')).toBe(false)
    expect(await whole.json()).toMatchObject({ content: [{ type: 'tool_use', name: NAME }] })
    const described = { name: NAME, parameters: { type: 'object' } }
    const asked = { tools: [{ type: 'function', function: described }], stream: true }
    const told = frames(await (await ask(gateway, 'chat', asked)).text())
    expect(JSON.stringify(told)).toContain(`"name":"${NAME}"`)
    for (const index of [0, 1]) {
      const { tools } = (await sentTo(suppliers[0]!, index)) as { tools?: { name: string }[] }
      expect(tools?.[0]?.name).toHaveLength(64)
    }
  })
})

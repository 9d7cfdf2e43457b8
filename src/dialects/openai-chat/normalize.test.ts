// Answers that lack something get it, answers that lack nothing keep every value, and nothing that the
// books rely on is made up.
import { describe, expect, it, spyOn } from 'bun:test'
import { openaiChat } from './index.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()
const BASICS = { id: 'req_1', model: 'test-model', created: 1_700_000_000 }
const { normalize } = openaiChat.relay
if (normalize === undefined) throw new Error('the dialect fills nothing in')

function answer(value: unknown): unknown {
  const bytes = normalize!.answer(encoder.encode(JSON.stringify(value)), BASICS)
  return JSON.parse(decoder.decode(bytes))
}

function frames(...values: readonly unknown[]): readonly unknown[] {
  const stream = normalize!.frames(BASICS)
  return values.map((value) => {
    const text = decoder.decode(stream.fill(encoder.encode(JSON.stringify(value))))
    expect(text).toMatch(/^data: [^\n]*\n\n$/)
    return JSON.parse(text.slice(6)) as unknown
  })
}

/** What is added at the closing marker. */
function ending(...values: readonly unknown[]): unknown {
  const stream = normalize!.frames(BASICS)
  for (const value of values) stream.fill(encoder.encode(JSON.stringify(value)))
  const data = stream.ending()
  return data === undefined ? undefined : JSON.parse(decoder.decode(data))
}

describe('a unary answer', () => {
  it('gets whatever it lacks', () => {
    const bare = {
      choices: [{ message: { content: 'Hi' } }],
      usage: { prompt_tokens: 3, completion_tokens: 4 },
    }
    expect(answer(bare)).toEqual({
      id: 'chatcmpl-req_1',
      object: 'chat.completion',
      created: 1_700_000_000,
      model: 'test-model',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hi', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
    })
  })

  it('keeps every value that it has', () => {
    const whole = {
      id: 'x',
      object: 'chat.completion',
      created: 5,
      model: 'm',
      choices: [
        {
          index: 1,
          message: { role: 'assistant', content: null, refusal: 'No.', extra: { a: 1 } },
          logprobs: { content: [] },
          finish_reason: 'length',
        },
      ],
      usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 9, cost: 1 },
      of_tomorrow: [1],
    }
    expect(answer(whole)).toEqual(whole)
  })

  it('with tool calls stopped for them', () => {
    const tools = [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }]
    expect(answer({ choices: [{ message: { tool_calls: tools } }] })).toMatchObject({
      choices: [{ finish_reason: 'tool_calls', message: { content: null, tool_calls: tools } }],
    })
  })

  it('gets no usage that it has not told', () => {
    expect(answer({ choices: [{ message: { content: 'Hi' } }] })).not.toHaveProperty('usage')
    const half = { prompt_tokens: 3 }
    expect(answer({ choices: [], usage: half })).toMatchObject({ usage: half })
  })

  it('that cannot be read passes as it is', () => {
    const bytes = encoder.encode('no json')
    expect(normalize.answer(bytes, BASICS)).toBe(bytes)
  })
})

describe('a stream', () => {
  it('gets one id, a role at its beginning and a place for each choice', () => {
    const [first, second, last, usage] = frames(
      { choices: [{ delta: { content: 'Hel' } }] },
      { choices: [{ delta: { content: 'lo' } }] },
      { choices: [{ finish_reason: 'stop' }] },
      { usage: { prompt_tokens: 1, completion_tokens: 2 } },
    )
    const basics = { ...BASICS, id: 'chatcmpl-req_1', object: 'chat.completion.chunk' }
    expect(first).toEqual({
      ...basics,
      choices: [{ index: 0, delta: { role: 'assistant', content: 'Hel' }, finish_reason: null }],
    })
    expect(second).toEqual({
      ...basics,
      choices: [{ index: 0, delta: { content: 'lo' }, finish_reason: null }],
    })
    expect(last).toEqual({
      ...basics,
      choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
    })
    expect(usage).toEqual({
      ...basics,
      choices: [],
      usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    })
  })

  it('keeps what it has', () => {
    const chunk = {
      id: 'x',
      object: 'chat.completion.chunk',
      created: 5,
      model: 'm',
      choices: [
        {
          index: 2,
          delta: { role: 'assistant', content: '' },
          logprobs: null,
          finish_reason: null,
        },
      ],
      usage: null,
      system_fingerprint: 'fp',
    }
    expect(frames(chunk)).toEqual([chunk])
  })

  it('is one answer, even if only its first event says which', () => {
    const [, second] = frames(
      { id: 'x', model: 'm', created: 5, choices: [] },
      { choices: [{ delta: { content: 'Hi' } }] },
    )
    expect(second).toMatchObject({ id: 'x', model: 'm', created: 5 })
  })

  it('tells its tool calls apart', () => {
    const tool = (fields: object) => ({ choices: [{ delta: { tool_calls: [fields] } }] })
    const seen = frames(
      tool({ id: 'a', function: { name: 'f', arguments: '' } }),
      tool({ function: { arguments: '{"x":' } }),
      tool({ function: { arguments: '1}' } }),
      tool({ id: 'b', function: { name: 'g', arguments: '{}' } }),
      tool({ index: 7, id: 'c', type: 'function' }),
    ) as { choices: { delta: { tool_calls: { index: number; type?: string }[] } }[] }[]
    const calls = seen.map((each) => each.choices[0]?.delta.tool_calls[0])
    expect(calls.map((call) => call?.index)).toEqual([0, 0, 0, 1, 7])
    expect(calls.map((call) => call?.type)).toEqual([
      'function',
      undefined,
      undefined,
      'function',
      'function',
    ])
  })

  it('goes on with the tool call that it named by its index', () => {
    const tool = (fields: object) => ({ choices: [{ delta: { tool_calls: [fields] } }] })
    const seen = frames(tool({ index: 7, id: 'c' }), tool({ id: 'c' }), tool({}), tool({ id: 'd' }))
    expect(seen).toMatchObject([7, 7, 7, 8].map((index) => tool({ index })))
  })

  it('looks none of its tool calls up by going through all of them', () => {
    const compared = spyOn(Array.prototype, 'includes')
    const searched = spyOn(Array.prototype, 'indexOf')
    const tools = Array.from({ length: 500 }, (_, index) => ({ id: `call-${index}` }))
    const [chunk] = frames({ choices: [{ delta: { tool_calls: tools } }] })
    const steps = [compared, searched].map((spy) => spy.mock.calls.length)
    compared.mockRestore()
    searched.mockRestore()
    expect(Math.max(...steps)).toBeLessThan(500)
    expect(chunk).toMatchObject({
      choices: [{ delta: { tool_calls: tools.map((tool, index) => ({ ...tool, index })) } }],
    })
  })

  it('without any reason to stop gets one for each choice when it is closed', () => {
    const tools = [{ id: 'a', function: { name: 'f', arguments: '{}' } }]
    expect(
      ending(
        { choices: [{ delta: { content: 'Hi' } }] },
        { choices: [{ index: 1, delta: { tool_calls: tools } }] },
      ),
    ).toEqual({
      choices: [
        { index: 0, delta: {}, finish_reason: 'stop' },
        { index: 1, delta: {}, finish_reason: 'tool_calls' },
      ],
    })
  })

  it('gets no reason where it gives reasons, or where no choice has begun', () => {
    const begun = { choices: [{ index: 0, delta: { content: 'Hi' } }] }
    const stopped = { choices: [{ index: 1, delta: {}, finish_reason: 'stop' }] }
    expect(ending(begun, stopped)).toBeUndefined()
    expect(ending({ choices: [] })).toBeUndefined()
    expect(ending()).toBeUndefined()
  })

  it('is printed so that no text can end an event', () => {
    const [chunk] = frames({ choices: [{ delta: { content: 'a\n\ndata: b\r\u2028' } }] })
    expect(chunk).toMatchObject({ choices: [{ delta: { content: 'a\n\ndata: b\r\u2028' } }] })
  })
})

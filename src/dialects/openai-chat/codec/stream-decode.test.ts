// Streams in the shapes of several suppliers, written by hand, and as oddly as they may come.
import { describe, expect, it } from 'bun:test'
import type { ChatEvent } from '../../../core/chat-event.ts'
import { collect } from './answer-collect.ts'
import { decodeResponse } from './response-decode.ts'
import { createDecoder } from './stream-decode.ts'

const encoder = new TextEncoder()

function decode(chunks: readonly object[]): {
  events: readonly ChatEvent[]
  lost: readonly string[]
} {
  const decoder = createDecoder()
  const events = chunks.flatMap((chunk) => [
    ...decoder.decode(encoder.encode(JSON.stringify(chunk))),
  ])
  return { events, lost: decoder.lost }
}

const chunk = (delta: object, finish_reason: string | null = null) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, logprobs: null, finish_reason }],
})
const calls = (...tool_calls: object[]) => chunk({ tool_calls })

function partsOf(...chunks: readonly object[]) {
  return collect(decode(chunks).events).parts
}

describe('the input of a call that is no text', () => {
  it('keeps each digit', () => {
    const input = '{"id":12345678901234567890}'
    const delta = `{"tool_calls":[{"index":0,"id":"c","function":{"name":"n","arguments":${input}}}]}`
    const data = `{"id":"a","choices":[{"index":0,"delta":${delta}}]}`
    const decoder = createDecoder()
    expect(decoder.decode(encoder.encode(data)).slice(1)).toEqual([
      { kind: 'call', place: 0, id: 'c', name: 'n' },
      { kind: 'input', place: 0, text: input },
    ])
  })
})

describe('a stream in the shape of a supplier', () => {
  it('OpenAI: begins once, tells text in order, ends once; usage and noise say nothing', () => {
    const { events, lost } = decode([
      { ...chunk({ role: 'assistant', content: '', refusal: null }), obfuscation: 'Xy' },
      { ...chunk({ content: 'Hel' }), obfuscation: 'q' },
      chunk({ content: 'lo' }),
      chunk({}, 'stop'),
      { id: 'chatcmpl-1', choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } },
    ])
    expect(events).toEqual([
      { kind: 'start' },
      { kind: 'text', text: 'Hel' },
      { kind: 'text', text: 'lo' },
      { kind: 'finish', finish: { reason: 'end', raw: 'stop' } },
    ])
    expect(lost).toEqual([])
  })

  it('OpenAI: parallel calls, mixed', () => {
    const { events } = decode([
      calls({ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '' } }),
      calls({ index: 1, id: 'b', type: 'function', function: { name: 'g', arguments: '' } }),
      calls({ index: 1, function: { arguments: '{"y"' } }),
      calls(
        { index: 0, function: { arguments: '{}' } },
        { index: 1, function: { arguments: ':2}' } },
      ),
      chunk({}, 'tool_calls'),
    ])
    expect(events).toEqual([
      { kind: 'start' },
      { kind: 'call', place: 0, id: 'a', name: 'f' },
      { kind: 'call', place: 1, id: 'b', name: 'g' },
      { kind: 'input', place: 1, text: '{"y"' },
      { kind: 'input', place: 0, text: '{}' },
      { kind: 'input', place: 1, text: ':2}' },
      { kind: 'finish', finish: { reason: 'tools', raw: 'tool_calls' } },
    ])
  })

  it('DeepSeek: thoughts, then text, with nulls beside them', () => {
    expect(
      partsOf(
        chunk({ role: 'assistant', content: null, reasoning_content: 'H' }),
        chunk({ content: null, reasoning_content: 'm.' }),
        chunk({ content: 'Yes', reasoning_content: null }),
      ),
    ).toEqual([
      { kind: 'thinking', text: 'Hm.' },
      { kind: 'text', text: 'Yes' },
    ])
  })

  it('Mistral: parts in every delta', () => {
    const part = (text: string) => ({ type: 'thinking', thinking: [{ type: 'text', text }] })
    expect(
      partsOf(
        { ...chunk({ content: [part('H')] }), p: 'abc' },
        chunk({ content: [part('m.')] }),
        chunk({ content: [{ type: 'text', text: 'Ye' }] }),
        chunk({ content: 's' }),
      ),
    ).toEqual([
      { kind: 'thinking', text: 'Hm.' },
      { kind: 'text', text: 'Yes' },
    ])
  })

  it('Gemini: what it wants back with a call comes right before it', () => {
    const extra_content = { google: { thought_signature: 'CtcB' } }
    const { events } = decode([
      chunk({ role: 'assistant', content: 'I look.' }),
      calls({
        index: 0,
        id: 'a',
        type: 'function',
        extra_content,
        function: { name: 'f', arguments: '{}' },
      }),
      // Some that stand before it give all calls the same index.
      calls({ index: 0, id: 'b', type: 'function', function: { name: 'f', arguments: '{"x":1}' } }),
      chunk({}, 'stop'),
    ])
    expect(events.slice(2)).toEqual([
      { kind: 'seal', data: JSON.stringify({ calls: { a: extra_content } }) },
      { kind: 'call', place: 0, id: 'a', name: 'f' },
      { kind: 'input', place: 0, text: '{}' },
      { kind: 'call', place: 1, id: 'b', name: 'f' },
      { kind: 'input', place: 1, text: '{"x":1}' },
      { kind: 'finish', finish: { reason: 'tools', raw: 'stop' } },
    ])
  })

  it('OpenRouter: pieces of details are joined, and sealed when the thought ends', () => {
    const detail = (fields: object) => ({
      type: 'reasoning.text',
      format: 'x',
      index: 0,
      ...fields,
    })
    const { events } = decode([
      chunk({ content: '', reasoning: 'H', reasoning_details: [detail({ text: 'H' })] }),
      chunk({ content: '', reasoning: 'm.', reasoning_details: [detail({ text: 'm.' })] }),
      chunk({ content: '', reasoning: null, reasoning_details: [detail({ signature: 'sig' })] }),
      chunk({ content: 'Yes', reasoning: null }),
      chunk({ reasoning_details: [{ type: 'reasoning.encrypted', data: 'late' }] }, 'stop'),
    ])
    const details = [detail({ text: 'Hm.', signature: 'sig' })]
    const late = [{ type: 'reasoning.encrypted', data: 'late' }]
    expect(events).toEqual([
      { kind: 'start' },
      { kind: 'thinking', text: 'H' },
      { kind: 'thinking', text: 'm.' },
      { kind: 'seal', data: JSON.stringify({ details }) },
      { kind: 'text', text: 'Yes' },
      { kind: 'seal', data: JSON.stringify({ details: late }) },
      { kind: 'finish', finish: { reason: 'end', raw: 'stop' } },
    ])
  })

  it('details that are told beside a thought are sealed together with the call behind it', () => {
    const details = [{ type: 'reasoning.text', text: 'Hm.' }]
    const extra_content = { x: 1 }
    const { events } = decode([
      chunk({ reasoning_details: details }),
      calls({ index: 0, id: '__proto__', extra_content, function: { name: 'f' } }),
    ])
    expect(events.slice(1, 3)).toEqual([
      { kind: 'thinking', text: 'Hm.' },
      {
        kind: 'seal',
        data: `{"details":${JSON.stringify(details)},"calls":{"__proto__":{"x":1}}}`,
      },
    ])
  })

  it('vLLM: the text that stopped it', () => {
    const choice = { index: 0, delta: { content: '' }, finish_reason: 'stop', stop_reason: 'END' }
    expect(collect(decode([{ choices: [choice] }]).events).finish).toEqual({
      reason: 'stop',
      raw: 'stop',
      stopText: 'END',
    })
  })

  it('Groq and Together: figures and repetitions beside the choices', () => {
    const { events, lost } = decode([
      {
        x_groq: { id: 'r' },
        choices: [{ index: 0, text: 'a', delta: { content: 'a' }, seed: null }],
      },
    ])
    expect(events).toEqual([{ kind: 'start' }, { kind: 'text', text: 'a' }])
    expect(lost).toEqual([])
  })
})

describe('an odd stream', () => {
  it('takes calls without an index: a new id is a new call, none goes on with the last', () => {
    expect(
      partsOf(
        calls({ id: 'a', function: { name: 'f', arguments: '{"x"' } }),
        calls({ function: { arguments: ':1}' } }),
        calls({ id: 'b', function: { name: 'g', arguments: '{}' } }),
        calls({ id: 'a', function: { arguments: ' ' } }),
      ),
    ).toEqual([
      { kind: 'call', id: 'a', name: 'f', input: '{"x":1} ' },
      { kind: 'call', id: 'b', name: 'g', input: '{}' },
    ])
  })

  it('takes whole calls with neither index nor id, in one frame or in several', () => {
    const one = { function: { name: 'f', arguments: { x: 1 } } }
    const two = { function: { name: 'f', arguments: '{"x":2}' } }
    const inputs = ['{"x":1}', '{"x":2}', '{"x":1}']
    const parts = partsOf(calls(one, two), calls(one))
    expect(parts.map((part) => part.kind === 'call' && part.input)).toEqual(inputs)
    expect(new Set(parts.map((part) => part.kind === 'call' && part.id)).size).toBe(3)
  })

  it('does not take a repeated name or an id that changes for another call', () => {
    expect(
      partsOf(
        calls({ index: 0, id: 'a', function: { name: 'f', arguments: '{' } }),
        calls({ index: 0, id: 'other', function: { name: null, arguments: '"x":' } }),
        calls({ index: 0, id: 'a', function: { name: 'f', arguments: '1}' } }),
      ),
    ).toEqual([{ kind: 'call', id: 'a', name: 'f', input: '{"x":1}' }])
  })

  it('holds back what comes before the name of a call', () => {
    const { events } = decode([
      calls({ index: 0, id: 'a', function: { arguments: '{' } }),
      calls({ index: 0, function: { name: 'f', arguments: '}' } }),
    ])
    expect(events.slice(1)).toEqual([
      { kind: 'call', place: 0, id: 'a', name: 'f' },
      { kind: 'input', place: 0, text: '{}' },
    ])
  })

  it('makes up the ids that the whole answer would have got', () => {
    const tool_calls = [{ function: { name: 'f', arguments: '{}' } }]
    const whole = { id: 'chatcmpl-1', choices: [{ message: { tool_calls } }] }
    expect(partsOf(calls(...tool_calls))).toEqual([
      ...decodeResponse(encoder.encode(JSON.stringify(whole))).parts,
    ])
  })

  it('reads the call of old in pieces', () => {
    expect(
      partsOf(
        chunk({ function_call: { name: 'f', arguments: '' } }),
        chunk({ function_call: { arguments: '{}' } }),
      ),
    ).toMatchObject([{ kind: 'call', name: 'f', input: '{}' }])
  })

  it('reads one choice, and tells of the others', () => {
    const { events, lost } = decode([
      { choices: [{ index: 1, delta: { content: 'b' }, finish_reason: 'stop' }] },
      { choices: [{ index: 0, delta: { content: 'a' } }] },
    ])
    expect(events).toEqual([{ kind: 'start' }, { kind: 'text', text: 'a' }])
    expect(lost).toEqual(['/choices/*'])
  })

  it('tells of input that is no object, unless the answer was cut', () => {
    const lostOf = (reason: string, ...inputs: readonly string[]): readonly string[] =>
      decode([
        calls({ index: 0, id: 'a', function: { name: 'n', arguments: '{}' } }),
        calls({ index: 1, id: 'b', function: { name: 'n', arguments: '' } }),
        ...inputs.map((text) => calls({ index: 1, function: { arguments: text } })),
        chunk({}, reason),
      ]).lost
    const place = '/choices/*/delta/tool_calls/*/function/arguments'
    expect(lostOf('tool_calls', '{"a"', ':')).toEqual([place])
    expect(lostOf('stop', '{"a"', ':}')).toEqual([place])
    expect(lostOf('length', '{"a"', ':')).toEqual([])
    expect(lostOf('tool_calls', '{"a"', ':1}')).toEqual([])
    expect(lostOf('tool_calls')).toEqual([])
  })

  it('ends once, and tells what comes after the end as lost', () => {
    const { events, lost } = decode([
      chunk({ content: 'a' }, 'stop'),
      chunk({ content: '' }, 'stop'),
      chunk({ content: 'b' }),
    ])
    expect(events.map(({ kind }) => kind)).toEqual(['start', 'text', 'finish'])
    expect(lost).toEqual(['/choices/*/delta'])
  })

  it('tells of what has no place in our words, once', () => {
    const odd = { ...chunk({ annotations: [{}] }), citations: ['x'] }
    expect(decode([odd, odd]).lost).toEqual(['/citations', '/choices/*/delta/annotations'])
  })

  it('does not end an answer that was cut', () => {
    const whole = [
      chunk({ role: 'assistant', reasoning: 'Hm' }),
      chunk({ content: 'a' }),
      calls({ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }),
      chunk({}, 'tool_calls'),
    ]
    for (let length = 0; length < whole.length; length++)
      expect(collect(decode(whole.slice(0, length)).events).finish).toBeUndefined()
    expect(collect(decode(whole).events).finish).toBeDefined()
  })
})

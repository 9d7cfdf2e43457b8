// Requests in the words of chat: what it can say is said, in its own manner, and what it cannot is told.
import { describe, expect, it } from 'bun:test'
import type { ChatRequest, Turn, UserPart } from '../../../core/chat.ts'
import { GatewayError } from '../../../core/problem.ts'
import type { Target } from '../../codec.ts'
import { encodeRequest } from './request-encode.ts'

const decoder = new TextDecoder()

const TARGET: Target = {
  model: 'm',
  supplier: 'acme',
  maxTokens: undefined,
  maxTokensDefault: 4096,
  reasoning: 'effort',
  samples: undefined,
  quirks: { usage: 'ask', thoughts: 'reasoning_content' },
}

const EMPTY: ChatRequest = { system: [], turns: [], tools: [], stream: false, stop: [] }
const HI: Turn = { role: 'user', parts: [{ kind: 'text', text: 'Hi' }] }

function encode(request: Partial<ChatRequest>, target: Partial<Target> = {}) {
  const encoded = encodeRequest({ ...EMPTY, ...request }, { ...TARGET, ...target })
  const json = JSON.parse(decoder.decode(encoded.body)) as Record<string, unknown>
  return { json, lost: encoded.lost, messages: json['messages'] }
}

function messagesOf(...turns: Turn[]) {
  const { messages, lost } = encode({ turns })
  expect(lost).toEqual([])
  return messages
}

function refusal(work: () => unknown) {
  try {
    work()
  } catch (thrown) {
    if (thrown instanceof GatewayError) return { code: thrown.code, param: thrown.param }
    throw thrown
  }
  throw new Error('nothing was thrown')
}

const PNG = 'data:image/png;base64,iVBO'
const CALL = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{"a":1}' } }
const CALL_PART = { kind: 'call', id: 'c1', name: 'look', input: '{"a":1}' } as const

describe('a request in the words of chat', () => {
  it('has one message for each result, and one for the rest', () => {
    const messages = messagesOf({
      role: 'user',
      parts: [
        { kind: 'result', id: 'a', parts: [{ kind: 'text', text: 'one' }], isError: false },
        { kind: 'result', id: 'b', parts: [], isError: false },
        { kind: 'result', id: 'c', parts: [{ kind: 'text', text: 'no such file' }], isError: true },
        { kind: 'result', id: 'd', parts: [{ kind: 'text', text: 'ERROR 5' }], isError: true },
        { kind: 'text', text: 'so?' },
      ],
    })
    expect(messages).toEqual([
      { role: 'tool', tool_call_id: 'a', content: 'one' },
      { role: 'tool', tool_call_id: 'b', content: '' },
      { role: 'tool', tool_call_id: 'c', content: 'Error: no such file' },
      { role: 'tool', tool_call_id: 'd', content: 'ERROR 5' },
      { role: 'user', content: 'so?' },
    ])
  })

  it('shows what results show behind all of them, and says whose it is', () => {
    const image = {
      kind: 'image',
      source: { kind: 'data', mediaType: 'image/png', data: 'iVBO' },
    } as const
    const pdf = { kind: 'data', mediaType: 'application/pdf', data: 'JVBE' } as const
    const messages = messagesOf({
      role: 'user',
      parts: [
        { kind: 'result', id: 'a', parts: [{ kind: 'text', text: 'x' }, image], isError: false },
        { kind: 'result', id: 'b', parts: [image], isError: false },
        { kind: 'result', id: 'c', parts: [{ kind: 'file', source: pdf }], isError: false },
        { kind: 'text', text: 'so?' },
      ],
    })
    const shown = { type: 'image_url', image_url: { url: PNG } }
    expect(messages).toEqual([
      { role: 'tool', tool_call_id: 'a', content: 'x' },
      { role: 'tool', tool_call_id: 'b', content: '(see the image below)' },
      { role: 'tool', tool_call_id: 'c', content: '(see the file below)' },
      {
        role: 'user',
        content: [
          { type: 'text', text: '[image of tool result a]' },
          shown,
          { type: 'text', text: '[image of tool result b]' },
          shown,
          { type: 'text', text: '[file of tool result c]' },
          {
            type: 'file',
            file: { filename: 'unnamed.pdf', file_data: 'data:application/pdf;base64,JVBE' },
          },
          { type: 'text', text: 'so?' },
        ],
      },
    ])
  })

  it('says the text of a document as text', () => {
    const source = { kind: 'text', text: 'body' } as const
    expect(messagesOf({ role: 'user', parts: [{ kind: 'file', source, name: 'Title' }] })).toEqual([
      { role: 'user', content: 'Title\nbody' },
    ])
  })

  it('has no content where an assistant only calls, and its text before its calls', () => {
    const call = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{"a":1}' } }
    expect(
      messagesOf(
        { role: 'assistant', parts: [CALL_PART] },
        { role: 'assistant', parts: [{ kind: 'refusal', text: 'no' }] },
        { role: 'assistant', parts: [{ kind: 'text', text: 'x' }, CALL_PART] },
      ),
    ).toEqual([
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'assistant', content: null, refusal: 'no' },
      { role: 'assistant', content: 'x', tool_calls: [call] },
    ])
  })

  it('hands thoughts back to their maker, each thing where it stood', () => {
    const data = JSON.stringify({
      details: [{ type: 'reasoning.encrypted', data: 'E' }],
      calls: { c1: { google: { thought_signature: 'S' } } },
    })
    const thought = { kind: 'thinking', text: 'hm', seal: { data, supplier: 'acme' } } as const
    const turn: Turn = { role: 'assistant', parts: [thought, CALL_PART] }
    expect(messagesOf(turn)).toEqual([
      {
        role: 'assistant',
        content: null,
        reasoning_content: 'hm',
        reasoning_details: [{ type: 'reasoning.encrypted', data: 'E' }],
        tool_calls: [{ ...CALL, extra_content: { google: { thought_signature: 'S' } } }],
      },
    ])
    const other = encode({ turns: [turn] }, { supplier: 'other' })
    expect(other.lost).toEqual(['thinking', 'seal'])
    expect(other.messages).toEqual([{ role: 'assistant', content: null, tool_calls: [CALL] }])
  })

  it.each<readonly [Target['quirks']['thoughts'], object, readonly string[]]>([
    ['reasoning_content', { reasoning_content: 'hm' }, []],
    ['reasoning', { reasoning: 'hm' }, []],
    ['none', {}, ['thinking', 'seal']],
    [undefined, {}, ['thinking', 'seal']],
  ])(
    'hands thoughts back by the name that their maker has for them: %s',
    (thoughts, said, lost) => {
      const quirks = { usage: 'ask', ...(thoughts && { thoughts }) } as const
      const hm = { kind: 'thinking', text: 'hm', seal: { data: '', supplier: 'acme' } } as const
      const turn: Turn = { role: 'assistant', parts: [hm, { kind: 'text', text: 'b' }] }
      const encoded = encode({ turns: [turn] }, { quirks })
      expect(encoded.messages).toEqual([{ role: 'assistant', content: 'b', ...said }])
      expect(encoded.lost).toEqual(lost as never)
    },
  )

  it('hands back what its maker has asked for, where it takes back nothing else', () => {
    const calls = { c1: { google: { thought_signature: 'S' } } }
    const details = [{ type: 'reasoning.text', text: 'hm', signature: 'E' }]
    const restore = (kept: object, text: string): Record<string, unknown> => {
      const seal = { data: JSON.stringify(kept), supplier: 'acme' }
      const turn: Turn = {
        role: 'assistant',
        parts: [{ kind: 'thinking', text, seal }, CALL_PART],
      }
      const { messages, lost } = encode({ turns: [turn] }, { quirks: { usage: 'ask' } })
      return { ...(messages as object[])[0], lost }
    }
    const base = { role: 'assistant', content: null }
    const sealed = [{ ...CALL, extra_content: calls.c1 }]
    expect(restore({ calls }, '')).toEqual({ ...base, tool_calls: sealed, lost: [] })
    expect(restore({ calls }, 'hm')).toEqual({ ...base, tool_calls: sealed, lost: ['thinking'] })
    const detailed = { ...base, reasoning_details: details, tool_calls: [CALL], lost: [] }
    expect(restore({ details }, 'hm')).toEqual(detailed)
  })

  it('hands back no seal that somebody has nested without end', () => {
    const depth = 100_000
    const data = `{"details":[${'['.repeat(depth)}${']'.repeat(depth)}]}`
    const thought = { kind: 'thinking', text: 'hm', seal: { data, supplier: 'acme' } } as const
    expect(messagesOf({ role: 'assistant', parts: [thought] })).toEqual([
      { role: 'assistant', content: '', reasoning_content: 'hm' },
    ])
  })

  it('sends thoughts without a seal, or of nobody, to nobody, and leaves out a turn that is nothing else', () => {
    const turns: readonly Turn[] = [
      { role: 'assistant', parts: [{ kind: 'thinking', text: 'hm' }] },
      HI,
    ]
    const { messages, lost } = encode({ turns })
    expect(messages).toEqual([{ role: 'user', content: 'Hi' }])
    expect(lost).toEqual(['thinking'])
    const seal = { data: '', supplier: '' }
    const broken: Turn = { role: 'assistant', parts: [{ kind: 'thinking', text: 'hm', seal }] }
    expect(encode({ turns: [broken] }, { supplier: '' })).toMatchObject({
      messages: [],
      lost: ['thinking', 'seal'],
    })
  })

  it('tells a model that refuses it nothing of how to choose its words', () => {
    const sampling = { temperature: 0, topP: 0.5, presencePenalty: 1, frequencyPenalty: 0 }
    const { json, lost } = encode({ turns: [HI], ...sampling, seed: 1 }, { samples: false })
    expect(Object.keys(json)).toEqual(['model', 'messages', 'seed'])
    expect(lost).toEqual(['temperature', 'top_p', 'penalties'])
    const defaults = { temperature: 1, topP: 1, presencePenalty: 0 }
    expect(encode({ turns: [HI], ...defaults }, { samples: false }).lost).toEqual([])
  })

  it('tells what it cannot say', () => {
    const image: UserPart = { kind: 'image', source: { kind: 'id', id: 'f' } }
    const { lost, json } = encode({
      system: [{ kind: 'text', text: 's', cache: 'long' }],
      turns: [
        {
          role: 'user',
          parts: [
            { kind: 'text', text: 'x', cache: 'short' },
            image,
            { kind: 'file', source: { kind: 'id', id: 'f' } },
            { kind: 'file', source: { kind: 'url', url: 'https://a.test' } },
          ],
        },
      ],
      topK: 4,
      user: 'u'.repeat(65),
    })
    expect(lost.toSorted()).toEqual(['cache', 'file_id', 'file_url', 'image_id', 'top_k', 'user'])
    expect(json['messages']).toEqual([
      { role: 'system', content: 's' },
      { role: 'user', content: 'x' },
    ])
    expect(refusal(() => encode({ turns: [{ role: 'user', parts: [image] }] }))).toEqual({
      code: 'unsupported_parameter',
      param: 'messages',
    })
  })

  it('names the limit as the supplier does, asks for usage as it wants, and tells what it refuses', () => {
    const { json, lost } = encode(
      { stream: true, maxTokens: 0, temperature: 1, seed: 1, format: { kind: 'json' } },
      {
        quirks: {
          usage: 'ask',
          maxTokensName: 'max_completion_tokens',
          drop: ['temperature', 'stop', 'response_format'],
          rename: { seed: 'random_seed' },
        },
      },
    )
    expect(json).toEqual({
      model: 'm',
      messages: [],
      max_completion_tokens: 1,
      random_seed: 1,
      stream: true,
      stream_options: { include_usage: true },
    })
    expect(lost.toSorted()).toEqual(['json', 'temperature'])
    expect(encode({ stream: true }, { quirks: { usage: 'always' }, maxTokens: 8 }).json).toEqual({
      model: 'm',
      messages: [],
      max_tokens: 8,
      stream: true,
    })
  })

  it.each<readonly [ChatRequest['reasoning'], Target['reasoning'], unknown, readonly string[]]>([
    [{ effort: 'low' }, 'effort', 'low', []],
    [{ effort: 'max', isAdaptive: true }, 'effort', 'high', []],
    [{ effort: 'none' }, 'effort', undefined, []],
    [{ effort: 'none' }, undefined, undefined, []],
    [{ isAdaptive: true }, 'effort', undefined, []],
    [{ isAdaptive: true }, 'none', undefined, ['reasoning']],
    [{ budget: 2048 }, 'budget', 'low', []],
    [{ budget: 2049 }, 'effort', 'medium', []],
    [{ budget: 20_000 }, 'effort', 'high', []],
    [{ budget: 20_000 }, undefined, undefined, ['reasoning']],
  ])('says how much to think: %j to a model of habit %s', (reasoning, habit, word, lost) => {
    const encoded = encode({ ...(reasoning && { reasoning }) }, { reasoning: habit })
    expect(encoded.json['reasoning_effort']).toBe(word)
    expect(encoded.lost).toEqual(lost as never)
  })

  it.each<readonly [Target['besideTools'], ChatRequest['reasoning'], unknown, readonly string[]]>([
    [undefined, { effort: 'low' }, 'low', []],
    ['unsaid', { effort: 'low' }, undefined, ['reasoning']],
    ['unsaid', { effort: 'none' }, undefined, []],
    ['unsaid', undefined, undefined, []],
    ['off', { budget: 4096 }, 'none', ['reasoning']],
    ['off', { isAdaptive: true }, 'none', ['reasoning']],
    ['off', { effort: 'none' }, 'none', []],
    ['off', undefined, 'none', []],
  ])('beside tools, of thinking that is to be %s: %j', (besideTools, reasoning, word, lost) => {
    const asked = { turns: [HI], ...(reasoning && { reasoning }) }
    const encoded = encode({ ...asked, tools: [{ name: 'look', schema: {} }] }, { besideTools })
    expect(encoded.json['reasoning_effort']).toBe(word)
    expect(encoded.lost).toEqual(lost as never)
    // Without tools nothing is different.
    expect(encode(asked, { besideTools })).toEqual(encode(asked))
  })

  it.each<readonly [string, boolean, object]>([
    [
      'a closed',
      true,
      { type: 'object', properties: { a: {} }, required: ['a'], additionalProperties: false },
    ],
    ['an open', false, { type: 'object', properties: { a: {} }, required: ['a'] }],
    ['an optional', false, { type: 'object', properties: { a: {} }, additionalProperties: false }],
    ['an inner open', false, { type: 'array', items: { type: ['object', 'null'] } }],
    ['an inner combined', false, { anyOf: [{ type: 'string' }, { allOf: [] }] }],
  ])('is strict about a schema only where it can be: %s one', (_, strict, schema) => {
    expect(encode({ format: { kind: 'schema', schema } }).json['response_format']).toEqual({
      type: 'json_schema',
      json_schema: { name: 'answer', schema, strict },
    })
  })
})

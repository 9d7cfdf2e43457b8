// Requests in the words of responses: what this language can say is said, in its own manner, and what it cannot is told.
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
  quirks: { usage: 'always' },
}

const EMPTY: ChatRequest = { system: [], turns: [], tools: [], stream: false, stop: [] }
const HI: Turn = { role: 'user', parts: [{ kind: 'text', text: 'Hi' }] }

function encode(request: Partial<ChatRequest>, target: Partial<Target> = {}) {
  const encoded = encodeRequest({ ...EMPTY, ...request }, { ...TARGET, ...target })
  const json = JSON.parse(decoder.decode(encoded.body)) as Record<string, unknown>
  return { json, lost: encoded.lost, names: encoded.names, input: json['input'] }
}

function inputOf(...turns: Turn[]) {
  const { input, lost } = encode({ turns })
  expect(lost).toEqual([])
  return input
}

const CALL = { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{"a":1}' }
const CALL_PART = { kind: 'call', id: 'c1', name: 'look', input: '{"a":1}' } as const

describe('a request in the words of responses', () => {
  it('has nothing kept by whoever answers it', () => {
    expect(encode({ turns: [HI], stream: true, maxTokens: 0 }).json).toEqual({
      model: 'm',
      input: [{ type: 'message', role: 'user', content: 'Hi' }],
      max_output_tokens: 1,
      store: false,
      stream: true,
    })
    expect(encode({ maxTokens: 9 }, { maxTokens: 8 }).json['max_output_tokens']).toBe(8)
  })

  it('has one system text as instructions, and several in a message before all others', () => {
    const [a, b] = ['a', 'b'].map((text) => ({ kind: 'text', text }) as const)
    const user = { type: 'message', role: 'user', content: 'Hi' }
    const single = encode({ system: [a!], turns: [HI, { role: 'system', parts: [b!] }] })
    expect(single.json['instructions']).toBe('a')
    expect(single.input).toEqual([user, { type: 'message', role: 'system', content: 'b' }])
    const several = encode({ system: [a!, b!], turns: [HI] })
    expect(several.json['instructions']).toBeUndefined()
    const content = ['a', 'b'].map((text) => ({ type: 'input_text', text }))
    expect(several.input).toEqual([{ type: 'message', role: 'system', content }, user])
  })

  it('has an item for each result, and a message for the rest', () => {
    const input = inputOf({
      role: 'user',
      parts: [
        { kind: 'result', id: 'a', parts: [{ kind: 'text', text: 'one' }], isError: false },
        { kind: 'result', id: 'b', parts: [], isError: false },
        { kind: 'result', id: 'c', parts: [{ kind: 'text', text: 'no such file' }], isError: true },
        { kind: 'result', id: 'd', parts: [{ kind: 'text', text: 'ERROR 5' }], isError: true },
        { kind: 'result', id: 'e', parts: [], isError: true },
        { kind: 'text', text: 'so?' },
      ],
    })
    expect(input).toEqual([
      { type: 'function_call_output', call_id: 'a', output: 'one' },
      { type: 'function_call_output', call_id: 'b', output: '' },
      { type: 'function_call_output', call_id: 'c', output: 'Error: no such file' },
      { type: 'function_call_output', call_id: 'd', output: 'ERROR 5' },
      { type: 'function_call_output', call_id: 'e', output: 'Error' },
      { type: 'message', role: 'user', content: 'so?' },
    ])
  })

  it('shows images and files where they stand, also in results', () => {
    const image = {
      kind: 'image',
      source: { kind: 'data', mediaType: 'image/png', data: 'iVBO' },
    } as const
    const pdf = { kind: 'data', mediaType: 'application/pdf', data: 'JVBE' } as const
    const url = { kind: 'url', url: 'https://a.test/b' } as const
    const parts = [
      { kind: 'text', text: 'x' },
      image,
      { kind: 'image', source: url, detail: 'low' },
      { kind: 'file', source: pdf },
      { kind: 'file', source: url },
      { kind: 'file', source: { kind: 'text', text: 'body' }, name: 'Title' },
    ] as const
    const content = [
      { type: 'input_text', text: 'x' },
      { type: 'input_image', image_url: 'data:image/png;base64,iVBO', detail: 'auto' },
      { type: 'input_image', image_url: 'https://a.test/b', detail: 'low' },
      {
        type: 'input_file',
        filename: 'unnamed.pdf',
        file_data: 'data:application/pdf;base64,JVBE',
      },
      { type: 'input_file', file_url: 'https://a.test/b' },
      { type: 'input_text', text: 'Title\nbody' },
    ]
    expect(inputOf({ role: 'user', parts })).toEqual([{ type: 'message', role: 'user', content }])
    const result = { kind: 'result', id: 'a', parts, isError: false } as const
    expect(inputOf({ role: 'user', parts: [result] })).toEqual([
      { type: 'function_call_output', call_id: 'a', output: content },
    ])
    const failed = { kind: 'result', id: 'a', parts: [image], isError: true } as const
    expect(inputOf({ role: 'user', parts: [failed] })).toEqual([
      {
        type: 'function_call_output',
        call_id: 'a',
        output: [{ type: 'input_text', text: 'Error' }, content[1]],
      },
    ])
  })

  it('has an item for each thing that an assistant has done, in its order', () => {
    const seal = { data: 'E', supplier: 'acme' }
    const input = inputOf({
      role: 'assistant',
      parts: [
        { kind: 'thinking', text: 'hm\n\nso', seal },
        { kind: 'text', text: 'x' },
        { kind: 'refusal', text: 'no' },
        { kind: 'thinking', text: '', seal, isHidden: true },
        CALL_PART,
        { kind: 'text', text: 'y' },
      ],
    })
    expect(input).toEqual([
      {
        type: 'reasoning',
        summary: ['hm', 'so'].map((text) => ({ type: 'summary_text', text })),
        encrypted_content: 'E',
      },
      {
        type: 'message',
        role: 'assistant',
        content: [
          { type: 'output_text', text: 'x', annotations: [] },
          { type: 'refusal', refusal: 'no' },
        ],
      },
      { type: 'reasoning', summary: [], encrypted_content: 'E' },
      CALL,
      { type: 'message', role: 'assistant', content: 'y' },
    ])
  })

  it.each<readonly [string, object | undefined, readonly string[]]>([
    ['another supplier', { data: 'E', supplier: 'other' }, ['thinking', 'seal']],
    ['nobody known', { data: 'E', supplier: undefined }, ['thinking', 'seal']],
    ['nobody at all', { data: '', supplier: '' }, ['thinking', 'seal']],
    ['its maker in another language', { data: '{}', supplier: 'acme' }, ['thinking', 'seal']],
    ['its maker, but for nothing', { data: '', supplier: 'acme' }, ['thinking']],
    ['no one', undefined, ['thinking']],
  ])('hands no thought back that is sealed by %s', (_, seal, lost) => {
    const thought = { kind: 'thinking', text: 'hm', ...(seal && { seal }) } as never
    const said = [{ kind: 'text', text: 'a' }, thought, { kind: 'text', text: 'b' }] as never
    const encoded = encode({ turns: [{ role: 'assistant', parts: said }] })
    expect(encoded.lost).toEqual(lost as never)
    const content = ['a', 'b'].map((text) => ({ type: 'output_text', text, annotations: [] }))
    expect(encoded.input).toEqual([{ type: 'message', role: 'assistant', content }])
    expect(encode({ turns: [{ role: 'assistant', parts: [thought] }, HI] }).input).toEqual([
      { type: 'message', role: 'user', content: 'Hi' },
    ])
    expect(
      encode({ turns: [{ role: 'assistant', parts: [thought] }] }, { supplier: '' }).input,
    ).toEqual([])
  })

  it('shortens ids that are too long to be taken, for a call and its result alike', () => {
    const ids = ['a', 'b'].map((letter) => 'x'.repeat(99) + letter)
    const input = inputOf(
      { role: 'assistant', parts: ids.map((id) => ({ ...CALL_PART, id })) },
      {
        role: 'user',
        parts: ids.map((id) => ({ kind: 'result', id, parts: [], isError: false })),
      },
    ) as { call_id: string }[]
    const [first, second, third, fourth] = input.map((item) => item.call_id)
    expect([third, fourth]).toEqual([first, second])
    expect(first).not.toBe(second)
    expect(first!.length).toBeLessThanOrEqual(64)
    const exact = { ...CALL_PART, id: 'y'.repeat(64) }
    expect(inputOf({ role: 'assistant', parts: [exact] })).toEqual([{ ...CALL, call_id: exact.id }])
  })

  it('always says whether a tool is strict, which it would be without a word', () => {
    const tool = { name: 'look', schema: { type: 'object' } }
    const closed = { type: 'object', properties: {}, additionalProperties: false }
    const { json } = encode({
      tools: [tool, { schema: closed, name: 'see', description: 'd', isStrict: true }],
      toolChoice: { mode: 'named', name: 'look' },
      parallelTools: false,
    })
    const parameters = { type: 'object' }
    expect(json).toMatchObject({
      tools: [
        { type: 'function', name: 'look', parameters, strict: false },
        { type: 'function', name: 'see', description: 'd', parameters: closed, strict: true },
      ],
      tool_choice: { type: 'function', name: 'look' },
      parallel_tool_calls: false,
    })
    expect(encode({ tools: [tool], toolChoice: { mode: 'any' } }).json['tool_choice']).toBe(
      'required',
    )
    expect(encode({ toolChoice: { mode: 'any' }, parallelTools: false }).json).toEqual({
      model: 'm',
      input: [],
      store: false,
    })
  })

  it('is not strict about a schema that leaves something open, which would be refused', () => {
    const { json, lost } = encode({
      tools: [{ name: 'look', schema: { type: 'object' }, isStrict: true }],
    })
    expect(json).toMatchObject({ tools: [{ name: 'look', strict: false }] })
    expect(lost).toEqual(['tool_strict'])
  })

  it('knows a tool with a long name by a shorter one, wherever it stands', () => {
    const name = 'mcp__plugin_a-long-plugin_and-its-server__find_all_of_the_open_tickets'
    const turns: Turn[] = [
      { role: 'user', parts: [{ kind: 'text', text: 'Hi' }] },
      { role: 'assistant', parts: [{ kind: 'call', id: 'c', name, input: '' }] },
    ]
    const tools = [{ name, schema: { type: 'object' } }]
    const request = { turns, tools, toolChoice: { mode: 'named', name } as const }
    const { json, lost, names } = encode(request)
    const [[short]] = [...(names ?? [])] as [[string, string]]
    expect(short).toHaveLength(64)
    expect([...(names ?? [])]).toEqual([[short, name]])
    expect(lost).toEqual([])
    expect(json).toMatchObject({
      input: [{}, { type: 'function_call', name: short, arguments: '{}' }],
      tools: [{ name: short }],
      tool_choice: { type: 'function', name: short },
    })
  })

  it('tells a model that refuses it nothing of how to choose its words', () => {
    const { json, lost } = encode({ temperature: 0, topP: 0.5 }, { samples: false })
    expect(Object.keys(json)).toEqual(['model', 'input', 'store'])
    expect(lost).toEqual(['temperature', 'top_p'])
    expect(encode({ temperature: 1, topP: 1 }, { samples: false }).lost).toEqual([])
    expect(encode({ temperature: 0, topP: 1 }).json).toMatchObject({ temperature: 0, top_p: 1 })
  })

  it('tells what it cannot say', () => {
    const image: UserPart = { kind: 'image', source: { kind: 'id', id: 'f' } }
    const sound: UserPart = { kind: 'audio', data: 'AAAA', format: 'wav' }
    const { lost, json } = encode({
      system: [{ kind: 'text', text: 's', cache: 'long' }],
      turns: [
        {
          role: 'user',
          parts: [
            { kind: 'text', text: 'x', cache: 'short' },
            image,
            sound,
            { kind: 'file', source: { kind: 'id', id: 'f' } },
            { kind: 'file', source: { kind: 'url', url: 'https://a.test' }, name: 'a.pdf' },
          ],
        },
      ],
      stop: ['END'],
      topK: 4,
      seed: 1,
      presencePenalty: 0,
      frequencyPenalty: 1,
      user: 'u'.repeat(65),
    })
    expect(lost.toSorted()).toEqual([
      'audio',
      'cache',
      'file_id',
      'file_name',
      'image_id',
      'penalties',
      'seed',
      'stop',
      'top_k',
      'user',
    ])
    expect(json).toEqual({
      model: 'm',
      instructions: 's',
      input: [
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_text', text: 'x' },
            { type: 'input_file', file_url: 'https://a.test' },
          ],
        },
      ],
      store: false,
    })
    expect(encode({ presencePenalty: 0, frequencyPenalty: 0 }).lost).toEqual([])
  })

  it('is refused where nothing is left of what a user has said', () => {
    const parts: UserPart[] = [{ kind: 'audio', data: 'AAAA', format: 'wav' }]
    expect(() => encode({ turns: [{ role: 'user', parts }] })).toThrow(GatewayError)
    expect(inputOf({ role: 'user', parts: [] })).toEqual([
      { type: 'message', role: 'user', content: '' },
    ])
  })

  it('names fields as the supplier does, and tells what it refuses', () => {
    const { json, lost } = encode(
      {
        system: [{ kind: 'text', text: 's' }],
        maxTokens: 5,
        temperature: 1,
        format: { kind: 'json' },
        reasoning: { effort: 'low' },
      },
      {
        quirks: {
          usage: 'always',
          drop: ['instructions', 'temperature', 'text', 'reasoning', 'tools'],
          rename: { max_output_tokens: 'limit' },
        },
      },
    )
    expect(json).toEqual({
      model: 'm',
      input: [],
      limit: 5,
      include: ['reasoning.encrypted_content'],
      store: false,
    })
    expect(lost.toSorted()).toEqual(['json', 'reasoning', 'system', 'temperature'])
  })

  it.each<readonly [ChatRequest['reasoning'], Target['reasoning'], unknown, boolean]>([
    [{ effort: 'low' }, 'effort', 'low', true],
    [{ effort: 'max', isAdaptive: true }, 'effort', 'high', true],
    [{ budget: 2048 }, 'budget', 'low', true],
    [{ budget: 20_000 }, 'effort', 'high', true],
    [{ isAdaptive: true }, 'effort', undefined, true],
    [{ effort: 'none' }, 'effort', undefined, false],
    [{ effort: 'none' }, undefined, undefined, false],
    [undefined, 'effort', undefined, false],
  ])(
    'asks for seals where it asks to think: %j of a model of habit %s',
    (reasoning, habit, word, isAsked) => {
      const { json, lost } = encode({ ...(reasoning && { reasoning }) }, { reasoning: habit })
      expect(json['reasoning']).toEqual(word === undefined ? undefined : { effort: word })
      expect(json['include']).toEqual(isAsked ? ['reasoning.encrypted_content'] : undefined)
      expect(lost).toEqual([])
    },
  )

  it.each(['none', undefined] as const)('asks no model of habit %s to think', (habit) => {
    const { json, lost } = encode({ reasoning: { isAdaptive: true } }, { reasoning: habit })
    expect(Object.keys(json)).toEqual(['model', 'input', 'store'])
    expect(lost).toEqual(['reasoning'])
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
    expect(encode({ format: { kind: 'schema', schema } }).json['text']).toEqual({
      format: { type: 'json_schema', name: 'answer', schema, strict },
    })
  })
})

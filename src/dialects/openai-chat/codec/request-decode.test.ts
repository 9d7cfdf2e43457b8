// Chat requests in our words: what they say is understood in every spelling, and what is not is told by name.
import { describe, expect, it } from 'bun:test'
import type { ChatRequest, Turn, UserPart } from '../../../core/chat.ts'
import { GatewayError } from '../../../core/problem.ts'
import { printSeal } from '../../seal.ts'
import { peek } from '../peek.ts'
import { decodeRequest } from './request-decode.ts'

const encoder = new TextEncoder()

const EMPTY: ChatRequest = { system: [], turns: [], tools: [], stream: false, stop: [] }
const HI: Turn = { role: 'user', parts: [{ kind: 'text', text: 'Hi' }] }

function decode(fields: Record<string, unknown>) {
  const body = encoder.encode(
    JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hi' }], ...fields }),
  )
  peek(body)
  return decodeRequest(body)
}

function turnsOf(...messages: object[]) {
  const { request, lost } = decode({ messages })
  expect(lost).toEqual([])
  return request.turns
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
const TOOL = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } }
const CALL = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{"a":1}' } }
const CALL_PART = { kind: 'call', id: 'c1', name: 'look', input: '{"a":1}' } as const

describe('numbers of more digits than a number holds', () => {
  it('are kept in schemas and in inputs that are no text', () => {
    const input = '{"id":12345678901234567890,"far":1e400}'
    const schema = '{"type":"object","maximum":9223372036854775807}'
    const body = `{"model":"m","seed":9223372036854775807,
      "tools":[{"type":"function","function":{"name":"look","parameters":${schema}}}],
      "messages":[{"role":"user","content":"Hi"},
        {"role":"assistant","tool_calls":[{"id":"c","function":{"name":"look","arguments":${input}}}]}]}`
    const { request, lost } = decodeRequest(encoder.encode(body))
    expect(request.turns[1]?.parts).toEqual([{ kind: 'call', id: 'c', name: 'look', input }])
    expect(JSON.stringify(request.tools[0]?.schema)).toBe(schema)
    expect(request.seed).toBe(2 ** 63)
    expect(lost).toEqual([])
  })
})

describe('messages of chat', () => {
  it('put what stands first before all turns, and leave what comes later in its place', () => {
    const { request } = decode({
      messages: [
        { role: 'system', content: 'a' },
        {
          role: 'developer',
          content: [{ type: 'text', text: 'b', cache_control: { type: 'ephemeral' } }],
        },
        { role: 'user', content: 'Hi' },
        { role: 'system', content: 'c' },
      ],
    })
    expect(request.system).toEqual([
      { kind: 'text', text: 'a' },
      { kind: 'text', text: 'b', cache: 'short' },
    ])
    expect(request.turns).toEqual([HI, { role: 'system', parts: [{ kind: 'text', text: 'c' }] }])
  })

  it('gather results that follow each other, and the user behind them, in one turn', () => {
    const turns = turnsOf(
      { role: 'assistant', content: null, tool_calls: [CALL, { ...CALL, id: 'c2' }] },
      { role: 'tool', tool_call_id: 'c1', name: 'look', content: 'one' },
      { role: 'tool', tool_call_id: 'c2', content: [{ type: 'text', text: 'two' }] },
      { role: 'user', content: 'so?' },
      { role: 'user', content: 'well?' },
    )
    expect(turns).toEqual([
      { role: 'assistant', parts: [CALL_PART, { ...CALL_PART, id: 'c2' }] },
      {
        role: 'user',
        parts: [
          { kind: 'result', id: 'c1', parts: [{ kind: 'text', text: 'one' }], isError: false },
          { kind: 'result', id: 'c2', parts: [{ kind: 'text', text: 'two' }], isError: false },
          { kind: 'text', text: 'so?' },
        ],
      },
      { role: 'user', parts: [{ kind: 'text', text: 'well?' }] },
    ])
  })

  it('say calls and results in their former spelling', () => {
    const turns = turnsOf(
      { role: 'assistant', content: null, function_call: { name: 'look', arguments: '{}' } },
      { role: 'function', name: 'look', content: '' },
    )
    expect(turns).toEqual([
      { role: 'assistant', parts: [{ kind: 'call', id: 'call_look', name: 'look', input: '{}' }] },
      {
        role: 'user',
        parts: [{ kind: 'result', id: 'call_look', parts: [], isError: false }],
      },
    ])
  })

  it('keep what an assistant has said in order: thoughts, texts, a refusal, calls', () => {
    const [turn] = turnsOf({
      role: 'assistant',
      content: [
        { type: 'text', text: 'x' },
        { type: 'refusal', refusal: 'no' },
      ],
      refusal: null,
      reasoning_content: 'hm',
      annotations: [],
      audio: null,
      tool_calls: [{ ...CALL, function: { name: 'look', arguments: { a: 1 } } }],
    })
    expect(turn?.parts).toEqual([
      { kind: 'thinking', text: 'hm' },
      { kind: 'text', text: 'x' },
      { kind: 'refusal', text: 'no' },
      CALL_PART,
    ])
  })

  it('have seals that know their maker, and tell no thought twice', () => {
    const [turn] = turnsOf({
      role: 'assistant',
      content: '',
      reasoning_content: 'hm',
      reasoning_details: [
        { type: 'reasoning.text', text: 'hm', signature: printSeal('acme', 'sig') },
        { type: 'reasoning.encrypted', data: 'own' },
      ],
      refusal: 'no',
    })
    expect(turn?.parts).toEqual([
      { kind: 'thinking', text: 'hm', seal: { data: 'sig', supplier: 'acme' } },
      { kind: 'thinking', text: '', seal: { data: 'own', supplier: undefined }, isHidden: true },
      { kind: 'refusal', text: 'no' },
    ])
  })

  it.each<readonly [string, object, UserPart]>([
    [
      'an image of data',
      { type: 'image_url', image_url: { url: PNG, detail: 'low' } },
      {
        kind: 'image',
        source: { kind: 'data', mediaType: 'image/png', data: 'iVBO' },
        detail: 'low',
      },
    ],
    [
      'an image by its bare address',
      { type: 'image_url', image_url: 'https://a.test/b.png' },
      { kind: 'image', source: { kind: 'url', url: 'https://a.test/b.png' } },
    ],
    [
      'an image by its id',
      { type: 'input_image', file_id: 'f' },
      { kind: 'image', source: { kind: 'id', id: 'f' } },
    ],
    [
      'sound',
      { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
      { kind: 'audio', data: 'AAAA', format: 'wav' },
    ],
    [
      'a file of data',
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBE' } },
      {
        kind: 'file',
        source: { kind: 'data', mediaType: 'application/pdf', data: 'JVBE' },
        name: 'a.pdf',
      },
    ],
    [
      'a file of bare data',
      { type: 'file', file: { file_data: 'JVBE' } },
      { kind: 'file', source: { kind: 'data', mediaType: '', data: 'JVBE' } },
    ],
    [
      'a file by its id',
      { type: 'file', file: { file_id: 'f' }, cache_control: { type: 'ephemeral', ttl: '1h' } },
      { kind: 'file', source: { kind: 'id', id: 'f' }, cache: 'long' },
    ],
  ])('show %s', (_, part, expected) => {
    expect(turnsOf({ role: 'user', content: [part] })).toEqual([
      { role: 'user', parts: [expected] },
    ])
  })

  it('lose parts of a kind that is not known, but never a whole message', () => {
    const film = { type: 'video_url', video_url: { url: 'https://a.test/b' } }
    const text = { type: 'text', text: 'Hi' }
    const { request, lost } = decode({ messages: [{ role: 'user', content: [film, text] }] })
    expect(request.turns).toEqual([HI])
    expect(lost).toEqual(['/messages/*/content/*/video_url'])
    expect(refusal(() => decode({ messages: [{ role: 'user', content: [film] }] }))).toEqual({
      code: 'unsupported_parameter',
      param: 'messages[0].content',
    })
  })

  it.each<readonly [string, object]>([
    ['messages[0].tool_call_id', { role: 'tool', content: 'x' }],
    ['messages[0].tool_calls', { role: 'assistant', tool_calls: 7 }],
    ['messages[0].tool_calls[0].id', { role: 'assistant', tool_calls: [{ ...CALL, id: 5 }] }],
    ['messages[0].content[0].text', { role: 'user', content: [{ type: 'text' }] }],
    [
      'messages[0].content[0].image_url.url',
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png,x' } }] },
    ],
  ])('are refused by name where they make no sense: %s', (param, message) => {
    expect(refusal(() => decode({ messages: [message] }))).toEqual({
      code: 'validation_error',
      param,
    })
  })
})

describe('fields of chat', () => {
  it('say what is asked of the model', () => {
    const { request, lost } = decode({
      max_tokens: 5,
      max_completion_tokens: 9,
      stop: 'END',
      temperature: 1.5,
      top_p: 0.5,
      top_k: 3,
      seed: 7,
      presence_penalty: 0.5,
      frequency_penalty: -1,
      user: 'u',
      stream: true,
      tools: [TOOL],
      tool_choice: { type: 'function', function: { name: 'look' } },
      parallel_tool_calls: false,
    })
    expect(lost).toEqual([])
    expect(request).toEqual({
      system: [],
      turns: [HI],
      tools: [{ name: 'look', schema: { type: 'object' } }],
      toolChoice: { mode: 'named', name: 'look' },
      parallelTools: false,
      maxTokens: 9,
      stream: true,
      stop: ['END'],
      temperature: 1.5,
      topP: 0.5,
      topK: 3,
      seed: 7,
      presencePenalty: 0.5,
      frequencyPenalty: -1,
      user: 'u',
    })
  })

  it('are lost where nobody else has them, and not where they change nothing', () => {
    const { lost } = decode({
      n: 1,
      store: false,
      logprobs: false,
      stream: true,
      stream_options: { include_usage: true },
      service_tier: 'auto',
      modalities: ['text'],
      metadata: { session_id: 's', sticky_key: 'k' },
      region: 'eu',
      logit_bias: null,
      tool_choice: 'auto',
      parallel_tool_calls: true,
    })
    expect(lost).toEqual([])
    const others = decode({
      n: 2,
      logit_bias: { 5: 1 },
      metadata: { session_id: 's', team: 'x' },
      'a/b~c': 1,
      ['x'.repeat(99)]: 1,
    })
    expect(others.lost).toEqual([
      '/n',
      '/logit_bias',
      '/a~1b~0c',
      `/${'x'.repeat(64)}`,
      '/metadata/team',
    ])
  })

  it('are told by at most 64 losses', () => {
    const many = Object.fromEntries(Array.from({ length: 99 }, (_, at) => [`x${at}`, 1]))
    expect(decode(many).lost).toHaveLength(64)
  })

  it.each<readonly [object, object | undefined, readonly string[]]>([
    [{ reasoning_effort: 'low' }, { effort: 'low' }, []],
    [{ reasoning_effort: 'none' }, { effort: 'none' }, []],
    [{ reasoning_effort: 'loud' }, undefined, ['/reasoning_effort']],
    [{ reasoning: { effort: 'high', max_tokens: 5 } }, { effort: 'high', budget: 5 }, []],
    [{ reasoning: { enabled: true } }, { isAdaptive: true }, []],
    [{ reasoning: { enabled: false } }, { effort: 'none' }, []],
    [{ reasoning: { max_tokens: 5, exclude: true } }, { budget: 5 }, ['/reasoning/exclude']],
  ])('say how much to think: %j', (fields, reasoning, lost) => {
    const decoded = decode({ ...fields })
    expect(decoded.request.reasoning).toEqual(reasoning as never)
    expect(decoded.lost).toEqual(lost)
  })

  it.each<readonly [object, object | undefined, readonly string[]]>([
    [{ type: 'text' }, undefined, []],
    [{ type: 'json_object' }, { kind: 'json' }, []],
    [
      { type: 'json_schema', json_schema: { name: 'a', strict: true, schema: { $schema: 'x' } } },
      { kind: 'schema', name: 'a', isStrict: true, schema: { $schema: 'x' } },
      [],
    ],
    [{ type: 'grammar', grammar: 'x' }, undefined, ['/response_format']],
  ])('say what form the answer has: %j', (response_format, format, lost) => {
    const decoded = decode({ response_format })
    expect(decoded.request.format).toEqual(format as never)
    expect(decoded.lost).toEqual(lost)
  })

  it('are refused by name where they are of the wrong kind', () => {
    const wrong = {
      stop: 5,
      seed: 'x',
      user: 5,
      parallel_tool_calls: 'no',
      reasoning: 'x',
      tool_choice: 'maybe',
    }
    for (const [param, value] of Object.entries(wrong))
      expect(refusal(() => decode({ [param]: value }))).toEqual({ code: 'validation_error', param })
  })
})

describe('tools of chat', () => {
  it('lose those that are no functions, and what only chat says of the others', () => {
    const { request, lost } = decode({
      tools: [
        { type: 'web_search_preview' },
        { type: 'custom', custom: { name: 'c' } },
        { ...TOOL, defer_loading: true, cache_control: { type: 'ephemeral' } },
        { type: 'function', name: 'flat', strict: true },
      ],
      functions: [{ name: 'old', description: 'd' }],
      tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [] } },
    })
    expect(request.tools).toEqual([
      { name: 'look', schema: { type: 'object' }, cache: 'short' },
      { name: 'flat', schema: { type: 'object', properties: {} }, isStrict: true },
      { name: 'old', description: 'd', schema: { type: 'object', properties: {} } },
    ])
    expect(request.toolChoice).toEqual({ mode: 'any' })
    expect(lost).toEqual([
      '/tools/*/web_search_preview',
      '/tools/*/custom',
      '/tools/*/defer_loading',
      '/tool_choice/allowed_tools',
    ])
  })

  it('take the choice with them where none is left, and cannot be asked for by name', () => {
    const tools = [{ type: 'custom', custom: { name: 'c' } }]
    const { request } = decode({ tools, tool_choice: 'required', parallel_tool_calls: false })
    expect(request).toEqual({ ...EMPTY, turns: [HI] })
    const gone = { code: 'unsupported_parameter', param: 'tool_choice' } as const
    const named = { type: 'function', function: { name: 'c' } }
    expect(refusal(() => decode({ tools, tool_choice: named }))).toEqual(gone)
    const custom = { type: 'custom', custom: { name: 'c' } }
    expect(refusal(() => decode({ tools, tool_choice: custom }))).toEqual(gone)
    expect(refusal(() => decode({ tools: [TOOL], tool_choice: named }))).toEqual({
      code: 'validation_error',
      param: 'tool_choice',
    })
  })

  it('keep a call of one that takes any text, because its result stays', () => {
    const { request, lost } = decode({
      messages: [
        {
          role: 'assistant',
          tool_calls: [{ id: 'c', type: 'custom', custom: { name: 'sh', input: 'ls' } }],
        },
        { role: 'tool', tool_call_id: 'c', content: 'x' },
      ],
    })
    expect(request.turns[0]?.parts).toEqual([
      { kind: 'call', id: 'c', name: 'sh', input: '{"input":"ls"}' },
    ])
    expect(lost).toEqual(['/messages/*/tool_calls/*/custom'])
  })
})

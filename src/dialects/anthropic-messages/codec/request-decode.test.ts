// Messages requests in words of our own: every form that clients send, what is lost of them, and what is refused.
import { describe, expect, it } from 'bun:test'
import { GatewayError } from '../../../core/problem.ts'
import { peek } from '../peek.ts'
import { printSeal } from '../../seal.ts'
import { decodeRequest } from './request-decode.ts'

const encoder = new TextEncoder()
const USER = { role: 'user', content: 'Hi' }
const HI = { role: 'user', parts: [{ kind: 'text', text: 'Hi' }] } as const

function decodeText(text: string) {
  const body = encoder.encode(text)
  // Nothing gets here that admission has not let in.
  peek(body)
  return decodeRequest(body)
}

function decoded(changes: object = {}) {
  return decodeText(JSON.stringify({ model: 'm', max_tokens: 9, messages: [USER], ...changes }))
}

function turnsOf(...messages: readonly object[]) {
  return decoded({ messages: [USER, ...messages] }).request.turns.slice(1)
}

function lostOf(changes: object): readonly string[] {
  return decoded(changes).lost
}

function lostIn(role: string, ...content: readonly object[]): readonly string[] {
  return lostOf({ messages: [USER, { role, content }] })
}

function refusal(changes: object): readonly unknown[] {
  try {
    decoded(changes)
  } catch (thrown) {
    if (thrown instanceof GatewayError) return [thrown.code, thrown.param]
    throw thrown
  }
  throw new Error('nothing was thrown')
}

describe('what one client sends first', () => {
  const SCHEMA = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: { path: { type: 'string' } },
    additionalProperties: false,
  }
  const mark = { cache_control: { type: 'ephemeral' } }
  const environment = { type: 'text', text: '# Environment', ...mark }
  const first = {
    max_tokens: 128_000,
    stream: true,
    system: [
      { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1.325.382;' },
      { type: 'text', text: 'You are an agent', ...mark },
    ],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: '<system-reminder>' },
          { type: 'text', text: 'say hi' },
        ],
      },
      { role: 'system', content: [environment], output_config: { effort: 'medium' } },
    ],
    tools: [
      { name: 'Read', description: 'Reads', input_schema: SCHEMA },
      { name: 'DeferredToolPlaceholder', input_schema: SCHEMA, defer_loading: true },
    ],
    metadata: { user_id: '{"device_id":"d","session_id":"s"}' },
    thinking: { type: 'adaptive', display: 'omitted' },
    context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
    output_config: { effort: 'low' },
  }

  it('loses only what is really lost, and no tool', () => {
    const { request, lost } = decoded(first)
    expect(lost).toEqual(['/thinking/display', '/tools/*/defer_loading'])
    expect(request).toEqual({
      system: [
        { kind: 'text', text: 'x-anthropic-billing-header: cc_version=2.1.325.382;' },
        { kind: 'text', text: 'You are an agent', cache: 'short' },
      ],
      turns: [
        {
          role: 'user',
          parts: [
            { kind: 'text', text: '<system-reminder>' },
            { kind: 'text', text: 'say hi' },
          ],
        },
        { role: 'system', parts: [{ kind: 'text', text: '# Environment', cache: 'short' }] },
      ],
      tools: [
        { name: 'Read', description: 'Reads', schema: SCHEMA },
        { name: 'DeferredToolPlaceholder', schema: SCHEMA },
      ],
      maxTokens: 128_000,
      stream: true,
      stop: [],
      reasoning: { effort: 'medium', isAdaptive: true },
      user: '{"device_id":"d","session_id":"s"}',
    })
  })

  it('is understood on the second turn, where the system speaks in a string', () => {
    const sealed = printSeal('maker', 'sig')
    const second = [
      first.messages[0]!,
      { role: 'system', content: '# Environment' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: '', signature: sealed },
          { type: 'tool_use', id: 'call_1', name: 'Read', input: { path: 'a' }, caller: null },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'call_1', content: 'text', ...mark },
          { type: 'text', text: 'go on' },
        ],
      },
    ]
    const { request, lost } = decoded({ ...first, messages: second })
    expect(lost).toEqual(['/thinking/display', '/tools/*/defer_loading'])
    expect(request.reasoning).toEqual({ effort: 'low', isAdaptive: true })
    expect(request.turns.slice(1)).toEqual([
      { role: 'system', parts: [{ kind: 'text', text: '# Environment' }] },
      {
        role: 'assistant',
        parts: [
          { kind: 'thinking', text: '', seal: { data: 'sig', supplier: 'maker' } },
          { kind: 'call', id: 'call_1', name: 'Read', input: '{"path":"a"}' },
        ],
      },
      {
        role: 'user',
        parts: [
          {
            kind: 'result',
            id: 'call_1',
            parts: [{ kind: 'text', text: 'text' }],
            isError: false,
            cache: 'short',
          },
          { kind: 'text', text: 'go on' },
        ],
      },
    ])
  })
})

describe('what the system says', () => {
  it('stands at the front up to the first turn, and then in its place', () => {
    const { system, turns } = decoded({
      system: 'one',
      messages: [
        { role: 'system', content: 'two' },
        { role: 'system', content: [{ type: 'text', text: 'three' }] },
        USER,
        { role: 'system', content: 'four' },
        { role: 'system', content: '' },
      ],
    }).request
    expect(system.map(({ text }) => text)).toEqual(['one', 'two', 'three'])
    expect(turns).toEqual([HI, { role: 'system', parts: [{ kind: 'text', text: 'four' }] }])
  })
})

describe('what came of calls', () => {
  const result = (fields: object) => ({ type: 'tool_result', tool_use_id: 't', ...fields })
  const told = (parts: readonly object[], isError = false) => ({
    kind: 'result',
    id: 't',
    parts,
    isError,
  })
  const text = { kind: 'text', text: 'x' }

  it.each<readonly [string, object, object]>([
    ['nothing', {}, told([])],
    ['null', { content: null }, told([])],
    ['an empty text', { content: '' }, told([])],
    ['a text', { content: 'x', is_error: true }, told([text], true)],
    ['blocks', { content: [{ type: 'text', text: 'x' }] }, told([text])],
    [
      'an image',
      { content: [{ type: 'image', source: { type: 'url', url: 'https://a.test/b' } }] },
      told([{ kind: 'image', source: { kind: 'url', url: 'https://a.test/b' } }]),
    ],
    [
      'a tool that was found',
      { content: [{ type: 'tool_reference', tool_name: 'Read' }] },
      told([{ kind: 'text', text: 'The tool Read is available.' }]),
    ],
  ])('may be %s', (_, fields, expected) => {
    expect(
      turnsOf({ role: 'assistant', content: 'a' }, { role: 'user', content: [result(fields)] })[1],
    ).toEqual({
      role: 'user',
      parts: [expected],
    } as never)
  })

  it('stands before everything else that is said with it, in one message or two', () => {
    const answer = { role: 'assistant', content: 'a' }
    const other = { type: 'tool_result', tool_use_id: 'u' }
    const said = { type: 'text', text: 'said' }
    const kinds = (...messages: readonly object[]) =>
      turnsOf(answer, ...messages)[1]?.parts.map((part) => ('id' in part ? part.id : part.kind))
    const expected = ['t', 'u', 'text']
    expect(kinds({ role: 'user', content: [said, result({}), other] })).toEqual(expected)
    expect(
      kinds({ role: 'user', content: [result({}), said] }, { role: 'user', content: [other] }),
    ).toEqual(expected)
  })
})

describe('what users show', () => {
  it('is an image or a document, wherever it is', () => {
    const image = (source: object) => ({ type: 'image', source })
    const file = (source: object, more = {}) => ({ type: 'document', source, ...more })
    const base64 = { type: 'base64', media_type: 'image/png', data: 'AA==' }
    const pdf = { type: 'base64', media_type: 'application/pdf', data: 'AA==' }
    const blocks = [
      { type: 'text', text: 'b' },
      { type: 'text', text: 'c' },
    ]
    const [turn] = turnsOf({
      role: 'user',
      content: [
        image(base64),
        image({ type: 'file', file_id: 'f' }),
        file(pdf, { title: 'T', citations: { enabled: false } }),
        file(
          { type: 'url', url: 'https://a.test/p' },
          { cache_control: { type: 'ephemeral', ttl: '1h' } },
        ),
        file({ type: 'text', media_type: 'text/plain', data: 'a' }, { title: '' }),
        file({ type: 'content', content: blocks }),
        { type: 'search_result', title: 'S', source: 'https://s.test', content: blocks },
      ],
    })
    expect(turn?.parts).toEqual([
      { kind: 'image', source: { kind: 'data', mediaType: 'image/png', data: 'AA==' } },
      { kind: 'image', source: { kind: 'id', id: 'f' } },
      {
        kind: 'file',
        source: { kind: 'data', mediaType: 'application/pdf', data: 'AA==' },
        name: 'T',
      },
      { kind: 'file', source: { kind: 'url', url: 'https://a.test/p' }, cache: 'long' },
      { kind: 'file', source: { kind: 'text', text: 'a' } },
      { kind: 'file', source: { kind: 'text', text: 'b\nc' } },
      { kind: 'text', text: 'S\nhttps://s.test\nb\nc' },
    ])
  })
})

describe('what the assistant has said', () => {
  it('keeps its order, its seals and each digit of its calls', () => {
    const text = `{"model":"m","max_tokens":0,"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[
      {"type":"thinking","thinking":"why","signature":"EqoB"},
      {"type":"redacted_thinking","data":"${printSeal('maker', 'x')}"},
      {"type":"thinking","thinking":"bare","signature":""},
      {"type":"text","text":"so"},
      {"type":"tool_use","id":"t","name":"n","input":{"id":12345678901234567890,"rate":0.1,"far":1e400}}]}],
      "tools":[{"name":"n","input_schema":{"type":"object","maximum":9223372036854775807}}]}`
    const { request, lost } = decodeText(text)
    expect(request.maxTokens).toBe(0)
    expect(request.turns[1]?.parts).toEqual([
      { kind: 'thinking', text: 'why', seal: { data: 'EqoB', supplier: undefined } },
      { kind: 'thinking', text: '', seal: { data: 'x', supplier: 'maker' }, isHidden: true },
      { kind: 'thinking', text: 'bare' },
      { kind: 'text', text: 'so' },
      {
        kind: 'call',
        id: 't',
        name: 'n',
        input: '{"id":12345678901234567890,"rate":0.1,"far":1e400}',
      },
    ])
    expect(JSON.stringify(request.tools[0]?.schema)).toContain('9223372036854775807')
    expect(lost).toEqual([])
  })
})

describe('how much to think', () => {
  it.each<readonly [object, object | undefined, readonly string[]]>([
    [{}, undefined, []],
    [{ thinking: { type: 'enabled', budget_tokens: 2000 } }, { budget: 2000 }, []],
    [{ thinking: { type: 'enabled' } }, { isAdaptive: true }, []],
    [{ thinking: { type: 'between-tools' } }, { isAdaptive: true }, []],
    [{ thinking: { type: 'adaptive', display: 'summarized' } }, { isAdaptive: true }, []],
    [{ thinking: { type: 'disabled' } }, { effort: 'none' }, []],
    [
      { thinking: { type: 'disabled' }, output_config: { effort: 'high' } },
      { effort: 'none' },
      ['/output_config/effort'],
    ],
    [{ output_config: { effort: 'max' } }, { effort: 'max' }, []],
    [{ output_config: { effort: 'huge' } }, undefined, ['/output_config/effort']],
  ])('%j', (changes, reasoning, lost) => {
    const result = decoded(changes)
    expect(result.request.reasoning).toEqual(reasoning as never)
    expect(result.lost).toEqual(lost)
  })

  it('is what the last message says that says so', () => {
    const system = (output_config: object) => ({ role: 'system', content: 's', output_config })
    const { request, lost } = decoded({
      messages: [
        USER,
        system({ effort: 'high', format: { type: 'json_schema' } }),
        system({ effort: 'low' }),
        system({}),
      ],
      output_config: { effort: 'max' },
    })
    expect(request.reasoning).toEqual({ effort: 'low' })
    expect(lost).toEqual(['/messages/*/output_config/format'])
  })
})

describe('tools', () => {
  const tool = { name: 'n', input_schema: { type: 'object' } }
  const search = { type: 'web_search_20250305', name: 'web_search' }

  it.each<readonly [object | undefined, object]>([
    [undefined, {}],
    [{ type: 'auto' }, { toolChoice: { mode: 'auto' } }],
    [
      { type: 'any', disable_parallel_tool_use: true },
      { toolChoice: { mode: 'any' }, parallelTools: false },
    ],
    [{ type: 'none' }, { toolChoice: { mode: 'none' } }],
    [{ type: 'tool', name: 'n' }, { toolChoice: { mode: 'named', name: 'n' } }],
  ])('are chosen by %j', (tool_choice, expected) => {
    const { toolChoice, parallelTools } = decoded({ tools: [tool], tool_choice }).request
    expect({ toolChoice, parallelTools }).toEqual({
      toolChoice: undefined,
      parallelTools: undefined,
      ...expected,
    } as never)
  })

  it('of the supplier are lost, with their choice where no other is left', () => {
    const choice = { type: 'any' }
    const { request, lost } = decoded({ tools: [search], tool_choice: choice })
    expect(request.tools).toEqual([])
    expect(request.toolChoice).toBeUndefined()
    expect(lost).toEqual(['/tools/*/web_search_20250305'])
    expect(decoded({ tools: [search, tool], tool_choice: choice }).request.toolChoice?.mode).toBe(
      'any',
    )
    const named = { type: 'tool', name: 'web_search' }
    expect(refusal({ tools: [search, tool], tool_choice: named })).toEqual([
      'unsupported_parameter',
      'tool_choice',
    ])
  })

  it('that come and go are lost as changes, and not as tools', () => {
    const late = { ...tool, name: 'late' }
    const { request, lost } = decoded({
      tools: [{ ...tool, strict: true, cache_control: { type: 'ephemeral' } }],
      messages: [
        USER,
        {
          role: 'system',
          content: [
            { type: 'tool_addition', tool: late },
            { type: 'tool_removal', tool: { type: 'tool_reference', name: 'n' } },
          ],
        },
        {
          role: 'user',
          content: [{ type: 'tool_addition', tool: { type: 'tool_reference', name: 'n' } }],
        },
      ],
    })
    expect(request.tools).toEqual([
      { name: 'n', schema: { type: 'object' }, isStrict: true, cache: 'short' },
      { name: 'late', schema: { type: 'object' } },
    ])
    expect(lost).toEqual([
      '/messages/*/content/*/tool_addition',
      '/messages/*/content/*/tool_removal',
    ])
  })
})

describe('the rest of a request', () => {
  it('has the same limits, stops and format', () => {
    const schema = { type: 'object' }
    const format = { type: 'json_schema', schema }
    const { request, lost } = decoded({
      stop_sequences: ['a', ' '],
      temperature: 0.5,
      top_p: 0.9,
      top_k: 7,
      output_config: { format },
      region: 'eu',
      metadata: { user_id: 'u', session_id: 's', sticky_key: 'k' },
      service_tier: 'auto',
      speed: 'standard',
      mcp_servers: [],
    })
    expect(request).toMatchObject({
      stop: ['a', ' '],
      temperature: 0.5,
      topP: 0.9,
      topK: 7,
      format: { kind: 'schema', schema },
      user: 'u',
    })
    expect(lost).toEqual([])
    expect(decoded({ output_format: format }).request.format).toEqual({ kind: 'schema', schema })
  })

  it.each<readonly [object, readonly string[]]>([
    [{ odd: 1, 'a/b~': 2, none: null }, ['/odd', '/a~1b~0']],
    [{ ['x'.repeat(99)]: 1 }, [`/${'x'.repeat(64)}`]],
    [{ cache_control: { type: 'ephemeral' } }, ['/cache_control']],
    [{ service_tier: 'standard_only', container: 'c' }, ['/service_tier', '/container']],
    [
      { context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } },
      ['/context_management'],
    ],
    [{ metadata: { team: 'x' } }, ['/metadata/team']],
    [
      { output_config: { task_budget: 1, format: { type: 'other' } } },
      ['/output_config/task_budget', '/output_config/format'],
    ],
    [
      {
        system: [
          { type: 'text', text: 'a', citations: [1] },
          { type: 'image', source: { type: 'url', url: 'https://a.test' } },
        ],
      },
      ['/system/*/citations', '/system/*/image'],
    ],
    [
      {
        tools: [{ name: 'n', input_schema: {}, input_examples: [1], eager_input_streaming: true }],
      },
      ['/tools/*/input_examples', '/tools/*/eager_input_streaming'],
    ],
  ])('loses what has no place: %j', (changes, expected) => {
    expect(lostOf(changes)).toEqual(expected)
  })

  it('loses blocks that only this language has, each kind once', () => {
    const kinds = ['server_tool_use', 'web_search_tool_result', 'mcp_tool_use', 'mcp_tool_result']
    const text = { type: 'text', text: 'x', citations: [{ type: 'page' }] }
    expect(lostIn('assistant', ...[...kinds, ...kinds].map((type) => ({ type })), text)).toEqual([
      ...kinds.map((kind) => `/messages/*/content/*/${kind}`),
      '/messages/*/content/*/citations',
    ])
    expect(
      lostIn('user', { type: 'container_upload', file_id: 'f' }, { type: 'text', text: 'x' }),
    ).toEqual(['/messages/*/content/*/container_upload'])
  })

  it('never tells more than a few losses', () => {
    const odd = Object.fromEntries(Array.from({ length: 999 }, (_, index) => [`odd${index}`, 1]))
    expect(lostOf(odd)).toHaveLength(64)
  })

  it.each<readonly [object, string, string]>([
    [{ stop_sequences: 'x' }, 'validation_error', 'stop_sequences'],
    [{ stop_sequences: [1] }, 'validation_error', 'stop_sequences[0]'],
    [{ top_k: 'x' }, 'validation_error', 'top_k'],
    [{ tools: [{ input_schema: {} }] }, 'validation_error', 'tools[0].name'],
    [
      { messages: [{ role: 'user', content: [{ type: 'text' }] }] },
      'validation_error',
      'messages[0].content[0].text',
    ],
    [
      { messages: [USER, { role: 'assistant', content: [{ type: 'tool_use', name: 'n' }] }] },
      'validation_error',
      'messages[1].content[0].id',
    ],
    [
      { messages: [{ role: 'user', content: [{ type: 'tool_result' }] }] },
      'validation_error',
      'messages[0].content[0].tool_use_id',
    ],
    [
      { messages: [{ role: 'user', content: [{ type: 'container_upload', file_id: 'f' }] }] },
      'unsupported_parameter',
      'messages[0].content',
    ],
  ])('is refused where it makes no sense: %j', (changes, code, param) => {
    expect(refusal(changes)).toEqual([code, param])
  })

  it('is read in one go, however many results follow each other', () => {
    const block = { type: 'tool_result', tool_use_id: 't' }
    const messages = Array.from({ length: 50_000 }, () => ({ role: 'user', content: [block] }))
    expect(decoded({ messages }).request.turns[0]?.parts).toHaveLength(50_000)
  })
})

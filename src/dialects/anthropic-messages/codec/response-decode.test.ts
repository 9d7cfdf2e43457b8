// Whole answers of suppliers of this language: what is read of each kind of block, and what is told as lost.
import { describe, expect, it } from 'bun:test'
import { decodeResponse } from './response-decode.ts'

function decode(changes: object | string): ReturnType<typeof decodeResponse> {
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1, service_tier: 'standard' },
  }
  const text = typeof changes === 'string' ? changes : JSON.stringify({ ...message, ...changes })
  return decodeResponse(new TextEncoder().encode(text))
}

const use = (input: unknown, changes: object = {}) => ({
  type: 'tool_use',
  id: 'toolu_1',
  name: 'f',
  input,
  ...changes,
})

describe('a block of an answer', () => {
  it('is read for what it is', () => {
    const content = [
      { type: 'thinking', thinking: 'hm', signature: 'gw1.of-another-gateway' },
      { type: 'thinking', thinking: 'bare', signature: '' },
      { type: 'thinking', thinking: '', signature: 'all' },
      { type: 'redacted_thinking', data: 'secret' },
      { type: 'text', text: 'a', citations: null },
      { type: 'text', text: 'b' },
      use({ a: [1] }, { caller: { type: 'direct' } }),
      use({}),
      use(null),
    ]
    const seal = (data: string) => ({ data, supplier: undefined })
    expect(decode({ content, stop_reason: 'tool_use' })).toEqual({
      parts: [
        // A mark of another gateway is what that one wants back, and is not ours to open.
        { kind: 'thinking', text: 'hm', seal: seal('gw1.of-another-gateway') },
        { kind: 'thinking', text: 'bare' },
        { kind: 'thinking', text: '', seal: seal('all') },
        { kind: 'thinking', text: '', seal: seal('secret'), isHidden: true },
        { kind: 'text', text: 'a' },
        { kind: 'text', text: 'b' },
        { kind: 'call', id: 'toolu_1', name: 'f', input: '{"a":[1]}' },
        { kind: 'call', id: 'toolu_1', name: 'f', input: '{}' },
        { kind: 'call', id: 'toolu_1', name: 'f', input: '{}' },
      ],
      finish: { reason: 'tools', raw: 'tool_use' },
      lost: [],
    })
  })

  it('that says nothing is none', () => {
    const content = [
      { type: 'text', text: '' },
      { type: 'thinking', thinking: '', signature: '' },
      { type: 'redacted_thinking', data: '' },
    ]
    expect(decode({ content })).toMatchObject({ parts: [], lost: [] })
  })

  it('keeps the input of a call as it was written', () => {
    const input = '{ "n": 12345678901234567890, "b": 1.0, "1": 1e400, "n": "\\u00e9" }'
    const block = `{"input":${input},"type":"tool_use","name":"f","id":"x"}`
    const { parts } = decode(
      `{"content":[{"type":"text","text":"hi"},7,${block}],"stop_reason":"tool_use"}`,
    )
    expect(parts[1]).toEqual({ kind: 'call', id: 'x', name: 'f', input })
  })

  it('is of the last list where there are two', () => {
    const lists = ['1', '2'].map(
      (n) => `"content":[{"type":"tool_use","id":"x","name":"f","input":{"n":${n}}}]`,
    )
    expect(decode(`{${lists.join(',')}}`).parts).toEqual([
      { kind: 'call', id: 'x', name: 'f', input: '{"n":2}' },
    ])
  })

  it('is found where its names are spelled in another way', () => {
    const block = '{"type":"tool_use","id":"x","name":"f","inp\\u0075t":{"a":1}}'
    expect(decode(`{"content":[${block}]}`).parts).toEqual([
      { kind: 'call', id: 'x', name: 'f', input: '{"a":1}' },
    ])
  })

  it('of a kind that has no counterpart is told as lost, each kind once', () => {
    const content = [
      { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'x' } },
      { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
      { type: 'mcp_tool_use', id: 'm', name: 'n', input: {} },
      { type: 'mcp_tool_result', tool_use_id: 'm', content: [] },
      { type: 'bash_code_execution_tool_result', content: {} },
      { type: 'server_tool_use', id: 't', name: 'web_search', input: {} },
      { type: `a/b~c${'x'.repeat(100)}` },
      { no: 'type' },
      'a string',
      { type: 'tool_use', id: 'nameless', input: {} },
    ]
    expect(decode({ content })).toMatchObject({
      parts: [],
      finish: { reason: 'end' },
      lost: [
        '/content/*/server_tool_use',
        '/content/*/web_search_tool_result',
        '/content/*/mcp_tool_use',
        '/content/*/mcp_tool_result',
        '/content/*/bash_code_execution_tool_result',
        `/content/*/a~1b~0c${'x'.repeat(59)}`,
        '/content/*/unknown',
        '/content/*/tool_use',
      ],
    })
  })

  it('loses the fields that have no counterpart', () => {
    const content = [
      { type: 'text', text: 'a', citations: [{ cited_text: 'x' }] },
      use({}, { caller: { type: 'code_execution_20260120', tool_id: 's' } }),
    ]
    const changes = { content, container: { id: 'c' }, context_management: null, stop_details: {} }
    expect(decode(changes).lost).toEqual([
      '/container',
      '/content/*/citations',
      '/content/*/caller',
    ])
  })

  it('never tells of more than a few dozen losses', () => {
    const content = Array.from({ length: 500 }, (_, place) => ({ type: `kind${place}` }))
    expect(decode({ content }).lost).toHaveLength(64)
  })
})

describe('the reason to stop', () => {
  it.each([
    ['end_turn', 'end'],
    ['stop_sequence', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'window'],
    ['tool_use', 'tools'],
    ['refusal', 'refusal'],
    ['pause_turn', 'pause'],
    ['invented_later', 'end'],
  ] as const)('%s is %s', (raw, reason) => {
    expect(decode({ stop_reason: raw }).finish).toEqual({ reason, raw })
  })

  it('names the text that stopped it', () => {
    const { finish } = decode({ stop_reason: 'stop_sequence', stop_sequence: 'END' })
    expect(finish).toEqual({ reason: 'stop', raw: 'stop_sequence', stopText: 'END' })
  })

  it('is the calls where there are any and it claims to be done', () => {
    expect(decode({ content: [use({})] }).finish).toEqual({ reason: 'tools', raw: 'end_turn' })
    expect(decode({ content: [use({})], stop_reason: 'max_tokens' }).finish.reason).toBe('length')
  })
})

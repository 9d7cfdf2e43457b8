// Whole answers as suppliers of this language send them.
import { describe, expect, it } from 'bun:test'
import type { ChatResponse } from '../../../core/chat.ts'
import { decodeResponse } from './response-decode.ts'

function decode(answer: unknown): ChatResponse {
  return decodeResponse(new TextEncoder().encode(JSON.stringify(answer)))
}

describe('an answer', () => {
  it('is read item by item, in their order', () => {
    const answer = decode({
      id: 'resp_1',
      object: 'response',
      status: 'completed',
      error: null,
      output: [
        {
          type: 'reasoning',
          id: 'rs_1',
          summary: [
            { type: 'summary_text', text: 'One' },
            { type: 'summary_text', text: '' },
            { text: 'Two' },
          ],
          encrypted_content: 'c2ln',
        },
        { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'b3BhcXVl' },
        { type: 'reasoning', id: 'rs_3', summary: [] },
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          status: 'completed',
          content: [
            { type: 'output_text', text: 'A', annotations: [] },
            { type: 'output_text', text: 'B', annotations: [], logprobs: [] },
          ],
        },
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'C' }],
        },
        { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'look', arguments: '{"a":1}' },
        { type: 'function_call', id: 'fc_2', call_id: 'd', name: 'now', arguments: '' },
      ],
      usage: { input_tokens: 1, output_tokens: 1 },
      tools: [{ type: 'function', name: 'look' }],
      text: { format: { type: 'text' }, verbosity: 'low' },
    })
    expect(answer).toEqual({
      parts: [
        { kind: 'thinking', text: 'One\n\nTwo', seal: { data: 'c2ln', supplier: undefined } },
        {
          kind: 'thinking',
          text: '',
          isHidden: true,
          seal: { data: 'b3BhcXVl', supplier: undefined },
        },
        { kind: 'text', text: 'A' },
        { kind: 'text', text: 'B' },
        { kind: 'text', text: 'C' },
        { kind: 'call', id: 'c', name: 'look', input: '{"a":1}' },
        { kind: 'call', id: 'd', name: 'now', input: '' },
      ],
      finish: { reason: 'tools', raw: 'completed' },
      lost: [],
    })
  })

  it('says why it ends', () => {
    const refusal = { type: 'message', content: [{ type: 'refusal', refusal: 'No' }] }
    const call = { type: 'function_call', call_id: 'c', name: 'look', arguments: '{' }
    const cut = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
    expect(decode({ status: 'completed', output: [refusal] })).toEqual({
      parts: [{ kind: 'refusal', text: 'No' }],
      finish: { reason: 'refusal', raw: 'completed' },
      lost: [],
    })
    const reasonOf = (answer: object): string => decode(answer).finish.reason
    expect(reasonOf({ output: [] })).toBe('end')
    expect(reasonOf({ output: [call] })).toBe('tools')
    expect(reasonOf({ output: [call], ...cut })).toBe('length')
    expect(reasonOf({ output: [refusal], ...cut })).toBe('length')
    expect(reasonOf({ output: [], incomplete_details: { reason: 'content_filter' } })).toBe(
      'refusal',
    )
    expect(reasonOf({ output: [], status: 'in_progress' })).toBe('length')
  })

  it('takes a plain text for content, and passes over what is nothing', () => {
    const output = [{ type: 'message', content: 'Hi' }, null, 7, { type: 'message', content: null }]
    expect(decode({ output })).toMatchObject({ parts: [{ kind: 'text', text: 'Hi' }], lost: [] })
  })

  it('keeps two calls of one id and items of one id apart', () => {
    const call = { type: 'function_call', id: 'x', call_id: 'c', name: 'look', arguments: '{}' }
    expect(decode({ output: [call, call] }).parts).toHaveLength(2)
    expect(
      decode({
        output: [
          { ...call, call_id: '' },
          { ...call, call_id: '' },
        ],
      }).parts,
    ).toHaveLength(2)
  })

  it('says what it has lost, each place once', () => {
    const search = { type: 'web_search_call', id: 'ws' }
    const cited = { type: 'output_text', text: 'A', annotations: [{ type: 'url_citation' }] }
    const { parts, lost } = decode({
      output: [
        search,
        { type: 'message', phase: 'final_answer', content: [cited, { type: 'output_audio' }] },
        search,
        { type: 'custom_tool_call', call_id: 'c', name: 'run', input: 'ls' },
        { type: 'function_call', call_id: 'c', name: '', arguments: '{}' },
        { type: 'reasoning', summary: [{ text: 'Hm' }], format: 'special', signature: 'x' },
        {},
      ],
      mood: 'good',
      score: 7,
    })
    expect(parts.map(({ kind }) => kind)).toEqual(['text', 'thinking'])
    expect(lost).toEqual([
      '/output/*/web_search_call',
      '/output/*/content/*/annotations',
      '/output/*/content/*/output_audio',
      '/output/*/phase',
      '/output/*/custom_tool_call',
      '/output/*/function_call',
      '/output/*/format',
      '/output/*/signature',
      '/output/*/unknown',
      '/mood',
    ])
  })

  it('of nonsense is nothing', () => {
    const nothing = { parts: [], finish: { reason: 'end', raw: undefined }, lost: [] } as const
    expect(decodeResponse(new TextEncoder().encode('no JSON'))).toEqual(nothing)
    expect(decode({ output: { type: 'message' } })).toEqual(nothing)
    expect(decode([1])).toEqual(nothing)
  })

  it('does not print without end what is nested without end', () => {
    const depth = 100_000
    const input = `${'['.repeat(depth)}${']'.repeat(depth)}`
    const item = `{"type":"function_call","call_id":"c","name":"f","arguments":${input}}`
    const answer = decodeResponse(new TextEncoder().encode(`{"output":[${item}]}`))
    expect(answer.lost.length === 1 || answer.parts.length === 0).toBe(true)
  })
})

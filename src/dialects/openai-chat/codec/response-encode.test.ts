// Whole answers as chat clients get them.
import { describe, expect, it } from 'bun:test'
import type { Answered, AnswerHead, AssistantPart, Finish } from '../../../core/chat.ts'
import type { Usage } from '../../../core/usage.ts'
import { readSeal } from '../../seal.ts'
import { readUsage } from '../usage.ts'
import { encodeResponse } from './response-encode.ts'

const USAGE: Usage = {
  inputTokens: 100,
  cachedTokens: 60,
  cacheWriteTokens: 10,
  cacheWriteLongTokens: 0,
  audioInputTokens: 0,
  outputTokens: 40,
  reasoningTokens: 15,
  audioOutputTokens: 0,
}
const HEAD: AnswerHead = {
  id: 'abc',
  model: 'demo/echo',
  created: 1_800_000_000,
  supplier: 'maker',
  inputTokens: 90,
  asksUsage: false,
}

function encode(parts: readonly AssistantPart[], finish: Partial<Finish> = {}) {
  const answered: Answered = {
    parts,
    finish: { reason: 'end', raw: 'end_turn', ...finish },
    lost: [],
    usage: USAGE,
  }
  return JSON.parse(new TextDecoder().decode(encodeResponse(answered, HEAD))) as {
    choices: [{ message: Record<string, unknown>; [name: string]: unknown }]
    usage: unknown
  }
}

const call: AssistantPart = { kind: 'call', id: 'toolu_1', name: 'look', input: '{"at":"sky"}' }

describe('a whole answer', () => {
  it('has the full shape', () => {
    expect(encode([{ kind: 'text', text: 'Hello' }])).toEqual({
      id: 'chatcmpl-abc',
      object: 'chat.completion',
      created: 1_800_000_000,
      model: 'demo/echo',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hello', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: {
        prompt_tokens: 100,
        completion_tokens: 40,
        total_tokens: 140,
        prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 10 },
        completion_tokens_details: { reasoning_tokens: 15 },
      },
    } as never)
  })

  it('tells a usage that reads as the one it was', () => {
    expect(readUsage(encode([]).usage)).toEqual({ usage: USAGE, isUnread: false })
  })

  it('has no content where there are only calls, and input that can be parsed', () => {
    const idle: AssistantPart = { kind: 'call', id: 'toolu_2', name: 'wait', input: '' }
    const [choice] = encode([call, idle], { reason: 'tools' }).choices
    expect(choice.message).toEqual({
      role: 'assistant',
      content: null,
      refusal: null,
      tool_calls: [
        { id: 'toolu_1', type: 'function', function: { name: 'look', arguments: '{"at":"sky"}' } },
        { id: 'toolu_2', type: 'function', function: { name: 'wait', arguments: '{}' } },
      ],
    })
    expect(choice['finish_reason']).toBe('tool_calls')
  })

  it('has a text where there is nothing at all', () => {
    expect(encode([]).choices[0].message['content']).toBe('')
  })

  it('joins what came in several parts', () => {
    const [{ message }] = encode([
      { kind: 'text', text: 'The sky is ' },
      { kind: 'text', text: 'blue.' },
      call,
    ]).choices
    expect(message['content']).toBe('The sky is blue.')
  })

  it('marks seals with who made them', () => {
    const seal = { data: 'EqQB', supplier: undefined }
    const [{ message }] = encode([
      { kind: 'thinking', text: 'First. ', seal },
      { kind: 'thinking', text: '', isHidden: true, seal: { data: 'dark', supplier: undefined } },
      { kind: 'thinking', text: 'Then.' },
      { kind: 'text', text: 'So.' },
    ]).choices
    expect(message['reasoning_content']).toBe('First. Then.')
    const [told, hidden, ...others] = message['reasoning_details'] as Record<string, string>[]
    expect(others).toEqual([])
    expect(told).toMatchObject({ type: 'reasoning.text', text: 'First. ' })
    expect(readSeal(told!['signature']!)).toEqual({ data: 'EqQB', supplier: 'maker' })
    expect(hidden).toMatchObject({ type: 'reasoning.encrypted' })
    expect(readSeal(hidden!['data']!)).toEqual({ data: 'dark', supplier: 'maker' })
  })

  it('says a refusal in its own place', () => {
    const [choice] = encode([{ kind: 'refusal', text: 'No.' }], { reason: 'refusal' }).choices
    expect(choice.message).toEqual({ role: 'assistant', content: null, refusal: 'No.' })
    expect(choice['finish_reason']).toBe('stop')
  })

  it.each([
    ['end', 'stop'],
    ['stop', 'stop'],
    ['pause', 'stop'],
    ['length', 'length'],
    ['window', 'length'],
    ['refusal', 'content_filter'],
    ['tools', 'stop'],
  ] as const)('ends %s as %s where there are no calls', (reason, word) => {
    const [choice] = encode([{ kind: 'text', text: 'a' }], { reason }).choices
    expect(choice['finish_reason']).toBe(word)
  })

  it.each([
    ['end', 'tool_calls'],
    ['tools', 'tool_calls'],
    ['length', 'length'],
  ] as const)('ends %s as %s where there are calls', (reason, word) => {
    expect(encode([call], { reason }).choices[0]['finish_reason']).toBe(word)
  })

  it('names the text that stopped it', () => {
    const [choice] = encode([], { reason: 'stop', stopText: 'END' }).choices
    expect(choice).toMatchObject({ finish_reason: 'stop', stop_reason: 'END' })
  })
})

// Whole answers as callers of this language see them.
import { describe, expect, it } from 'bun:test'
import type { Answered, AnswerHead, AssistantPart } from '../../../core/chat.ts'
import { printSeal } from '../../seal.ts'
import { encodeResponse } from './response-encode.ts'

const HEAD: AnswerHead = {
  id: 'abc',
  model: 'maker/model',
  created: 1,
  supplier: 'shop',
  inputTokens: 12,
  asksUsage: false,
}

function print(parts: readonly AssistantPart[], changes: Partial<Answered> = {}): string {
  const answered: Answered = {
    parts,
    finish: { reason: 'end', raw: 'stop' },
    lost: [],
    usage: {
      inputTokens: 10,
      cachedTokens: 3,
      cacheWriteTokens: 2,
      cacheWriteLongTokens: 0,
      audioInputTokens: 0,
      outputTokens: 7,
      reasoningTokens: 0,
      audioOutputTokens: 0,
    },
    ...changes,
  }
  return new TextDecoder().decode(encodeResponse(answered, HEAD))
}

function contentOf(...parts: readonly AssistantPart[]): unknown {
  return (JSON.parse(print(parts)) as { content: unknown }).content
}

describe('an answer', () => {
  it('has all that clients ask for', () => {
    expect(JSON.parse(print([{ kind: 'text', text: 'Hi' }]))).toEqual({
      id: 'msg_abc',
      type: 'message',
      role: 'assistant',
      model: 'maker/model',
      content: [{ type: 'text', text: 'Hi' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: {
        input_tokens: 5,
        cache_creation_input_tokens: 2,
        cache_read_input_tokens: 3,
        output_tokens: 7,
      },
    })
  })

  it('names the text that stopped it', () => {
    const finish = { reason: 'stop', raw: 'stop', stopText: 'END' } as const
    expect(JSON.parse(print([], { finish }))).toMatchObject({
      content: [],
      stop_reason: 'stop_sequence',
      stop_sequence: 'END',
    })
  })

  it('has a signature on every thought, marked with who can read it', () => {
    const seal = { data: 'sig', supplier: undefined }
    expect(
      contentOf(
        { kind: 'thinking', text: 'a', seal },
        { kind: 'thinking', text: 'b' },
        { kind: 'thinking', text: '', seal, isHidden: true },
        { kind: 'thinking', text: '', seal },
      ),
    ).toEqual([
      { type: 'thinking', thinking: 'a', signature: printSeal('shop', 'sig') },
      { type: 'thinking', thinking: 'b', signature: printSeal('shop', '') },
      { type: 'redacted_thinking', data: printSeal('shop', 'sig') },
      { type: 'redacted_thinking', data: printSeal('shop', 'sig') },
    ])
  })

  it('says a refusal as text, and leaves out what says nothing', () => {
    expect(
      contentOf(
        { kind: 'text', text: '' },
        { kind: 'thinking', text: '' },
        { kind: 'refusal', text: 'No.' },
        { kind: 'refusal', text: '' },
      ),
    ).toEqual([{ type: 'text', text: 'No.' }])
  })

  it('keeps the numbers of a call as they were written', () => {
    const input = '{"id":12345678901234567890,"__proto__":1.50}'
    const text = print([{ kind: 'call', id: 'c"1', name: 'f', input }])
    expect(text).toContain(`{"type":"tool_use","id":"c\\"1","name":"f","input":${input}}`)
  })

  it.each(['', 'null', '{"a":', 'hello'])('is sound where the input of a call is %j', (input) => {
    expect(contentOf({ kind: 'call', id: 'c', name: 'f', input })).toEqual([
      { type: 'tool_use', id: 'c', name: 'f', input: {} },
    ])
  })
})

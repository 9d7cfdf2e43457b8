// Whole answers as clients of this language get them.
import { describe, expect, it } from 'bun:test'
import type { Answered, AnswerHead, AssistantPart, Finish } from '../../../core/chat.ts'
import { readAnswer } from '../answer.ts'
import { readSealing } from './reasoning-seal.ts'
import { encodeResponse } from './response-encode.ts'

const HEAD: AnswerHead = {
  id: 'abc',
  model: 'maker/model',
  created: 1_800_000_000,
  supplier: 'shop',
  inputTokens: 9,
  asksUsage: false,
}
const USAGE = {
  inputTokens: 110,
  cachedTokens: 60,
  cacheWriteTokens: 40,
  cacheWriteLongTokens: 0,
  audioInputTokens: 0,
  outputTokens: 7,
  reasoningTokens: 3,
  audioOutputTokens: 0,
}

interface Response {
  readonly status: string
  readonly incomplete_details: unknown
  readonly output: readonly Record<string, unknown>[]
  readonly [name: string]: unknown
}

function encode(parts: readonly AssistantPart[], reason: Finish['reason'] = 'end'): Response {
  const answered: Answered = { parts, finish: { reason, raw: undefined }, lost: [], usage: USAGE }
  return JSON.parse(new TextDecoder().decode(encodeResponse(answered, HEAD))) as Response
}

function call(id: string, input: string): AssistantPart {
  return { kind: 'call', id, name: 'look', input }
}

describe('an answer', () => {
  it('has the whole shape that typed clients expect', () => {
    const { output, ...rest } = encode([{ kind: 'text', text: 'Hi' }])
    expect(output).toEqual([
      {
        id: 'msg_abc_0',
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'Hi', annotations: [], logprobs: [] }],
      },
    ])
    expect(rest as unknown).toEqual({
      id: 'resp_abc',
      object: 'response',
      created_at: 1_800_000_000,
      status: 'completed',
      error: null,
      incomplete_details: null,
      model: 'maker/model',
      usage: {
        input_tokens: 110,
        input_tokens_details: { cached_tokens: 60, cache_write_tokens: 40 },
        output_tokens: 7,
        output_tokens_details: { reasoning_tokens: 3 },
        total_tokens: 117,
      },
      instructions: null,
      metadata: {},
      parallel_tool_calls: true,
      tool_choice: 'auto',
      tools: [],
      temperature: null,
      top_p: null,
      text: { format: { type: 'text' } },
      store: false,
      previous_response_id: null,
      reasoning: { effort: null, summary: null },
      truncation: 'disabled',
    })
  })

  it('is whole, with the same usage, to who proves answers of suppliers', () => {
    const answered = { parts: [], finish: { reason: 'end', raw: undefined }, lost: [] } as const
    expect(readAnswer(encodeResponse({ ...answered, usage: USAGE }, HEAD)).usage).toEqual(USAGE)
  })

  it('puts what is said next to each other into one message, and all else into items of its own', () => {
    const { output } = encode([
      { kind: 'thinking', text: '', seal: { data: 'x', supplier: undefined }, isHidden: true },
      { kind: 'text', text: 'A' },
      { kind: 'text', text: '' },
      { kind: 'text', text: 'B' },
      { kind: 'refusal', text: 'C' },
      { kind: 'thinking', text: 'D' },
      { kind: 'thinking', text: '' },
      call('c', ''),
      { kind: 'text', text: 'E' },
    ])
    expect(output.map(({ id }) => id)).toEqual([
      'rs_abc_0',
      'msg_abc_1',
      'rs_abc_2',
      'fc_abc_3',
      'msg_abc_4',
    ])
    expect(output[1]?.['content']).toEqual([
      { type: 'output_text', text: 'A', annotations: [], logprobs: [] },
      { type: 'output_text', text: 'B', annotations: [], logprobs: [] },
      { type: 'refusal', refusal: 'C' },
    ])
    const seals = output.flatMap(({ encrypted_content: seal }) =>
      typeof seal === 'string' ? [readSealing(seal)] : [],
    )
    expect(seals).toEqual([
      { seal: { data: 'x', supplier: 'shop' }, isHidden: true },
      { seal: { data: '', supplier: 'shop' }, isHidden: false },
    ])
    expect(output[3]).toMatchObject({ call_id: 'c', name: 'look', arguments: '{}' })
  })

  it('hands on the input of a call as it was written', () => {
    for (const input of ['{ "a": 12345678901234567890 }', '{"cut":', '[1]'])
      expect(encode([call('c', input)], 'tools').output[0]?.['arguments']).toBe(input)
  })

  it('is incomplete where it was cut, and so is what came last or has no end', () => {
    const said = { kind: 'text', text: 'A' } as const
    const parts = [call('a', '{"x":'), call('b', '{}'), call('c', ''), said]
    const statuses = (reason: Finish['reason']): unknown => {
      const { status, incomplete_details: details, output } = encode(parts, reason)
      return [status, details, output.map((item) => item['status'])]
    }
    const open = ['incomplete', 'completed', 'completed', 'incomplete']
    expect(statuses('length')).toEqual(['incomplete', { reason: 'max_output_tokens' }, open])
    expect(statuses('window')).toEqual(['incomplete', { reason: 'max_output_tokens' }, open])
    expect(statuses('refusal')).toEqual(['incomplete', { reason: 'content_filter' }, open])
    const whole = ['completed', 'completed', 'completed', 'completed']
    expect(statuses('tools')).toEqual(['completed', null, whole])
    expect(encode([{ kind: 'refusal', text: 'No' }], 'refusal').status).toBe('completed')
  })
})

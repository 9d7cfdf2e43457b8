// Whole answers in the shapes of several suppliers, written by hand, and as oddly as they may come.
import { describe, expect, it } from 'bun:test'
import type { ChatResponse } from '../../../core/chat.ts'
import { decodeResponse } from './response-decode.ts'

const encoder = new TextEncoder()

function decode(answer: unknown): ChatResponse {
  return decodeResponse(encoder.encode(JSON.stringify(answer)))
}

function decodeMessage(message: unknown, choice: object = { finish_reason: 'stop' }): ChatResponse {
  return decode({ id: 'chatcmpl-1', choices: [{ index: 0, message, ...choice }] })
}

const text = (text: string) => ({ kind: 'text', text }) as const
const thinking = (text: string) => ({ kind: 'thinking', text }) as const
const call = (id: string, name: string, input: string) =>
  ({ kind: 'call', id, name, input }) as const
const sealOf = (data: object) => ({ data: JSON.stringify(data), supplier: undefined })

describe('an answer in the shape of a supplier', () => {
  it('OpenAI: text, and nothing lost of what is blank or about the call', () => {
    const answer = decode({
      id: 'chatcmpl-B9MBs8',
      object: 'chat.completion',
      created: 1_741_569_952,
      model: 'gpt-5.4',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hello!', refusal: null, annotations: [] },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: 19, completion_tokens: 10, total_tokens: 29 },
      service_tier: 'default',
      system_fingerprint: 'fp_44709d6fcb',
    })
    expect(answer).toEqual({
      parts: [text('Hello!')],
      finish: { reason: 'end', raw: 'stop' },
      lost: [],
    })
  })

  it('DeepSeek: thoughts before the text', () => {
    const answer = decodeMessage({
      role: 'assistant',
      content: '9.8 is larger.',
      reasoning_content: 'Compare 9.11 with 9.8.',
    })
    expect(answer.parts).toEqual([thinking('Compare 9.11 with 9.8.'), text('9.8 is larger.')])
    expect(answer.lost).toEqual([])
  })

  it('Mistral: a list of parts', () => {
    const answer = decodeMessage({
      role: 'assistant',
      tool_calls: null,
      prefix: false,
      content: [
        {
          type: 'thinking',
          thinking: [
            { type: 'text', text: 'First, ' },
            { type: 'text', text: 'add.' },
          ],
        },
        { type: 'text', text: 'It is ' },
        { type: 'text', text: '4.' },
        { type: 'reference', reference_ids: [1] },
      ],
    })
    expect(answer.parts).toEqual([thinking('First, add.'), text('It is 4.')])
    expect(answer.lost).toEqual(['/choices/*/message/content/*/reference'])
  })

  it('Gemini: what it wants back with a call stands before that call', () => {
    const extra = { google: { thought_signature: 'CtcB' } }
    const answer = decodeMessage(
      {
        role: 'assistant',
        tool_calls: [
          {
            extra_content: extra,
            id: 'function-call-1',
            type: 'function',
            function: { name: 'look', arguments: '{"at":"sky"}' },
          },
          { id: 'function-call-2', type: 'function', function: { name: 'look', arguments: '{}' } },
        ],
      },
      { finish_reason: 'stop' },
    )
    expect(answer).toEqual({
      parts: [
        { kind: 'thinking', text: '', seal: sealOf({ calls: { 'function-call-1': extra } }) },
        call('function-call-1', 'look', '{"at":"sky"}'),
        call('function-call-2', 'look', '{}'),
      ],
      finish: { reason: 'tools', raw: 'stop' },
      lost: [],
    })
  })

  it('OpenRouter: details become the seal, and their text is not told twice', () => {
    const details = [
      {
        type: 'reasoning.text',
        text: 'Hm.',
        signature: 'sig',
        format: 'anthropic-claude-v1',
        index: 0,
      },
      { type: 'reasoning.encrypted', data: 'opaque', index: 1 },
    ]
    const answer = decode({
      id: 'gen-1',
      provider: 'Anthropic',
      choices: [
        {
          index: 0,
          native_finish_reason: 'end_turn',
          finish_reason: 'stop',
          logprobs: null,
          message: {
            role: 'assistant',
            content: 'Yes.',
            reasoning: 'Hm.',
            reasoning_details: details,
          },
        },
      ],
    })
    expect(answer.parts).toEqual([
      { kind: 'thinking', text: 'Hm.', seal: sealOf({ details }) },
      text('Yes.'),
    ])
    expect(answer.lost).toEqual([])
  })

  it('vLLM: the text that stopped it, and no number of a token', () => {
    const message = { role: 'assistant', content: 'One', reasoning_content: null, tool_calls: [] }
    expect(decodeMessage(message, { finish_reason: 'stop', stop_reason: '\n\n' }).finish).toEqual({
      reason: 'stop',
      raw: 'stop',
      stopText: '\n\n',
    })
    expect(decodeMessage(message, { finish_reason: 'stop', stop_reason: 128_009 }).finish).toEqual({
      reason: 'end',
      raw: 'stop',
    })
  })

  it('Groq: a reasoning member, and figures of its own', () => {
    const answer = decode({
      id: 'chatcmpl-g',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hi', reasoning: 'Greet.' },
          finish_reason: 'stop',
        },
      ],
      x_groq: { id: 'req_1' },
      usage_breakdown: null,
    })
    expect(answer).toMatchObject({ parts: [thinking('Greet.'), text('Hi')], lost: [] })
  })
})

describe('an odd answer', () => {
  it('counts thoughts under two names once', () => {
    const message = { reasoning: 'Hm.', reasoning_content: 'Hm.', content: 'Yes.' }
    expect(decodeMessage(message).parts).toEqual([thinking('Hm.'), text('Yes.')])
  })

  it('reads thoughts out of the details where they stand nowhere else', () => {
    const details = [
      { type: 'reasoning.summary', summary: 'In short' },
      { type: 'reasoning.encrypted', data: 'x' },
    ]
    expect(decodeMessage({ content: 'a', reasoning_details: details }).parts).toEqual([
      { kind: 'thinking', text: 'In short', seal: sealOf({ details }) },
      text('a'),
    ])
  })

  it('takes input that is an object, and calls without a type, an id or an index', () => {
    const tool_calls = [
      { function: { name: 'a', arguments: { x: [1] } } },
      { id: '', function: { name: 'b' } },
      { id: 'own', function: { name: 'c', arguments: '{}' } },
    ]
    const { parts, finish } = decodeMessage({ content: null, tool_calls }, {})
    const [first, second, third] = parts
    expect(parts).toHaveLength(3)
    expect(first).toMatchObject({ kind: 'call', name: 'a', input: '{"x":[1]}' })
    expect(second).toMatchObject({ kind: 'call', name: 'b', input: '' })
    expect(third).toEqual(call('own', 'c', '{}'))
    expect(finish).toEqual({ reason: 'tools', raw: undefined })
  })

  it('makes up ids that differ within an answer and from those of the next', () => {
    const message = { tool_calls: [{ function: { name: 'a' } }, { function: { name: 'b' } }] }
    const idsOf = (id: string | undefined) =>
      decode({ id, choices: [{ message }] }).parts.map((part) => part.kind === 'call' && part.id)
    expect(idsOf(undefined)).toEqual(['call_0', 'call_1'])
    const ids = [...idsOf('one'), ...idsOf('two')]
    expect(new Set(ids).size).toBe(4)
    for (const id of ids) expect(id).toMatch(/^call_\d+$/)
    expect(idsOf('one')).toEqual(idsOf('one'))
  })

  it('reads the call of old, unless it repeats what stands among the calls', () => {
    const function_call = { name: 'a', arguments: '{"x":1}' }
    const old = decodeMessage({ content: null, function_call }, { finish_reason: 'function_call' })
    expect(old.parts).toMatchObject([{ kind: 'call', name: 'a', input: '{"x":1}' }])
    expect(old.finish.reason).toBe('tools')
    const tool_calls = [{ id: 'c', function: function_call }]
    expect(decodeMessage({ function_call, tool_calls }).parts).toHaveLength(1)
  })

  it('leaves marks of thinking inside of a text alone', () => {
    expect(decodeMessage({ content: '<think>a</think>b' }).parts).toEqual([
      text('<think>a</think>b'),
    ])
  })

  it('reads the first choice wherever it stands, and tells of the others', () => {
    const choices = [
      { index: 1, message: { content: 'second' }, finish_reason: 'length' },
      { index: 0, message: { content: 'first' }, finish_reason: 'stop' },
    ]
    expect(decode({ choices })).toEqual({
      parts: [text('first')],
      finish: { reason: 'end', raw: 'stop' },
      lost: ['/choices/*'],
    })
  })

  it('tells what has no place in our words', () => {
    const answer = decode({
      citations: ['https://example.com'],
      choices: [
        {
          message: {
            content: 'a',
            annotations: [{ type: 'url_citation' }],
            audio: { id: 'x', data: 'AAAA' },
            images: [{}],
            'odd/na~me': 'x',
            tool_calls: [{ id: 'c', type: 'custom', custom: { name: 'n', input: 'i' } }],
          },
          logprobs: { content: [] },
          finish_reason: 'tool_calls',
        },
      ],
    })
    expect(answer.lost).toEqual([
      '/citations',
      '/choices/*/logprobs',
      '/choices/*/message/annotations',
      '/choices/*/message/audio',
      '/choices/*/message/images',
      '/choices/*/message/odd~1na~0me',
      '/choices/*/message/tool_calls/*/custom',
    ])
    // Nobody waits for results of calls that are not there.
    expect(answer.finish).toEqual({ reason: 'end', raw: 'tool_calls' })
  })

  it('tells of no more than anybody would read', () => {
    const message = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`x${at}`, 'y']))
    expect(decodeMessage(message).lost).toHaveLength(64)
    const [long] = decodeMessage({ ['n'.repeat(1000)]: 'y' }).lost
    expect(long).toBe(`/choices/*/message/${'n'.repeat(64)}`)
  })

  it('tells of a call without a name, and waits for nothing', () => {
    const answer = decodeMessage({ tool_calls: [{ id: 'c', function: { arguments: '{}' } }] })
    expect(answer).toMatchObject({
      parts: [],
      finish: { reason: 'end' },
      lost: ['/choices/*/message/tool_calls/*'],
    })
  })

  it.each(['{"a":', '{"a":}', '[1]', 'x', '{}{}'])(
    'tells of input that is no object: %s',
    (input) => {
      const message = { tool_calls: [{ id: 'c', function: { name: 'n', arguments: input } }] }
      for (const finish_reason of ['tool_calls', 'length']) {
        const answer = decodeMessage(message, { finish_reason })
        expect(answer.parts).toEqual([call('c', 'n', input)])
        expect(answer.lost).toEqual(['/choices/*/message/tool_calls/*/function/arguments'])
      }
    },
  )

  it.each(['', ' ', 'null', '{}', ' {"a":1}\n'])('loses nothing of %j', (input) => {
    const message = { tool_calls: [{ id: 'c', function: { name: 'n', arguments: input } }] }
    expect(decodeMessage(message).lost).toEqual([])
  })

  it('keeps refusals, and why', () => {
    const refused = decodeMessage({ content: null, refusal: 'No.' })
    expect(refused.parts).toEqual([{ kind: 'refusal', text: 'No.' }])
    expect(refused.finish).toEqual({ reason: 'refusal', raw: 'stop' })
    const cut = decodeMessage({ refusal: 'N' }, { finish_reason: 'length' })
    expect(cut.finish.reason).toBe('length')
  })

  it('keeps each digit of what is not sent as text', () => {
    const data = '{"id":12345678901234567890,"rate":0.10}'
    const calls = `[{"id":"c","extra_content":${data},"function":{"name":"n","arguments":${data}}}]`
    const message = `{"reasoning_details":[${data}],"tool_calls":${calls}}`
    const body = `{"nonce":12345678901234567890,"choices":[{"message":${message}}]}`
    const { parts, lost } = decodeResponse(encoder.encode(body))
    const exact = '{"id":12345678901234567890,"rate":0.10}'
    const seal = `{"details":[${exact}],"calls":{"c":${exact}}}`
    expect(parts).toEqual([
      { kind: 'thinking', text: '', seal: { data: seal, supplier: undefined } },
      call('c', 'n', exact),
    ])
    expect(lost).toEqual([])
  })

  it('leaves what is nested without end', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    const body = `{"choices":[{"message":{"content":"a","reasoning_details":[{"x":${deep}}],"tool_calls":[{"function":{"name":"n","arguments":${deep}}}]}}]}`
    const answer = decodeResponse(encoder.encode(body))
    expect(answer.parts[0]).toEqual(text('a'))
    expect(answer.lost).toEqual([
      '/choices/*/message/reasoning_details',
      '/choices/*/message/tool_calls/*/function/arguments',
    ])
  })
})

describe('why an answer ends', () => {
  it.each([
    ['stop', 'end'],
    ['STOP', 'end'],
    ['length', 'length'],
    ['model_length', 'window'],
    ['content_filter', 'refusal'],
    ['insufficient_system_resource', 'length'],
    ['error', 'length'],
    ['tool_calls', 'end'],
    ['something new', 'end'],
  ] as const)('%s reads as %s where there are no calls', (word, reason) => {
    const { finish } = decodeMessage({ content: 'a' }, { finish_reason: word })
    expect(finish).toEqual({ reason, raw: word })
  })

  it.each([
    ['stop', 'tools'],
    ['tool_calls', 'tools'],
    ['function_call', 'tools'],
    ['length', 'length'],
    ['content_filter', 'refusal'],
  ] as const)('%s reads as %s where there are calls', (word, reason) => {
    const tool_calls = [{ id: 'c', function: { name: 'n', arguments: '{}' } }]
    const { finish } = decodeMessage({ tool_calls }, { finish_reason: word })
    expect(finish).toEqual({ reason, raw: word })
  })
})

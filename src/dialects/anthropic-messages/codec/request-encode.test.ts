// Requests put into the words of this language: what is said, what is said in another way, and what is told as lost.
import { describe, expect, it } from 'bun:test'
import type { AssistantPart, ChatRequest, Trait, Turn, UserPart } from '../../../core/chat.ts'
import { TRAITS } from '../../../core/chat.ts'
import { GatewayError } from '../../../core/problem.ts'
import type { Target } from '../../codec.ts'
import { peek } from '../peek.ts'
import { encodeRequest } from './request-encode.ts'
import { traits } from './traits.ts'

const decoder = new TextDecoder()
const HI: UserPart = { kind: 'text', text: 'Hi' }
const BASE: ChatRequest = {
  system: [],
  turns: [{ role: 'user', parts: [HI] }],
  tools: [],
  stream: false,
  stop: [],
}
const TARGET: Target = {
  model: 'their-model',
  supplier: 'maker',
  maxTokens: undefined,
  maxTokensDefault: 4096,
  reasoning: 'effort',
  samples: undefined,
  quirks: { usage: 'always' },
}
const TOOL = { name: 'n', schema: { type: 'object' } }

function encoded(changes: Partial<ChatRequest> = {}, target: Partial<Target> = {}) {
  const { body, headers, lost } = encodeRequest({ ...BASE, ...changes }, { ...TARGET, ...target })
  // What is sent is what this very gateway would take.
  peek(body)
  return { body: JSON.parse(decoder.decode(body)), text: decoder.decode(body), headers, lost }
}

function contentOf(...parts: readonly UserPart[]): readonly [unknown, readonly Trait[]] {
  const { body, lost } = encoded({ turns: [{ role: 'user', parts: [HI, ...parts] }] })
  return [body.messages[0].content.slice(1), lost]
}

function saidOf(
  parts: readonly AssistantPart[],
  target: Partial<Target> = {},
): readonly [unknown, readonly Trait[]] {
  const { body, lost } = encoded({ turns: [...BASE.turns, { role: 'assistant', parts }] }, target)
  return [body.messages[1]?.content, lost]
}

describe('a request in this language', () => {
  it('has a limit: the one that is to be sent, the caller’s, or the default', () => {
    expect(encoded().body).toEqual({
      model: 'their-model',
      max_tokens: 4096,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
    })
    expect(encoded({ maxTokens: 0 }).body.max_tokens).toBe(0)
    expect(encoded({ maxTokens: 7 }, { maxTokens: 5 }).body.max_tokens).toBe(5)
  })

  it('lets the system speak at the front', () => {
    const { body, headers } = encoded({ system: [{ kind: 'text', text: 's', cache: 'short' }] })
    expect(body.system).toEqual([{ type: 'text', text: 's', cache_control: { type: 'ephemeral' } }])
    expect(headers).toEqual({ 'anthropic-version': '2023-06-01' })
  })

  it('hands what the system says in between to the next turn of the user, behind its results', () => {
    const call = { kind: 'call', id: 'c', name: 'n', input: '{}' } as const
    const result = { kind: 'result', id: 'c', parts: [], isError: false } as const
    const { body, headers, lost } = encoded({
      turns: [
        ...BASE.turns,
        { role: 'assistant', parts: [call] },
        {
          role: 'system',
          parts: [
            { kind: 'text', text: 'a', cache: 'short' },
            { kind: 'text', text: 'b' },
          ],
        },
        { role: 'system', parts: [{ kind: 'text', text: 'c' }] },
        { role: 'user', parts: [result, HI] },
      ],
    })
    expect(body.messages[2]).toEqual({
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'c' },
        { type: 'text', text: '<system>\na\n</system>', cache_control: { type: 'ephemeral' } },
        { type: 'text', text: '<system>\nb\n</system>' },
        { type: 'text', text: '<system>\nc\n</system>' },
        { type: 'text', text: 'Hi' },
      ],
    })
    expect(body.messages).toHaveLength(3)
    expect(headers).toEqual({ 'anthropic-version': '2023-06-01' })
    expect(lost).toEqual([])
  })

  it('makes a turn of the user of what the system says before an assistant, or last', () => {
    const aside = (text: string): Turn => ({ role: 'system', parts: [{ kind: 'text', text }] })
    const { body, lost } = encoded({
      turns: [
        ...BASE.turns,
        aside('a'),
        { role: 'assistant', parts: [{ kind: 'text', text: 'x' }] },
        aside(' '),
        aside('b'),
      ],
    })
    const said = (text: string) => [{ type: 'text', text: `<system>\n${text}\n</system>` }]
    expect(body.messages.slice(1)).toEqual([
      { role: 'user', content: said('a') },
      { role: 'assistant', content: [{ type: 'text', text: 'x' }] },
      { role: 'user', content: said('b') },
    ])
    expect(lost).toEqual(['text'])
  })

  it('refuses a turn with nothing to say in it, also where the system has spoken before', () => {
    const audio: UserPart = { kind: 'audio', data: 'AA', format: 'wav' }
    const turns: readonly Turn[] = [
      { role: 'system', parts: [{ kind: 'text', text: 'a' }] },
      { role: 'user', parts: [audio] },
    ]
    expect(() => encoded({ turns })).toThrow('holds nothing')
  })

  it.each<readonly [Partial<ChatRequest>, readonly Trait[]]>([
    [{ temperature: 0, topK: 3 }, ['top_k', 'temperature']],
    [{ temperature: 1.5 }, ['temperature']],
    [{ topP: 0.5 }, ['top_p']],
    [{ temperature: 1, topP: 1 }, []],
  ])('tells a model that refuses it nothing of how to choose its words: %j', (changes, lost) => {
    const { body, lost: told } = encoded(changes, { samples: false })
    expect(Object.keys(body)).toEqual(['model', 'max_tokens', 'messages'])
    expect(told.toSorted()).toEqual(lost.toSorted())
  })

  it('obeys the quirks of its supplier', () => {
    const quirks = {
      usage: 'always',
      drop: ['temperature'],
      default: { speed: 'standard' },
    } as const
    const { body } = encoded({ temperature: 0.5 }, { quirks })
    expect(body).toMatchObject({ speed: 'standard' })
    expect(body.temperature).toBeUndefined()
  })

  it('says everything else by the names of this language', () => {
    const schema = { type: 'object', properties: {}, additionalProperties: false }
    const { body, lost } = encoded({
      stream: true,
      stop: ['x', '\n'],
      topK: 3,
      format: { kind: 'schema', schema, name: 'answer', isStrict: true },
      user: 'u',
      presencePenalty: 0,
    })
    expect(body).toMatchObject({
      stream: true,
      stop_sequences: ['x'],
      top_k: 3,
      output_config: { format: { type: 'json_schema', schema } },
      metadata: { user_id: 'u' },
    })
    expect(lost).toEqual(['stop'])
  })

  it.each<readonly [Partial<ChatRequest>, readonly Trait[]]>([
    [{ seed: 1 }, ['seed']],
    [{ frequencyPenalty: 0.1 }, ['penalties']],
    [{ format: { kind: 'json' } }, ['json']],
    [{ format: { kind: 'schema', schema: {}, description: 'd' } }, ['schema_name']],
    [{ user: 'x'.repeat(257) }, ['user']],
    [{ temperature: 1.5 }, ['temperature']],
    [{ temperature: 0.5, topP: 0.9 }, ['top_p']],
    [{ temperature: 0.5, topP: 1 }, []],
    [{ system: [{ kind: 'text', text: 's', cache: 'long' }] }, ['cache_long']],
  ])('tells what it does not say: %j', (changes, lost) => {
    expect(encoded(changes).lost).toEqual(lost)
  })

  it('is never hotter than this language takes', () => {
    expect(encoded({ temperature: 1.5 }).body.temperature).toBe(1)
  })

  it('has a note on every trait', () => {
    expect(Object.keys(traits).toSorted()).toEqual([...TRAITS].toSorted())
    for (const { note } of Object.values(traits)) expect(note).toEndWith('.')
  })
})

describe('what users show', () => {
  it('is an image by its bytes or its address, and else lost', () => {
    const image = (source: object, more = {}) => ({ kind: 'image', source, ...more }) as UserPart
    expect(
      contentOf(
        image({ kind: 'data', mediaType: 'image/gif', data: 'AA==' }, { detail: 'auto' }),
        image({ kind: 'data', mediaType: '', data: '/9j/AA==' }),
        image({ kind: 'url', url: 'http://a.test' }),
      ),
    ).toEqual([
      [
        { type: 'image', source: { type: 'base64', media_type: 'image/gif', data: 'AA==' } },
        { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: '/9j/AA==' } },
        { type: 'image', source: { type: 'url', url: 'http://a.test' } },
      ],
      [],
    ])
    expect(
      contentOf(
        image({ kind: 'id', id: 'f' }, { detail: 'low' }),
        image({ kind: 'data', mediaType: '', data: 'AA==' }),
      ),
    ).toEqual([[], ['image_detail', 'image_id', 'image_data']])
  })

  it.each([
    ['image/png', '/9j/AA==', 'image/jpeg'],
    ['image/jpeg', 'iVBORw0KGgoAA', 'image/png'],
    ['image/png', 'R0lGODlh', 'image/gif'],
    ['image/png', 'UklGRiQAAABXRUJQ', 'image/webp'],
    ['image/png', 'UklGRiQAAABXQVZF', 'image/png'],
    ['Image/JPG', 'AA==', 'image/jpeg'],
    ['IMAGE/PNG', 'AA==', 'image/png'],
  ])('is an image of the type that its bytes tell: %s, %s', (mediaType, data, type) => {
    expect(contentOf({ kind: 'image', source: { kind: 'data', mediaType, data } })).toEqual([
      [{ type: 'image', source: { type: 'base64', media_type: type, data } }],
      [],
    ])
  })

  it.each<readonly [UserPart, Trait]>([
    [{ kind: 'file', source: { kind: 'text', text: '' } }, 'file_text'],
    [{ kind: 'file', source: { kind: 'text', text: ' \n' }, name: 'a.txt' }, 'file_text'],
    [{ kind: 'file', source: { kind: 'data', mediaType: 'text/csv', data: '' } }, 'file_data'],
  ])('is no document without a text: %j', (part, trait) => {
    expect(contentOf(part)).toEqual([[], [trait]])
  })

  it('is a document that is a PDF or text, and else lost', () => {
    const file = (source: object, more = {}) => ({ kind: 'file', source, ...more }) as UserPart
    const text = { type: 'text', media_type: 'text/plain', data: 'é' }
    expect(
      contentOf(
        file({ kind: 'data', mediaType: 'application/pdf', data: 'AA==' }, { name: 'a.pdf' }),
        file({ kind: 'data', mediaType: '', data: 'JVBERi0x' }),
        file({ kind: 'data', mediaType: 'text/csv', data: 'w6k=' }),
        file({ kind: 'text', text: 'é' }),
        file({ kind: 'url', url: 'https://a.test' }),
      ),
    ).toEqual([
      [
        {
          type: 'document',
          source: { type: 'base64', media_type: 'application/pdf', data: 'AA==' },
          title: 'a.pdf',
        },
        {
          type: 'document',
          source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0x' },
        },
        { type: 'document', source: text },
        { type: 'document', source: text },
        { type: 'document', source: { type: 'url', url: 'https://a.test' } },
      ],
      [],
    ])
    expect(
      contentOf(
        file({ kind: 'id', id: 'f' }),
        file({ kind: 'data', mediaType: 'application/zip', data: 'AA==' }),
        { kind: 'audio', data: 'AA==', format: 'wav' },
      ),
    ).toEqual([[], ['file_id', 'file_data', 'audio']])
  })

  it('is refused where nothing of it can be said', () => {
    const parts: readonly UserPart[] = [{ kind: 'audio', data: 'AA==', format: 'wav' }]
    try {
      encodeRequest({ ...BASE, turns: [{ role: 'user', parts }] }, TARGET)
      throw new Error('nothing was thrown')
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(GatewayError)
      expect(thrown).toMatchObject({ code: 'unsupported_parameter', param: 'messages' })
    }
  })

  it('comes behind the results of calls', () => {
    const result = (id: string, more: object) =>
      ({ kind: 'result', id, parts: [], isError: false, ...more }) as UserPart
    const { body } = encoded({
      turns: [
        {
          role: 'user',
          parts: [
            HI,
            result('a', { parts: [HI], isError: true }),
            result('b', { cache: 'short' }),
            result('c', { parts: [HI, { kind: 'text', text: 'x' }] }),
          ],
        },
      ],
    })
    expect(body.messages[0].content).toEqual([
      { type: 'tool_result', tool_use_id: 'a', content: 'Hi', is_error: true },
      { type: 'tool_result', tool_use_id: 'b', cache_control: { type: 'ephemeral' } },
      {
        type: 'tool_result',
        tool_use_id: 'c',
        content: [
          { type: 'text', text: 'Hi' },
          { type: 'text', text: 'x' },
        ],
      },
      { type: 'text', text: 'Hi' },
    ])
  })
})

describe('what the assistant has said', () => {
  const call = (input: string): AssistantPart => ({ kind: 'call', id: 'i', name: 'n', input })

  it('has no blank texts, and is left out where it is nothing', () => {
    const blank = { kind: 'text', text: '' } as const
    expect(saidOf([blank, call('{}')])).toEqual([
      [{ type: 'tool_use', id: 'i', name: 'n', input: {} }],
      [],
    ])
    expect(saidOf([blank])).toEqual([undefined, []])
    expect(saidOf([{ kind: 'text', text: ' \n' }])).toEqual([undefined, ['text']])
    expect(saidOf([{ kind: 'refusal', text: 'no' }])).toEqual([[{ type: 'text', text: 'no' }], []])
  })

  it.each(['[1]', '{"cut":', 'x', `{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`])(
    'calls with an empty input where there is none to be sent',
    (input) => {
      expect(saidOf([call(input)])).toEqual([
        [{ type: 'tool_use', id: 'i', name: 'n', input: {} }],
        ['call_input'],
      ])
    },
  )

  it('calls with each digit, and with nothing where nothing was written', () => {
    const input = '{"id":12345678901234567890,"far":1e400,"__proto__":{"a":1}}'
    const { text, lost } = encoded({
      turns: [...BASE.turns, { role: 'assistant', parts: [call(input), call('')] }],
    })
    expect(text).toContain(`"input":${input}`)
    expect(text).toContain('"input":{}')
    expect(lost).toEqual([])
  })

  it('is handed back to who has sealed it, and to nobody else', () => {
    const parts: readonly AssistantPart[] = [
      { kind: 'thinking', text: 'why', seal: { data: 'sig', supplier: 'maker' } },
      { kind: 'thinking', text: '', seal: { data: 'x', supplier: 'maker' }, isHidden: true },
      { kind: 'text', text: 'so' },
    ]
    const text = { type: 'text', text: 'so' }
    expect(saidOf(parts)).toEqual([
      [
        { type: 'thinking', thinking: 'why', signature: 'sig' },
        { type: 'redacted_thinking', data: 'x' },
        text,
      ],
      [],
    ])
    expect(saidOf(parts, { supplier: 'other' })).toEqual([[text], ['thinking', 'seal']])
    const odd: readonly AssistantPart[] = [
      { kind: 'thinking', text: 'bare' },
      { kind: 'thinking', text: '', seal: { data: '{"details":[]}', supplier: 'maker' } },
      { kind: 'text', text: 'so' },
    ]
    expect(saidOf(odd)).toEqual([[text], ['thinking', 'seal']])
    const forged: AssistantPart = { kind: 'thinking', text: 't', seal: { data: 'x', supplier: '' } }
    expect(saidOf([forged], { supplier: '' })).toEqual([undefined, ['thinking', 'seal']])
  })
})

describe('tools', () => {
  it('are described with a schema of an object', () => {
    const schema = { type: 'object', $schema: 's', additionalProperties: false }
    const { body, lost } = encoded({
      tools: [
        { name: 'a', description: 'd', schema, isStrict: true, cache: 'short' },
        { name: 'b', schema: undefined },
        { name: 'c', schema: { properties: {} } },
      ],
    })
    expect(body.tools).toEqual([
      {
        name: 'a',
        description: 'd',
        input_schema: schema,
        strict: true,
        cache_control: { type: 'ephemeral' },
      },
      { name: 'b', input_schema: { type: 'object', properties: {} } },
      { name: 'c', input_schema: { type: 'object', properties: {} } },
    ])
    expect(lost).toEqual([])
  })

  it.each<readonly [Partial<ChatRequest>, unknown, readonly Trait[]]>([
    [{}, undefined, []],
    [{ toolChoice: { mode: 'any' } }, { type: 'any' }, []],
    [{ toolChoice: { mode: 'named', name: 'n' } }, { type: 'tool', name: 'n' }, []],
    [{ parallelTools: false }, { type: 'auto', disable_parallel_tool_use: true }, []],
    [{ toolChoice: { mode: 'none' }, parallelTools: false }, { type: 'none' }, ['parallel_tools']],
  ])('are chosen: %j', (changes, choice, lost) => {
    const result = encoded({ tools: [TOOL], ...changes })
    expect([result.body.tool_choice, result.lost]).toEqual([choice, lost])
    expect(encoded(changes).body.tool_choice).toBeUndefined()
  })
})

describe('tools of one name', () => {
  it.each<readonly [object, readonly Trait[]]>([
    [{ ...TOOL }, []],
    [{ ...TOOL, description: 'other' }, ['tools']],
  ])('are one, the last: %j', (other, lost) => {
    const more = { name: 'm', schema: { type: 'object' } }
    const tools = [other as typeof TOOL, more, TOOL]
    const result = encoded({ tools })
    expect(result.body.tools).toEqual([
      { name: 'n', input_schema: { type: 'object' } },
      { name: 'm', input_schema: { type: 'object' } },
    ])
    expect(result.lost).toEqual(lost)
  })
})

describe('how much to think', () => {
  function thinkingOf(changes: Partial<ChatRequest>, target: Partial<Target> = {}) {
    const { body, lost } = encoded(changes, target)
    return [body.thinking, body.output_config?.effort, lost]
  }

  const adaptive = { type: 'adaptive' }
  const enabled = (budget_tokens: number) => ({ type: 'enabled', budget_tokens })

  it.each<readonly [ChatRequest['reasoning'] & object, unknown, unknown]>([
    [{ effort: 'minimal' }, adaptive, 'low'],
    [{ effort: 'xhigh' }, adaptive, 'xhigh'],
    [{ effort: 'max', budget: 9 }, adaptive, 'max'],
    [{ budget: 2048 }, adaptive, 'low'],
    [{ budget: 9000 }, adaptive, 'medium'],
    [{ budget: 20_000 }, adaptive, 'high'],
    [{ isAdaptive: true }, adaptive, undefined],
    [{ effort: 'none' }, { type: 'disabled' }, undefined],
  ])('is said by a word: %j', (reasoning, thinking, effort) => {
    expect(thinkingOf({ reasoning })).toEqual([thinking, effort, []])
  })

  it.each<readonly [ChatRequest['reasoning'] & object, number, unknown]>([
    [{ effort: 'low' }, 32_000, enabled(2048)],
    [{ effort: 'medium' }, 32_000, enabled(8192)],
    [{ effort: 'high' }, 32_000, enabled(16_384)],
    [{ effort: 'max' }, 32_000, enabled(24_576)],
    [{ effort: 'low', budget: 5000 }, 32_000, enabled(5000)],
    [{ budget: 10 }, 32_000, enabled(1024)],
    [{ isAdaptive: true }, 32_000, enabled(8192)],
    [{ effort: 'high' }, 5000, enabled(3976)],
    [{ effort: 'high' }, 2048, enabled(1024)],
    [{ effort: 'none' }, 100, { type: 'disabled' }],
  ])('is said by a budget: %j within %d', (reasoning, maxTokens, thinking) => {
    expect(thinkingOf({ reasoning, maxTokens }, { reasoning: 'budget' })).toEqual([
      thinking,
      undefined,
      [],
    ])
  })

  const nothing = [undefined, undefined, ['reasoning']]

  it('is lost where the limit has no room for it, and where nobody listens', () => {
    const reasoning = { effort: 'low' } as const
    expect(thinkingOf({ reasoning, maxTokens: 2047 }, { reasoning: 'budget' })).toEqual(nothing)
    expect(thinkingOf({ reasoning }, { reasoning: 'none' })).toEqual(nothing)
    expect(thinkingOf({ reasoning }, { reasoning: undefined })).toEqual(nothing)
    expect(thinkingOf({ reasoning: { effort: 'none' } }, { reasoning: 'none' })).toEqual([
      undefined,
      undefined,
      [],
    ])
  })

  it('is lost beside a tool that must be called', () => {
    const reasoning = { effort: 'low' } as const
    const toolChoice = { mode: 'any' } as const
    expect(thinkingOf({ reasoning, toolChoice, tools: [TOOL] })).toEqual(nothing)
    expect(thinkingOf({ reasoning, toolChoice })).toEqual([adaptive, 'low', []])
  })

  it.each<readonly ['always' | 'between_calls', unknown, readonly Trait[]]>([
    ['always', undefined, ['reasoning']],
    ['between_calls', { type: 'between_tools' }, []],
  ])('is not said to be nothing where the model thinks %s', (leastThinking, least, lost) => {
    const reasoning = { effort: 'none' } as const
    expect(thinkingOf({ reasoning }, { leastThinking })).toEqual([least, undefined, lost])
    expect(thinkingOf({ reasoning: { effort: 'low' } }, { leastThinking })).toEqual([
      adaptive,
      'low',
      [],
    ])
  })

  it.each<ChatRequest['toolChoice'] & object>([{ mode: 'any' }, { mode: 'named', name: 'n' }])(
    'leaves a model that always thinks the choice of its tools, not %j',
    (toolChoice) => {
      const { body, lost } = encoded(
        { tools: [TOOL], toolChoice, parallelTools: false, reasoning: { effort: 'low' } },
        { leastThinking: 'always' },
      )
      expect(body).toMatchObject({
        tool_choice: { type: 'auto', disable_parallel_tool_use: true },
        thinking: adaptive,
        output_config: { effort: 'low' },
      })
      expect(lost).toEqual(['tool_choice'])
      const free = { tools: [TOOL], toolChoice: { mode: 'none' } } as const
      expect(encoded(free, { leastThinking: 'always' })).toMatchObject({
        body: { tool_choice: { type: 'none' } },
        lost: [],
      })
    },
  )

  it('is said by no word that the model does not know', () => {
    const target = { refusedEfforts: ['xhigh'] } as const
    expect(thinkingOf({ reasoning: { effort: 'xhigh' } }, target)).toEqual([adaptive, 'high', []])
    expect(thinkingOf({ reasoning: { effort: 'max' } }, target)).toEqual([adaptive, 'max', []])
  })

  it('is lost amid calls whose thoughts are not sent along, if it is a budget', () => {
    const call = { kind: 'call', id: 'i', name: 'n', input: '{}' } as const
    const result = { kind: 'result', id: 'i', parts: [], isError: false } as const
    const thought = { kind: 'thinking', text: 't', seal: { data: 's', supplier: 'maker' } } as const
    const amid = (...parts: readonly AssistantPart[]): Partial<ChatRequest> => ({
      reasoning: { effort: 'low' },
      turns: [...BASE.turns, { role: 'assistant', parts }, { role: 'user', parts: [result] }],
    })
    const budget = { reasoning: 'budget' } as const
    expect(thinkingOf(amid(call), budget)).toEqual(nothing)
    expect(thinkingOf(amid(thought, call), budget)).toEqual([enabled(2048), undefined, []])
    expect(thinkingOf(amid(call))).toEqual([adaptive, 'low', []])
  })

  it('leaves no room for other wishes', () => {
    const reasoning = { effort: 'low' } as const
    const { body, lost } = encoded({ reasoning, temperature: 0.5, topP: 0.5, topK: 5 })
    expect(body).not.toContainAnyKeys(['temperature', 'top_p', 'top_k'])
    expect(lost).toEqual(['temperature', 'top_p', 'top_k'])
    expect(encoded({ reasoning, topP: 0.95 })).toMatchObject({ body: { top_p: 0.95 }, lost: [] })
    expect(encoded({ reasoning, temperature: 1 })).toMatchObject({
      body: { temperature: 1 },
      lost: [],
    })
  })
})

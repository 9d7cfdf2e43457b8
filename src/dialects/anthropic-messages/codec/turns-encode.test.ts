// Conversations that suppliers of this language would refuse as they are: who speaks first and last, calls of one id,
// and more marks for a cache than they take.
import { describe, expect, it } from 'bun:test'
import type { AssistantPart, ChatRequest, Trait, Turn, UserPart } from '../../../core/chat.ts'
import { peek } from '../peek.ts'
import { encodeRequest } from './request-encode.ts'

const decoder = new TextDecoder()
const HI: Turn = { role: 'user', parts: [{ kind: 'text', text: 'Hi' }] }
const SAID_HI = { role: 'user', content: [{ type: 'text', text: 'Hi' }] }
const TOOL = { name: 'n', schema: { type: 'object' } }

function sent(changes: Partial<ChatRequest>): {
  readonly body: Record<string, unknown>
  readonly lost: readonly Trait[]
} {
  const request = { system: [], turns: [HI], tools: [], stream: false, stop: [], ...changes }
  const { body, lost } = encodeRequest(request, {
    model: 'm',
    supplier: 'maker',
    maxTokens: undefined,
    maxTokensDefault: 9,
    reasoning: undefined,
    samples: undefined,
    quirks: { usage: 'always' },
  })
  peek(body)
  return { body: JSON.parse(decoder.decode(body)), lost }
}

function assistant(...parts: readonly (AssistantPart | string)[]): Turn {
  return {
    role: 'assistant',
    parts: parts.map((part) => (typeof part === 'string' ? { kind: 'text', text: part } : part)),
  }
}

describe('who speaks', () => {
  it('first is the user, who says nothing much where the assistant did', () => {
    const { body, lost } = sent({ turns: [assistant('Hello'), HI] })
    expect(body['messages']).toEqual([
      { role: 'user', content: [{ type: 'text', text: '…' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'Hello' }] },
      SAID_HI,
    ])
    expect(lost).toEqual([])
  })

  it('is the user where nobody does but the system', () => {
    const system = [
      { kind: 'text', text: 'a', cache: 'short' },
      { kind: 'text', text: 'b' },
    ] as const
    const { body, lost } = sent({ system, turns: [] })
    expect(body).not.toContainKey('system')
    expect(body['messages']).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } },
          { type: 'text', text: 'b' },
        ],
      },
    ])
    expect(lost).toEqual([])
  })

  it('is somebody: a conversation of nothing is refused', () => {
    expect(() => sent({ turns: [assistant('')] })).toThrow('The conversation holds nothing')
  })

  it('last may be the assistant, whose text ends without white space', () => {
    const { body, lost } = sent({ turns: [HI, assistant('Yes \n', '{"a": \n\t')] })
    expect(body['messages']).toEqual([
      SAID_HI,
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Yes \n' },
          { type: 'text', text: '{"a":' },
        ],
      },
    ])
    expect(lost).toEqual([])
    const before = sent({ turns: [HI, assistant('Yes \n'), HI] })
    expect(before.body['messages']).toMatchObject([{}, { content: [{ text: 'Yes \n' }] }, {}])
  })
})

describe('calls of one id', () => {
  const call = (id: string): AssistantPart => ({ kind: 'call', id, name: 'n', input: '{}' })
  const result = (id: string, text: string): UserPart => ({
    kind: 'result',
    id,
    parts: [{ kind: 'text', text }],
    isError: false,
  })
  const user = (...parts: readonly UserPart[]): Turn => ({ role: 'user', parts })

  /** Calls by their ids, and results by their ids and texts. */
  function idsOf(...turns: readonly Turn[]): readonly string[] {
    const { body, lost } = sent({ turns: [HI, ...turns] })
    expect(lost).toEqual([])
    const messages = body['messages'] as { content: Record<string, string>[] }[]
    return messages
      .flatMap(({ content }) => content)
      .flatMap(({ type, id, tool_use_id: of, content }) => {
        if (type === 'tool_use') return [`${id}`]
        return type === 'tool_result' ? [`${of}=${content}`] : []
      })
  }

  it('are numbered from turn to turn, and their results with them', () => {
    expect(
      idsOf(
        assistant(call('call_f')),
        user(result('call_f', 'a')),
        assistant(call('call_f')),
        user(result('call_f', 'b')),
        assistant(call('call_f')),
        user(result('call_f', 'c')),
      ),
    ).toEqual(['call_f', 'call_f=a', 'call_f_2', 'call_f_2=b', 'call_f_3', 'call_f_3=c'])
  })

  it('are numbered in one turn, with their results in their order', () => {
    expect(
      idsOf(
        assistant(call('f'), call('g'), call('f')),
        user(result('f', 'a'), result('f', 'b'), result('g', 'c')),
      ),
    ).toEqual(['f', 'g', 'f_2', 'f=a', 'f_2=b', 'g=c'])
  })

  it('get no result that belongs to a later one', () => {
    expect(
      idsOf(
        assistant(call('f')),
        user(result('x', 'a')),
        assistant(call('f')),
        user(result('f', 'b')),
      ),
    ).toEqual(['f', 'x=a', 'f_2', 'f_2=b'])
  })

  it('have results that come in several turns, too', () => {
    expect(
      idsOf(
        assistant(call('f')),
        user(result('f', 'a')),
        assistant(call('f'), call('g')),
        user(result('g', 'b')),
        user(result('f', 'c')),
      ),
    ).toEqual(['f', 'f=a', 'f_2', 'g', 'g=b', 'f_2=c'])
  })

  it('never get the id of another', () => {
    expect(
      idsOf(
        assistant(call('f_2'), call('f')),
        user(result('f_2', 'a'), result('f', 'b')),
        assistant(call('f')),
        user(result('f', 'c')),
      ),
    ).toEqual(['f_2', 'f', 'f_2=a', 'f=b', 'f_3', 'f_3=c'])
  })

  it('are numbered, too, where they are of other letters', () => {
    const [first, , second, last] = idsOf(
      assistant(call('a.b')),
      user(result('a.b', '')),
      assistant(call('a.b')),
      user(result('a.b', 'x')),
    )
    expect(first).toMatch(/^a_b_\w+$/)
    expect(second).toBe(`${first}_2`)
    expect(last).toBe(`${second}=x`)
  })
})

describe('marks for a cache', () => {
  const marked = (text: string) => ({ kind: 'text', text, cache: 'short' }) as const
  const found: UserPart = {
    kind: 'result',
    id: 'c',
    parts: [{ kind: 'text', text: 'x' }, marked('y')],
    isError: false,
    cache: 'short',
  }

  /** The last letters before each. */
  function marksOf(body: Record<string, unknown>): readonly string[] {
    const pieces = JSON.stringify(body).split(',"cache_control":{"type":"ephemeral"}')
    return pieces.slice(0, -1).map((before) => before.slice(-3))
  }

  it('are all sent where there are four', () => {
    const { body, lost } = sent({
      tools: [{ ...TOOL, cache: 'short' }],
      system: [marked('s')],
      turns: [{ role: 'user', parts: [marked('a'), marked('b')] }],
    })
    expect(marksOf(body)).toHaveLength(4)
    expect(lost).toEqual([])
  })

  it('are the last four where there are more, tools and system first', () => {
    const { body, lost } = sent({
      tools: [{ ...TOOL, cache: 'short' }],
      system: [marked('s')],
      turns: [
        { role: 'user', parts: [marked('a')] },
        assistant({ kind: 'call', id: 'c', name: 'n', input: '{"content":[]}', cache: 'short' }),
        { role: 'user', parts: [found, marked('z')] },
      ],
    })
    expect(JSON.stringify(body)).toContain('"input":{"content":[]},"cache_control"')
    expect(marksOf(body)).toEqual(['[]}', '"y"', '}]', '"z"'])
    expect(lost).toEqual(['cache'])
  })

  it('inside of a result come before its own', () => {
    const { body } = sent({
      turns: [
        HI,
        assistant({ kind: 'call', id: 'c', name: 'n', input: '{}' }),
        { role: 'user', parts: [found, marked('1'), marked('2'), marked('3')] },
      ],
    })
    expect(JSON.stringify(body)).toContain(
      '"content":[{"type":"text","text":"x"},{"type":"text","text":"y"}],"cache_control"',
    )
  })
})

// Messages that suppliers of this language take for one turn, and others do not: what was said by one is one turn, and
// the results of its calls come before anything else.
import { describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import { peek } from '../peek.ts'
import { decodeRequest } from './request-decode.ts'

const encoder = new TextEncoder()

function turnsOf(messages: readonly object[]) {
  const body = encoder.encode(JSON.stringify({ model: 'm', max_tokens: 9, messages }))
  peek(body)
  return decodeRequest(body).request.turns
}

/** A word for each part, so that a conversation can be read at a glance. */
function outlineOf(messages: readonly object[]): readonly string[] {
  return turnsOf(messages).map(({ role, parts }) => {
    const words = parts.map((part) => {
      if (part.kind === 'call' || part.kind === 'result') return `${part.kind} ${part.id}`
      return part.kind === 'text' || part.kind === 'thinking' ? part.text : part.kind
    })
    return `${role}: ${words.join(', ')}`
  })
}

function text(text: string): object {
  return { type: 'text', text }
}

function call(id: string): object {
  return { type: 'tool_use', id, name: 'look', input: {} }
}

function result(id: string): object {
  return { type: 'tool_result', tool_use_id: id }
}

function user(...content: readonly object[]): object {
  return { role: 'user', content }
}

function assistant(...content: readonly object[]): object {
  return { role: 'assistant', content }
}

function system(words: string): object {
  return { role: 'system', content: words }
}

const HI = user(text('Hi'))

describe('messages of the assistant that follow each other', () => {
  it('are one turn, with all of its calls', () => {
    const thought = { type: 'thinking', thinking: 'Hm', signature: 's' }
    const outline = outlineOf([
      HI,
      assistant(thought, call('a')),
      assistant(text('And'), call('b')),
      user(result('a'), result('b')),
      assistant(text('So')),
    ])
    expect(outline).toEqual([
      'user: Hi',
      'assistant: Hm, call a, And, call b',
      'user: result a, result b',
      'assistant: So',
    ])
  })

  it('are one turn also where one of them says nothing', () => {
    const outline = outlineOf([HI, assistant(text('A')), assistant(text('')), assistant(text('B'))])
    expect(outline).toEqual(['user: Hi', 'assistant: A, B'])
  })

  it('are not where somebody else has spoken between them', () => {
    const outline = outlineOf([HI, assistant(text('A')), HI, assistant(text('B'))])
    expect(outline).toEqual(['user: Hi', 'assistant: A', 'user: Hi', 'assistant: B'])
    const told = outlineOf([HI, assistant(text('A')), system('Go'), assistant(text('B'))])
    expect(told).toEqual(['user: Hi', 'assistant: A', 'system: Go', 'assistant: B'])
  })
})

describe('results in several messages', () => {
  const ASKED = [HI, assistant(call('a'), call('b'))]

  it('come together, and before the rest', () => {
    const outline = outlineOf([
      ...ASKED,
      user(result('a'), text('x')),
      user(result('b'), text('y')),
    ])
    expect(outline.slice(2)).toEqual(['user: result a, result b, x, y'])
  })

  it('come before a text that stands between them', () => {
    const outline = outlineOf([
      ...ASKED,
      user(result('a'), text('x')),
      user(text('y')),
      user(result('b'), text('z')),
    ])
    expect(outline.slice(2)).toEqual(['user: result a, result b, x', 'user: y', 'user: z'])
  })

  it('come before texts that stand before them', () => {
    const outline = outlineOf([
      ...ASKED,
      user(text('x')),
      user(text('y')),
      user(result('a'), result('b')),
    ])
    expect(outline.slice(2)).toEqual(['user: result a, result b, x', 'user: y'])
  })

  it('come before what the system says between them and the calls', () => {
    const outline = outlineOf([
      ...ASKED,
      system('p'),
      user(result('a')),
      system('q'),
      user(result('b'), text('x')),
    ])
    expect(outline.slice(2)).toEqual([
      'user: result a, result b',
      'system: p',
      'system: q',
      'user: x',
    ])
  })

  it('stay with the calls that they answer', () => {
    const outline = outlineOf([
      ...ASKED,
      user(result('a')),
      user(result('b')),
      assistant(call('c')),
      user(text('x')),
      user(result('c')),
    ])
    expect(outline.slice(2)).toEqual([
      'user: result a, result b',
      'assistant: call c',
      'user: result c, x',
    ])
  })
})

/** A turn of the assistant in one or two messages, and what comes of its calls in any pieces and with any words between. */
function rounds(at: number): fc.Arbitrary<readonly object[]> {
  const ids = fc
    .nat(3)
    .map((count) => Array.from({ length: count }, (_, place) => `${at}-${place}`))
  const asides = fc.array(fc.constantFrom('result', 'user', 'system', 'both'), { maxLength: 6 })
  return fc.tuple(ids, fc.nat(3), asides).map(([ids, cut, asides]) => {
    const spoken = [assistant(text(`t${at}`), ...ids.slice(0, cut).map(call))]
    if (cut < ids.length) spoken.push(assistant(...ids.slice(cut).map(call)))
    const left = [...ids]
    const rest = asides.flatMap((kind, place) => {
      const word = `${kind}${at}-${place}`
      if (kind === 'system') return [system(word)]
      const id = kind === 'user' ? undefined : left.shift()
      return [
        user(
          ...(id === undefined ? [text(word)] : [result(id)]),
          ...(kind === 'both' ? [text(word)] : []),
        ),
      ]
    })
    return [...spoken, ...rest, user(...left.map(result), text(`end${at}`))]
  })
}

describe('any conversation', () => {
  it('has all results of a turn right behind its calls, and every word', () => {
    const conversations = fc
      .nat(4)
      .chain((count) => fc.tuple(...Array.from({ length: count }, (_, at) => rounds(at))))
    fc.assert(
      fc.property(conversations, (all) => {
        const messages = [HI, ...all.flat()]
        const turns = turnsOf(messages)
        for (const [at, { role, parts }] of turns.entries()) {
          const next = turns[at + 1]
          if (role !== 'assistant') continue
          const calls = parts.flatMap((part) => (part.kind === 'call' ? [part.id] : []))
          const found = next?.parts.slice(0, calls.length) ?? []
          expect(found.map((part) => part.kind === 'result' && part.id)).toEqual(calls)
          expect(next?.role).not.toBe('assistant')
        }
        const said = JSON.stringify(turns)
        for (const word of JSON.stringify(messages).matchAll(/"text":"([^"]+)"/g))
          expect(said).toContain(`"${word[1]}"`)
      }),
      { numRuns: 300 },
    )
  })

  it('is read in one go, however often the system speaks among results', () => {
    const count = 40_000
    const messages = Array.from({ length: count }, (_, at) =>
      at % 2 === 0 ? system('s') : user(result(`${at}`)),
    )
    const turns = turnsOf([HI, assistant(call('1')), ...messages])
    expect(turns).toHaveLength(3 + count / 2)
    expect(turns[2]?.parts).toHaveLength(count / 2)
  })
})

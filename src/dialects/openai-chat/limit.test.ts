// Where the books need a lower limit than the caller's, it is the only one that the supplier sees, whatever
// either of them calls it; nothing else changes.
import { describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import { extra, jsonText, requestText, space } from '../../../test/fakes/json-text.ts'
import type { Quirks } from '../quirk.ts'
import { openaiChat } from './index.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()

type Odd = Omit<Quirks, 'usage' | 'normalize'>

function patched(text: string, odd: Odd, maxTokens?: number): string {
  const body = encoder.encode(text)
  const rewrite = { ...odd, model: 'up', usage: 'ask' as const }
  const facts = openaiChat.peek(body)
  return decoder.decode(openaiChat.relay.patch(body, facts, rewrite, { maxTokens }))
}

const HEAD = '"model":"up","messages":[{"role":"user","content":"Hi"}]'
const OLD = { maxTokensName: 'max_tokens' } as const
const NEW = { maxTokensName: 'max_completion_tokens' } as const

describe('a lowered limit', () => {
  it.each<readonly [Odd, string, string]>([
    [{}, '', ',"max_tokens":7'],
    [OLD, '', ',"max_tokens":7'],
    [NEW, '', ',"max_completion_tokens":7'],
    [{}, ', "max_tokens" : 900 ,"x":1', ', "max_tokens" : 7 ,"x":1'],
    [{}, ',"max_completion_tokens":900', ',"max_completion_tokens":7'],
    [
      {},
      ',"max_tokens":9e2,"max_completion_tokens":800',
      ',"max_tokens":7,"max_completion_tokens":7',
    ],
    [{}, ',"max_tokens":null', ',"max_tokens":7'],
    [
      {},
      ',"max_tokens":null,"max_completion_tokens":9',
      ',"max_tokens":null,"max_completion_tokens":7',
    ],
    [
      {},
      ',"max_tokens":null,"max_completion_tokens":null',
      ',"max_tokens":7,"max_completion_tokens":null',
    ],
    [OLD, ',"max_completion_tokens":900', ',"max_tokens":7'],
    [NEW, ',"max_tokens":900', ',"max_completion_tokens":7'],
    [NEW, ',"max_tokens":null', ',"max_completion_tokens":7'],
    [NEW, ',"max_tokens":900,"max_completion_tokens":800', ',"max_completion_tokens":7'],
    [NEW, ',"max_tokens":900,"max_completion_tokens":null', ',"max_completion_tokens":7'],
    [OLD, ',"max_tokens":null,"max_completion_tokens":null', ',"max_tokens":7'],
    [OLD, ',"max_tokens":1', ',"max_tokens":7'],
    [{ drop: ['user'] }, ',"user":"u"', ',"max_tokens":7'],
    [{ default: { seed: 1 } }, '', ',"seed":1,"max_tokens":7'],
  ])('by %j makes of %p no more than %p', (odd, members, expected) => {
    expect(patched(`{${HEAD}${members}}`, odd, 7)).toBe(`{${HEAD}${expected}}`)
  })

  it('is none where none is given', () => {
    const text = `{${HEAD},"max_tokens":9}`
    expect(patched(text, {})).toBe(text)
  })

  const member = fc
    .tuple(fc.constantFrom('user', 'stop', 'seed', 'us\\u0065r'), space, space, jsonText)
    .map(([name, before, after, value]) => `"${name}"${before}:${after}${value}`)
  const body = fc
    .tuple(requestText, fc.array(fc.oneof(member, extra), { maxLength: 3 }), space)
    .map(([text, members, gap]) => {
      const end = text.lastIndexOf('}')
      return `${text.slice(0, end)}${members.map((each) => `${gap},${each}`).join('')}${text.slice(end)}`
    })
  const quirks: fc.Arbitrary<Odd> = fc
    .record({
      drop: fc.constantFrom([], ['user'], ['temperature', 'stop']),
      rename: fc.constantFrom({}, { seed: 'random_seed' }),
      default: fc.constantFrom({}, { seed: 7 }, { safe: { deep: [null] } }),
      maxTokensName: fc.constantFrom('max_tokens', 'max_completion_tokens', undefined),
    })
    .map(({ maxTokensName, ...odd }) => ({
      ...odd,
      ...(maxTokensName === undefined ? {} : { maxTokensName }),
    }))

  it('is the only one in any request by any quirks, and nothing else changes', () => {
    fc.assert(
      fc.property(body, quirks, fc.integer({ min: 1, max: 1e9 }), (text, odd, maxTokens) => {
        const adjusted = read(patched(text, odd, maxTokens))
        const plain = read(patched(text, odd))
        expect(new Set(adjusted.limits)).toEqual(new Set([maxTokens]))
        expect(adjusted.others).toEqual(plain.others)
        const names = odd.maxTokensName === undefined ? plain.names : [odd.maxTokensName]
        if (names.length > 0) expect(adjusted.names).toEqual(names)
        else expect(adjusted.names).toHaveLength(1)
      }),
      { numRuns: 2000 },
    )
  })

  /** The limits that count, the names that they have, and everything else. */
  function read(text: string) {
    const {
      max_tokens: old,
      max_completion_tokens: fresh,
      ...others
    } = JSON.parse(text) as Record<string, unknown>
    const named = Object.entries({ max_tokens: old, max_completion_tokens: fresh })
    const set = named.filter(([, value]) => value !== undefined && value !== null)
    return { others, names: set.map(([name]) => name), limits: set.map(([, value]) => value) }
  }
})

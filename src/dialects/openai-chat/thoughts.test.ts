// What a caller was told of the thoughts of a supplier of another language does not reach one of this language; all
// else that is relayed stays as it is, byte for byte.
import { describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import { printSeal } from '../seal.ts'
import { openaiChat } from './index.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()

function relayed(text: string, dropsThoughts?: true): string {
  const body = encoder.encode(text)
  const adjustment = dropsThoughts && { maxTokens: undefined, dropsThoughts }
  const rewrite = { model: 'm', usage: 'ask' } as const
  return decoder.decode(openaiChat.relay.patch(body, openaiChat.peek(body), rewrite, adjustment))
}

function request(...messages: readonly string[]): string {
  return `{"model":"m","messages":[${messages.join(',')}]}`
}

const SEALED = `[{"type":"reasoning.text","text":"x","signature":"${printSeal('s', 'd')}"}]`

describe('a relayed request', () => {
  it.each([
    [
      `{"role":"assistant","content":"a","reasoning_details":${SEALED}}`,
      '{"role":"assistant","content":"a"}',
    ],
    [
      `{"reasoning_details" : ${SEALED} , "role":"assistant","content":"a"}`,
      '{"role":"assistant","content":"a"}',
    ],
    [
      `{"role":"assistant" , "reasoning_details": ${SEALED} ,\n "content":"a"}`,
      '{"role":"assistant" , "content":"a"}',
    ],
    [
      `{"role":"assistant","content":"a" , "reasoning_details":${SEALED}\n}`,
      '{"role":"assistant","content":"a" \n}',
    ],
  ])('loses what this gateway has sealed for others: %s', (sent, expected) => {
    const user = '{"role":"user","content":"Hi"}'
    expect(relayed(request(user, sent, user, sent))).toBe(request(user, expected, user, expected))
    expect(relayed(request(sent), true)).toBe(request(expected))
  })

  it.each([
    '{"role":"assistant","content":"gw1.x","reasoning_content":"gw1.y"}',
    '{"role":"assistant","content":"a","reasoning_details":[{"type":"reasoning.text","text":"say \\"gw1.x\\" or gw1.","signature":"own"}]}',
    '{"role":"assistant","content":"a","reasoning_details":[{"type":"reasoning.encrypted","data":"own"}]}',
    '{"role":"assistant","content":"a","reasoning_details":null}',
  ])('keeps what a supplier has sealed itself: %s', (message) => {
    expect(relayed(request(message))).toBe(request(message))
    expect(relayed(request(message), true)).toBe(request(message))
  })

  it('stays JSON, and the same but for what it loses', () => {
    const space = fc.constantFrom('', ' ', '\n\t')
    const names = fc.uniqueArray(
      fc.constantFrom('content', 'role', 'name', 'x', 'reasoning_details'),
      {
        minLength: 5,
        maxLength: 5,
      },
    )
    const values: Record<string, string> = {
      content: '"a"',
      role: '"assistant"',
      name: '"n"',
      x: '[1,{}]',
      reasoning_details: SEALED,
    }
    fc.assert(
      fc.property(names, fc.array(space, { minLength: 4, maxLength: 4 }), (order, gaps) => {
        const [a, b, c, d] = gaps
        const members = order.map((name) => `${a}"${name}"${b}:${c}${values[name]}${d}`)
        const before = request(`{${members.join(',')}}`)
        const { reasoning_details: _, ...kept } = JSON.parse(before).messages[0]
        const after = JSON.parse(relayed(before)).messages[0]
        expect(after).toEqual(kept)
        expect(Object.keys(after)).toEqual(Object.keys(kept))
      }),
    )
  })
})

describe('a request', () => {
  it.each<readonly [boolean, string]>([
    [false, '"seed":1'],
    [false, '"reasoning_effort":null,"reasoning":null'],
    [false, '"reasoning_effort":"none"'],
    [false, '"reasoning":{"enabled":false}'],
    [false, '"reasoning":{"effort":"none"}'],
    [true, '"reasoning_effort":"low"'],
    [true, '"reasoning":{}'],
    [true, '"reasoning":{"max_tokens":5,"enabled":true}'],
    [true, '"reasoning_effort":"low","reasoning":{"enabled":false}'],
    [true, '"reasoning":{"effort":"high"},"reasoning_effort":"none"'],
  ])('asks for thoughts is %p: %s', (asks, members) => {
    const text = `{"model":"m","messages":[{"role":"user","content":"Hi"}],${members}}`
    expect(openaiChat.peek(encoder.encode(text)).asksReasoning).toBe(asks)
    expect(relayed(text)).toBe(text)
  })

  it('has its words for thinking changed by quirks', () => {
    const text =
      '{"model":"m","messages":[{"role":"user","content":"Hi"}],"reasoning_effort":"low"}'
    const body = encoder.encode(text)
    const patch = (odd: object) => {
      const rewrite = { model: 'm', usage: 'ask', ...odd } as const
      return decoder.decode(openaiChat.relay.patch(body, openaiChat.peek(body), rewrite))
    }
    expect(patch({ drop: ['reasoning_effort'] })).not.toContain('reasoning_effort')
    expect(patch({ rename: { reasoning_effort: 'effort' } })).toContain('"effort":"low"')
    expect(patch({ default: { reasoning: { x: 1 } } })).toContain('"reasoning":{"x":1}')
    const quirks = {
      usage: 'ask',
      drop: ['reasoning'],
      default: { reasoning_effort: 'low' },
    } as const
    expect(openaiChat.relay.findFault?.(quirks)).toBeUndefined()
  })
})

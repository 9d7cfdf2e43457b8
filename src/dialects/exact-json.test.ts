// Numbers come out as they came in: no digit is lost, and none is added.
import { describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import { asNumber, parseExact, parseExactly } from './exact-json.ts'

const again = (text: string): string => JSON.stringify(parseExact(text))

describe('a number', () => {
  it.each([
    '1e20',
    '1E5',
    '-1e+15',
    '1e-6',
    '2.5e9',
    '1e400',
    '12345678901234567890',
    '123456789.123456789',
    '0.1000000000000000055511151231257827',
  ])('%s stays as it was written', (number) => {
    for (const text of [`{"a":${number}}`, `[${number},${number}]`]) expect(again(text)).toBe(text)
    expect(again(`{"a":${number}\n}`)).toBe(`{"a":${number}}`)
    expect(asNumber((parseExact(`[${number}]`) as unknown[])[0])).toBe(Number(number))
  })

  it('never takes more room than it took', () => {
    const digits = fc.stringMatching(/^-?(?:0|[1-9]\d{0,20})(?:\.\d{1,20})?(?:[eE][+-]?\d{1,3})?$/)
    fc.assert(
      fc.property(fc.array(digits), (numbers) => {
        const text = `[${numbers.join(',')}]`
        expect(again(text).length).toBeLessThanOrEqual(text.length)
      }),
    )
  })

  it('is one like any other where that says the same in no more words', () => {
    expect(parseExact('[5, 5.0, 1e2, 1e20]')).toEqual([5, 5, 100, expect.anything()])
  })

  it('in a text, or in a name, is text', () => {
    for (const text of [
      '{"a":"1e20, 12345678901234567890"}',
      '{"12345678901234567890":"\\"1e20,\\\\","b":1e20}',
      '["\\\\",1e20,"\\\\\\"",1e20,"12345678901234567890 \\\\\\\\"]',
    ])
      expect(again(text)).toBe(text)
  })

  it('is found wherever it stands, and nothing else is touched', () => {
    const texts = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constantFrom('\\', '"'))
    const printed = texts.map((text) => JSON.stringify(text))
    const numbers = fc.constantFrom('1e20', '12345678901234567890', '0.10', '7', '-1.5')
    const { value } = fc.letrec<{ value: string }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        numbers,
        printed,
        fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
        fc.tuple(printed, tie('value')).map(([name, each]) => `{${name}:${each}}`),
      ),
    }))
    fc.assert(
      fc.property(value, (each) => {
        const text = `[12345678901234567890,${each}]`
        expect(again(text)).toBe(text)
      }),
    )
  })

  it('leaves the prototypes of objects alone', () => {
    const parsed = parseExact('{"__proto__":{"a":1e20},"b":{"__proto__":1e20}}')
    expect(JSON.stringify(parsed)).toBe('{"__proto__":{"a":1e20},"b":{"__proto__":1e20}}')
    expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype)
  })
})

describe('what is no JSON', () => {
  it.each(['{"a":1e20,', '{1e20 :1}', '[01e20,1]', '[1e20 1]', '[-,1e20]', '"1e20,'])(
    '%s is not made any',
    (text) => {
      expect(() => parseExact(text)).toThrow(SyntaxError)
      expect(parseExactly(new TextEncoder().encode(text))).toBeUndefined()
    },
  )

  it('and what is nested without end, is read by nobody', () => {
    const deep = `${'['.repeat(100_000)}1e20 ${']'.repeat(100_000)}`
    expect(parseExactly(new TextEncoder().encode(deep))).toBeUndefined()
  })
})

// Money is exact: what is printed reads back as the same amount, and what cannot be exact is refused.
import { describe, expect, it } from 'bun:test'
import { assert, integer, property, stringMatching } from 'fast-check'
import { parseUsd, printUsd, toNanoUsd, toPicoUsd } from './money.ts'

const amounts = integer({ min: 0, max: Number.MAX_SAFE_INTEGER }).map((each) => toNanoUsd(each))

describe('dollars', () => {
  it('read back as the amount that was printed', () => {
    assert(
      property(amounts, (amount) => {
        expect(parseUsd(printUsd(amount))).toBe(amount)
      }),
    )
  })

  it('are printed plainly, without an exponent or a needless zero', () => {
    assert(
      property(amounts, (amount) => {
        expect(printUsd(amount)).toMatch(/^(0|[1-9]\d*)(\.\d{0,8}[1-9])?$/)
      }),
    )
  })

  it('mean what their digits say, however they are written', () => {
    const texts = stringMatching(/^\d{1,6}(\.\d{1,9})?$/)
    assert(
      property(texts, integer({ min: -3, max: 3 }), (text, exponent) => {
        const [whole = '', fraction = ''] = text.split('.')
        const scaled = BigInt(whole + fraction) * 10n ** BigInt(12 - fraction.length + exponent)
        const amount = scaled % 1000n === 0n ? Number(scaled / 1000n) : Number.NaN
        const expected = Number.isSafeInteger(amount) ? amount : undefined
        expect(parseUsd(`${text}e${exponent}`)).toBe(expected as never)
      }),
    )
  })

  it.each([
    [0, 0],
    [1, 1_000_000_000],
    [0.1, 100_000_000],
    [1e-9, 1],
    [1e-7, 100],
    [0.1 + 0.2, undefined],
    ['0.000000001', 1],
    ['0.0000000010', 1],
    ['9007199.254740991', Number.MAX_SAFE_INTEGER],
  ])('%p is %p nano-dollars', (dollars, amount) => {
    expect(parseUsd(dollars)).toBe(amount as never)
  })

  it.each([
    -1,
    -0,
    '-0',
    -1e-9,
    1e-10,
    '0.0000000001',
    1e16,
    1e21,
    1e300,
    '1e400',
    '1e999',
    '1e-999',
    '9007199.254740992',
    Number.NaN,
    Number.POSITIVE_INFINITY,
    '',
    ' ',
    ' 1',
    '1 ',
    '1\n',
    '+1',
    '.5',
    '5.',
    '1,5',
    '0x10',
    '1_000',
    '1e',
    '١',
  ])('%p is no amount', (dollars) => {
    expect(parseUsd(dollars)).toBeUndefined()
  })

  it('are printed with their sign', () => {
    expect(printUsd(toNanoUsd(-1))).toBe('-0.000000001')
    expect(printUsd(toNanoUsd(-1_500_000_000))).toBe('-1.5')
  })
})

describe('the brands', () => {
  it.each([0.5, Number.NaN, 2 ** 53, Number.POSITIVE_INFINITY])('let no %p in', (value) => {
    expect(() => toNanoUsd(value)).toThrow(RangeError)
    expect(() => toPicoUsd(value)).toThrow(RangeError)
  })

  it('let no price be negative', () => {
    expect(() => toPicoUsd(-1)).toThrow(RangeError)
  })
})

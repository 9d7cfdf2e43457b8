// The numbers of embeddings: what is proved of them, and that nothing is lost between the two forms.
import { describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import { passNumbers, readFloats, toBase64, toList, toShortest } from './vector.ts'

const encoder = new TextEncoder()

function sizeOf(text: string): number | undefined {
  const list = passNumbers(encoder.encode(text), 0)
  if (list !== undefined) expect(list.to).toBe(text.trimEnd().length)
  return list?.size
}

function base64Of(...numbers: readonly number[]): string {
  return new Uint8Array(new Float32Array(numbers).buffer).toBase64()
}

const float = fc.float({ noNaN: true, noDefaultInfinity: true })

describe('a list', () => {
  it('is one of numbers, however they are written', () => {
    expect(sizeOf('[0]')).toBe(1)
    expect(sizeOf('[ -1.5e-7,\n\t2E+3 , 0.25,-0 ]')).toBe(4)
    expect(sizeOf(`[${'1'.repeat(38)},3.4028234e38,1e-400]`)).toBe(3)
  })

  it.each([
    '[]',
    '[1,]',
    '[,1]',
    '[1 2]',
    '[NaN]',
    '[Infinity]',
    '[null]',
    '["1"]',
    '[[1]]',
    '[01]',
    '[1.]',
    '[.5]',
    '[+1]',
    '[-]',
    '[1e]',
    '[1e+]',
    '[1e400]',
    '[1e39]',
    '[-3.5e38]',
    `[${'9'.repeat(40)}]`,
    `[${'9'.repeat(40)}e-1]`,
    '[1\u0000]',
    '[1',
    '[',
    '[1,',
  ])('is not %s', (text) => {
    expect(sizeOf(text)).toBeUndefined()
  })

  it('is judged as a parser does', () => {
    const piece = fc.constantFrom('0', '1', '-', '.', 'e', 'E', '+', ',', ' ', '12', '0.5', ']')
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = `[${pieces.join('')}]`
        let parsed: unknown
        try {
          parsed = JSON.parse(text)
        } catch {
          parsed = undefined
        }
        const held = Array.isArray(parsed) && parsed.every((each) => Math.abs(each) < 3.4e38)
        const list = passNumbers(encoder.encode(text), 0)
        const isWhole = list !== undefined && list.to === text.length
        expect(isWhole).toBe(held && (parsed as unknown[]).length > 0)
      }),
      { numRuns: 2000 },
    )
  })
})

describe('base64', () => {
  it('is refused where it is none, or holds what is no number', () => {
    expect(readFloats(base64Of(1, 2))).toEqual(new Float32Array([1, 2]))
    for (const wrong of [Number.NaN, Infinity, -Infinity])
      expect(readFloats(base64Of(1, wrong))).toBeUndefined()
    for (const text of ['AAA', 'AAAA', 'AACA_w==', '!!!!', 'AACAPw'])
      expect(readFloats(text)).toBeUndefined()
  })

  it('and a list are the same numbers, there and back', () => {
    fc.assert(
      fc.property(fc.array(float, { minLength: 1, maxLength: 50 }), (numbers) => {
        const text = base64Of(...numbers)
        const list = toList(text)
        expect(sizeOf(list)).toBe(numbers.length)
        const back = readFloats(JSON.parse(toBase64(list)) as string)!
        for (const [index, each] of numbers.entries()) expect(back[index] === each).toBe(true)
        // What came as a list of doubles is no other after it has been through both.
        expect(toList(JSON.parse(toBase64(list)) as string)).toBe(list)
      }),
    )
  })

  it('is printed in the fewest digits', () => {
    expect(toList(base64Of(0.1, -0.25, 1, 1e-7, 16_777_216, 3.4028234e38, 1e-45))).toBe(
      '[0.1,-0.25,1,1e-7,16777216,3.4028235e+38,1e-45]',
    )
    fc.assert(
      fc.property(float, (number) => {
        const shortest = toShortest(number)
        expect(Math.fround(shortest) === number).toBe(true)
        expect(digitsOf(shortest)).toBeLessThanOrEqual(9)
        // At a power of two the neighbours are unequally far, and a digit more may be printed.
        for (let digits = 1; digits < digitsOf(shortest); digits++)
          if (!isPowerOfTwo(number))
            expect(Math.fround(Number(number.toPrecision(digits))) === number).toBe(false)
      }),
      { numRuns: 2000 },
    )
  })
})

function digitsOf(number: number): number {
  const [digits = ''] = number.toExponential().split('e')
  return digits.replace(/[-.]/g, '').length
}

function isPowerOfTwo(number: number): boolean {
  return Number.isInteger(Math.log2(Math.abs(number)))
}

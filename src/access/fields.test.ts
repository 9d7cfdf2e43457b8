// Amounts from a body: every amount that can be told exactly is read exactly, and every other is refused.
import { describe, expect, it } from 'bun:test'
import { assert, integer, property } from 'fast-check'
import { printUsd, toNanoUsd } from '../core/money.ts'
import { readAmount, readIds, readSignedAmount } from './fields.ts'

const NANO = 1_000_000_000

/** The same amounts in every run. */
const RUNS = { numRuns: 5000, seed: 42 }

/** As JSON has it. */
function told(amount: number): unknown {
  return JSON.parse(printUsd(toNanoUsd(amount)))
}

function tryToRead(amount: number): number | undefined {
  try {
    return Number(readAmount('x', told(amount)))
  } catch (thrown) {
    expect(thrown).toMatchObject({ code: 'validation_error', param: 'x' })
    return undefined
  }
}

describe('an amount', () => {
  it('up to four million dollars is read to the last nano-dollar, in both directions', () => {
    assert(
      property(integer({ min: 1, max: 4_000_000 * NANO }), (amount) => {
        expect(Number(readAmount('x', told(amount)))).toBe(amount)
        expect(Number(readSignedAmount('x', told(-amount)))).toBe(-amount)
      }),
      RUNS,
    )
  })

  it('beyond that is read exactly or not at all', () => {
    let refused = 0
    assert(
      property(integer({ min: 8_500_000 * NANO, max: 9_000_000 * NANO }), (amount) => {
        const read = tryToRead(amount)
        if (read === undefined) refused++
        else expect(read).toBe(amount)
      }),
      RUNS,
    )
    expect(refused).toBeGreaterThan(0)
    expect(Number(readAmount('x', 9_000_000))).toBe(9_000_000 * NANO)
  })

  it.each([-1, Number.NaN, Infinity, '1', true, null, {}, 1e-10, 9_000_000.5])(
    'is not %p',
    (value) => {
      expect(() => readAmount('x', value)).toThrow('Send `x`')
    },
  )

  it.each([0, -0, 1e-10, -1e-10, '-1', Infinity])('with a sign is not %p', (value) => {
    expect(() => readSignedAmount('x', value)).toThrow('Send `x`')
  })
})

describe('a list of ids', () => {
  it('names each once and no more than it may', () => {
    expect(readIds('x', ['b', 'a'], 2)).toEqual(['b', 'a'])
    for (const value of [['a', 'a'], ['a', 'b', 'c'], [''], [7], 'a', {}])
      expect(() => readIds('x', value, 2)).toThrow('Send `x`')
  })
})

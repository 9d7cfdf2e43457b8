// The maximum that is sent where a language demands one and the caller has named none.
import { describe, expect, it } from 'bun:test'
import { NO_LOAD, type Load, type ModelLimits } from '../../core/load.ts'
import { toPicoUsd, ZERO_USD } from '../../core/money.ts'
import { Bound, type Fit } from './bound.ts'

const price = { input: toPicoUsd(1000), output: toPicoUsd(1000) }

interface Case {
  readonly load: Partial<Load>
  readonly limits?: ModelLimits
  /** What there is to hold, where that is less than the call may cost. */
  readonly rest?: number
}

const FREE: Fit = { amount: ZERO_USD, maxTokens: undefined, outputTokens: 0 }

function demandedBy({ load, limits, rest }: Case): number {
  const bound = new Bound({ ...NO_LOAD, ...load }, [{ price, limits }])
  const fit = rest === undefined ? bound.whole() : bound.fit(rest, false, true)
  return bound.demandedMaxAt(0, fit ?? FREE)
}

describe('a maximum that is demanded', () => {
  it.each<readonly [string, number, Case]>([
    [
      "is the caller's",
      77,
      { load: { bytes: 10, maxTokens: 77 }, limits: { contextWindow: 9000 } },
    ],
    [
      'is no more than the model puts out',
      500,
      {
        load: { bytes: 10, maxTokens: 777 },
        limits: { contextWindow: 9000, outputCeiling: 500 },
      },
    ],
    [
      'is what was held for, where that is less',
      1024,
      { load: { bytes: 10, maxTokens: 50_000 }, limits: { contextWindow: 90_000 }, rest: 4010 },
    ],
    [
      'leaves room for what is read',
      8192 - 5000,
      { load: { bytes: 20_000 }, limits: { contextWindow: 8192 } },
    ],
    [
      'leaves something to answer with where nothing is left',
      1024,
      { load: { bytes: 40_000 }, limits: { contextWindow: 8192 } },
    ],
    ['is 32,768 where nobody knows the most', 32_768, { load: { bytes: 10 } }],
  ])('%s', (_, tokens, supposed) => {
    expect(demandedBy(supposed)).toBe(tokens)
  })
})

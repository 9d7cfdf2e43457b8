// Of several who may answer, what each of them is sent and reads: one list may mix models that differ in all of it.
import { describe, expect, it } from 'bun:test'
import { NO_LOAD, type Load, type ModelLimits } from '../../core/load.ts'
import { toPicoUsd } from '../../core/money.ts'
import type { Price } from '../../core/usage.ts'
import { Bound, LEAST_TOKENS, type BoundTerms, type CountOf } from './bound.ts'

function price(input: number, output: number): Price {
  return { input: toPicoUsd(input), output: toPicoUsd(output) }
}

/** A nano-dollar a token, so that amounts are numbers of tokens. */
function terms(limits: ModelLimits): readonly BoundTerms[] {
  return [{ price: price(1000, 1000), limits }]
}

describe('the input of a call to one of several', () => {
  const load = { ...NO_LOAD, bytes: 1000, messages: 1 }

  it('is what its own vocabulary makes of it', () => {
    const known = { price: price(1000, 0), limits: { tokenizer: 'o200k' as const } }
    const other = { price: price(2000, 0), limits: undefined }
    const countOf: CountOf = (tokenizer) => (tokenizer === 'o200k' ? 100 : 300)
    const bound = new Bound({ ...load, maxTokens: 1 }, [known, other], countOf)
    expect([bound.inputTokensAt(0), bound.inputTokensAt(1), bound.inputTokens]).toEqual([
      116, 316, 316,
    ])
    expect(bound.whole()?.amount).toBe(632 as never)
  })

  it('is its own window where something is elsewhere, and else what is in the body', () => {
    const both = [
      ...terms({ contextWindow: 8000 }),
      ...terms({ contextWindow: 5000 }),
      ...terms({}),
    ]
    const bound = new Bound({ ...load, elsewhere: 'file_id' }, both)
    expect([0, 1, 2].map((index) => bound.inputTokensAt(index))).toEqual([8000, 5000, 1016])
  })
})

describe('what one attempt is sent', () => {
  const both = [...terms({ outputCeiling: 500 }), ...terms({ outputCeiling: 9000 })]
  const sent = (load: Partial<Load>, rest?: number): readonly unknown[] => {
    const bound = new Bound({ ...NO_LOAD, bytes: 100, ...load }, both)
    const fit = (rest === undefined ? bound.whole() : bound.fit(rest, true, true))!
    return both.flatMap((_, at) => [bound.maxTokensAt(at, fit), bound.outputTokensAt(at, fit)])
  }

  it.each<readonly [string, Partial<Load>, number | undefined, readonly unknown[]]>([
    ['nothing where nothing was asked', {}, undefined, [undefined, 500, undefined, 9000]],
    ['what was asked', { maxTokens: 400 }, undefined, [undefined, 400, undefined, 400]],
    ['its own ceiling', { maxTokens: 800 }, undefined, [500, 500, undefined, 800]],
    ['each its own ceiling', { maxTokens: 9001 }, undefined, [500, 500, 9000, 9000]],
    ['no more than is paid for', { maxTokens: 9001 }, 20_100, [500, 500, 5000, 5000]],
    ['that where it was not asked for, if need be', {}, 20_100, [undefined, 500, 5000, 5000]],
    ['for each choice', { maxTokens: 800, choices: 2 }, undefined, [500, 1000, undefined, 1600]],
    [
      'beside what is foretold',
      { maxTokens: 800, predictedBytes: 7 },
      undefined,
      [500, 507, undefined, 807],
    ],
  ])('is %s', (_, load, rest, expected) => {
    expect(sent(load, rest)).toEqual(expected)
  })

  it('leaves room for the input in its own window', () => {
    const windows = [
      ...terms({ contextWindow: 900_000, outputCeiling: 100_000 }),
      ...terms({ contextWindow: 60_000 }),
      ...terms({ contextWindow: 51_000 }),
    ]
    const bound = new Bound({ ...NO_LOAD, bytes: 200_000 }, windows)
    const fit = bound.fit(400_000, true, true)!
    expect(windows.map((_, index) => bound.maxTokensAt(index, fit))).toEqual([
      50_000,
      10_000,
      LEAST_TOKENS,
    ])
  })

  it('is nothing of an attempt that there is not', () => {
    const bound = new Bound(NO_LOAD, both)
    expect(() => bound.maxTokensAt(2, bound.whole()!)).toThrow(RangeError)
  })
})

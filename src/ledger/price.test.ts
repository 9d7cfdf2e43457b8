// A call's price against the same sum in whole integers of any size: never a nano-dollar off, rounded
// once and upward.
import { describe, expect, it } from 'bun:test'
import { assert, integer, option, property, record } from 'fast-check'
import { toPicoUsd } from '../core/money.ts'
import type { Rates, Usage } from '../core/usage.ts'
import { costOf } from './price.ts'

const counts = integer({ min: 0, max: 10_000_000 })
const prices = integer({ min: 0, max: 100_000_000 }).map((each) => toPicoUsd(each))

const usages = record({
  input: counts,
  cached: counts,
  written: counts,
  output: counts,
}).map(({ input, cached, written, output }): Usage => ({
  inputTokens: input + cached + written,
  cachedTokens: cached,
  cacheWriteTokens: written,
  outputTokens: output,
  reasoningTokens: 0,
}))

const rates = record({
  input: prices,
  output: prices,
  cachedInput: option(prices, { nil: undefined }),
  cacheWrite: option(prices, { nil: undefined }),
}).map(({ input, output, cachedInput, cacheWrite }): Rates => ({
  input,
  output,
  ...(cachedInput === undefined ? {} : { cachedInput }),
  ...(cacheWrite === undefined ? {} : { cacheWrite }),
}))

function exactly(usage: Usage, rates: Rates): number {
  const { inputTokens, cachedTokens, cacheWriteTokens, outputTokens } = usage
  const pico =
    BigInt(inputTokens - cachedTokens - cacheWriteTokens) * BigInt(rates.input) +
    BigInt(cachedTokens) * BigInt(rates.cachedInput ?? rates.input) +
    BigInt(cacheWriteTokens) * BigInt(rates.cacheWrite ?? rates.input) +
    BigInt(outputTokens) * BigInt(rates.output)
  return Number((pico + 999n) / 1000n)
}

const NOTHING: Usage = {
  inputTokens: 0,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
}

describe('the price of a call', () => {
  it('is exact for any usage at any rate', () => {
    assert(
      property(usages, rates, (usage, rates) => {
        expect<number>(costOf(usage, rates)).toBe(exactly(usage, rates))
      }),
      { numRuns: 2000 },
    )
  })

  it('takes the rates for a long input from the first token above the mark', () => {
    assert(
      property(usages, rates, rates, counts, (usage, plain, long, above) => {
        const price = { ...plain, longContext: { above, rates: long } }
        const expected = exactly(usage, usage.inputTokens > above ? long : plain)
        expect<number>(costOf(usage, price)).toBe(expected)
      }),
    )
  })

  it('never falls when more is used', () => {
    assert(
      property(usages, rates, counts, (usage, rates, more) => {
        const larger = { ...usage, outputTokens: usage.outputTokens + more }
        expect(costOf(larger, rates)).toBeGreaterThanOrEqual(costOf(usage, rates))
      }),
    )
  })

  it('is a nano-dollar for the smallest part of one', () => {
    const rates = { input: toPicoUsd(1), output: toPicoUsd(0) }
    expect<number>(costOf({ ...NOTHING, inputTokens: 1 }, rates)).toBe(1)
    expect<number>(costOf({ ...NOTHING, inputTokens: 1000 }, rates)).toBe(1)
    expect<number>(costOf({ ...NOTHING, inputTokens: 1001 }, rates)).toBe(2)
  })

  it('is nothing when nothing is known', () => {
    const rates = { input: toPicoUsd(1), output: toPicoUsd(1) }
    expect<number>(costOf(undefined, rates)).toBe(0)
    expect<number>(costOf(NOTHING, rates)).toBe(0)
  })

  it('never counts a token as less than none when the parts exceed the whole', () => {
    const rates = { input: toPicoUsd(1000), cachedInput: toPicoUsd(0), output: toPicoUsd(0) }
    expect<number>(costOf({ ...NOTHING, inputTokens: 5, cachedTokens: 9 }, rates)).toBe(0)
  })
})

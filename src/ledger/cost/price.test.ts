// A call's price against the same sum in whole integers of any size: never a nano-dollar off, rounded
// once and upward.
import { describe, expect, it } from 'bun:test'
import { assert, integer, property, record, type Arbitrary } from 'fast-check'
import { catalogue } from '../../catalog/index.ts'
import { DOLLARS_MAX } from '../../config/price.ts'
import { toPicoUsd } from '../../core/money.ts'
import type { PriceList, Rates, Usage } from '../../core/usage.ts'
import { readUsage } from '../../dialects/openai-chat/usage.ts'
import { costOf, priceAt } from './price.ts'

const counts = integer({ min: 0, max: 10_000_000 })
const prices = integer({ min: 0, max: 100_000_000 }).map((each) => toPicoUsd(each))

const usages = record({
  input: counts,
  cached: counts,
  written: counts,
  kept: counts,
  heard: counts,
  output: counts,
  reasoned: counts,
  spoken: counts,
}).map((each): Usage => ({
  inputTokens: each.input + each.cached + each.written + each.kept + each.heard,
  cachedTokens: each.cached,
  cacheWriteTokens: each.written + each.kept,
  cacheWriteLongTokens: each.kept,
  audioInputTokens: each.heard,
  outputTokens: each.output + each.reasoned + each.spoken,
  reasoningTokens: each.reasoned,
  audioOutputTokens: each.spoken,
}))

const rates: Arbitrary<Rates> = record(
  {
    input: prices,
    output: prices,
    cachedInput: prices,
    cacheWrite: prices,
    cacheWriteLong: prices,
    audioInput: prices,
    reasoning: prices,
    audioOutput: prices,
  },
  { requiredKeys: ['input', 'output'] },
)

function exactly(usage: Usage, rates: Rates): number {
  const { inputTokens, cachedTokens, cacheWriteTokens, audioInputTokens } = usage
  const { cacheWriteLongTokens, outputTokens, reasoningTokens, audioOutputTokens } = usage
  const write = rates.cacheWrite ?? rates.input
  const pico =
    BigInt(inputTokens - cachedTokens - cacheWriteTokens - audioInputTokens) * BigInt(rates.input) +
    BigInt(cachedTokens) * BigInt(rates.cachedInput ?? rates.input) +
    BigInt(cacheWriteTokens - cacheWriteLongTokens) * BigInt(write) +
    BigInt(cacheWriteLongTokens) * BigInt(rates.cacheWriteLong ?? write) +
    BigInt(audioInputTokens) * BigInt(rates.audioInput ?? rates.input) +
    BigInt(outputTokens - reasoningTokens - audioOutputTokens) * BigInt(rates.output) +
    BigInt(reasoningTokens) * BigInt(rates.reasoning ?? rates.output) +
    BigInt(audioOutputTokens) * BigInt(rates.audioOutput ?? rates.output)
  return Number((pico + 999n) / 1000n)
}

const NOTHING: Usage = {
  inputTokens: 0,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  cacheWriteLongTokens: 0,
  audioInputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  audioOutputTokens: 0,
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

  it('is exact for the most that a supplier can report at the highest rate of a file', () => {
    const most = 1_000_000_000
    const rate = toPicoUsd(DOLLARS_MAX * 1_000_000)
    const { usage } = readUsage({
      prompt_tokens: most,
      completion_tokens: most,
      prompt_tokens_details: { cached_tokens: most, cache_write_tokens: most },
      completion_tokens_details: { reasoning_tokens: most, audio_tokens: most },
    })
    expect(usage).toMatchObject({ inputTokens: 3 * most, outputTokens: 2 * most })
    expect(readUsage({ prompt_tokens: most + 1, completion_tokens: 1 }).usage).toBeUndefined()
    const cost = costOf(usage, { input: rate, output: rate })
    expect<number>(cost).toBe(5000 * DOLLARS_MAX * 1_000_000_000)
    expect(Number.isSafeInteger(cost)).toBe(true)
  })

  it('of no model of the catalogue is beyond that rate', () => {
    const lists = catalogue.flatMap(({ suppliers }) =>
      [...suppliers.values()].flatMap((each) => [each.prices, ...each.regional.values()]),
    )
    expect(lists).not.toBeEmpty()
    for (const { price } of lists.flat())
      for (const rates of [price, price.longContext?.rates ?? price]) {
        const { input, output, cachedInput = 0, cacheWrite = 0 } = rates
        const { cacheWriteLong = 0, audioInput = 0, reasoning = 0, audioOutput = 0 } = rates
        const inputs = [input, cachedInput, cacheWrite, cacheWriteLong, audioInput]
        const outputs = [output, reasoning, audioOutput]
        expect(Math.max(...inputs, ...outputs)).toBeLessThanOrEqual(DOLLARS_MAX * 1_000_000)
      }
  })

  it('ends with the exact range, whatever is told and at whatever price', () => {
    const rate = toPicoUsd(Number.MAX_SAFE_INTEGER)
    for (const tokens of [2001, 1_000_000_000, Number.MAX_SAFE_INTEGER, Infinity])
      expect<number>(
        costOf({ ...NOTHING, inputTokens: tokens }, { input: rate, output: rate }),
      ).toBe(Number.MAX_SAFE_INTEGER)
    const last = costOf({ ...NOTHING, inputTokens: 1000 }, { input: rate, output: rate })
    expect<number>(last).toBe(Number.MAX_SAFE_INTEGER)
    const less = costOf({ ...NOTHING, inputTokens: 999 }, { input: rate, output: rate })
    expect(BigInt(less)).toBe((999n * BigInt(Number.MAX_SAFE_INTEGER) + 999n) / 1000n)
  })

  it('counts a part of a token as a whole one where the sum is large', () => {
    const rate = toPicoUsd(1_000_000_000_000_000)
    const usage = { ...NOTHING, inputTokens: 10.5 }
    expect<number>(costOf(usage, { input: rate, output: rate })).toBe(11_000_000_000_000)
  })

  it('is a nano-dollar for the smallest part of one', () => {
    const rates = { input: toPicoUsd(1), output: toPicoUsd(0) }
    expect<number>(costOf({ ...NOTHING, inputTokens: 1 }, rates)).toBe(1)
    expect<number>(costOf({ ...NOTHING, inputTokens: 1000 }, rates)).toBe(1)
    expect<number>(costOf({ ...NOTHING, inputTokens: 1001 }, rates)).toBe(2)
  })

  it('takes writes for an hour for other writes, and those for input, where they have no rate', () => {
    const usage = { ...NOTHING, inputTokens: 9, cacheWriteTokens: 8, cacheWriteLongTokens: 5 }
    const plain = { input: toPicoUsd(1000), output: toPicoUsd(0) }
    const writing = { ...plain, cacheWrite: toPicoUsd(2000) }
    expect<number>(costOf(usage, plain)).toBe(9)
    expect<number>(costOf(usage, writing)).toBe(1 + 8 * 2)
    const long = { ...writing, cacheWriteLong: toPicoUsd(7000) }
    expect<number>(costOf(usage, long)).toBe(1 + 3 * 2 + 5 * 7)
    expect<number>(costOf(usage, { ...plain, cacheWriteLong: toPicoUsd(7000) })).toBe(4 + 5 * 7)
  })

  it('of writes for an hour is exact where a number is not', () => {
    const rate = toPicoUsd(1_000_000_007)
    const tokens = 90_000_001
    const usage = {
      ...NOTHING,
      inputTokens: tokens,
      cacheWriteTokens: tokens,
      cacheWriteLongTokens: tokens - 2,
    }
    const rates = { input: toPicoUsd(1), output: toPicoUsd(1), cacheWriteLong: rate }
    expect<number>(costOf(usage, rates)).toBe(exactly(usage, rates))
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

describe('a price that changes on a day', () => {
  const price = (input: number) => ({ input: toPicoUsd(input), output: toPicoUsd(0) })
  const from = Date.UTC(2026, 11, 1)
  const prices: PriceList = [
    { from: 0, price: price(1) },
    { from, price: price(2) },
  ]

  it('is the old one up to the last millisecond before, and the new one from then on', () => {
    expect(priceAt(prices, 0).input).toBe(toPicoUsd(1))
    expect(priceAt(prices, from - 1).input).toBe(toPicoUsd(1))
    expect(priceAt(prices, from).input).toBe(toPicoUsd(2))
    expect(priceAt(prices, from + 1e12).input).toBe(toPicoUsd(2))
  })
})

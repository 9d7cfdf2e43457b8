// The worst case against every usage that it must cover, and what a budget makes of it. Figures that can be
// worked out by hand stand in the examples; the rest is left to chance and to whole integers of any size.
import { describe, expect, it } from 'bun:test'
import {
  array,
  assert,
  boolean,
  constant,
  integer,
  oneof,
  option,
  property,
  record,
  type Arbitrary,
} from 'fast-check'
import { NO_LOAD, type Load, type ModelLimits } from '../../core/load.ts'
import { toPicoUsd } from '../../core/money.ts'
import type { Price, Rates, Usage } from '../../core/usage.ts'
import { Bound, ENDLESS_TOKENS, LEAST_TOKENS, type BoundTerms, type CountOf } from './bound.ts'
import { costOf } from './price.ts'

const RUNS = { numRuns: 3000 }

/** A nano-dollar a token, so that amounts are numbers of tokens. */
const PLAIN: Price = { input: toPicoUsd(1000), output: toPicoUsd(1000) }
const FREE: Price = { input: toPicoUsd(0), output: toPicoUsd(0) }

function price(input: number, output: number): Price {
  return { input: toPicoUsd(input), output: toPicoUsd(output) }
}

function terms(limits: ModelLimits | undefined, at: Price = PLAIN): readonly BoundTerms[] {
  return [{ price: at, limits }]
}

function wholeOf(load: Partial<Load>, all: readonly BoundTerms[]): number | undefined {
  return new Bound({ ...NO_LOAD, ...load }, all).whole()?.amount
}

describe('the input of a call', () => {
  it('is exactly as many tokens as came as such', () => {
    const load = { bytes: 1000, tokens: 123, inline: [{ from: 0, to: 1000 }], maxTokens: 0 }
    expect(wholeOf(load, terms(undefined))).toBe(123)
    expect(wholeOf({ ...load, inline: [{ from: 0, to: 990 }] }, terms(undefined))).toBe(133)
    expect(new Bound({ ...NO_LOAD, ...load }, terms(undefined), () => 4).inputTokens).toBe(127)
  })

  const inputOf = (load: Partial<Load>, limits?: ModelLimits, countOf?: CountOf): number =>
    new Bound({ ...NO_LOAD, ...load }, terms(limits), countOf).inputTokens

  it.each<readonly [string, Partial<Load>, ModelLimits | undefined, number]>([
    ['has no more tokens than bytes', { bytes: 100 }, undefined, 100],
    ['has sixteen more for each message', { bytes: 100, messages: 3 }, undefined, 148],
    ['is no larger than the window', { bytes: 100, messages: 3 }, { contextWindow: 90 }, 90],
    ['counts an image of unknown size as the largest', { bytes: 10, images: 2 }, {}, 100_010],
    ['counts an image as its model does', { bytes: 10, images: 2 }, { imageTokens: 765 }, 1540],
    ['counts audio at its lowest bit-rate, rounded up', { audioBytes: 1001 }, {}, 33],
  ])('%s', (_, load, limits, tokens) => {
    expect(inputOf(load, limits)).toBe(tokens)
  })

  it('is not what an image looks like as text', () => {
    const inline = [
      { from: 100, to: 900 },
      { from: 910, to: 950 },
    ]
    expect(inputOf({ bytes: 1000, images: 2, inline }, { imageTokens: 5 })).toBe(170)
  })

  it('is what was counted in place of the text, and the rest as before', () => {
    const load = { bytes: 1000, inline: [{ from: 0, to: 600 }], messages: 1, images: 1 }
    expect(inputOf(load, { imageTokens: 7 })).toBe(400 + 16 + 7)
    expect(inputOf(load, { imageTokens: 7 }, () => 90)).toBe(90 + 16 + 7)
  })

  it('is the whole window where something is elsewhere', () => {
    expect(inputOf({ bytes: 10, elsewhere: 'file_id' }, { contextWindow: 8000 })).toBe(8000)
  })

  it('is the largest of all who may answer', () => {
    const both = [...terms({ contextWindow: 50 }), ...terms({ contextWindow: 80 })]
    expect(new Bound({ ...NO_LOAD, bytes: 100 }, both).inputTokens).toBe(80)
  })
})

describe('the worst case', () => {
  it.each<readonly [string, Partial<Load>, ModelLimits, number]>([
    ['takes the maximum of the caller', { maxTokens: 5 }, { outputCeiling: 9 }, 5],
    ['takes the ceiling below that', { maxTokens: 50 }, { outputCeiling: 9 }, 9],
    ['takes the ceiling without one', {}, { outputCeiling: 9 }, 9],
    ['takes the window without a ceiling', {}, { contextWindow: 20 }, 20],
    ['counts every choice', { maxTokens: 5, choices: 3 }, {}, 15],
    ['reads the prompt once for all choices', { bytes: 7, maxTokens: 5, choices: 3 }, {}, 22],
    ['adds what is foretold, once', { maxTokens: 5, choices: 3, predictedBytes: 4 }, {}, 19],
  ])('%s', (_, load, limits, amount) => {
    expect(wholeOf(load, terms(limits))).toBe(amount)
  })

  it('rounds up once', () => {
    const odd = price(1, 1)
    expect(wholeOf({ bytes: 1, maxTokens: 1 }, terms(undefined, odd))).toBe(1)
    expect(wholeOf({ bytes: 501, maxTokens: 500 }, terms(undefined, odd))).toBe(2)
  })

  it('is that of the dearest of all who may answer', () => {
    const dearInput = { price: price(9000, 1000), limits: { outputCeiling: 10 } }
    const dearOutput = { price: price(1000, 5000), limits: { outputCeiling: 10 } }
    expect(wholeOf({ bytes: 10 }, [dearInput, dearOutput])).toBe(100)
    expect(wholeOf({ bytes: 1 }, [dearInput, dearOutput])).toBe(51)
  })

  it('fills the window with whatever is dearer', () => {
    const limits = { contextWindow: 100, outputCeiling: 30 }
    expect(wholeOf({ bytes: 500 }, terms(limits, price(1000, 4000)))).toBe(70 + 30 * 4)
    expect(wholeOf({ bytes: 500 }, terms(limits, price(4000, 1000)))).toBe(100 * 4)
    expect(wholeOf({ bytes: 80 }, terms(limits, price(4000, 1000)))).toBe(80 * 4 + 20)
  })

  it('takes the dearest rate that the call can incur', () => {
    const dear: Price = {
      ...PLAIN,
      cacheWrite: toPicoUsd(2000),
      audioInput: toPicoUsd(7000),
      reasoning: toPicoUsd(3000),
      audioOutput: toPicoUsd(9000),
    }
    const all = terms({ outputCeiling: 10 }, dear)
    expect(wholeOf({ bytes: 10 }, all)).toBe(20 + 30)
    expect(wholeOf({ bytes: 10, asksAudio: true }, all)).toBe(20 + 90)
    expect(wholeOf({ bytes: 10, audioBytes: 1 }, all)).toBe(11 * 7 + 30)
    const kept = terms({ outputCeiling: 10 }, { ...dear, cacheWriteLong: toPicoUsd(4000) })
    expect(wholeOf({ bytes: 10 }, kept)).toBe(20 + 30)
    expect(wholeOf({ bytes: 10, writesLong: true }, kept)).toBe(40 + 30)
    expect(wholeOf({ bytes: 10, writesLong: true }, all)).toBe(20 + 30)
    const windowed = terms({ contextWindow: 10, outputCeiling: 10 }, dear)
    expect(wholeOf({ bytes: 1, maxTokens: 1, elsewhere: 'file_id' }, windowed)).toBe(70)
  })

  it('takes the rates for a long input only where the input can be so long', () => {
    const long: Price = { ...PLAIN, longContext: { above: 100, rates: price(2000, 3000) } }
    const all = terms({ outputCeiling: 10 }, long)
    expect(wholeOf({ bytes: 100 }, all)).toBe(110)
    expect(wholeOf({ bytes: 101 }, all)).toBe(202 + 30)
    expect(wholeOf({ bytes: 9000 }, terms({ contextWindow: 100, outputCeiling: 10 }, long))).toBe(
      100,
    )
  })

  it('is unknown where nothing bounds the output, unless that is free', () => {
    expect(wholeOf({ bytes: 10 }, terms(undefined))).toBeUndefined()
    expect(wholeOf({ bytes: 10 }, [...terms({ outputCeiling: 9 }), ...terms({})])).toBeUndefined()
    const free = new Bound({ ...NO_LOAD, bytes: 10 }, terms(undefined, price(1000, 0)))
    expect(free.whole()).toEqual({
      amount: 10 as never,
      maxTokens: undefined,
      outputTokens: ENDLESS_TOKENS,
    })
  })

  it('is unknown where nothing bounds the input, unless that is free', () => {
    const load = { bytes: 10, maxTokens: 5, elsewhere: 'file_id' }
    expect(wholeOf(load, terms({ outputCeiling: 9 }))).toBeUndefined()
    const bound = new Bound({ ...NO_LOAD, ...load }, terms(undefined))
    expect(bound.fit(Number.MAX_SAFE_INTEGER, false, true)).toBeUndefined()
    expect(wholeOf(load, terms(undefined, price(0, 1000)))).toBe(5)
    expect(wholeOf(load, terms(undefined, FREE))).toBe(0)
  })

  it('stays exact where a number does not', () => {
    const dear = integer({ min: 500_000_000, max: 1_500_000_000 })
    const many = integer({ min: 20_000_000, max: 200_000_000 })
    assert(
      property(dear, dear, many, many, (input, output, bytes, maxTokens) => {
        const pico = BigInt(bytes) * BigInt(input) + BigInt(maxTokens) * BigInt(output)
        expect(pico).toBeGreaterThan(BigInt(Number.MAX_SAFE_INTEGER))
        const amount = wholeOf({ bytes, maxTokens }, terms(undefined, price(input, output)))
        expect(BigInt(amount ?? 0)).toBe((pico + 999n) / 1000n)
      }),
      RUNS,
    )
  })

  it('is unknown beyond what an amount can be', () => {
    const dear = price(1_500_000_000, 1_500_000_000)
    expect(wholeOf({ images: 1_000_000 }, terms(undefined, dear))).toBeUndefined()
    const endless = { maxTokens: Number.MAX_SAFE_INTEGER }
    expect(wholeOf(endless, terms(undefined))).toBe(Number.MAX_SAFE_INTEGER)
    expect(wholeOf({ ...endless, choices: 2 }, terms(undefined))).toBeUndefined()
    expect(wholeOf({ ...endless, choices: 2 }, terms(undefined, price(0, 1)))).toBeUndefined()
    expect(wholeOf({ ...endless, choices: 2 }, terms(undefined, FREE))).toBe(0)
  })
})

const rates = integer({ min: 0, max: 100_000_000 }).map((rate) => toPicoUsd(rate))

const allRates: Arbitrary<Rates> = record(
  {
    input: rates,
    output: rates,
    cachedInput: rates,
    cacheWrite: rates,
    cacheWriteLong: rates,
    audioInput: rates,
    reasoning: rates,
    audioOutput: rates,
  },
  { requiredKeys: ['input', 'output'] },
)

const prices: Arbitrary<Price> = oneof(
  allRates,
  record({
    rates: allRates,
    longContext: record({ above: integer({ min: 1, max: 30_000 }), rates: allRates }),
  }).map((each): Price => ({ ...each.rates, longContext: each.longContext })),
)

const sizes: Arbitrary<ModelLimits> = record(
  {
    contextWindow: integer({ min: 1, max: 100_000 }),
    outputCeiling: integer({ min: 1, max: 50_000 }),
    imageTokens: integer({ min: 1, max: 5000 }),
  },
  { requiredKeys: [] },
)

/** Of one call: somebody has to know how much it can put out. */
const bounded: Arbitrary<BoundTerms> = record({
  price: prices,
  limits: sizes.map((limits) => ({ outputCeiling: 20_000, ...limits })),
})

const loads: Arbitrary<Load> = record({
  bytes: integer({ min: 0, max: 100_000 }),
  messages: integer({ min: 0, max: 100 }),
  images: integer({ min: 0, max: 3 }),
  inline: constant([]),
  audioBytes: oneof(constant(0), integer({ min: 0, max: 100_000 })),
  maxTokens: option(integer({ min: 1, max: 60_000 }), { nil: undefined }),
  choices: integer({ min: 1, max: 4 }),
  thinkingTokens: oneof(constant(0), constant(1024)),
  predictedBytes: oneof(constant(0), integer({ min: 0, max: 2000 })),
  asksAudio: boolean(),
  writesLong: boolean(),
  elsewhere: constant(undefined),
  unbounded: constant(undefined),
})

/** Fractions of what is possible, with both ends likely: that is where a bound fails. */
const shares = oneof(
  constant(0),
  constant(1),
  integer({ min: 0, max: 1000 }).map((n) => n / 1000),
)

const draws = record({
  input: shares,
  output: shares,
  cached: shares,
  written: shares,
  kept: shares,
  heard: shares,
  reasoned: shares,
  spoken: shares,
})
type Draw = typeof draws extends Arbitrary<infer Drawn> ? Drawn : never

/** Some usage that one attempt may report, with every part of it within its whole. */
function usageOf(load: Load, limits: ModelLimits, draw: Draw, input: number): Usage {
  const window = limits.contextWindow ?? Infinity
  const inputTokens = Math.floor(Math.min(input, window) * draw.input)
  const ceiling = Math.min(load.maxTokens ?? Infinity, limits.outputCeiling ?? window)
  const each = Math.min(ceiling, window - inputTokens)
  const outputTokens = Math.floor((load.choices * each + load.predictedBytes) * draw.output)
  const cached = Math.floor(inputTokens * draw.cached)
  const written = Math.floor((inputTokens - cached) * draw.written)
  const heard = load.audioBytes > 0 ? (inputTokens - cached - written) * draw.heard : 0
  const reasoned = Math.floor(outputTokens * draw.reasoned)
  const spoken = load.asksAudio ? (outputTokens - reasoned) * draw.spoken : 0
  return {
    inputTokens,
    cachedTokens: cached,
    cacheWriteTokens: written,
    cacheWriteLongTokens: load.writesLong ? Math.floor(written * draw.kept) : 0,
    audioInputTokens: Math.floor(heard),
    outputTokens,
    reasoningTokens: reasoned,
    audioOutputTokens: Math.floor(spoken),
  }
}

describe('no usage within the limits', () => {
  it('costs more than the worst case, whoever answers', () => {
    assert(
      property(loads, array(bounded, { minLength: 1, maxLength: 3 }), draws, (load, all, draw) => {
        const amount = new Bound(load, all).whole()?.amount
        for (const [index, { price: at, limits = {} }] of all.entries()) {
          const input = new Bound(load, all.slice(index, index + 1)).inputTokens
          const cost = costOf(usageOf(load, limits, draw, input), at)
          expect(cost).toBeLessThanOrEqual(amount ?? -1)
        }
      }),
      RUNS,
    )
  })

  it('costs more than what a budget made of it', () => {
    const rests = integer({ min: 0, max: 5_000_000_000 })
    assert(
      property(loads, bounded, draws, rests, (load, each, draw, rest) => {
        const bound = new Bound(load, [each])
        const fit = bound.fit(rest, true, true)
        if (fit === undefined) return
        const sent = { ...load, maxTokens: fit.maxTokens ?? load.maxTokens }
        const usage = usageOf(sent, each.limits ?? {}, draw, bound.inputTokens)
        expect(costOf(usage, each.price)).toBeLessThanOrEqual(fit.amount)
        expect(usage.outputTokens).toBeLessThanOrEqual(fit.outputTokens)
      }),
      RUNS,
    )
  })

  it('costs more than was held at anybody who keeps to what it was sent, whatever its model can put out', () => {
    const lists = array(bounded, { minLength: 1, maxLength: 3 })
    const rests = option(integer({ min: 0, max: 5_000_000_000 }), { nil: undefined })
    assert(
      property(loads, lists, draws, rests, (load, all, draw, rest) => {
        const bound = new Bound(load, all)
        const fit = rest === undefined ? bound.whole() : bound.fit(rest, true, true)
        if (fit === undefined) return
        for (const [index, { price: at, limits = {} }] of all.entries()) {
          const maxTokens = bound.maxTokensAt(index, fit) ?? load.maxTokens
          // Who is told a maximum keeps to that alone.
          const outputCeiling = maxTokens ?? limits.outputCeiling ?? 0
          const own = { ...limits, outputCeiling }
          const usage = usageOf({ ...load, maxTokens }, own, draw, bound.inputTokensAt(index))
          expect(costOf(usage, at)).toBeLessThanOrEqual(fit.amount)
          expect(usage.outputTokens).toBeLessThanOrEqual(bound.outputTokensAt(index, fit))
          expect(bound.outputTokensAt(index, fit)).toBeLessThanOrEqual(fit.outputTokens)
        }
      }),
      RUNS,
    )
  })
})

describe('a window that input and output share', () => {
  it('is filled in the dearest of all ways, and in no dearer one', () => {
    const small = integer({ min: 1, max: 60 })
    const some = record({
      window: small,
      ceiling: small,
      bytes: integer({ min: 0, max: 80 }),
      choices: integer({ min: 1, max: 3 }),
      predictedBytes: integer({ min: 0, max: 3 }),
      input: integer({ min: 0, max: 9000 }),
      output: integer({ min: 0, max: 9000 }),
    })
    assert(
      property(some, ({ window, ceiling, bytes, choices, predictedBytes, input, output }) => {
        let worst = 0
        for (let read = 0; read <= Math.min(bytes, window); read += 1) {
          const written = choices * Math.min(ceiling, window - read) + predictedBytes
          worst = Math.max(worst, read * input + written * output)
        }
        const limits = { contextWindow: window, outputCeiling: ceiling }
        const load = { bytes, choices, predictedBytes }
        expect(wholeOf(load, terms(limits, price(input, output)))).toBe(Math.ceil(worst / 1000))
      }),
      RUNS,
    )
  })
})

describe('what a budget pays', () => {
  const bound = (load: Partial<Load>, limits: ModelLimits = { outputCeiling: 10_000 }): Bound =>
    new Bound({ ...NO_LOAD, ...load }, terms(limits))

  it('is all of it where that fits and nobody else calls', () => {
    expect(bound({ bytes: 100, maxTokens: 10_000 }).fit(10_100, false, true)).toEqual({
      amount: 10_100 as never,
      maxTokens: undefined,
      outputTokens: 10_000,
    })
  })

  it('leaves something to the next call where the caller named no maximum', () => {
    expect(bound({ bytes: 100 }).fit(10_100, false, true)?.maxTokens).toBe(2500)
    expect(bound({ bytes: 100 }).fit(10_100, false, false)?.maxTokens).toBeUndefined()
  })

  it('is all of it beside other calls where a quarter of the rest pays the output', () => {
    const all = { amount: 10_100 as never, maxTokens: undefined, outputTokens: 10_000 }
    expect(bound({ bytes: 100 }).fit(40_100, true, true)).toEqual(all)
    expect(bound({ bytes: 100 }).fit(40_099, true, true)).toEqual({
      amount: 10_099 as never,
      maxTokens: 9999,
      outputTokens: 9999,
    })
    const asked = bound({ bytes: 100, maxTokens: 10_000 })
    expect(asked.fit(40_099, false, true)).toEqual(all)
  })

  it('is a quarter of the rest where not all of it fits', () => {
    expect(bound({ bytes: 100 }).fit(8100, false, true)?.maxTokens).toBe(2000)
    expect(bound({ bytes: 100, maxTokens: 9000 }).fit(8100, false, true)?.maxTokens).toBe(2000)
    const three = bound({ bytes: 100, choices: 3 }).fit(20_100, false, true)
    expect(three).toEqual({ amount: 5098 as never, maxTokens: 1666, outputTokens: 4998 })
  })

  it('is the least where a quarter of the rest is less, and nothing below that', () => {
    expect(bound({ bytes: 100 }).fit(1124, false, true)).toEqual({
      amount: 1124 as never,
      maxTokens: LEAST_TOKENS,
      outputTokens: LEAST_TOKENS,
    })
    expect(bound({ bytes: 100 }).fit(1123, false, true)).toBeUndefined()
  })

  it('is the least of an answer beside the least of thinking', () => {
    const thinking = bound({ bytes: 100, maxTokens: 9000, thinkingTokens: 1024 })
    expect(thinking.fit(2148, false, true)?.maxTokens).toBe(2048)
    expect(thinking.fit(2147, false, true)).toBeUndefined()
    const short = bound({ bytes: 100, maxTokens: 1500, thinkingTokens: 1024 })
    expect(short.fit(1600, false, true)).toMatchObject({ maxTokens: undefined, outputTokens: 1500 })
    expect(short.fit(1599, false, true)).toBeUndefined()
  })

  it('is what the caller asked for where that is less than the least', () => {
    const asked = { amount: 400 as never, maxTokens: undefined, outputTokens: 300 }
    expect(bound({ bytes: 100, maxTokens: 300 }).fit(400, true, true)).toEqual(asked)
    expect(bound({ bytes: 100, maxTokens: 300 }).fit(399, true, true)).toBeUndefined()
  })

  it('is all of it or nothing for a key that must not be cut short', () => {
    expect(bound({ bytes: 100 }).fit(10_100, true, false)?.maxTokens).toBeUndefined()
    expect(bound({ bytes: 100 }).fit(10_100, true, false)?.amount).toBe(10_100 as never)
    expect(bound({ bytes: 100 }).fit(10_099, true, false)).toBeUndefined()
    expect(bound({ bytes: 100 }, {}).fit(10_099, true, false)).toBeUndefined()
  })

  it('sends the ceiling in place of a maximum above it', () => {
    const clamped = bound({ bytes: 100, maxTokens: 128_000 })
    expect(clamped.whole()?.maxTokens).toBe(10_000)
    expect(clamped.fit(10_100, false, true)?.maxTokens).toBe(10_000)
    expect(bound({ bytes: 100, maxTokens: 10_000 }).whole()?.maxTokens).toBeUndefined()
  })

  it('is one maximum that every supplier can be paid for', () => {
    const both = [
      ...terms({ outputCeiling: 500 }, price(1000, 9000)),
      ...terms({ outputCeiling: 9000 }),
    ]
    const calls = new Bound({ ...NO_LOAD, bytes: 100 }, both)
    // The dear one cannot put out more than 500, so it does not hold back the other.
    expect(calls.fit(20_100, true, true)).toMatchObject({ amount: 5100, maxTokens: 5000 })
    expect(calls.fit(6100, true, true)).toMatchObject({ amount: 4600, maxTokens: 1024 })
    const asked = new Bound({ ...NO_LOAD, bytes: 100, maxTokens: 700 }, both)
    expect(asked.fit(90_000, true, true)?.maxTokens).toBeUndefined()
  })

  it('bounds a model of which nothing is known, within what most suppliers accept', () => {
    expect(bound({ bytes: 100 }, {}).fit(20_100, false, true)?.maxTokens).toBe(5000)
    expect(bound({ bytes: 100 }, {}).fit(1e15, false, true)?.maxTokens).toBe(32_768)
    expect(bound({ bytes: 100, maxTokens: 1e6 }, {}).fit(1e15, false, true)).toMatchObject({
      amount: 1_000_100,
      maxTokens: undefined,
    })
  })

  it('leaves room for the input where the caller named no maximum', () => {
    const limits = { contextWindow: 100_000 }
    expect(bound({ bytes: 80_000 }, limits).fit(1e9, true, true)?.maxTokens).toBeUndefined()
    // Twenty thousand tokens are likely; a supplier that adds up the two would refuse more.
    const load = { bytes: 80_000, choices: 4 }
    expect(bound(load, limits).fit(1_400_000, true, true)?.maxTokens).toBe(80_000)
    expect(
      bound({ ...load, maxTokens: 99_000 }, limits).fit(1_400_000, true, true)?.maxTokens,
    ).toBe(82_500)
  })

  it('is all of it or nothing where somebody cannot be told to put out less, and that one is told nothing', () => {
    const [deaf] = terms({ outputCeiling: 10_000 })
    const both = [{ ...deaf!, refusesLimit: true }, ...terms({ outputCeiling: 500 })]
    for (const all of [both, both.toReversed()]) {
      const calls = new Bound({ ...NO_LOAD, bytes: 100, maxTokens: 20_000 }, all)
      expect(calls.fit(10_099, true, true)).toBeUndefined()
      const fit = calls.fit(10_100, true, true)!
      expect(fit.amount).toBe(10_100 as never)
      expect(all.map((_, index) => calls.maxTokensAt(index, fit))).toEqual(
        all.map(({ refusesLimit }) => (refusesLimit === true ? undefined : 500)),
      )
    }
  })

  it('is not what is foretold', () => {
    const fit = bound({ bytes: 100, predictedBytes: 500 }).fit(10_100, false, true)
    expect(fit).toEqual({ amount: 2600 as never, maxTokens: 2000, outputTokens: 2500 })
  })

  it('stays exact where a number does not', () => {
    const some = record({
      rest: integer({ min: 2 ** 52, max: Number.MAX_SAFE_INTEGER }),
      rate: integer({ min: 1000, max: 9999 }),
      predictedBytes: integer({ min: 0, max: 1_000_000 }),
    })
    assert(
      property(some, ({ rest, rate, predictedBytes }) => {
        const load = { ...NO_LOAD, maxTokens: 2 ** 52, predictedBytes }
        const fit = new Bound(load, terms(undefined, price(0, rate))).fit(rest, true, true)
        const left = BigInt(Math.floor(rest / 4)) * 1000n - BigInt(predictedBytes * rate)
        expect(BigInt(fit?.maxTokens ?? 0)).toBe(left / BigInt(rate))
      }),
      RUNS,
    )
  })

  const rests = oneof(
    integer({ min: -1000, max: 5_000_000 }),
    integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
  )
  const anyTerms = array(oneof(bounded, record({ price: prices, limits: sizes })), {
    minLength: 1,
    maxLength: 3,
  })

  it('is never more than there is, and is what the shortened call costs at most', () => {
    assert(
      property(loads, anyTerms, rests, boolean(), (load, all, rest, isShared) => {
        const fit = new Bound(load, all).fit(rest, isShared, true)
        if (fit === undefined) return
        expect(fit.amount).toBeLessThanOrEqual(rest)
        const sent = { ...load, maxTokens: fit.maxTokens ?? load.maxTokens }
        expect(new Bound(sent, all).whole()).toEqual({ ...fit, maxTokens: undefined })
        const mosts = all.map(({ limits: { contextWindow = Infinity, outputCeiling } = {} }) =>
          Math.min(load.maxTokens ?? Infinity, outputCeiling ?? contextWindow, contextWindow),
        )
        expect(fit.maxTokens ?? Infinity).toBeGreaterThanOrEqual(
          Math.min(Math.max(...mosts), LEAST_TOKENS + load.thinkingTokens),
        )
      }),
      RUNS,
    )
  })

  it('is something for a larger budget where it was for a smaller one', () => {
    const steps = integer({ min: 0, max: 1_000_000_000 })
    assert(
      property(loads, anyTerms, rests, steps, boolean(), boolean(), (...given) => {
        const [load, all, rest, step, isShared, fits] = given
        const bound = new Bound(load, all)
        if (bound.fit(rest, isShared, fits) === undefined) return
        expect(
          bound.fit(Math.min(rest + step, Number.MAX_SAFE_INTEGER), isShared, fits),
        ).toBeDefined()
      }),
      RUNS,
    )
  })
})

describe('the worst case of one attempt', () => {
  it('is its own, with what the call may put out', () => {
    const both = [
      ...terms({ outputCeiling: 500 }, price(1000, 9000)),
      ...terms({ outputCeiling: 9000 }),
    ]
    const bound = new Bound({ ...NO_LOAD, bytes: 100, choices: 2, predictedBytes: 10 }, both)
    const fit = bound.fit(9190, true, true)
    expect(fit?.outputTokens).toBe(2 * 1024 + 10)
    expect(bound.costAt(0, fit?.outputTokens ?? 0)).toBe((100 + 1010 * 9) as never)
    expect(bound.costAt(1, fit?.outputTokens ?? 0)).toBe((100 + 2058) as never)
    expect(() => bound.costAt(2, 1)).toThrow(RangeError)
  })

  it('is the worst of all attempts for the dearest of them', () => {
    assert(
      property(loads, array(bounded, { minLength: 1, maxLength: 3 }), (load, all) => {
        const bound = new Bound(load, all)
        const fit = bound.whole()
        const costs = all.map((_, index) => bound.costAt(index, fit?.outputTokens ?? -1))
        expect(Math.max(...costs)).toBe(fit?.amount ?? -1)
      }),
      RUNS,
    )
  })

  it('is the largest amount where nothing bounds it', () => {
    const bound = new Bound({ ...NO_LOAD, bytes: 70 }, terms(undefined))
    expect(bound.whole()).toBeUndefined()
    expect(bound.costAt(0, 30)).toBe(100 as never)
    expect(bound.costAt(0, ENDLESS_TOKENS)).toBe(Number.MAX_SAFE_INTEGER as never)
    const open = new Bound({ ...NO_LOAD, bytes: 70, elsewhere: 'file_id' }, terms(undefined))
    expect(open.costAt(0, 30)).toBe(Number.MAX_SAFE_INTEGER as never)
  })
})

// Honest traffic on a small budget: what the clients that people use send, and what is held for it. Nothing
// of it may be refused. The table of holds beside real costs is printed once.
import { afterAll, describe, expect, it } from 'bun:test'
import { NO_LOAD, type Load, type ModelLimits } from '../../core/load.ts'
import { parseUsd, printUsd, toNanoUsd, toPicoUsd, type NanoUsd } from '../../core/money.ts'
import type { Price, Usage } from '../../core/usage.ts'
import { Bound, type BoundTerms, type Fit } from './bound.ts'
import { costOf } from './price.ts'

const BUDGET = 3_000_000_000

const LOAD: Load = { ...NO_LOAD, messages: 2 }

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

/** Dollars a million tokens. */
function price(input: number, cached: number, written: number, output: number): Price {
  const pico = (dollars: number) => toPicoUsd(dollars * 1_000_000)
  return {
    input: pico(input),
    cachedInput: pico(cached),
    cacheWrite: pico(written),
    output: pico(output),
  }
}

function model(at: Price, limits: ModelLimits): readonly BoundTerms[] {
  return [{ price: at, limits }]
}

/** What is kept in a cache for an hour costs twice the input, and only who asks for it has that held. */
const SONNET = { ...price(3, 0.3, 3.75, 15), cacheWriteLong: toPicoUsd(6_000_000) }
const OPUS = { ...price(5, 0.5, 6.25, 25), cacheWriteLong: toPicoUsd(10_000_000) }
const LARGE_SONNET = model(SONNET, { contextWindow: 1_000_000, outputCeiling: 64_000 })
const LARGE_OPUS = model(OPUS, { contextWindow: 1_000_000, outputCeiling: 128_000 })
const SMALL_SONNET = model(SONNET, { contextWindow: 200_000, outputCeiling: 64_000 })
const SMALL_OPUS = model(OPUS, { contextWindow: 200_000, outputCeiling: 128_000 })
const SEEING = model(price(2.5, 1.25, 2.5, 10), {
  contextWindow: 128_000,
  outputCeiling: 16_384,
  imageTokens: 1445,
})
const MINI = model(price(0.15, 0.075, 0.15, 0.6), {
  contextWindow: 128_000,
  outputCeiling: 16_384,
  imageTokens: 48_169,
})
const UNSEEN = model(price(2, 2, 2, 6), { contextWindow: 500_000, outputCeiling: 30_000 })

interface Call {
  readonly name: string
  readonly terms: readonly BoundTerms[]
  readonly load: Partial<Load>
  /** What such a call really uses. */
  readonly usage: Partial<Usage>
  /** In cents, rounded up. */
  readonly hold: number
}

const AGENT = { bytes: 46_000, messages: 3, maxTokens: 128_000 }
const AGENT_USAGE = { inputTokens: 11_500, cacheWriteTokens: 11_000, outputTokens: 30 }
const CONTEXT = { bytes: 600_000, messages: 120, maxTokens: 32_000 }
const CONTEXT_USAGE = {
  inputTokens: 150_000,
  cachedTokens: 145_000,
  cacheWriteTokens: 5000,
  outputTokens: 700,
}
const IMAGE = {
  bytes: 402_000,
  images: 1,
  inline: [{ from: 900, to: 400_900 }],
}

const CALLS: readonly Call[] = [
  {
    name: 'agent, first call, sonnet',
    terms: LARGE_SONNET,
    load: AGENT,
    usage: AGENT_USAGE,
    hold: 114,
  },
  { name: 'agent, first call, opus', terms: LARGE_OPUS, load: AGENT, usage: AGENT_USAGE, hold: 97 },
  {
    name: 'agent, kept for an hour, sonnet',
    terms: LARGE_SONNET,
    load: { ...AGENT, writesLong: true },
    usage: { ...AGENT_USAGE, cacheWriteLongTokens: 11_000 },
    hold: 124,
  },
  {
    name: 'context of 600 KB, sonnet',
    terms: SMALL_SONNET,
    load: CONTEXT,
    usage: CONTEXT_USAGE,
    hold: 111,
  },
  {
    name: 'context of 600 KB, opus',
    terms: SMALL_OPUS,
    load: CONTEXT,
    usage: CONTEXT_USAGE,
    hold: 185,
  },
  {
    name: 'retrieval, 60 KB, no maximum',
    terms: SEEING,
    load: { bytes: 60_000 },
    usage: { inputTokens: 15_000, outputTokens: 400 },
    hold: 32,
  },
  {
    name: 'library, 1 KB, no maximum',
    terms: MINI,
    load: { bytes: 1000 },
    usage: { inputTokens: 220, outputTokens: 250 },
    hold: 1,
  },
  {
    name: 'library, 1 KB, no maximum, opus',
    terms: LARGE_OPUS,
    load: { bytes: 1000 },
    usage: { inputTokens: 220, outputTokens: 250 },
    hold: 76,
  },
  {
    name: 'image, 300 KB',
    terms: SEEING,
    load: IMAGE,
    usage: { inputTokens: 1200, outputTokens: 300 },
    hold: 18,
  },
  {
    name: 'image, 300 KB, small model',
    terms: MINI,
    load: IMAGE,
    usage: { inputTokens: 26_000, outputTokens: 300 },
    hold: 2,
  },
  {
    name: 'image, 300 KB, size unknown',
    terms: UNSEEN,
    load: IMAGE,
    usage: { inputTokens: 2500, outputTokens: 300 },
    hold: 29,
  },
]

const rows: (readonly string[])[] = [['call', 'bytes', 'asked', 'sent', 'held', 'cost', 'times']]

function note(name: string, load: Load, fit: Fit, cost: NanoUsd): void {
  rows.push([
    name,
    String(load.bytes),
    String(load.maxTokens ?? '-'),
    String(fit.maxTokens ?? '-'),
    dollars(fit.amount),
    dollars(cost),
    (fit.amount / cost).toFixed(1),
  ])
}

function dollars(amount: NanoUsd): string {
  const [whole, fraction = ''] = printUsd(amount).split('.')
  return `${whole}.${fraction.padEnd(5, '0').slice(0, 5)}`
}

function costAt({ terms, usage }: Pick<Call, 'terms' | 'usage'>): NanoUsd {
  const [first] = terms
  if (first === undefined) throw new Error('nobody to ask')
  return costOf({ ...NOTHING, ...usage }, first.price)
}

afterAll(() => {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const print = (row: readonly string[]): string =>
    row
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[at]!)))
      .join('  ')
  console.log(`\n${rows.map(print).join('\n')}\n`)
})

describe('a budget of three dollars', () => {
  it.each(CALLS)('admits $name', ({ name, terms, load: part, usage, hold }) => {
    const load = { ...LOAD, ...part }
    const fit = new Bound(load, terms).fit(BUDGET, false, true)
    if (fit === undefined) throw new Error('an honest call was refused')
    const cost = costAt({ terms, usage })
    note(name, load, fit, cost)
    expect(fit.amount).toBeLessThanOrEqual(BUDGET)
    expect(fit.amount).toBeGreaterThanOrEqual(cost)
    expect(fit.maxTokens ?? Infinity).toBeGreaterThanOrEqual(usage.outputTokens ?? 0)
    expect(Math.ceil(fit.amount / 10_000_000)).toBe(hold)
  })

  it('admits five agents at once, each with room for an answer', () => {
    const load = { ...LOAD, ...AGENT }
    const bound = new Bound(load, LARGE_SONNET)
    let rest = BUDGET
    for (let running = 0; running < 5; running += 1) {
      const fit = bound.fit(rest, running > 0, true)
      if (fit === undefined) throw new Error(`agent ${running + 1} was refused`)
      note(
        `agent ${running + 1} of 5 at once`,
        load,
        fit,
        costAt({ terms: LARGE_SONNET, usage: AGENT_USAGE }),
      )
      expect(fit.outputTokens).toBeGreaterThan(4000)
      rest -= fit.amount
    }
    expect(rest).toBeGreaterThanOrEqual(0)
  })

  it('admits an agent for hundreds of calls, one after the other', () => {
    const bound = new Bound({ ...LOAD, ...AGENT }, LARGE_SONNET)
    const cost = costAt({ terms: LARGE_SONNET, usage: AGENT_USAGE })
    let rest = BUDGET
    let calls = 0
    while (bound.fit(rest, false, true) !== undefined) {
      rest = toNanoUsd(rest - cost)
      calls += 1
    }
    // What is left when it stops is less than one call could cost with the shortest answer.
    expect(rest).toBeLessThan(parseUsd('0.20') ?? 0)
    expect(calls).toBeGreaterThan(60)
  })
})

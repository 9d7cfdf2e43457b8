// Suppliers disagree on which figure includes which. Whatever they send, never less is counted than they
// say in total, no part exceeds its whole, and what cannot be read is never passed off as nothing.
import { describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import type { Usage } from '../../core/usage.ts'
import { largerUsage, readUsage } from './usage.ts'

function read(value: unknown): Usage {
  const { usage } = readUsage(value)
  if (usage === undefined) throw new Error('no usage was read')
  return usage
}

function figures(input: number, output: number, total?: number): object {
  return { prompt_tokens: input, completion_tokens: output, total_tokens: total }
}

function reasoning(count: unknown): object {
  return { completion_tokens_details: { reasoning_tokens: count } }
}

function cached(count: unknown, written?: unknown): object {
  return { prompt_tokens_details: { cached_tokens: count, cache_write_tokens: written } }
}

describe('usage', () => {
  it.each([
    ['inside of the output', figures(10, 310, 320), 310],
    ['beside the output, by its size', figures(10, 10), 310],
    ['beside the output, by its size and the total', figures(10, 10, 320), 310],
    ['beside the output, by the total alone', figures(10, 400, 710), 700],
  ])('counts reasoning that stands %s', (_, told, output) => {
    expect(read({ ...told, ...reasoning(300) })).toMatchObject({
      inputTokens: 10,
      outputTokens: output,
      reasoningTokens: 300,
    })
  })

  it('counts as output what only the total knows of', () => {
    expect(read(figures(10, 10, 320))).toMatchObject({ inputTokens: 10, outputTokens: 310 })
  })

  it.each([
    ['inside of the input', figures(100, 5, 105), 100, 90],
    ['beside the input, by its size', figures(3, 5), 93, 90],
    ['beside the input, by the total', figures(100, 5, 195), 190, 90],
    ['inside of the input by the total, and is more than that', figures(80, 5, 85), 80, 80],
  ])('counts a cached part that stands %s', (_, told, input, part) => {
    expect(read({ ...told, ...cached(90) })).toMatchObject({
      inputTokens: input,
      cachedTokens: part,
      outputTokens: 5,
    })
  })

  it('counts what was written to a cache beside the input too', () => {
    expect(read({ ...figures(3, 5, 118), ...cached(90, 20) })).toMatchObject({
      inputTokens: 113,
      cachedTokens: 90,
      cacheWriteTokens: 20,
      outputTokens: 5,
    })
  })

  it('tells cached tokens and reasoning apart where both stand beside', () => {
    expect(read({ ...figures(3, 2, 154), ...cached(99), ...reasoning(50) })).toMatchObject({
      inputTokens: 102,
      outputTokens: 52,
    })
  })

  it('reads the other names of the same figures', () => {
    const told = {
      input_tokens: 10,
      output_tokens: 6,
      input_tokens_details: { cached_tokens: 4 },
      output_tokens_details: { reasoning_tokens: 2 },
    }
    const expected = { inputTokens: 10, cachedTokens: 4, outputTokens: 6, reasoningTokens: 2 }
    expect(read(told)).toMatchObject(expected)
    // Some send both names, and fill in one of them.
    expect(read({ ...told, prompt_tokens: 0, completion_tokens: 0 })).toMatchObject(expected)
  })

  it.each([[undefined], [null], [{}], [''], [[]]])('was not told by %p', (value) => {
    expect(readUsage(value)).toEqual({ usage: undefined, isUnread: false })
  })

  it.each([
    { prompt_tokens: '10', completion_tokens: 5 },
    { prompt_tokens: 10.5, completion_tokens: 5 },
    { prompt_tokens: 10, completion_tokens: null, total_tokens: 500 },
    { tokens: 10 },
    'many',
    10,
    [[1]],
  ])('is never nothing when it was told as %j', (value) => {
    expect(readUsage(value)).toEqual({ usage: undefined, isUnread: true })
  })

  it('is read without a part that cannot be, and says so', () => {
    const { usage, isUnread } = readUsage({ ...figures(10, 5), ...reasoning('3') })
    expect(usage).toMatchObject({ outputTokens: 5, reasoningTokens: 0 })
    expect(isUnread).toBe(true)
    expect(readUsage({ ...figures(10, 5), ...reasoning(null) }).isUnread).toBe(false)
  })

  it('never counts less than a supplier says, nor a part that exceeds its whole', () => {
    const count = fc.oneof(fc.nat(20), fc.nat(2000))
    const maybe = fc.option(count, { nil: undefined })
    fc.assert(
      fc.property(
        fc.tuple(count, count, maybe),
        fc.tuple(maybe, maybe, maybe),
        fc.tuple(maybe, maybe),
        ([input, output, total], [hit, write, heard], [thought, spoken]) => {
          const usage = read({
            ...figures(input, output, total),
            prompt_tokens_details: {
              cached_tokens: hit,
              cache_write_tokens: write,
              audio_tokens: heard,
            },
            completion_tokens_details: { reasoning_tokens: thought, audio_tokens: spoken },
          })
          expect(Math.min(...Object.values(usage))).toBeGreaterThanOrEqual(0)
          expect(usage.inputTokens).toBeGreaterThanOrEqual(
            Math.max(
              input,
              heard ?? 0,
              usage.cachedTokens + usage.cacheWriteTokens + usage.audioInputTokens,
            ),
          )
          expect(usage.reasoningTokens).toBe(thought ?? 0)
          expect(usage.audioOutputTokens).toBe(spoken ?? 0)
          expect(usage.outputTokens).toBeGreaterThanOrEqual(
            Math.max(output, usage.reasoningTokens + usage.audioOutputTokens),
          )
          expect(usage.inputTokens + usage.outputTokens).toBeGreaterThanOrEqual(total ?? 0)
        },
      ),
      { numRuns: 5000 },
    )
  })
})

describe('the larger of two usages', () => {
  const count = fc.integer({ min: 0, max: 50 })
  const usages = fc
    .record({ input: count, output: count, part: count, written: count, thought: count })
    .map(({ input, output, part, written, thought }) =>
      read({ ...figures(input, output), ...cached(part, written), ...reasoning(thought) }),
    )

  it('is no less than either, has no parts beyond its whole, and is either one beside itself', () => {
    fc.assert(
      fc.property(usages, usages, (one, other) => {
        const both = largerUsage(one, other)
        expect(both.inputTokens).toBe(Math.max(one.inputTokens, other.inputTokens))
        expect(both.outputTokens).toBe(Math.max(one.outputTokens, other.outputTokens))
        const { cachedTokens, cacheWriteTokens, audioInputTokens } = both
        expect(cachedTokens + cacheWriteTokens + audioInputTokens).toBeLessThanOrEqual(
          both.inputTokens,
        )
        expect(both.reasoningTokens + both.audioOutputTokens).toBeLessThanOrEqual(both.outputTokens)
        expect(largerUsage(one, one)).toEqual(one)
      }),
    )
  })
})

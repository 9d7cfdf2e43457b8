// The guess that stands in for a usage that nobody told, and the mark beyond which a supplier has not kept
// to its maximum.
import { describe, expect, it } from 'bun:test'
import { assert, integer, property, record } from 'fast-check'
import { NO_LOAD, type Load } from '../../core/load.ts'
import { toPicoUsd } from '../../core/money.ts'
import { Bound, ENDLESS_TOKENS } from './bound.ts'
import { estimateUsage, isSpent, TOKEN_BYTES_MOST } from './estimate.ts'
import { costOf } from './price.ts'

describe('an estimate', () => {
  it.each<readonly [string, Partial<Load>, number]>([
    ['takes four bytes of text for a token, rounded up', { bytes: 401 }, 101],
    ['adds four tokens a message', { bytes: 400, messages: 3 }, 112],
    [
      'takes tokens for themselves, and not for their bytes',
      { bytes: 1000, tokens: 123, inline: [{ from: 0, to: 1000 }] },
      123,
    ],
    [
      'takes an image for what it usually counts, and not for its bytes',
      { bytes: 1000, images: 2, inline: [{ from: 100, to: 900 }] },
      50 + 1600,
    ],
    [
      'takes audio for what a usual recording counts',
      { bytes: 700, audioBytes: 501, inline: [{ from: 10, to: 680 }] },
      8 + 2,
    ],
  ])('%s', (_, load, tokens) => {
    expect(estimateUsage({ ...NO_LOAD, ...load }, 0).inputTokens).toBe(tokens)
  })

  it('takes four bytes of what was put out for a token, rounded up', () => {
    expect(estimateUsage(NO_LOAD, 0).outputTokens).toBe(0)
    expect(estimateUsage(NO_LOAD, 9).outputTokens).toBe(3)
  })

  it('takes sound that was put out for what a usual recording counts, at its own price', () => {
    const usage = estimateUsage(NO_LOAD, 8, 1001)
    expect(usage).toMatchObject({ outputTokens: 2 + 3, audioOutputTokens: 3 })
    const price = { input: toPicoUsd(0), output: toPicoUsd(1000), audioOutput: toPicoUsd(5000) }
    expect<number>(costOf(usage, price)).toBe(2 + 3 * 5)
  })

  it('knows of audio that it has a price of its own', () => {
    const load = { ...NO_LOAD, bytes: 400, audioBytes: 1000 }
    const price = { input: toPicoUsd(1000), audioInput: toPicoUsd(5000), output: toPicoUsd(0) }
    expect<number>(costOf(estimateUsage(load, 0), price)).toBe(100 + 2 * 5)
  })

  it('is never more than the worst case of the same call', () => {
    const price = { input: toPicoUsd(3000), output: toPicoUsd(15_000) }
    const loads = record({
      bytes: integer({ min: 0, max: 1_000_000 }),
      messages: integer({ min: 0, max: 1000 }),
      images: integer({ min: 0, max: 100 }),
      audioBytes: integer({ min: 0, max: 1_000_000 }),
    })
    assert(
      property(loads, integer({ min: 0, max: 4000 }), (load, outputBytes) => {
        const call = { ...NO_LOAD, ...load, maxTokens: 1000 }
        const most = new Bound(call, [{ price, limits: undefined }]).whole()?.amount ?? -1
        expect(costOf(estimateUsage(call, outputBytes), price)).toBeLessThanOrEqual(most)
      }),
    )
  })
})

describe('a maximum', () => {
  it('is broken only by more than any vocabulary could make of it', () => {
    expect(isSpent(100 * TOKEN_BYTES_MOST, 100)).toBe(false)
    expect(isSpent(100 * TOKEN_BYTES_MOST + 1, 100)).toBe(true)
  })

  it('that is none is never broken', () => {
    expect(isSpent(Number.MAX_SAFE_INTEGER, ENDLESS_TOKENS)).toBe(false)
  })
})

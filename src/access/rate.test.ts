// The window against its definition: no sixty seconds ever hold more calls than the limit, and no call is
// refused that would have fitted.
import { describe, expect, it } from 'bun:test'
import { array, assert, integer, property, record } from 'fast-check'
import { NO_LIMITS, NO_TIES, type KeyRecord } from '../core/key.ts'
import { GatewayError } from '../core/problem.ts'
import { Rates } from './rate.ts'

function keyOf(rateLimitRpm: number, id = 'key_1'): KeyRecord {
  return {
    ...NO_LIMITS,
    ...NO_TIES,
    id,
    name: 'k',
    accountId: 'acc_1',
    kind: 'managed',
    hash: '',
    createdAt: 0,
    rateLimitRpm,
  }
}

function isTaken(rates: Rates, key: KeyRecord, now: number): boolean {
  try {
    rates.take(key, now)
    return true
  } catch (thrown) {
    if (thrown instanceof GatewayError) return false
    throw thrown
  }
}

const steps = array(
  record({ wait: integer({ min: 0, max: 20_000 }), limit: integer({ min: 1, max: 40 }) }),
  { maxLength: 200 },
)

describe('a rate', () => {
  it('is an exact sliding window, also while its limit changes', () => {
    assert(
      property(steps, (steps) => {
        const rates = new Rates()
        const granted: number[] = []
        let now = 0
        for (const { wait, limit } of steps) {
          now += wait
          const lately = granted.filter((at) => at > now - 60_000)
          const fits = lately.length < limit
          expect(isTaken(rates, keyOf(limit), now)).toBe(fits)
          if (fits) granted.push(now)
        }
      }),
    )
  })

  it('gives up the windows of keys that have long been silent', () => {
    const rates = new Rates()
    for (let index = 0; index < 3000; index++)
      expect(isTaken(rates, keyOf(1, `key_${index}`), index * 100)).toBe(true)
    // Within the last minute each of them still counts.
    expect(isTaken(rates, keyOf(1, 'key_2999'), 300_000)).toBe(false)
    expect(isTaken(rates, keyOf(1, 'key_0'), 300_000)).toBe(true)
  })
})

// Periods begin and end at edges of the UTC calendar and of whole hours; every test stands on an edge.
import { describe, expect, it } from 'bun:test'
import { assert, constantFrom, integer, nat, property } from 'fast-check'
import type { BudgetPeriod } from '../core/key.ts'
import { windowOf } from './period.ts'

const HOUR_MS = 3_600_000
const ROLLING_MS = 720 * HOUR_MS

function at(text: string): number {
  return Date.parse(text)
}

function edgesOf(period: BudgetPeriod, now: string): readonly [string, string] {
  const { from, to } = windowOf(period, at(now))
  return [new Date(from).toISOString(), new Date(to).toISOString()]
}

describe('a daily period', () => {
  it.each<readonly [string, string, string]>([
    ['2026-01-15T12:34:56.789Z', '2026-01-15T00:00:00.000Z', '2026-01-16T00:00:00.000Z'],
    ['2026-01-15T00:00:00.000Z', '2026-01-15T00:00:00.000Z', '2026-01-16T00:00:00.000Z'],
    ['2026-01-15T23:59:59.999Z', '2026-01-15T00:00:00.000Z', '2026-01-16T00:00:00.000Z'],
    ['2026-01-31T23:00:00.000Z', '2026-01-31T00:00:00.000Z', '2026-02-01T00:00:00.000Z'],
    ['2026-02-28T10:00:00.000Z', '2026-02-28T00:00:00.000Z', '2026-03-01T00:00:00.000Z'],
    ['2028-02-28T10:00:00.000Z', '2028-02-28T00:00:00.000Z', '2028-02-29T00:00:00.000Z'],
    ['2028-02-29T10:00:00.000Z', '2028-02-29T00:00:00.000Z', '2028-03-01T00:00:00.000Z'],
    ['2026-12-31T23:59:59.999Z', '2026-12-31T00:00:00.000Z', '2027-01-01T00:00:00.000Z'],
  ])('at %s begins %s and ends %s', (now, from, to) => {
    expect(edgesOf('daily', now)).toEqual([from, to])
  })
})

describe('a monthly period', () => {
  it.each<readonly [string, string, string]>([
    ['2026-01-15T12:34:56.789Z', '2026-01-01T00:00:00.000Z', '2026-02-01T00:00:00.000Z'],
    ['2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z', '2026-02-01T00:00:00.000Z'],
    ['2026-01-31T23:59:59.999Z', '2026-01-01T00:00:00.000Z', '2026-02-01T00:00:00.000Z'],
    ['2026-02-28T23:59:59.999Z', '2026-02-01T00:00:00.000Z', '2026-03-01T00:00:00.000Z'],
    ['2028-02-29T00:00:00.000Z', '2028-02-01T00:00:00.000Z', '2028-03-01T00:00:00.000Z'],
    ['2026-04-30T23:59:59.999Z', '2026-04-01T00:00:00.000Z', '2026-05-01T00:00:00.000Z'],
    ['2026-12-31T23:59:59.999Z', '2026-12-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z'],
    ['2027-01-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z', '2027-02-01T00:00:00.000Z'],
  ])('at %s begins %s and ends %s', (now, from, to) => {
    expect(edgesOf('monthly', now)).toEqual([from, to])
  })
})

describe('a calendar period', () => {
  it.each<BudgetPeriod>(['daily', 'monthly'])('starts over at its end: %s', (period) => {
    const window = windowOf(period, at('2026-01-31T12:00:00Z'))
    expect(window.resetsAt(undefined)).toBe(at('2026-02-01T00:00:00Z'))
    expect(window.resetsAt(at('2026-01-31T01:00:00Z'))).toBe(at('2026-02-01T00:00:00Z'))
  })
})

describe('a rolling period', () => {
  it.each<readonly [string, string, string]>([
    ['2026-01-31T12:34:56.789Z', '2026-01-01T13:00:00.000Z', '2026-01-31T13:00:00.000Z'],
    ['2026-01-31T12:59:59.999Z', '2026-01-01T13:00:00.000Z', '2026-01-31T13:00:00.000Z'],
    ['2026-01-31T13:00:00.000Z', '2026-01-01T14:00:00.000Z', '2026-01-31T14:00:00.000Z'],
    ['2028-03-01T00:00:00.000Z', '2028-01-31T01:00:00.000Z', '2028-03-01T01:00:00.000Z'],
    ['2027-01-01T00:00:00.000Z', '2026-12-02T01:00:00.000Z', '2027-01-01T01:00:00.000Z'],
  ])('at %s counts from %s until %s', (now, from, to) => {
    expect(edgesOf('rolling', now)).toEqual([from, to])
  })

  it('lets an hour go exactly 720 hours after it began', () => {
    const began = at('2026-02-10T09:00:00Z')
    const counts = (now: number): boolean => windowOf('rolling', now).from <= began
    expect(counts(began)).toBe(true)
    expect(counts(began + ROLLING_MS - 1)).toBe(true)
    expect(counts(began + ROLLING_MS)).toBe(false)
  })

  it('starts over when the oldest spent hour leaves', () => {
    const window = windowOf('rolling', at('2026-01-31T12:30:00Z'))
    expect(window.resetsAt(at('2026-01-05T08:59:59.999Z'))).toBe(at('2026-02-04T08:00:00Z'))
    expect(window.resetsAt(at('2026-01-05T09:00:00Z'))).toBe(at('2026-02-04T09:00:00Z'))
  })

  it('has nothing to start over when nothing was spent', () => {
    expect(windowOf('rolling', at('2026-01-31T12:30:00Z')).resetsAt(undefined)).toBeUndefined()
  })
})

describe('every period', () => {
  it('holds the moment that was asked about, and resets after it', () => {
    const moments = integer({ min: at('1999-01-01T00:00:00Z'), max: at('2101-01-01T00:00:00Z') })
    const periods = constantFrom<BudgetPeriod>('daily', 'monthly', 'rolling')
    assert(
      property(periods, moments, nat(), (period, now, back) => {
        const window = windowOf(period, now)
        const { from, to } = window
        const spentAt = now - (back % (now - from + 1))
        expect(from).toBeLessThanOrEqual(now)
        expect(to).toBeGreaterThan(now)
        const resetsAt = window.resetsAt(spentAt) ?? 0
        expect(resetsAt).toBeGreaterThan(now)
        // The moment of the reset is the first at which that hour no longer counts.
        expect(windowOf(period, resetsAt).from).toBeGreaterThan(spentAt)
        expect(windowOf(period, resetsAt - 1).from).toBeLessThanOrEqual(spentAt)
      }),
    )
  })
})

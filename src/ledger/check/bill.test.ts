// Whatever a call of so many tokens can have cost lies between the bounds of its bill, and where a model has
// no special prices they are one figure.
import { describe, expect, it } from 'bun:test'
import { assert, integer, property, record, type Arbitrary } from 'fast-check'
import { Clerk, TERMS } from '../../../test/fakes/books.ts'
import type { AuditRow } from '../../core/audit.ts'
import { toPicoUsd } from '../../core/money.ts'
import type { Rates } from '../../core/usage.ts'
import { Bills } from './bill.ts'
import { costOf } from '../cost/price.ts'

const counts = integer({ min: 0, max: 100_000 })
const rate = integer({ min: 0, max: 50_000_000 }).map((each) => toPicoUsd(each))
const rates: Arbitrary<Rates> = record(
  {
    input: rate,
    output: rate,
    cachedInput: rate,
    cacheWrite: rate,
    cacheWriteLong: rate,
    audioInput: rate,
    reasoning: rate,
    audioOutput: rate,
  },
  { requiredKeys: ['input', 'output'] },
)
const parts = record({
  plain: counts,
  cached: counts,
  written: counts,
  kept: counts,
  heard: counts,
  said: counts,
  reasoned: counts,
  spoken: counts,
})

function rowOf(change: Partial<AuditRow>): AuditRow {
  const clerk = new Clerk()
  return clerk.settle(clerk.hold('key_a', 1)!, 0, change)
}

describe('a bill', () => {
  it('bounds what the parts of a usage can cost, in either tier of a price', () => {
    const cases = property(parts, rates, rates, counts, (each, price, long, above) => {
      const usage = {
        inputTokens: each.plain + each.cached + each.written + each.kept + each.heard,
        cachedTokens: each.cached,
        cacheWriteTokens: each.written + each.kept,
        cacheWriteLongTokens: each.kept,
        audioInputTokens: each.heard,
        outputTokens: each.said + each.reasoned + each.spoken,
        reasoningTokens: each.reasoned,
        audioOutputTokens: each.spoken,
      }
      const whole = { ...price, longContext: { above, rates: long } }
      const terms = JSON.stringify([{ supplier: 'first', region: 'EU', model: 'm', price: whole }])
      const { inputTokens, outputTokens } = usage
      const bill = new Bills().of(rowOf({ inputTokens, outputTokens }), terms)!
      const cost = BigInt(costOf(usage, whole))
      expect(cost >= bill.least && cost <= bill.most).toBe(true)
    })
    assert(cases, { numRuns: 500 })
  })

  it('is exact where there are no special prices', () => {
    const bill = new Bills().of(rowOf({ inputTokens: 7, outputTokens: 3 }), TERMS)
    expect(bill).toEqual({ least: 2850n, most: 2850n })
  })

  it.each([
    ['nobody reported the usage', { evidence: 'counted' }],
    ['the call is void', { state: 'voided' }],
    ['nobody was asked', { supplier: undefined }],
    ['the usage is not told', { outputTokens: undefined }],
    ['the answer came from another place', { region: 'US' }],
  ] as const)('is not made where %s', (_name, change) => {
    const row = rowOf({ inputTokens: 7, outputTokens: 3, ...change })
    expect(new Bills().of(row, TERMS)).toBeUndefined()
  })

  it('knows no suppliers of terms that are none', () => {
    const bills = new Bills()
    for (const text of ['', '{}', '[1]', '[{"supplier":"first","price":{"input":1}}]'])
      expect(bills.suppliers(text, 'first')).toBeUndefined()
    expect(bills.suppliers(TERMS, 'first')).toHaveLength(1)
    expect(bills.suppliers(TERMS, 'third')).toEqual([])
  })
})

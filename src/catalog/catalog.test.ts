// The schema check of the dated data: ids, windows, sources, and prices that stay exact.
import { describe, expect, it } from 'bun:test'
import type { PicoUsd } from '../core/money.ts'
import type { Price } from '../core/usage.ts'
import { assembleCatalogue, catalogue, toTokenPrice } from './index.ts'
import type { ModelRow, Provenance } from './model.ts'

const ROW: ModelRow = {
  id: 'model',
  ownedBy: 'maker',
  kind: 'chat',
  contextWindow: 1000,
  outputCeiling: 100,
  price: { input: '0.15', cachedInput: '0.075', output: '0.60' },
  priced: { source: 'https://example.com/a', date: '2026-01-01' },
  suppliers: { one: 'model-at-one' },
}

function rates(price: Price): readonly PicoUsd[] {
  return [price.input, price.cachedInput, price.cacheWrite, price.output].filter(
    (rate) => rate !== undefined,
  )
}

function isDay(text: string): boolean {
  const day = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text)
}

function expectProvenance(priced: Provenance): void {
  expect(priced.date).toMatch(/^\d{4}-\d{2}-\d{2}$/)
  expect(isDay(priced.date)).toBe(true)
  expect(new URL(priced.source).protocol).toBe('https:')
  if (priced.until === undefined) return
  expect(isDay(priced.until)).toBe(true)
  expect(priced.until > priced.date).toBe(true)
}

describe('the catalogue', () => {
  it('names each model once, by a bare id', () => {
    const ids = catalogue.map((model) => model.id)
    expect(new Set(ids).size).toBe(ids.length)
    for (const id of ids) expect(id).toMatch(/^[a-z0-9][a-z0-9.-]*$/)
  })

  it('gives each model an owner, a window and a ceiling that fits in it', () => {
    for (const model of catalogue) {
      expect(model.ownedBy).toMatch(/^[a-z-]+$/)
      expect(Number.isSafeInteger(model.contextWindow)).toBe(true)
      expect(Number.isSafeInteger(model.outputCeiling)).toBe(true)
      expect(model.outputCeiling).toBeGreaterThan(0)
      expect(model.outputCeiling).toBeLessThanOrEqual(model.contextWindow)
    }
  })

  it('gives each model at least one supplier, under a name without spaces', () => {
    for (const model of catalogue) {
      expect(model.suppliers.size).toBeGreaterThan(0)
      for (const route of model.suppliers.values()) expect(route.as).toMatch(/^\S+$/)
    }
  })

  it('sends no two models of one supplier under the same name', () => {
    const names = catalogue.flatMap((model) =>
      [...model.suppliers].map(([supplier, route]) => `${supplier} ${route.as}`),
    )
    expect(new Set(names).size).toBe(names.length)
  })

  it('prices everything in whole positive pico-dollars', () => {
    for (const model of catalogue) {
      const prices = [model.price, ...[...model.suppliers.values()].map((route) => route.price)]
      if (model.price.longContext) prices.push(model.price.longContext.rates)
      for (const rate of prices.flatMap(rates)) {
        expect(Number.isSafeInteger(rate)).toBe(true)
        expect(rate).toBeGreaterThan(0)
      }
    }
  })

  it('never asks more for cached input than for fresh input', () => {
    for (const model of catalogue) {
      for (const { price } of model.suppliers.values()) {
        expect(price.cachedInput ?? price.input).toBeLessThanOrEqual(price.input)
      }
    }
  })

  it('asks no less beyond a long-context threshold that the window can reach', () => {
    for (const { contextWindow, price } of catalogue) {
      const { longContext } = price
      if (!longContext) continue
      expect(longContext.above).toBeLessThan(contextWindow)
      expect(longContext.rates.input).toBeGreaterThanOrEqual(price.input)
      expect(longContext.rates.output).toBeGreaterThanOrEqual(price.output)
    }
  })

  it('says where and when each price was seen', () => {
    for (const model of catalogue) {
      expectProvenance(model.priced)
      for (const route of model.suppliers.values()) expectProvenance(route.priced)
    }
  })
})

describe('the assembly', () => {
  it('converts prices exactly', () => {
    const exact: readonly (readonly [string, number])[] = [
      ['0.15', 150_000],
      ['0', 0],
      ['1', 1_000_000],
      ['0.000001', 1],
      ['0.003625', 3625],
      ['0.29', 290_000],
      ['1.005', 1_005_000],
      ['4.35', 4_350_000],
      ['600.00', 600_000_000],
    ]
    for (const [text, pico] of exact) expect<number>(toTokenPrice(text)).toBe(pico)
  })

  it('refuses what is finer than a pico-dollar or no plain decimal', () => {
    const wrong = ['0.0000001', '0.1500000', '-1', '+1', '1e-3', '.5', '5.', '', ' 1', '1,5', 'NaN']
    for (const text of wrong) expect(() => toTokenPrice(text)).toThrow(RangeError)
  })

  it('refuses what a number cannot hold exactly', () => {
    expect(() => toTokenPrice('9007199254740993')).toThrow(RangeError)
  })

  it('gives a supplier the price of the row unless it has its own', () => {
    const own: Provenance = { source: 'https://example.com/b', date: '2026-02-02' }
    const [model] = assembleCatalogue([
      {
        ...ROW,
        suppliers: {
          one: 'model-at-one',
          two: { as: 'model-at-two', price: { input: '0.10', output: '0.40' }, priced: own },
        },
      },
    ])
    expect(model?.suppliers.get('one')).toEqual({
      as: 'model-at-one',
      price: {
        input: toTokenPrice('0.15'),
        cachedInput: toTokenPrice('0.075'),
        output: toTokenPrice('0.60'),
      },
      priced: ROW.priced,
    })
    expect(model?.suppliers.get('two')).toEqual({
      as: 'model-at-two',
      price: { input: toTokenPrice('0.10'), output: toTokenPrice('0.40') },
      priced: own,
    })
  })

  it('leaves an absent rate absent', () => {
    const [model] = assembleCatalogue([{ ...ROW, price: { input: '1', output: '2' } }])
    expect(Object.keys(model?.price ?? {})).toEqual(['input', 'output'])
    expect(model?.price.longContext).toBeUndefined()
  })
})

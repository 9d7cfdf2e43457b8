// The schema check of the dated data: ids, windows, sources, and prices that stay exact; and what the
// assembly makes of a row.
import { describe, expect, it } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { PicoUsd } from '../core/money.ts'
import type { Price, PriceList } from '../core/usage.ts'
import { assembleCatalogue, catalogue } from './index.ts'
import type { CatalogueModel, ModelKind, ModelRow, Provenance } from './model.ts'
import { toTokenPrice } from './price.ts'

const ROW: ModelRow = {
  id: 'model',
  ownedBy: 'maker',
  kind: 'chat',
  contextWindow: 1000,
  outputCeiling: 100,
  capabilities: ['tools'],
  price: { input: '0.15', cachedInput: '0.075', output: '0.60' },
  priced: { source: 'https://example.com/a', date: '2026-01-01' },
  suppliers: { one: 'model-at-one' },
}

function assembleOne(row: ModelRow): CatalogueModel {
  const [model] = assembleCatalogue([row])
  if (model === undefined) throw new Error('the assembly lost a row')
  return model
}

/** Every list of prices of a model: its own, its routes', and those of their regions. */
function listsOf(model: CatalogueModel): readonly PriceList[] {
  const routes = [...model.suppliers.values()]
  return [
    ...(model.prices === undefined ? [] : [model.prices]),
    ...routes.map((route) => route.prices),
    ...routes.flatMap((route) => [...route.regional.values()]),
  ]
}

function pricesOf(model: CatalogueModel): readonly Price[] {
  return listsOf(model).flatMap((list) => list.map(({ price }) => price))
}

function ratesOf({ longContext, ...rates }: Price): readonly PicoUsd[] {
  return [...Object.values(rates), ...Object.values(longContext?.rates ?? {})]
}

function isDay(text: string): boolean {
  const day = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text)
}

function expectProvenance(priced: Provenance, id: string): void {
  expect(priced.date, id).toMatch(/^\d{4}-\d{2}-\d{2}$/)
  expect(isDay(priced.date), id).toBe(true)
  expect(Date.parse(priced.date), id).toBeLessThanOrEqual(Date.now())
  expect(new URL(priced.source).protocol, id).toBe('https:')
}

describe('the catalogue', () => {
  it('holds the rows of every data file', async () => {
    const folder = join(import.meta.dir, 'data')
    const known = new Set(catalogue.map((model) => model.id))
    for (const file of readdirSync(folder)) {
      const exports = Object.values((await import(join(folder, file))) as Record<string, unknown>)
      const rows = exports.filter((value) => Array.isArray(value)).flat() as readonly ModelRow[]
      expect(rows.length, file).toBeGreaterThan(0)
      for (const { id } of rows) expect(known.has(id), `${file}: ${id}`).toBe(true)
    }
  })

  it('names each model once, by a bare id', () => {
    const ids = catalogue.map((model) => model.id)
    expect(new Set(ids).size).toBe(ids.length)
    for (const id of ids) expect(id).toMatch(/^[a-z0-9][a-z0-9.-]*$/)
  })

  it('knows models of every kind', () => {
    const kinds: readonly ModelKind[] = ['chat', 'embedding', 'rerank', 'transcription', 'speech']
    const known = new Set(catalogue.map((model) => model.kind))
    expect([...known].sort()).toEqual([...kinds].sort())
  })

  it('gives each model an owner, and sizes that fit into each other', () => {
    for (const { id, ownedBy, contextWindow, outputCeiling } of catalogue) {
      expect(ownedBy, id).toMatch(/^[a-z-]+$/)
      for (const size of [contextWindow, outputCeiling]) {
        if (size === undefined) continue
        expect(Number.isSafeInteger(size) && size > 0, id).toBe(true)
      }
      expect(outputCeiling ?? 0, id).toBeLessThanOrEqual(contextWindow ?? 0)
    }
  })

  it('tells of every chat model how much it holds and what it can do', () => {
    for (const { id, kind, contextWindow, outputCeiling, capabilities } of catalogue) {
      expect(new Set(capabilities).size, id).toBe(capabilities.length)
      if (kind !== 'chat') continue
      expect(contextWindow, id).toBeDefined()
      expect(outputCeiling, id).toBeDefined()
      expect(capabilities.length, id).toBeGreaterThan(0)
    }
  })

  it('tells what an image counts for only of models that see', () => {
    for (const { id, imageTokens, capabilities, contextWindow = 0 } of catalogue) {
      if (imageTokens === undefined) continue
      expect(Number.isSafeInteger(imageTokens) && imageTokens > 0, id).toBe(true)
      expect(imageTokens, id).toBeLessThan(contextWindow)
      expect(capabilities, id).toContain('images')
    }
    expect(catalogue.find(({ id }) => id === 'gpt-4o')?.imageTokens).toBe(1445)
    expect(catalogue.find(({ id }) => id === 'gpt-4o-mini')?.imageTokens).toBe(48_169)
  })

  it('counts text with a vocabulary only where it is the one of the maker', () => {
    const counted = catalogue.filter(({ tokenizer }) => tokenizer !== undefined)
    expect(new Set(counted.map(({ ownedBy }) => ownedBy))).toEqual(new Set(['openai']))
    expect(counted.map(({ id }) => id)).toContain('gpt-4o')
  })

  it('gives each model at least one supplier, under a name without spaces', () => {
    for (const model of catalogue) {
      expect(model.suppliers.size, model.id).toBeGreaterThan(0)
      for (const route of model.suppliers.values()) expect(route.as).toMatch(/^\S+$/)
    }
  })

  it('sends no two models of one supplier under the same name', () => {
    const names = catalogue.flatMap((model) =>
      [...model.suppliers].map(([supplier, route]) => `${supplier} ${route.as}`),
    )
    expect(new Set(names).size).toBe(names.length)
  })

  it('prices everything in whole pico-dollars', () => {
    for (const model of catalogue)
      for (const rate of pricesOf(model).flatMap(ratesOf)) {
        expect(Number.isSafeInteger(rate), model.id).toBe(true)
        expect(rate, model.id).toBeGreaterThanOrEqual(0)
      }
  })

  it('gives no model away', () => {
    for (const model of catalogue)
      for (const price of pricesOf(model)) {
        const { input, output, search = 0, character = 0, second = 0 } = price
        const paid: Record<ModelKind, boolean> = {
          chat: input > 0 && output > 0,
          embedding: input > 0,
          rerank: search > 0 || input > 0,
          transcription: second > 0 || (input > 0 && output > 0),
          speech: character > 0 || (input > 0 && output > 0),
        }
        expect(paid[model.kind], model.id).toBe(true)
      }
  })

  it('never asks more for cached input than for fresh input', () => {
    for (const model of catalogue)
      for (const price of pricesOf(model)) {
        expect(price.cachedInput ?? price.input, model.id).toBeLessThanOrEqual(price.input)
      }
  })

  it('asks twice the input for what its maker writes to a cache for an hour', () => {
    const writing = catalogue.filter(({ ownedBy }) => ownedBy === 'anthropic')
    expect(writing).not.toBeEmpty()
    for (const model of writing)
      for (const price of pricesOf(model))
        for (const { input, cacheWriteLong } of [price, price.longContext?.rates ?? price])
          expect<number | undefined>(cacheWriteLong, model.id).toBe(2 * input)
  })

  it('asks no less beyond a long-context threshold that the window can reach', () => {
    for (const model of catalogue)
      for (const { longContext, input, output } of pricesOf(model)) {
        if (longContext === undefined) continue
        expect(longContext.above, model.id).toBeLessThan(model.contextWindow ?? 0)
        expect(longContext.rates.input, model.id).toBeGreaterThanOrEqual(input)
        expect(longContext.rates.output, model.id).toBeGreaterThanOrEqual(output)
      }
  })

  it('has a price for every moment, in the order of the days', () => {
    for (const list of catalogue.flatMap(listsOf)) {
      expect(list[0].from).toBe(0)
      const days = list.map(({ from }) => from)
      expect(days).toEqual([...new Set(days)].sort((one, other) => one - other))
    }
  })

  it('names regions as the configuration does', () => {
    for (const model of catalogue)
      for (const { regional } of model.suppliers.values())
        for (const region of regional.keys()) expect(region, model.id).toMatch(/^[A-Z0-9_-]+$/)
  })

  it('says where and when each price was seen', () => {
    for (const model of catalogue) {
      expectProvenance(model.priced, model.id)
      for (const route of model.suppliers.values()) expectProvenance(route.priced, model.id)
    }
  })
})

describe('the assembly', () => {
  it('gives a supplier the price of the row unless it has its own', () => {
    const own: Provenance = { source: 'https://example.com/b', date: '2026-02-02' }
    const { prices, suppliers } = assembleOne({
      ...ROW,
      suppliers: {
        one: 'model-at-one',
        two: { as: 'model-at-two', price: { input: '0.10', output: '0.40' }, priced: own },
      },
    })
    const price = {
      input: toTokenPrice('0.15'),
      cachedInput: toTokenPrice('0.075'),
      output: toTokenPrice('0.60'),
    }
    expect(prices).toEqual([{ from: 0, price }])
    expect(suppliers.get('one')).toEqual({
      as: 'model-at-one',
      prices: [{ from: 0, price }],
      priced: ROW.priced,
      regional: new Map(),
    })
    expect(suppliers.get('two')).toEqual({
      as: 'model-at-two',
      prices: [{ from: 0, price: { input: toTokenPrice('0.10'), output: toTokenPrice('0.40') } }],
      priced: own,
      regional: new Map(),
    })
  })

  it('raises the price of a supplier in the regions that cost more there', () => {
    const { suppliers } = assembleOne({
      ...ROW,
      suppliers: { one: { as: 'model-at-one', uplift: { EU: 10 } } },
    })
    const route = suppliers.get('one')
    expect(route?.prices[0].price.input).toBe(toTokenPrice('0.15'))
    expect(route?.regional.get('EU')?.[0].price).toEqual({
      input: toTokenPrice('0.165'),
      cachedInput: toTokenPrice('0.0825'),
      output: toTokenPrice('0.66'),
    })
    expect(route?.regional.get('US')).toBeUndefined()
  })

  it('names the row that lacks what its kind is paid by', () => {
    const lacking = { ...ROW, id: 'half-a-price', price: { input: '1' } }
    expect(() => assembleCatalogue([ROW, lacking])).toThrow(/^half-a-price: .*input and output/)
    const route = { as: 'there', price: { output: '1' } }
    const elsewhere = { ...ROW, id: 'half-a-route', suppliers: { one: route } }
    expect(() => assembleCatalogue([elsewhere])).toThrow(/^half-a-route: /)
  })
})

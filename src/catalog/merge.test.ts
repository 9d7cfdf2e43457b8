// The operator's word over the catalogue's: what it replaces, what it leaves, and where it is told that
// something cannot be.
import { describe, expect, it } from 'bun:test'
import { ConfigFault } from '../config/fault.ts'
import { ConfigSchema, type Config } from '../config/schema.ts'
import { assembleCatalogue } from './index.ts'
import { overrideCatalogue, readPrice } from './merge.ts'
import type { CatalogueModel, ModelRow } from './model.ts'
import { parsePrice } from './price.ts'

const ROW: ModelRow = {
  id: 'known',
  ownedBy: 'maker',
  kind: 'chat',
  contextWindow: 1000,
  outputCeiling: 500,
  capabilities: ['tools'],
  price: { input: '1', output: '2' },
  priced: { source: 'https://example.com/a', date: '2026-01-01' },
  suppliers: {
    one: { as: 'known-at-one', uplift: { EU: 10 } },
    two: { as: 'known-at-two', price: { input: '3', output: '4' } },
  },
}

const CATALOGUE = assembleCatalogue([ROW, { ...ROW, id: 'other', suppliers: { one: 'other' } }])

/** The section as a file holds it, through the schema that every file goes through. */
function section(models: unknown): Config['models'] {
  return ConfigSchema.parse({ models }).models
}

function override(models: unknown): readonly CatalogueModel[] {
  return overrideCatalogue(CATALOGUE, section(models))
}

function find(models: readonly CatalogueModel[], id: string): CatalogueModel {
  const model = models.find((each) => each.id === id)
  if (model === undefined) throw new Error(`${id} is gone`)
  return model
}

function faultOf(run: () => unknown): ConfigFault {
  try {
    run()
  } catch (thrown) {
    if (thrown instanceof ConfigFault) return thrown
    throw thrown
  }
  throw new Error('nothing was refused')
}

describe('the models of the configuration', () => {
  it('leave a catalogue alone that they do not name', () => {
    expect(override({})).toEqual(CATALOGUE)
  })

  it('change what they state and nothing else', () => {
    const models = override({ known: { owned_by: 'us', context_window: 2000 } })
    expect(find(models, 'known')).toEqual({
      ...find(CATALOGUE, 'known'),
      ownedBy: 'us',
      contextWindow: 2000,
    })
    expect(find(models, 'other')).toEqual(find(CATALOGUE, 'other'))
    expect(models.map(({ id }) => id)).toEqual(['known', 'other'])
  })

  it('replace capabilities as a whole', () => {
    const { capabilities } = find(override({ known: { capabilities: ['images'] } }), 'known')
    expect(capabilities).toEqual(['images'])
  })

  it('say by capabilities whether a model thinks, and leave the way in which it is told to', () => {
    const counting = { ...ROW, id: 'counting', thinking: 'budget' } as const
    const models = assembleCatalogue([ROW, { ...counting, capabilities: ['reasoning'] }])
    const thinkingOf = (id: string, config: object): unknown =>
      find(overrideCatalogue(models, section({ [id]: config })), id).thinking
    expect(thinkingOf('known', {})).toBe('none')
    expect(thinkingOf('known', { capabilities: ['reasoning'] })).toBe('effort')
    expect(thinkingOf('counting', { capabilities: ['reasoning', 'images'] })).toBe('budget')
    expect(thinkingOf('counting', { capabilities: ['images'] })).toBe('none')
    // Nobody has said anything of it, so nothing that it might refuse is sent.
    expect(thinkingOf('my-model', { price: 'free' })).toBeUndefined()
    expect(thinkingOf('my-model', { price: 'free', capabilities: ['reasoning'] })).toBe('effort')
  })

  it('leave what a model refuses', () => {
    const models = assembleCatalogue([
      { ...ROW, sampling: 'fixed', leastThinking: 'always', refusedEfforts: ['max'] },
    ])
    const changed = overrideCatalogue(models, section({ [ROW.id]: { capabilities: ['tools'] } }))
    expect(find(changed, ROW.id)).toMatchObject({
      sampling: 'fixed',
      leastThinking: 'always',
      refusedEfforts: ['max'],
    })
    expect(find(override({ own: { price: 'free' } }), 'own').sampling).toBeUndefined()
  })

  it('price a model everywhere, at every supplier and in every region', () => {
    const prices = parsePrice({ input: '0.5', output: '0.7', cachedInput: '0.1' })
    const price = { input: 0.5, output: '0.7', cached_input: 0.1 }
    const model = find(override({ known: { price } }), 'known')
    expect(model.prices).toEqual(prices)
    expect(model.priced.source).toBe('configuration')
    for (const [supplier, as] of [
      ['one', 'known-at-one'],
      ['two', 'known-at-two'],
    ] as const) {
      const route = model.suppliers.get(supplier)
      expect(route?.as).toBe(as)
      expect(route?.prices).toEqual(prices)
      expect(route?.regional).toEqual(new Map())
    }
  })

  it('keep prices where they state none', () => {
    const model = find(override({ known: { output_ceiling: 100 } }), 'known')
    expect(model.outputCeiling).toBe(100)
    expect(model.suppliers).toEqual(find(CATALOGUE, 'known').suppliers)
  })

  it('lower the known ceiling with the window', () => {
    const model = find(override({ known: { context_window: 300 } }), 'known')
    expect([model.contextWindow, model.outputCeiling]).toEqual([300, 300])
  })

  it('know better what an image counts for', () => {
    const seeing = assembleCatalogue([{ ...ROW, imageTokens: 765, tokenizer: 'o200k' }])
    const known = (models: unknown): CatalogueModel =>
      find(overrideCatalogue(seeing, section(models)), 'known')
    expect(known({ known: { image_tokens: 99 } }).imageTokens).toBe(99)
    expect(known({ known: { owned_by: 'us' } })).toMatchObject({
      imageTokens: 765,
      tokenizer: 'o200k',
    })
  })

  it('mean input and output by the window that they state', () => {
    const apart = assembleCatalogue([{ ...ROW, outputApart: true }])
    const known = (models: unknown): CatalogueModel =>
      find(overrideCatalogue(apart, section(models)), 'known')
    expect(known({ known: { owned_by: 'us' } }).outputApart).toBe(true)
    expect(known({ known: { context_window: 1000 } }).outputApart).toBe(false)
  })

  it('add a model that the catalogue does not know', () => {
    const models = override({ 'my-model': {} })
    expect(models.map(({ id }) => id)).toEqual(['known', 'other', 'my-model'])
    const model = find(models, 'my-model')
    expect(model.kind).toBe('chat')
    expect(model.prices).toBeUndefined()
    expect(model.suppliers.size).toBe(0)
    expect(model.contextWindow).toBeUndefined()
    expect(model.capabilities).toContain('tools')
  })

  it('add a model with all that they state of it', () => {
    const model = find(
      override({
        heard: {
          owned_by: 'us',
          kind: 'transcription',
          context_window: 100,
          output_ceiling: 10,
          image_tokens: 7,
          price: { minute: 0.006 },
        },
      }),
      'heard',
    )
    expect(model).toEqual({
      id: 'heard',
      ownedBy: 'us',
      kind: 'transcription',
      contextWindow: 100,
      outputCeiling: 10,
      outputApart: false,
      imageTokens: 7,
      tokenizer: undefined,
      capabilities: [],
      thinking: undefined,
      sampling: undefined,
      leastThinking: undefined,
      refusedEfforts: undefined,
      prices: parsePrice({ minute: '0.006' }, 'transcription'),
      priced: { source: 'configuration', date: '' },
      suppliers: new Map(),
    })
  })

  it('price from a day on, and beyond a length', () => {
    const price = [
      { input: 1, output: 2 },
      {
        from: '2027-01-01',
        input: 3,
        output: 4,
        long_context: { above: 200_000, input: 5, output: 6, cache_write: 7, cache_write_long: 8 },
      },
    ]
    expect(find(override({ known: { price } }), 'known').prices).toEqual(
      parsePrice([
        { input: '1', output: '2' },
        {
          from: '2027-01-01',
          input: '3',
          output: '4',
          longContext: {
            above: 200_000,
            input: '5',
            output: '6',
            cacheWrite: '7',
            cacheWriteLong: '8',
          },
        },
      ]),
    )
  })

  it('can give a model away, by the word alone', () => {
    const model = find(override({ 'my-model': { price: 'free' } }), 'my-model')
    expect(model.prices?.map(({ from }) => from)).toEqual([0])
    const rates = Object.values(model.prices?.[0].price ?? {})
    expect(rates.length).toBeGreaterThan(0)
    for (const rate of rates) expect(rate).toBe(0)
  })
})

describe('a configuration that cannot be', () => {
  it('is told the place of a price that its kind lacks', () => {
    const fault = faultOf(() => override({ 'my-model': { price: { minute: 0.006 } } }))
    expect(fault.path).toEqual(['models', 'my-model', 'price'])
    expect(fault.message).toContain('input and output')
    const heard = { kind: 'transcription', price: { search: 2 } }
    expect(faultOf(() => override({ heard })).path).toEqual(['models', 'heard', 'price'])
  })

  it('is told the place of a rate, in the names of the file', () => {
    // Past the schema, which would refuse it first.
    const far = (price: unknown): readonly (string | number)[] =>
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- wrong on purpose
      faultOf(() => overrideCatalogue(CATALOGUE, { 'my-model': { price } } as Config['models']))
        .path
    expect(far({ input: '90000', output: '1' })).toEqual(['models', 'my-model', 'price', 'input'])
    expect(far({ input: '1', output: '1', cached_input: '90000' })).toEqual([
      'models',
      'my-model',
      'price',
      'cached_input',
    ])
    const long = { above: 10, input: '1', output: '1', audio_output: '90000' }
    expect(
      far([
        { input: '1', output: '1' },
        { from: '2027-01-01', input: '1', output: '1', long_context: long },
      ]),
    ).toEqual(['models', 'my-model', 'price', 1, 'long_context', 'audio_output'])
  })

  it('cannot change what a model is and keep its price', () => {
    const fault = faultOf(() => override({ known: { kind: 'embedding' } }))
    expect(fault.path).toEqual(['models', 'known', 'kind'])
    const changed = override({ known: { kind: 'rerank', price: { search: 2 } } })
    expect(find(changed, 'known').kind).toBe('rerank')
  })

  it('cannot raise a ceiling above its window', () => {
    const path = ['models', 'known', 'output_ceiling']
    expect(faultOf(() => override({ known: { output_ceiling: 1001 } })).path).toEqual(path)
    const both = { context_window: 100, output_ceiling: 101 }
    expect(faultOf(() => override({ known: both })).path).toEqual(path)
  })

  it('is told the place that it came from, wherever a price stands', () => {
    const path = ['suppliers', 'main', 'models', 'known', 'price']
    expect(faultOf(() => readPrice({ search: '2' }, 'chat', path)).path).toEqual(path)
    expect(readPrice({ search: '2' }, 'rerank', path)).toEqual(
      parsePrice({ search: '2' }, 'rerank'),
    )
  })
})

// Models that do something else than chat, as a file has them: at whom, as what, at which price, and what is said
// where that cannot be.
import { describe, expect, it } from 'bun:test'
import { assembleCatalogue } from '../catalog/index.ts'
import { overrideCatalogue } from '../catalog/merge.ts'
import { configureRegions } from '../catalog/regions.ts'
import { ConfigFault } from '../config/fault.ts'
import { ConfigSchema } from '../config/schema.ts'
import { toPicoUsd } from '../core/money.ts'
import { configureSuppliers } from './configured.ts'
import type { Supplier } from './supplier.ts'

const CATALOGUE = assembleCatalogue([
  {
    id: 'listed',
    ownedBy: 'maker',
    kind: 'rerank',
    capabilities: [],
    price: { search: '2' },
    priced: { source: 'https://example.com/', date: '2026-01-01' },
    suppliers: { voyage: 'listed-there' },
  },
])

const VOYAGE = { kind: 'voyage', credential: 'pa-test' }
const RACK = { kind: 'openai-compatible', origin: 'http://gpu:8000', allow_private: true }

function configure(supplier: object, models: object = {}): Supplier {
  const config = ConfigSchema.parse({ suppliers: { mine: supplier }, models })
  const catalogue = overrideCatalogue(CATALOGUE, config.models)
  const regions = configureRegions(config.regions)
  return configureSuppliers(config, { catalogue, regions })[0]!
}

function faultOf(supplier: object, models: object = {}): readonly [place: string, message: string] {
  try {
    configure(supplier, models)
  } catch (thrown) {
    if (thrown instanceof ConfigFault) return [thrown.path.slice(2).join('.'), thrown.message]
  }
  throw new Error('there was no fault')
}

describe('a model that the catalogue does not know', () => {
  it.each([
    ['embedding', { input: 0.5, output: 0 }, { input: toPicoUsd(500_000) }],
    ['rerank', { search: 2 }, { search: toPicoUsd(2_000_000_000) }],
    ['transcription', { minute: 0.006 }, { second: toPicoUsd(100_000_000) }],
    ['speech', { character: 15 }, { character: toPicoUsd(15_000_000) }],
  ])('is one for %s where the file says so, at the price of the supplier', (kind, given, rates) => {
    const models = { ours: { as: 'org/ours', price: given } }
    const route = configure({ ...RACK, models }, { ours: { kind } }).models.get('ours')
    expect(route).toMatchObject({ as: 'org/ours', task: kind, prices: [{ price: rates }] })
  })

  it('chats where nobody says anything', () => {
    const models = { ours: { price: 'free' } }
    expect(configure({ ...RACK, models }).models.get('ours')).not.toHaveProperty('task')
  })

  it('says what it does where there are no chats', () => {
    const models = { ours: { price: 'free' } }
    const [place, message] = faultOf({ ...VOYAGE, models })
    expect(place).toBe('models.ours')
    expect(message).toContain('ours: with kind: embedding or kind: rerank')
    const told = configure({ ...VOYAGE, models }, { ours: { kind: 'embedding' } })
    expect(told.models.get('ours')?.task).toBe('embedding')
  })

  it('is not served where nothing does what it does', () => {
    const models = { ours: { price: 'free' } }
    const [place, message] = faultOf({ ...VOYAGE, models }, { ours: { kind: 'speech' } })
    expect(place).toBe('models.ours')
    expect(message).toContain('is a model for speech, which no service of this supplier offers')
  })

  it.each([
    ['embedding', 'write input: in dollars for a million tokens'],
    ['rerank', 'write search: in dollars for a thousand searches'],
    ['transcription', 'write minute: in dollars'],
    ['speech', 'write character: in dollars'],
    ['chat', 'write input: and output: in dollars'],
  ])('for %s is told which price it lacks', (kind, words) => {
    const [place, message] = faultOf({ ...RACK, models: { ours: null } }, { ours: { kind } })
    expect(place).toBe('models.ours.price')
    expect(message).toContain(words)
  })
})

describe('a supplier without chats', () => {
  it('serves what the catalogue lists for it, at most so many inputs at once', () => {
    const { models, services } = configure(VOYAGE)
    expect([...models.keys()]).toEqual(['listed'])
    expect(models.get('listed')).toMatchObject({ as: 'listed-there', task: 'rerank' })
    expect(services[0]).toMatchObject({ path: '/v1/embeddings', inputsMax: 1000 })
  })

  it('has the quirks of the file for the first of its services alone', () => {
    const { quirks, services } = configure({ ...VOYAGE, quirks: { drop: ['truncation'] } })
    expect(quirks.drop).toEqual(['encoding_format', 'user', 'truncation'])
    expect(services[1]?.quirks).toEqual({ usage: 'always', rerankShape: 'voyage' })
  })

  it('guards what is read of that service', () => {
    const [place, message] = faultOf({ ...VOYAGE, quirks: { drop: ['input'] } })
    expect(place).toBe('quirks.drop.0')
    expect(message).toContain('`input`')
  })
})

describe('the way to ask for rankings', () => {
  const ranking = (supplier: object) =>
    configure(supplier).services.find(({ dialect }) => dialect.task === 'rerank')

  it('is said of rankings alone', () => {
    const quirks = { rerank_shape: 'top_k' }
    expect(ranking({ ...RACK, quirks })).toMatchObject({
      path: '/v1/rerank',
      quirks: { rerankShape: 'voyage' },
    })
    expect(configure({ ...RACK, quirks }).quirks).not.toHaveProperty('rerankShape')
  })

  it.each(['http://gpu:8000', 'http://gpu:8000/v1'])(
    'has an address of its own at %s',
    (origin) => {
      const quirks = { rerank_shape: 'texts' }
      expect(ranking({ ...RACK, origin, quirks })?.path).toBe('/rerank')
    },
  )

  it('is nothing to say of who has none', () => {
    const xai = { kind: 'xai', credential: 'x', models: { m: { price: 'free' } } }
    const [place, message] = faultOf({ ...xai, quirks: { rerank_shape: 'top_n' } })
    expect(place).toBe('quirks.rerank_shape')
    expect(message).toContain('remove it')
  })
})

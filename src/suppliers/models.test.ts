// What the catalogue says of a model at a supplier: which languages it is asked in, and what it can do there.
import { describe, expect, it } from 'bun:test'
import { assembleCatalogue } from '../catalog/index.ts'
import { overrideCatalogue } from '../catalog/merge.ts'
import { configureRegions } from '../catalog/regions.ts'
import { ConfigSchema } from '../config/schema.ts'
import { configureSuppliers } from './configured.ts'
import type { ModelRoute } from './supplier.ts'

const CATALOGUE = assembleCatalogue([
  {
    id: 'toolless',
    ownedBy: 'maker',
    kind: 'chat',
    contextWindow: 1000,
    outputCeiling: 100,
    price: { input: '1', output: '2' },
    priced: { source: 'https://example.com/', date: '2026-01-01' },
    capabilities: ['tools', 'reasoning'],
    besideTools: 'refused',
    suppliers: {
      together: 'toolless',
      cerebras: { as: 'toolless', besideTools: 'off' },
      xai: 'toolless',
      groq: { as: 'toolless', besideTools: 'off' },
      azure: 'toolless',
      openrouter: { as: 'toolless', besideTools: 'free' },
    },
  },
])

/** The model at a supplier of the kind. */
function at(kind: string, models: object = {}, account: object = {}): ModelRoute | undefined {
  const suppliers = { it: { kind, credential: 'sk-test', ...account } }
  const config = ConfigSchema.parse({ suppliers, models })
  const catalogue = overrideCatalogue(CATALOGUE, config.models)
  const regions = configureRegions(config.regions)
  return configureSuppliers(config, { catalogue, regions })[0]!.models.get('toolless')
}

describe('a model that does not reason beside tools', () => {
  it('has no tools where it takes none, and is told of it where it has to be', () => {
    expect(at('together')?.capabilities).toEqual(['reasoning'])
    expect(at('together')).not.toContainAnyKeys(['besideTools', 'dialects'])
    const told = { capabilities: ['tools', 'reasoning'], besideTools: 'off' }
    expect(at('cerebras')).toMatchObject(told)
    expect(at('cerebras')).not.toContainKey('dialects')
    expect(at('openrouter')?.capabilities).toEqual(['tools', 'reasoning'])
    expect(at('openrouter')).not.toContainKey('besideTools')
    const models = { toolless: { price: 'free' } }
    const own = at('openai-compatible', {}, { origin: 'https://models.example.com/v1', models })
    expect(own?.capabilities).toEqual(['tools', 'reasoning'])
  })

  it('keeps its ways at another price, and has tools where the file says so', () => {
    const price = { input: 1, output: 2 }
    expect(at('together', { toolless: { price } })?.capabilities).toEqual(['reasoning'])
    expect(at('cerebras', { toolless: { price } })?.besideTools).toBe('off')
    const listed = { toolless: { capabilities: ['tools'] } }
    expect(at('together', listed)?.capabilities).toEqual(['tools'])
    expect(at('cerebras', listed)?.besideTools).toBe('off')
  })

  it('has both in responses, where these are spoken: before chats, or in their place', () => {
    const both = ['tools', 'reasoning']
    expect(at('xai')).toMatchObject({ capabilities: both, dialects: ['openai-responses'] })
    expect(at('xai')).not.toContainKey('besideTools')
    const dialects = ['openai-responses', 'openai-chat']
    expect(at('groq')).toMatchObject({ capabilities: both, besideTools: 'off', dialects })
    expect(at('openrouter')).not.toContainKey('dialects')
    const azure = (api_version: string): ModelRoute | undefined => {
      const origin = 'https://a.openai.azure.com'
      return at('azure', {}, { origin, api_version, models: { toolless: {} } })
    }
    expect(azure('v1')?.dialects).toEqual(['openai-responses'])
    // Its dated versions know chats alone.
    expect(azure('2024-10-21')).not.toContainKey('dialects')
    expect(azure('2024-10-21')?.capabilities).toEqual(['reasoning'])
  })
})

// Azure as a file has it: deployments, versions, and where what is done beside chats is asked for.
import { describe, expect, it } from 'bun:test'
import { assembleCatalogue } from '../catalog/index.ts'
import { configureRegions } from '../catalog/regions.ts'
import { ConfigFault } from '../config/fault.ts'
import { ConfigSchema } from '../config/schema.ts'
import { configureSuppliers } from './configured.ts'
import type { Supplier } from './supplier.ts'

const CATALOGUE = assembleCatalogue([
  {
    id: 'large',
    ownedBy: 'maker',
    kind: 'chat',
    contextWindow: 1000,
    outputCeiling: 100,
    capabilities: [],
    price: { input: '1', output: '2' },
    priced: { source: 'https://example.com/', date: '2026-01-01' },
    suppliers: { azure: 'large' },
  },
])

const AZURE = {
  kind: 'azure',
  origin: 'https://mine.openai.azure.com',
  api_version: 'v1',
  credential: 'az-test',
  models: { large: { as: 'my deployment' } },
}

function configureOne(supplier: object): Supplier {
  const config = ConfigSchema.parse({ suppliers: { mine: supplier } })
  const parts = { catalogue: CATALOGUE, regions: configureRegions(config.regions) }
  return configureSuppliers(config, parts)[0]!
}

function faultOf(supplier: object): { readonly place: string; readonly message: string } {
  try {
    configureOne(supplier)
  } catch (thrown) {
    if (thrown instanceof ConfigFault)
      return { place: thrown.path.slice(2).join('.'), message: thrown.message }
  }
  throw new Error('there was no fault')
}

describe('azure', () => {
  it('speaks of deployments in its present interface', () => {
    const supplier = configureOne(AZURE)
    expect(supplier).toMatchObject({
      origin: 'https://mine.openai.azure.com',
      signature: 'api-key',
      quirks: { usage: 'ask', maxTokensName: 'max_completion_tokens' },
    })
    // Its own address for transcripts knows no deployments.
    const paths = [
      '/openai/v1/chat/completions',
      '/openai/v1/responses',
      '/openai/v1/embeddings',
      '/openai/deployments/{model}/audio/transcriptions?api-version=2025-03-01-preview',
      '/openai/v1/audio/speech?api-version=preview',
    ]
    expect(supplier.services.map(({ path }) => path)).toEqual(paths)
    expect(supplier.models.get('large')?.as).toBe('my deployment')
    const origin = `${AZURE.origin}/openai/v1`
    expect(configureOne({ ...AZURE, origin }).services.map(({ path }) => path)).toEqual(paths)
  })

  it('has the deployment in the path of a dated version', () => {
    const supplier = configureOne({ ...AZURE, api_version: '2024-10-21' })
    const paths = ({ services }: Supplier): readonly string[] =>
      services.map(({ path }) => path.replace('/openai/deployments/{model}', ''))
    const heard = ['/chat/completions', '/embeddings', '/audio/transcriptions']
    expect(paths(supplier)).toEqual(heard.map((path) => `${path}?api-version=2024-10-21`))
    expect(supplier.quirks).toEqual({ usage: 'ask' })
    // Only its previews speak.
    const preview = '2025-04-01-preview'
    expect(paths(configureOne({ ...AZURE, api_version: preview }))).toEqual(
      [...heard, '/audio/speech'].map((path) => `${path}?api-version=${preview}`),
    )
  })

  it.each([
    ['no version', { api_version: undefined }, 'api_version', 'v1'],
    ['one that tells no usage', { api_version: '2024-06-01' }, 'api_version', 'too old'],
    ['a word', { api_version: 'latest' }, 'api_version', 'v1'],
    ['no address', { origin: undefined }, 'origin', 'write yours'],
    ['no credential', { credential: undefined }, 'credential', '${AZURE_OPENAI_API_KEY}'],
    ['no models', { models: undefined }, 'models', 'set up by you'],
  ])('is refused with %s', (_, changes, place, words) => {
    const fault = faultOf({ ...AZURE, ...changes })
    expect(fault.place).toBe(place)
    expect(fault.message).toContain(words)
  })
})

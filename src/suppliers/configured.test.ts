// What a file makes of suppliers: addresses, accounts, models, prices and times; and for whatever cannot
// be, the place in the file and a sentence that says what to write.
import { describe, expect, it } from 'bun:test'
import { assembleCatalogue } from '../catalog/index.ts'
import { overrideCatalogue } from '../catalog/merge.ts'
import type { ModelRow } from '../catalog/model.ts'
import { FREE } from '../catalog/price.ts'
import { configureRegions } from '../catalog/regions.ts'
import { ConfigFault } from '../config/fault.ts'
import { ConfigSchema } from '../config/schema.ts'
import { toPicoUsd } from '../core/money.ts'
import { anthropicMessages } from '../dialects/anthropic-messages/index.ts'
import { openaiChat } from '../dialects/openai-chat/index.ts'
import { openaiResponses } from '../dialects/openai-responses/index.ts'
import { configureSuppliers } from './configured.ts'
import { limitsOf } from './models.ts'
import type { Supplier } from './supplier.ts'

const ROW: Omit<ModelRow, 'id' | 'suppliers'> = {
  ownedBy: 'maker',
  kind: 'chat',
  contextWindow: 1000,
  outputCeiling: 100,
  capabilities: [],
  price: { input: '1', output: '2' },
  priced: { source: 'https://example.com/', date: '2026-01-01' },
}
const CATALOGUE = assembleCatalogue([
  {
    ...ROW,
    id: 'large',
    suppliers: {
      openai: { as: 'large-2026', uplift: { EU: 10 } },
      azure: 'large',
      mistral: { as: 'big', price: { input: '3', output: '4' } },
    },
  },
  { ...ROW, id: 'small', suppliers: { openai: 'small' } },
  { ...ROW, id: 'steady', sampling: 'fixed', suppliers: { xai: 'steady' } },
  {
    ...ROW,
    id: 'restless',
    leastThinking: 'always',
    refusedEfforts: ['xhigh'],
    suppliers: { xai: 'restless' },
  },
  { ...ROW, id: 'numbers', kind: 'embedding', suppliers: { openai: 'numbers' } },
])

function configure(suppliers: object, models: object = {}): readonly Supplier[] {
  const config = ConfigSchema.parse({ suppliers, models, regions: { 'fra-dc': 'de' } })
  const catalogue = overrideCatalogue(CATALOGUE, config.models)
  const regions = configureRegions(config.regions)
  return configureSuppliers(config, { catalogue, regions })
}

function configureOne(supplier: object, models: object = {}): Supplier {
  const [found, ...others] = configure({ mine: supplier }, models)
  if (found === undefined || others.length > 0) throw new Error('not one supplier')
  return found
}

/** The fault of a supplier called `mine`: its place below it, and its sentence. */
function faultOf(supplier: object, models: object = {}): { place: string; message: string } {
  try {
    configureOne(supplier, models)
  } catch (thrown) {
    if (!(thrown instanceof ConfigFault)) throw thrown
    expect(thrown.path.slice(0, 2)).toEqual(['suppliers', 'mine'])
    return { place: thrown.path.slice(2).join('.'), message: thrown.message }
  }
  throw new Error('there was no fault')
}

const OPENAI = { kind: 'openai', credential: 'sk-test' }
const AZURE = {
  kind: 'azure',
  origin: 'https://mine.openai.azure.com',
  api_version: 'v1',
  credential: 'az-test',
  models: { large: { as: 'my deployment' } },
}
const GENERIC = { kind: 'openai-compatible', origin: 'http://gpu:8000/v1', allow_private: true }
const price = (input: number, output: number) => [
  { from: 0, price: { input: toPicoUsd(input), output: toPicoUsd(output) } },
]
const LARGE = {
  as: 'large-2026',
  prices: price(1_000_000, 2_000_000),
  ownedBy: 'maker',
  limits: { contextWindow: 1000, outputCeiling: 100 },
  capabilities: [],
  reasoning: 'none',
}

describe('a supplier of a known kind', () => {
  it('is whole with a credential alone', () => {
    const supplier = configureOne(OPENAI)
    expect(supplier).toMatchObject({
      id: 'mine',
      origin: 'https://api.openai.com',
      region: 'global',
      signature: 'bearer',
      quirks: { usage: 'ask', maxTokensName: 'max_completion_tokens' },
      timeouts: {},
      anyModel: undefined,
      allowPrivate: false,
    })
    expect(supplier.services.slice(0, 2)).toMatchObject([
      { dialect: openaiChat, path: '/v1/chat/completions' },
      { dialect: openaiResponses, path: '/v1/responses', quirks: { usage: 'always' } },
    ])
    expect(supplier.credential?.reveal()).toBe('sk-test')
    expect(Bun.inspect(supplier, { depth: 20 })).not.toContain('sk-test')
  })

  it('serves the models that the catalogue lists for it, whatever they do', () => {
    const { reasoning: _, limits: __, capabilities: ___, ...plain } = LARGE
    expect([...configureOne(OPENAI).models]).toEqual([
      ['large', LARGE],
      ['small', { ...LARGE, as: 'small' }],
      ['numbers', { ...plain, as: 'numbers', task: 'embedding', limits: { outputCeiling: 100 } }],
    ] as never)
  })

  it('goes to the address of its region and costs what it costs there', () => {
    const supplier = configureOne({ ...OPENAI, region: 'eu' })
    expect(supplier.region).toBe('EU')
    expect(supplier.origin).toBe('https://eu.api.openai.com')
    expect(supplier.models.get('large')?.prices).toEqual(price(1_100_000, 2_200_000) as never)
    expect(supplier.models.get('small')?.prices).toEqual(price(1_000_000, 2_000_000) as never)
  })

  it.each(['DE', 'swedencentral', 'fra-dc', 'EU'])(
    'costs what the nearest region around it costs: %s',
    (region) => {
      const supplier = configureOne({ ...OPENAI, region, origin: 'https://x.example.com' })
      const named = {
        ...AZURE,
        kind: 'openai',
        api_version: undefined,
        models: { large: {} },
        region,
      }
      const dearer = price(1_100_000, 2_200_000) as never
      expect(supplier.models.get('large')?.prices).toEqual(dearer)
      expect(supplier.models.get('small')?.prices).toEqual(price(1_000_000, 2_000_000) as never)
      expect(configureOne(named).models.get('large')?.prices).toEqual(dearer)
    },
  )

  it.each(['eu-west-2', 'EEA', 'US', 'global'])(
    'costs nothing on top for a region that is not around it: %s',
    (region) => {
      const supplier = configureOne({ ...OPENAI, region, origin: 'https://x.example.com' })
      expect(supplier.models.get('large')?.prices).toEqual(price(1_000_000, 2_000_000) as never)
    },
  )

  it('in a region without an address is refused without the name, which may be a secret', () => {
    const find = (): unknown => configureOne({ ...OPENAI, region: 'hush-hush' })
    expect(find).toThrow('add origin:')
    expect(find).not.toThrow(/hush/i)
  })

  it('stays in a region of which only the operator knows the address', () => {
    const origin = 'https://de.example.com'
    expect(configureOne({ ...OPENAI, region: 'DE', origin })).toMatchObject({
      region: 'DE',
      origin,
    })
  })

  it('stands once for each credential, in their order', () => {
    const suppliers = configure({ a: { kind: 'openai', credentials: ['one', 'two'] }, b: OPENAI })
    expect(suppliers.map(({ id, credential }) => [id, credential?.reveal()])).toEqual([
      ['a', 'one'],
      ['a', 'two'],
      ['b', 'sk-test'],
    ])
  })

  it('keeps the order of the file', () => {
    const suppliers = configure({ zeta: OPENAI, alpha: OPENAI, b2: OPENAI })
    expect(suppliers.map(({ id }) => id)).toEqual(['zeta', 'alpha', 'b2'])
    // A name that is a number would come first in every mapping of the language.
    expect(() => configure({ zeta: OPENAI, '0': OPENAI })).toThrow()
  })
})

describe('the path of a service', () => {
  it.each([
    ['openai', 'https://proxy.example.com', '/v1/chat/completions'],
    ['openai', 'https://proxy.example.com/v1', '/v1/chat/completions'],
    ['openai', 'https://proxy.example.com/openai', '/openai/v1/chat/completions'],
    ['openai', 'https://proxy.example.com/openai/v1/', '/openai/v1/chat/completions'],
    ['openai', 'https://proxy.example.com/api/v3', '/api/v3/chat/completions'],
    ['groq', 'https://api.groq.com/openai/v1', '/openai/v1/chat/completions'],
    ['deepseek', 'https://api.deepseek.com/v1', '/v1/chat/completions'],
    [
      'gemini',
      'https://generativelanguage.googleapis.com/v1beta/openai',
      '/v1beta/openai/chat/completions',
    ],
  ])('of %s at %s is %s', (kind, origin, path) => {
    const supplier = configureOne({ ...OPENAI, kind, origin, models: { m: { price: 'free' } } })
    expect(supplier.services[0]?.path).toBe(path)
    expect(supplier.origin).toBe(new URL(origin).origin)
  })

  it.each([
    ['anthropic', undefined, ['/v1/messages'], ['/v1/messages/count_tokens']],
    ['anthropic', '/proxy/v1', ['/proxy/v1/messages'], ['/proxy/v1/messages/count_tokens']],
    [
      'anthropic-compatible',
      '/anthropic',
      ['/anthropic/v1/messages'],
      ['/anthropic/v1/messages/count_tokens'],
    ],
    ['deepseek', undefined, ['/chat/completions', '/anthropic/v1/messages'], []],
    ['deepseek', '/v1', ['/v1/chat/completions', '/anthropic/v1/messages'], []],
    [
      'openrouter',
      '/api/v1',
      [
        '/api/v1/chat/completions',
        '/api/v1/messages',
        '/api/v1/responses',
        '/api/v1/embeddings',
        '/api/v1/rerank',
        '/api/v1/audio/transcriptions',
        '/api/v1/audio/speech',
      ],
      [],
    ],
    [
      'fireworks',
      '/inference/v1',
      [
        '/inference/v1/chat/completions',
        '/inference/v1/messages',
        '/inference/v1/responses',
        '/inference/v1/embeddings',
      ],
      [],
    ],
    [
      'ollama',
      '/v1',
      ['/v1/chat/completions', '/v1/messages', '/v1/responses', '/v1/embeddings'],
      [],
    ],
    ['xai', '/v1', ['/v1/chat/completions', '/v1/responses'], []],
    // What one of them begins with is no prefix for the others.
    [
      'cohere',
      '/compatibility/v1',
      ['/compatibility/v1/chat/completions', '/compatibility/v1/embeddings', '/v2/rerank'],
      [],
    ],
    [
      'cohere',
      '/v2',
      ['/compatibility/v1/chat/completions', '/compatibility/v1/embeddings', '/v2/rerank'],
      [],
    ],
    [
      'cohere',
      '/proxy/v1',
      [
        '/proxy/compatibility/v1/chat/completions',
        '/proxy/compatibility/v1/embeddings',
        '/proxy/v2/rerank',
      ],
      [],
    ],
  ])(
    'and its others, of %s below %s, are %j, and it counts at %j',
    (kind, below, paths, counts) => {
      const origin = below ?? (kind.endsWith('compatible') ? '' : undefined)
      const { services } = configureOne({
        ...OPENAI,
        kind,
        ...(origin !== undefined && { origin: `https://api.example.com${origin}` }),
        models: { m: { price: 'free' } },
      })
      expect(services.map(({ path }) => path)).toEqual(paths)
      expect(services.flatMap(({ countPath }) => countPath ?? [])).toEqual(counts)
    },
  )
})

describe('a supplier with models of its own', () => {
  it('knows a model as the catalogue does, but for what the file says', () => {
    const models = { large: null, small: { as: 'tiny', price: { input: 5, output: 6 } } }
    expect([...configureOne({ ...OPENAI, models }).models]).toEqual([
      ['large', LARGE],
      ['small', { ...LARGE, as: 'tiny', prices: price(5_000_000, 6_000_000) }],
    ] as never)
  })

  it('serves a model that nobody else knows at the price of the file', () => {
    const supplier = configureOne({ ...OPENAI, models: { own: { price: 'free' } } })
    expect(supplier.models.get('own')).toEqual({ as: 'own', prices: FREE, ownedBy: 'mine' })
  })

  it('takes a price that the file states for all', () => {
    const models = { own: { owned_by: 'us', price: { input: 7, output: 8 } } }
    const supplier = configureOne({ ...GENERIC, models: { own: null } }, models)
    expect(supplier.models.get('own')).toMatchObject({
      prices: price(7_000_000, 8_000_000),
      ownedBy: 'us',
    })
  })

  it.each([
    ['a model that nobody knows', { own: null }],
    ['a model that others serve', { small: {} }],
  ])('does not serve %s without a price', (_, models) => {
    const { place, message } = faultOf({ ...GENERIC, models })
    expect(place).toBe(`models.${Object.keys(models)[0]}.price`)
    expect(message).toContain('price: free')
  })

  it('does not serve what no service offers', () => {
    const { place, message } = faultOf({ ...OPENAI, kind: 'xai', models: { numbers: null } })
    expect(place).toBe('models.numbers')
    expect(message).toContain('embedding')
  })

  it('has times for itself, for a model and for a model there', () => {
    const supplier = configureOne(
      {
        ...OPENAI,
        timeouts: { total: 60, first_byte: 0.5 },
        models: { large: { timeouts: { idle: 3 } }, small: null },
      },
      { large: { timeouts: { total: 900, idle: 4 } } },
    )
    expect(supplier.timeouts).toEqual({ unaryMs: 60_000, firstByteMs: 500 })
    expect(supplier.models.get('large')?.timeouts).toEqual({ unaryMs: 900_000, idleMs: 3000 })
    expect(supplier.models.get('small')).not.toHaveProperty('timeouts')
  })
})

describe('what bounds the cost of a model', () => {
  const limitsIn = (supplier: object, models: object = {}): unknown =>
    configureOne(supplier, models).models.get('large')?.limits

  it('is what the catalogue knows where it knows the supplier', () => {
    const limits = { contextWindow: 1000, outputCeiling: 100 }
    expect(limitsIn(OPENAI)).toEqual(limits)
    expect(limitsIn(AZURE)).toEqual(limits)
  })

  it('is what the file knows better', () => {
    const large = { context_window: 500, output_ceiling: 50, image_tokens: 5 }
    const limits = { contextWindow: 500, outputCeiling: 50, imageTokens: 5 }
    expect(limitsIn(OPENAI, { large })).toEqual(limits)
    expect(limitsIn({ ...OPENAI, models: { large: null } }, { large })).toEqual(limits)
  })

  it('is the window alone at a server that may put out more, unless the file says how much', () => {
    const own = { ...GENERIC, models: { large: { price: 'free' } } }
    expect(limitsIn(own)).toEqual({ contextWindow: 1000 })
    expect(limitsIn(own, { large: { output_ceiling: 70, image_tokens: 9 } })).toEqual({
      contextWindow: 1000,
      outputCeiling: 70,
      imageTokens: 9,
    })
  })

  it('is more than the window where what is put out takes nothing of it', () => {
    const [model] = assembleCatalogue([{ ...ROW, id: 'apart', outputApart: true, suppliers: {} }])
    if (model === undefined) throw new Error('the assembly lost a row')
    expect(limitsOf(model)).toEqual({ contextWindow: 1100, outputCeiling: 100 })
  })

  it('is unknown for a model of which nothing was said', () => {
    const supplier = configureOne({ ...GENERIC, models: { own: { price: 'free' } } })
    expect(supplier.models.get('own')).not.toHaveProperty('limits')
  })
})

describe('a server of one’s own', () => {
  it('is free for any model, and needs no credential', () => {
    const { services, ...generic } = configureOne(GENERIC)
    expect(services.map(({ path }) => path)).toEqual([
      '/v1/chat/completions',
      '/v1/embeddings',
      '/v1/rerank',
      '/v1/audio/transcriptions',
      '/v1/audio/speech',
    ])
    expect(generic).toMatchObject({
      origin: 'http://gpu:8000',
      credential: undefined,
      anyModel: FREE,
      allowPrivate: true,
    })
    expect(configureOne({ kind: 'ollama', region: 'EU' })).toMatchObject({
      origin: 'http://127.0.0.1:11434',
      region: 'EU',
      anyModel: FREE,
      allowPrivate: true,
    })
  })

  it('serves what is listed where anything is', () => {
    const models = { own: { price: 'free' } }
    expect(configureOne({ ...GENERIC, models }).anyModel).toBeUndefined()
    expect(configureOne({ kind: 'ollama', models }).anyModel).toBeUndefined()
  })

  it('that is not at hand names its models, because none is free by itself', () => {
    const { place } = faultOf({ kind: 'openai-compatible', origin: 'https://models.example.com' })
    expect(place).toBe('models')
  })
})

describe('quirks of the file', () => {
  const MISTRAL = { kind: 'mistral', credential: 'm' }

  it('stand above those of the kind, and what is dropped adds up', () => {
    const quirks = {
      usage: 'ask',
      max_tokens_name: 'max_completion_tokens',
      drop: ['store', 'x'],
      rename: { stop: 'end' },
      default: { safe_prompt: true },
      normalize: true,
      thoughts: 'reasoning',
      strict_order: false,
    }
    expect(configureOne({ ...MISTRAL, quirks }).quirks).toEqual({
      usage: 'ask',
      maxTokensName: 'max_completion_tokens',
      drop: ['store', 'user', 'x'],
      rename: { seed: 'random_seed', stop: 'end' },
      default: { safe_prompt: true },
      normalize: true,
      thoughts: 'reasoning',
      callIds: 'nine',
      strictOrder: false,
    })
    const own = { thoughts: 'none', call_ids: 'nine', strict_order: true }
    expect(
      configureOne({
        kind: 'cerebras',
        credential: 'c',
        models: { own: { price: 'free' } },
        quirks: own,
      }).quirks,
    ).toEqual({
      usage: 'ask',
      thoughts: 'none',
      callIds: 'nine',
      strictOrder: true,
    })
  })

  it('leave the kind alone where they say nothing', () => {
    expect(configureOne({ ...MISTRAL, quirks: {} }).quirks).toEqual(configureOne(MISTRAL).quirks)
  })

  it.each([
    [{ drop: ['user', 'messages'] }, 'quirks.drop.1'],
    [{ rename: { x: 'model' } }, 'quirks.rename.x'],
    [{ default: { stream: true } }, 'quirks.default.stream'],
    // The kind itself calls the seed by another name.
    [{ drop: ['seed'] }, 'quirks.rename.seed'],
  ])('that touch what the gateway reads are refused: %j', (quirks, place) => {
    expect(faultOf({ ...MISTRAL, quirks }).place).toBe(place)
  })
})

describe('a kind that speaks two languages', () => {
  const BOTH = { kind: 'deepseek', credential: 'x', models: { own: { price: 'free' } } }

  it('has a service for each, and the file’s quirks hold for the first alone', () => {
    const supplier = configureOne({ ...BOTH, quirks: { drop: ['top_k'] } })
    expect(supplier).toMatchObject({
      signature: 'bearer',
      quirks: { usage: 'ask', drop: ['top_k'] },
    })
    expect(supplier.services).toEqual([
      { dialect: openaiChat, path: '/chat/completions' },
      {
        dialect: anthropicMessages,
        path: '/anthropic/v1/messages',
        signature: 'bearer',
        quirks: { usage: 'always' },
      },
    ])
  })

  it('is kept from a quirk that the first of them guards, and from no other', () => {
    expect(() => configureOne({ ...BOTH, quirks: { drop: ['n'] } })).toThrow('`n`')
    const quirks = { default: { container: 'x', system: 'y' }, drop: ['thread'] }
    expect(configureOne({ ...BOTH, quirks }).quirks).toMatchObject(quirks)
  })

  it('that speaks messages alone has the file’s quirks for these', () => {
    const rack = { kind: 'anthropic-compatible', origin: 'http://gpu', allow_private: true }
    const supplier = configureOne({ ...rack, quirks: { drop: ['top_k'] } })
    expect(supplier.quirks).toEqual({ usage: 'always', drop: ['top_k'] })
    const faulty = { ...rack, quirks: { drop: ['thread'] } }
    expect(() => configureOne(faulty)).toThrow('thread')
  })
})

describe('the way in which a model is told to think', () => {
  const reasoningOf = (model: object | undefined): unknown =>
    configureOne(
      { ...GENERIC, models: { own: { price: 'free' } } },
      model === undefined ? {} : { own: model },
    ).models.get('own')?.reasoning

  it.each([
    ['is unknown of a model that nobody has described', undefined, undefined],
    ['is unknown where the file says nothing of what it can do', { owned_by: 'us' }, undefined],
    ['is a word where the file says that it reasons', { capabilities: ['reasoning'] }, 'effort'],
    ['is none where the file says that it does not', { capabilities: ['tools'] }, 'none'],
  ])('%s', (_, model, expected) => {
    expect(reasoningOf(model)).toBe(expected)
  })
})

describe('a supplier that cannot be', () => {
  it.each([
    [{ kind: 'opnai', credential: 'x' }, 'kind', 'did you mean openai'],
    [{ kind: 'somebody' }, 'kind', 'openai-compatible is for any other'],
    [{ kind: 'openai' }, 'credential', '${OPENAI_API_KEY}'],
    [{ ...OPENAI, region: 'ZZ' }, 'region', 'EU, US, AE'],
    // The EU is more than Germany.
    [{ ...OPENAI, region: 'DE' }, 'region', 'EU, US, AE'],
    [{ kind: 'groq', credential: 'x', region: 'EU' }, 'region', 'add origin:'],
    [{ ...OPENAI, api_version: 'v1' }, 'api_version', 'remove it'],
    [{ ...OPENAI, origin: 'http://10.0.0.1' }, 'origin', 'allow_private: true'],
    [
      { ...OPENAI, origin: 'https://example.com/v1/messages' },
      'origin',
      'before /chat/completions',
    ],
    [{ ...OPENAI, origin: 'https://user:hush@example.com' }, 'origin', 'credential'],
    [{ ...GENERIC, origin: 'http://169.254.169.254' }, 'origin', 'credentials of the machine'],
    [
      { ...GENERIC, origin: 'http://gpu/v1/chat/completions' },
      'origin',
      'before /chat/completions',
    ],
    ...['embeddings', 'rerank', 'audio/speech', 'audio/transcriptions', 'speech'].map(
      (end) =>
        [
          { ...OPENAI, origin: `https://proxy.example.com/v1/${end}` },
          'origin',
          'ends in the path of a service',
        ] as const,
    ),
    [{ ...GENERIC, origin: undefined }, 'origin', 'write yours'],
    [{ kind: 'nebius', credential: 'x' }, 'models', 'lists no model'],
    [{ ...OPENAI, models: {} }, 'models', 'is empty'],
  ])('%j is told where and why', (supplier, place, words) => {
    const fault = faultOf(supplier)
    expect(fault.place).toBe(place)
    expect(fault.message).toContain(words)
    expect(fault.message).not.toContain('hush')
  })
})

describe('a model that refuses to be told how to choose its words', () => {
  it('does so wherever it is served, and no other does', () => {
    const maker = configureOne({ kind: 'xai', credential: 'sk-test' })
    const own = configureOne({
      ...GENERIC,
      models: { steady: { price: 'free' }, own: { price: 'free' } },
    })
    expect(maker.models.get('steady')?.samples).toBe(false)
    expect(own.models.get('steady')?.samples).toBe(false)
    expect(own.models.get('own')).not.toContainKey('samples')
    expect(configureOne(OPENAI).models.get('large')).not.toContainKey('samples')
  })
})

describe('a model that cannot be told not to think', () => {
  it('cannot wherever it is served, and knows no other words there', () => {
    const maker = configureOne({ kind: 'xai', credential: 'sk-test' })
    const own = configureOne({ ...GENERIC, models: { restless: { price: 'free' } } })
    const refused = { leastThinking: 'always', refusedEfforts: ['xhigh'] }
    expect(maker.models.get('restless')).toMatchObject(refused)
    expect(own.models.get('restless')).toMatchObject(refused)
    expect(maker.models.get('steady')).not.toContainAnyKeys(Object.keys(refused))
  })
})

// Discovery from a table and a lookup: what is found, at which address, and that no key can be read
// off it.
import { describe, expect, it } from 'bun:test'
import { assembleCatalogue, catalogue } from '../catalog/index.ts'
import { FREE } from '../catalog/price.ts'
import { ConfigurationError } from '../config/problem.ts'
import { toPicoUsd } from '../core/money.ts'
import { openaiChat } from '../dialects/openai-chat/index.ts'
import { openaiResponses } from '../dialects/openai-responses/index.ts'
import { openaiSpeech } from '../dialects/openai-speech/index.ts'
import { openaiTranscriptions } from '../dialects/openai-transcriptions/index.ts'
import { discoverSuppliers } from './discovered.ts'
import { kinds } from './index.ts'
import type { Supplier } from './supplier.ts'

function discover(environment: Readonly<Record<string, string>>): readonly Supplier[] {
  return discoverSuppliers(kinds, (name) => environment[name], catalogue)
}

function discoverOne(environment: Readonly<Record<string, string>>): Supplier {
  const [supplier, ...others] = discover(environment)
  expect(others).toEqual([])
  if (!supplier) throw new Error('nothing was discovered')
  return supplier
}

describe('discovery', () => {
  it('finds nothing in an empty environment', () => {
    expect(discover({})).toEqual([])
  })

  it('ignores blank variables', () => {
    expect(discover({ OPENAI_API_KEY: '', GROQ_API_KEY: ' \t\n', OLLAMA_HOST: '  ' })).toEqual([])
  })

  it('makes a whole supplier of a variable that is set', () => {
    const supplier = discoverOne({ GROQ_API_KEY: 'gsk-test' })
    expect(supplier.id).toBe('groq')
    expect(supplier.origin).toBe('https://api.groq.com')
    expect(supplier.region).toBe('global')
    expect(supplier.services).toEqual([
      { dialect: openaiChat, path: '/openai/v1/chat/completions' },
      {
        dialect: openaiResponses,
        path: '/openai/v1/responses',
        signature: 'bearer',
        quirks: { usage: 'always' },
      },
      expect.objectContaining({
        dialect: openaiTranscriptions,
        path: '/openai/v1/audio/transcriptions',
      }),
      expect.objectContaining({ dialect: openaiSpeech, path: '/openai/v1/audio/speech' }),
    ])
    expect(supplier.quirks).toEqual({ usage: 'ask' })
    expect(supplier.signature).toBe('bearer')
    expect(supplier.anyModel).toBeUndefined()
    expect(supplier.allowPrivate).toBe(false)
    expect(supplier.credential?.reveal()).toBe('gsk-test')
  })

  it('keeps the order of the table', () => {
    const ids = discover({ XAI_API_KEY: 'x', OPENAI_API_KEY: 'o' }).map((supplier) => supplier.id)
    expect(ids).toEqual(['openai', 'xai'])
  })

  it('trims what surrounds a key', () => {
    expect(discoverOne({ XAI_API_KEY: ' key\r\n' }).credential?.reveal()).toBe('key')
  })

  it.each(['sk-\u201cquoted\u201d', 'sk-two\nlines', 'Bearer sk', 'sk-caf\u00e9'])(
    'refuses %j, which no header can carry, by the name of its variable',
    (key) => {
      const find = (): unknown => discover({ OPENAI_API_KEY: key })
      expect(find).toThrow(ConfigurationError)
      expect(find).toThrow('OPENAI_API_KEY holds ')
      expect(find).not.toThrow('sk')
    },
  )

  it('takes the first variable that is not blank', () => {
    const only = discoverOne({ GOOGLE_API_KEY: 'second' })
    expect(only.id).toBe('gemini')
    expect(only.credential?.reveal()).toBe('second')
    const both = discoverOne({ GEMINI_API_KEY: 'first', GOOGLE_API_KEY: 'second' })
    expect(both.credential?.reveal()).toBe('first')
    const blank = discoverOne({ GEMINI_API_KEY: ' ', GOOGLE_API_KEY: 'second' })
    expect(blank.credential?.reveal()).toBe('second')
  })

  it('serves exactly what names the kind and has a service there, at its price and with its limits', () => {
    const priced = { source: 'https://example.com/', date: '2026-01-01' }
    const row = {
      ownedBy: 'maker',
      contextWindow: 1000,
      capabilities: [],
      price: { input: '1', output: '2' },
      priced,
    }
    const models = assembleCatalogue([
      {
        ...row,
        id: 'shared',
        kind: 'chat',
        outputCeiling: 100,
        imageTokens: 765,
        tokenizer: 'o200k',
        suppliers: {
          openai: 'shared-name',
          groq: { as: 'maker/shared', price: { input: '0.5', output: '0.75' }, priced },
        },
      },
      {
        ...row,
        id: 'numbers',
        kind: 'embedding',
        suppliers: { openai: 'numbers', xai: 'numbers', voyage: 'numbers-v' },
      },
    ])
    const keys: Readonly<Record<string, string>> = {
      OPENAI_API_KEY: 'a',
      GROQ_API_KEY: 'b',
      XAI_API_KEY: 'c',
      VOYAGE_API_KEY: 'd',
      JINA_API_KEY: 'e',
    }
    const found = discoverSuppliers(kinds, (name) => keys[name], models)
    const routeOf = (as: string, input: number, output: number) => ({
      as,
      prices: [{ from: 0, price: { input: toPicoUsd(input), output: toPicoUsd(output) } }],
      ownedBy: 'maker',
      limits: { contextWindow: 1000, outputCeiling: 100, imageTokens: 765, tokenizer: 'o200k' },
      capabilities: [],
      reasoning: 'none',
    })
    const numbers = (as: string) => ({
      as,
      prices: [{ from: 0, price: { input: toPicoUsd(1_000_000), output: toPicoUsd(2_000_000) } }],
      ownedBy: 'maker',
      task: 'embedding',
      limits: {},
    })
    expect(found.map((supplier) => [supplier.id, [...supplier.models]] as unknown)).toEqual([
      [
        'openai',
        [
          ['shared', routeOf('shared-name', 1_000_000, 2_000_000)],
          ['numbers', numbers('numbers')],
        ],
      ],
      ['groq', [['shared', routeOf('maker/shared', 500_000, 750_000)]]],
      ['voyage', [['numbers', numbers('numbers-v')]]],
    ])
  })

  it('has what is done beside chats from who has no chats at all', () => {
    const { models, services } = discoverOne({ VOYAGE_API_KEY: 'pa-test' })
    expect(new Set([...models.values()].map(({ task }) => task))).toEqual(
      new Set(['embedding', 'rerank']),
    )
    expect(services.map(({ path, inputsMax }) => [path, inputsMax])).toEqual([
      ['/v1/embeddings', 1000],
      ['/v1/rerank', undefined],
    ])
  })

  it('leaves out a supplier of whose models nothing is known, so that the demo goes on', () => {
    expect(discover({ JINA_API_KEY: 'jina_test' })).toEqual([])
  })

  it('hides the credential from every way to print a supplier', () => {
    const key = 'sk-test-0123456789'
    const supplier = discoverOne({ OPENAI_API_KEY: key })
    expect(JSON.stringify(supplier)).not.toContain(key)
    expect(Bun.inspect(supplier)).not.toContain(key)
    expect(Bun.inspect(supplier, { depth: 20 })).not.toContain(key)
    expect(String(supplier.credential)).not.toContain(key)
  })
})

describe('a local server', () => {
  const ADDRESSES: readonly (readonly [string, string])[] = [
    ['127.0.0.1:11434', 'http://127.0.0.1:11434'],
    ['localhost', 'http://localhost:11434'],
    ['gpu-box:8080', 'http://gpu-box:8080'],
    ['gpu-box:80', 'http://gpu-box'],
    ['gpu-box/', 'http://gpu-box:11434'],
    ['0.0.0.0', 'http://127.0.0.1:11434'],
    ['0.0.0.0:9000', 'http://127.0.0.1:9000'],
    ['http://0.0.0.0:11434', 'http://127.0.0.1:11434'],
    [':9000', 'http://127.0.0.1:9000'],
    ['::1', 'http://[::1]:11434'],
    ['[::]:9000', 'http://[::1]:9000'],
    ['http://gpu-box:11434/', 'http://gpu-box:11434'],
    ['http://gpu-box', 'http://gpu-box'],
    ['https://models.example.com', 'https://models.example.com'],
  ]
  for (const [host, origin] of ADDRESSES) {
    it(`reads OLLAMA_HOST=${host} as ${origin}`, () => {
      const supplier = discoverOne({ OLLAMA_HOST: host })
      expect(supplier.origin).toBe(origin)
      expect(supplier.services[0]?.path).toBe('/v1/chat/completions')
    })
  }

  it('needs no credential, is free for any model and may be private', () => {
    const supplier = discoverOne({ OLLAMA_HOST: 'localhost' })
    expect(supplier.credential).toBeUndefined()
    expect(supplier.anyModel).toBe(FREE)
    expect(supplier.allowPrivate).toBe(true)
    expect(supplier.region).toBe('global')
  })

  it('keeps the folder of a URL', () => {
    const supplier = discoverOne({ OLLAMA_HOST: 'https://example.com/ollama/' })
    expect(supplier.origin).toBe('https://example.com')
    expect(supplier.services[0]?.path).toBe('/ollama/v1/chat/completions')
  })

  it('refuses an address that hands out credentials of the machine', () => {
    for (const host of ['169.254.169.254', 'http://169.254.169.254/latest', '[fd00:ec2::254]:80'])
      expect(() => discover({ OLLAMA_HOST: host })).toThrow('OLLAMA_HOST is an address that hands')
  })

  it('refuses what is no address without quoting it', () => {
    for (const host of ['ftp://host', 'http://user:hush@host', 'a b', 'host:99999', 'http://']) {
      expect(() => discover({ OLLAMA_HOST: host })).toThrow('OLLAMA_HOST is not an address')
    }
    expect(() => discover({ OLLAMA_HOST: 'http://user:hush@host' })).not.toThrow('hush')
  })
})

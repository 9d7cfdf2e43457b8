// What a file makes of suppliers that are called by sign-ins: where these are renewed, what models cost there, and for
// whatever cannot be the place in the file and what to write.
import { describe, expect, it } from 'bun:test'
import { catalogue } from '../catalog/index.ts'
import { overrideCatalogue } from '../catalog/merge.ts'
import { FREE } from '../catalog/price.ts'
import { configureRegions } from '../catalog/regions.ts'
import { ConfigFault, spreadFaults } from '../config/fault.ts'
import { ConfigSchema } from '../config/schema.ts'
import { nativeResponses } from '../dialects/native-responses/index.ts'
import { checkOrigin } from '../upstream/address.ts'
import { configureSuppliers } from './configured.ts'
import { describeSupplier } from './describe.ts'
import { native } from './native.ts'
import type { Supplier } from './supplier.ts'

function configure(supplier: object, models: object = {}): Supplier {
  const config = ConfigSchema.parse({ suppliers: { mine: supplier }, models })
  const known = overrideCatalogue(catalogue, config.models)
  const parts = { catalogue: known, regions: configureRegions(config.regions) }
  const [found, ...others] = configureSuppliers(config, parts)
  if (found === undefined || others.length > 0) throw new Error('not one supplier')
  return found
}

/** What is wrong with a supplier, by its place below it. */
function faultsOf(supplier: object): Readonly<Record<string, string>> {
  try {
    configure(supplier)
  } catch (thrown) {
    if (!(thrown instanceof ConfigFault)) throw thrown
    const faults = spreadFaults([thrown])
    return Object.fromEntries(faults.map(({ path, message }) => [path.slice(2).join('.'), message]))
  }
  throw new Error('there was no fault')
}

const CODEX = { kind: 'codex', models: { 'gpt-5.6-terra': {} } }
const SECRET = 'cs-test-secret'
const OWN = {
  kind: 'native-compatible',
  origin: 'https://agents.example.com/v1',
  models: { 'our-agent': { price: { input: 1, output: 2 } } },
  oauth: { token_url: 'https://auth.example.com/o/token/' },
}

describe('a supplier that is signed in at', () => {
  it('is whole with the models that it serves, and has no credential', () => {
    const supplier = configure(CODEX)
    expect(supplier).toMatchObject({
      origin: 'https://chatgpt.com',
      region: 'global',
      signature: 'bearer',
      services: [{ dialect: nativeResponses, path: '/backend-api/codex/responses' }],
      billing: 'metered',
      anyModel: undefined,
      allowPrivate: false,
      oauth: {
        grant: 'refresh_token',
        tokenUrl: 'https://auth.openai.com/oauth/token',
        authorizeUrl: 'https://auth.openai.com/oauth/authorize',
        redirectUrl: 'http://localhost:1455/auth/callback',
        format: 'json',
        clientAuth: 'body',
        deviceUrl: undefined,
        clientSecret: undefined,
        subjectHeader: 'chatgpt-account-id',
      },
    })
    expect(supplier.oauth?.clientId).toStartWith('app_')
    expect(supplier.oauth?.scope).toContain('offline_access')
    expect(supplier.services).toHaveLength(1)
    expect(supplier.quirks).toMatchObject({ outputLimit: 'refused' })
    expect(supplier.credential).toBeUndefined()
  })

  it('costs what the maker asks, and holds what the catalogue says', () => {
    const route = configure(CODEX).models.get('gpt-5.6-terra')
    const model = catalogue.find(({ id }) => id === 'gpt-5.6-terra')!
    const maker = model.suppliers.get('openai')!
    expect(maker.prices).not.toEqual(FREE)
    expect(route?.prices).toEqual(maker.prices)
    expect(route?.as).toBe(maker.as)
    expect(route?.limits?.contextWindow).toBe(model.contextWindow)
    expect(route?.limits?.outputCeiling).toBe(model.outputCeiling)
    // What a model refuses in chats is no matter here.
    const refused = catalogue.find(
      ({ suppliers }) => suppliers.get('openai')?.besideTools === 'refused',
    )!
    const route2 = configure({ kind: 'codex', models: { [refused.id]: {} } }).models.get(refused.id)
    expect(route2?.capabilities).toContain('tools')
    expect(route2).not.toContainAnyKeys(['dialects', 'besideTools'])
  })

  it('costs what the file says, or nothing by a subscription', () => {
    const price = { input: 7, output: 8 }
    const dearer = configure({ ...CODEX, models: { 'gpt-5.6-terra': { price } } })
    expect(dearer.models.get('gpt-5.6-terra')?.prices).not.toEqual(
      configure(CODEX).models.get('gpt-5.6-terra')!.prices,
    )
    const models = { 'gpt-5.6-terra': {}, 'of-the-plan': {} }
    const free = configure({ kind: 'codex', billing: 'subscription', models })
    expect(free.billing).toBe('subscription')
    expect([...free.models.values()].map(({ prices }) => prices)).toEqual([FREE, FREE])
    expect(free.models.get('gpt-5.6-terra')?.limits?.contextWindow).toBeNumber()
  })

  it('of an own issuer has the addresses of the file, as they were written', () => {
    const supplier = configure(OWN)
    expect(supplier).toMatchObject({
      origin: 'https://agents.example.com',
      services: [{ dialect: nativeResponses, path: '/v1/responses' }],
    })
    expect(supplier.oauth).toEqual({
      grant: 'refresh_token',
      tokenUrl: 'https://auth.example.com/o/token/',
      clientId: undefined,
      clientSecret: undefined,
      clientAuth: 'body',
      format: 'form',
      scope: undefined,
      audience: undefined,
      authorizeUrl: undefined,
      authorizeParameters: {},
      redirectUrl: undefined,
      deviceUrl: undefined,
      subjectHeader: undefined,
    })
  })

  it('takes every word of the file for sign-ins before that of its kind', () => {
    const oauth = {
      grant: 'client_credentials',
      token_url: 'http://127.0.0.1:9/token',
      client_id: 'ours',
      client_secret: SECRET,
      client_auth: 'basic',
      format: 'form',
      scope: 'models agents',
      audience: 'https://agents.example.com',
      authorize_url: 'http://127.0.0.1:9/authorize',
      authorize_parameters: { prompt: 'login' },
      redirect_url: 'http://127.0.0.1:4000/back',
      device_url: 'http://127.0.0.1:9/device',
      subject_header: 'X-Account',
    }
    const supplier = configure({ ...CODEX, oauth, allow_private: true })
    const { clientSecret, ...others } = supplier.oauth!
    expect(others).toEqual({
      grant: 'client_credentials',
      tokenUrl: 'http://127.0.0.1:9/token',
      clientId: 'ours',
      clientAuth: 'basic',
      format: 'form',
      scope: 'models agents',
      audience: 'https://agents.example.com',
      authorizeUrl: 'http://127.0.0.1:9/authorize',
      authorizeParameters: { prompt: 'login' },
      redirectUrl: 'http://127.0.0.1:4000/back',
      deviceUrl: 'http://127.0.0.1:9/device',
      subjectHeader: 'x-account',
    })
    expect(clientSecret?.reveal()).toBe(SECRET)
    expect(Bun.inspect(supplier, { depth: 20 })).not.toContain(SECRET)
  })

  it('is told from another one by its issuer and by a secret that is not shown', () => {
    const oauth = { ...OWN.oauth, client_id: 'ours', client_secret: SECRET }
    const of = (changed: object): string =>
      describeSupplier(configure({ ...OWN, oauth: { ...oauth, ...changed } }))
    expect(of({})).toBe(of({}))
    expect(of({})).not.toContain(SECRET)
    const others = [
      of({}),
      of({ client_secret: `${SECRET}-2` }),
      of({ client_secret: undefined }),
      of({ token_url: 'https://auth.example.com/o/token' }),
      of({ scope: 'agents' }),
    ]
    expect(new Set(others).size).toBe(others.length)
  })
})

describe('a sign-in that cannot be', () => {
  it.each([
    [
      'a credential',
      { ...CODEX, credential: 'sk-test' },
      { credential: expect.stringContaining('gateway native login') as string },
    ],
    [
      'several credentials, and no models',
      { kind: 'codex', credentials: ['sk-one', 'sk-two'] },
      {
        credentials: expect.stringContaining('remove it') as string,
        models: expect.stringContaining('depends on who signs in') as string,
      },
    ],
    [
      'no issuer',
      { ...OWN, oauth: undefined },
      { 'oauth.token_url': expect.stringContaining('is missing') as string },
    ],
    [
      'an issuer in the open, and one of this network',
      {
        ...OWN,
        oauth: {
          token_url: 'http://auth.example.com/t',
          device_url: 'https://10.0.0.1/d',
          client_id: 'x',
        },
      },
      {
        'oauth.token_url': expect.stringContaining('is not https') as string,
        'oauth.device_url': expect.stringContaining('private network') as string,
      },
    ],
    [
      'an address of credentials of the machine, whatever is allowed',
      { ...OWN, allow_private: true, oauth: { token_url: 'http://169.254.169.254/token' } },
      { 'oauth.token_url': expect.stringContaining('hands out credentials') as string },
    ],
    [
      'a secret of nobody',
      { ...OWN, oauth: { ...OWN.oauth, client_secret: SECRET } },
      { 'oauth.client_id': expect.stringContaining('is missing') as string },
    ],
    [
      'a place to sign in for nobody',
      { ...OWN, oauth: { ...OWN.oauth, authorize_url: 'https://auth.example.com/a' } },
      { 'oauth.client_id': expect.stringContaining('is missing') as string },
    ],
    [
      'a place to get a code for nobody',
      { ...OWN, oauth: { ...OWN.oauth, device_url: 'https://auth.example.com/d' } },
      { 'oauth.client_id': expect.stringContaining('is missing') as string },
    ],
    [
      'a price below a subscription',
      { ...OWN, billing: 'subscription' },
      { 'models.our-agent.price': expect.stringContaining('subscription') as string },
    ],
    [
      'a model that nobody has priced',
      { kind: 'codex', models: { 'gpt-5.6-tera': {} } },
      {
        'models.gpt-5.6-tera.price': expect.stringContaining(
          'did you mean gpt-5.6-terra?',
        ) as string,
      },
    ],
    [
      'a private server of any model',
      {
        kind: 'native-compatible',
        origin: 'http://10.0.0.1',
        allow_private: true,
        oauth: { token_url: 'http://10.0.0.1/t' },
      },
      { models: expect.stringContaining('is missing') as string },
    ],
    [
      'a subscription at a supplier of credentials',
      { kind: 'openai', credential: 'sk-test', billing: 'subscription' },
      { billing: expect.stringContaining('codex, native-compatible') as string },
    ],
    [
      'an issuer at a supplier of credentials',
      { kind: 'openai', credential: 'sk-test', oauth: OWN.oauth },
      { oauth: expect.stringContaining('remove it') as string },
    ],
  ])('for %s is told with its place', (_name, supplier, faults) => {
    expect(faultsOf(supplier)).toEqual(faults)
  })

  it.each([
    ['redirect_url', 'https://elsewhere.example.com/back'],
    ['redirect_url', 'http://localhost/without-a-port'],
    ['redirect_url', 'http://127.0.0.1.example.com:80/back'],
    ['redirect_url', 'http://localhost:99999/back'],
    ['scope', 'one  two'],
    ['scope', 'one "two"'],
    ['subject_header', 'Authorization'],
    ['subject_header', 'content-type'],
    ['subject_header', 'x account'],
    ['authorize_parameters', { state: 'mine' }],
    [
      'authorize_parameters',
      Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`p${at}`, ''])),
    ],
    ['client_id', 'line\nbreak'],
    ['client_secret', ''],
    ['grant', 'password'],
    ['refresh_token', 'rt-test'],
  ])('is refused with its own field: %s %p', (field, value) => {
    const suppliers = { mine: { ...OWN, oauth: { ...OWN.oauth, [field]: value } } }
    const { success, error } = ConfigSchema.safeParse({ suppliers })
    expect(success).toBe(false)
    const [issue] = error!.issues
    const place = [...issue!.path, ...('keys' in issue! ? issue.keys : [])]
    expect(place.slice(0, 4)).toEqual(['suppliers', 'mine', 'oauth', field])
  })
})

it('every native kind speaks the one language, and what it knows of sign-ins is public and whole', () => {
  for (const { services, oauth, environment, servesOwn } of native) {
    expect(services.map(({ dialect }) => dialect)).toEqual([nativeResponses])
    expect([environment, servesOwn]).toEqual([[], true])
    const { tokenUrl, authorizeUrl, deviceUrl } = oauth ?? {}
    for (const url of [tokenUrl, authorizeUrl, deviceUrl].filter((each) => each !== undefined))
      expect(checkOrigin(url, { allowPrivate: false })).toHaveProperty('origin')
  }
})

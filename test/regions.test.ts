// A region is a wall: whatever goes wrong inside of it, nobody outside hears of the call. Everybody outside is a
// sentinel here that counts connections and would be glad to answer.
import { afterEach, describe, expect, it } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { createFakeClock, type FakeClock } from './fakes/clock.ts'
import { startGateway, type Gateway } from './fakes/gateway.ts'
import { closeStreet, createGate, good, refuse, tidy } from './fakes/street.ts'
import { startFakeSupplier, type FakeSupplier, type Script } from './fakes/supplier.ts'

afterEach(closeStreet)

/** Who stands where, in the order of the file. `rack` is in a region that only the file knows. */
const PLACES = {
  us: 'US',
  nowhere: 'global',
  london: 'eu-west-2',
  odd: 'eu-mars',
  eu: 'EU',
  de: 'DE',
  rack: 'fra-dc',
} as const
type Name = keyof typeof PLACES
const NAMES = Object.keys(PLACES) as readonly Name[]

interface Scene {
  readonly gateway: Gateway
  readonly clock: FakeClock
  readonly suppliers: Readonly<Record<Name, FakeSupplier>>
  /** Asks for the model, whole or as a stream, and reads all of the answer. */
  ask(body?: object, init?: RequestInit): Promise<Answer>
  /** Everybody who was ever connected to. */
  reached(): readonly Name[]
}

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly error: { readonly code: string; readonly message: string; readonly details?: unknown }
}

interface SceneOptions {
  /** What they do who are not glad to answer. */
  readonly scripts?: Partial<Record<Name, Script>>
  /** Who serves which models; without it all serve `m`. */
  readonly models?: Partial<Record<Name, readonly string[]>>
  /** More lines of the file. */
  readonly more?: string
}

function configOf(
  suppliers: Readonly<Record<Name, FakeSupplier>>,
  { models = {}, more = '' }: SceneOptions,
  places: Readonly<Record<string, string>> = PLACES,
): string {
  const lines = Object.entries(places).flatMap(([name, region]) => [
    `  ${name}:`,
    '    kind: openai-compatible',
    `    origin: ${suppliers[name as Name].origin}`,
    '    allow_private: true',
    `    region: ${region}`,
    `    models: { ${(models[name as Name] ?? ['m']).map((model) => `${model}: { price: { input: 1, output: 2 } }`).join(', ')} }`,
  ])
  const tail = ['regions: { fra-dc: de }', 'limits: { attempts: 10 }', more, '']
  return ['suppliers:', ...lines, ...tail].join('\n')
}

async function openScene(options: SceneOptions = {}): Promise<Scene> {
  const started = NAMES.map(async (name) => {
    const supplier = tidy(await startFakeSupplier(options.scripts?.[name] ?? good))
    return [name, supplier] as const
  })
  const suppliers = Object.fromEntries(await Promise.all(started)) as Record<Name, FakeSupplier>
  const clock = createFakeClock()
  const config = configOf(suppliers, options)
  const gateway = tidy(await startGateway({ config, clock, draw: () => 0 }))
  return {
    gateway,
    clock,
    suppliers,
    async ask(body = {}, init = {}) {
      const messages = [{ role: 'user', content: 'Hello' }]
      const response = await gateway.chat({ model: 'm', messages, ...body }, init)
      const { status, headers } = response
      const text = await response.text()
      const isProblem = status >= 400
      return {
        status,
        headers,
        text,
        error: isProblem ? (JSON.parse(text) as Answer).error : { code: '', message: '' },
      }
    },
    reached: () => NAMES.filter((name) => suppliers[name].connections() > 0),
  }
}

/** As a key with this lock. */
async function lockTo({ gateway }: Scene, settings: object): Promise<RequestInit> {
  const { key } = await gateway.createKey({ name: 'locked', ...settings })
  return { headers: { authorization: `Bearer ${key}` } }
}

/** The lock of a key, the region of a call, and who may hear of it, in order. */
const WALLS: readonly (readonly [
  string | readonly string[] | undefined,
  string | undefined,
  readonly Name[],
])[] = [
  ['EU', undefined, ['eu', 'de', 'rack']],
  ['eea', undefined, ['eu', 'de', 'rack']],
  ['DE', undefined, ['de', 'rack']],
  [['US', 'de'], undefined, ['us', 'de', 'rack']],
  ['GB', undefined, ['london']],
  ['fra-dc', undefined, ['rack']],
  ['EU-MARS', undefined, ['odd']],
  [undefined, 'EU', ['eu', 'de', 'rack']],
  [undefined, 'de', ['de', 'rack']],
  ['EU', 'DE', ['de', 'rack']],
  ['DE', 'EU', ['de', 'rack']],
  [['US', 'EU', 'DE'], 'EEA', ['eu', 'de', 'rack']],
  [undefined, 'global', ['us', 'nowhere', 'london', 'odd', 'eu', 'de', 'rack']],
]

const TROUBLES: Readonly<Record<string, Script>> = {
  fails: refuse(500, { message: 'down' }),
  'is out of capacity': refuse(429, { message: 'busy' }),
  'breaks off': (_, reply) => reply.reset(),
}

describe('a call that must stay in a region', () => {
  for (const [lock, region, inside] of WALLS) {
    const key = lock === undefined ? 'an open key' : `a key for ${String(lock)}`
    const where = `of ${key}, ${region === undefined ? 'in no other' : `in ${region}`}`
    for (const [trouble, script] of Object.entries(TROUBLES))
      it(`${where}, asks all there and nobody else where each ${trouble}`, async () => {
        const scripts = Object.fromEntries(inside.map((name) => [name, script]))
        const scene = await openScene({ scripts })
        const init = lock === undefined ? {} : await lockTo(scene, { allowed_regions: lock })
        for (const stream of [false, true]) {
          const asked = inside.map((name) => scene.suppliers[name].requests.length)
          const answer = await scene.ask({ stream, ...(region && { region }) }, init)
          const isOpen = region === 'global'
          const code = isOpen ? 'all_providers_exhausted' : 'sovereign_route_unavailable'
          expect(answer.error.code).toBe(code)
          expect(answer.status).toBe(isOpen && trouble.includes('capacity') ? 429 : 503)
          expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
          expect(scene.reached()).toEqual(inside)
          for (const [index, name] of inside.entries())
            expect(scene.suppliers[name].requests.length).toBe(asked[index]! + 1)
        }
      })
  }

  it.each([false, true])(
    'waits for nobody outside where each inside hangs (stream: %p)',
    async (stream) => {
      const hang: Script = () => {}
      const scene = await openScene({ scripts: { eu: hang, de: hang, rack: hang } })
      const init = await lockTo(scene, { allowed_regions: 'EU' })
      const asking = scene.ask({ stream }, init)
      for (const name of ['eu', 'de', 'rack'] as const) {
        await scene.suppliers[name].request(0)
        scene.clock.advance(600_000)
      }
      // A stream has begun by then, and says it in its last event.
      const { text } = await asking
      expect(text).toContain('"code":"all_providers_exhausted"')
      expect(scene.reached()).toEqual(['eu', 'de', 'rack'])
    },
  )

  it.each(['weight', 'cheapest', 'fastest'])(
    'stays there whoever is preferred by %s',
    async (policy) => {
      const scene = await openScene({ more: `routing: { policy: ${policy} }` })
      const init = await lockTo(scene, { allowed_regions: 'DE' })
      for (let count = 0; count < 4; count++) expect((await scene.ask({}, init)).status).toBe(200)
      expect(scene.reached().every((name) => name === 'de' || name === 'rack')).toBe(true)
    },
  )

  it('is told where it was answered, in the header, in the audit and in its record', async () => {
    for (const [name, lock] of [
      ['rack', 'FRA-DC'],
      ['london', 'GB'],
      ['de', 'DE'],
    ] as const) {
      const scene = await openScene()
      const answer = await scene.ask({}, await lockTo(scene, { allowed_regions: lock }))
      const place = PLACES[name].toUpperCase()
      expect(answer.headers.get('x-svc-supplier')).toBe(name)
      expect(answer.headers.get('x-svc-region')).toBe(place)
      const id = answer.headers.get('x-request-id')
      const record = await (await scene.gateway.manage('GET', `/calls/${id}`)).json()
      expect(record).toMatchObject({ region: place, tries: [{ supplier: name, region: place }] })
      const found = await (await scene.gateway.manage('GET', `/audit?region=${place}`)).json()
      expect(found).toMatchObject({ data: [{ request_id: id, region: place }] })
    }
  })

  it('names no region to whoever answers', async () => {
    const scene = await openScene()
    for (const stream of [false, true]) await scene.ask({ region: 'EU', stream })
    const bodies = scene.suppliers.eu.requests.map(({ body }) => body.toString())
    expect(bodies).toHaveLength(2)
    for (const body of bodies) expect(body).not.toContain('region')
  })
})

describe('a call without a way to go', () => {
  it.each([
    ['US', 'permission_denied', 'locked to EU'],
    ['eu-west-2', 'permission_denied', 'locked to EU'],
    ['mars', 'permission_denied', 'locked to EU'],
    ['global', 'permission_denied', 'locked to EU'],
    ['FR', 'sovereign_route_unavailable', 'in FR'],
  ])(
    'of a key for the EU, in %s, is refused for good and never sent',
    async (region, code, words) => {
      const scene = await openScene()
      const init = await lockTo(scene, { allowed_regions: 'EU' })
      for (const stream of [false, true]) {
        const answer = await scene.ask({ region, stream }, init)
        expect(answer).toMatchObject({
          status: 403,
          error: { code, param: 'region', retryable: false },
        })
        expect(answer.error.message).toContain(words)
        expect(answer.headers.get('retry-after')).toBeNull()
      }
      expect(scene.reached()).toEqual([])
    },
  )

  it('is refused by whoever promises only what is around the region', async () => {
    const scene = await openScene({ models: { de: ['other'], rack: ['other'] } })
    const init = await lockTo(scene, { allowed_regions: 'DE' })
    for (const body of [{}, { region: 'EU' }, { model: 'eu/m' }, { model: 'us/m' }])
      expect(await scene.ask(body, init)).toMatchObject({
        status: 403,
        error: { code: 'sovereign_route_unavailable' },
      })
    expect(scene.reached()).toEqual([])
  })

  it('is told when to come back while all inside have asked for a pause, and is not sent', async () => {
    const pause = refuse(429, { message: 'later' }, { 'retry-after': '7' })
    const scene = await openScene({ scripts: { de: pause, rack: pause } })
    const init = await lockTo(scene, { allowed_regions: 'DE' })
    for (const [passed, wait] of [
      [0, '7'],
      [0, '7'],
      [5000, '2'],
    ] as const) {
      scene.clock.advance(passed)
      const answer = await scene.ask({}, init)
      expect(answer).toMatchObject({ status: 503, error: { code: 'sovereign_route_unavailable' } })
      expect(answer.headers.get('retry-after')).toBe(wait)
      expect(scene.suppliers.de.requests).toHaveLength(1)
    }
    expect(scene.reached()).toEqual(['de', 'rack'])
  })
})

describe('what a gateway remembers', () => {
  it('of a session outside is no way out', async () => {
    const scene = await openScene()
    const headers = { 'x-session-id': 'one' }
    const before = await scene.ask({}, { headers })
    expect(before.headers.get('x-svc-supplier')).toBe('us')
    expect((await scene.ask({}, { headers })).headers.get('x-svc-session')).toBe('kept')
    for (const stream of [false, true]) {
      const answer = await scene.ask({ region: 'DE', stream }, { headers })
      expect(answer.headers.get('x-svc-region')).toBe('DE')
    }
    expect(scene.suppliers.us.requests).toHaveLength(2)
    expect(scene.reached()).toEqual(['us', 'de'])
  })

  it('of a session that fails inside is no way out either', async () => {
    const scene = await openScene({ scripts: { de: TROUBLES['fails']!, rack: TROUBLES['fails']! } })
    const headers = { 'x-session-id': 'one' }
    await scene.ask({}, { headers })
    const answer = await scene.ask({ region: 'DE' }, { headers })
    expect(answer).toMatchObject({ status: 503, error: { code: 'sovereign_route_unavailable' } })
    expect(scene.suppliers.us.requests).toHaveLength(1)
    expect(scene.reached()).toEqual(['us', 'de', 'rack'])
  })

  it('of failures sends nobody outside, neither at rest nor to find out whether somebody is back', async () => {
    const gate = createGate()
    let isBack = false
    const script: Script = async (request, reply, index) => {
      if (!isBack) return reply.json(500, { error: { message: 'down' } })
      await gate.opened
      await good(request, reply, index)
    }
    const models = { eu: ['other'], rack: ['other'] }
    const scene = await openScene({ scripts: { de: script }, models })
    const init = await lockTo(scene, { allowed_regions: 'DE' })
    for (let count = 0; count < 8; count++) expect((await scene.ask({}, init)).status).toBe(503)
    const failed = scene.suppliers.de.requests.length
    isBack = true
    scene.clock.advance(31_000)
    const asking = [scene.ask({}, init), scene.ask({ stream: true }, init)]
    await scene.suppliers.de.request(failed)
    await scene.suppliers.de.request(failed + 1)
    gate.open()
    for (const answer of await Promise.all(asking)) expect(answer.status).toBe(200)
    expect(scene.reached()).toEqual(['de'])
  })
})

describe('a model that stands in for another', () => {
  const more = 'models: { m: { fallbacks: [n, o] } }\naliases: { fast: m }'
  const models = {
    us: ['m', 'n'],
    nowhere: ['m', 'n'],
    london: ['m'],
    odd: ['m'],
    eu: ['n'],
    de: ['o'],
    rack: ['x'],
  }

  it.each(['m', 'fast'])('is asked inside of the region alone, for %s', async (model) => {
    const scene = await openScene({ models, more })
    const init = await lockTo(scene, { allowed_regions: 'EU' })
    const answer = await scene.ask({ model }, init)
    expect([answer.status, answer.headers.get('x-svc-supplier')]).toEqual([200, 'eu'])
    expect((await scene.ask({ model, region: 'DE' }, init)).headers.get('x-svc-supplier')).toBe(
      'de',
    )
    expect(scene.reached()).toEqual(['eu', 'de'])
  })

  it('is asked for nobody whose region or list it is not in', async () => {
    const scene = await openScene({ models, more })
    for (const settings of [
      { allowed_regions: 'FR' },
      { allowed_regions: 'EU', allowed_models: ['m'] },
      { allowed_regions: 'EU', allowed_models: ['fast'] },
    ]) {
      const model = settings.allowed_models?.[0] ?? 'm'
      const answer = await scene.ask({ model }, await lockTo(scene, settings))
      expect(answer).toMatchObject({ status: 403, error: { code: 'sovereign_route_unavailable' } })
    }
    expect(scene.reached()).toEqual([])
  })
})

describe('what is shown to a key', () => {
  it('are the models that are served inside of its regions', async () => {
    const models = {
      us: ['a'],
      nowhere: ['b'],
      london: ['c'],
      odd: ['d'],
      eu: ['e'],
      de: ['f'],
      rack: ['g'],
    }
    const scene = await openScene({ models, more: 'aliases: { fast: g, slow: a }' })
    const shown = async (lock: string | readonly string[]): Promise<readonly string[]> => {
      const init = await lockTo(scene, { allowed_regions: lock })
      const list = (await (await fetch(`${scene.gateway.url}/v1/models`, init)).json()) as {
        id: string
      }[]
      return list.map(({ id }) => id)
    }
    expect(await shown('EU')).toEqual(['e', 'f', 'g', 'fast'])
    expect(await shown('de')).toEqual(['f', 'g', 'fast'])
    expect(await shown(['GB', 'US'])).toEqual(['a', 'c', 'slow'])
    expect(await shown('MARS')).toEqual([])
  })

  it('as its status is reckoned by whoever may answer it there', async () => {
    const models = { us: ['m', 'n'], eu: ['n'], de: ['n'], rack: ['m'] }
    const more = 'models: { m: { fallbacks: [n] } }'
    const scene = await openScene({ models, more })
    const { gateway } = scene
    const dear = (region: string, text: string): string =>
      text.replace(
        new RegExp(`(region: ${region}\\n.*)input: 1, output: 2`),
        '$1input: 900, output: 900',
      )
    const text = dear('fra-dc', configOf(scene.suppliers, { models, more }))
    writeFileSync(gateway.file, text)
    expect((await gateway.manage('POST', '/reload')).status).toBe(200)
    const statusOf = async (settings: object): Promise<unknown> => {
      const limits = { name: 'k', budget_limit: 0.0001, ...settings }
      const { id } = await gateway.createKey(limits)
      const shown = await (await gateway.manage('GET', `/keys/${id}`)).json()
      return (shown as { status: string }).status
    }
    expect(await statusOf({ allowed_models: ['m'] })).toBe('active')
    expect(await statusOf({ allowed_models: ['m'], allowed_regions: 'DE' })).toBe(
      'budget_exhausted',
    )
    expect(await statusOf({ allowed_models: ['m', 'n'], allowed_regions: 'DE' })).toBe('active')
    expect(await statusOf({ allowed_regions: 'FRA-DC' })).toBe('budget_exhausted')
  })

  it('cannot be a lock to no place', async () => {
    const { gateway } = await openScene()
    for (const lock of ['global', ['EU', 'Global']]) {
      const response = await gateway.manage('POST', '/keys', { name: 'k', allowed_regions: lock })
      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({ error: { param: 'allowed_regions' } })
    }
  })
})

describe('a changed file', () => {
  /** Who is where now; the others stay. */
  async function move(scene: Scene, places: object, regions = 'fra-dc: de'): Promise<Response> {
    const text = configOf(scene.suppliers, {}, { ...PLACES, ...places })
    writeFileSync(scene.gateway.file, text.replace('fra-dc: de', regions))
    return scene.gateway.manage('POST', '/reload')
  }
  const problemsOf = async (response: Response): Promise<string> =>
    JSON.stringify(((await response.json()) as { error?: object }).error ?? {})

  it('may put a supplier into a part of what a key is locked to', async () => {
    const scene = await openScene()
    await lockTo(scene, { allowed_regions: 'EU', allowed_models: ['m'] })
    const response = await move(scene, { eu: 'FR', de: 'US', rack: 'US' })
    expect([response.status, await problemsOf(response)]).toEqual([200, '{}'])
  })

  it.each([
    ['into what is around it', 'DE', { de: 'EU', rack: 'EU' }, undefined],
    ['out of it by what its own region lies in', 'DE', { de: 'US' }, 'fra-dc: us'],
    ['out of a part of it', 'GB', { london: 'EU' }, undefined],
  ])('may not take the last supplier of a locked key %s', async (_what, lock, places, regions) => {
    const scene = await openScene()
    await lockTo(scene, { allowed_regions: lock })
    const response = await move(scene, places, regions)
    expect(response.status).toBe(400)
    expect(await problemsOf(response)).toContain(`Nothing is served in ${lock} any more`)
  })

  it('may not move a wall that everybody knows', async () => {
    const scene = await openScene()
    const init = await lockTo(scene, { allowed_regions: 'EU', allowed_models: ['london/m'] })
    const response = await move(scene, {}, 'fra-dc: de, EU-West-2: EU')
    expect(response.status).toBe(400)
    expect(await problemsOf(response)).toContain('it lies in GB')
    expect((await scene.ask({ model: 'london/m' }, init)).status).toBe(403)
    expect(scene.reached()).toEqual([])
  })
})

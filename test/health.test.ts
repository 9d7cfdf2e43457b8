// A supplier that fails is left alone and looked at again: who is asked meanwhile, who finds out whether it is back,
// and what the operator is told of it.
import { afterEach, describe, expect, it } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { SUPPLIER_CANARY } from './fakes/canary.ts'
import { createFakeClock } from './fakes/clock.ts'
import { HELLO, ROOT_KEY, startGateway, supplierAt, type Gateway } from './fakes/gateway.ts'
import {
  closeStreet,
  createGate,
  good,
  openStreet,
  refuse,
  tidy,
  until,
  type Street,
} from './fakes/street.ts'
import { startFakeSupplier, type FakeSupplier, type Script } from './fakes/supplier.ts'
import { tell } from './fakes/terminal.ts'

afterEach(closeStreet)

let spoken = 0

/** Begins like no other, so that no session holds it where the one before was. */
function hello(changes: object = {}): object {
  return { ...HELLO, messages: [{ role: 'user', content: `Hello ${++spoken}` }], ...changes }
}

/** Does something else once it has been told to. */
function switchable(first: Script): { readonly script: Script; become(next: Script): void } {
  let current = first
  return {
    script: (request, reply, index) => current(request, reply, index),
    become: (next) => void (current = next),
  }
}

interface Asked {
  readonly status: number
  readonly supplier: string | null
  readonly failover: string | null
}

async function ask(gateway: Gateway, init?: RequestInit): Promise<Asked> {
  const response = await gateway.chat(hello(), init)
  await response.text()
  const { status, headers } = response
  return {
    status,
    supplier: headers.get('x-svc-supplier'),
    failover: headers.get('x-svc-failover'),
  }
}

async function askTimes(times: number, gateway: Gateway): Promise<void> {
  for (let index = 0; index < times; index++) await ask(gateway)
}

const broken = refuse(500, { message: 'broken' })
const FIRST = { status: 200, supplier: 'fake', failover: 'false' }
const SECOND = { status: 200, supplier: 'fake-2', failover: 'false' }
const MOVED = { status: 200, supplier: 'fake-2', failover: 'true' }

interface ShownRoute {
  readonly model: string
  readonly state: string
  readonly why: string | null
}

interface Shown {
  readonly id: string
  readonly credentials: readonly { readonly in_flight: number }[]
  readonly routes: readonly ShownRoute[]
}

async function show(gateway: Gateway, query = ''): Promise<readonly Shown[]> {
  const response = await gateway.manage('GET', `/suppliers${query}`)
  return ((await response.json()) as { data: readonly Shown[] }).data
}

describe('a supplier that fails five times in a row', () => {
  it('is passed over by the sixth call, which is no failover any more', async () => {
    const { gateway, suppliers } = await openStreet([broken, good])
    const asked: Asked[] = []
    for (let index = 0; index < 7; index++) asked.push(await ask(gateway))
    expect(asked).toEqual([MOVED, MOVED, MOVED, MOVED, MOVED, SECOND, SECOND])
    expect(suppliers.map(({ requests }) => requests.length)).toEqual([5, 7])
    expect(gateway.audit().map(({ attempts }) => attempts)).toEqual([2, 2, 2, 2, 2, 1, 1])
  })

  it('is found to be back by one call, and the others do not wait for that', async () => {
    const first = switchable(broken)
    const { gateway, suppliers, clock } = await openStreet([first.script, good])
    await askTimes(5, gateway)
    clock.advance(29_000)
    expect(await ask(gateway)).toEqual(SECOND)
    clock.advance(1000)
    const gate = createGate()
    first.become(async (...told) => {
      await gate.opened
      await good(...told)
    })
    const probe = ask(gateway)
    await suppliers[0]!.request(5)
    expect([await ask(gateway), await ask(gateway)]).toEqual([SECOND, SECOND])
    expect(suppliers[0]!.requests).toHaveLength(6)
    gate.open()
    expect(await probe).toEqual(FIRST)
    expect(await ask(gateway)).toEqual(FIRST)
  })

  it('is left alone for longer when it is not back', async () => {
    const { gateway, suppliers, clock } = await openStreet([broken, good])
    await askTimes(5, gateway)
    clock.advance(30_000)
    expect(await ask(gateway)).toEqual(MOVED)
    clock.advance(59_000)
    expect(await ask(gateway)).toEqual(SECOND)
    clock.advance(1000)
    expect(await ask(gateway)).toEqual(MOVED)
    expect(suppliers[0]!.requests).toHaveLength(7)
  })

  it('is asked by the next when whoever was to find out hangs up', async () => {
    const first = switchable(broken)
    const { gateway, suppliers, clock } = await openStreet([first.script, good])
    await askTimes(5, gateway)
    clock.advance(30_000)
    first.become(() => {})
    const leaving = new AbortController()
    const probe = gateway.chat(hello(), { signal: leaving.signal }).catch(() => undefined)
    const request = await suppliers[0]!.request(5)
    leaving.abort()
    await Promise.all([probe, request.closed])
    await until(() => gateway.audit().length === 6)
    first.become(good)
    expect(await ask(gateway)).toEqual(FIRST)
  })

  it('is not given up by requests that are at fault themselves', async () => {
    const { gateway, suppliers } = await openStreet([refuse(400, { message: 'no' }), good])
    for (let index = 0; index < 7; index++)
      expect(await ask(gateway)).toMatchObject({ status: 400, supplier: null })
    expect(suppliers.map(({ requests }) => requests.length)).toEqual([7, 0])
  })

  it('is asked all the same where there is nobody else, and is back with its first answer', async () => {
    const first = switchable(broken)
    const { gateway, suppliers } = await openStreet([first.script])
    for (let index = 0; index < 7; index++) expect((await ask(gateway)).status).toBe(503)
    expect(suppliers[0]!.requests).toHaveLength(7)
    first.become(good)
    expect(await ask(gateway)).toEqual(FIRST)
    expect((await show(gateway))[0]!.routes).toMatchObject([{ state: 'ready' }])
  })

  it('is asked all the same where nobody else is inside of the region', async () => {
    const { gateway, suppliers } = await openStreet([broken, good])
    const { key } = await gateway.createKey({ name: 'k', allowed_regions: ['EU'] })
    const init = { headers: { authorization: `Bearer ${key}` } }
    for (let index = 0; index < 6; index++) expect((await ask(gateway, init)).status).toBe(503)
    expect(suppliers.map(({ requests }) => requests.length)).toEqual([6, 0])
    expect(await ask(gateway)).toEqual(SECOND)
  })
})

describe('a supplier that refuses the credential', () => {
  it('is passed over at once and for all its models, and no caller hears of it', async () => {
    const clock = createFakeClock()
    const [bad, well] = [await fake(refuse(401, { message: 'who?' })), await fake(good)]
    const route = supplierAt('').models.get('test-model')!
    const models = new Map(['test-model', 'other-model'].map((id) => [id, route]))
    const gateway = tidy(
      await startGateway({
        clock,
        suppliers: [
          supplierAt(bad.origin, { models }),
          supplierAt(well.origin, { id: 'fake-2', models }),
        ],
      }),
    )
    expect(await ask(gateway)).toEqual(MOVED)
    const other = await gateway.chat(hello({ model: 'other-model' }))
    expect(other.headers.get('x-svc-failover')).toBe('false')
    expect(bad.requests).toHaveLength(1)
    clock.advance(300_000)
    expect([await ask(gateway), await ask(gateway)]).toEqual([MOVED, SECOND])
  })

  it('is asked again as soon as it has another one', async () => {
    const clock = createFakeClock()
    const supplier = await fake((request, reply, index) =>
      request.headers.get('authorization')?.endsWith('-new') === true
        ? good(request, reply, index)
        : reply.json(401, { error: {} }),
    )
    const backup = await fake(good)
    const config = (suffix: string): string =>
      [
        'suppliers:',
        ...describeSupplier('fake', supplier, suffix),
        ...describeSupplier('fake-2', backup, ''),
        '',
      ].join('\n')
    const gateway = tidy(
      await startGateway({ clock, config: config(''), environment: { KEY: SUPPLIER_CANARY } }),
    )
    expect([await ask(gateway), await ask(gateway)]).toEqual([MOVED, SECOND])
    writeFileSync(gateway.file, config('-new'), { mode: 0o600 })
    expect((await gateway.app.reload()).applied).toBe(true)
    expect(await ask(gateway)).toEqual(FIRST)
  })

  it.each<[string, (config: string, from: FakeSupplier, to: FakeSupplier) => string, Asked]>([
    ['at another address', (config, from, to) => config.replace(from.origin, to.origin), FIRST],
    ['in another region', (config) => config.replace('region: EU', 'region: US'), MOVED],
    ['in no other way', (config) => config.replace('weight: 1', 'weight: 2'), SECOND],
  ])('is asked at once %s, or left alone as before', async (_, change, told) => {
    const bad = await fake(refuse(401, { message: 'who?' }))
    const well = await fake(good)
    const backup = await fake(good)
    const config = [
      'suppliers:',
      ...describeSupplier('fake', bad, ''),
      '    region: EU',
      '    weight: 1',
      ...describeSupplier('fake-2', backup, ''),
      '',
    ].join('\n')
    const gateway = tidy(
      await startGateway({
        clock: createFakeClock(),
        config,
        environment: { KEY: SUPPLIER_CANARY },
      }),
    )
    expect([await ask(gateway), await ask(gateway)]).toEqual([MOVED, SECOND])
    writeFileSync(gateway.file, change(config, bad, well), { mode: 0o600 })
    expect((await gateway.app.reload()).applied).toBe(true)
    expect(await ask(gateway)).toEqual(told)
  })
})

async function fake(script: Script): Promise<FakeSupplier> {
  return tidy(await startFakeSupplier(script))
}

function describeSupplier(id: string, at: FakeSupplier, suffix: string): readonly string[] {
  return [
    `  ${id}:`,
    '    kind: openai-compatible',
    `    origin: ${at.origin}/v1`,
    '    allow_private: true',
    `    credential: "\${KEY}${suffix}"`,
    '    models: { test-model: { price: { input: 1, output: 1 } } }',
  ]
}

describe('a supplier that asks for a pause', () => {
  it('is not asked before that is over, not even where there is nobody else', async () => {
    const first = switchable(refuse(429, { message: 'slow' }, { 'retry-after': '7' }))
    const { gateway, suppliers, clock } = await openStreet([first.script])
    await ask(gateway)
    first.become(good)
    const refused = await gateway.chat(hello())
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '7'])
    clock.advance(6000)
    expect((await ask(gateway)).status).toBe(429)
    expect(suppliers[0]!.requests).toHaveLength(1)
    clock.advance(1000)
    expect(await ask(gateway)).toEqual(FIRST)
  })

  it('because it is down is then asked by one call', async () => {
    const down = refuse(503, { message: 'down' }, { 'retry-after': '3600' })
    const { gateway, suppliers, clock } = await openStreet([down, good])
    expect([await ask(gateway), await ask(gateway)]).toEqual([MOVED, SECOND])
    clock.advance(299_000)
    expect(await ask(gateway)).toEqual(SECOND)
    clock.advance(1000)
    expect([await ask(gateway), await ask(gateway)]).toEqual([MOVED, SECOND])
    expect(suppliers[0]!.requests).toHaveLength(2)
  })

  it('without a time is given a second, then two', async () => {
    const { gateway, clock } = await openStreet([refuse(429, { message: 'slow' }), good])
    expect([await ask(gateway), await ask(gateway)]).toEqual([MOVED, SECOND])
    clock.advance(1000)
    expect(await ask(gateway)).toEqual(MOVED)
    // At least half of the two seconds, however chance has it.
    clock.advance(900)
    expect(await ask(gateway)).toEqual(SECOND)
    clock.advance(1100)
    expect(await ask(gateway)).toEqual(MOVED)
  })
})

describe('a supplier that falls silent', () => {
  it('gets no more calls, and those that wait for it go on waiting', async () => {
    const gate = createGate()
    const first = switchable(good)
    const { gateway, suppliers, clock }: Street = await openStreet([first.script, good])
    const stream = async (): Promise<Asked> => {
      const response = await gateway.chat(hello({ stream: true }))
      await response.text()
      const { status, headers } = response
      return {
        status,
        supplier: headers.get('x-svc-supplier'),
        failover: headers.get('x-svc-failover'),
      }
    }
    for (let index = 0; index < 10; index++) expect(await stream()).toEqual(FIRST)
    first.become(async (...told) => {
      await gate.opened
      await good(...told)
    })
    const waiting = Array.from({ length: 5 }, stream)
    await suppliers[0]!.request(14)
    clock.advance(7000)
    expect(await stream()).toEqual(SECOND)
    gate.open()
    expect(await Promise.all(waiting)).toEqual([FIRST, FIRST, FIRST, FIRST, FIRST])
    expect(await stream()).toEqual(SECOND)
  })
})

describe('the list of suppliers', () => {
  it('tells who can be asked, who is left alone, for how long and why', async () => {
    const { gateway, clock } = await openStreet([broken, good])
    await askTimes(5, gateway)
    clock.advance(10_000)
    const response = await gateway.manage('GET', '/suppliers')
    const text = await response.text()
    expect(JSON.parse(text)).toMatchObject({
      object: 'list',
      snapshot: expect.stringMatching(/^[0-9a-f]{12}$/) as unknown,
      data: [
        {
          id: 'fake',
          object: 'supplier',
          host: expect.stringMatching(/^127\.0\.0\.1:\d+$/) as unknown,
          region: 'EU',
          weight: 1,
          credentials: [{ credential: 1, state: 'ready', in_flight: 0, quota_share: 1 }],
          routes: [
            {
              model: 'test-model',
              credential: 1,
              state: 'resting',
              retry_in_seconds: 20,
              why: '500 provider_error',
              rests: 1,
              first_token_ms: null,
              latency_ms: null,
              samples: 0,
            },
          ],
        },
        {
          id: 'fake-2',
          region: 'US',
          routes: [{ state: 'ready', retry_in_seconds: 0, why: null, rests: 0, samples: 5 }],
        },
      ],
    })
    expect(text).not.toContain(SUPPLIER_CANARY)
  })

  it('counts failures that are not yet enough', async () => {
    const { gateway } = await openStreet([broken, good])
    await askTimes(3, gateway)
    expect((await show(gateway))[0]!.routes).toMatchObject([
      { state: 'ready', local_failures: 0, remote_failures: 3, why: '500 provider_error' },
    ])
  })

  it('can be asked for a model, by any of its names, or a supplier', async () => {
    const { gateway } = await openStreet([good, good])
    const ids = async (query: string): Promise<readonly string[]> =>
      (await show(gateway, query)).map(({ id }) => id)
    expect(await ids('?supplier=fake-2')).toEqual(['fake-2'])
    expect(await ids('?model=test-model')).toEqual(['fake', 'fake-2'])
    expect(await ids('?model=fake-2/test-model')).toEqual(['fake-2'])
    expect(await ids('?model=none')).toEqual([])
    expect(await ids('?model=test-model&supplier=none')).toEqual([])
  })

  it('refuses what it does not understand, and whoever does not run the gateway', async () => {
    const { gateway } = await openStreet([good])
    for (const query of ['?modle=x', '?model=', '?model=a&model=b', '?limit=5'])
      expect((await gateway.manage('GET', `/suppliers${query}`)).status).toBe(400)
    const { key } = await gateway.createKey({ name: 'k' })
    const headers = { authorization: `Bearer ${key}` }
    expect((await fetch(`${gateway.url}/v1/manage/suppliers`, { headers })).status).toBe(403)
  })

  it('is printed for people, and for programs as it came', async () => {
    const { gateway } = await openStreet([broken, good])
    await askTimes(5, gateway)
    const environment = { GATEWAY_URL: gateway.url, GATEWAY_KEY: ROOT_KEY }
    const { code, out } = await tell(['suppliers'], { environment })
    expect(code).toBe(0)
    expect(out).toMatch(/^SUPPLIER +MODEL +REGION +STATE +FOR +WHY +MS +BUSY\n/)
    expect(out).toMatch(/\nfake +test-model +EU +resting +30 s +500 provider_error +0\n/)
    expect(out).toMatch(/\nfake-2 +test-model +US +ready +\d+ +0\n$/)
    const watched = await tell(['suppliers', '--model', 'none'], { environment, columns: 80 })
    expect(watched.err).toContain('No supplier serves this.')
    const machine = await tell(['suppliers', '--supplier', 'fake', '--json'], { environment })
    expect(JSON.parse(machine.out)).toMatchObject({ object: 'list', data: [{ id: 'fake' }] })
  })
})

describe('the log', () => {
  it('has a line when a supplier is left alone, and one when it is back', async () => {
    const clock = createFakeClock()
    const first = switchable(broken)
    const lines: string[] = []
    const note = (level: string, text: string): number => lines.push(`${level} ${text}`)
    const log = { request: () => {}, note, flush: () => {} }
    const [down, well] = [await fake(first.script), await fake(good)]
    const suppliers = [supplierAt(down.origin), supplierAt(well.origin, { id: 'fake-2' })]
    const gateway = tidy(await startGateway({ clock, log, suppliers }))
    await askTimes(5, gateway)
    clock.advance(30_000)
    first.become(good)
    await ask(gateway)
    clock.advance(60_000)
    const states = lines.filter((line) => /left alone|asked again/.test(line))
    expect(states).toEqual([
      'warn supplier fake: left alone for 29 s more (500 provider_error), then one call finds out whether it is back: test-model',
      'info supplier fake: can be asked again: test-model',
    ])
  })
})

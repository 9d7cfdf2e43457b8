// Who is asked after whom: the wall of a region, prices and sessions hold for the next supplier as for the first, other
// doors of one supplier come last, and what is known to fail is not tried.
import { afterEach, describe, expect, it } from 'bun:test'
import { Secret } from '../../src/core/secret.ts'
import { toPicoUsd } from '../../src/core/money.ts'
import type { ModelRoute, Supplier } from '../../src/suppliers/supplier.ts'
import { SUPPLIER_CANARY } from '../fakes/canary.ts'
import {
  BODY,
  expectTry,
  openScene,
  readOnly,
  readRecord,
  SECOND,
  waitAt,
  type CallRecord,
  type Scene,
} from '../fakes/fault.ts'
import { toNano } from '../fakes/prices.ts'
import { closeStreet, createGate, good, refuse, until } from '../fakes/street.ts'
import type { Script } from '../fakes/supplier.ts'

afterEach(closeStreet)

const broken = refuse(500, { message: 'broken' })
const reset: Script = (_, reply) => reply.reset()

interface Told {
  readonly code: string
  readonly message: string
  readonly attempts?: readonly object[]
}

async function readError(response: Response): Promise<Told> {
  return ((await response.json()) as { error: Told }).error
}

function asked({ suppliers }: Scene): readonly number[] {
  return suppliers.map(({ requests }) => requests.length)
}

/** A model at these prices, in nano-dollars a token, and with room for so many tokens. */
function routeAt(input: number, output: number, contextWindow?: number): ModelRoute {
  const price = { input: toPicoUsd(input * 1000), output: toPicoUsd(output * 1000) }
  return {
    as: 'upstream-model',
    prices: [{ from: 0, price }],
    ownedBy: 'maker',
    ...(contextWindow !== undefined && { limits: { contextWindow } }),
  }
}

const serving = (routes: Readonly<Record<string, ModelRoute>>): Partial<Supplier> => ({
  models: new Map(Object.entries(routes)),
})

describe('what all suppliers together come to', () => {
  it.each<[readonly number[], number, string]>([
    [[429, 429], 429, 'all_providers_exhausted'],
    [[504, 504], 504, 'all_providers_exhausted'],
    [[429, 500], 503, 'all_providers_exhausted'],
    [[429, 504], 503, 'all_providers_exhausted'],
    [[404, 404], 503, 'model_unavailable'],
    [[404, 500], 503, 'all_providers_exhausted'],
    [[401, 403], 503, 'all_providers_exhausted'],
  ])('%p is %p %s', async (statuses, status, code) => {
    const scene = await openScene(statuses.map((each) => refuse(each, { message: 'no' })))
    const response = await scene.ask()
    const error = await readError(response)
    expect([response.status, error.code]).toEqual([status, code])
    if (code === 'all_providers_exhausted')
      expect(error.attempts).toEqual(
        statuses.map((each, index) => ({
          supplier: index === 0 ? 'fake' : 'fake-2',
          code: 'provider_error',
          status: each,
        })),
      )
  })

  it('is told precisely only where all of it was the same', async () => {
    const empty: Script = (_, reply) => reply.json(200, '')
    const page: Script = (_, reply) => reply.json(200, '<html>', { 'content-type': 'text/html' })
    const same = await openScene([empty, empty])
    expect((await readError(await same.ask())).code).toBe('empty_response')
    const mixed = await openScene([empty, page])
    expect((await readError(await mixed.ask())).code).toBe('all_providers_exhausted')
  })
})

describe('a third supplier', () => {
  it('is asked for no more than two calls of one key at a time where few run', async () => {
    const gate = createGate()
    const scene = await openScene([
      broken,
      broken,
      async (request, reply, index) => {
        await gate.opened
        void good(request, reply, index)
      },
    ])
    const calls = [1, 2, 3].map((number) =>
      scene.ask({ ...BODY, messages: [{ role: 'user', content: `Call ${number}` }] }),
    )
    const refused = await Promise.race(calls)
    expect(refused.status).toBe(503)
    const error = await readError(refused)
    expect(error.message).toContain('Each of 2 suppliers that were asked failed')
    expect(error.attempts).toHaveLength(2)
    await scene.suppliers[2]!.request(1)
    gate.open()
    const statuses = (await Promise.all(calls)).map(({ status }) => status)
    expect(statuses.toSorted((one, other) => one - other)).toEqual([200, 200, 503])
    expect(scene.suppliers[2]!.requests).toHaveLength(2)
    // The places are free again.
    expect((await scene.ask()).headers.get('x-svc-supplier')).toBe('fake-3')
  })

  it('is the last where three may be asked', async () => {
    const scene = await openScene([broken, broken, broken, good])
    expect((await scene.ask()).status).toBe(503)
    expect(asked(scene)).toEqual([1, 1, 1, 0])
  })

  it('and a fourth take one place of those that calls share, and give it back', async () => {
    const all = [broken, broken, broken, broken]
    const scene = await openScene(all, { limits: { attemptsMax: 4 } })
    for (let calls = 1; calls <= 6; calls++) {
      expect((await scene.ask()).status).toBe(503)
      expect(asked(scene)).toEqual([calls, calls, calls, calls])
      // Whoever has failed has had its rest.
      scene.clock.advance(600 * SECOND)
    }
  })
})

describe('another credential of a supplier', () => {
  const second = { id: 'fake', region: 'EU', credential: new Secret(`${SUPPLIER_CANARY}-2`) }
  const other = { id: 'other', region: 'EU' }

  it.each<[string, Script]>([
    ['a 500', broken],
    ['a 404', refuse(404, { message: 'gone' })],
  ])('comes last of all after %s, and only where nobody else is left', async (_, fault) => {
    const scene = await openScene([fault, good, broken], { changes: [{}, second, other] })
    const response = await scene.ask()
    expect(response.status).toBe(200)
    await response.text()
    expect((await readOnly(scene)).tries.map(({ supplier }) => supplier)).toEqual([
      'fake',
      'other',
      'fake',
    ])
    const spared = await openScene([fault, good, good], { changes: [{}, second, other] })
    expect((await spared.ask()).headers.get('x-svc-supplier')).toBe('other')
    expect(asked(spared)).toEqual([1, 0, 1])
  })

  it.each([401, 402, 403, 429])(
    'comes next after a %p, which is about the first',
    async (status) => {
      const changes = [{}, second, other]
      const scene = await openScene([refuse(status, { message: 'no' }), good, good], { changes })
      const response = await scene.ask()
      expect(response.headers.get('x-svc-supplier')).toBe('fake')
      expect(response.headers.get('x-svc-failover')).toBe('true')
      expect(asked(scene)).toEqual([1, 1, 0])
    },
  )

  it('leaves the first one where it was when that may be asked again', async () => {
    const busy = refuse(429, { message: 'slow' }, { 'retry-after': '2' })
    const flaky: Script = (request, reply, index) =>
      (index === 0 ? busy : good)(request, reply, index)
    const scene = await openScene([flaky, good], { changes: [{}, second] })
    await (await scene.ask()).text()
    expect(asked(scene)).toEqual([1, 1])
    scene.clock.advance(2 * SECOND)
    const messages = [{ role: 'user', content: 'And now?' }]
    expect((await scene.ask({ ...BODY, messages })).status).toBe(200)
    expect(asked(scene)).toEqual([2, 1])
  })

  it('is one of three in all, however many there are', async () => {
    const busy = refuse(429, { message: 'slow' })
    const changes = ['1', '2', '3', '4'].map((name) => ({
      ...second,
      credential: new Secret(`${SUPPLIER_CANARY}-${name}`),
    }))
    const scene = await openScene([busy, busy, busy, good], { changes })
    const response = await scene.ask()
    expect(response.status).toBe(429)
    expect((await readError(response)).message).toContain('The supplier that was asked')
    expect(asked(scene).reduce((sum, each) => sum + each, 0)).toBe(3)
  })

  it('is not asked for what the first may be at work on', async () => {
    const scene = await openScene([reset, good], { changes: [{}, second] })
    const response = await scene.ask()
    expect((await readError(response)).message).toContain('The supplier that was asked')
    expect(asked(scene)).toEqual([1, 0])
  })

  it('is not asked where nobody opens', async () => {
    const scene = await openScene([good, good], { changes: [{}, second] })
    await scene.suppliers[0]!.stop()
    expect((await scene.ask()).status).toBe(503)
    expect(asked(scene)).toEqual([0, 0])
  })
})

describe('a model that stands in', () => {
  const config = 'models: { test-model: { fallbacks: [small-model] } }\n'
  const routes = serving({ 'test-model': routeAt(150, 600), 'small-model': routeAt(150, 600) })

  /** Fails for the model that was asked for, the first to come, and answers for the other. */
  const failing =
    (fault: Script): Script =>
    (request, reply, index) =>
      (index === 0 ? fault : good)(request, reply, index)

  it.each<[string, Script]>([
    ['fails', broken],
    ['is overrun', refuse(429, { message: 'slow' })],
    ['is gone', refuse(404, { message: 'gone' })],
    ['resets', reset],
  ])('is asked at the same supplier where the first model %s', async (_, fault) => {
    const scene = await openScene([failing(fault)], { config, changes: [routes] })
    const response = await scene.ask()
    expect(response.status).toBe(200)
    expect(response.headers.get('x-svc-model')).toBe('small-model')
    expect(asked(scene)).toEqual([2])
  })

  it.each<[string, Script, string]>([
    ['next at the same supplier after a 403', refuse(403, { message: 'no' }), 'fake'],
    ['next at the same supplier after a 404', refuse(404, { message: 'gone' }), 'fake'],
    ['next at the same supplier after a 429', refuse(429, { message: 'slow' }), 'fake'],
    ['first at another supplier after a 500', broken, 'fake-2'],
    ['first at another supplier after a reset', reset, 'fake-2'],
  ])('comes %s', async (_, fault, supplier) => {
    const small = serving({ 'small-model': routeAt(150, 600) })
    const changes = [routes, small]
    const scene = await openScene([failing(fault), good], { config, changes })
    const response = await scene.ask()
    expect(response.headers.get('x-svc-supplier')).toBe(supplier)
    expect(response.headers.get('x-svc-model')).toBe('small-model')
  })

  it.each([401, 402])('is not asked with a credential that got a %p', async (status) => {
    const scene = await openScene([failing(refuse(status, { message: 'no' }))], {
      config,
      changes: [routes],
    })
    expect((await scene.ask()).status).toBe(503)
    expect(asked(scene)).toEqual([1])
  })

  it('is not asked for a request that is wrong', async () => {
    const scene = await openScene([failing(refuse(400, { message: 'No.' }))], {
      config,
      changes: [routes],
    })
    expect((await scene.ask()).status).toBe(400)
    expect(asked(scene)).toEqual([1])
  })

  it('S13: and reads more is asked for what was too long, at the same supplier', async () => {
    const tooLong = refuse(400, { message: 'Too long.', code: 'context_length_exceeded' })
    const larger = serving({
      'test-model': routeAt(150, 600, 1000),
      'small-model': routeAt(150, 600, 2000),
    })
    const scene = await openScene([failing(tooLong)], { config, changes: [larger] })
    const response = await scene.ask()
    expect(response.headers.get('x-svc-model')).toBe('small-model')
  })
})

describe('S13: a request that is too long for one supplier', () => {
  const tooLong = refuse(400, { message: 'Too long.', code: 'context_length_exceeded' })
  const windows = (...sizes: readonly (number | undefined)[]): readonly Partial<Supplier>[] =>
    sizes.map((size) => serving({ 'test-model': routeAt(150, 600, size) }))

  it.each<[string, Script]>([
    ['its code', tooLong],
    ['a 413', refuse(413, { message: 'Too large.' })],
  ])('as %s says goes to one that reads more', async (_, fault) => {
    const scene = await openScene([fault, good, good], { changes: windows(1000, 1000, 2000) })
    const response = await scene.ask()
    expect(response.headers.get('x-svc-supplier')).toBe('fake-3')
    await response.text()
    expect(asked(scene)).toEqual([1, 0, 1])
    const record = await readOnly(scene)
    expectTry(record.tries[0], 'refused', record)
  })

  it.each([
    ['no more', [1000, 1000]],
    ['less', [2000, 1000]],
    ['nobody knows how much', [1000, undefined]],
  ] as const)('is refused where the others read %s', async (_, sizes) => {
    const scene = await openScene([tooLong, good], { changes: windows(...sizes) })
    const response = await scene.ask()
    expect([response.status, (await readError(response)).code]).toEqual([
      400,
      'context_length_exceeded',
    ])
    expect(asked(scene)).toEqual([1, 0])
  })

  it('is refused as what it is where no more may be asked', async () => {
    const busy = refuse(429, { message: 'slow' })
    const [small, large] = windows(1000, 2000)
    const accounts = ['1', '2'].map((name) => ({
      ...small,
      id: 'fake',
      credential: new Secret(`${SUPPLIER_CANARY}-${name}`),
    }))
    const changes = [...accounts, { ...small, id: 'small' }, { ...large, id: 'large' }]
    const scene = await openScene([busy, busy, tooLong, good], { changes })
    const response = await scene.ask()
    expect([response.status, (await readError(response)).code]).toEqual([
      400,
      'context_length_exceeded',
    ])
  })

  it('is refused in the words of the one who reads most', async () => {
    const scene = await openScene(
      [tooLong, refuse(400, { message: 'Far too long.', code: 'context_length_exceeded' })],
      { changes: windows(1000, 2000) },
    )
    expect((await readError(await scene.ask())).message).toContain('Far too long.')
  })
})

describe('S40: a supplier that was given up', () => {
  it('is told so, and what it says later reaches nobody and changes nothing', async () => {
    const gate = createGate()
    const scene = await openScene([
      async (request, reply, index) => {
        await gate.opened
        void good(request, reply, index)
      },
      good,
    ])
    const asking = scene.ask()
    await waitAt(scene, scene.suppliers[0]!, 7 * SECOND)
    const response = await asking
    const text = await response.text()
    await scene.suppliers[0]!.requests[0]!.closed
    const before = await readOnly(scene)
    gate.open()
    await until(() => scene.gateway.app.pending() === 0)
    expect(text).toContain('Hi')
    expect(await readOnly(scene)).toEqual(before)
    expectTry(before.tries[0], 'unknown', before)
  })
})

describe('S43: a region', () => {
  it.each<[string, object, object]>([
    ['key', { allowed_regions: ['EU'] }, {}],
    ['call', {}, { region: 'EU' }],
  ])('of a %s is a wall: who is well outside of it is not asked', async (_, key, body) => {
    const scene = await openScene([broken, reset, good], {
      key,
      changes: [{}, { region: 'EU' }, {}],
    })
    for (const stream of [false, true]) {
      const response = await scene.ask({ ...BODY, ...body, stream })
      expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
      expect((await readError(response)).code).toBe('sovereign_route_unavailable')
    }
    expect(scene.suppliers[2]!.connections()).toBe(0)
    expect(scene.gateway.audit().map(({ cost }) => cost)).toEqual([0, 0])
  })
})

describe('the time to wait in a region', () => {
  it('is not that of a supplier outside of it', async () => {
    const busy = (seconds: string): Script =>
      refuse(429, { message: 'slow' }, { 'retry-after': seconds })
    const scene = await openScene([busy('40'), busy('10')])
    const pinned = await scene.ask({ ...BODY, model: 'fake-2/test-model' })
    expect(pinned.headers.get('retry-after')).toBe('10')
    const response = await scene.ask({ ...BODY, region: 'EU' })
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '40'])
  })
})

describe('S44: a dearer supplier', () => {
  const cheap = serving({ 'test-model': routeAt(100, 200) })
  const dear = serving({ 'test-model': routeAt(1000, 3000) })

  async function record(
    scripts: readonly Script[],
    changes: readonly Partial<Supplier>[],
  ): Promise<CallRecord> {
    const scene = await openScene(scripts, { changes })
    await (await scene.ask()).text()
    return readOnly(scene)
  }

  it('is held for from the start, and paid at its own price only where it answers', async () => {
    const alone = await record([good], [dear])
    const kept = await record([good, good], [cheap, dear])
    const moved = await record([broken, good], [cheap, dear])
    expect(kept.held_usd).toBe(alone.held_usd)
    expect(moved.held_usd).toBe(alone.held_usd)
    expect(toNano(kept.cost_usd)).toBe(11 * 100 + 7 * 200)
    expect(toNano(moved.cost_usd)).toBe(11 * 1000 + 7 * 3000)
  })

  it('that failed is in suspense at its own worst, not at what was held for another', async () => {
    const scene = await openScene([reset, good], { changes: [cheap, dear] })
    await (await scene.ask()).text()
    const { tries, held_usd: held } = await readOnly(scene)
    const alone = await record([good], [cheap])
    expect(tries[0]?.suspense_usd).toBe(alone.held_usd)
    expect(toNano(tries[0]?.suspense_usd)).toBeLessThan(toNano(held))
  })
})

describe('S45: a session whose supplier is down', () => {
  it.each([false, true])(
    'moves, says so, and stays where it moved to (stream: %p)',
    async (stream) => {
      const flaky: Script = (request, reply, index) =>
        (index === 1 ? broken : good)(request, reply, index)
      const scene = await openScene([flaky, good])
      const seen: unknown[] = []
      for (let calls = 0; calls < 3; calls++) {
        const response = await scene.ask({ ...BODY, stream }, { 'x-session-id': 'mine' })
        await response.text()
        const { headers } = response
        seen.push([headers.get('x-svc-session'), headers.get('x-svc-supplier')])
      }
      expect(seen).toEqual([
        ['new', 'fake'],
        ['moved', 'fake-2'],
        ['kept', 'fake-2'],
      ])
      const moved = await readRecord(scene.gateway, scene.gateway.audit()[1]!.request_id)
      expect(moved).toMatchObject({ attempts: 2, supplier: 'fake-2' })
    },
  )

  it('is not one whose whole answers take long beside its streams', async () => {
    const taking: Script = (request, reply, index) => {
      const isStream = request.body.toString().includes('"stream":true')
      scene.clock.sleep(isStream ? 400 : 5 * SECOND)
      return good(request, reply, index)
    }
    const scene: Scene = await openScene([taking, good])
    const seen: (string | null)[] = []
    for (let calls = 0; calls < 10; calls++) {
      const body = { ...BODY, stream: calls < 4 }
      const response = await scene.ask(body, { 'x-session-id': 'mine' })
      await response.text()
      seen.push(response.headers.get('x-svc-supplier'))
    }
    expect(new Set(seen)).toEqual(new Set(['fake']))
  })
})

describe('whoever has asked for a pause while a call was under way', () => {
  it('is not asked for it, also where everybody rests', async () => {
    const gate = createGate()
    let isBusy = false
    const scene = await openScene([
      async (request, reply, index) => {
        if (index >= 5) await gate.opened
        void broken(request, reply, index)
      },
      (request, reply, index) =>
        (isBusy ? refuse(429, { message: 'slow' }, { 'retry-after': '20' }) : broken)(
          request,
          reply,
          index,
        ),
    ])
    for (let calls = 0; calls < 5; calls++) expect((await scene.ask()).status).toBe(503)
    const asking = scene.ask()
    await scene.suppliers[0]!.request(5)
    isBusy = true
    expect((await scene.ask({ ...BODY, model: 'fake-2/test-model' })).status).toBe(429)
    expect(asked(scene)).toEqual([6, 6])
    gate.open()
    const response = await asking
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
    expect(asked(scene)).toEqual([6, 6])
  })
})

describe('the operator', () => {
  it.each<[string, Script, string]>([
    [
      'S8: an account without money',
      refuse(429, { message: 'no', code: 'insufficient_quota' }),
      '429',
    ],
    ['S14: a credential that is refused', refuse(401, { message: 'who?' }), 'Check its credential'],
    ['S17: a redirect', (_, reply) => reply.json(302, ''), 'redirect'],
    [
      'S36: an answer that is too large',
      (_, reply) => reply.json(200, ' ', { 'content-length': '40000000' }),
      'MiB',
    ],
  ])('is told of %s', async (_, fault, told) => {
    const scene = await openScene([fault, good])
    await (await scene.ask()).text()
    expect(scene.notes.filter((note) => note.includes('fake:')).join('\n')).toContain(told)
  })

  it('S12: is not told of what callers do wrong', async () => {
    const scene = await openScene([refuse(400, { message: 'No.' })])
    await (await scene.ask()).text()
    expect(scene.notes.filter((note) => note.includes('fake'))).toEqual([])
  })
})

describe('whoever came to rest while a call was under way', () => {
  it('is asked before another credential of the supplier that failed', async () => {
    const gate = createGate()
    const scene = await openScene(
      [
        async (request, reply, index) => {
          await gate.opened
          void broken(request, reply, index)
        },
        good,
        (request, reply, index) => (index < 5 ? broken : good)(request, reply, index),
      ],
      {
        changes: [
          {},
          { id: 'fake', region: 'EU', credential: new Secret(`${SUPPLIER_CANARY}-2`) },
          { id: 'other' },
        ],
      },
    )
    const asking = scene.ask()
    await scene.suppliers[0]!.request(0)
    for (let calls = 0; calls < 5; calls++)
      expect((await scene.ask({ ...BODY, model: 'other/test-model' })).status).toBe(503)
    gate.open()
    expect((await asking).headers.get('x-svc-supplier')).toBe('other')
    expect(asked(scene)).toEqual([1, 0, 6])
  })
})

describe('an account without money', () => {
  it('S8: is left alone as well where it says so inside of a 200', async () => {
    const spent = refuse(200, { message: 'no money', code: 'insufficient_quota' })
    const scene = await openScene([spent, good])
    for (const content of ['One', 'Two']) {
      const messages = [{ role: 'user', content }]
      expect((await scene.ask({ ...BODY, messages })).headers.get('x-svc-supplier')).toBe('fake-2')
    }
    expect(asked(scene)).toEqual([1, 2])
  })
})

// A region is a wall for native calls, too: whatever becomes of the sign-ins inside, no supplier outside is connected
// to, and no issuer of a supplier outside is asked for a token. Everybody outside counts and would be glad to answer.
import { afterEach, describe, expect, it } from 'bun:test'
import type { Supplier } from '../src/suppliers/supplier.ts'
import {
  HELLO_NATIVE,
  nativeAt,
  openAgency,
  sayHello,
  tokenOf,
  type Agency,
  type AskOptions,
} from './fakes/agency.ts'
import { createFakeClock } from './fakes/clock.ts'
import { answers, startIssuer, type FakeIssuer } from './fakes/issuer.ts'
import { closeStreet, tidy } from './fakes/street.ts'
import { startFakeSupplier, type FakeSupplier, type Script } from './fakes/supplier.ts'

afterEach(closeStreet)

/** Beside `native`, which is in the EU. `nowhere` promises no place. */
const OUTSIDE = { us: 'US', london: 'GB', nowhere: 'global' } as const
type Name = keyof typeof OUTSIDE

interface Place {
  readonly issuer: FakeIssuer
  readonly backend: FakeSupplier
}

interface World extends Agency {
  readonly outside: Readonly<Record<Name, Place>>
  /** As a key that is locked to the EU. */
  locked(body?: object, how?: AskOptions): Promise<Response>
  /** Connections to whoever is outside, and questions for tokens there. */
  reached(): number
}

async function openPlace(name: Name): Promise<Place & { readonly supplier: Supplier }> {
  // Its tokens are always due, so that being chosen is enough to have its issuer asked.
  const issuer = tidy(startIssuer({ name, expiresIn: 1 }))
  const backend = tidy(await startFakeSupplier(sayHello))
  const supplier = nativeAt(backend.origin, issuer, { id: name, region: OUTSIDE[name] })
  return { issuer, backend, supplier }
}

async function openWorld(script: Script = sayHello): Promise<World> {
  const places = {
    us: await openPlace('us'),
    london: await openPlace('london'),
    nowhere: await openPlace('nowhere'),
  }
  const all = Object.values(places)
  const agency = tidy(
    await openAgency({
      clock: createFakeClock(),
      draw: () => 0,
      script,
      others: all.map(({ supplier }) => supplier),
    }),
  )
  for (const [id, { issuer }] of Object.entries(places)) {
    const { accessToken, refreshToken } = issuer.issue()
    const tokens = { access_token: accessToken, refresh_token: refreshToken, expires_in: 1 }
    await agency.signIn({ name: id, supplier: id, account_id: id, ...tokens })
  }
  const { key } = await agency.gateway.createKey({ name: 'locked', allowed_regions: ['EU'] })
  return {
    ...agency,
    outside: places,
    locked: (body, how) => agency.ask(body, { key, ...how }),
    reached: () =>
      all.reduce((sum, each) => sum + each.backend.connections() + each.issuer.requests.length, 0),
  }
}

const NAMED: readonly object[] = [
  {},
  { region: 'EU' },
  { region: 'US' },
  { region: 'global' },
  { model: 'us/test-model' },
  { model: 'nowhere/test-model' },
]

const TROUBLES: Readonly<Record<string, Script | undefined>> = {
  fail: (_, reply) => reply.json(500, { error: { message: 'Oh no.' } }),
  'are asked to pause': (_, reply) =>
    reply.json(429, { error: { message: 'Later.' } }, { 'retry-after': '9' }),
  'break off': (_, reply) => reply.reset(),
  'are refused': (_, reply) => reply.json(401, { error: { message: 'No.' } }),
}

describe('a native call of a key that is locked to a region', () => {
  it('is answered inside of it, and is refused what it names outside', async () => {
    const world = await openWorld()
    const { accessToken } = await world.signIn()
    for (const named of NAMED) {
      const response = await world.locked({ ...HELLO_NATIVE, ...named })
      const text = await response.text()
      if (response.status === 200) expect(response.headers.get('x-svc-region')).toBe('EU')
      else expect(text).toMatch(/sovereign_route_unavailable|model_not_allowed|region/)
    }
    expect(world.backend.requests.length).toBeGreaterThan(1)
    expect(new Set(world.backend.requests.map(tokenOf))).toEqual(new Set([accessToken]))
    expect(world.reached()).toBe(0)
  })

  it.each(Object.keys(TROUBLES))(
    'goes to nobody outside where those inside %s, and is told so',
    async (name) => {
      const world = await openWorld(TROUBLES[name])
      for (const each of ['one', 'two']) await world.signIn({ name: each })
      for (let turn = 0; turn < 4; turn++) {
        const response = await world.locked(HELLO_NATIVE, { headers: { 'session-id': `${turn}` } })
        expect(response.status).toBeGreaterThanOrEqual(400)
        await response.text()
      }
      expect(world.backend.requests.length).toBeGreaterThan(1)
      expect(world.reached()).toBe(0)
    },
  )

  it.each(['refused', 'out of reach'])(
    'goes to nobody outside where tokens inside are %s',
    async (how) => {
      const world = await openWorld()
      const { issuer, backend } = world
      const { accessToken } = await world.signIn()
      issuer.revoke(accessToken)
      issuer.always(how === 'refused' ? answers.refusal() : answers.down())
      const response = await world.locked()
      expect(response.status).toBe(how === 'refused' ? 403 : 503)
      await response.text()
      expect([issuer.requests.length, backend.requests.length]).toEqual([1, 1])
      expect(world.reached()).toBe(0)
    },
  )

  it.each(['disabled', 'removed', 'full', 'never there'])(
    'goes to nobody outside where the sign-in inside is %s',
    async (how) => {
      const begun = Promise.withResolvers<void>()
      const end = Promise.withResolvers<void>()
      const world = await openWorld(async (request, reply, index) => {
        begun.resolve()
        await end.promise
        return sayHello(request, reply, index)
      })
      const limit = how === 'full' ? { parallel_max: 1 } : {}
      const id = how === 'never there' ? undefined : (await world.signIn(limit)).id
      const path = `/native/identities/${id}`
      if (how === 'disabled') await world.gateway.manage('PATCH', path, { disabled: true })
      if (how === 'removed') await world.gateway.manage('DELETE', path)
      const running = how === 'full' ? world.locked() : undefined
      if (running !== undefined) await begun.promise
      const response = await world.locked()
      expect([403, 429, 503]).toContain(response.status)
      await response.text()
      expect(world.reached()).toBe(0)
      end.resolve()
      await (await running)?.text()
    },
  )

  it('is not taken outside by a session that is at home there', async () => {
    const world = await openWorld()
    const { accessToken } = await world.signIn()
    const how = { headers: { 'session-id': 'one' } }
    const free = await world.ask({ ...HELLO_NATIVE, model: 'us/test-model' }, how)
    expect(free.headers.get('x-svc-supplier')).toBe('us')
    await free.text()
    const before = world.reached()
    expect(before).toBeGreaterThan(0)
    for (const body of [HELLO_NATIVE, { ...HELLO_NATIVE, previous_response_id: 'resp_1' }])
      await (await world.locked(body, how)).text()
    expect(world.reached()).toBe(before)
    expect(world.backend.requests.map(tokenOf)).toContain(accessToken)
  })

  it('is answered outside for whoever is not locked, where those inside fail', async () => {
    const world = await openWorld(TROUBLES['fail'])
    await world.signIn()
    const response = await world.ask()
    expect([response.status, response.headers.get('x-svc-failover')]).toEqual([200, 'true'])
    await response.text()
    expect(world.reached()).toBeGreaterThan(0)
  })
})

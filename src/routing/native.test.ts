// Whose sign-ins serve whom: an account's own and nobody else's, within their scope, as many calls at once as they may,
// and as they are at the moment.
import { describe, expect, it } from 'bun:test'
import { sampleIdentity } from '../../test/contracts/identities.ts'
import { supplierAt } from '../../test/fakes/gateway.ts'
import { load as loadOf, MOMENT, NO_WISH } from '../../test/fakes/stalls.ts'
import { Identities } from '../access/identities.ts'
import { NATIVE_TOKENS, Vault } from '../access/vault.ts'
import { RegionTree } from '../catalog/regions.ts'
import type { IdentityRecord } from '../core/identity.ts'
import type { ModelLimits } from '../core/load.ts'
import { Secret } from '../core/secret.ts'
import { nativeResponses } from '../dialects/native-responses/index.ts'
import { DEFAULT_LIMITS } from '../pipeline/call.ts'
import type { Supplier } from '../suppliers/supplier.ts'
import { createUpstream } from '../upstream/client.ts'
import { choose, type CallPlace, type RouteAsk } from './choose.ts'
import { Lanes } from './lane.ts'
import { NativeRoutes } from './native.ts'
import { wordOf } from './reason.ts'
import { Uses, type Route } from './routes.ts'

const [MINE, YOURS] = ['acc_mine', 'acc_yours']

function open() {
  const identities = new Identities({
    repository: {
      insert: () => Promise.resolve(),
      update: () => Promise.resolve(),
      keepTokens: () => Promise.resolve(true),
    },
    vault: new Vault({
      purpose: NATIVE_TOKENS,
      secret: new Secret('s'.repeat(32)),
      file: '/nowhere/gateway.key',
      warn() {},
    }),
  })
  const supplier = (id: string, limits: ModelLimits = {}): Supplier => {
    const { models } = supplierAt('http://127.0.0.1:1')
    return supplierAt('http://127.0.0.1:1', {
      id,
      credential: undefined,
      services: [{ dialect: nativeResponses, path: '/' }],
      models: new Map([...models].map(([name, route]) => [name, { ...route, limits }])),
    })
  }
  const lanes = new Lanes()
  const routes = new NativeRoutes({
    suppliers: [supplier('one'), supplier('two', { contextWindow: 1000 })],
    identities,
    upstreamOf: () => createUpstream({ origin: 'http://127.0.0.1:1', headers: {} }),
    timeouts: DEFAULT_LIMITS,
    uses: new Uses(),
    lanes,
    regions: new RegionTree(),
    policy: 'priority',
    wishes: {},
    aliases: { other: 'test-model' },
  })
  const add = (accountId: string, change: Partial<IdentityRecord> = {}) => {
    const record = sampleIdentity(accountId, { supplierId: 'one', ...change })
    const tokens = identities.seal(record.id, {
      secrets: { accessToken: 'a-token' },
      expiresAt: undefined,
      renewedAt: undefined,
    })
    return identities.put({ ...record, tokens: { ...tokens, ...change.tokens } }).record
  }
  return { identities, routes, add, lanes }
}

function askOf(route: Route, change: Partial<RouteAsk>): RouteAsk {
  return { ...NO_WISH, dialect: nativeResponses, route, ...change }
}

/** The ids of the sign-ins in the order in which they are asked. */
function asked(route: Route | undefined, change: Partial<RouteAsk> = {}): readonly string[] {
  if (route === undefined) return []
  const verdict = choose(askOf(route, change), MOMENT)
  return verdict.attempts.map(({ supplier }) => supplier.identity!.id)
}

function reasons(route: Route, change: Partial<RouteAsk> = {}): readonly string[] {
  return choose(askOf(route, change), MOMENT).reasons.map(wordOf)
}

describe('routes by sign-ins', () => {
  it('are made of the sign-ins of an account and of nobody else', () => {
    const { routes, add } = open()
    const [mine, yours] = [add(MINE), add(YOURS)]
    expect(asked(routes.of(MINE).find('test-model'))).toEqual([mine.id])
    expect(asked(routes.of(YOURS).find('test-model'))).toEqual([yours.id])
    expect(routes.of('acc_third').find('test-model')).toBeUndefined()
    expect(routes.of('acc_third')).toBe(routes.of('acc_fourth'))
  })

  it('lead to the supplier that a sign-in is for', () => {
    const { routes, add } = open()
    const two = add(MINE, { supplierId: 'two' })
    add(MINE, { supplierId: 'gone' })
    const route = routes.of(MINE).find('test-model')!
    expect(asked(route)).toEqual([two.id])
    expect(route.candidates.map(({ supplier }) => supplier.id)).toEqual(['two'])
  })

  it('are others as soon as a sign-in is added, disabled, removed, or refused without a token', () => {
    const { identities, routes, add } = open()
    const [first, second] = [add(MINE), add(MINE)]
    const ids = () => asked(routes.of(MINE).find('test-model'))
    expect(ids()).toEqual([first.id, second.id])
    identities.put({ ...first, disabledAt: 1 })
    expect(ids()).toEqual([second.id])
    identities.put(first)
    expect(ids()).toEqual([first.id, second.id])
    identities.put({ ...first, endedAt: 1, tokens: { ...first.tokens, sealed: undefined } })
    expect(ids()).toEqual([second.id])
    const without = identities.seal(second.id, {
      secrets: { refreshToken: 'r' },
      expiresAt: undefined,
      renewedAt: undefined,
    })
    identities.put({ ...second, tokens: { ...without, refusedAt: 1 } })
    expect(ids()).toEqual([])
  })

  it('still lead to one that is renewed no more while it has a token', () => {
    const { identities, routes, add } = open()
    const only = add(MINE)
    identities.put({ ...only, tokens: { ...only.tokens, refusedAt: 1 } })
    expect(asked(routes.of(MINE).find('test-model'))).toEqual([only.id])
  })

  it('are others as soon as its issuer has refused one without a token', async () => {
    const { identities, routes, add } = open()
    const { id } = add(MINE)
    const ids = () => asked(routes.of(MINE).find('test-model'))
    const identity = identities.find(MINE, id)!
    const times = { expiresAt: undefined, renewedAt: undefined }
    await identities.keep(identity, { secrets: { refreshToken: 'r' }, ...times })
    expect(ids()).toEqual([id])
    await identities.refuse(identity, 5)
    expect(ids()).toEqual([])
    await identities.keep(identity, { secrets: { accessToken: 'a' }, ...times })
    expect(ids()).toEqual([id])
  })

  it('are the same object for as long as nothing has changed, tokens included', async () => {
    const { identities, routes, add } = open()
    const only = add(MINE)
    const before = routes.of(MINE)
    const renewed = { secrets: { accessToken: 'next' }, expiresAt: 9, renewedAt: 8 }
    await identities.keep(identities.find(MINE, only.id)!, renewed)
    expect(identities.find(MINE, only.id)!.tokens).toEqual({ accessToken: 'next' })
    expect(routes.of(MINE)).toBe(before)
  })

  it('know a native model by its names, whoever is signed in', () => {
    const { routes } = open()
    for (const name of ['test-model', 'other', 'one/test-model'])
      expect(routes.serving(name).length, name).toBeGreaterThan(0)
    expect(routes.serving('two/test-model').map(({ id }) => id)).toEqual(['two'])
    for (const name of ['model', 'three/test-model', 'test'])
      expect(routes.serving(name)).toEqual([])
  })
})

describe('a sign-in', () => {
  const PLACES: Readonly<Record<string, CallPlace | undefined>> = {
    nothing: undefined,
    'no project': { projectId: undefined, organisationId: undefined },
    'its project': { projectId: 'prj_a', organisationId: 'org_a' },
    'another project': { projectId: 'prj_b', organisationId: 'org_a' },
    'another organisation': { projectId: 'prj_c', organisationId: 'org_b' },
    'a project without one': { projectId: 'prj_d', organisationId: undefined },
    'empty names': { projectId: '', organisationId: '' },
  }

  it.each([
    ['of the whole account', {}, Object.keys(PLACES)],
    ['of an organisation', { organisationId: 'org_a' }, ['its project', 'another project']],
    ['of a project', { projectIds: ['prj_a'] }, ['its project']],
    [
      'of both',
      { organisationId: 'org_b', projectIds: ['prj_a', 'prj_c'] },
      ['another organisation'],
    ],
    ['of no project at all', { projectIds: [] }, []],
  ])('%s is used there and nowhere else', (_, scope, places) => {
    const { routes, add } = open()
    add(MINE, scope)
    const route = routes.of(MINE).find('test-model')!
    for (const [name, place] of Object.entries(PLACES)) {
      const word = places.includes(name) ? 'listed' : 'out_of_scope'
      expect(reasons(route, { place }), name).toEqual([word])
    }
  })

  it('runs as many calls as it may, whichever model they are for, and then the next one does', () => {
    const { routes, add } = open()
    const [narrow, wide] = [add(MINE, { parallelMax: 2 }), add(MINE)]
    const route = routes.of(MINE).find('test-model')!
    const visits = [1, 2].map(() => route.candidates[0]!.lane.enter(0))
    expect(asked(route)).toEqual([wide.id])
    expect(reasons(route)).toEqual(['full', 'listed'])
    visits[0]!.leave()
    expect(asked(route)).toContain(narrow.id)
  })

  it('is known on, however many suppliers of the configuration there are', () => {
    const { identities, routes, add, lanes } = open()
    const record = add(MINE)
    const laneNow = () => routes.of(MINE).find('test-model')!.candidates[0]!.lane
    const before = laneNow()
    for (let index = 0; index < 10_001; index++) lanes.of('configured', `${index}`)
    identities.put({ ...record, name: 'another' })
    expect(laneNow()).toBe(before)
  })

  it('runs any number of calls again once nobody limits it', () => {
    const { identities, routes, add } = open()
    const record = add(MINE, { parallelMax: 1, requestsPerMinute: 1 })
    routes.of(MINE).find('test-model')!.candidates[0]!.lane.enter(-60_000)
    expect(reasons(routes.of(MINE).find('test-model')!)).toEqual(['full'])
    identities.put({ ...record, parallelMax: undefined, requestsPerMinute: undefined })
    const { lane } = routes.of(MINE).find('test-model')!.candidates[0]!
    for (const _ of [1, 2]) lane.enter(0)
    expect(wordOf(lane.standing(0))).toBe('listed')
  })

  it('that is full and has to wait is waited for', () => {
    const { routes, add } = open()
    add(MINE, { parallelMax: 1, requestsPerMinute: 1 })
    const { lane } = routes.of(MINE).find('test-model')!.candidates[0]!
    lane.enter(0)
    expect(wordOf(lane.standing(0))).toBe('waiting')
  })

  it('that is full is not passed over for one that the call does not fit into', () => {
    const { routes, add } = open()
    add(MINE, { parallelMax: 1 })
    add(MINE, { supplierId: 'two' })
    const route = routes.of(MINE).find('test-model')!
    const { load } = loadOf({ bytes: 10_000_000 })
    expect(reasons(route, { load })).toEqual(['listed', 'too_long'])
    route.candidates[0]!.lane.enter(0)
    expect(reasons(route, { load })).toEqual(['full', 'too_long'])
    expect(asked(route, { load })).toEqual([])
  })

  it('begins as many calls in a minute as it may', () => {
    const { routes, add } = open()
    add(MINE, { requestsPerMinute: 2 })
    const { lane } = routes.of(MINE).find('test-model')!.candidates[0]!
    lane.enter(0).leave()
    expect(wordOf(lane.standing(0))).toBe('listed')
    lane.enter(10_000).leave()
    expect(wordOf(lane.standing(10_000))).toBe('waiting')
    expect(lane.remaining(10_000)).toBe(50_000)
    expect(wordOf(lane.standing(60_000))).toBe('listed')
  })

  it('is the one that a call goes on with where that is kept there', () => {
    const { routes, add } = open()
    const [first, second] = [add(MINE), add(MINE)]
    const route = routes.of(MINE).find('test-model')!
    const keptBy = route.candidates[1]!.lane.id
    expect(asked(route, { keptBy })).toEqual([second.id])
    expect(reasons(route, { keptBy })).toEqual(['kept_elsewhere', 'listed'])
    expect(asked(route)).toEqual([first.id, second.id])
  })
})

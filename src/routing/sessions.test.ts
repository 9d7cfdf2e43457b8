// Pins by themselves: what is remembered of a session, for how long, how many of them, and when it lets go.
import { describe, expect, it } from 'bun:test'
import { Lane, Lanes } from './lane.ts'
import type { Candidate, Route } from './routes.ts'
import type { SessionId } from './session-id.ts'
import { Sessions, type SessionPolicy } from './sessions.ts'

const POLICY: SessionPolicy = { idleMs: 1_000, max: 3, infers: true }

const lanes = new Lanes()
const here = lanes.of('here', 'm')
const there = lanes.of('there', 'm')

/** As far as a session looks at it. */
function routeOf(name: string, ...served: readonly (readonly [Lane, number])[]): Route {
  const candidates = served.map(([lane, rank]) => ({ lane, rank }) as Candidate)
  return { name, candidates } as Partial<Route> as Route
}

const ROUTE = routeOf('m', [here, 0], [there, 0])
const named = (text: string): SessionId => ({ text, isFirst: false })
const ONE = { accountId: 'one', route: ROUTE }

/** A whole call of the session, answered by this lane. */
function call(sessions: Sessions, id: string, lane: Lane, now = 0): string {
  const session = sessions.open(named(id), ONE, now)
  session.answered(lane, now, undefined)
  return session.state
}

describe('the table', () => {
  const policy = { ...POLICY, max: 12 }
  const scopeOf = (accountId: string) => ({ accountId, route: ROUTE })
  const keep = (sessions: Sessions, accountId: string, id: string): void =>
    sessions.open(named(id), scopeOf(accountId), 0).answered(here, 0, undefined)
  const has = (sessions: Sessions, accountId: string, id: string): boolean =>
    sessions.open(named(id), scopeOf(accountId), 0).pin !== undefined

  it('keeps the sessions of an account whatever another one does', () => {
    const sessions = new Sessions(policy)
    for (let index = 0; index < 4; index++) keep(sessions, 'small', `s${index}`)
    for (let index = 0; index < 100; index++) keep(sessions, 'large', `l${index}`)
    expect(sessions.size).toBe(12)
    for (let index = 0; index < 4; index++) expect(has(sessions, 'small', `s${index}`)).toBe(true)
    for (let index = 92; index < 100; index++)
      expect(has(sessions, 'large', `l${index}`)).toBe(true)
  })

  it('makes room for who has little at the cost of who has most', () => {
    const sessions = new Sessions(policy)
    for (let index = 0; index < 12; index++) keep(sessions, 'large', `l${index}`)
    for (let index = 0; index < 6; index++) keep(sessions, 'small', `s${index}`)
    for (let index = 0; index < 6; index++) {
      expect(has(sessions, 'small', `s${index}`)).toBe(true)
      expect(has(sessions, 'large', `l${index}`)).toBe(false)
      expect(has(sessions, 'large', `l${index + 6}`)).toBe(true)
    }
    sessions.policy = { ...policy, max: 0 }
    expect(sessions.size).toBe(0)
  })
})

describe('a session', () => {
  it('is new, then kept, then moved to whoever answers instead', () => {
    const sessions = new Sessions(POLICY)
    expect(call(sessions, 's', here)).toBe('new')
    expect(sessions.open(named('s'), ONE, 0).pin).toBe(here.id)
    expect(call(sessions, 's', here)).toBe('kept')
    expect(call(sessions, 's', there)).toBe('moved')
    expect(call(sessions, 's', there)).toBe('kept')
  })

  it('is remembered only once somebody has answered', () => {
    const sessions = new Sessions(POLICY)
    sessions.open(named('s'), ONE, 0)
    expect(sessions.size).toBe(0)
    expect(sessions.open(named('s'), ONE, 0).pin).toBeUndefined()
  })

  it('belongs to one account and one model', () => {
    const sessions = new Sessions(POLICY)
    call(sessions, 's', here)
    const others = [
      { accountId: 'two', route: ROUTE },
      { accountId: 'one', route: routeOf('n', [here, 0]) },
    ]
    for (const scope of others) expect(sessions.open(named('s'), scope, 0).pin).toBeUndefined()
    expect(sessions.open(named('t'), ONE, 0).pin).toBeUndefined()
  })

  it('cannot be reached by names that only look the same when they are put together', () => {
    const sessions = new Sessions(POLICY)
    sessions
      .open(named('c'), { accountId: 'a', route: routeOf('b', [here, 0]) }, 0)
      .answered(here, 0, undefined)
    for (const [accountId, name, id] of [
      ['ab', '', 'c'],
      ['a', 'bc', ''],
      ['a","b', 'b', 'c'],
    ] as const)
      expect(sessions.open(named(id), { accountId, route: routeOf(name) }, 0).pin).toBeUndefined()
  })

  it('is forgotten when it was idle for too long, and each call begins that time anew', () => {
    const sessions = new Sessions(POLICY)
    call(sessions, 's', here, 0)
    expect(call(sessions, 's', here, 999)).toBe('kept')
    expect(call(sessions, 's', here, 1_998)).toBe('kept')
    expect(call(sessions, 's', there, 2_998)).toBe('new')
  })
})

describe('the table', () => {
  it('forgets whoever called longest ago when there are too many', () => {
    const sessions = new Sessions(POLICY)
    for (const id of ['a', 'b', 'c', 'a', 'd']) call(sessions, id, here)
    expect(sessions.size).toBe(3)
    expect(sessions.open(named('b'), ONE, 0).pin).toBeUndefined()
    for (const id of ['a', 'c', 'd']) expect(sessions.open(named(id), ONE, 0).pin).toBe(here.id)
  })

  it('lets those go that are idle, as others come', () => {
    const sessions = new Sessions({ ...POLICY, max: 100 })
    for (let index = 0; index < 10; index++) call(sessions, `old ${index}`, here, 0)
    for (let index = 0; index < 5; index++) call(sessions, `young ${index}`, here, 5_000)
    expect(sessions.size).toBe(5)
  })

  it('is as large as the policy says from the moment that it is changed', () => {
    const sessions = new Sessions(POLICY)
    for (const id of ['a', 'b', 'c']) call(sessions, id, here)
    sessions.policy = { ...POLICY, max: 1 }
    expect(sessions.size).toBe(1)
    expect(sessions.open(named('c'), ONE, 0).pin).toBe(here.id)
    sessions.policy = { ...POLICY, max: 0 }
    expect(sessions.size).toBe(0)
    call(sessions, 'c', here)
    expect(sessions.size).toBe(0)
  })

  it('remembers for as long as the policy says now', () => {
    const sessions = new Sessions(POLICY)
    call(sessions, 's', here, 0)
    sessions.policy = { ...POLICY, idleMs: 10_000 }
    expect(sessions.open(named('s'), ONE, 5_000).pin).toBe(here.id)
    sessions.policy = { ...POLICY, idleMs: 100 }
    expect(sessions.open(named('s'), ONE, 200).pin).toBeUndefined()
  })
})

describe('letting go', () => {
  function stream(sessions: Sessions, route: Route, lane: Lane, firstMs: number): void {
    sessions.open(named('s'), { accountId: 'one', route }, 0).answered(lane, 0, firstMs)
  }

  function slowed(route: Route): Sessions {
    const sessions = new Sessions(POLICY)
    for (const ms of [500, 500, 500, 6_000, 6_000]) stream(sessions, route, here, ms)
    return sessions
  }

  function isSlow(sessions: Sessions, route: Route): boolean {
    return sessions.open(named('s'), { accountId: 'one', route }, 0).isSlow
  }

  function laneOf(firstMs: number): Lane {
    const lane = new Lane(`takes ${firstMs}`, there.account)
    lane.first.add(firstMs, 0)
    return lane
  }

  /** Its answers broke off too often. */
  function restingLane(): Lane {
    const lane = lanes.of('rests', 'm')
    for (let count = 0; count < 20; count++) lane.enter(0).broke('cut', 0)
    return lane
  }

  it('happens where it became slow and somebody else is not known to be as slow', () => {
    expect(isSlow(slowed(ROUTE), ROUTE)).toBe(true)
    const faster = routeOf('m', [here, 0], [laneOf(5_000), 0])
    expect(isSlow(slowed(faster), faster)).toBe(true)
  })

  it.each([
    ['is alone', routeOf('m', [here, 0])],
    ['is as fast as anybody', routeOf('m', [here, 0], [laneOf(6_000), 0], [laneOf(9_000), 0])],
    ['would go to somebody who rests', routeOf('m', [here, 0], [restingLane(), 0])],
    ['would go to another model', routeOf('m', [here, 0], [there, 1])],
  ])('does not happen where it %s', (_, route) => {
    expect(isSlow(slowed(route), route)).toBe(false)
  })

  it('begins anew where it went, so that it does not come back for the same reason', () => {
    const sessions = slowed(ROUTE)
    for (const ms of [5_000, 5_000, 5_000, 5_000, 5_000]) {
      stream(sessions, ROUTE, there, ms)
      expect(isSlow(sessions, ROUTE)).toBe(false)
    }
  })

  it('begins anew after it was idle, because what was cached there is gone', () => {
    const sessions = slowed(ROUTE)
    const later = POLICY.idleMs
    for (const ms of [500, 500, 500, 6_000]) {
      const session = sessions.open(named('s'), ONE, later)
      expect(session.isSlow).toBe(false)
      session.answered(here, later, ms)
    }
    expect(sessions.open(named('s'), ONE, later).isSlow).toBe(false)
  })

  it('never happens for answers that come whole', () => {
    const sessions = new Sessions(POLICY)
    for (let index = 0; index < 10; index++) call(sessions, 's', here)
    expect(isSlow(sessions, ROUTE)).toBe(false)
  })
})

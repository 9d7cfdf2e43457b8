import { describe, expect, it } from 'bun:test'
import { GatewayError } from '../core/problem.ts'
import { AttemptFailure } from '../upstream/failure.ts'
import { Lanes, type Lane, type Visit } from './lane.ts'
import { FULL, LISTED, PROBING, RESTING, WAITING } from './reason.ts'

const SECOND = 1000

function refused(status: number, waitMs?: number): AttemptFailure {
  const problem = new GatewayError('provider_error', undefined, { status, origin: {} })
  return new AttemptFailure(problem, 'refused', { waitMs })
}

function timeout(): AttemptFailure {
  return new AttemptFailure(new GatewayError('provider_timeout'), 'unknown')
}

function fail(lane: Lane, status: number, now: number, waitMs?: number): void {
  const visit = lane.enter(now)
  visit.failed(refused(status, waitMs), now, 0)
  visit.leave()
}

function failTimes(times: number, lane: Lane, status: number, now: number): void {
  for (let index = 0; index < times; index++) fail(lane, status, now)
}

function succeed(lane: Lane, now: number): void {
  const visit = lane.enter(now)
  visit.answered(now)
  visit.finished(now)
  visit.leave()
}

/** Two models of one account, and the first of them at another account. */
function open(): { readonly one: Lane; readonly two: Lane; readonly other: Lane } {
  const lanes = new Lanes()
  return { one: lanes.of('a', 'one'), two: lanes.of('a', 'two'), other: lanes.of('b', 'one') }
}

describe('a lane', () => {
  it('rests alone where its model fails', () => {
    const { one, two, other } = open()
    failTimes(5, one, 500, 0)
    expect([one, two, other].map((lane) => lane.standing(0))).toEqual([RESTING, LISTED, LISTED])
  })

  it('rests with all models of its account where the account is refused, at once', () => {
    const { one, two, other } = open()
    fail(one, 401, 0)
    expect([one, two, other].map((lane) => lane.standing(0))).toEqual([RESTING, RESTING, LISTED])
    expect(two.view(0)).toMatchObject({
      state: 'resting',
      remainingMs: 300_000,
      why: '401 provider_error',
    })
  })

  it('is not closed by one refusal that a request may have caused', () => {
    for (const status of [402, 403, 404]) {
      const { one } = open()
      failTimes(4, one, status, 0)
      expect(one.standing(0)).toBe(LISTED)
      fail(one, status, 0)
      expect(one.standing(0)).toBe(RESTING)
    }
  })

  it('keeps a pause that was asked for while its account rests', () => {
    const { one, two } = open()
    fail(one, 429, 0, 7 * SECOND)
    fail(two, 401, 0)
    expect([one.standing(0), one.remaining(0)]).toEqual([WAITING, 7 * SECOND])
    expect([one.standing(7 * SECOND), one.remaining(7 * SECOND)]).toEqual([RESTING, 293 * SECOND])
  })

  it('is opened with its account by the one call that finds out, whatever model that is for', () => {
    const { one, two } = open()
    fail(one, 401, 0)
    const after = 300 * SECOND
    const probe = two.enter(after)
    expect(one.standing(after)).toBe(PROBING)
    probe.answered(after)
    expect([one.standing(after), two.standing(after)]).toEqual([LISTED, LISTED])
  })

  it('leaves its account unproved where its model fails', () => {
    const { one, two } = open()
    fail(one, 401, 0)
    fail(two, 500, 300 * SECOND)
    expect(one.view(300 * SECOND).state).toBe('probing')
    expect(one.standing(300 * SECOND)).toBe(LISTED)
  })

  it('has room for the next call that finds out when a caller leaves', () => {
    const { one } = open()
    failTimes(5, one, 500, 0)
    const visit = one.enter(30 * SECOND)
    expect(one.standing(30 * SECOND)).toBe(PROBING)
    visit.leave()
    expect(one.standing(30 * SECOND)).toBe(LISTED)
  })

  it('counts calls under way, each once', () => {
    const { one, two } = open()
    const visits = [one.enter(0), two.enter(0)]
    expect(one.account.inFlight).toBe(2)
    for (const visit of [...visits, ...visits]) visit.leave()
    expect(one.account.inFlight).toBe(0)
  })

  it('rests again only after as many failures once a call has gone well to its end', () => {
    const { one } = open()
    failTimes(4, one, 500, 0)
    succeed(one, 0)
    failTimes(4, one, 500, 0)
    expect(one.standing(0)).toBe(LISTED)
  })

  it('does not rest for want of a line where requests are refused for what they are', () => {
    const { one } = open()
    for (let index = 0; index < 9; index++) {
      const visit = one.enter(0)
      if (index === 4) visit.refused(0)
      else visit.failed(timeout(), 0, 0)
      visit.leave()
    }
    expect(one.standing(0)).toBe(LISTED)
  })

  it.each<[string, (visit: Visit) => void, number]>([
    ['an answer', (visit) => visit.answered(0), 0],
    ['a refusal of the request', (visit) => visit.refused(0), 0],
    ['a failure', (visit) => visit.failed(refused(500), 0, 0), 0],
    ['a timeout', (visit) => visit.failed(timeout(), 0, 0), 5],
    ['a leaving', () => {}, 5],
  ])('hears of somebody, or not, by %s', (_name, end, lasting) => {
    const { one } = open()
    const visits = Array.from({ length: 6 }, () => one.enter(0))
    one.silence.lasting(0)
    end(visits[0]!)
    visits[0]!.leave()
    expect(one.silence.lasting(5)).toBe(lasting)
    visits[1]!.leave()
    expect(one.silence.lasting(9)).toBe(0)
  })

  it('measures streams and whole answers apart', () => {
    const { one } = open()
    one.enter(0).answered(200)
    one.enter(0, 'whole').answered(3000)
    expect([one.first.ms, one.whole.ms]).toEqual([200, 3000])
  })

  it('neither measures nor misses those who named their supplier', () => {
    const { one } = open()
    for (let index = 0; index < 6; index++) one.enter(0, 'unmeasured')
    one.silence.lasting(0)
    expect(one.silence.lasting(9)).toBe(0)
    one.enter(0, 'unmeasured').answered(9000)
    expect([one.first.count, one.whole.count]).toEqual([0, 0])
  })

  it('does not miss those who wait for whole answers, and hears of them', () => {
    const { one } = open()
    for (let index = 0; index < 6; index++) one.enter(0, 'whole').leave()
    for (let index = 0; index < 5; index++) one.enter(0)
    one.silence.lasting(0)
    expect(one.silence.lasting(5)).toBe(5)
    one.enter(0, 'whole').answered(6)
    expect(one.silence.lasting(6)).toBe(0)
  })

  it('says nothing of its account where only callers know its model', () => {
    const lanes = new Lanes()
    const [known, invented] = [lanes.of('a', 'known'), lanes.of('a', 'rack/invented', true)]
    failTimes(4, invented, 401, 0)
    expect([known, invented].map((lane) => lane.standing(0))).toEqual([LISTED, LISTED])
    fail(invented, 401, 0)
    expect([known, invented].map((lane) => lane.standing(0))).toEqual([LISTED, RESTING])
    expect(invented.remaining(0)).toBe(300 * SECOND)
  })

  it('is closed by no key alone that others are served well beside', () => {
    const harms: readonly ((visit: Visit) => void)[] = [
      (visit) => visit.failed(refused(500), 0, 0),
      (visit) => visit.failed(refused(429), 0, 0),
      (visit) => visit.broke('stream_interrupted', 0),
    ]
    const standingAfter = (harm: (visit: Visit) => void, key: string): number => {
      const { one } = open()
      const served = one.enter(0, 'whole', 'other')
      served.answered(0)
      served.finished(0)
      for (let index = 0; index < 5; index++) harm(one.enter(0, 'first', key))
      return one.standing(0)
    }
    expect(harms.map((harm) => standingAfter(harm, 'one'))).toEqual([LISTED, LISTED, LISTED])
    expect(harms.map((harm) => standingAfter(harm, 'other'))).toEqual([RESTING, RESTING, RESTING])
  })

  it('counts a stream that broke off, but not one that its caller left', () => {
    const { one } = open()
    for (let index = 0; index < 5; index++) {
      const visit = one.enter(0)
      visit.answered(0)
      visit.broke('stream_interrupted', 0)
      visit.leave()
    }
    expect(one.standing(0)).toBe(RESTING)
    const { two } = open()
    for (let index = 0; index < 5; index++) {
      const visit = two.enter(0)
      visit.answered(0)
      visit.leave()
    }
    expect(two.standing(0)).toBe(LISTED)
  })

  it('does not count what breaks off after it was left', () => {
    const { one } = open()
    for (let index = 0; index < 5; index++) {
      const visit = one.enter(0)
      visit.answered(0)
      visit.leave()
      visit.broke('stream_interrupted', 0)
    }
    expect(one.standing(0)).toBe(LISTED)
  })
})

describe('what is known of lanes', () => {
  it('outlives the configuration that named them, and is nothing for another account', () => {
    const lanes = new Lanes()
    failTimes(5, lanes.of('a', 'one'), 500, 0)
    expect(lanes.of('a', 'one').standing(0)).toBe(RESTING)
    expect(lanes.of('another secret', 'one').standing(0)).toBe(LISTED)
  })

  it('is bounded: those that were named longest ago are forgotten', () => {
    const lanes = new Lanes()
    const [old, used] = [lanes.of('a', 'old'), lanes.of('a', 'used')]
    for (let index = 0; index < 5000; index++) lanes.of('a', `${index}`)
    lanes.of('a', 'used')
    for (let index = 5000; index < 10_005; index++) lanes.of('a', `${index}`)
    expect(lanes.of('a', 'used')).toBe(used)
    expect(lanes.of('a', 'old')).not.toBe(old)
  })

  it('is not pushed out by names that only callers know, which are fewer', () => {
    const lanes = new Lanes()
    const [lane, open] = [lanes.of('a', 'one'), lanes.of('a', 'rack/one', true)]
    for (let index = 0; index < 999; index++) lanes.of('a', `rack/${index}`, true)
    expect(lanes.of('a', 'rack/one', true)).toBe(open)
    for (let index = 0; index < 20_000; index++) lanes.of('a', `rack/${index}`, true)
    expect(lanes.of('a', 'one')).toBe(lane)
    expect(lanes.of('a', 'rack/one', true)).not.toBe(open)
  })

  it('is not pushed out by sign-ins, however many there are', () => {
    const lanes = new Lanes()
    const [lane, signIn] = [lanes.of('a', 'one'), lanes.ofSignIn('nid_1', 'one')]
    for (let index = 0; index < 10_000; index++) lanes.ofSignIn(`nid_1_${index}`, 'one')
    expect(lanes.of('a', 'one')).toBe(lane)
    expect(lanes.ofSignIn('nid_1', 'one')).not.toBe(signIn)
  })

  it('counts the calls of an account on, whichever of its lanes was forgotten', () => {
    const lanes = new Lanes()
    const lane = lanes.ofSignIn('nid_1', 'one')
    lane.account.parallelMax = 1
    const visit = lane.enter(0)
    for (let index = 0; index < 10_000; index++) lanes.ofSignIn(`nid_1_${index}`, 'one')
    lanes.review(0)
    expect(lanes.ofSignIn('nid_1', 'one').standing(0)).toBe(FULL)
    visit.leave()
    expect(lanes.ofSignIn('nid_1', 'one').standing(0)).toBe(LISTED)
  })

  it('is let go of once time has healed it, also where nobody calls', () => {
    const lanes = new Lanes()
    const lane = lanes.of('a', 'one')
    fail(lane, 429, 0, 7 * SECOND)
    lanes.review(7 * SECOND)
    expect(lane.circuit.isClear).toBe(true)
    fail(lane, 401, 8 * SECOND)
    succeed(lane, 400 * SECOND)
    lanes.review(430 * SECOND)
    expect(lane.account.circuit.isClear).toBe(true)
    const signIn = lanes.ofSignIn('nid_1', 'one')
    fail(signIn, 429, 0, 7 * SECOND)
    lanes.review(7 * SECOND)
    expect(signIn.circuit.isClear).toBe(true)
  })
})

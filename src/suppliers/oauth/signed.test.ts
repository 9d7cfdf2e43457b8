// Calls by a sign-in: its token on every one of them, and one more try where that was refused.
import { afterEach, describe, expect, it } from 'bun:test'
import { MARK } from '../../../test/fakes/canary.ts'
import { createFakeClock, type FakeClock } from '../../../test/fakes/clock.ts'
import { supplierAt } from '../../../test/fakes/gateway.ts'
import { answers, startIssuer, type FakeIssuer, type SignIn } from '../../../test/fakes/issuer.ts'
import { openSignIn, type OpenedSignIn } from '../../../test/fakes/sign-ins.ts'
import {
  startFakeSupplier,
  type FakeReply,
  type FakeSupplier,
  type Script,
} from '../../../test/fakes/supplier.ts'
import { Chain } from '../../core/chain.ts'
import { GatewayError } from '../../core/problem.ts'
import { asFailure, type ExtraHeaders, type Upstream } from '../../upstream/client.ts'
import { CallerGone, Lifeline } from '../../upstream/lifeline.ts'
import { connect } from '../connect.ts'
import type { OAuth } from '../supplier.ts'
import { openIssuer } from './issuer.ts'
import { Renewals } from './renewals.ts'
import { signed } from './signed.ts'

const HOUR_MS = 3_600_000
const opened: { stop(): unknown }[] = []

afterEach(async () => {
  for (const each of opened.splice(0)) await each.stop()
})

interface Street {
  readonly clock: FakeClock
  readonly issuer: FakeIssuer
  readonly first: SignIn
  readonly signIn: OpenedSignIn
  readonly server: FakeSupplier
  readonly renewals: Renewals
  /** What all sign-ins share. */
  readonly shared: Upstream
  readonly upstream: Upstream
  /** Who was looked for because nothing was heard. */
  readonly knocks: readonly string[]
}

interface StreetOptions {
  /** Of the token that there is. Default: an hour. */
  readonly leftMs?: number
  readonly oauth?: Partial<OAuth>
  /** What the supplier does; absent: it serves whoever its issuer knows. */
  readonly script?: Script
}

async function open({ leftMs = HOUR_MS, oauth, script }: StreetOptions = {}): Promise<Street> {
  const clock = createFakeClock()
  const issuer = startIssuer()
  const first = issuer.issue()
  const server = await startFakeSupplier(
    script ??
      (({ headers, body }, reply) =>
        issuer.accepts(headers.get('authorization'))
          ? reply.json(200, { got: body.toString() })
          : reply.json(401, { error: { message: 'Who are you?' } })),
  )
  const signIn = openSignIn(first, { expiresAt: clock.now() + leftMs, renewedAt: undefined })
  const native = { credential: undefined, oauth: issuer.oauth(oauth) }
  const supplier = supplierAt(server.origin, native)
  const knocks: string[] = []
  const knock = async (origin: string): Promise<void> => void knocks.push(origin)
  const parts = { now: () => clock.elapsed(), lookup: () => undefined, knock }
  const shared = connect(supplier, parts)
  const ways = [shared]
  const way = openIssuer(supplier, (place) => {
    const upstream = connect(place, parts)
    ways.push(upstream)
    return upstream
  })
  const renewals = new Renewals({ identities: signIn.identities, clock, warn: () => {} })
  const upstream = signed(signIn.identity, {
    upstream: shared,
    issuer: way,
    oauth: supplier.oauth!,
    renewals,
  })
  const ends = { stop: () => ways.forEach((each) => each.close()) }
  opened.push(ends, issuer, server)
  return { clock, issuer, first, signIn, server, renewals, shared, upstream, knocks }
}

interface Calling {
  readonly extra?: ExtraHeaders
  readonly caller?: AbortController
  readonly limitMs?: number
}

/** An answer, or what the pipeline would make of its absence. */
async function call(
  { upstream, clock }: Street,
  { extra, caller = new AbortController(), limitMs = 600_000 }: Calling = {},
): Promise<unknown> {
  const line = { signal: caller.signal, keepOpen: () => {}, letGo: () => {} }
  const lifeline = new Lifeline(clock, line, new Chain())
  lifeline.listen()
  lifeline.expect('first byte', limitMs)
  try {
    const response = await upstream.post('/x', new TextEncoder().encode('{}'), lifeline, extra)
    return { status: response.status, text: await response.text() }
  } catch (thrown) {
    return asFailure(thrown, lifeline.signal)
  } finally {
    lifeline.release()
  }
}

const SERVED = { status: 200, text: '{"got":"{}"}' }
const header = ({ server }: Street, index: number, name: string): string | undefined =>
  server.requests[index]?.headers.get(name)

describe('a call by a sign-in', () => {
  it('carries its token and the account behind it', async () => {
    const street = await open()
    expect(await call(street, { extra: { 'x-passed': '1' } })).toEqual(SERVED)
    expect(header(street, 0, 'authorization')).toBe(`Bearer ${street.first.accessToken}`)
    expect(header(street, 0, 'x-account-id')).toBe('subject-1')
    expect(header(street, 0, 'x-passed')).toBe('1')
    expect(street.issuer.requests).toHaveLength(0)
  })

  it('is sent in the same turn while the token is good', async () => {
    const street = await open()
    let isSent = false
    const parts = {
      upstream: { ...street.shared, post: () => ((isSent = true), Promise.race<Response>([])) },
      issuer: { renew: () => Promise.race<never>([]), close: () => {} },
      oauth: street.issuer.oauth(),
      renewals: street.renewals,
    }
    void call({ ...street, upstream: signed(street.signIn.identity, parts) })
    expect(isSent).toBe(true)
  })

  it('lets nobody else name the token or the account, however that is spelled', async () => {
    const street = await open()
    const extra = {
      authorization: 'Bearer mine',
      Authorization: 'Bearer mine',
      'X-Account-ID': 'mine',
      'x-account-id': 'mine',
    }
    expect(await call(street, { extra })).toEqual(SERVED)
    expect(street.server.requests[0]?.head).not.toContain('mine')
    await street.signIn.change({ subject: undefined })
    expect(await call(street, { extra })).toEqual(SERVED)
    expect(street.server.requests[1]?.head.toLowerCase()).not.toContain('x-account-id')
  })

  it('names no account where the supplier wants none', async () => {
    const street = await open({ oauth: { subjectHeader: undefined } })
    expect(await call(street)).toEqual(SERVED)
    expect(street.server.requests[0]?.head).not.toContain('subject-1')
  })

  it('waits for a token where there is none that is good', async () => {
    const street = await open({ leftMs: 0 })
    expect(await call(street)).toEqual(SERVED)
    expect(street.server.requests).toHaveLength(1)
    expect(street.issuer.requests).toHaveLength(1)
  })

  it('is not sent where none is to be had', async () => {
    const street = await open({ leftMs: 0 })
    street.issuer.revoke(street.first.refreshToken)
    expect(await call(street)).toMatchObject({
      evidence: 'unsent',
      problem: { code: 'native_token_error', status: 403 },
    })
    expect(street.server.connections()).toBe(0)
  })

  it('leaves what it shares with others open when it is closed', async () => {
    const { issuer, signIn, renewals, shared } = await open()
    let isClosed = false
    const upstream = { ...shared, close: () => void (isClosed = true) }
    const way = { renew: () => Promise.race<never>([]) }
    signed(signIn.identity, { upstream, issuer: way, oauth: issuer.oauth(), renewals }).close()
    expect(isClosed).toBe(false)
  })
})

describe('a call whose token is refused', () => {
  it('is sent again with another, and the caller sees one answer', async () => {
    const street = await open()
    street.issuer.revoke(street.first.accessToken)
    expect(await call(street, { extra: { 'x-passed': '1' } })).toEqual(SERVED)
    expect(street.server.requests).toHaveLength(2)
    expect(header(street, 1, 'x-passed')).toBe('1')
    expect(header(street, 1, 'authorization')).not.toBe(header(street, 0, 'authorization'))
    expect(street.server.requests[1]?.body).toEqual(street.server.requests[0]!.body)
  })

  it('is one of a hundred, and one renewal serves them all', async () => {
    const street = await open()
    street.issuer.revoke(street.first.accessToken)
    const all = await Promise.all(Array.from({ length: 100 }, () => call(street)))
    expect(all).toEqual(Array.from({ length: 100 }, () => SERVED))
    expect(street.issuer.requests).toHaveLength(1)
  })

  it('is sent twice at most, and then the answer passes as it is', async () => {
    const refused = { error: { code: 'deactivated', message: 'This account is closed.' } }
    const street = await open({ script: (_, reply) => reply.json(401, refused) })
    const answer = { status: 401, text: JSON.stringify(refused) }
    expect(await call(street)).toEqual(answer)
    expect(street.server.requests).toHaveLength(2)
    expect(street.issuer.requests).toHaveLength(1)
  })

  it('burns no renewals where another token was of no use a moment ago', async () => {
    const street = await open({ script: (_, reply) => reply.json(401, {}) })
    for (const _ of [1, 2, 3]) expect(await call(street)).toEqual({ status: 401, text: '{}' })
    expect(street.issuer.requests).toHaveLength(1)
    street.clock.sleep(60_000)
    await call(street)
    expect(street.issuer.requests).toHaveLength(2)
  })

  it.each([400, 402, 403, 404, 429, 500, 503])('is another matter than a %i', async (status) => {
    const street = await open({ script: (_, reply) => reply.json(status, {}) })
    expect(await call(street)).toEqual({ status, text: '{}' })
    expect(street.server.requests).toHaveLength(1)
    expect(street.issuer.requests).toHaveLength(0)
  })

  it.each([
    ['refuses', answers.refusal(), 403],
    ['is away', answers.down(), 503],
  ])('was refused, and not lost, where the issuer %s', async (_, answer, status) => {
    const street = await open()
    street.issuer.revoke(street.first.accessToken)
    street.issuer.always(answer)
    const failure = await call(street)
    expect(failure).toMatchObject({
      evidence: 'refused',
      isFinal: false,
      problem: { code: 'native_token_error', status },
    })
    expect(String(failure)).not.toContain(MARK)
    expect(street.server.requests).toHaveLength(1)
  })

  it('fails like any other where the second try is cut off', async () => {
    const street = await open({
      script: (_, reply, index) => (index === 0 ? reply.json(401, {}) : reply.reset()),
    })
    expect(await call(street)).toMatchObject({
      evidence: 'unknown',
      problem: { code: 'upstream_unavailable' },
    })
  })
})

describe('who waits for a token', () => {
  it('may leave, and the renewal goes on for the others', async () => {
    const street = await open({ leftMs: 0 })
    const release = street.issuer.hold()
    const caller = new AbortController()
    const [leaving, staying] = [call(street, { caller }), call(street)]
    await street.issuer.request(0)
    caller.abort()
    expect(await leaving).toEqual(new CallerGone('unsent'))
    release()
    expect(await staying).toEqual(SERVED)
    expect(street.issuer.requests).toHaveLength(1)
    expect(street.server.requests).toHaveLength(1)
  })

  it('may have left before', async () => {
    const street = await open({ leftMs: 0 })
    const release = street.issuer.hold()
    const caller = new AbortController()
    caller.abort()
    expect(await call(street, { caller })).toBeInstanceOf(CallerGone)
    release()
    await street.renewals.settle()
    expect(street.server.requests).toHaveLength(0)
  })

  it('may leave after the refusal, too', async () => {
    const street = await open()
    street.issuer.revoke(street.first.accessToken)
    const release = street.issuer.hold()
    const caller = new AbortController()
    const leaving = call(street, { caller })
    await street.issuer.request(0)
    caller.abort()
    expect(await leaving).toEqual(new CallerGone('refused'))
    release()
    await street.renewals.settle()
    expect(await call(street)).toEqual(SERVED)
    expect(street.issuer.requests).toHaveLength(1)
  })

  it('is not asked for once it has left, though its answer would be read to the end', async () => {
    const street = await open({ leftMs: 0 })
    const release = street.issuer.hold()
    const caller = new AbortController()
    const line = { signal: caller.signal, keepOpen: () => {}, letGo: () => {} }
    const lifeline = new Lifeline(street.clock, line, new Chain())
    lifeline.lingerWhile(() => true)
    lifeline.listen()
    const waiting = street.upstream
      .post('/x', new Uint8Array(), lifeline)
      .catch((thrown: unknown) => asFailure(thrown, lifeline.signal))
    await street.issuer.request(0)
    caller.abort()
    release()
    expect(await waiting).toEqual(new CallerGone('unsent'))
    lifeline.release()
    expect(street.server.requests).toHaveLength(0)
  })

  it('is not taken for one whom the supplier keeps waiting', async () => {
    const street = await open()
    street.issuer.revoke(street.first.accessToken)
    const release = street.issuer.hold()
    const waiting = call(street)
    await street.issuer.request(0)
    street.clock.advance(10_000)
    release()
    expect(await waiting).toEqual(SERVED)
    expect(street.knocks).toContain(street.issuer.origin)
    expect(street.knocks).not.toContain(street.server.origin)
  })

  it('waits no longer than its call may, and nothing was sent', async () => {
    const street = await open({ leftMs: 0 })
    const release = street.issuer.hold()
    const waiting = call(street, { limitMs: 5000 })
    await street.issuer.request(0)
    street.clock.advance(5000)
    expect(await waiting).toMatchObject({
      evidence: 'unsent',
      problem: { code: 'native_token_error', status: 503 },
    })
    release()
    await street.renewals.settle()
    expect(await call(street)).toEqual(SERVED)
  })

  it('is stopped with the call where the gateway ends it', async () => {
    const street = await open({ leftMs: 0 })
    const release = street.issuer.hold()
    const line = { signal: new AbortController().signal, keepOpen: () => {}, letGo: () => {} }
    const lifeline = new Lifeline(street.clock, line, new Chain())
    const waiting = street.upstream
      .post('/x', new Uint8Array(), lifeline)
      .catch((thrown: unknown) => asFailure(thrown, lifeline.signal))
    await street.issuer.request(0)
    lifeline.abort(new GatewayError('service_unavailable', 'We close.'))
    expect(await waiting).toMatchObject({ evidence: 'unsent', isFinal: true })
    release()
  })

  it('has all of its time for the supplier afterwards', async () => {
    const { promise, resolve } = Promise.withResolvers<FakeReply>()
    const street = await open({ leftMs: 0, script: (_, reply) => resolve(reply) })
    const release = street.issuer.hold()
    const waiting = call(street, { limitMs: 10_000 })
    await street.issuer.request(0)
    street.clock.advance(9000)
    release()
    const reply = await promise
    street.clock.advance(9000)
    reply.json(200, {})
    expect(await waiting).toEqual({ status: 200, text: '{}' })
  })
})

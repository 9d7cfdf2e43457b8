// Tokens kept fresh: nobody waits while there is a good one, one renewal serves all, and nothing is used that a crash
// would forget.
import { afterEach, describe, expect, it } from 'bun:test'
import { MARK } from '../../../test/fakes/canary.ts'
import { createFakeClock, type FakeClock } from '../../../test/fakes/clock.ts'
import { supplierAt } from '../../../test/fakes/gateway.ts'
import {
  answers,
  startIssuer,
  type FakeIssuer,
  type IssuerOptions,
  type SignIn,
} from '../../../test/fakes/issuer.ts'
import { openSignIn, type OpenedSignIn } from '../../../test/fakes/sign-ins.ts'
import { AttemptFailure } from '../../upstream/failure.ts'
import { connect } from '../connect.ts'
import type { OAuth } from '../supplier.ts'
import { openIssuer, type Issuer } from './issuer.ts'
import { Renewals } from './renewals.ts'

const SECOND_MS = 1000
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const opened: { stop(): unknown }[] = []

afterEach(async () => {
  for (const each of opened.splice(0)) await each.stop()
})

interface Warning {
  readonly text: string
  readonly extra: unknown
}

interface Desk {
  readonly clock: FakeClock
  readonly issuer: FakeIssuer
  readonly first: SignIn
  readonly signIn: OpenedSignIn
  readonly warnings: Warning[]
  readonly renewals: Renewals
  /** The way to the issuer. */
  readonly way: Issuer
  readonly token: () => string | Promise<string>
}

interface DeskOptions extends IssuerOptions {
  /** Of the token that there is; null: nobody told. Default: an hour. */
  readonly leftMs?: number | null
  /** How long ago that was got; absent: it was brought along. */
  readonly ageMs?: number
  readonly oauth?: Partial<OAuth>
}

function open({ leftMs = HOUR_MS, ageMs, oauth, ...options }: DeskOptions = {}): Desk {
  const clock = createFakeClock()
  const issuer = startIssuer(options)
  const first = issuer.issue()
  const expiresAt = leftMs === null ? undefined : clock.now() + leftMs
  const renewedAt = ageMs === undefined ? undefined : clock.now() - ageMs
  const signIn = openSignIn(first, { expiresAt, renewedAt })
  const supplier = supplierAt('http://127.0.0.1:9', { oauth: issuer.oauth(oauth) })
  const parts = { now: () => clock.elapsed(), lookup: () => undefined, knock: async () => {} }
  const way = openIssuer(supplier, (place) => {
    const upstream = connect(place, parts)
    opened.push({ stop: () => upstream.close() })
    return upstream
  })
  opened.push(issuer)
  const warnings: Warning[] = []
  const renewals = renewalsOf(signIn, clock, warnings)
  const token = (): string | Promise<string> => renewals.token(signIn.identity, way)
  return { clock, issuer, first, signIn, warnings, renewals, way, token }
}

function renewalsOf(signIn: OpenedSignIn, clock: FakeClock, warnings: Warning[] = []): Renewals {
  const warn = (text: string, extra?: unknown): void => void warnings.push({ text, extra })
  return new Renewals({ identities: signIn.identities, clock, warn })
}

async function failureOf(work: string | Promise<string>): Promise<AttemptFailure> {
  try {
    await work
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(AttemptFailure)
    const failure = thrown as AttemptFailure
    expect(failure.problem.message).not.toContain(MARK)
    return failure
  }
  throw new Error('there was a token')
}

const ENDED = { evidence: 'unsent', problem: { code: 'native_token_error', status: 403 } }
const AWAY = { evidence: 'unsent', problem: { code: 'native_token_error', status: 503 } }

/** What another process would find. */
function durable({ signIn }: Desk): SignIn {
  return signIn.reopen().identity.tokens as SignIn
}

describe('a token', () => {
  it('is there at once while it is good, and nobody is asked', () => {
    const { token, first, issuer } = open()
    expect(token()).toBe(first.accessToken)
    expect(issuer.requests).toHaveLength(0)
  })

  it('whose end nobody told is used until it is refused', () => {
    const { token, first, clock, issuer } = open({ leftMs: null })
    clock.sleep(1000 * HOUR_MS)
    expect(token()).toBe(first.accessToken)
    expect(issuer.requests).toHaveLength(0)
  })

  it('is renewed before it ends, while everybody goes on with it', async () => {
    const { token, first, clock, issuer, renewals } = open()
    clock.sleep(55 * MINUTE_MS - 1)
    expect(token()).toBe(first.accessToken)
    expect(issuer.requests).toHaveLength(0)
    const release = issuer.hold()
    clock.sleep(1)
    expect(token()).toBe(first.accessToken)
    await issuer.request(0)
    expect(token()).toBe(first.accessToken)
    release()
    await renewals.settle()
    const next = token()
    expect(next).toBeString()
    expect(next).not.toBe(first.accessToken)
    expect(issuer.requests).toHaveLength(1)
  })

  it('that lives shortly is renewed in the last tenth of its life', async () => {
    const { token, first, clock, issuer, renewals } = open({
      leftMs: 50 * SECOND_MS,
      ageMs: 10_000,
    })
    clock.sleep(44 * SECOND_MS - 1)
    expect(token()).toBe(first.accessToken)
    expect(issuer.requests).toHaveLength(0)
    clock.sleep(1)
    expect(token()).toBe(first.accessToken)
    await issuer.request(0)
    await renewals.settle()
  })

  it('that is about to end is not sent any more: its successor is waited for', async () => {
    const { token, first, clock, issuer } = open()
    clock.sleep(HOUR_MS - 30 * SECOND_MS)
    const waited = token()
    expect(waited).toBeInstanceOf(Promise)
    expect(await waited).not.toBe(first.accessToken)
    expect(issuer.requests).toHaveLength(1)
  })

  it('is got for a program that signs itself in, the first one too', async () => {
    const desk = open({ clientSecret: 's', oauth: { grant: 'client_credentials' } })
    const { clock, way } = desk
    const signIn = openSignIn({ clientId: 'own', clientSecret: 's' })
    const renewals = renewalsOf(signIn, clock)
    const token = await renewals.token(signIn.identity, way)
    expect(desk.issuer.accepts(`Bearer ${token}`)).toBe(true)
    expect(signIn.reopen().identity.tokens).toEqual({
      clientId: 'own',
      clientSecret: 's',
      accessToken: token,
    })
  })
})

describe('a renewal', () => {
  it('is one for a hundred who wait', async () => {
    const { token, issuer } = open({ leftMs: 0 })
    const tokens = await Promise.all(Array.from({ length: 100 }, async () => token()))
    expect(new Set(tokens).size).toBe(1)
    expect(issuer.requests).toHaveLength(1)
  })

  it('is one for a hundred whose token was refused, and for who hears of it later', async () => {
    const { renewals, signIn, way, first, issuer } = open()
    const renew = (): Promise<string> => renewals.renew(signIn.identity, way, first.accessToken)
    const tokens = await Promise.all(Array.from({ length: 100 }, renew))
    expect(new Set([...tokens, await renew()]).size).toBe(1)
    expect(issuer.requests).toHaveLength(1)
    expect(signIn.store.writes).toBe(1)
  })

  it('keeps what it brings, with its end by the clock here', async () => {
    const desk = open({ leftMs: 0, expiresIn: 600 })
    const { token, clock, signIn, first, issuer } = desk
    const askedAt = clock.now()
    const release = issuer.hold()
    const waiting = token()
    await issuer.request(0)
    // When it began to live nobody knows; not before it was asked for.
    clock.sleep(10 * SECOND_MS)
    release()
    expect(durable(desk)).toEqual(first)
    const got = await waiting
    expect(durable(desk)).toMatchObject({ accessToken: got })
    expect(durable(desk).refreshToken).not.toBe(first.refreshToken)
    expect(signIn.store.record?.tokens).toMatchObject({
      renewedAt: askedAt,
      expiresAt: askedAt + 600_000,
    })
  })

  it('hands nothing out before it is saved', async () => {
    const desk = open({ leftMs: 0 })
    const save = desk.signIn.store.hold()
    let got: string | undefined
    const waiting = Promise.resolve(desk.token()).then((token) => (got = token))
    await desk.signIn.store.written(1)
    expect(got).toBeUndefined()
    expect(durable(desk)).toEqual(desk.first)
    save()
    expect(await waiting).toBe(durable(desk).accessToken)
  })

  it('that nobody waits for any more is finished all the same', async () => {
    const desk = open({ leftMs: 40 * SECOND_MS })
    const release = desk.issuer.hold()
    expect(desk.token()).toBe(desk.first.accessToken)
    await desk.issuer.request(0)
    release()
    await desk.renewals.settle()
    expect(durable(desk).refreshToken).not.toBe(desk.first.refreshToken)
  })

  it('that fails with nobody waiting for it fails quietly', async () => {
    const { issuer, signIn, clock, way, first } = open({ leftMs: 40 * SECOND_MS })
    issuer.always(answers.down())
    const told = Promise.withResolvers<void>()
    const warn = (): void => told.resolve()
    const renewals = new Renewals({ identities: signIn.identities, clock, warn })
    const unheard: unknown[] = []
    const hear = (thrown: unknown): void => void unheard.push(thrown)
    process.on('unhandledRejection', hear)
    expect(renewals.token(signIn.identity, way)).toBe(first.accessToken)
    await told.promise
    // An error that nobody has taken is told once all else of its turn is done.
    await new Promise((resolve) => setImmediate(resolve))
    process.off('unhandledRejection', hear)
    expect(unheard).toEqual([])
  })

  it('ends after half a minute of silence', async () => {
    const { token, issuer, clock, warnings } = open({ leftMs: 0 })
    const release = issuer.hold()
    const failing = failureOf(token())
    await issuer.request(0)
    clock.advance(30 * SECOND_MS)
    expect(await failing).toMatchObject(AWAY)
    expect(warnings).toMatchObject([{ extra: { why: 'no answer in time' } }])
    release()
  })
})

describe('what cannot be saved', () => {
  it('is not used, while what is still good is', async () => {
    const { token, first, signIn, renewals, clock } = open({ leftMs: 40 * SECOND_MS })
    signIn.store.failure = new Error('the disk is full')
    expect(token()).toBe(first.accessToken)
    await renewals.settle()
    expect(token()).toBe(first.accessToken)
    // About to end, and yet better than nothing.
    clock.sleep(20 * SECOND_MS)
    expect(await token()).toBe(first.accessToken)
    await renewals.settle()
    clock.sleep(20 * SECOND_MS)
    expect(await failureOf(token())).toMatchObject(AWAY)
  })

  it('is tried to be saved again by itself, without another word to the issuer', async () => {
    const desk = open({ leftMs: 0 })
    const { token, signIn, clock, issuer, renewals, warnings } = desk
    signIn.store.failure = new Error('the disk is full')
    expect(await failureOf(token())).toMatchObject({ ...AWAY, problem: { retryAfter: 1 } })
    clock.advance(SECOND_MS)
    await renewals.settle()
    expect(signIn.store.writes).toBe(2)
    signIn.store.failure = undefined
    clock.advance(2 * SECOND_MS)
    await renewals.settle()
    expect(token()).toBe(durable(desk).accessToken)
    expect(issuer.requests).toHaveLength(1)
    expect(warnings).toHaveLength(1)
    expect(JSON.stringify(warnings)).not.toContain(MARK)
  })

  it('is forgotten where somebody has signed in again', async () => {
    const { token, signIn, issuer, renewals, clock } = open({ leftMs: 0 })
    signIn.store.failure = new Error('the disk is full')
    await failureOf(token())
    signIn.store.failure = undefined
    const again = issuer.issue()
    const expiresAt = clock.now() + HOUR_MS
    const renewedAt = undefined
    await signIn.identities.keep(signIn.identity, { secrets: again, expiresAt, renewedAt })
    clock.advance(MINUTE_MS)
    await renewals.settle()
    expect(token()).toBe(again.accessToken)
    expect(signIn.reopen().identity.tokens).toEqual(again)
  })

  it.each(['never comes back', 'fails'])(
    'because the store %s leaves a crashed process what it had, which is asked with again',
    async (how) => {
      const desk = open({ leftMs: 0 })
      const { signIn, clock, way, issuer, first } = desk
      const release = signIn.store.hold()
      if (how === 'fails') signIn.store.failure = new Error('the disk is full')
      const lost = Promise.resolve(desk.token()).catch(() => {})
      await signIn.store.written(1)
      if (how === 'fails') {
        release()
        await lost
      }
      expect(durable(desk)).toEqual(first)
      // Another process, on the same disk, which is well again.
      signIn.store.mend()
      const reborn = signIn.reopen()
      const token = await renewalsOf(reborn, clock).token(reborn.identity, way)
      expect(issuer.requests.map(({ fields }) => fields['refresh_token'])).toEqual([
        first.refreshToken,
        first.refreshToken,
      ])
      expect(issuer.accepts(`Bearer ${token}`)).toBe(true)
      expect(durable(desk).accessToken).toBe(token)
    },
  )
})

describe('an issuer that refuses', () => {
  it('is believed at once, for good and by every process', async () => {
    const { token, issuer, first, signIn, clock, way, warnings } = open({ leftMs: 0 })
    issuer.revoke(first.refreshToken)
    const failure = await failureOf(token())
    expect(failure).toMatchObject(ENDED)
    expect(failure.problem.message).toContain('gateway native login --supplier fake')
    clock.sleep(HOUR_MS)
    expect(await failureOf(token())).toMatchObject(ENDED)
    const reborn = signIn.reopen()
    expect(reborn.identity.state).toBe('refused')
    const later = renewalsOf(reborn, clock).token(reborn.identity, way)
    expect(await failureOf(later)).toMatchObject(ENDED)
    expect(issuer.requests).toHaveLength(1)
    expect(warnings).toMatchObject([
      {
        text: expect.stringContaining(`gateway native login --id ${signIn.identity.id}`),
        extra: { why: 'invalid_grant' },
      },
    ])
    expect(JSON.stringify(warnings)).not.toContain(MARK)
  })

  it('ends nothing before the token that there is does', async () => {
    const { token, issuer, first, renewals, clock } = open({ leftMs: 4 * MINUTE_MS })
    issuer.revoke(first.refreshToken)
    expect(token()).toBe(first.accessToken)
    await renewals.settle()
    clock.sleep(4 * MINUTE_MS - 1)
    expect(await token()).toBe(first.accessToken)
    clock.sleep(1)
    expect(await failureOf(token())).toMatchObject(ENDED)
    expect(issuer.requests).toHaveLength(1)
  })

  it('is believed though it cannot be saved', async () => {
    const { token, issuer, first, signIn, warnings } = open({ leftMs: 0 })
    issuer.revoke(first.refreshToken)
    signIn.store.failure = new Error('the disk is full')
    expect(await failureOf(token())).toMatchObject(ENDED)
    expect(await failureOf(token())).toMatchObject(ENDED)
    expect(issuer.requests).toHaveLength(1)
    expect(warnings).toHaveLength(2)
  })

  it('ends what its supplier refuses, too', async () => {
    const { token, issuer, first, signIn, renewals, way } = open()
    issuer.revoke(first.refreshToken)
    const renewal = renewals.renew(signIn.identity, way, first.accessToken)
    expect(await failureOf(renewal)).toMatchObject(ENDED)
    expect(await failureOf(token())).toMatchObject(ENDED)
    expect(issuer.requests).toHaveLength(1)
  })

  it('says nothing about who has signed in again meanwhile', async () => {
    const { token, issuer, first, signIn, clock } = open({ leftMs: 0 })
    issuer.revoke(first.refreshToken)
    const release = issuer.hold()
    const waiting = token()
    await issuer.request(0)
    const again = issuer.issue()
    const expiresAt = clock.now() + HOUR_MS
    const renewedAt = undefined
    await signIn.identities.keep(signIn.identity, { secrets: again, expiresAt, renewedAt })
    release()
    expect(await waiting).toBe(again.accessToken)
    expect(signIn.identity.state).toBe('active')
  })
})

describe('an issuer that is away', () => {
  it('is left alone for longer each time, up to a minute', async () => {
    const { token, issuer, clock, warnings } = open({ leftMs: 0 })
    issuer.always(answers.down())
    for (const [index, pause] of [1, 2, 4, 8, 16, 32, 60, 60].entries()) {
      expect(await failureOf(token())).toMatchObject({ ...AWAY, problem: { retryAfter: pause } })
      clock.sleep(pause * SECOND_MS - 1)
      expect(await failureOf(token())).toMatchObject(AWAY)
      expect(issuer.requests).toHaveLength(index + 1)
      clock.sleep(1)
    }
    expect(warnings).toHaveLength(1)
    issuer.always(undefined)
    expect(issuer.accepts(`Bearer ${await token()}`)).toBe(true)
  })

  it('is left alone for as long as it says', async () => {
    const { token, issuer, clock } = open({ leftMs: 0 })
    issuer.next(answers.down({ 'retry-after': '20' }))
    expect(await failureOf(token())).toMatchObject({ ...AWAY, problem: { retryAfter: 20 } })
    clock.sleep(19 * SECOND_MS)
    expect(await failureOf(token())).toMatchObject({ ...AWAY, problem: { retryAfter: 1 } })
    clock.sleep(SECOND_MS)
    await token()
    expect(issuer.requests).toHaveLength(2)
  })

  it('changes nothing while the token is good, also in its last seconds', async () => {
    const { token, issuer, first, renewals, clock } = open({ leftMs: 40 * SECOND_MS })
    issuer.always(answers.html())
    expect(token()).toBe(first.accessToken)
    await renewals.settle()
    clock.sleep(39 * SECOND_MS)
    expect(await token()).toBe(first.accessToken)
    expect(token()).toBe(first.accessToken)
    clock.sleep(SECOND_MS)
    expect(await failureOf(token())).toMatchObject(AWAY)
  })

  it('does not bring a refused token back into use', async () => {
    const { token, issuer, first, signIn, renewals, way, clock } = open()
    issuer.next(answers.down())
    const renewal = renewals.renew(signIn.identity, way, first.accessToken)
    expect(await failureOf(renewal)).toMatchObject(AWAY)
    expect(await failureOf(token())).toMatchObject(AWAY)
    clock.sleep(SECOND_MS)
    expect(await token()).not.toBe(first.accessToken)
  })

  it('is asked at once for who has signed in again', async () => {
    const { token, issuer, signIn } = open({ leftMs: 0 })
    issuer.next(answers.down())
    await failureOf(token())
    const { refreshToken } = issuer.issue()
    const times = { expiresAt: undefined, renewedAt: undefined }
    await signIn.identities.keep(signIn.identity, { secrets: { refreshToken }, ...times })
    expect(issuer.accepts(`Bearer ${await token()}`)).toBe(true)
  })
})

describe('a sign-in that goes while it is renewed', () => {
  it.each([
    ['disabled', { disabledAt: 1 }],
    ['removed', { endedAt: 1 }],
  ])('is not used any more when it is %s', async (_, changes) => {
    const desk = open({ leftMs: 0 })
    const release = desk.issuer.hold()
    const failing = failureOf(desk.token())
    await desk.issuer.request(0)
    await desk.signIn.change(changes)
    expect(await failureOf(desk.token())).toMatchObject(ENDED)
    release()
    expect(await failing).toMatchObject(ENDED)
    expect(desk.issuer.requests).toHaveLength(1)
  })

  it.each([
    ['disabled', { disabledAt: 1 }],
    ['removed', { endedAt: 1 }],
  ])('is not used any more when it is %s, however good its token is', async (_, changes) => {
    const { token, signIn, issuer } = open()
    await signIn.change(changes)
    expect(await failureOf(token())).toMatchObject(ENDED)
    expect(issuer.requests).toHaveLength(0)
  })

  it('has its new tokens when it is enabled again', async () => {
    const desk = open({ leftMs: 0 })
    const release = desk.issuer.hold()
    const failing = failureOf(desk.token())
    await desk.issuer.request(0)
    await desk.signIn.change({ disabledAt: 1 })
    release()
    await failing
    await desk.signIn.change({ disabledAt: undefined })
    expect(desk.token()).toBe(durable(desk).accessToken)
    expect(durable(desk).refreshToken).not.toBe(desk.first.refreshToken)
  })

  it('is not used where the store knows it no more', async () => {
    const { token, signIn } = open({ leftMs: 0 })
    signIn.store.record = undefined
    expect(await failureOf(token())).toMatchObject(ENDED)
  })

  it('is not used where nobody can open its tokens', async () => {
    const { token, signIn, issuer } = open()
    const sealed = new Uint8Array(40)
    await signIn.change({ tokens: { ...signIn.identity.record.tokens, sealed } })
    const failure = await failureOf(token())
    expect(failure).toMatchObject(ENDED)
    expect(failure.problem.message).toContain('put it back')
    expect(issuer.requests).toHaveLength(0)
  })
})

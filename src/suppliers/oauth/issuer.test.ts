// What issuers are asked, and what their answers mean: a token, an end, or another try.
import { afterEach, describe, expect, it } from 'bun:test'
import { MARK } from '../../../test/fakes/canary.ts'
import { createFakeClock, type FakeClock } from '../../../test/fakes/clock.ts'
import { supplierAt } from '../../../test/fakes/gateway.ts'
import {
  answers,
  startIssuer,
  type FakeIssuer,
  type IssuerOptions,
  type TokenAnswer,
} from '../../../test/fakes/issuer.ts'
import { Chain } from '../../core/chain.ts'
import type { IdentitySecrets } from '../../core/identity.ts'
import { Secret } from '../../core/secret.ts'
import { Lifeline } from '../../upstream/lifeline.ts'
import { connect, type ConnectParts } from '../connect.ts'
import type { OAuth } from '../supplier.ts'
import { openIssuer, type Grant } from './issuer.ts'

const REFRESH: IdentitySecrets = { refreshToken: `${MARK}-refresh-of-test` }
const opened: { stop(): unknown }[] = []

afterEach(async () => {
  for (const each of opened.splice(0)) await each.stop()
})

function start(options: IssuerOptions = {}): FakeIssuer {
  const issuer = startIssuer(options)
  opened.push(issuer)
  return issuer
}

interface Asking {
  readonly oauth: OAuth
  readonly secrets?: IdentitySecrets
  readonly clock?: FakeClock
  readonly parts?: Partial<ConnectParts>
}

async function ask({ oauth, secrets = REFRESH, clock, parts }: Asking): Promise<Grant> {
  const time = clock ?? createFakeClock()
  const supplier = supplierAt('http://127.0.0.1:9', { oauth })
  const issuer = openIssuer(supplier, (place) => {
    const all = { now: () => time.elapsed(), lookup: () => undefined, ...parts }
    const upstream = connect(place, all)
    opened.push({ stop: () => upstream.close() })
    return upstream
  })
  const caller = { signal: new AbortController().signal, keepOpen: () => {}, letGo: () => {} }
  const lifeline = new Lifeline(time, caller, new Chain())
  lifeline.expect('token', 30_000)
  try {
    return await issuer.renew(secrets, lifeline)
  } finally {
    lifeline.release()
  }
}

async function read(answer: TokenAnswer, secrets: IdentitySecrets = REFRESH): Promise<Grant> {
  const issuer = start()
  issuer.next(answer)
  return ask({ oauth: issuer.oauth(), secrets })
}

const GRANTED = { body: { access_token: 'fresh', token_type: 'bearer' } }

describe('an issuer is asked', () => {
  it('in a form, by the refresh token and the name of the program alone', async () => {
    const issuer = start()
    issuer.next(GRANTED)
    await ask({ oauth: issuer.oauth() })
    const { path, headers, fields } = issuer.requests[0]!
    expect(path).toBe('/oauth/token')
    expect(fields).toEqual({
      grant_type: 'refresh_token',
      refresh_token: REFRESH.refreshToken!,
      client_id: 'program',
    })
    expect(headers.get('content-type')).toBe('application/x-www-form-urlencoded')
    expect(headers.get('accept')).toBe('application/json')
    expect(headers.has('authorization')).toBe(false)
  })

  it('in JSON, with an audience, where it wants that, and for no other scope than was granted', async () => {
    const issuer = start()
    issuer.next(GRANTED)
    const url = `${issuer.url}?tenant=a%20b`
    const changes = { format: 'json', scope: 'openid offline', audience: 'models' } as const
    await ask({ oauth: issuer.oauth({ ...changes, tokenUrl: url }) })
    const { path, headers, text } = issuer.requests[0]!
    expect(path).toBe('/oauth/token?tenant=a%20b')
    expect(headers.get('content-type')).toBe('application/json')
    expect(JSON.parse(text)).toEqual({
      grant_type: 'refresh_token',
      refresh_token: REFRESH.refreshToken,
      client_id: 'program',
      audience: 'models',
    })
  })

  it('for what a program signs itself in with, and never with a refresh token then', async () => {
    const issuer = start({ clientSecret: 'own secret' })
    const secrets = { ...REFRESH, clientId: 'own', clientSecret: 'own secret' }
    const oauth = issuer.oauth({ grant: 'client_credentials', clientSecret: new Secret('other') })
    expect(await ask({ oauth, secrets })).toMatchObject({ kind: 'granted' })
    expect(issuer.requests[0]?.fields).toEqual({
      grant_type: 'client_credentials',
      client_id: 'own',
      client_secret: 'own secret',
    })
  })

  it('by a header with both parts encoded as in a form', async () => {
    const clientSecret = 'a:b+c/ü %'
    const issuer = start({ clientSecret })
    const oauth = issuer.oauth({
      grant: 'client_credentials',
      clientAuth: 'basic',
      clientId: 'my program',
      clientSecret: new Secret(clientSecret),
    })
    expect(await ask({ oauth, secrets: {} })).toMatchObject({ kind: 'granted' })
    const { headers, fields } = issuer.requests[0]!
    expect(fields).toEqual({ grant_type: 'client_credentials' })
    expect(headers.get('authorization')).toBe(`Basic ${btoa('my+program:a%3Ab%2Bc%2F%C3%BC+%25')}`)
  })

  it("for a program of its own without the supplier's secret", async () => {
    const issuer = start()
    issuer.next(GRANTED)
    const oauth = issuer.oauth({ clientAuth: 'basic', clientSecret: new Secret('of another') })
    await ask({ oauth, secrets: { ...REFRESH, clientId: 'own' } })
    const { headers, fields, text } = issuer.requests[0]!
    expect(fields).toMatchObject({ client_id: 'own' })
    expect(headers.has('authorization')).toBe(false)
    expect(text).not.toContain('secret')
  })

  it("with the supplier's secret for its own program, though the sign-in names that too", async () => {
    const issuer = start({ clientSecret: 'shared' })
    const { refreshToken } = issuer.issue()
    const oauth = issuer.oauth({ clientSecret: new Secret('shared') })
    const grant = await ask({ oauth, secrets: { refreshToken, clientId: 'program' } })
    expect(grant.kind).toBe('granted')
  })

  it('nothing where there is no refresh token to ask with', async () => {
    const issuer = start()
    const grant = await ask({ oauth: issuer.oauth(), secrets: { accessToken: 'a' } })
    expect(grant.kind).toBe('refused')
    expect(issuer.requests).toHaveLength(0)
  })

  it.each(['http://issuer.example.com/token', 'https://10.0.0.1/token'])(
    'never at %s, unless private addresses are meant',
    (tokenUrl) => {
      const oauth = start().oauth({ tokenUrl })
      const supplier = supplierAt('https://api.example.com', { allowPrivate: false, oauth })
      const parts = { now: () => 0, lookup: () => undefined }
      expect(() => openIssuer(supplier, (place) => connect(place, parts))).toThrow('token_url')
    },
  )
})

describe('a granted token', () => {
  it('comes with the next refresh token, and all else stays', async () => {
    const issuer = start()
    const { refreshToken } = issuer.issue()
    const secrets = { accessToken: 'old', refreshToken, clientId: 'own' }
    const grant = await ask({ oauth: issuer.oauth(), secrets })
    expect(grant).toMatchObject({ kind: 'granted', lifetimeMs: 3_600_000 })
    const got = grant.kind === 'granted' ? grant.secrets : {}
    expect(got.clientId).toBe('own')
    expect(got.refreshToken).not.toBe(refreshToken)
    expect(issuer.accepts(`Bearer ${got.accessToken}`)).toBe(true)
  })

  it('is one though a code stands beside it, and none beside an error', async () => {
    const { body } = GRANTED
    expect(await read({ body: { ...body, code: 'of_the_day' } })).toMatchObject({ kind: 'granted' })
    expect(await read({ body: { ...body, error: 'slow_down' } })).toMatchObject({
      kind: 'unavailable',
      why: 'slow_down',
    })
  })

  it('keeps the refresh token where none is told', async () => {
    expect(await read(GRANTED)).toEqual({
      kind: 'granted',
      secrets: { ...REFRESH, accessToken: 'fresh' },
      lifetimeMs: undefined,
    })
  })

  const date = 'Thu, 15 Jan 2026 12:00:00 GMT'
  const jwt = (claims: object): string =>
    ['{"alg":"none"}', JSON.stringify(claims), 'signature']
      .map((part) => Buffer.from(part).toString('base64url'))
      .join('.')
  const issuedAt = Date.parse(date) / 1000

  it.each([
    [{ expires_in: 600 }, 600_000],
    [{ expires_in: '600' }, 600_000],
    [{ expires_in: 1e300 }, 315_360_000_000],
    [{ expires_in: 0 }, undefined],
    [{ expires_in: -5 }, undefined],
    [{ expires_in: 'soon' }, undefined],
    [{ expires_in: null }, undefined],
    [{ access_token: jwt({ exp: issuedAt + 90 }) }, 90_000],
    [{ access_token: jwt({ exp: issuedAt + 90 }), expires_in: 60 }, 60_000],
    [{ access_token: jwt({ exp: issuedAt - 90 }) }, undefined],
    [{ access_token: jwt({ exp: 'never' }) }, undefined],
  ])('of %j lives as long as it says', async (told, lifetimeMs) => {
    const body = { ...GRANTED.body, ...told }
    expect(await read({ body, headers: { date } })).toMatchObject({ kind: 'granted', lifetimeMs })
  })

  it.each([
    ['without letters', ''],
    ['with a space', 'a b'],
    ['with a line of its own', 'a\r\nx-evil: 1'],
    ['beyond ASCII', 'tökén'],
    ['without end', 'x'.repeat(16_385)],
    ['of a number', 7],
  ])('%s is none', async (_, token) => {
    expect(await read({ body: { access_token: token } })).toMatchObject({ kind: 'unavailable' })
  })
})

describe('a sign-in ends', () => {
  it.each([
    'invalid_grant',
    'invalid_token',
    'refresh_token_expired',
    'refresh_token_reused',
    'refresh_token_invalidated',
    'token_expired',
    'token_revoked',
  ])('with %s, however it is written', async (code) => {
    for (const error of [code, { code, message: 'no' }, { code: null, type: code }])
      expect(await read(answers.refusal(error, 401))).toEqual({ kind: 'refused', why: code })
    expect(await read({ status: 400, body: { code } })).toEqual({ kind: 'refused', why: code })
  })

  it('also where the status says that all is well', async () => {
    expect(await read(answers.refusal('bad_refresh_token', 200))).toMatchObject({ kind: 'refused' })
  })
})

describe('an issuer is asked again later', () => {
  it.each([
    ['an unknown client', answers.refusal('invalid_client', 401), 'invalid_client'],
    ['a client that may not', answers.refusal('unauthorized_client'), 'unauthorized_client'],
    ['another grant', answers.refusal('unsupported_grant_type'), 'unsupported_grant_type'],
    ['another scope', answers.refusal('invalid_scope'), 'invalid_scope'],
    ['an error in prose', answers.refusal('slow down, please'), 'status 400'],
    ['an empty error', answers.refusal({}), 'status 400'],
    ['a refusal of a server that fails', answers.refusal('invalid_grant', 503), 'invalid_grant'],
    ['a refusal of one that is busy', answers.refusal('invalid_grant', 429), 'invalid_grant'],
    ['a page that is not there', { status: 404, body: 'nothing here' }, 'status 404'],
    ['a server that is down', answers.down(), 'status 503'],
    ['a page of a hotel', answers.html(), 'no JSON'],
    ['half of an answer', answers.garbage(), 'no JSON'],
    ['a list', { body: '[]' }, 'no JSON'],
    ['nothing', { body: '' }, 'no JSON'],
    ['no token', { body: {} }, 'no access token that can be sent'],
    ['a megabyte', answers.huge(), 'no answer that can be read'],
  ])('after %s', async (_, answer, why) => {
    expect(await read(answer)).toEqual({ kind: 'unavailable', why, waitMs: undefined })
  })

  it.each([
    ['7', 7000],
    ['0', 1000],
    ['86400', 300_000],
    ['Thu, 15 Jan 2026 12:00:30 GMT', 30_000],
    ['whenever', undefined],
  ])('when it says so by retry-after: %s', async (told, waitMs) => {
    const headers = { 'retry-after': told, date: 'Thu, 15 Jan 2026 12:00:00 GMT' }
    expect(await read(answers.down(headers))).toMatchObject({ kind: 'unavailable', waitMs })
    expect(await read({ status: 429, body: {}, headers })).toMatchObject({ waitMs })
  })

  it('and never follows it elsewhere', async () => {
    const [issuer, elsewhere] = [start(), start()]
    issuer.next(answers.redirect(elsewhere.url))
    expect(await ask({ oauth: issuer.oauth() })).toMatchObject({ why: 'status 307' })
    expect(elsewhere.requests).toHaveLength(0)
  })

  it('where it says nothing for as long as it may', async () => {
    const [issuer, clock] = [start(), createFakeClock()]
    const release = issuer.hold()
    const asking = ask({ oauth: issuer.oauth(), clock, parts: { knock: async () => {} } })
    await issuer.request(0)
    clock.advance(30_000)
    expect(await asking).toMatchObject({ kind: 'unavailable', why: 'no answer in time' })
    release()
  })

  it('where nobody is there', async () => {
    const issuer = start()
    const oauth = issuer.oauth()
    await issuer.stop()
    expect(await ask({ oauth })).toMatchObject({ kind: 'unavailable', why: 'out of reach' })
  })

  it('where its name leads to what nobody may call', async () => {
    const issuer = start()
    const tokenUrl = issuer.url.replace('127.0.0.1', 'issuer.example.com')
    const parts = { resolve: async () => ['169.254.169.254'] }
    expect(await ask({ oauth: issuer.oauth({ tokenUrl }), parts })).toMatchObject({
      kind: 'unavailable',
      why: 'out of reach',
    })
  })
})

describe('what an issuer says', () => {
  it('is not repeated where it repeats a secret', async () => {
    for (const refreshToken of ['s3cr3t', `${MARK}-and-more`])
      for (const code of [refreshToken, `got_${refreshToken}`, refreshToken.slice(0, 5)]) {
        const grant = await read(answers.refusal(code), { refreshToken })
        expect(grant).toEqual({ kind: 'unavailable', why: 'status 400', waitMs: undefined })
      }
  })

  it("is not repeated where it repeats the supplier's client secret", async () => {
    const issuer = start()
    const clientSecret = new Secret(`${MARK}-client`)
    issuer.next(answers.refusal(clientSecret.reveal()))
    const grant = await ask({ oauth: issuer.oauth({ clientSecret }) })
    expect(grant).toMatchObject({ why: 'status 400' })
  })
})

// The demo's sign-ins, over HTTP, as programs come by them: what a token is good for, how it is renewed, and when it ends.
import { afterAll, describe, expect, it } from 'bun:test'
import { createHash, createHmac } from 'node:crypto'
import { createFakeClock } from '../../../test/fakes/clock.ts'
import { readClaims } from '../oauth/claims.ts'
import { startNative } from './native.ts'

const clock = createFakeClock()
const options = { now: () => clock.now() }
const demo = startNative(options)
afterAll(() => demo.stop())

type Fields = Readonly<Record<string, string>>

interface Said {
  readonly status: number
  readonly headers: Headers
  readonly body: Readonly<Record<string, unknown>>
}

interface Tokens {
  readonly access: string
  readonly refresh: string
}

const REDIRECT = 'http://127.0.0.1:4711/callback'
const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code'
const VERIFIER = 'a-verifier-that-is-long-enough-for-anybody-to-use'
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')

async function post(path: string, fields: Fields, origin = demo.origin): Promise<Said> {
  const body = new URLSearchParams({ client_id: 'demo', ...fields })
  return read(await fetch(`${origin}/oauth/${path}`, { method: 'POST', body }))
}

async function read(response: Response): Promise<Said> {
  const { status, headers } = response
  const text = await response.text()
  return { status, headers, body: text === '' ? {} : JSON.parse(text) }
}

function visit(fields: Fields): Promise<Response> {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: 'demo',
    redirect_uri: REDIRECT,
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
    state: 'a state',
    ...fields,
  })
  return fetch(`${demo.origin}/oauth/authorize?${query.toString()}`, { redirect: 'manual' })
}

/** What the browser brings back. */
async function authorize(fields: Fields = {}): Promise<URLSearchParams> {
  const response = await visit(fields)
  expect(response.status).toBe(302)
  const location = new URL(response.headers.get('location')!)
  expect(location.href).toStartWith(`${fields['redirect_uri'] ?? REDIRECT}?`)
  return location.searchParams
}

function exchange(code: string, fields: Fields = {}): Promise<Said> {
  return post('token', {
    grant_type: 'authorization_code',
    code,
    redirect_uri: REDIRECT,
    code_verifier: VERIFIER,
    ...fields,
  })
}

async function signIn(fields: Fields = {}): Promise<Tokens> {
  const { status, body } = await exchange((await authorize(fields)).get('code')!)
  expect(status).toBe(200)
  return tokensOf(body)
}

function tokensOf(body: Said['body']): Tokens {
  return { access: String(body['access_token']), refresh: String(body['refresh_token']) }
}

function renew(refresh: string, origin?: string): Promise<Said> {
  return post('token', { grant_type: 'refresh_token', refresh_token: refresh }, origin)
}

async function renewed(refresh: string): Promise<Tokens> {
  const { status, body } = await renew(refresh)
  expect(status).toBe(200)
  return tokensOf(body)
}

async function call(token: string, origin = demo.origin): Promise<Said> {
  const response = await fetch(`${origin}/native/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify({
      model: 'native',
      stream: true,
      input: [{ role: 'user', content: 'Hi' }],
    }),
  })
  if (response.status !== 200) return read(response)
  expect(await response.text()).toContain('response.completed')
  return { status: 200, headers: response.headers, body: {} }
}

async function expectRefused(pending: Promise<Said>, error: string, status = 400): Promise<void> {
  const { body, ...said } = await pending
  expect([said.status, body['error']]).toEqual([status, error])
  expect(body['error_description']).toMatch(/^[A-Z].*$/)
  expect(said.headers.get('cache-control')).toBe('no-store')
}

async function expectCall(token: string, code: string): Promise<void> {
  const { status, body } = await call(token)
  expect([status, (body['error'] as Fields)['code']]).toEqual([401, code])
}

describe('signing in by a browser', () => {
  it('gives tokens that the supplier takes, and says how long they live', async () => {
    const back = await authorize({ scope: 'demo offline' })
    expect(back.get('state')).toBe('a state')
    const { body, headers } = await exchange(back.get('code')!)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(body).toMatchObject({ token_type: 'Bearer', expires_in: 300, scope: 'demo offline' })
    expect((await call(tokensOf(body).access)).status).toBe(200)
  })

  it('tells in the token when it ends and whose it is', async () => {
    const [one, two] = [await signIn(), await signIn()]
    const { accountId, expiresAt } = readClaims(one.access)
    expect(expiresAt).toBe(clock.now() + 300_000)
    expect(accountId).toMatch(/^demo-account-\w{8}$/)
    expect(readClaims((await renewed(one.refresh)).access).accountId).toBe(accountId)
    expect(readClaims(two.access).accountId).not.toBe(accountId)
  })

  it('comes back to either name of this machine, with what the address already says', async () => {
    for (const redirect of ['http://localhost:1455/auth/callback', 'http://127.0.0.1:9'])
      expect((await visit({ redirect_uri: redirect })).status).toBe(302)
    const kept = await visit({ redirect_uri: `${REDIRECT}?a=1` })
    expect(kept.headers.get('location')).toContain('?a=1&')
  })

  it.each([
    'https://127.0.0.1:4711/callback',
    'http://example.com/callback',
    'http://127.0.0.1.example.com/callback',
    'http://127.0.0.1@example.com/',
    'http://user@127.0.0.1/',
    'http://127.0.0.1/#fragment',
    'javascript:alert(1)',
    'nothing',
  ])('is sent nowhere but to this machine: %s', async (redirect) => {
    await expectRefused(visit({ redirect_uri: redirect }).then(read), 'invalid_request')
  })

  it('is sent nowhere on behalf of an unknown program', async () => {
    await expectRefused(visit({ client_id: 'other' }).then(read), 'invalid_client', 401)
  })

  it.each<readonly [Fields, string]>([
    [{ response_type: 'token' }, 'unsupported_response_type'],
    [{ code_challenge_method: 'plain' }, 'invalid_request'],
    [{ code_challenge: '' }, 'invalid_request'],
    [{ code_challenge: 'short' }, 'invalid_request'],
    [{ scope: 'demo admin' }, 'invalid_scope'],
  ])('comes back with an error: %j', async (fields, error) => {
    const back = await authorize(fields)
    expect([back.get('error'), back.get('state'), back.get('code')]).toEqual([
      error,
      'a state',
      null,
    ])
  })

  it('needs the verifier, and the same way back', async () => {
    const code = (await authorize()).get('code')!
    const other = VERIFIER.replace('a-', 'b-')
    await expectRefused(exchange(code, { code_verifier: other }), 'invalid_grant')
    await expectRefused(exchange(code, { code_verifier: '' }), 'invalid_request')
    await expectRefused(exchange(code, { redirect_uri: `${REDIRECT}/` }), 'invalid_grant')
    expect((await exchange(code)).status).toBe(200)
  })

  it('takes a code once, and ends what came of it if it comes again', async () => {
    const code = (await authorize()).get('code')!
    const { access, refresh } = tokensOf((await exchange(code)).body)
    await expectRefused(exchange(code), 'invalid_grant')
    await expectCall(access, 'token_revoked')
    await expectRefused(renew(refresh), 'invalid_grant')
  })

  it('takes a code for a minute', async () => {
    const code = (await authorize()).get('code')!
    clock.sleep(60_000)
    await expectRefused(exchange(code), 'invalid_grant')
  })
})

describe('signing in by a code for a device', () => {
  it('waits once, and then gives tokens once', async () => {
    const { body } = await post('device', { scope: 'demo offline' })
    expect(body).toMatchObject({
      user_code: expect.stringMatching(/^[B-Z]{4}-[B-Z]{4}$/),
      verification_uri: `${demo.origin}/oauth/device`,
      verification_uri_complete: `${demo.origin}/oauth/device?user_code=${String(body['user_code'])}`,
      expires_in: 600,
      interval: 1,
    })
    const page = await fetch(String(body['verification_uri_complete']))
    expect(await page.text()).toContain('Nothing is to be entered')
    const poll = (): Promise<Said> =>
      post('token', { grant_type: DEVICE, device_code: String(body['device_code']) })
    await expectRefused(poll(), 'authorization_pending')
    const { access, refresh } = tokensOf((await poll()).body)
    expect((await call(access)).status).toBe(200)
    expect((await renew(refresh)).status).toBe(200)
    await expectRefused(poll(), 'invalid_grant')
  })

  it('is over after ten minutes', async () => {
    const { body } = await post('device', {})
    clock.sleep(600_000)
    const fields = { grant_type: DEVICE, device_code: String(body['device_code']) }
    await expectRefused(post('token', fields), 'expired_token')
  })
})

describe('renewing', () => {
  it('gives other tokens of the same sign-in', async () => {
    const first = await signIn()
    const second = await renewed(first.refresh)
    expect(second.access).not.toBe(first.access)
    expect(second.refresh).not.toBe(first.refresh)
    expect((await call(second.access)).status).toBe(200)
    expect((await renewed(second.refresh)).access).not.toBe(second.access)
  })

  it('works again for whoever never got the answer', async () => {
    const { refresh } = await signIn()
    await renewed(refresh)
    expect((await call((await renewed(refresh)).access)).status).toBe(200)
  })

  it.each<readonly [string, (tokens: Tokens) => Promise<unknown>]>([
    ['access token', ({ access }) => call(access)],
    ['refresh token', ({ refresh }) => renew(refresh)],
  ])('ends the sign-in where an old token comes after its next %s', async (_, use) => {
    const first = await signIn()
    const second = await renewed(first.refresh)
    await use(second)
    await expectRefused(renew(first.refresh), 'invalid_grant')
    await expectCall(second.access, 'token_revoked')
    await expectRefused(renew(second.refresh), 'invalid_grant')
    await expectRefused(renew(first.refresh), 'invalid_grant')
  })

  it('leaves an older access token good until it ends', async () => {
    const first = await signIn()
    await call((await renewed(first.refresh)).access)
    expect((await call(first.access)).status).toBe(200)
  })

  it('is not for sign-ins that were not meant to last', async () => {
    const { body } = await exchange((await authorize({ scope: 'demo' })).get('code')!)
    expect(body).toMatchObject({ scope: 'demo' })
    expect(body).not.toHaveProperty('refresh_token')
  })

  it('widens no scope', async () => {
    const { refresh } = await signIn()
    const fields = { grant_type: 'refresh_token', refresh_token: refresh }
    await expectRefused(post('token', { ...fields, scope: 'demo offline admin' }), 'invalid_scope')
    expect((await post('token', { ...fields, scope: 'demo offline' })).status).toBe(200)
  })

  it('outlives the server that gave the tokens', async () => {
    const { access, refresh } = await signIn()
    const next = startNative(options)
    try {
      expect((await call(access, next.origin)).status).toBe(200)
      expect((await renew(refresh, next.origin)).status).toBe(200)
    } finally {
      await next.stop()
    }
  })
})

describe('a token', () => {
  it('is good for five minutes', async () => {
    const { access, refresh } = await signIn()
    clock.sleep(299_000)
    expect((await call(access)).status).toBe(200)
    clock.sleep(1000)
    await expectCall(access, 'token_expired')
    expect((await call((await renewed(refresh)).access)).status).toBe(200)
  })

  it('is good for as long as a test wants', async () => {
    const brief = startNative({ ...options, accessTokenMs: 2000 })
    try {
      const { refresh } = await signIn()
      const { body } = await renew(refresh, brief.origin)
      expect(body).toMatchObject({ expires_in: 2 })
      clock.sleep(2000)
      expect((await call(tokensOf(body).access, brief.origin)).status).toBe(401)
    } finally {
      await brief.stop()
    }
  })

  it.each(['access', 'refresh'] as const)('takes its sign-in along: %s', async (which) => {
    const tokens = await signIn()
    expect((await post('revoke', { token: tokens[which] })).status).toBe(200)
    await expectCall(tokens.access, 'token_revoked')
    await expectRefused(renew(tokens.refresh), 'invalid_grant')
    expect((await post('revoke', { token: tokens[which] })).status).toBe(200)
  })

  it('may be unknown to whoever revokes it', async () => {
    expect((await post('revoke', { token: 'unknown' })).status).toBe(200)
  })

  it('passes for no other, and for nothing when it was changed', async () => {
    const { access, refresh } = await signIn()
    const [head, body, signature] = access.split('.')
    const forged = Buffer.from(JSON.stringify({ sid: 'x', scope: 'demo', renewals: 0 }))
    for (const token of [
      refresh,
      'nonsense',
      '..',
      `${head}.${body}`,
      `${head}.${forged.toString('base64url')}.${signature}`,
      `${head}.${body}.${signature}.x`,
    ])
      await expectCall(token, 'invalid_token')
    await expectRefused(renew(access), 'invalid_grant')
    await expectRefused(renew('nonsense'), 'invalid_grant')
  })

  it('that is well signed and says nothing is none', async () => {
    const [head] = (await signIn()).access.split('.')
    const key = 'public on purpose: the tokens of the demo protect nothing'
    for (const body of ['no json', '[]', '{}', '{"sid":1,"scope":"","renewals":0}']) {
      const text = `${head}.${Buffer.from(body).toString('base64url')}`
      const mac = createHmac('sha256', key).update(text).digest('base64url')
      await expectCall(`${text}.${mac}`, 'invalid_token')
    }
  })
})

describe('the issuer', () => {
  it.each<readonly [string, Fields, string, number]>([
    ['token', {}, 'invalid_request', 400],
    ['token', { grant_type: 'password' }, 'unsupported_grant_type', 400],
    ['token', { grant_type: 'refresh_token' }, 'invalid_request', 400],
    ['token', { grant_type: 'refresh_token', client_id: 'other' }, 'invalid_client', 401],
    ['token', { grant_type: DEVICE, device_code: 'nonsense' }, 'invalid_grant', 400],
    ['device', { client_id: 'other' }, 'invalid_client', 401],
    ['device', { scope: 'all' }, 'invalid_scope', 400],
    ['revoke', {}, 'invalid_request', 400],
  ])('refuses at %s: %j', async (path, fields, error, status) => {
    await expectRefused(post(path, fields), error, status)
  })

  it('takes a form of bounded length, and each parameter once', async () => {
    const send = (body: string, type = 'application/x-www-form-urlencoded'): Promise<Said> =>
      fetch(`${demo.origin}/oauth/token`, {
        method: 'POST',
        headers: { 'content-type': type },
        body,
      }).then(read)
    await expectRefused(send('{}', 'application/json'), 'invalid_request')
    await expectRefused(send('client_id=demo&client_id=demo'), 'invalid_request')
    await expectRefused(send(`client_id=${'x'.repeat(40_000)}`), 'invalid_request', 413)
  })

  it('knows no other address and no other method', async () => {
    const ask = async (method: string, path: string): Promise<number> =>
      (await fetch(demo.origin + path, { method })).status
    expect(await ask('GET', '/oauth/token')).toBe(405)
    expect(await ask('POST', '/oauth/authorize')).toBe(405)
    expect(await ask('GET', '/oauth/other')).toBe(404)
  })

  it('answers no page of another site', async () => {
    const body = new URLSearchParams({ client_id: 'demo' })
    const ask = async (headers: Fields): Promise<number> =>
      (await fetch(`${demo.origin}/oauth/device`, { method: 'POST', headers, body })).status
    expect(await ask({ origin: 'http://localhost:3000' })).toBe(200)
    for (const headers of [
      { origin: 'https://example.com' },
      { origin: 'null' },
      { host: 'rebound.example.com' },
    ])
      expect(await ask(headers)).toBe(403)
  })
})

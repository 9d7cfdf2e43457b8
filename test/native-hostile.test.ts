// Native calls when somebody means harm, or does it: suppliers that repeat tokens, sign-ins that end under a call,
// callers who leave, strangers, and headers that would say who pays.
import { afterEach, describe, expect, it } from 'bun:test'
import { dirname, join } from 'node:path'
import {
  askNative,
  HELLO_NATIVE,
  nativeAt,
  openAgency,
  refusalOf,
  type Agency,
  type AgencyOptions,
} from './fakes/agency.ts'
import { createFakeClock } from './fakes/clock.ts'
import { answers } from './fakes/issuer.ts'
import { beginText, PREAMBLE, printEvents } from './fakes/response-supplier.ts'
import type { Script } from './fakes/supplier.ts'
import { openAccount, tenantAt } from './fakes/tenants.ts'
import { tell } from './fakes/terminal.ts'

const open: Agency[] = []

async function agency(options?: AgencyOptions): Promise<Agency> {
  const opened = await openAgency(options)
  open.push(opened)
  return opened
}

afterEach(async () => {
  for (const each of open.splice(0)) {
    const books = await tell(['ledger', 'verify', '--data', dataOf(each)])
    expect(books.out).toEndWith('The books are in order.\n')
    await each.stop()
  }
})

function dataOf({ gateway }: Agency): string {
  return join(dirname(gateway.file), 'data')
}

/** Keeps a request until it is let go, and then repeats the token that it came with. */
function repeater(isStream: boolean) {
  const begun = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  const script: Script = async (request, reply) => {
    begun.resolve()
    await end.promise
    const error = { message: `no: ${request.headers.get('authorization')}`, code: 'no' }
    if (!isStream) return reply.json(400, { error })
    const failed = JSON.stringify({ type: 'error', ...error })
    const stream = reply.stream()
    stream.send(printEvents([...PREAMBLE, ...beginText(['Hello '])]))
    stream.send(`event: error\ndata: ${failed}\n\n`)
    stream.end()
  }
  return { script, begun: begun.promise, end: () => end.resolve() }
}

const SIGN_INS = '/native/identities'
const CHANGES: readonly (readonly [string, string, object | undefined])[] = [
  ['replaced', 'PATCH', { access_token: 'another-one' }],
  ['removed', 'DELETE', undefined],
]

describe('a token that a supplier repeats', () => {
  for (const isStream of [false, true])
    it.each(CHANGES)(
      `is told to nobody, though it was %s meanwhile${isStream ? ', in a stream' : ''}`,
      async (_, method, body) => {
        const { script, begun, end } = repeater(isStream)
        const all = await agency({ script })
        const { accessToken, id } = await all.signIn()
        const asked = all.ask()
        await begun
        expect((await all.gateway.manage(method, `${SIGN_INS}/${id}`, body)).status).toBe(200)
        end()
        const text = await (await asked).text()
        expect(text).toContain('[redacted]')
        expect(text).not.toContain(accessToken)
      },
    )
})

it('a token that a supplier has cut is told to nobody either', async () => {
  const { ask, signIn } = await agency({
    script: (request, reply) => {
      const cut = request.headers.get('authorization')!.slice(0, -3)
      reply.json(400, { error: { message: `no: ${cut}… (${cut}`, code: 'no', type: 'no' } })
    },
  })
  const { accessToken } = await signIn()
  const text = await (await ask()).text()
  expect(text).toContain('no: Bearer [redacted]… (Bearer [redacted]')
  expect(text).not.toContain(accessToken.slice(0, -3))
})

describe('a sign-in without a token', () => {
  it('leaves calls to one that has a token while it cannot be renewed', async () => {
    const clock = createFakeClock()
    const { ask, signIn, issuer, tokens } = await agency({ clock })
    await signIn({ name: 'ended', expires_in: 60 })
    const { accessToken } = await signIn({ name: 'good' })
    clock.advance(61_000)
    issuer.always(answers.down())
    for (const _ of [1, 2, 3]) expect(await (await ask()).text()).toContain('Hello to you')
    expect(new Set(tokens())).toEqual(new Set([accessToken]))
  })

  it('leaves them to one of the same supplier before another is asked', async () => {
    const clock = createFakeClock()
    const second = await openAgency()
    open.push(second)
    const { backend, issuer: elsewhere } = second
    const others = [nativeAt(backend.origin, elsewhere, { id: 'second' })]
    const { ask, signIn, issuer, tokens } = await agency({ clock, others })
    await signIn({ name: 'ended', expires_in: 60 })
    const { accessToken } = await signIn({ name: 'good' })
    const { accessToken: other } = elsewhere.issue()
    await signIn({ supplier: 'second', access_token: other, refresh_token: null })
    clock.advance(61_000)
    issuer.always(answers.down())
    expect(await (await ask()).text()).toContain('Hello to you')
    expect([tokens(), backend.requests.length]).toEqual([[accessToken], 0])
  })

  it('does not hide that the others are only busy', async () => {
    const { ask, signIn, issuer } = await agency({
      script: (_request, reply) =>
        reply.json(429, { error: { message: 'Later.' } }, { 'retry-after': '7' }),
    })
    const { accessToken, refreshToken } = await signIn({ name: 'ended' })
    await signIn({ name: 'busy' })
    for (const token of [accessToken, refreshToken]) issuer.revoke(token)
    const response = await ask()
    expect(response.headers.get('retry-after')).toBe('7')
    expect(await refusalOf(response)).toEqual([429, 'identity_execution_capacity'])
  })
})

it('a sign-in that has ended does not hide one that only pauses', async () => {
  const clock = createFakeClock()
  const { ask, signIn, issuer } = await agency({
    clock,
    script: (_request, reply) =>
      reply.json(429, { error: { message: 'Later.' } }, { 'retry-after': '100' }),
  })
  await signIn({ name: 'pauses' })
  expect((await ask()).status).toBe(429)
  const { refreshToken } = await signIn({ name: 'ended', expires_in: 60 })
  issuer.revoke(refreshToken)
  clock.advance(61_000)
  const response = await ask()
  expect(response.headers.get('retry-after')).toBe('39')
  expect(await refusalOf(response)).toEqual([429, 'identity_execution_capacity'])
})

describe('a supplier that refuses for good', () => {
  it.each([
    [403, 403, 'native_token_error'],
    [402, 403, 'native_token_error'],
    [404, 503, 'model_unavailable'],
  ])('with %d is not asked again by whoever believes us', async (refused, status, code) => {
    const { ask, signIn } = await agency({
      script: (_request, reply) => reply.json(refused, { error: { message: 'Never.' } }),
    })
    await signIn()
    const response = await ask()
    expect(response.headers.get('x-should-retry')).toBe('false')
    expect(await refusalOf(response)).toEqual([status, code])
  })
})

describe('a call that waits for a token', () => {
  it.each([
    ['disabled', 'PATCH', { disabled: true }],
    ['removed', 'DELETE', undefined],
  ] as const)('is not made by a sign-in that is %s meanwhile', async (_, method, body) => {
    const clock = createFakeClock()
    const { ask, signIn, issuer, gateway, backend } = await agency({ clock })
    const { id } = await signIn({ expires_in: 60 })
    clock.advance(61_000)
    const release = issuer.hold()
    const asked = ask()
    await issuer.request(0)
    await gateway.manage(method, `${SIGN_INS}/${id}`, body)
    release()
    expect(await refusalOf(await asked)).toEqual([403, 'native_token_error'])
    expect(backend.requests.length).toBe(0)
    expect(gateway.audit()).toMatchObject([{ cost: 0, code: 'native_token_error' }])
  })

  it('may be left by a hundred callers, who pay nothing and leave their places', async () => {
    const clock = createFakeClock()
    const { ask, signIn, issuer, gateway, backend } = await agency({ clock })
    await signIn({ expires_in: 60, parallel_max: 100 })
    clock.advance(61_000)
    const release = issuer.hold()
    const before = clock.listeners()
    const leaving = new AbortController()
    const left = Array.from({ length: 100 }, () =>
      ask(HELLO_NATIVE, { signal: leaving.signal }).catch(() => 'left'),
    )
    // Each has its lifeline and its patience.
    while (clock.listeners() - before < 200) await new Promise(setImmediate)
    clock.advance(1000)
    leaving.abort()
    expect(new Set(await Promise.all(left))).toEqual(new Set(['left']))
    while (gateway.audit().length < 100) await new Promise(setImmediate)
    for (const row of gateway.audit()) expect(row).toMatchObject({ status: 499, cost: 0 })
    release()
    const texts = await Promise.all(
      Array.from({ length: 100 }, () => ask().then((response) => response.text())),
    )
    expect(texts.filter((text) => text.includes('Hello to you')).length).toBe(100)
    expect([issuer.requests.length, backend.requests.length]).toEqual([1, 100])
  })
})

/** What a caller would like to say of itself, under names that agents and others have for it. */
const SMUGGLED = [
  'chatgpt-account-id',
  'openai-organization',
  'openai-project',
  'proxy-authorization',
  'x-account-id',
  'x-api-key',
  'x-codex-model',
  'x-codex-service-tier',
  'x-forwarded-for',
  'x-openai-actor-authorization',
  'x-openai-auth',
  'x-openai-billing',
  'x-openai-internal-codex-residency',
  'x-openai-organization',
  'x-openai-priority',
  'x-openai-project',
  'x-openai-region',
  'x-openai-tenant',
  'x-openai-workspace-id',
]

it('no header of a caller says who pays, where it runs or how fast', async () => {
  const { ask, signIn, backend } = await agency()
  await signIn({ account_id: 'ours' })
  const headers = Object.fromEntries(SMUGGLED.map((name) => [name, 'smuggled']))
  expect((await ask(HELLO_NATIVE, { headers })).status).toBe(200)
  const { headers: sent } = backend.requests[0]!
  const passed = [...sent].filter(([, value]) => value.includes('smuggled'))
  expect(passed).toEqual([])
  expect(sent.get('x-account-id')).toBe('ours')
})

describe('an issuer', () => {
  it.each([1e-9, 0.01, 1, 0, -1, 1e300])(
    'that promises %d seconds is not asked with every call',
    async (expiresIn) => {
      const clock = createFakeClock()
      const { ask, signIn, issuer } = await agency({ clock, issuer: { expiresIn } })
      await signIn({ expires_in: 60 })
      clock.advance(61_000)
      for (let turn = 0; turn < 10; turn++) expect((await ask()).status).toBe(200)
      expect(issuer.requests.length).toBe(1)
    },
  )
})

describe('another account', () => {
  it('has no use of a sign-in, and hears nothing of it', async () => {
    const all = await agency()
    const { id, accessToken } = await all.signIn({ name: 'ours alone' })
    const { gateway, backend } = all
    const headers = { 'session-id': 'the-same', 'idempotency-key': 'the-same' }
    const ours = await (await all.ask(HELLO_NATIVE, { headers })).text()
    expect(ours).toContain('Hello to you')
    const stranger = await openAccount(gateway.url)
    const next = { ...HELLO_NATIVE, previous_response_id: 'resp_1' }
    for (const body of [HELLO_NATIVE, next]) {
      const refused = await askNative(gateway, body, { key: stranger.secret, headers })
      expect(await refusalOf(refused)).toEqual([403, 'native_token_error'])
    }
    const question = { endpoint: '/v1/native/responses', request: HELLO_NATIVE }
    const told = JSON.stringify(await stranger.ask('POST', '/explain', question))
    expect(told).toContain('native_token_error')
    for (const hidden of [id, accessToken, 'ours alone']) expect(told).not.toContain(hidden)
    const unknown = await stranger.ask('GET', `${SIGN_INS}/nid_unknown`)
    expect(await stranger.ask('GET', `${SIGN_INS}/${id}`)).toEqual(unknown)
    expect(backend.requests.length).toBe(1)
  })
})

it('the record of a native call tells all there is to tell, and no token', async () => {
  const { ask, signIn, issuer, gateway } = await agency()
  const [one, two] = [await signIn({ name: 'one' }), await signIn({ name: 'two' })]
  for (const token of [one.accessToken, one.refreshToken]) issuer.revoke(token)
  const response = await ask(HELLO_NATIVE, { headers: { 'x-session-id': 'mine' } })
  const text = await response.text()
  const told = Object.fromEntries(
    [...response.headers].filter(([name]) => name.startsWith('x-svc-')),
  )
  expect(told).toEqual({
    'x-svc-supplier': 'native',
    'x-svc-region': 'EU',
    'x-svc-failover': 'true',
    'x-svc-latency-ms': expect.any(String),
    'x-svc-session': 'new',
  })
  for (const line of ['input-tokens: 11', 'output-tokens: 7', 'settlement: settled'])
    expect(text).toContain(`: x-svc-${line}`)
  const id = response.headers.get('x-request-id')
  const call = await tenantAt(gateway.url).get(`/calls/${id}`)
  expect(call).toMatchObject({
    endpoint: '/v1/native/responses',
    status: 200,
    stream: true,
    attempts: 2,
    tries: [
      { supplier: 'native', identity: one.id, evidence: 'refused', code: 'native_token_error' },
      { supplier: 'native', identity: two.id, evidence: 'reported', status: 200 },
    ],
  })
  const everything = JSON.stringify([call, [...response.headers], text])
  for (const { accessToken, refreshToken } of [one, two])
    for (const token of [accessToken, refreshToken]) expect(everything).not.toContain(token)
})

// What whoever calls by sign-ins is told when none of them takes the call: how long to wait, whether anybody else could
// take it, and whose fault it is. No sign-in is asked for more than it may.
import { afterEach, describe, expect, it } from 'bun:test'
import {
  HELLO_NATIVE,
  openAgency,
  refusalOf,
  sayHello,
  tokenOf,
  type Agency,
  type AgencyOptions,
} from './fakes/agency.ts'
import { createFakeClock } from './fakes/clock.ts'
import { answers } from './fakes/issuer.ts'
import type { Script } from './fakes/supplier.ts'

const opened: Agency[] = []

async function begin(options?: AgencyOptions): Promise<Agency> {
  const agency = await openAgency(options)
  opened.push(agency)
  return agency
}

afterEach(async () => {
  for (const each of opened.splice(0)) await each.stop()
})

/** Serves nobody until it is told to. */
function gate(): {
  readonly script: Script
  readonly begun: Promise<void>
  readonly open: () => void
} {
  const begun = Promise.withResolvers<void>()
  const open = Promise.withResolvers<void>()
  const script: Script = async (request, reply, index) => {
    begun.resolve()
    await open.promise
    return sayHello(request, reply, index)
  }
  return { script, begun: begun.promise, open: open.resolve }
}

const CAPACITY = [429, 'identity_execution_capacity'] as const

describe('sign-ins that have no room', () => {
  it.each([
    ['with any key', {}],
    ['with a key that is kept in a region', { allowed_regions: ['EU'] }],
  ])('take not one call more than they may, however many come at once %s', async (_, settings) => {
    const { script, begun, open } = gate()
    const { ask, signIn, backend, gateway } = await begin({ script })
    await signIn({ parallel_max: 1 })
    const { key } = await gateway.createKey({ name: 'k', ...settings })
    const calls = Array.from({ length: 20 }, () => ask(HELLO_NATIVE, { key }))
    await begun
    const refusals = Promise.withResolvers<void>()
    const ends: (readonly [number, string])[] = []
    const read = async (call: Promise<Response>): Promise<number> => {
      const response = await call
      if (response.ok) return (await response.text(), response.status)
      ends.push(await refusalOf(response))
      if (ends.length === calls.length - 1) refusals.resolve()
      return response.status
    }
    const all = calls.map(read)
    await refusals.promise
    open()
    expect((await Promise.all(all)).filter((status) => status === 200)).toEqual([200])
    for (const end of ends) expect(end).toEqual([...CAPACITY])
    expect(backend.requests.length).toBe(1)
  })

  it('are told as such to a key that is kept in a region, too', async () => {
    const { script, begun, open } = gate()
    const { ask, signIn, gateway } = await begin({ script })
    await signIn({ parallel_max: 1 })
    const { key } = await gateway.createKey({ name: 'k', allowed_regions: ['EU'] })
    const running = ask(HELLO_NATIVE, { key })
    await begun
    expect(await refusalOf(await ask(HELLO_NATIVE, { key }))).toEqual([...CAPACITY])
    open()
    await (await running).text()
  })

  it('are waited for as long as the first of them needs', async () => {
    const waits = new Map<string, string>()
    const { ask, signIn, tokens } = await begin({
      clock: createFakeClock(),
      script: (request, reply) => {
        const wait = waits.get(tokenOf(request))!
        reply.json(429, { error: { message: 'Later.' } }, { 'retry-after': wait })
      },
    })
    for (const wait of ['30', '7', '50']) {
      const { accessToken } = await signIn({ name: wait })
      waits.set(accessToken, wait)
    }
    for (const _ of [1, 2]) {
      const response = await ask()
      expect(response.headers.get('retry-after')).toBe('7')
      expect(await refusalOf(response)).toEqual([...CAPACITY])
    }
    expect(tokens().length).toBe(3)
  })

  it('are waited for no longer than one that was not asked', async () => {
    const { ask, signIn } = await begin({
      limits: { attemptsMax: 1 },
      script: (_request, reply) =>
        reply.json(429, { error: { message: 'Later.' } }, { 'retry-after': '30' }),
    })
    for (const name of ['one', 'two']) await signIn({ name })
    const response = await ask()
    expect(response.headers.get('retry-after')).toBe('1')
    expect(await refusalOf(response)).toEqual([...CAPACITY])
  })
})

describe('sign-ins that are of no use', () => {
  it('because their supplier refuses even a new token are told as such', async () => {
    const { ask, signIn, gateway } = await begin({
      script: (_request, reply) => reply.json(401, { error: { message: 'Closed.', code: 'no' } }),
    })
    for (const name of ['one', 'two']) await signIn({ name })
    const response = await ask()
    const { error } = (await response.json()) as { readonly error: Record<string, unknown> }
    expect([response.status, error['code']]).toEqual([403, 'native_token_error'])
    expect(error['human_message']).toContain('gateway native login')
    expect(gateway.audit()).toMatchObject([{ cost: 0, code: 'native_token_error' }])
  })

  it('because they cannot be renewed are told by what passes', async () => {
    const clock = createFakeClock()
    const { ask, signIn, issuer } = await begin({ clock })
    for (const name of ['one', 'two']) await signIn({ name, expires_in: 60 })
    clock.advance(61_000)
    issuer.next(answers.refusal())
    issuer.always(answers.down())
    const response = await ask()
    expect(response.headers.get('retry-after')).toBe('1')
    expect(await refusalOf(response)).toEqual([503, 'native_token_error'])
  })

  it('because some are for others and some are elsewhere are told as elsewhere', async () => {
    const { ask, signIn, gateway } = await begin()
    const made = await gateway.manage('POST', '/projects', { name: 'p' })
    const { id } = (await made.json()) as { readonly id: string }
    await signIn({ name: 'of a project', project_ids: [id] })
    await signIn({ name: 'of all' })
    expect(await refusalOf(await ask({ ...HELLO_NATIVE, region: 'US' }))).toEqual([
      403,
      'sovereign_route_unavailable',
    ])
  })

  it('because they are too slow are told as such', async () => {
    const { script, open } = gate()
    const { ask, signIn } = await begin({ script, limits: { firstByteMs: 20 } })
    await signIn()
    expect(await refusalOf(await ask())).toEqual([504, 'all_providers_exhausted'])
    open()
  })

  it('because they keep nothing of what a call goes on from are left alone', async () => {
    const { ask, signIn, gateway, tokens } = await begin()
    const first = await signIn({ name: 'first' })
    const headers = { 'session-id': 'a-session' }
    await (await ask(HELLO_NATIVE, { headers })).text()
    await signIn({ name: 'second' })
    await gateway.manage('PATCH', `/native/identities/${first.id}`, { disabled: true })
    const next = { ...HELLO_NATIVE, previous_response_id: 'resp_1' }
    const response = await ask(next, { headers })
    const { error } = (await response.json()) as { readonly error: Record<string, unknown> }
    expect([response.status, error['code']]).toEqual([403, 'native_token_error'])
    expect(error['human_message']).toContain('Begin a new conversation')
    expect(tokens()).toEqual([first.accessToken])
    // Whoever sends all of it is served by anybody.
    expect((await ask(HELLO_NATIVE, { headers })).status).toBe(200)
  })
})

describe('a supplier that refuses a limit of its output', () => {
  const quirks = { usage: 'always', outputLimit: 'refused' } as const
  /** What it may put out, at its price, and a little for what it reads. */
  const WHOLE = 4096 * 0.0000006

  it('is never sent one of ours, and has its whole output held', async () => {
    const { ask, signIn, gateway, backend } = await begin({ supplier: { quirks } })
    await signIn()
    const askWith = async (budget: number): Promise<Response> => {
      const { key } = await gateway.createKey({ name: 'k', budget_limit: budget })
      return ask(HELLO_NATIVE, { key })
    }
    expect(await refusalOf(await askWith(WHOLE * 0.9))).toEqual([402, 'budget_exceeded'])
    const served = await askWith(WHOLE * 1.1)
    expect(served.status).toBe(200)
    await served.text()
    expect(backend.requests.map(({ body }) => body.includes('max_output_tokens'))).toEqual([false])
  })

  it('is another one than one that takes it, which is sent what a budget pays', async () => {
    const { ask, signIn, gateway, backend } = await begin()
    await signIn()
    const { key } = await gateway.createKey({ name: 'k', budget_limit: WHOLE * 0.9 })
    await (await ask(HELLO_NATIVE, { key })).text()
    expect(backend.requests.map(({ body }) => body.includes('max_output_tokens'))).toEqual([true])
  })
})

it('the record of a call names each sign-in that was asked, and no number of it', async () => {
  let limited = ''
  const { ask, signIn, gateway } = await begin({
    script: (request, reply, index) => {
      if (limited === '') limited = tokenOf(request)
      if (tokenOf(request) !== limited) return sayHello(request, reply, index)
      return reply.json(429, { error: { message: 'Later.' } }, { 'retry-after': '30' })
    },
  })
  const ids = [(await signIn({ name: 'one' })).id, (await signIn({ name: 'two' })).id]
  const response = await ask()
  await response.text()
  const path = `/calls/${response.headers.get('x-request-id')}`
  const { tries } = (await (await gateway.manage('GET', path)).json()) as {
    readonly tries: readonly { readonly identity: string; readonly credential: unknown }[]
  }
  expect(tries.map(({ identity }) => identity).toSorted()).toEqual(ids.toSorted())
  expect(tries.map(({ credential }) => credential)).toEqual([null, null])
})

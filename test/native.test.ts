// Native agents through the gateway: what reaches the supplier and what comes back, what is accounted for, and what a
// token that has ended, a sign-in that is refused and a supplier that fails look like from outside: like nothing, or
// like a refusal that says what to do.
import { afterEach, describe, expect, it } from 'bun:test'
import { FREE } from '../src/catalog/price.ts'
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
import { startGateway, supplierAt } from './fakes/gateway.ts'
import { answers } from './fakes/issuer.ts'
import { nativeSupplierAt } from './fakes/native-supplier.ts'
import { beginText, PREAMBLE, printEvents, textEvents } from './fakes/response-supplier.ts'
import type { Script } from './fakes/supplier.ts'

const open: Agency[] = []

async function agency(options?: AgencyOptions): Promise<Agency> {
  const opened = await openAgency(options)
  open.push(opened)
  return opened
}

afterEach(async () => {
  for (const each of open.splice(0)) await each.stop()
})

/** Waits until as many have come as there are to be. */
function gather(count: number): { arrive(): Promise<void> } {
  const all = Promise.withResolvers<void>()
  let arrived = 0
  return {
    arrive() {
      arrived += 1
      if (arrived === count) all.resolve()
      return all.promise
    },
  }
}

describe('a native call', () => {
  it('passes to the supplier as it is but for the name of the model, and back as it came', async () => {
    const { ask, backend, signIn } = await agency()
    const { accessToken } = await signIn({ account_id: 'workspace-1' })
    const body = {
      ...HELLO_NATIVE,
      tools: [{ type: 'namespace', name: 'a', tools: [{ type: 'function', name: 'b' }] }],
      include: ['reasoning.encrypted_content'],
      client_metadata: { 'x-anything': 'at all' },
      input: [{ type: 'of the future', content: { deep: [1, 2.5, null] } }, ...HELLO_NATIVE.input],
    }
    const response = await ask(body, {
      headers: { originator: 'codex_exec', 'x-codex-window-id': '7', cookie: 'mine=1' },
    })
    const text = await response.text()
    expect(response.status, text).toBe(200)
    const { body: sent, headers } = backend.requests[0]!
    expect(sent.toString()).toBe(JSON.stringify({ ...body, model: 'upstream-model' }))
    expect(headers.get('authorization')).toBe(`Bearer ${accessToken}`)
    expect(headers.get('x-account-id')).toBe('workspace-1')
    expect([headers.get('originator'), headers.get('x-codex-window-id')]).toEqual([
      'codex_exec',
      '7',
    ])
    expect(headers.has('cookie')).toBe(false)
    const own = text.split('\n').filter((line) => !line.startsWith(':'))
    expect(own.join('\n').replaceAll(/\n{3,}/g, '\n\n')).toBe(
      printEvents(textEvents('Hello to you', ['Hello ', 'to you'])),
    )
    expect(text).toContain(': x-svc-cost-usd: ')
    expect(response.headers.get('x-svc-supplier')).toBe('native')
    expect(response.headers.get('x-svc-region')).toBe('EU')
  })

  it('is charged for what it used, and its record names the sign-in', async () => {
    const { ask, gateway, signIn } = await agency()
    const { id } = await signIn()
    const response = await ask()
    await response.text()
    const requestId = response.headers.get('x-request-id')
    const call = await (await gateway.manage('GET', `/calls/${requestId}`)).json()
    expect(call).toMatchObject({
      endpoint: '/v1/native/responses',
      model: 'test-model',
      supplier: 'native',
      region: 'EU',
      input_tokens: 11,
      output_tokens: 7,
      cost_usd: 0.00000585,
      attempts: 1,
      tries: [{ supplier: 'native', identity: id, evidence: 'reported' }],
    })
  })

  it('costs nothing where its supplier is paid by a subscription', async () => {
    const route = { as: 'upstream-model', prices: FREE, ownedBy: 'maker' } as const
    const { ask, gateway, signIn } = await agency({
      supplier: { models: new Map([['test-model', route]]) },
    })
    await signIn()
    const { key } = await gateway.createKey({ name: 'poor', budget_limit: 0.000001 })
    for (const _ of [1, 2, 3])
      expect(await (await ask(HELLO_NATIVE, { key })).text()).toContain('response.completed')
    expect(gateway.audit().map(({ cost, output_tokens: output }) => [cost, output])).toEqual([
      [0, 7],
      [0, 7],
      [0, 7],
    ])
  })

  it('is refused before anything is sent where its key has no money, no right or no region for it', async () => {
    const { ask, backend, gateway, signIn } = await agency()
    await signIn()
    const refused = async (settings: object, body: object = HELLO_NATIVE) => {
      const { key } = await gateway.createKey({ name: 'k', ...settings })
      return refusalOf(await ask(body, { key }))
    }
    expect(await refused({ budget_limit: 0.000001 })).toEqual([402, 'budget_exceeded'])
    expect(await refused({ allowed_models: ['other'] })).toEqual([403, 'model_not_allowed'])
    expect(await refused({ allowed_regions: ['US'] })).toEqual([403, 'sovereign_route_unavailable'])
    expect(await refused({}, { ...HELLO_NATIVE, region: 'US' })).toEqual([
      403,
      'sovereign_route_unavailable',
    ])
    expect(backend.requests.length).toBe(0)
    for (const { cost } of gateway.audit()) expect(cost).toBe(0)
  })

  it('goes to native suppliers alone, and nobody else comes there', async () => {
    const chat = { ...supplierAt('http://127.0.0.1:1'), id: 'chat' }
    const route = chat.models.get('test-model')!
    const { ask, gateway, signIn } = await agency({
      others: [{ ...chat, models: new Map([['chat-model', route]]) }],
    })
    await signIn()
    expect(await refusalOf(await ask({ ...HELLO_NATIVE, model: 'chat-model' }))).toEqual([
      400,
      'capability_unsupported',
    ])
    expect(await refusalOf(await ask({ ...HELLO_NATIVE, model: 'no-model' }))).toEqual([
      404,
      'model_not_found',
    ])
    const elsewhere = await gateway.chat({
      model: 'test-model',
      messages: [{ role: 'user', content: 'Hi' }],
    })
    expect(await refusalOf(elsewhere)).toEqual([400, 'capability_unsupported'])
    const models = await fetch(`${gateway.url}/v1/models`, {
      headers: { authorization: `Bearer ${(await gateway.createKey({ name: 'k' })).key}` },
    })
    const listed = (await models.json()) as readonly { readonly id: string }[]
    expect(listed.map(({ id }) => id)).toEqual(['chat-model', 'test-model'])
  })

  it('that breaks off ends in response.failed, with the id of the answer and the next number', async () => {
    const events = [...PREAMBLE, ...beginText(['Hello '])]
    const passed = Promise.withResolvers<void>()
    const { ask, signIn } = await agency({
      script: async (_request, reply) => {
        reply.stream().send(printEvents(events))
        await passed.promise
        reply.reset()
      },
    })
    await signIn()
    const response = await ask()
    passed.resolve()
    const text = await response.text()
    const last = text.slice(text.lastIndexOf('event: '))
    expect(last).toStartWith('event: response.failed\n')
    const { sequence_number: number, response: failed } = JSON.parse(
      last.split('\ndata: ')[1]!,
    ) as {
      sequence_number: number
      response: object
    }
    expect(number).toBe(events.length)
    expect(failed).toMatchObject({
      id: 'resp_1',
      status: 'failed',
      error: { code: 'stream_interrupted' },
    })
  })
})

describe('a token', () => {
  it('that the supplier refuses is renewed, and the caller notices nothing', async () => {
    const { ask, issuer, gateway, signIn, tokens } = await agency()
    const { id, accessToken, refreshToken } = await signIn()
    issuer.revoke(accessToken)
    const response = await ask()
    expect(response.status).toBe(200)
    expect(await response.text()).toContain('Hello to you')
    expect(issuer.requests.map(({ fields }) => fields['refresh_token'])).toEqual([refreshToken])
    expect(tokens().length).toBe(2)
    expect(new Set(tokens()).size).toBe(2)
    const shown = await gateway.manage('GET', `/native/identities/${id}`)
    expect(((await shown.json()) as Record<string, unknown>)['renewed_at']).toBeString()
    expect(gateway.audit()).toMatchObject([{ status: 200, attempts: 1, output_tokens: 7 }])
  })

  it('is renewed once, however many calls are refused for it at once', async () => {
    const { ask, issuer, signIn, backend, gateway } = await agency()
    const { accessToken } = await signIn()
    issuer.revoke(accessToken)
    const release = issuer.hold()
    const calls = Array.from({ length: 100 }, () => ask().then((response) => response.text()))
    await backend.request(99)
    release()
    const texts = await Promise.all(calls)
    expect(texts.filter((text) => text.includes('Hello to you')).length).toBe(100)
    expect(issuer.requests.length).toBe(1)
    expect(backend.requests.filter((request) => tokenOf(request) === accessToken).length).toBe(100)
    expect(gateway.audit().length).toBe(100)
  })

  it('that has ended is renewed before anything is sent', async () => {
    const clock = createFakeClock()
    const { ask, signIn, tokens, issuer } = await agency({ clock })
    const { accessToken } = await signIn({ expires_in: 60 })
    clock.advance(61_000)
    expect((await ask()).status).toBe(200)
    expect(tokens()).not.toContain(accessToken)
    expect(issuer.requests.length).toBe(1)
  })

  it('of a sign-in that is refused for good leaves the call to the next sign-in', async () => {
    const { ask, issuer, gateway, signIn, tokens } = await agency()
    const [first, second] = [await signIn({ name: 'first' }), await signIn({ name: 'second' })]
    issuer.revoke(first.accessToken)
    issuer.revoke(first.refreshToken)
    for (const _ of [1, 2]) expect(await (await ask()).text()).toContain('Hello to you')
    expect(tokens().filter((token) => token === second.accessToken).length).toBe(2)
    expect(issuer.requests.length).toBe(1)
    const { data } = (await (await gateway.manage('GET', '/native/identities')).json()) as {
      readonly data: readonly { readonly name: string; readonly status: string }[]
    }
    expect(data.map(({ name, status }) => [name, status])).toEqual([
      ['second', 'active'],
      ['first', 'refused'],
    ])
  })

  it('that nobody can renew is told as such, and the issuer is not asked for ever', async () => {
    const { ask, issuer, signIn } = await agency()
    const { accessToken, refreshToken } = await signIn()
    issuer.revoke(accessToken)
    issuer.revoke(refreshToken)
    for (const _ of [1, 2, 3])
      expect(await refusalOf(await ask())).toEqual([403, 'native_token_error'])
    expect(issuer.requests.length).toBe(1)
  })

  it('cannot be had while the issuer is out of reach, which passes', async () => {
    const clock = createFakeClock()
    const { ask, issuer, signIn } = await agency({ clock })
    const { accessToken } = await signIn()
    issuer.revoke(accessToken)
    issuer.always(answers.down())
    const response = await ask()
    expect(response.headers.get('retry-after')).not.toBeNull()
    expect(await refusalOf(response)).toEqual([503, 'native_token_error'])
    issuer.always(undefined)
    clock.advance(60_000)
    expect((await ask()).status).toBe(200)
  })

  it('is nowhere in what a caller is told, whatever the supplier repeats', async () => {
    const { ask, signIn, gateway } = await agency({
      script: (request, reply) =>
        reply.json(400, {
          error: { message: `no: ${request.headers.get('authorization')}`, code: 'no', type: 'no' },
        }),
    })
    const { accessToken } = await signIn()
    const response = await ask()
    const text = await response.text()
    expect(response.status).toBe(400)
    expect(text).toContain('no: Bearer [redacted]')
    expect(text).not.toContain(accessToken)
    expect(JSON.stringify(gateway.audit())).not.toContain(accessToken)
  })
})

it('an issuer that may not be called stops a start, and not the first call', async () => {
  const tokenUrl = 'http://issuer.example.com/token'
  const supplier = { allowPrivate: false, origin: 'https://api.example.com' }
  const native = nativeSupplierAt(supplier.origin, supplier, { tokenUrl })
  const refused: unknown = await startGateway({ suppliers: [native] }).catch((thrown) => thrown)
  expect(String(refused)).toContain('oauth.token_url')
})

describe('sign-ins', () => {
  it('keep a session, and share what belongs to none', async () => {
    const { ask, signIn, tokens } = await agency()
    for (const name of ['one', 'two', 'three']) await signIn({ name })
    const headers = { 'session-id': '01a1dcaa' }
    for (let turn = 0; turn < 5; turn++) await (await ask(HELLO_NATIVE, { headers })).text()
    expect(new Set(tokens()).size).toBe(1)
  })

  it('that are busy leave calls to those that are not', async () => {
    const all = gather(3)
    const waiting: Script = async (request, reply, index) => {
      await all.arrive()
      return sayHello(request, reply, index)
    }
    const { ask, signIn, tokens } = await agency({ script: waiting })
    for (const name of ['one', 'two', 'three']) await signIn({ name })
    const calls = [1, 2, 3].map((turn) =>
      ask({ ...HELLO_NATIVE, prompt_cache_key: `${turn}` }).then((response) => response.text()),
    )
    await Promise.all(calls)
    expect(new Set(tokens()).size).toBe(3)
  })

  it('run no more calls at once than they may, and say when to come back', async () => {
    const begun = Promise.withResolvers<void>()
    const end = Promise.withResolvers<void>()
    const { ask, signIn } = await agency({
      script: async (request, reply, index) => {
        begun.resolve()
        await end.promise
        return sayHello(request, reply, index)
      },
    })
    await signIn({ parallel_max: 1 })
    const first = ask()
    await begun.promise
    const second = await ask()
    expect([second.status, second.headers.get('retry-after')]).toEqual([429, '1'])
    const { error } = (await second.json()) as { readonly error: object }
    expect(error).toMatchObject({
      code: 'identity_execution_capacity',
      retryable: true,
      reallocate: true,
    })
    end.resolve()
    await (await first).text()
    expect((await ask()).status).toBe(200)
  })

  it('that their supplier asks to pause are left in peace for as long, and the next one is asked', async () => {
    const clock = createFakeClock()
    let limited = ''
    const { ask, signIn, tokens } = await agency({
      clock,
      script: (request, reply, index) => {
        if (tokenOf(request) !== limited) return sayHello(request, reply, index)
        const error = { type: 'usage_limit_reached', message: 'Later.', resets_in_seconds: 30 }
        return reply.json(429, { error }, { 'retry-after': '30' })
      },
    })
    const [one, two] = [await signIn({ name: 'one' }), await signIn({ name: 'two' })]
    limited = one.accessToken
    for (const _ of [1, 2, 3]) expect((await ask()).status).toBe(200)
    expect(tokens()).toEqual([limited, ...[1, 2, 3].map(() => two.accessToken)])
  })

  it('that all pause are told as one capacity, with the time to wait', async () => {
    const { ask, signIn } = await agency({
      script: (_request, reply) =>
        reply.json(429, { error: { message: 'Later.' } }, { 'retry-after': '7' }),
    })
    await signIn()
    for (const _ of [1, 2]) {
      const response = await ask()
      expect(response.headers.get('retry-after')).toBe('7')
      expect(await refusalOf(response)).toEqual([429, 'identity_execution_capacity'])
    }
  })

  it('of a supplier that fails end in a refusal that blames it', async () => {
    const { ask, signIn, gateway } = await agency({
      script: (_request, reply) => reply.json(500, { error: { message: 'Oh no.' } }),
    })
    await signIn()
    expect(await refusalOf(await ask())).toEqual([502, 'native_backend_error'])
    expect(gateway.audit()).toMatchObject([{ code: 'native_backend_error', cost: 0 }])
  })

  it('that keep what a call goes on from are waited for, and nobody else is asked', async () => {
    const begun = Promise.withResolvers<void>()
    const end = Promise.withResolvers<void>()
    let isHolding = false
    const { ask, signIn, tokens } = await agency({
      script: async (request, reply, index) => {
        if (isHolding) {
          begun.resolve()
          await end.promise
        }
        return sayHello(request, reply, index)
      },
    })
    for (const name of ['one', 'two']) await signIn({ name, parallel_max: 1 })
    const headers = { 'session-id': 'a-session' }
    await (await ask(HELLO_NATIVE, { headers })).text()
    isHolding = true
    const running = ask(HELLO_NATIVE, { headers })
    await begun.promise
    const next = { ...HELLO_NATIVE, previous_response_id: 'resp_1' }
    const response = await ask(next, { headers })
    const { error } = (await response.json()) as { readonly error: object }
    expect(error).toMatchObject({ code: 'identity_execution_capacity', reallocate: false })
    end.resolve()
    await (await running).text()
    expect(new Set(tokens()).size).toBe(1)
  })
})

// What an explanation says before a call is what the call then meets; asking for one changes nothing, reaches nobody,
// and tells nobody of what is not theirs. And a past call still tells why it went where it went.
import { afterEach, describe, expect, it } from 'bun:test'
import { renameSync, writeFileSync } from 'node:fs'
import { endpoints } from '../src/endpoints/index.ts'
import { SUPPLIER_CANARY } from './fakes/canary.ts'
import { createFakeClock, type FakeClock } from './fakes/clock.ts'
import { ROOT_KEY, startGateway, type Gateway } from './fakes/gateway.ts'
import { connectRaw } from './fakes/raw.ts'
import { dataOf, readRecords } from './fakes/records.ts'
import { closeStreet, good, refuse, tidy } from './fakes/street.ts'
import { startFakeSupplier, type FakeSupplier, type Script } from './fakes/supplier.ts'
import { tell } from './fakes/terminal.ts'
import { openAccount, tenantAt, type Json, type Tenant } from './fakes/tenants.ts'
import { readRows } from './fakes/worlds.ts'

afterEach(closeStreet)

interface Town {
  readonly gateway: Gateway
  readonly clock: FakeClock
  readonly root: Tenant
  readonly suppliers: readonly FakeSupplier[]
  /** What the suppliers do from now on. */
  readonly scripts: Record<'one' | 'two', Script>
  readonly config: (names?: readonly string[], more?: string) => string
}

/** `one` in the EU has two credentials; `two` in the US is dearer, and alone has `spare`. */
async function openTown(more = ''): Promise<Town> {
  const scripts: Town['scripts'] = { one: good, two: good }
  const suppliers = await Promise.all(
    (['one', 'two'] as const).map((name) =>
      startFakeSupplier((...asked) => scripts[name](...asked)),
    ),
  )
  const lines = {
    one: supplierLines('one', suppliers[0]!, {
      region: 'EU',
      credentials: 2,
      models: ['m', 'plain'],
      price: 1,
    }),
    two: supplierLines('two', suppliers[1]!, {
      region: 'US',
      credentials: 1,
      models: ['m', 'spare'],
      price: 3,
    }),
  }
  const config = (names: readonly string[] = ['one', 'two'], changed = more): string =>
    [
      ...(changed === '' ? [] : [changed]),
      'aliases: { nick: m }',
      'models: { m: { fallbacks: [spare] }, plain: { capabilities: [] } }',
      'suppliers:',
      ...names.flatMap((name) => (name === 'one' ? lines.one : lines.two)),
      '',
    ].join('\n')
  const clock = createFakeClock()
  const gateway = await startGateway({
    config: config(),
    environment: { SUPPLIER_KEY: SUPPLIER_CANARY },
    clock,
  })
  for (const each of [...suppliers, gateway]) tidy(each)
  return { gateway, clock, root: tenantAt(gateway.url), suppliers, scripts, config }
}

interface Offer {
  readonly region: string
  readonly credentials: number
  readonly models: readonly string[]
  readonly price: number
}

function supplierLines(id: string, at: FakeSupplier, offer: Offer): readonly string[] {
  const { region, credentials, models, price } = offer
  const secrets = Array.from({ length: credentials }, (_, index) => `"\${SUPPLIER_KEY}-${index}"`)
  return [
    `  ${id}:`,
    '    kind: openai-compatible',
    `    origin: ${at.origin}/v1`,
    '    allow_private: true',
    `    region: ${region}`,
    `    credentials: [${secrets.join(', ')}]`,
    '    models:',
    ...models.map((model) => `      ${model}: { price: { input: ${price}, output: ${price} } }`),
  ]
}

const MESSAGES = [{ role: 'user', content: 'Hello' }]
const CALL = { model: 'm', messages: MESSAGES, max_tokens: 100 }

/** Calls as the explained call will, but for these fields. */
type Ask = (body?: Json) => Promise<Response>

interface Situation {
  /** Of a key that is made for it; the root key calls where there is none. */
  readonly key?: Json
  readonly body?: Json
  readonly session?: string
  /** What happens before. */
  readonly before?: (town: Town, call: Ask) => Promise<unknown>
  /** Where it would go, in order; or why it would be refused. */
  readonly order?: readonly string[]
  readonly refusal?: readonly [status: number, code: string]
}

/** So often in a row, and a route is left alone. */
const MANY = 6

const SITUATIONS: readonly (readonly [string, Situation])[] = [
  ['nothing in its way', { order: ['one#1', 'one#2', 'two', 'two/spare'] }],
  [
    'another name for a model',
    { body: { model: 'nick' }, order: ['one#1', 'one#2', 'two', 'two/spare'] },
  ],
  ['one supplier named', { body: { model: 'two/m' }, order: ['two'] }],
  ['a region of its key', { key: { allowed_regions: ['EU'] }, order: ['one#1', 'one#2'] }],
  ['a region of its own', { body: { region: 'US' }, order: ['two', 'two/spare'] }],
  [
    'a region that its key forbids',
    {
      key: { allowed_regions: ['EU'] },
      body: { region: 'US' },
      refusal: [403, 'permission_denied'],
    },
  ],
  [
    'a region without a supplier',
    { body: { region: 'JP' }, refusal: [403, 'sovereign_route_unavailable'] },
  ],
  [
    'a model that its key forbids',
    { key: { allowed_models: ['spare'] }, refusal: [403, 'model_not_allowed'] },
  ],
  [
    'a fallback that its key forbids',
    { key: { allowed_models: ['m'] }, order: ['one#1', 'one#2', 'two'] },
  ],
  ['a model that nobody has', { body: { model: 'nothing' }, refusal: [404, 'model_not_found'] }],
  [
    'tools for a model without any',
    {
      body: { model: 'plain', tools: [{ type: 'function', function: { name: 'f' } }] },
      refusal: [400, 'model_does_not_support_tools'],
    },
  ],
  [
    'a budget that is too small',
    { key: { budget_limit: 0.000001 }, refusal: [402, 'budget_exceeded'] },
  ],
  [
    'a budget that pays for a shorter answer',
    {
      key: { budget_limit: 0.02 },
      body: { max_tokens: 100_000 },
      order: ['one#1', 'one#2', 'two', 'two/spare'],
    },
  ],
  [
    'no output limit where only whole answers are paid',
    {
      key: { budget_limit: 1, fit: 'off' },
      body: { max_tokens: null },
      refusal: [400, 'missing_fields'],
    },
  ],
  [
    'a rate that is used up',
    {
      key: { rate_limit_rpm: 1 },
      before: (_, call) => call(),
      refusal: [429, 'rate_limit_exceeded'],
    },
  ],
  [
    'a supplier that rests',
    {
      before: async ({ scripts }, call) => {
        scripts.one = refuse(500, {})
        // Each begins a conversation of its own.
        for (let count = 0; count < MANY; count++)
          await call({ messages: [{ role: 'user', content: `Hello ${count}` }] })
        scripts.one = good
      },
      order: ['one#2', 'two', 'two/spare', 'one#1'],
    },
  ],
  [
    'suppliers that asked for a pause',
    {
      key: { allowed_models: ['m'] },
      before: async ({ scripts }, call) => {
        scripts.one = refuse(429, {}, { 'retry-after': '20' })
        scripts.two = scripts.one
        await call()
      },
      refusal: [429, 'all_providers_exhausted'],
    },
  ],
  [
    'a session that was moved',
    {
      session: 'mine',
      before: async ({ scripts }, call) => {
        scripts.one = refuse(500, {})
        await call()
        scripts.one = good
      },
      order: ['two', 'one#1', 'one#2', 'two/spare'],
    },
  ],
]

describe('an explanation', () => {
  it.each(SITUATIONS)(
    'of a call with %s is what the call then meets',
    async (_title, situation) => {
      const town = await openTown()
      const { gateway, root } = town
      const made = situation.key && (await gateway.createKey({ name: 'k', ...situation.key }))
      const request = { ...CALL, ...situation.body }
      const headers = {
        ...(made && { authorization: `Bearer ${made.key}` }),
        ...(situation.session && { 'x-session-id': situation.session }),
      }
      const call: Ask = (body) => gateway.chat({ ...request, ...body }, { headers })
      await situation.before?.(town, call)
      const { body: told } = await root.ask('POST', '/explain', {
        request,
        ...(made && { key_id: made.id }),
        ...(situation.session && { session_id: situation.session }),
      })
      const response = await call()
      if (situation.refusal === undefined) await expectSent(told, response, root, situation)
      else await expectRefused(told, response, situation)
    },
  )

  it('names who would pay, and who would not, as the call then finds', async () => {
    const { gateway, root } = await openTown()
    const { id: project } = await root.make('/projects', { name: 'p' })
    await root.make('/wallets', { project_id: project })
    const key = await gateway.createKey({ name: 'k', project_id: project })
    const told = await root.make('/explain', { key_id: key.id, request: CALL })
    const money = told['money'] as Json
    const { would_pay: payer, chain } = money['payer'] as Json
    expect(chain).toMatchObject([
      { link: 'project', state: 'funds' },
      { link: 'organisation', state: 'none' },
      { link: 'delegate', state: 'none' },
      { link: 'caller', state: 'pays' },
    ])
    const response = await gateway.chat(CALL, { headers: { authorization: `Bearer ${key.key}` } })
    const found = await root.get(`/calls/${response.headers.get('x-request-id')}`)
    expect(found['payer']).toEqual(payer)
  })

  it('tells of a budget what is left before and after', async () => {
    const { gateway, root } = await openTown()
    const key = await gateway.createKey({ name: 'k', budget_limit: 5 })
    const told = await root.make('/explain', { key_id: key.id, request: CALL })
    const { budget, held_usd: held } = told['money'] as Json
    expect(budget).toMatchObject({ limit_usd: 5, used_usd: 0, held_usd: 0, left_usd: 5 })
    expect((budget as Json)['after_usd']).toBeCloseTo(5 - Number(held), 9)
  })

  it('can be had of every endpoint that models are called at', async () => {
    const { root } = await openTown()
    const items = { ...CALL, stream: true, input: [{ role: 'user', content: 'Hello' }] }
    const texts = { model: CALL.model, input: 'Hello', query: 'Who?', documents: ['Me'] }
    const recording = { model: CALL.model, seconds: 60 }
    for (const endpoint of endpoints) {
      if (!('dialect' in endpoint)) continue
      const { takesForm, dialect } = endpoint
      const { status } = await root.ask('POST', '/explain', {
        endpoint: endpoint.path,
        request: takesForm ? recording : dialect.task === undefined ? items : texts,
      })
      expect(status, endpoint.path).toBe(200)
    }
  })

  it.each([
    ['no request', {}, 'request'],
    ['a request that is none', { request: 'x' }, undefined],
    ['a request without a model', { request: { messages: MESSAGES } }, 'model'],
    ['a request with a wrong field', { request: { ...CALL, max_tokens: 'x' } }, 'max_tokens'],
    ['an endpoint that is none', { request: CALL, endpoint: '/v1/models' }, 'endpoint'],
    ['a session that is none', { request: CALL, session_id: 'x'.repeat(300) }, 'session_id'],
    ['a field that is none', { request: CALL, nonsense: 1 }, 'nonsense'],
  ])('is refused where it is asked for with %s', async (_title, body, param) => {
    const { root } = await openTown()
    const { status, error } = await root.ask('POST', '/explain', body)
    expect(status).toBe(400)
    if (param !== undefined) expect(error['param']).toBe(param)
  })

  it('counts the request as it was sent, with its spaces', async () => {
    const { gateway, root } = await openTown()
    const text = JSON.stringify(CALL, undefined, 8)
    const { body: told } = await root.ask('POST', '/explain', `{ "request" : ${text} }`)
    const response = await gateway.chat(text)
    const found = await root.get(`/calls/${response.headers.get('x-request-id')}`)
    expect((told['money'] as Json)['held_usd']).toBe(found['held_usd'])
  })

  it('changes nothing and reaches nobody', async () => {
    const { gateway, root, suppliers, clock } = await openTown()
    const key = await gateway.createKey({ name: 'k', budget_limit: 1, rate_limit_rpm: 1 })
    const question = {
      key_id: key.id,
      session_id: 'mine',
      request: { ...CALL, metadata: { session_id: 'other' } },
    }
    const state = async (): Promise<unknown> => [
      readRows(dataOf(gateway), '', () => true),
      await root.get(`/keys/${key.id}`),
      suppliers.map(({ requests }) => requests.length),
    ]
    const before = await state()
    const first = await root.make('/explain', question)
    for (let count = 0; count < 20; count++)
      expect(await root.make('/explain', question)).toEqual(first)
    clock.advance(5_000)
    expect(await state()).toEqual(before)
    const headers = { authorization: `Bearer ${key.key}`, 'x-session-id': 'mine' }
    const response = await gateway.chat(CALL, { headers })
    expect([response.status, response.headers.get('x-svc-session')]).toEqual([200, 'new'])
  })

  it('leaves an Idempotency-Key to whoever does something', async () => {
    const { gateway } = await openTown()
    const headers = {
      'idempotency-key': 'once',
      authorization: `Bearer ${ROOT_KEY}`,
      'content-type': 'application/json',
    }
    const ask = (request: Json): Promise<Response> =>
      fetch(`${gateway.url}/v1/manage/explain`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ request }),
      })
    expect((await ask(CALL)).status).toBe(200)
    const again = await ask({ ...CALL, model: 'nothing' })
    expect(again.status).toBe(200)
    expect(((await again.json()) as Json)['verdict']).toBe('would_be_refused')
  })

  it('is for those who manage the key, and tells nobody else that there is one', async () => {
    const { gateway, root } = await openTown()
    const other = await openAccount(gateway.url)
    const { id: mine } = await root.make('/projects', { name: 'mine' })
    const { id: theirs } = await root.make('/projects', { name: 'theirs' })
    const own = await gateway.createKey({ name: 'own', project_id: mine })
    const foreign = await gateway.createKey({ name: 'foreign', project_id: theirs })
    const token = await root.make('/tokens', { name: 't', project_id: mine, manage: true })
    const manager = tenantAt(gateway.url, String(token['key']))
    const ask = async (who: Tenant, fields: Json): Promise<number> =>
      (await who.ask('POST', '/explain', { request: CALL, ...fields })).status
    expect(await ask(manager, { key_id: own.id })).toBe(200)
    expect(await ask(manager, {})).toBe(200)
    expect(await ask(manager, { key_id: foreign.id })).toBe(404)
    expect(await ask(manager, { project_id: theirs })).toBe(404)
    expect(await ask(other, { key_id: own.id })).toBe(404)
    expect(await ask(other, { project_id: mine })).toBe(404)
    const plain = await fetch(`${gateway.url}/v1/manage/explain`, {
      method: 'POST',
      headers: { authorization: `Bearer ${own.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ request: CALL }),
    })
    expect(plain.status).toBe(403)
  })

  it('tells no address and no secret', async () => {
    const { root, suppliers } = await openTown()
    const told = JSON.stringify(await root.make('/explain', { request: CALL }))
    expect(told).not.toContain(SUPPLIER_CANARY)
    for (const { origin } of suppliers) expect(told).not.toContain(new URL(origin).port)
  })
})

async function expectSent(
  told: Json,
  response: Response,
  root: Tenant,
  { order }: Situation,
): Promise<void> {
  expect(told, JSON.stringify(told)).toMatchObject({
    verdict: 'would_be_sent',
    refusal: null,
    order,
  })
  expect(response.status).toBe(200)
  const found = await root.get(`/calls/${response.headers.get('x-request-id')}`)
  const money = told['money'] as Json
  expect(found['held_usd']).toBe(money['held_usd'])
  expect(found['max_tokens']).toBe(money['max_tokens'])
  expect((found['route'] as Json)['listed']).toEqual(told['order'])
  expect((found['route'] as Json)['snapshot']).toBe(told['snapshot'])
  expect(found['supplier']).toBe(String(order?.[0]).replace(/[#/].*/, ''))
  expect((found['settlement'] as Json)['state']).toBe('settled')
}

async function expectRefused(
  told: Json,
  response: Response,
  { refusal }: Situation,
): Promise<void> {
  const { error } = (await response.json()) as { readonly error: Json }
  expect([response.status, error['code']]).toEqual([...refusal!])
  expect(told['verdict']).toBe('would_be_refused')
  const { status, code, message } = told['refusal'] as Json
  expect([status, code, message]).toEqual([...refusal!, error['human_message']])
  expect((told['money'] as Json | null)?.['held_usd'] ?? null).toBeNull()
}

describe('the record of a call', () => {
  it('tells who was to be asked, who was not and why, and how each try went', async () => {
    const { gateway, root, scripts } = await openTown()
    scripts.one = refuse(503, { code: 'overloaded' })
    const key = await gateway.createKey({ name: 'k', allowed_models: ['m'] })
    const headers = { authorization: `Bearer ${key.key}` }
    const response = await gateway.chat(CALL, { headers })
    const found = await root.get(`/calls/${response.headers.get('x-request-id')}`)
    expect(found).toMatchObject({
      supplier: 'two',
      route: {
        listed: ['one#1', 'one#2', 'two'],
        excluded: [{ candidate: 'two/spare', reason: 'model_not_allowed' }],
        pinned: false,
        last_resort: false,
      },
      tries: [
        { supplier: 'one', credential: 1, status: 503, code: 'overloaded' },
        { supplier: 'two', credential: null, status: 200 },
      ],
    })
    for (const tried of found['tries'] as readonly Json[])
      expect(tried['ms']).toBeGreaterThanOrEqual(0)
    const text = String(found['explanation'])
    expect(text).toContain('one#1 was asked and failed with 503 overloaded')
    expect(text).toContain('two was asked and answered')
    expect(text).toContain("Not two/spare: its model is not on the key's list.")
  })

  it('tells of a call that nobody could be asked for why each could not be', async () => {
    const { gateway, root } = await openTown()
    const response = await gateway.chat({ ...CALL, region: 'JP' })
    const found = await root.get(`/calls/${response.headers.get('x-request-id')}`)
    expect(found).toMatchObject({ state: 'refused', route: { listed: [] }, tries: [] })
    expect((found['route'] as { excluded: readonly Json[] }).excluded).toContainEqual({
      candidate: 'two',
      reason: 'outside_region',
      why: 'it is outside of the region that the call must stay in',
    })
    expect(found['explanation']).toContain('to be served in JP')
  })

  it('adds nothing to the row of a call that simply went well but a number', async () => {
    const { gateway } = await openTown()
    const headers = { 'x-session-id': 'mine' }
    const plain = { ...CALL, model: 'spare' }
    for (let count = 0; count < 5; count++) await gateway.chat(plain, { headers })
    const { ends } = readRecords(dataOf(gateway))
    expect(ends.map(({ details }) => details)).toEqual([null, null, null, null, null])
    const rows = readRows(dataOf(gateway), '', () => true)
    // The list of the first call, and the one that the session is pinned on.
    expect(rows.filter((row) => row.startsWith('names ') && row.includes('listed'))).toHaveLength(2)
  })

  it('still tells the old names after a reload that took the supplier away', async () => {
    const { gateway, root, config } = await openTown()
    const response = await gateway.chat(CALL)
    const before = await root.get(`/calls/${response.headers.get('x-request-id')}`)
    const changed = config(['two']).replace(', plain: { capabilities: [] }', '')
    writeFileSync(`${gateway.file}.new`, changed, { mode: 0o600 })
    renameSync(`${gateway.file}.new`, gateway.file)
    const { status, body } = await root.ask('POST', '/reload', { allow_drop: true })
    expect(status, JSON.stringify(body)).toBe(200)
    const told = await root.make('/explain', { request: CALL })
    expect(told['order']).toEqual(['two', 'two/spare'])
    const after = await root.get(`/calls/${response.headers.get('x-request-id')}`)
    expect(after['route']).toEqual(before['route'])
    expect((after['route'] as Json)['listed']).toEqual(['one#1', 'one#2', 'two', 'two/spare'])
    expect((after['route'] as Json)['snapshot']).not.toBe(told['snapshot'])
  })

  it('says that a session was moved', async () => {
    const { gateway, root, scripts } = await openTown()
    const headers = { 'x-session-id': 'mine' }
    await gateway.chat(CALL, { headers })
    scripts.one = refuse(500, {})
    const moved = await gateway.chat(CALL, { headers })
    const kept = await gateway.chat(CALL, { headers })
    const sessions = [moved, kept].map(async (each) => {
      const found = await root.get(`/calls/${each.headers.get('x-request-id')}`)
      return [found['session'], (found['route'] as Json)['pinned'], found['supplier']]
    })
    expect(await Promise.all(sessions)).toEqual([
      ['moved', true, 'two'],
      [null, true, 'two'],
    ])
  })
})

describe('the command line', () => {
  async function print({ gateway }: Town, ...line: readonly string[]): Promise<string> {
    const environment = { GATEWAY_KEY: ROOT_KEY, GATEWAY_URL: gateway.url }
    const { code, out, err } = await tell(line, { environment })
    expect([code, err]).toEqual([0, ''])
    return out
  }

  it('tells who would be asked, who not and why, and what it could cost', async () => {
    const town = await openTown()
    const line = ['explain', '--model', 'nick', '--region', 'EU', '--tokens', '100', '--stream']
    const out = await print(town, ...line, '--session', 'mine')
    expect(out).toContain('It would be sent to one#1, and on failure to one#2: at most 3 attempts')
    expect(out).toMatch(/1 +one#1 +m +EU +listed +0\.000\d+/)
    expect(out).toMatch(/two +m +US +outside_region .*outside of the region/)
    expect(out).toContain('nick, which means m, by priority')
    expect(out).toContain('new, by its X-Session-Id')
    expect(out).toMatch(/Paid by +wal_\w+ \(caller\)/)
  })

  it.each(['/v1/chat/completions', '/v1/messages', '/v1/responses'])(
    'asks in the words of %s, and for so many tokens',
    async (endpoint) => {
      const town = await openTown()
      const line = ['explain', '--model', 'm', '--endpoint', endpoint, '--json', '--tokens']
      const costs = await Promise.all(
        ['100', '200'].map(async (tokens) => {
          const { verdict, money } = JSON.parse(await print(town, ...line, tokens)) as Json
          expect(verdict).toBe('would_be_sent')
          return (money as Json)['worst_case_usd'] as number
        }),
      )
      expect(costs[1]).toBeGreaterThan(costs[0]!)
    },
  )

  it('tells why a call would be refused, and reads it from a file', async () => {
    const town = await openTown()
    const key = await town.gateway.createKey({ name: 'k', budget_limit: 0.000001 })
    const file = `${town.gateway.file}.json`
    writeFileSync(file, JSON.stringify(CALL))
    const out = await print(town, 'explain', '--file', file, '--key-id', key.id)
    expect(out).toContain("It would be refused: 402 budget_exceeded. What is left of this key's")
    const machine = await print(town, 'explain', '--file', file, '--key-id', key.id, '--json')
    expect(JSON.parse(machine)).toMatchObject({ object: 'explanation', key_id: key.id })
  })

  it.each([
    [['explain'], 'Give --model'],
    [['explain', '--model', 'm', '--tokens', 'many'], '--tokens takes a number'],
    [['explain', '--file', '/nowhere.json'], 'cannot be read'],
  ])('refuses `%p`', async (line, text) => {
    const { code, err } = await tell(line)
    expect(code).toBe(2)
    expect(err).toContain(text)
  })

  it('tells of a call that was made who was on its list and what each said', async () => {
    const town = await openTown()
    town.scripts.one = refuse(503, { code: 'overloaded' })
    const response = await town.gateway.chat({ ...CALL, region: 'EU' })
    const id = response.headers.get('x-request-id') ?? ''
    const out = await print(town, 'calls', 'show', id)
    expect(out).toMatch(/one#1 +listed/)
    expect(out).toMatch(/two +outside_region +it is outside of the region/)
    expect(out).toMatch(/Try 1 +supplier one, credential 1,/)
  })
})

it('answers no more questions of an account at a time than it leaves for others', async () => {
  const { gateway } = await openTown()
  const question = JSON.stringify({ request: CALL })
  const clients = await Promise.all(Array.from({ length: 5 }, () => connectRaw(gateway.url)))
  const head = [
    'POST /v1/manage/explain HTTP/1.1',
    'host: gateway',
    `authorization: Bearer ${ROOT_KEY}`,
    'content-type: application/json',
    `content-length: ${question.length}`,
  ].join('\r\n')
  for (const client of clients) await client.send(`${head}\r\n\r\n${question.slice(0, 5)}`)
  const answers = clients.map((client) => client.response())
  const first = await Promise.any(answers)
  expect([first.status, first.headers.get('retry-after')]).toEqual([429, '1'])
  // The others go on, each as it was asked.
  for (const client of clients) await client.send(question.slice(5))
  const statuses = (await Promise.all(answers)).map(({ status }) => status)
  expect(statuses.toSorted((one, other) => one - other)).toEqual([200, 200, 200, 200, 429])
  for (const client of clients) client.close()
})

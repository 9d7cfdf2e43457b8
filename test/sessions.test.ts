// Sessions at the real gateway: what keeps the calls of a conversation with one supplier, what moves them, and what
// a session must never do. Chance sends every call without one to the other supplier than the call before.
import { afterEach, describe, expect, it } from 'bun:test'
import { renameSync, writeFileSync } from 'node:fs'
import { SUPPLIER_CANARY } from './fakes/canary.ts'
import { createFakeClock, type FakeClock } from './fakes/clock.ts'
import { startGateway, type Gateway } from './fakes/gateway.ts'
import { closeStreet, good, tidy } from './fakes/street.ts'
import { startFakeSupplier, type FakeSupplier, type Script } from './fakes/supplier.ts'
import { openAccount } from './fakes/tenants.ts'

afterEach(closeStreet)

interface Town {
  readonly gateway: Gateway
  readonly clock: FakeClock
  readonly one: FakeSupplier
  readonly two: FakeSupplier
  /** What the suppliers do from now on. */
  readonly scripts: { one: Script; two: Script }
  readonly config: (routing?: string) => string
}

async function openTown(routing = ''): Promise<Town> {
  const scripts: Town['scripts'] = { one: good, two: good }
  const [one, two] = await Promise.all([
    startFakeSupplier((...asked) => scripts.one(...asked)),
    startFakeSupplier((...asked) => scripts.two(...asked)),
  ])
  const config = (changed = ''): string =>
    [
      `routing: { policy: weight, ${changed} }`,
      'suppliers:',
      ...supplierLines('one', one, 'EU'),
      ...supplierLines('two', two, 'US'),
      '',
    ].join('\n')
  const clock = createFakeClock()
  let draws = 0
  const gateway = await startGateway({
    config: config(routing),
    environment: { SUPPLIER_KEY: SUPPLIER_CANARY },
    clock,
    draw: () => (draws++ % 2 === 0 ? 0 : 0.9),
  })
  for (const each of [one, two, gateway]) tidy(each)
  return { gateway, clock, one, two, scripts, config }
}

function supplierLines(id: string, at: FakeSupplier, region: string): readonly string[] {
  return [
    `  ${id}:`,
    '    kind: openai-compatible',
    `    origin: ${at.origin}/v1`,
    '    allow_private: true',
    `    region: ${region}`,
    // oxlint-disable-next-line no-template-curly-in-string -- as a file names a variable
    '    credential: ${SUPPLIER_KEY}',
    '    models: { m: { price: { input: 1, output: 2 } }, n: { price: { input: 1, output: 2 } } }',
  ]
}

async function reload(gateway: Gateway, text: string): Promise<void> {
  writeFileSync(`${gateway.file}.new`, text, { mode: 0o600 })
  renameSync(`${gateway.file}.new`, gateway.file)
  expect((await gateway.manage('POST', '/reload')).status).toBe(200)
}

type Headers = Readonly<Record<string, string>>

let questions = 0

/** Who answers, and what is said of the session. Without messages of its own each call asks something else. */
async function ask(gateway: Gateway, headers: Headers = {}, body: object = {}): Promise<string> {
  const messages = [{ role: 'user', content: `Question ${questions++}` }]
  const response = await gateway.chat({ model: 'm', messages, ...body }, { headers })
  const text = await response.text()
  expect(response.status, text).toBe(200)
  return `${response.headers.get('x-svc-supplier')} ${response.headers.get('x-svc-session')}`
}

const OFF = 'infer_sessions: false'

describe('a call', () => {
  it('without a session is told nothing of one, and goes wherever chance sends it', async () => {
    const { gateway } = await openTown(OFF)
    expect(await ask(gateway)).toBe('one null')
    expect(await ask(gateway)).toBe('two null')
    expect(await ask(gateway)).toBe('one null')
  })

  it('of a session goes to the supplier that answered the one before, twenty times over', async () => {
    const { gateway, two } = await openTown(OFF)
    expect(await ask(gateway, { 'x-session-id': 's' })).toBe('one new')
    for (let turn = 1; turn < 20; turn++)
      expect(await ask(gateway, { 'x-session-id': 's' })).toBe('one kept')
    expect(two.requests).toHaveLength(0)
  })

  it('of a stream is told of its session the same way', async () => {
    const { gateway } = await openTown(OFF)
    for (const state of ['one new', 'one kept', 'one kept'])
      expect(await ask(gateway, { 'x-session-id': 's' }, { stream: true })).toBe(state)
  })

  it('is told of a session that it names where one supplier alone serves the model', async () => {
    const { gateway } = await openTown()
    const body = { model: 'two/m' }
    expect(await ask(gateway, { 'x-session-id': 's' }, body)).toBe('two new')
    expect(await ask(gateway, { 'x-session-id': 's' }, body)).toBe('two kept')
    expect(await ask(gateway, { 'session-id': 's' }, body)).toBe('two null')
    expect(await ask(gateway, {}, body)).toBe('two null')
  })

  it('of another model is of another session', async () => {
    const { gateway } = await openTown(OFF)
    const headers = { 'x-session-id': 's' }
    expect(await ask(gateway, headers)).toBe('one new')
    expect(await ask(gateway, headers, { model: 'n' })).toBe('two new')
    expect(await ask(gateway, headers)).toBe('one kept')
  })
})

describe('a session is named by', () => {
  const claude = (session: string): { readonly metadata: object } => ({
    metadata: { user_id: JSON.stringify({ device_id: 'd', session_id: session }) },
  })
  const omit = (headers: Headers, count: number): Headers =>
    Object.fromEntries(Object.entries(headers).slice(count))

  const agent = (session: string, speaker: string): Headers => ({
    'x-claude-code-session-id': session,
    'x-claude-code-agent-id': speaker,
  })

  it.each<[string, readonly [Headers, Headers], readonly [object, object]]>([
    ['X-Session-Id', [{ 'x-session-id': 'a' }, { 'x-session-id': 'b' }], [{}, {}]],
    [
      'metadata.session_id',
      [{}, {}],
      [
        { metadata: { session_id: 'a', sticky_key: 'k' } },
        { metadata: { session_id: 'b', sticky_key: 'k' } },
      ],
    ],
    [
      'metadata.sticky_key',
      [{}, {}],
      [{ metadata: { sticky_key: 'a' } }, { metadata: { sticky_key: 'b' } }],
    ],
    ['the header of an agent', [agent('a', 'x'), agent('b', 'x')], [{}, {}]],
    ['whom the agent sends out', [agent('a', 'x'), agent('a', 'y')], [{}, {}]],
    ['the JSON of metadata.user_id', [{}, {}], [claude('a'), claude('b')]],
    [
      'the thread of another agent',
      [
        { 'session-id': 'a', 'thread-id': 'a' },
        { 'session-id': 'a', 'thread-id': 'b' },
      ],
      [{}, {}],
    ],
    ['prompt_cache_key', [{}, {}], [{ prompt_cache_key: 'a' }, { prompt_cache_key: 'b' }]],
  ])('%s', async (_, headers, bodies) => {
    const { gateway } = await openTown(OFF)
    expect(await ask(gateway, headers[0], bodies[0])).toBe('one new')
    expect(await ask(gateway, headers[1], bodies[1])).toBe('two new')
    for (let turn = 0; turn < 3; turn++) {
      expect(await ask(gateway, headers[0], bodies[0])).toBe('one kept')
      expect(await ask(gateway, headers[1], bodies[1])).toBe('two kept')
      // One draw more, so that chance would send the next pair the other way.
      await ask(gateway)
    }
  })

  it('the first of these that a call has', async () => {
    const { gateway } = await openTown(OFF)
    const user = claude('e').metadata
    // Each call lacks what named the session of the one before it.
    const headers = { 'x-session-id': 'a', 'x-claude-code-session-id': 'd', 'session-id': 'f' }
    const calls: readonly (readonly [Headers, object, Headers, object])[] = [
      [headers, { session_id: 'b', sticky_key: 'c', ...user }, { 'x-session-id': 'a' }, {}],
      [omit(headers, 1), { session_id: 'b', sticky_key: 'c', ...user }, {}, { session_id: 'b' }],
      [omit(headers, 1), { sticky_key: 'c', ...user }, {}, { sticky_key: 'c' }],
      [omit(headers, 1), user, { 'x-claude-code-session-id': 'd' }, {}],
      [omit(headers, 2), user, {}, user],
      [omit(headers, 2), {}, { 'session-id': 'f' }, {}],
    ]
    for (const [all, metadata, alone, own] of calls) {
      const body = { metadata, prompt_cache_key: 'g' }
      expect(await ask(gateway, all, body)).toEndWith(' new')
      expect(await ask(gateway, alone, { metadata: own })).toEndWith(' kept')
    }
    expect(await ask(gateway, {}, { prompt_cache_key: 'g' })).toEndWith(' new')
  })

  it('nothing that is too long or said twice by an agent, which is no error', async () => {
    const { gateway } = await openTown(OFF)
    for (const headers of [{ 'session-id': 'x'.repeat(300) }, { 'session-id': 'a, b' }])
      for (let turn = 0; turn < 2; turn++) expect(await ask(gateway, headers)).toEndWith('null')
  })

  it('fields that reach the supplier as they were sent, but for those that are ours', async () => {
    const { gateway, one } = await openTown(OFF)
    const { metadata } = claude('s')
    const own = { ...metadata, session_id: 'a', sticky_key: 'b' }
    await ask(gateway, {}, { metadata: own, prompt_cache_key: 'k' })
    const { body } = await one.request(0)
    expect(JSON.parse(body.toString())).toMatchObject({ prompt_cache_key: 'k' })
    expect((JSON.parse(body.toString()) as { metadata: unknown }).metadata).toEqual(metadata)
  })
})

describe('a conversation that names no session', () => {
  const talk = (question: string, turns: number): object => ({
    messages: [
      { role: 'system', content: 'You are an agent. '.repeat(1_000) },
      { role: 'user', content: question },
      ...Array.from({ length: turns }, (_, turn) => [
        { role: 'assistant', content: `Answer ${turn}` },
        { role: 'user', content: `Go on ${turn}` },
      ]).flat(),
    ],
  })

  it('stays together as it grows, apart from another that has the same instructions', async () => {
    const { gateway } = await openTown()
    expect(await ask(gateway, {}, talk('Why is the sky blue?', 0))).toBe('one new')
    expect(await ask(gateway, {}, talk('Why is grass green?', 0))).toBe('two new')
    for (let turns = 1; turns < 6; turns++) {
      expect(await ask(gateway, {}, talk('Why is the sky blue?', turns))).toBe('one kept')
      expect(await ask(gateway, {}, talk('Why is grass green?', turns))).toBe('two kept')
      await ask(gateway)
    }
  })

  it('begins anew with each first call, however often the same is asked', async () => {
    const { gateway } = await openTown()
    for (const supplier of ['one', 'two', 'one', 'two'])
      expect(await ask(gateway, {}, talk('Why is the sky blue?', 0))).toBe(`${supplier} new`)
    expect(await ask(gateway, {}, talk('Why is the sky blue?', 1))).toBe('two kept')
  })

  it('has none where the operator wants it so', async () => {
    const { gateway } = await openTown(OFF)
    expect(await ask(gateway, {}, talk('Why?', 0))).toBe('one null')
    expect(await ask(gateway, {}, talk('Why?', 1))).toBe('two null')
  })
})

describe('a session moves', () => {
  const headers = { 'x-session-id': 's' }

  it('to whoever answers when its supplier fails, and stays there when that one is back', async () => {
    const { gateway, scripts } = await openTown(OFF)
    expect(await ask(gateway, headers)).toBe('one new')
    scripts.one = (_, reply) => reply.reset()
    expect(await ask(gateway, headers)).toBe('two moved')
    scripts.one = good
    for (let turn = 0; turn < 4; turn++) expect(await ask(gateway, headers)).toBe('two kept')
  })

  it('nowhere by a call that failed', async () => {
    const { gateway, scripts } = await openTown(OFF)
    expect(await ask(gateway, headers)).toBe('one new')
    const before = { ...scripts }
    const down: Script = (_, reply) => reply.json(500, { error: {} })
    Object.assign(scripts, { one: down, two: down })
    const body = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] }
    expect((await gateway.chat(body, { headers })).status).toBeGreaterThanOrEqual(500)
    Object.assign(scripts, before)
    for (let turn = 0; turn < 3; turn++) expect(await ask(gateway, headers)).toBe('one kept')
  })

  it('away from who has become slow, once', async () => {
    const { gateway, scripts, clock } = await openTown(OFF)
    let oneMs = 400
    const taking =
      (time: () => number): Script =>
      (...asked) => {
        clock.sleep(time())
        return good(...asked)
      }
    scripts.one = taking(() => oneMs)
    scripts.two = taking(() => 900)
    const turn = (): Promise<string> => ask(gateway, headers, { stream: true })
    expect(await turn()).toBe('one new')
    for (let count = 0; count < 3; count++) expect(await turn()).toBe('one kept')
    oneMs = 5_000
    expect(await turn()).toBe('one kept')
    expect(await turn()).toBe('one kept')
    expect(await turn()).toBe('two moved')
    for (let count = 0; count < 6; count++) expect(await turn()).toBe('two kept')
  })

  it('is new again when it was idle for an hour', async () => {
    const { gateway, clock } = await openTown(OFF)
    expect(await ask(gateway, headers)).toBe('one new')
    clock.sleep(3_599_000)
    expect(await ask(gateway, headers)).toBe('one kept')
    clock.sleep(3_600_000)
    expect(await ask(gateway, headers)).toEndWith('new')
  })
})

describe('a session never', () => {
  const headers = { 'x-session-id': 's' }

  it('reaches into another account', async () => {
    const { gateway } = await openTown(OFF)
    const other = await openAccount(gateway.url)
    const theirs = { ...headers, authorization: `Bearer ${other.secret}` }
    expect(await ask(gateway, headers)).toBe('one new')
    expect(await ask(gateway, theirs)).toBe('two new')
    for (let turn = 0; turn < 3; turn++) {
      expect(await ask(gateway, headers)).toBe('one kept')
      expect(await ask(gateway, theirs)).toBe('two kept')
      await ask(gateway)
    }
  })

  it('leads out of a region', async () => {
    const { gateway, one } = await openTown(OFF)
    expect(await ask(gateway, headers)).toBe('one new')
    const { key } = await gateway.createKey({ name: 'k', allowed_regions: ['US'] })
    const locked = { ...headers, authorization: `Bearer ${key}` }
    expect(await ask(gateway, locked)).toBe('two moved')
    expect(await ask(gateway, { 'x-session-id': 't' })).toBe('one new')
    expect(await ask(gateway, { 'x-session-id': 't' }, { region: 'us' })).toBe('two moved')
    expect(one.requests).toHaveLength(2)
  })

  it('leads to a supplier that the call did not ask for', async () => {
    const { gateway } = await openTown(OFF)
    expect(await ask(gateway, headers)).toBe('one new')
    expect(await ask(gateway, headers, { model: 'two/m' })).toBe('two new')
  })

  it('leads to a model that a key may not use, or keeps one that stood in for another', async () => {
    const { gateway, scripts, config } = await openTown(OFF)
    await reload(gateway, `${config(OFF)}models: { m: { fallbacks: [n] } }\n`)
    const { key } = await gateway.createKey({ name: 'k', allowed_models: ['m'] })
    const limited = { ...headers, authorization: `Bearer ${key}` }
    const before = { ...scripts }
    const withoutM: Script = (request, ...others) =>
      request.body.includes('"model":"m"')
        ? others[0].json(500, { error: {} })
        : good(request, ...others)
    Object.assign(scripts, { one: withoutM, two: withoutM })
    const body = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] }
    const stoodIn = await gateway.chat(body, { headers })
    expect([stoodIn.status, stoodIn.headers.get('x-svc-model')]).toEqual([200, 'n'])
    const refused = await gateway.chat(body, { headers: limited })
    expect(refused.status).toBeGreaterThanOrEqual(500)
    Object.assign(scripts, before)
    const after = await gateway.chat(body, { headers })
    expect([after.status, after.headers.get('x-svc-model')]).toEqual([200, null])
    expect(after.headers.get('x-svc-session')).toBe('moved')
  })
})

describe('the memory of sessions', () => {
  const named = (id: string): Headers => ({ 'x-session-id': id })

  it('outlives a reload', async () => {
    const { gateway, config } = await openTown(OFF)
    expect(await ask(gateway, named('s'))).toBe('one new')
    await reload(gateway, `${config(OFF)}limits: { attempts: 2 }\n`)
    expect(await ask(gateway, named('s'))).toBe('one kept')
    expect(await ask(gateway, named('s'))).toBe('one kept')
  })

  it('is bounded, and forgets whoever called longest ago', async () => {
    const { gateway } = await openTown(`${OFF}, sessions: 2`)
    for (const id of ['a', 'b', 'a', 'c']) await ask(gateway, named(id))
    expect(await ask(gateway, named('a'))).toEndWith('kept')
    expect(await ask(gateway, named('b'))).toEndWith('new')
  })

  it('is empty where there is to be none, at once when a reload says so', async () => {
    const { gateway, config } = await openTown(OFF)
    expect(await ask(gateway, named('s'))).toBe('one new')
    await reload(gateway, config('sessions: 0'))
    expect(await ask(gateway, named('s'))).toBe('two null')
    expect(await ask(gateway, named('s'))).toBe('one null')
    await reload(gateway, config(OFF))
    expect(await ask(gateway, named('s'))).toEndWith('new')
  })
})

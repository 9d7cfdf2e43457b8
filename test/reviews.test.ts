// Calls whose end nobody has seen: what people are told of them, and what becomes of them when somebody
// decides. A process that died is a store with holds in it that nothing has ended.
import { Database } from 'bun:sqlite'
import { afterEach, describe, expect, it } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Claim } from '../src/core/claim.ts'
import { createRequestId, hashSecret } from '../src/core/ids.ts'
import { toNanoUsd, toPicoUsd } from '../src/core/money.ts'
import type { HoldRecord, LedgerRecord, Terms } from '../src/core/record.ts'
import { openSqliteStore } from '../src/store/sqlite/open.ts'
import { asHold, asNote, NOW, sampleDeed, sampleHold, sampleKey } from './contracts/samples.ts'
import { createFakeClock, type FakeClock } from './fakes/clock.ts'
import { HELLO, ROOT_KEY, startGateway, supplierAt, type Gateway } from './fakes/gateway.ts'
import { expectSoundBooks } from './fakes/records.ts'
import { closeStreet, good, tidy, until } from './fakes/street.ts'
import { startFakeSupplier } from './fakes/supplier.ts'
import { tell as tellAlone, type Told } from './fakes/terminal.ts'

afterEach(closeStreet)

type Json = Readonly<Record<string, unknown>>

interface Reply {
  readonly status: number
  readonly body: Json
  readonly text: string
}

const SECRET = `svc-sk-${'r'.repeat(43)}`
const MINUTES = 60_000
const PRICE = { input: toPicoUsd(1_000_000), output: toPicoUsd(4_000_000) }
const TERMS: Terms = [
  { supplier: 'fake', region: 'EU', model: 'test-model', price: PRICE },
  { supplier: 'fake', region: 'EU', model: 'test-model', price: PRICE },
  {
    supplier: 'other',
    region: 'US',
    model: 'test-model',
    price: { ...PRICE, cachedInput: toPicoUsd(100_000) },
  },
]

/** Held at a cent; its input is thought to be 1000 tokens, a tenth of that. */
const HELD = toNanoUsd(10_000_000)
const ESTIMATE = 0.001

interface Leftovers {
  readonly gateway: Gateway
  readonly clock: FakeClock
  readonly keyId: string
  readonly folder: string
  /** Of calls in review, oldest first. */
  readonly ids: readonly string[]
}

interface Past {
  readonly count?: number
  /** The Idempotency-Key that they were asked under. */
  readonly claim?: Claim
  readonly config?: string
  /** Records beside the holds. */
  readonly more?: (ids: readonly string[]) => readonly LedgerRecord[]
}

/** A gateway after a process that has died with calls under way. */
async function startAfterCrash(past: Past = {}): Promise<Leftovers> {
  const { count = 1, claim, config, more } = past
  const folder = mkdtempSync(join(tmpdir(), 'reviews-'))
  tidy({ stop: async () => rmSync(folder, { recursive: true }) })
  const clock = createFakeClock(NOW)
  const store = await openSqliteStore({ folder, clock })
  const { accountId } = await store.load()
  const budget = { budgetLimit: toNanoUsd(1_000_000_000), budgetPeriod: 'monthly' } as const
  const key = sampleKey(accountId, { hash: hashSecret(SECRET), ...budget })
  await store.keys.insert(key, sampleDeed())
  const holds = Array.from({ length: count }, (_, index) => ({
    ...holdOf(accountId, key.id, index),
    claim,
  }))
  const foreign = sampleHold({ accountId: 'acc_other', keyId: 'key_other', at: NOW + count })
  await store.append([...holds, foreign].map(asHold))
  const ids = holds.map(({ requestId }) => requestId)
  if (more !== undefined) await store.append(more(ids))
  await store.close()
  const supplier = tidy(await startFakeSupplier(good))
  const gateway = await startGateway({
    clock,
    suppliers: [supplierAt(supplier.origin)],
    environment: { GATEWAY_DATA: folder },
    ...(config !== undefined && { config }),
  })
  return { gateway: tidy(gateway), clock, keyId: key.id, folder, ids }
}

function holdOf(accountId: string, keyId: string, index: number): HoldRecord {
  return sampleHold({
    accountId,
    keyId,
    at: NOW + index,
    model: 'test-model',
    amount: HELD,
    inputTokens: 1000,
    maxTokens: 2000,
    limit: toNanoUsd(1_000_000_000),
    period: 'monthly',
    terms: JSON.stringify(TERMS),
  })
}

async function ask(
  gateway: Gateway,
  path: string,
  body?: unknown,
  method = body === undefined ? 'GET' : 'POST',
): Promise<Reply> {
  const response = await gateway.manage(method, path, body)
  const text = await response.text()
  return { status: response.status, text, body: JSON.parse(text) as Json }
}

const listOf = ({ body }: Reply): readonly Json[] => body['data'] as readonly Json[]
const errorOf = ({ body }: Reply): Json => body['error'] as Json

async function budgetOf({ gateway, keyId }: Leftovers): Promise<Json> {
  return (await ask(gateway, `/keys/${keyId}`)).body
}

function expectRefusal(reply: Reply, status: number, code: string, param?: string): void {
  const error = errorOf(reply)
  expect([reply.status, error['code'], error['param']]).toEqual([status, code, param ?? null])
}

describe('calls in review', () => {
  it('are listed with what is held, what they may have cost and when that is decided', async () => {
    const { gateway, keyId, ids } = await startAfterCrash({ count: 2 })
    const reply = await ask(gateway, '/reviews')
    expect(reply.body).toMatchObject({ object: 'list', has_more: false, next_cursor: null })
    expect(listOf(reply)).toEqual(
      ids.map((id, index) => ({
        request_id: id,
        key_id: keyId,
        model: 'test-model',
        called_at: new Date(NOW + index).toISOString(),
        held_usd: 0.01,
        estimate_usd: ESTIMATE,
        payer: null,
        since: new Date(NOW + 2).toISOString(),
        resolves_at: new Date(NOW + 2 + 10 * MINUTES).toISOString(),
        why: expect.stringContaining('ended before the call did'),
      })),
    )
  })

  it('come in pages that hold each of them once, also when some are resolved meanwhile', async () => {
    const { gateway, ids } = await startAfterCrash({ count: 5 })
    const first = await ask(gateway, '/reviews?limit=2')
    expect(first.body).toMatchObject({ has_more: true })
    await ask(gateway, `/reviews/${ids[1]}`, { action: 'void', reason: 'x' })
    const cursor = String(first.body['next_cursor'])
    const second = await ask(gateway, `/reviews?limit=2&cursor=${cursor}`)
    const last = await ask(gateway, `/reviews?cursor=${String(second.body['next_cursor'])}`)
    const shown = [first, second, last].flatMap(listOf).map((entry) => entry['request_id'])
    expect(shown).toEqual([...ids])
    expect(last.body).toMatchObject({ has_more: false, next_cursor: null })
    for (const [query, param] of [
      ['limit=0', 'limit'],
      ['limit=1001', 'limit'],
      ['cursor=nonsense', 'cursor'],
    ])
      // oxlint-disable-next-line no-await-in-loop -- one rule
      expectRefusal(await ask(gateway, `/reviews?${query}`), 400, 'validation_error', param)
    expectRefusal(await ask(gateway, '/reviews?state=x'), 400, 'unsupported_parameter', 'state')
  })

  it('are kept for somebody to decide where the operator wants it so', async () => {
    const config = 'ledger:\n  recovery: keep\n'
    const { gateway, clock, ids } = await startAfterCrash({ config })
    expect(listOf(await ask(gateway, '/reviews'))).toMatchObject([{ resolves_at: null }])
    clock.advance(60 * MINUTES)
    expect((await ask(gateway, `/reviews/${ids[0]}`)).body).toMatchObject({ recovery: 'keep' })
  })

  it('follow the rule of a configuration that is reloaded', async () => {
    const { gateway } = await startAfterCrash({ config: 'ledger:\n  recovery: keep\n' })
    const reload = (text: string): Promise<Reply> => {
      writeFileSync(gateway.file, text)
      return ask(gateway, '/reload', {})
    }
    const changed = await reload('ledger:\n  recovery_after: 60\n')
    expect(changed.body).toMatchObject({ settings_changed: ['ledger'], need_restart: [] })
    const [review] = listOf(await ask(gateway, '/reviews'))
    expect(review).toMatchObject({ resolves_at: new Date(NOW + 1 + MINUTES).toISOString() })
    const restart = await reload('ledger:\n  recovery_after: 60\n  durability: power\n')
    expect(restart.body).toMatchObject({
      settings_changed: [],
      need_restart: ['ledger.durability'],
    })
  })

  it('are explained: what was held, whom they may have reached, what each rule would charge', async () => {
    const past = await startAfterCrash({
      more: ([id]) => [asNote('progress', id, { outputTokens: 500 })],
    })
    const { gateway, keyId, ids } = past
    const { body } = await ask(gateway, `/reviews/${ids[0]}`)
    expect(body).toEqual({
      request_id: ids[0],
      key_id: keyId,
      project_id: null,
      model: 'test-model',
      endpoint: '/v1/chat/completions',
      stream: true,
      state: 'review',
      settling: false,
      since: new Date(NOW).toISOString(),
      hour: '2026-01-15T12:00:00.000Z',
      held_usd: 0.01,
      estimate_usd: 0.003,
      input_tokens: 1000,
      max_tokens: 2000,
      delivered_tokens: 500,
      budget_limit: 1,
      budget_period: 'monthly',
      payer: null,
      terms: [
        {
          supplier: 'fake',
          region: 'EU',
          model: 'test-model',
          asked: 'perhaps',
          price: { input: 1, output: 4 },
        },
        {
          supplier: 'other',
          region: 'US',
          model: 'test-model',
          asked: 'perhaps',
          price: { input: 1, cached_input: 0.1, output: 4 },
        },
      ],
      review: {
        since: expect.any(String),
        resolves_at: expect.any(String),
        why: expect.any(String),
      },
      recovery: 'charge_estimate',
      outcomes: { charge_estimate: 0.003, charge_hold: 0.01, void: 0 },
    })
    expect((await ask(gateway, `/calls/${ids[0]}`)).body).toMatchObject({ state: 'review' })
  })

  it('tell who is known to have been asked', async () => {
    const { gateway, ids } = await startAfterCrash({
      more: ([id]) => [asNote('attempt', id, { supplier: 'other' })],
    })
    const { body } = await ask(gateway, `/reviews/${ids[0]}`)
    expect(body['terms']).toMatchObject([{ asked: 'yes' }, { asked: 'yes' }])
  })

  it.each<readonly [note: object, asked: readonly string[]]>([
    [{ supplier: 'other', model: 'test-model', number: 1 }, ['perhaps', 'yes']],
    [{ supplier: 'other', model: 'test-model', number: 2 }, ['yes', 'yes']],
    [{ supplier: 'other', model: 'spare', number: 2 }, ['yes', 'perhaps']],
  ])('tell who is known to have been asked by %j', async (note, asked) => {
    const { gateway, ids } = await startAfterCrash({
      more: ([id]) => [asNote('attempt', id, note)],
    })
    const { body } = await ask(gateway, `/reviews/${ids[0]}`)
    expect(body['terms']).toMatchObject(asked.map((each) => ({ asked: each })))
  })

  it('count against their key until they are resolved', async () => {
    const past = await startAfterCrash({ count: 3 })
    const { gateway, ids } = past
    const waiting = { budget_held: 0.03, budget_in_review: 0.03, budget_used: 0 }
    expect(await budgetOf(past)).toMatchObject(waiting)
    await ask(gateway, `/reviews/${ids[0]}`, { action: 'void', reason: 'never left' })
    await ask(gateway, `/reviews/${ids[1]}`, { action: 'settle', reason: 'answered' })
    await ask(gateway, `/reviews/${ids[2]}`, {
      action: 'settle',
      cost_usd: 0.004_000_001,
      reason: 'from the bill',
    })
    expect(await budgetOf(past)).toMatchObject({
      budget_held: 0,
      budget_in_review: 0,
      budget_used: 0.005_000_001,
      budget_remaining: 0.994_999_999,
    })
    expect(listOf(await ask(gateway, '/reviews'))).toEqual([])
    await gateway.drain()
    await expectSoundBooks(past.folder)
  })
})

describe('a decision', () => {
  it('is in the audit with who made it and why', async () => {
    const { gateway, keyId, ids } = await startAfterCrash()
    const decision = { action: 'settle', cost_usd: 0.0025, reason: 'seen on the bill' }
    const reply = await ask(gateway, `/reviews/${ids[0]}`, decision)
    expect(reply.status).toBe(200)
    expect(reply.body).toMatchObject({
      request_id: ids[0],
      key_id: keyId,
      cost_usd: 0.0025,
      code: 'operation_unknown',
      state: 'settled',
      evidence: 'crashed',
      estimated: true,
      settlement: {
        state: 'settled',
        evidence: 'crashed',
        estimated: true,
        held_usd: 0.01,
        cost_usd: 0.0025,
        overrun_usd: 0,
        hour: '2026-01-15T12:00:00.000Z',
        held_ms: null,
      },
      resolved: { by: expect.stringMatching(/^key_/), reason: 'seen on the bill' },
    })
    expect((await ask(gateway, `/calls/${ids[0]}`)).text).toBe(reply.text)
    const [entry] = listOf(await ask(gateway, '/audit?state=settled'))
    expect(entry).toMatchObject({ request_id: ids[0], cost_usd: 0.0025, estimated: true })
  })

  it.each([
    ['void', true],
    ['settle', false],
  ])('to %s frees the Idempotency-Key of the call: %p', async (action, isFree) => {
    const claim = { id: hashSecret('claim'), fingerprint: hashSecret('body') }
    const { gateway, ids, folder } = await startAfterCrash({ claim })
    const count = (): number => {
      using database = new Database(join(folder, 'gateway.db'), { readonly: true })
      return database.query<{ count: number }, []>('SELECT count(*) AS count FROM claims').get()!
        .count
    }
    expect(count()).toBe(1)
    const { status } = await ask(gateway, `/reviews/${ids[0]}`, { action, reason: 'seen' })
    expect([status, count()]).toEqual([200, isFree ? 0 : 1])
  })

  it('is made once, by whoever comes first', async () => {
    const past = await startAfterCrash()
    const { gateway, ids } = past
    const path = `/reviews/${ids[0]}`
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        ask(gateway, path, { action: 'settle', cost_usd: index / 10_000, reason: `no. ${index}` }),
      ),
    )
    const good = replies.filter(({ status }) => status === 200)
    expect(good).toHaveLength(1)
    for (const reply of replies) if (!good.includes(reply)) expectRefusal(reply, 409, 'conflict')
    expectRefusal(await ask(gateway, path, { action: 'void', reason: 'x' }), 409, 'conflict')
    expectRefusal(await ask(gateway, path), 409, 'conflict')
    const { budget_used: used } = await budgetOf(past)
    expect(used).toBe(good[0]!.body['cost_usd'])
  })

  it.each<readonly [string, unknown, string, string]>([
    ['no action', { reason: 'x' }, 'missing_fields', 'action'],
    ['another action', { action: 'refund', reason: 'x' }, 'validation_error', 'action'],
    ['no reason', { action: 'void' }, 'missing_fields', 'reason'],
    ['an empty reason', { action: 'void', reason: ' ' }, 'validation_error', 'reason'],
    ['a long reason', { action: 'void', reason: 'x'.repeat(501) }, 'validation_error', 'reason'],
    [
      'a cost of nothing',
      { action: 'void', cost_usd: 0, reason: 'x' },
      'validation_error',
      'cost_usd',
    ],
    [
      'a cost as text',
      { action: 'settle', cost_usd: '1', reason: 'x' },
      'validation_error',
      'cost_usd',
    ],
    [
      'less than nothing',
      { action: 'settle', cost_usd: -1, reason: 'x' },
      'validation_error',
      'cost_usd',
    ],
    [
      'too fine a cost',
      { action: 'settle', cost_usd: 1e-10, reason: 'x' },
      'validation_error',
      'cost_usd',
    ],
    ['another field', { action: 'void', reason: 'x', by: 'me' }, 'unsupported_parameter', 'by'],
  ])('is refused with %s, and leaves the call in review', async (_, body, code, param) => {
    const { gateway, ids } = await startAfterCrash()
    expectRefusal(await ask(gateway, `/reviews/${ids[0]}`, body), 400, code, param)
    expect((await ask(gateway, `/reviews/${ids[0]}`)).status).toBe(200)
  })

  it('cannot cost more than was held, and says how much that is', async () => {
    const { gateway, ids } = await startAfterCrash()
    const path = `/reviews/${ids[0]}`
    const dear = { action: 'settle', cost_usd: 0.010_000_001, reason: 'x' }
    const reply = await ask(gateway, path, dear)
    expectRefusal(reply, 400, 'validation_error', 'cost_usd')
    expect(errorOf(reply)['human_message']).toContain('at most 0.01,')
    expect((await ask(gateway, path, { ...dear, cost_usd: 0.01 })).status).toBe(200)
  })

  it('is nothing for calls that are not in review, unknown or of another account', async () => {
    const { gateway, folder } = await startAfterCrash()
    const called = await gateway.chat(HELLO)
    await called.text()
    const database = new Database(join(folder, 'gateway.db'), { readonly: true })
    const foreign = database
      .query<{ id: string }, []>(
        'SELECT request_id AS id FROM holds ORDER BY number LIMIT 1 OFFSET 1',
      )
      .get()!.id
    database.close()
    const unknown = createRequestId()
    for (const id of [called.headers.get('x-request-id'), foreign, unknown, '__proto__'])
      for (const body of [undefined, { action: 'void', reason: 'x' }])
        // oxlint-disable-next-line no-await-in-loop -- one answer for all of them
        expectRefusal(await ask(gateway, `/reviews/${id}`, body), 404, 'not_found')
    const call = await ask(gateway, `/calls/${foreign}`)
    expectRefusal(call, 404, 'not_found')
    expect((await ask(gateway, `/calls/${unknown}`)).text).toBe(call.text)
    expect((await ask(gateway, '/reviews')).text).not.toContain(foreign)
  })

  it('is made by the rule of the configuration when nobody makes it in time', async () => {
    const config = 'ledger:\n  recovery: charge_hold\n  recovery_after: 60\n'
    const past = await startAfterCrash({ config })
    const { gateway, clock, ids } = past
    clock.advance(59_000)
    expect((await ask(gateway, `/reviews/${ids[0]}`)).status).toBe(200)
    clock.advance(2000)
    await until(() => gateway.audit().length > 0)
    const { body } = await ask(gateway, `/calls/${ids[0]}`)
    expect(body).toMatchObject({
      cost_usd: 0.01,
      evidence: 'crashed',
      resolved: { by: 'ledger.recovery: charge_hold' },
    })
    expectRefusal(await ask(gateway, `/reviews/${ids[0]}`), 409, 'conflict')
    expect(await budgetOf(past)).toMatchObject({ budget_held: 0, budget_used: 0.01 })
  })
})

describe('the command line', () => {
  const tell = (past: Leftovers, ...line: readonly string[]): Promise<Told> =>
    tellAlone(line, { environment: { GATEWAY_DATA: past.folder, GATEWAY_KEY: ROOT_KEY } })

  it('lists, explains and resolves calls in review', async () => {
    const past = await startAfterCrash({ count: 3 })
    const [first = '', second = '', third = ''] = past.ids
    const listed = await tell(past, 'reviews')
    expect(listed).toMatchObject({ code: 0, err: '' })
    for (const title of ['REQUEST', 'HELD USD', 'ESTIMATE USD', 'RESOLVES'])
      expect(listed.out).toContain(title)
    for (const id of past.ids) expect(listed.out).toContain(id)
    const shown = await tell(past, 'reviews', 'show', first)
    expect(shown.out).toMatch(/^State +review$/m)
    expect(shown.out).toMatch(/^Held USD +0\.01$/m)
    expect(shown.out).toMatch(/^May reach 1 +supplier fake, region EU, .* price input 1 output 4$/m)
    expect(shown.out).toMatch(/^Outcomes charge estimate +0\.001$/m)

    const settled = await tell(
      past,
      'reviews',
      'settle',
      first,
      '--cost',
      '0.0025',
      '--reason',
      'b',
    )
    expect(settled).toMatchObject({ code: 0, err: '' })
    expect(settled.out).toMatch(/^Cost USD +0\.0025$/m)
    expect(settled.out).toMatch(/^Resolved reason +b$/m)
    const voided = await tell(past, 'reviews', 'void', second, '--reason', 'never left', '--json')
    expect(JSON.parse(voided.out)).toMatchObject({ state: 'voided', cost_usd: 0 })
    const again = await tell(past, 'reviews', 'void', second, '--reason', 'x')
    expect(again.code).toBe(1)
    expect(again.err).toContain('`gateway calls show` shows how. (HTTP 409 conflict)')
    const dear = await tell(past, 'reviews', 'settle', third, '--cost', '1', '--reason', 'x')
    expect(dear.code).toBe(2)
    expect(dear.err).toContain('Give --cost as at most 0.01')
    expect((await tell(past, 'reviews', '--quiet')).out).toBe(`${third}\n`)
    expect((await tell(past, 'reviews', 'show', createRequestId())).code).toBe(5)
  })
})

describe('books that cannot be written', () => {
  it('are told by health, and by whoever wants to decide something, until they can', async () => {
    const past = await startAfterCrash()
    const { gateway, clock, folder, ids } = past
    const health = async (path: string): Promise<number> => (await fetch(gateway.url + path)).status
    const database = new Database(join(folder, 'gateway.db'))
    tidy({ stop: async () => database.close() })
    database.run(`CREATE TRIGGER full BEFORE INSERT ON holds
      BEGIN SELECT RAISE(ABORT, 'no room'); END`)
    const refused = await gateway.chat(HELLO)
    expect(refused.status).toBe(503)
    expect(await refused.text()).toContain('"code":"billing_unavailable"')
    expect([await health('/health'), await health('/health/ready')]).toEqual([503, 503])
    expect(await health('/health/live')).toBe(200)
    const decision = { action: 'void', reason: 'x' }
    expectRefusal(await ask(gateway, `/reviews/${ids[0]}`, decision), 503, 'billing_unavailable')
    database.run('DROP TRIGGER full')
    clock.advance(1000)
    await until(() => hasNote(database, 'resumed'))
    expect([await health('/health'), await health('/health/ready')]).toEqual([200, 200])
    expect((await ask(gateway, `/reviews/${ids[0]}`, decision)).status).toBe(200)
    expect((await gateway.chat(HELLO)).status).toBe(200)
  })
})

describe('a decision that cannot be written', () => {
  it('is not taken for made, cannot be made twice, and is written when that is possible', async () => {
    const past = await startAfterCrash()
    const { gateway, clock, folder, ids } = past
    const path = `/reviews/${ids[0]}`
    const database = new Database(join(folder, 'gateway.db'))
    tidy({ stop: async () => database.close() })
    database.run(`CREATE TRIGGER full BEFORE INSERT ON audit
      BEGIN SELECT RAISE(ABORT, 'no room'); END`)
    const decision = { action: 'settle', cost_usd: 0.002, reason: 'x' }
    const reply = await ask(gateway, path, decision)
    expectRefusal(reply, 503, 'billing_unavailable')
    expect(errorOf(reply)['retryable']).toBe(false)
    expectRefusal(await ask(gateway, path, { action: 'void', reason: 'y' }), 409, 'conflict')
    expectRefusal(await ask(gateway, path), 409, 'conflict')
    const waiting = (await ask(gateway, `/calls/${ids[0]}`)).body
    expect(waiting).toMatchObject({ state: 'review', settling: true })
    expect(await budgetOf(past)).toMatchObject({ budget_held: 0.01, budget_used: 0 })
    database.run('DROP TRIGGER full')
    clock.advance(1000)
    await until(() => gateway.audit().length > 0)
    expect((await ask(gateway, `/calls/${ids[0]}`)).body).toMatchObject({
      state: 'settled',
      cost_usd: 0.002,
      resolved: { reason: 'x' },
    })
    expect(await budgetOf(past)).toMatchObject({ budget_held: 0, budget_used: 0.002 })
  })
})

function hasNote(database: Database, kind: string): boolean {
  return database.query('SELECT 1 FROM notes WHERE kind = ?').get(kind) !== null
}

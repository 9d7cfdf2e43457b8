// The life of a secret: another one takes its place without an outage, it ends to the moment, and when it was
// last used is known after a restart, too.
import { Database } from 'bun:sqlite'
import { afterEach, describe, expect, it } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hashSecret } from '../src/core/ids.ts'
import { createFakeClock, type FakeClock } from './fakes/clock.ts'
import { HELLO, startGateway, supplierAt, type Gateway } from './fakes/gateway.ts'
import { closeStreet, createGate, good, openStreet, tidy } from './fakes/street.ts'
import { completion, startFakeSupplier } from './fakes/supplier.ts'

const folders: string[] = []

afterEach(async () => {
  await closeStreet()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

type Json = Readonly<Record<string, unknown>>

async function ask(gateway: Gateway, method: string, path: string, body?: object): Promise<Json> {
  const response = await gateway.manage(method, path, body)
  return { status: response.status, ...((await response.json()) as Json) }
}

interface Rotated {
  readonly key: string
  readonly previous_secret_until: string | null
}

async function rotate(gateway: Gateway, path: string, body?: object): Promise<Rotated> {
  return (await ask(gateway, 'POST', `${path}/rotate`, body)) as unknown as Rotated
}

async function statusOf(gateway: Gateway, key: string): Promise<number> {
  const answer = await gateway.chat(HELLO, { headers: { authorization: `Bearer ${key}` } })
  await answer.text()
  return answer.status
}

const DAY_MS = 86_400_000
const print = (at: number): string => new Date(at).toISOString()

describe('a rotation', () => {
  it('lets clients change over without an outage', async () => {
    const { gateway, clock } = await openStreet([good])
    const { id, key: first } = await gateway.createKey({ name: 'app', budget_limit: 5 })
    const path = `/keys/${id}`
    const rotated = await ask(gateway, 'POST', `${path}/rotate`, { overlap_seconds: 3600 })
    const until = print(clock.now() + 3_600_000)
    expect(rotated).toEqual({
      status: 200,
      id,
      key: expect.stringMatching(/^svc-sk-/),
      name: 'app',
      previous_secret_until: until,
    })
    const second = String(rotated['key'])
    expect(await ask(gateway, 'GET', path)).toMatchObject({
      previous_secret_until: until,
      previous_secret_used_at: null,
    })
    expect([await statusOf(gateway, first), await statusOf(gateway, second)]).toEqual([200, 200])
    expect(await ask(gateway, 'GET', path)).toMatchObject({
      last_used_at: print(clock.now()),
      previous_secret_used_at: print(clock.now()),
    })
    clock.sleep(3_599_999)
    expect([await statusOf(gateway, first), await statusOf(gateway, second)]).toEqual([200, 200])
    clock.sleep(1)
    expect([await statusOf(gateway, first), await statusOf(gateway, second)]).toEqual([401, 200])
    const after = await ask(gateway, 'GET', path)
    expect(after).toMatchObject({ previous_secret_until: null, previous_secret_used_at: null })
    expect(after['budget_used']).toBeGreaterThan(0)
    const { data } = await ask(gateway, 'GET', `${path}/audit`)
    expect(data as readonly Json[]).toHaveLength(5)
  })

  it('gives a day where nothing else is said, and nothing where that is said', async () => {
    const { gateway, clock } = await openStreet([good])
    const { id, key: first } = await gateway.createKey({ name: 'app' })
    const second = await rotate(gateway, `/keys/${id}`)
    expect(second.previous_secret_until).toBe(print(clock.now() + DAY_MS))
    const third = await rotate(gateway, `/keys/${id}`, {})
    expect(third.previous_secret_until).toBe(print(clock.now() + DAY_MS))
    expect(await statusOf(gateway, first)).toBe(401)
    expect(await statusOf(gateway, second.key)).toBe(200)
    const fourth = await rotate(gateway, `/keys/${id}`, { overlap_seconds: 0 })
    expect(fourth.previous_secret_until).toBeNull()
    expect(await statusOf(gateway, second.key)).toBe(401)
    expect(await statusOf(gateway, third.key)).toBe(401)
    expect(await statusOf(gateway, fourth.key)).toBe(200)
    await ask(gateway, 'POST', `/keys/${id}/rotate`)
    await ask(gateway, 'DELETE', `/keys/${id}`)
    expect(await statusOf(gateway, fourth.key)).toBe(401)
    expect((await gateway.manage('POST', `/keys/${id}/rotate`)).status).toBe(409)
  })

  it.each([-1, 1.5, 2_592_001, '60', true, {}])('takes no overlap of %p', async (overlap) => {
    const { gateway } = await openStreet([good])
    const { id, key } = await gateway.createKey({ name: 'app' })
    const reply = await ask(gateway, 'POST', `/keys/${id}/rotate`, { overlap_seconds: overlap })
    expect(reply).toMatchObject({
      status: 400,
      error: { code: 'validation_error', param: 'overlap_seconds' },
    })
    const unknown = await ask(gateway, 'POST', `/keys/${id}/rotate`, { name: 'b' })
    expect(unknown).toMatchObject({ error: { code: 'unsupported_parameter', param: 'name' } })
    expect(await statusOf(gateway, key)).toBe(200)
  })

  it('leaves a call that runs on the old secret alone, and does not outlive the key', async () => {
    const gate = createGate()
    const clock = createFakeClock()
    const supplier = tidy(
      await startFakeSupplier(async (_, reply) => {
        await gate.opened
        reply.json(200, completion('Hi'))
      }),
    )
    const gateway = tidy(await startGateway({ clock, suppliers: [supplierAt(supplier.origin)] }))
    const expires = print(clock.now() + 60_000)
    const { id, key } = await gateway.createKey({ name: 'app', expires_at: expires })
    const running = statusOf(gateway, key)
    await supplier.request(0)
    const { key: second } = await rotate(gateway, `/keys/${id}`, { overlap_seconds: 0 })
    gate.open()
    expect(await running).toBe(200)
    expect(await statusOf(gateway, second)).toBe(200)
    const { key: third } = await rotate(gateway, `/keys/${id}`, { overlap_seconds: 3600 })
    clock.sleep(60_000)
    expect([await statusOf(gateway, second), await statusOf(gateway, third)]).toEqual([401, 401])
  })
})

/** A gateway over data that another one may go on with. */
async function startOver(folder: string, clock: FakeClock): Promise<Gateway> {
  const { origin } = tidy(await startFakeSupplier(good))
  return startGateway({
    clock,
    suppliers: [supplierAt(origin)],
    environment: { GATEWAY_DATA: join(folder, 'data') },
  })
}

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'key-life-'))
  folders.push(folder)
  return folder
}

describe('a restart', () => {
  it('forgets neither when a key was last used nor its two secrets', async () => {
    const folder = createFolder()
    const clock = createFakeClock()
    const before = await startOver(folder, clock)
    const { id, key: first } = await before.createKey({ name: 'app' })
    const idle = await before.createKey({ name: 'idle' })
    const { key: second } = await rotate(before, `/keys/${id}`, { overlap_seconds: 60 })
    clock.sleep(5000)
    expect(await statusOf(before, first)).toBe(200)
    const usedAt = print(clock.now())
    clock.sleep(1000)
    await before.drain()
    const after = tidy(await startOver(folder, clock))
    expect(await ask(after, 'GET', `/keys/${id}`)).toMatchObject({
      last_used_at: usedAt,
      previous_secret_until: expect.any(String),
    })
    expect(await ask(after, 'GET', `/keys/${idle.id}`)).toMatchObject({ last_used_at: null })
    expect([await statusOf(after, first), await statusOf(after, second)]).toEqual([200, 200])
    clock.sleep(60_000)
    expect([await statusOf(after, first), await statusOf(after, second)]).toEqual([401, 200])
    for (const file of readdirSync(join(folder, 'data'))) {
      const bytes = readFileSync(join(folder, 'data', file))
      for (const secret of [first, second]) expect(bytes.includes(secret)).toBe(false)
    }
  })

  it('is not needed to have it written down: that happens once a minute', async () => {
    const folder = createFolder()
    const clock = createFakeClock()
    const gateway = tidy(await startOver(folder, clock))
    const { id, key } = await gateway.createKey({ name: 'app' })
    await statusOf(gateway, key)
    const usedAt = clock.now()
    clock.advance(61_000)
    const database = new Database(join(folder, 'data', 'gateway.db'), { readonly: true })
    try {
      const row = database.query('SELECT last_used_at FROM keys WHERE id = ?').get(id)
      expect(row).toEqual({ last_used_at: usedAt })
    } finally {
      database.close()
    }
  })
})

describe('what was done to a credential', () => {
  it('is recorded with what was before and after, and never with a secret', async () => {
    const { gateway } = await openStreet([good])
    const { id, key: first } = await gateway.createKey({ name: 'app', budget_limit: 0.5 })
    const path = `/keys/${id}`
    await ask(gateway, 'PATCH', path, { budget_limit: null, name: 'other' })
    const { key: second } = await rotate(gateway, path, { overlap_seconds: 60 })
    await ask(gateway, 'DELETE', path)
    await ask(gateway, 'DELETE', path)
    const reply = await gateway.manage('GET', `/actions?target=${id}`)
    const text = await reply.text()
    for (const secret of [first, second])
      for (const trace of [secret, hashSecret(secret)]) expect(text).not.toContain(trace)
    const actions = (JSON.parse(text) as Json)['data'] as readonly Json[]
    expect(actions.map(({ action }) => action)).toEqual([
      'key.revoke',
      'key.rotate',
      'key.update',
      'key.create',
    ])
    expect(actions[3]).toMatchObject({ before: null, after: { name: 'app', budget_limit: 0.5 } })
    expect(actions[2]).toMatchObject({
      before: { name: 'app', budget_limit: 0.5, budget_period: 'monthly' },
      after: { name: 'other', budget_limit: null, budget_period: null },
    })
  })
})

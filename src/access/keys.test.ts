// A key's life over a real store: what the store holds and what the ring lets in must never differ.
import { afterEach, beforeEach, describe, expect, it } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '../core/clock.ts'
import { hashSecret } from '../core/ids.ts'
import type { KeyRecord } from '../core/key.ts'
import { toNanoUsd } from '../core/money.ts'
import { GatewayError } from '../core/problem.ts'
import { openSqliteStore } from '../store/sqlite/open.ts'
import type { Store } from '../store/store.ts'
import { Keyring } from './keyring.ts'
import { createKey, getKey, listKeys, patchKey, revokeKey, type KeyDesk } from './keys.ts'

const NOW = Date.UTC(2026, 0, 15, 12)

let folder: string
let store: Store
let desk: KeyDesk
let accountId: string
let now: number

/** What the books were told, newest last. */
let told: KeyRecord[]

const nowhere = { leave(): void {} }
const clock: Clock = {
  now: () => now,
  elapsed: () => now,
  everySecond: () => nowhere,
  after: () => nowhere,
}

beforeEach(async () => {
  now = NOW
  folder = mkdtempSync(join(tmpdir(), 'keys-'))
  store = await openSqliteStore({ folder, clock })
  accountId = (await store.load()).accountId
  told = []
  const ledger = { put: (key: KeyRecord): void => void told.push(key) }
  desk = { keys: store.keys, keyring: new Keyring([], clock), ledger, clock }
})

afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

async function refusalOf(work: Promise<unknown>): Promise<readonly [string, number, boolean]> {
  try {
    await work
  } catch (thrown) {
    if (thrown instanceof GatewayError) return [thrown.code, thrown.status, thrown.retryable]
    throw thrown
  }
  throw new Error('nothing was refused')
}

function enter(secret: string): KeyRecord {
  return desk.keyring.authenticate(new Headers({ authorization: `Bearer ${secret}` }), 'infer')
}

const NOT_FOUND = ['not_found', 404, false] as const

describe('managed keys', () => {
  it('are in the store and in the ring once they are made', async () => {
    const { key, secret } = await createKey(desk, accountId, { name: 'a', budget_limit: 5 })
    expect(key.id).toMatch(/^key_[\w-]{22}$/)
    expect(secret).toMatch(/^svc-sk-[\w-]{43}$/)
    expect(key).toMatchObject({ kind: 'managed', createdAt: NOW, revokedAt: undefined })
    expect(enter(secret)).toEqual(key)
    expect(await getKey(desk, { accountId, id: key.id })).toEqual(key)
    expect((await store.load()).keys).toEqual([key])
    expect(told).toEqual([key])
  })

  it('keep the hash of the secret alone, and the hash is no key', async () => {
    const { key, secret } = await createKey(desk, accountId, { name: 'a' })
    expect(key.hash).toBe(hashSecret(secret))
    expect(JSON.stringify(await store.load())).not.toContain(secret)
    for (const forged of [
      key.hash,
      `svc-sk-${key.hash}`,
      key.id,
      `${secret}x`,
      secret.slice(0, -1),
    ])
      expect(() => enter(forged)).toThrow(GatewayError)
  })

  it('are neither stored nor let in when their settings are refused', async () => {
    const refusal = await refusalOf(createKey(desk, accountId, { name: '' }))
    expect(refusal).toEqual(['validation_error', 400, false])
    expect((await store.load()).keys).toEqual([])
  })

  it('are listed newest first, without the root key', async () => {
    await store.keys.replaceRoot(accountId, 'root-hash')
    const ids: string[] = []
    for (const name of ['a', 'b', 'c']) {
      // oxlint-disable-next-line no-await-in-loop -- their order is what is tested
      ids.unshift((await createKey(desk, accountId, { name })).key.id)
      now += 1
    }
    const page = await listKeys(desk, accountId, { limit: 2, cursor: undefined })
    const rest = await listKeys(desk, accountId, { limit: 2, cursor: page.next })
    expect([...page.items, ...rest.items].map(({ id }) => id)).toEqual(ids)
    expect(rest.next).toBeUndefined()
  })

  it('change in the store and in the ring before the change is answered', async () => {
    const { key, secret } = await createKey(desk, accountId, { name: 'a', budget_limit: 5 })
    const address = { accountId, id: key.id }
    const changed = await patchKey(desk, address, { allowed_models: ['m'], budget_limit: null })
    expect(changed).toEqual({
      ...key,
      allowedModels: ['m'],
      budgetLimit: undefined,
      budgetPeriod: undefined,
    })
    expect(enter(secret)).toEqual(changed)
    expect(await getKey(desk, address)).toEqual(changed)
    expect(told).toEqual([key, changed])
  })

  it('tell the books of their limits in the order in which they were changed', async () => {
    const { key } = await createKey(desk, accountId, { name: 'a', budget_limit: 5 })
    const address = { accountId, id: key.id }
    await Promise.all([
      patchKey(desk, address, { budget_limit: 1 }),
      patchKey(desk, address, { budget_limit: 9, fit: 'off' }),
      revokeKey(desk, address),
    ])
    const five = toNanoUsd(5_000_000_000)
    const nine = toNanoUsd(9_000_000_000)
    expect(
      told.map(({ budgetLimit, fitsBudget, revokedAt }) => [budgetLimit, fitsBudget, revokedAt]),
    ).toEqual([
      [five, true, undefined],
      [toNanoUsd(1_000_000_000), true, undefined],
      [nine, false, undefined],
      [nine, false, NOW],
    ])
  })

  it('lose no change when many arrive at once', async () => {
    const { key, secret } = await createKey(desk, accountId, { name: 'a' })
    const address = { accountId, id: key.id }
    const refused = refusalOf(patchKey(desk, address, { budget_period: 'daily' }))
    await Promise.all([
      patchKey(desk, address, { budget_limit: 5 }),
      patchKey(desk, address, { rate_limit_rpm: 7 }),
      patchKey(desk, address, { allowed_regions: 'eu' }),
      patchKey(desk, address, { metadata: { team: 'x' } }),
    ])
    expect(await refused).toEqual(['missing_fields', 400, false])
    expect(enter(secret)).toEqual({
      ...key,
      budgetLimit: toNanoUsd(5_000_000_000),
      budgetPeriod: 'monthly',
      rateLimitRpm: 7,
      allowedRegions: ['EU'],
      metadata: { team: 'x' },
    })
    expect(await getKey(desk, address)).toEqual(enter(secret))
  })

  it('stay revoked when a change arrives in the same moment', async () => {
    const { key, secret } = await createKey(desk, accountId, { name: 'a' })
    const address = { accountId, id: key.id }
    const before = patchKey(desk, address, { name: 'b' })
    const revoked = revokeKey(desk, address)
    const after = refusalOf(patchKey(desk, address, { name: 'c' }))
    expect((await before).name).toBe('b')
    expect(await revoked).toMatchObject({ name: 'b', revokedAt: NOW })
    expect(await after).toEqual(['conflict', 409, false])
    expect(() => enter(secret)).toThrow(/not valid/)
  })

  it('are revoked once; a second time answers the same', async () => {
    const { key, secret } = await createKey(desk, accountId, { name: 'a' })
    const address = { accountId, id: key.id }
    const first = await revokeKey(desk, address)
    now += 1000
    expect(await revokeKey(desk, address)).toEqual(first)
    expect(first).toEqual({ ...key, revokedAt: NOW })
    expect(await getKey(desk, address)).toEqual(first)
    expect(() => enter(secret)).toThrow(/not valid/)
  })

  it('end with their date, and come back when it is moved', async () => {
    const body = { name: 'a', expires_at: '2026-01-15T12:00:01Z' }
    const { key, secret } = await createKey(desk, accountId, body)
    now += 1000
    expect(() => enter(secret)).toThrow(/expired/)
    await patchKey(desk, { accountId, id: key.id }, { expires_at: null })
    expect(enter(secret).expiresAt).toBeUndefined()
  })

  it('are not found under another account, and neither is the root key', async () => {
    const { key } = await createKey(desk, accountId, { name: 'a' })
    const root = await store.keys.replaceRoot(accountId, 'root-hash')
    const addresses = [
      { accountId: 'acc_other', id: key.id },
      { accountId, id: root.id },
      { accountId, id: 'key_unknown' },
      { accountId, id: 'constructor' },
      { accountId, id: '' },
    ]
    const refusals = await Promise.all(
      addresses.flatMap((address) => [
        refusalOf(getKey(desk, address)),
        refusalOf(patchKey(desk, address, { name: 'b' })),
        refusalOf(revokeKey(desk, address)),
      ]),
    )
    expect(refusals).toEqual(refusals.map(() => NOT_FOUND))
    expect((await store.load()).keys.map(({ name, revokedAt }) => [name, revokedAt])).toEqual([
      ['a', undefined],
      ['root', undefined],
    ])
  })

  it('are refused for a wrong body before it is known whether they exist', async () => {
    const refusal = await refusalOf(patchKey(desk, { accountId, id: 'key_unknown' }, {}))
    expect(refusal).toEqual(['missing_fields', 400, false])
  })
})

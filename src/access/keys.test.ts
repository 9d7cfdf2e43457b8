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
import type { Act } from './act.ts'
import { CREDENTIALS_MAX } from './bounds.ts'
import { Directory } from './directory.ts'
import {
  createKey,
  getKey,
  listKeys,
  patchKey,
  revokeKey,
  rotateKey,
  type KeyAddress,
  type KeyDesk,
} from './keys.ts'

const NOW = Date.UTC(2026, 0, 15, 12)

let folder: string
let store: Store
let desk: KeyDesk
let root: KeyRecord
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
  const { accountId } = await store.load()
  root = await store.keys.replaceRoot(accountId, 'root-hash')
  told = []
  const ledger = { put: (key: KeyRecord): void => void told.push(key) }
  const directory = new Directory()
  directory.operatorId = accountId
  desk = {
    keys: store.keys,
    keyring: new Keyring([root], clock, directory),
    directory,
    ledger,
    clock,
  }
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

/** What the root key asks for. */
function act(caller = root): Act {
  return { caller, requestId: 'req_1', at: now, claim: undefined }
}

function addressOf({ id }: KeyRecord): KeyAddress {
  return { kind: 'managed', id }
}

function enter(secret: string): KeyRecord {
  return desk.keyring.authenticate(new Headers({ authorization: `Bearer ${secret}` }), 'infer')
}

const NOT_FOUND = ['not_found', 404, false] as const
const INVALID_KEY = ['invalid_api_key', 401, false] as const

describe('managed keys', () => {
  it('are in the store and in the ring once they are made', async () => {
    const { key, secret } = await createKey(desk, act(), 'managed', { name: 'a', budget_limit: 5 })
    expect(key.id).toMatch(/^key_[\w-]{22}$/)
    expect(secret).toMatch(/^svc-sk-[\w-]{43}$/)
    expect(key).toMatchObject({ kind: 'managed', createdAt: NOW, revokedAt: undefined })
    expect(enter(secret)).toEqual(key)
    expect(await getKey(desk, root, addressOf(key))).toEqual(key)
    expect((await store.load()).keys).toEqual([root, key])
    expect(told).toEqual([key])
  })

  it('keep the hash of the secret alone, and the hash is no key', async () => {
    const { key, secret } = await createKey(desk, act(), 'managed', { name: 'a' })
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
    const refusal = await refusalOf(createKey(desk, act(), 'managed', { name: '' }))
    expect(refusal).toEqual(['validation_error', 400, false])
    expect((await store.load()).keys).toEqual([root])
  })

  it('are so many of an account and no more, revoked ones among them', async () => {
    for (let number = 0; number < CREDENTIALS_MAX; number++)
      desk.keyring.put({ ...root, id: `key_${number}`, hash: `${number}`, kind: 'managed' })
    const refusal = await refusalOf(createKey(desk, act(), 'managed', { name: 'one more' }))
    expect(refusal).toEqual(['conflict', 409, false])
    expect((await store.load()).keys).toEqual([root])
  })

  it('are listed newest first, without the root key', async () => {
    const ids: string[] = []
    for (const name of ['a', 'b', 'c']) {
      // oxlint-disable-next-line no-await-in-loop -- their order is what is tested
      ids.unshift((await createKey(desk, act(), 'managed', { name })).key.id)
      now += 1
    }
    const page = await listKeys(desk, root, { kind: 'managed', limit: 2, cursor: undefined })
    const rest = await listKeys(desk, root, { kind: 'managed', limit: 2, cursor: page.next })
    expect([...page.items, ...rest.items].map(({ id }) => id)).toEqual(ids)
    expect(rest.next).toBeUndefined()
  })

  it('change in the store and in the ring before the change is answered', async () => {
    const { key, secret } = await createKey(desk, act(), 'managed', { name: 'a', budget_limit: 5 })
    const address = addressOf(key)
    const changed = await patchKey(desk, act(), address, {
      allowed_models: ['m'],
      budget_limit: null,
    })
    expect(changed).toEqual({
      ...key,
      allowedModels: ['m'],
      budgetLimit: undefined,
      budgetPeriod: undefined,
    })
    expect(enter(secret)).toEqual(changed)
    expect(await getKey(desk, root, address)).toEqual(changed)
    expect(told).toEqual([key, changed])
  })

  it('tell the books of their limits in the order in which they were changed', async () => {
    const { key } = await createKey(desk, act(), 'managed', { name: 'a', budget_limit: 5 })
    const address = addressOf(key)
    await Promise.all([
      patchKey(desk, act(), address, { budget_limit: 1 }),
      patchKey(desk, act(), address, { budget_limit: 9, fit: 'off' }),
      revokeKey(desk, act(), address),
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
    const { key, secret } = await createKey(desk, act(), 'managed', { name: 'a' })
    const address = addressOf(key)
    const refused = refusalOf(patchKey(desk, act(), address, { budget_period: 'daily' }))
    await Promise.all([
      patchKey(desk, act(), address, { budget_limit: 5 }),
      patchKey(desk, act(), address, { rate_limit_rpm: 7 }),
      patchKey(desk, act(), address, { allowed_regions: 'eu' }),
      patchKey(desk, act(), address, { metadata: { team: 'x' } }),
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
    expect(await getKey(desk, root, address)).toEqual(enter(secret))
  })

  it('stay revoked when a change arrives in the same moment', async () => {
    const { key, secret } = await createKey(desk, act(), 'managed', { name: 'a' })
    const address = addressOf(key)
    const before = patchKey(desk, act(), address, { name: 'b' })
    const revoked = revokeKey(desk, act(), address)
    const after = refusalOf(patchKey(desk, act(), address, { name: 'c' }))
    expect((await before).name).toBe('b')
    expect(await revoked).toMatchObject({ name: 'b', revokedAt: NOW })
    expect(await after).toEqual(['conflict', 409, false])
    expect(() => enter(secret)).toThrow(/not valid/)
  })

  it('are revoked once; a second time answers the same', async () => {
    const { key, secret } = await createKey(desk, act(), 'managed', { name: 'a' })
    const address = addressOf(key)
    const first = await revokeKey(desk, act(), address)
    now += 1000
    expect(await revokeKey(desk, act(), address)).toEqual(first)
    expect(first).toEqual({ ...key, revokedAt: NOW })
    expect(await getKey(desk, root, address)).toEqual(first)
    expect(() => enter(secret)).toThrow(/not valid/)
  })

  it('end with their date, and come back when it is moved', async () => {
    const body = { name: 'a', expires_at: '2026-01-15T12:00:01Z' }
    const { key, secret } = await createKey(desk, act(), 'managed', body)
    now += 1000
    expect(() => enter(secret)).toThrow(/expired/)
    await patchKey(desk, act(), addressOf(key), { expires_at: null })
    expect(enter(secret).expiresAt).toBeUndefined()
  })

  it('are not found under another account, and neither is the root key', async () => {
    const { key } = await createKey(desk, act(), 'managed', { name: 'a' })
    const stranger = { ...root, id: 'key_stranger', accountId: 'acc_other', hash: 'stranger' }
    desk.keyring.put(stranger)
    const tries: readonly (readonly [KeyRecord, KeyAddress])[] = [
      [stranger, addressOf(key)],
      [root, addressOf(root)],
      [root, { kind: 'token', id: key.id }],
      [root, { kind: 'managed', id: 'key_unknown' }],
      [root, { kind: 'managed', id: 'constructor' }],
      [root, { kind: 'managed', id: '' }],
    ]
    const refusals = await Promise.all(
      tries.flatMap(([caller, address]) => [
        refusalOf(getKey(desk, caller, address)),
        refusalOf(patchKey(desk, act(caller), address, { name: 'b' })),
        refusalOf(rotateKey(desk, act(caller), address, 0)),
        refusalOf(revokeKey(desk, act(caller), address)),
      ]),
    )
    expect(refusals).toEqual(refusals.map(() => NOT_FOUND))
    expect((await store.load()).keys.map(({ name, revokedAt }) => [name, revokedAt])).toEqual([
      ['root', undefined],
      ['a', undefined],
    ])
  })

  it('are refused for a wrong body before it is known whether they exist', async () => {
    const refusal = await refusalOf(
      patchKey(desk, act(), { kind: 'managed', id: 'key_unknown' }, {}),
    )
    expect(refusal).toEqual(['missing_fields', 400, false])
  })

  it('obey what a caller is by now, and not what it was when it asked', async () => {
    const { key } = await createKey(desk, act(), 'managed', { name: 'a' })
    desk.keyring.put({ ...root, revokedAt: now })
    const refusals = await Promise.all([
      refusalOf(createKey(desk, act(), 'managed', { name: 'b' })),
      refusalOf(patchKey(desk, act(), addressOf(key), { name: 'b' })),
      refusalOf(rotateKey(desk, act(), addressOf(key), 0)),
      refusalOf(revokeKey(desk, act(), addressOf(key))),
    ])
    for (const refusal of refusals) expect(refusal).toEqual(INVALID_KEY)
  })
})

describe('a rotation', () => {
  it('lets both secrets in, and the old one not a moment longer than said', async () => {
    const { key, secret: first } = await createKey(desk, act(), 'managed', { name: 'a' })
    const { key: rotated, secret: second } = await rotateKey(desk, act(), addressOf(key), 1000)
    expect(rotated).toEqual({
      ...key,
      hash: hashSecret(second),
      previous: { hash: key.hash, until: NOW + 1000 },
    })
    // The same key, known by the secret that it came with.
    expect(enter(first)).toEqual({ ...rotated, hash: key.hash })
    expect(enter(second)).toEqual(rotated)
    now += 999
    expect(enter(first).id).toBe(key.id)
    now += 1
    expect(() => enter(first)).toThrow(/not valid/)
    expect(enter(second)).toEqual(rotated)
    expect((await store.load()).keys).toEqual([root, rotated])
  })

  it('ends the secret before the last one at once, and without an overlap the last one, too', async () => {
    const { key, secret: first } = await createKey(desk, act(), 'managed', { name: 'a' })
    const { secret: second } = await rotateKey(desk, act(), addressOf(key), 1000)
    const { secret: third } = await rotateKey(desk, act(), addressOf(key), 1000)
    expect(() => enter(first)).toThrow(/not valid/)
    expect(enter(second).id).toBe(enter(third).id)
    const { secret: fourth } = await rotateKey(desk, act(), addressOf(key), 0)
    for (const old of [first, second, third]) expect(() => enter(old)).toThrow(/not valid/)
    expect(enter(fourth).previous).toBeUndefined()
  })

  it('is undone for both secrets by a revocation, and none comes after it', async () => {
    const { key, secret: first } = await createKey(desk, act(), 'managed', { name: 'a' })
    const rotating = rotateKey(desk, act(), addressOf(key), 1000)
    const revoking = revokeKey(desk, act(), addressOf(key))
    const late = refusalOf(rotateKey(desk, act(), addressOf(key), 1000))
    const { secret: second } = await rotating
    await revoking
    expect(await late).toEqual(['conflict', 409, false])
    for (const secret of [first, second]) expect(() => enter(secret)).toThrow(/not valid/)
  })
})

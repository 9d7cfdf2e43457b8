// Who is let in where: by the role of a route, by the state of the account, and what the ring remembers of it.
import { beforeEach, describe, expect, it } from 'bun:test'
import { createFakeClock, type FakeClock } from '../../test/fakes/clock.ts'
import { hashSecret } from '../core/ids.ts'
import { NO_LIMITS, NO_TIES, type KeyRecord } from '../core/key.ts'
import { GatewayError } from '../core/problem.ts'
import type { KeyUse } from '../store/store.ts'
import { Directory } from './directory.ts'
import { Keyring, type Role } from './keyring.ts'
import { KeyUses } from './uses.ts'

let clock: FakeClock
let directory: Directory
let ring: Keyring

function keyOf(name: string, changes: Partial<KeyRecord> = {}): KeyRecord {
  const identity = {
    id: `key_${name}`,
    name,
    accountId: 'acc_own',
    hash: hashSecret(`svc_${name}`),
  }
  return { ...NO_LIMITS, ...NO_TIES, ...identity, kind: 'managed', createdAt: 0, ...changes }
}

beforeEach(() => {
  clock = createFakeClock()
  directory = new Directory()
  directory.operatorId = 'acc_own'
  ring = new Keyring([], clock, directory)
})

function enter(name: string, role: Exclude<Role, 'open'> = 'infer'): string {
  try {
    return ring.authenticate(new Headers({ authorization: `Bearer svc_${name}` }), role).id
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown.code
    throw thrown
  }
}

describe('a role', () => {
  it('is met by those who have it and by no others', () => {
    ring.put(keyOf('operator', { kind: 'root' }))
    ring.put(keyOf('root', { kind: 'root', accountId: 'acc_other' }))
    ring.put(keyOf('manager', { kind: 'token', manages: true }))
    ring.put(keyOf('token', { kind: 'token' }))
    ring.put(keyOf('key'))
    const roles = ['any', 'infer', 'manage', 'administer', 'operate'] as const
    const met = (name: string): readonly string[] =>
      roles.filter((role) => enter(name, role) === `key_${name}`)
    expect(met('operator')).toEqual([...roles])
    expect(met('root')).toEqual(['any', 'infer', 'manage', 'administer'])
    expect(met('manager')).toEqual(['any', 'infer', 'manage'])
    expect(met('token')).toEqual(['any', 'infer'])
    expect(met('key')).toEqual(['any', 'infer'])
    expect(enter('key', 'manage')).toBe('permission_denied')
    expect(enter('root', 'operate')).toBe('permission_denied')
    expect(enter('nobody')).toBe('invalid_api_key')
  })
})

describe('an account that is closed', () => {
  it('lets none of its keys in, and lets them in again when it is opened', () => {
    const account = { id: 'acc_other', name: 'other', createdAt: 0 }
    ring.put(keyOf('root', { kind: 'root', accountId: 'acc_other' }))
    ring.put(keyOf('own'))
    directory.put({ type: 'account', record: { ...account, endedAt: 1 } })
    expect([enter('root'), enter('own')]).toEqual(['account_status', 'key_own'])
    directory.put({ type: 'account', record: { ...account, endedAt: undefined } })
    expect(enter('root')).toBe('key_root')
  })
})

describe('two secrets of one key', () => {
  it('lead to the same key, and the ring knows it once', () => {
    const previous = { hash: hashSecret('svc_old'), until: clock.now() + 1000 }
    const key = keyOf('new', { previous })
    ring.put(keyOf('new', { hash: hashSecret('svc_old') }))
    ring.put(key)
    expect([enter('new'), enter('old')]).toEqual(['key_new', 'key_new'])
    expect([...ring.keys()]).toEqual([key])
    clock.sleep(1000)
    expect([enter('new'), enter('old')]).toEqual(['key_new', 'invalid_api_key'])
  })

  it('tell when the old one was last used, and forget it with the next rotation', () => {
    const until = clock.now() + 5000
    ring.put(keyOf('new', { previous: { hash: hashSecret('svc_old'), until } }))
    enter('new')
    expect(ring.previousLastUsed('key_new')).toBeUndefined()
    clock.sleep(10)
    enter('old')
    expect(ring.previousLastUsed('key_new')).toBe(clock.now())
    ring.put(keyOf('new', { previous: { hash: hashSecret('svc_older'), until } }))
    expect(ring.previousLastUsed('key_new')).toBeUndefined()
  })
})

describe('the last use of a key', () => {
  it('is the last time that it was let in', () => {
    ring.put(keyOf('used', { lastUsedAt: 5 }))
    ring.put(keyOf('idle'))
    expect([ring.lastUsed('key_used'), ring.lastUsed('key_idle')]).toEqual([5, undefined])
    clock.sleep(10)
    enter('used')
    const at = clock.now()
    clock.sleep(10)
    enter('used', 'manage')
    expect(ring.lastUsed('key_used')).toBe(at)
    ring.put(keyOf('used', { name: 'changed', lastUsedAt: 5 }))
    expect(ring.lastUsed('key_used')).toBe(at)
  })

  it('is handed on once', () => {
    ring.put(keyOf('used', { lastUsedAt: 5 }))
    expect(ring.takeUses()).toEqual([])
    enter('used')
    expect(ring.takeUses()).toEqual([{ id: 'key_used', at: clock.now() }])
    expect(ring.takeUses()).toEqual([])
  })

  it('is written down once a minute, again where that failed, and at the end', async () => {
    const written: KeyUse[][] = []
    let isBroken = false
    const touch = (uses: readonly KeyUse[]): Promise<void> => {
      if (isBroken) return Promise.reject(new Error('no disk'))
      written.push([...uses])
      return Promise.resolve()
    }
    const uses = new KeyUses({ keyring: ring, keys: { touch }, clock })
    clock.everySecond(uses)
    ring.put(keyOf('used'))
    enter('used')
    const first = clock.now()
    clock.advance(59_000)
    expect(written).toEqual([])
    isBroken = true
    clock.advance(1000)
    await Promise.resolve()
    isBroken = false
    await new Promise(setImmediate)
    clock.advance(1000)
    await new Promise(setImmediate)
    expect(written).toEqual([[{ id: 'key_used', at: first }]])
    clock.advance(120_000)
    expect(written).toHaveLength(1)
    enter('used')
    await uses.flush()
    await uses.flush()
    expect(written).toEqual([
      [{ id: 'key_used', at: first }],
      [{ id: 'key_used', at: clock.now() }],
    ])
  })

  it('that falls into the writing of the one before is written after it', async () => {
    const written: KeyUse[][] = []
    const writing = Promise.withResolvers<void>()
    const touch = (uses: readonly KeyUse[]): Promise<void> => {
      written.push([...uses])
      return writing.promise
    }
    const uses = new KeyUses({ keyring: ring, keys: { touch }, clock })
    clock.everySecond(uses)
    ring.put(keyOf('used'))
    enter('used')
    clock.advance(60_000)
    enter('used')
    const second = clock.now()
    clock.advance(60_000)
    expect(written).toHaveLength(1)
    writing.resolve()
    await new Promise(setImmediate)
    clock.advance(1000)
    expect(written[1]).toEqual([{ id: 'key_used', at: second }])
  })

  it('of many keys is written piece by piece, and none is left out', async () => {
    const sizes: number[] = []
    const seen = new Set<string>()
    const touch = (uses: readonly KeyUse[]): Promise<void> => {
      sizes.push(uses.length)
      for (const { id } of uses) seen.add(id)
      return Promise.resolve()
    }
    const uses = new KeyUses({ keyring: ring, keys: { touch }, clock })
    clock.everySecond(uses)
    for (let index = 0; index < 600; index++) {
      ring.put(keyOf(`k${index}`))
      enter(`k${index}`)
    }
    clock.advance(60_000)
    for (let round = 0; round < 4; round++) {
      // oxlint-disable-next-line no-await-in-loop -- a piece is written before the next is begun
      await new Promise(setImmediate)
      clock.advance(1000)
    }
    expect([sizes, seen.size]).toEqual([[250, 250, 100], 600])
  })
})

// Every engine runs this one suite. An engine that needs an exception does not meet the contract.
import { afterEach, beforeEach, describe, expect, it } from 'bun:test'
import { hashSecret } from '../../src/core/ids.ts'
import type { KeyRecord, KeySettings } from '../../src/core/key.ts'
import { toNanoUsd } from '../../src/core/money.ts'
import type { Store } from '../../src/store/store.ts'
import { describeAudit } from './audit.ts'
import { describeLedger } from './ledger.ts'
import { describeKeys } from './keys.ts'
import {
  asRecord,
  BARE_SETTINGS,
  LARGEST,
  NOW,
  readAll,
  sampleDeed,
  sampleKey,
  sampleRow,
} from './samples.ts'
import { describeClaims } from './claims.ts'
import { describeIdentities } from './identities.ts'
import { describeTenancy } from './tenancy.ts'
import { describeWallets } from './wallets.ts'

export interface OpenedStore {
  /** With a clock that stands at `NOW`. */
  readonly store: Store
  /** Closes the store and opens it again over the same data. */
  reopen(): Promise<Store>
  dispose(): Promise<void>
}

const MANAGED = { kind: 'managed', now: NOW } as const

const FULL_SETTINGS: KeySettings = {
  name: "Zoë's \"key\" 'x'; DROP TABLE keys --",
  allowedModels: ['a-model', 'maker/other,model'],
  allowedRegions: [],
  budgetLimit: LARGEST,
  budgetPeriod: 'rolling',
  fitsBudget: false,
  rateLimitRpm: 60,
  metadata: { team: 'söarch', empty: '', '': 'nameless' },
  expiresAt: NOW + 86_400_000,
}

export function describeStore(name: string, open: () => Promise<OpenedStore>): void {
  describe(`store: ${name}`, () => {
    let opened: OpenedStore
    let store: Store
    let accountId: string

    beforeEach(async () => {
      opened = await open()
      store = opened.store
      accountId = (await store.load()).accountId
    })
    afterEach(() => opened.dispose())

    const listRequestIds = async (account: string, limit: number): Promise<readonly string[]> =>
      (await readAll((cursor) => store.audit.list(account, { limit, cursor }))).map(
        (row) => row.requestId,
      )

    const listKeys = (account: string, limit: number): Promise<readonly KeyRecord[]> =>
      readAll((cursor) => store.keys.list(account, { ...MANAGED, limit, cursor }))

    it('has an account from the start and keeps it', async () => {
      expect(accountId).toMatch(/^acc_[\w-]{16,}$/)
      expect((await store.load()).keys).toEqual([])
      const { tenancy } = await store.load()
      const ledger = { at: 0, spent: [], balances: [], open: [] }
      const none = { keys: [], identities: [] }
      expect(await (await opened.reopen()).load()).toEqual({ accountId, tenancy, ...none, ledger })
    })

    it('answers any number of pings, and whoever reads beside them', async () => {
      const pings = Array.from({ length: 1500 }, () => store.ping())
      const reads = Array.from({ length: 20 }, () => listRequestIds('acc_a', 1))
      expect(new Set(await Promise.all(pings))).toEqual(new Set([undefined]))
      expect(await Promise.all(reads)).toEqual(reads.map(() => []))
    })

    it('grants no more than was wanted', async () => {
      expect(await store.acquire('key/a', toNanoUsd(80))).toBeLessThanOrEqual(80)
    })

    describe('append', () => {
      it('is durable once it resolves', async () => {
        const rows = [sampleRow(), sampleRow({ at: NOW - 1 })]
        await store.append(rows.toReversed().map(asRecord))
        store = await opened.reopen()
        const page = await store.audit.list('acc_a', { limit: 10, cursor: undefined })
        expect(page).toEqual({ items: rows, next: undefined })
      })

      it('is durable when the store is closed at once', async () => {
        const row = sampleRow()
        const appended = store.append([asRecord(row)])
        store = await opened.reopen()
        await appended
        expect(await listRequestIds('acc_a', 10)).toEqual([row.requestId])
      })

      it('lands every batch exactly once when many are appended at once', async () => {
        const rows = Array.from({ length: 1500 }, (_, index) =>
          sampleRow({ at: NOW + (index % 7) }),
        )
        const batches = Array.from({ length: 500 }, (_, index) =>
          rows.slice(index * 3, index * 3 + 3),
        )
        await Promise.all(batches.map((batch) => store.append(batch.map(asRecord))))
        const found = await listRequestIds('acc_a', 400)
        expect(found.toSorted()).toEqual(rows.map((row) => row.requestId).toSorted())
      })

      it('takes an empty batch', async () => {
        await store.append([])
        expect(await listRequestIds('acc_a', 10)).toEqual([])
      })

      it('is seen by the very next read', async () => {
        const rows = Array.from({ length: 20 }, (_, index) => sampleRow({ at: NOW + index }))
        for (const [index, row] of rows.entries()) {
          // Each read must see the write before it, so they cannot run together.
          // oxlint-disable-next-line no-await-in-loop -- see above
          await store.append([asRecord(row)])
          // oxlint-disable-next-line no-await-in-loop -- see above
          expect(await listRequestIds('acc_a', 100)).toHaveLength(index + 1)
        }
      })

      it('is refused after close', async () => {
        await store.close()
        expect(store.append([asRecord(sampleRow())])).rejects.toMatchObject({
          code: 'billing_unavailable',
        })
      })
    })

    describe('keys', () => {
      it('are found as they were inserted', async () => {
        const bare = sampleKey(accountId)
        const full = sampleKey(accountId, { ...FULL_SETTINGS, kind: 'token', revokedAt: NOW + 1 })
        await store.keys.insert(bare, sampleDeed())
        await store.keys.insert(full, sampleDeed())
        expect(await store.keys.find(accountId, bare.id)).toStrictEqual(bare)
        expect(await store.keys.find(accountId, full.id)).toStrictEqual(full)
        expect((await store.load()).keys).toStrictEqual([bare, full])
        store = await opened.reopen()
        expect((await store.load()).keys).toStrictEqual([bare, full])
      })

      it('take new settings and lose old ones', async () => {
        const key = sampleKey(accountId)
        await store.keys.insert(key, sampleDeed())
        const full = { ...key, ...FULL_SETTINGS }
        expect(
          await store.keys.update(accountId, key.id, FULL_SETTINGS, sampleDeed()),
        ).toStrictEqual(full)
        expect(await store.keys.find(accountId, key.id)).toStrictEqual(full)
        expect(
          await store.keys.update(accountId, key.id, BARE_SETTINGS, sampleDeed()),
        ).toStrictEqual(key)
        expect(await store.keys.find(accountId, key.id)).toStrictEqual(key)
      })

      it('are revoked once', async () => {
        const key = sampleKey(accountId)
        await store.keys.insert(key, sampleDeed())
        const revoked = { ...key, revokedAt: NOW + 5 }
        expect(await store.keys.revoke(accountId, key.id, NOW + 5, sampleDeed())).toStrictEqual(
          revoked,
        )
        expect(await store.keys.revoke(accountId, key.id, NOW + 9, sampleDeed())).toStrictEqual(
          revoked,
        )
        expect(await store.keys.find(accountId, key.id)).toStrictEqual(revoked)
      })

      it('of another account are not found', async () => {
        const key = sampleKey(accountId)
        await store.keys.insert(key, sampleDeed())
        expect(await store.keys.find('acc_other', key.id)).toBeUndefined()
        expect(
          await store.keys.update('acc_other', key.id, FULL_SETTINGS, sampleDeed()),
        ).toBeUndefined()
        expect(await store.keys.revoke('acc_other', key.id, NOW, sampleDeed())).toBeUndefined()
        expect((await listKeys('acc_other', 10)).length).toBe(0)
        expect(await store.keys.find(accountId, key.id)).toStrictEqual(key)
      })

      it('that do not exist are not found', async () => {
        expect(await store.keys.find(accountId, 'key_none')).toBeUndefined()
        expect(
          await store.keys.update(accountId, 'key_none', BARE_SETTINGS, sampleDeed()),
        ).toBeUndefined()
        expect(await store.keys.revoke(accountId, 'key_none', NOW, sampleDeed())).toBeUndefined()
      })

      it('may not share a secret or an id', async () => {
        const key = sampleKey(accountId)
        await store.keys.insert(key, sampleDeed())
        const sameHash = sampleKey(accountId, { hash: key.hash })
        const sameId = sampleKey(accountId, { id: key.id, hash: hashSecret('another') })
        expect(store.keys.insert(sameHash, sampleDeed())).rejects.toMatchObject({
          code: 'conflict',
        })
        expect(store.keys.insert(sameId, sampleDeed())).rejects.toMatchObject({ code: 'conflict' })
        expect((await store.load()).keys).toStrictEqual([key])
      })

      it('may not belong to an account or project that does not exist', async () => {
        expect(store.keys.insert(sampleKey('acc_none'), sampleDeed())).rejects.toThrow()
        expect(
          store.keys.insert(sampleKey(accountId, { projectId: 'prj_none' }), sampleDeed()),
        ).rejects.toThrow()
        expect((await store.load()).keys).toEqual([])
      })

      it('are listed newest first over pages without gap or double', async () => {
        const root = sampleKey(accountId, { kind: 'root' })
        const token = sampleKey(accountId, { kind: 'token' })
        // Seven to a millisecond, so that pages end between equals.
        const keys = Array.from({ length: 250 }, (_, index) =>
          sampleKey(accountId, { createdAt: NOW + Math.floor(index / 7) }),
        )
        await Promise.all([root, ...keys, token].map((key) => store.keys.insert(key, sampleDeed())))
        const newestFirst = keys.map((key) => key.id).toReversed()
        expect((await listKeys(accountId, 100)).map((key) => key.id)).toEqual(newestFirst)
        expect((await listKeys(accountId, 50)).map((key) => key.id)).toEqual(newestFirst)
        expect((await listKeys(accountId, 7)).map((key) => key.id)).toEqual(newestFirst)
      })

      it('are listed on whole pages while new ones arrive', async () => {
        const keys = Array.from({ length: 4 }, () => sampleKey(accountId))
        await Promise.all(keys.map((key) => store.keys.insert(key, sampleDeed())))
        const first = await store.keys.list(accountId, { ...MANAGED, limit: 2, cursor: undefined })
        await store.keys.insert(sampleKey(accountId, { createdAt: NOW + 1 }), sampleDeed())
        const second = await store.keys.list(accountId, {
          ...MANAGED,
          limit: 2,
          cursor: first.next,
        })
        const ids = [...first.items, ...second.items].map((key) => key.id)
        expect(ids).toEqual(keys.map((key) => key.id).toReversed())
        expect(second.next).toBeUndefined()
      })

      it('refuse a cursor that no page returned, and a limit that no page has', async () => {
        await Promise.all([1, 2].map(() => store.keys.insert(sampleKey(accountId), sampleDeed())))
        const { next = '' } = await store.keys.list(accountId, {
          ...MANAGED,
          limit: 1,
          cursor: undefined,
        })
        for (const cursor of [
          '',
          '!',
          'MQ',
          `${next}=`,
          ` ${next}`,
          `${next}MQ.`,
          '1.1',
          'a'.repeat(5000),
        ])
          expect(
            store.keys.list(accountId, { ...MANAGED, limit: 1, cursor }),
          ).rejects.toMatchObject({
            code: 'validation_error',
            param: 'cursor',
          })
        for (const limit of [0, -1, 1.5, Number.NaN, 1001])
          expect(
            store.keys.list(accountId, { ...MANAGED, limit, cursor: undefined }),
          ).rejects.toMatchObject({
            code: 'validation_error',
            param: 'limit',
          })
      })
    })

    describe('the root key', () => {
      it('is made when there is none', async () => {
        const root = await store.keys.replaceRoot(accountId, hashSecret('first'))
        expect(root).toMatchObject({ accountId, kind: 'root', hash: hashSecret('first') })
        expect(root.id).toMatch(/^key_/)
        expect((await store.load()).keys).toStrictEqual([root])
      })

      it('keeps everything but its secret', async () => {
        const root = sampleKey(accountId, { kind: 'root', name: 'the root', metadata: { a: 'b' } })
        await store.keys.insert(root, sampleDeed())
        const replaced = await store.keys.replaceRoot(accountId, hashSecret('second'))
        expect(replaced).toStrictEqual({ ...root, hash: hashSecret('second') })
        store = await opened.reopen()
        expect((await store.load()).keys).toStrictEqual([replaced])
      })

      it('lives again when it had been revoked', async () => {
        const root = await store.keys.replaceRoot(accountId, hashSecret('first'))
        await store.keys.revoke(accountId, root.id, NOW, sampleDeed())
        const replaced = await store.keys.replaceRoot(accountId, hashSecret('second'))
        expect(replaced.revokedAt).toBeUndefined()
      })

      it('is one to an account', async () => {
        await store.keys.replaceRoot(accountId, hashSecret('first'))
        expect(
          store.keys.insert(sampleKey(accountId, { kind: 'root' }), sampleDeed()),
        ).rejects.toMatchObject({
          code: 'conflict',
        })
        expect(store.keys.replaceRoot('acc_none', hashSecret('second'))).rejects.toThrow()
      })

      it('may not take the secret of another key', async () => {
        const root = await store.keys.replaceRoot(accountId, hashSecret('first'))
        const key = sampleKey(accountId)
        await store.keys.insert(key, sampleDeed())
        expect(store.keys.replaceRoot(accountId, key.hash)).rejects.toMatchObject({
          code: 'conflict',
        })
        expect((await store.load()).keys).toStrictEqual([root, key])
      })
    })

    describeAudit(() => store)
    const living = {
      store: () => store,
      async reopen() {
        store = await opened.reopen()
      },
    }
    describeLedger(living)
    describeKeys(living)
    describeTenancy(living)
    describeWallets(living)
    describeIdentities(living)
    describeClaims(living)

    it('closes twice and refuses reads afterwards', async () => {
      const read = (): Promise<unknown> => store.keys.find(accountId, 'key_none')
      await Promise.all([store.ping(), read()])
      await Promise.all([store.close(), store.close()])
      const refusal = { code: 'service_unavailable', retryable: true }
      expect(store.ping()).rejects.toMatchObject(refusal)
      expect(read()).rejects.toMatchObject(refusal)
    })
  })
}

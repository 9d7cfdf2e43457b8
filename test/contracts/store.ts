// Every engine runs this one suite. An engine that needs an exception does not meet the contract.
import { afterEach, beforeEach, describe, expect, it } from 'bun:test'
import type { AuditRow } from '../../src/core/audit.ts'
import type { KeyRecord, KeySettings } from '../../src/core/key.ts'
import { createKeyId, createRequestId, hashSecret } from '../../src/core/ids.ts'
import { toNanoUsd } from '../../src/core/money.ts'
import type { AuditFilter, Page, Store, StoreRecord } from '../../src/store/store.ts'

export interface OpenedStore {
  readonly store: Store
  /** Closes the store and opens it again over the same data. */
  reopen(): Promise<Store>
  dispose(): Promise<void>
}

const NOW = Date.UTC(2026, 0, 15, 12)
const LARGEST = toNanoUsd(Number.MAX_SAFE_INTEGER)

const BARE_SETTINGS: KeySettings = {
  name: 'plain',
  allowedModels: undefined,
  allowedRegions: undefined,
  budgetLimit: undefined,
  budgetPeriod: undefined,
  rateLimitRpm: undefined,
  metadata: {},
  expiresAt: undefined,
}

const FULL_SETTINGS: KeySettings = {
  name: "Zoë's \"key\" 'x'; DROP TABLE keys --",
  allowedModels: ['a-model', 'maker/other,model'],
  allowedRegions: [],
  budgetLimit: LARGEST,
  budgetPeriod: 'rolling',
  rateLimitRpm: 60,
  metadata: { team: 'söarch', empty: '', '': 'nameless' },
  expiresAt: NOW + 86_400_000,
}

export function sampleKey(accountId: string, change: Partial<KeyRecord> = {}): KeyRecord {
  const id = createKeyId()
  return {
    ...BARE_SETTINGS,
    id,
    accountId,
    projectId: undefined,
    kind: 'managed',
    hash: hashSecret(id),
    createdAt: NOW,
    revokedAt: undefined,
    ...change,
  }
}

export function sampleRow(change: Partial<AuditRow> = {}): AuditRow {
  return {
    at: NOW,
    requestId: createRequestId(),
    accountId: 'acc_a',
    projectId: undefined,
    keyId: 'key_a',
    endpoint: '/v1/chat/completions',
    model: 'a-model',
    supplier: 'a-supplier',
    region: 'EU',
    inputTokens: 12,
    outputTokens: 34,
    cost: toNanoUsd(0),
    latencyMs: 1234,
    firstTokenMs: 56,
    status: 200,
    code: undefined,
    stream: true,
    attempts: 1,
    ...change,
  }
}

/** The id of a call that arrived at this time. */
export function requestIdAt(at: number): string {
  return `req_${at.toString(16).padStart(12, '0')}${createRequestId().slice(16)}`
}

export function asRecord(row: AuditRow): StoreRecord {
  return { type: 'audit', row }
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
      readAll((cursor) => store.keys.list(account, { limit, cursor }))

    const appendCosts = (costs: readonly number[], change: Partial<AuditRow> = {}): Promise<void> =>
      store.append(costs.map((cost) => asRecord(sampleRow({ ...change, cost: toNanoUsd(cost) }))))

    it('has an account from the start and keeps it', async () => {
      expect(accountId).toMatch(/^acc_[\w-]{16,}$/)
      expect((await store.load()).keys).toEqual([])
      expect(await (await opened.reopen()).load()).toEqual({ accountId, keys: [] })
    })

    it('answers a ping', async () => {
      expect(await store.ping()).toBeUndefined()
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
        await store.keys.insert(bare)
        await store.keys.insert(full)
        expect(await store.keys.find(accountId, bare.id)).toStrictEqual(bare)
        expect(await store.keys.find(accountId, full.id)).toStrictEqual(full)
        expect((await store.load()).keys).toStrictEqual([bare, full])
        store = await opened.reopen()
        expect((await store.load()).keys).toStrictEqual([bare, full])
      })

      it('take new settings and lose old ones', async () => {
        const key = sampleKey(accountId)
        await store.keys.insert(key)
        const full = { ...key, ...FULL_SETTINGS }
        expect(await store.keys.update(accountId, key.id, FULL_SETTINGS)).toStrictEqual(full)
        expect(await store.keys.find(accountId, key.id)).toStrictEqual(full)
        expect(await store.keys.update(accountId, key.id, BARE_SETTINGS)).toStrictEqual(key)
        expect(await store.keys.find(accountId, key.id)).toStrictEqual(key)
      })

      it('are revoked once', async () => {
        const key = sampleKey(accountId)
        await store.keys.insert(key)
        const revoked = { ...key, revokedAt: NOW + 5 }
        expect(await store.keys.revoke(accountId, key.id, NOW + 5)).toStrictEqual(revoked)
        expect(await store.keys.revoke(accountId, key.id, NOW + 9)).toStrictEqual(revoked)
        expect(await store.keys.find(accountId, key.id)).toStrictEqual(revoked)
      })

      it('of another account are not found', async () => {
        const key = sampleKey(accountId)
        await store.keys.insert(key)
        expect(await store.keys.find('acc_other', key.id)).toBeUndefined()
        expect(await store.keys.update('acc_other', key.id, FULL_SETTINGS)).toBeUndefined()
        expect(await store.keys.revoke('acc_other', key.id, NOW)).toBeUndefined()
        expect((await listKeys('acc_other', 10)).length).toBe(0)
        expect(await store.keys.find(accountId, key.id)).toStrictEqual(key)
      })

      it('that do not exist are not found', async () => {
        expect(await store.keys.find(accountId, 'key_none')).toBeUndefined()
        expect(await store.keys.update(accountId, 'key_none', BARE_SETTINGS)).toBeUndefined()
        expect(await store.keys.revoke(accountId, 'key_none', NOW)).toBeUndefined()
      })

      it('may not share a secret or an id', async () => {
        const key = sampleKey(accountId)
        await store.keys.insert(key)
        const sameHash = sampleKey(accountId, { hash: key.hash })
        const sameId = sampleKey(accountId, { id: key.id, hash: hashSecret('another') })
        expect(store.keys.insert(sameHash)).rejects.toMatchObject({ code: 'conflict' })
        expect(store.keys.insert(sameId)).rejects.toMatchObject({ code: 'conflict' })
        expect((await store.load()).keys).toStrictEqual([key])
      })

      it('may not belong to an account or project that does not exist', async () => {
        expect(store.keys.insert(sampleKey('acc_none'))).rejects.toThrow()
        expect(store.keys.insert(sampleKey(accountId, { projectId: 'prj_none' }))).rejects.toThrow()
        expect((await store.load()).keys).toEqual([])
      })

      it('are listed newest first over pages without gap or double', async () => {
        const root = sampleKey(accountId, { kind: 'root' })
        const token = sampleKey(accountId, { kind: 'token' })
        // Seven to a millisecond, so that pages end between equals.
        const keys = Array.from({ length: 250 }, (_, index) =>
          sampleKey(accountId, { createdAt: NOW + Math.floor(index / 7) }),
        )
        await Promise.all([root, ...keys, token].map((key) => store.keys.insert(key)))
        const newestFirst = keys.map((key) => key.id).toReversed()
        expect((await listKeys(accountId, 100)).map((key) => key.id)).toEqual(newestFirst)
        expect((await listKeys(accountId, 50)).map((key) => key.id)).toEqual(newestFirst)
        expect((await listKeys(accountId, 7)).map((key) => key.id)).toEqual(newestFirst)
      })

      it('are listed on whole pages while new ones arrive', async () => {
        const keys = Array.from({ length: 4 }, () => sampleKey(accountId))
        await Promise.all(keys.map((key) => store.keys.insert(key)))
        const first = await store.keys.list(accountId, { limit: 2, cursor: undefined })
        await store.keys.insert(sampleKey(accountId, { createdAt: NOW + 1 }))
        const second = await store.keys.list(accountId, { limit: 2, cursor: first.next })
        const ids = [...first.items, ...second.items].map((key) => key.id)
        expect(ids).toEqual(keys.map((key) => key.id).toReversed())
        expect(second.next).toBeUndefined()
      })

      it('refuse a cursor that no page returned, and a limit that no page has', async () => {
        await Promise.all([1, 2].map(() => store.keys.insert(sampleKey(accountId))))
        const { next = '' } = await store.keys.list(accountId, { limit: 1, cursor: undefined })
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
          expect(store.keys.list(accountId, { limit: 1, cursor })).rejects.toMatchObject({
            code: 'validation_error',
            param: 'cursor',
          })
        for (const limit of [0, -1, 1.5, Number.NaN, 1001])
          expect(store.keys.list(accountId, { limit, cursor: undefined })).rejects.toMatchObject({
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
        await store.keys.insert(root)
        const replaced = await store.keys.replaceRoot(accountId, hashSecret('second'))
        expect(replaced).toStrictEqual({ ...root, hash: hashSecret('second') })
        store = await opened.reopen()
        expect((await store.load()).keys).toStrictEqual([replaced])
      })

      it('lives again when it had been revoked', async () => {
        const root = await store.keys.replaceRoot(accountId, hashSecret('first'))
        await store.keys.revoke(accountId, root.id, NOW)
        const replaced = await store.keys.replaceRoot(accountId, hashSecret('second'))
        expect(replaced.revokedAt).toBeUndefined()
      })

      it('is one to an account', async () => {
        await store.keys.replaceRoot(accountId, hashSecret('first'))
        expect(store.keys.insert(sampleKey(accountId, { kind: 'root' }))).rejects.toMatchObject({
          code: 'conflict',
        })
        expect(store.keys.replaceRoot('acc_none', hashSecret('second'))).rejects.toThrow()
      })

      it('may not take the secret of another key', async () => {
        const root = await store.keys.replaceRoot(accountId, hashSecret('first'))
        const key = sampleKey(accountId)
        await store.keys.insert(key)
        expect(store.keys.replaceRoot(accountId, key.hash)).rejects.toMatchObject({
          code: 'conflict',
        })
        expect((await store.load()).keys).toStrictEqual([root, key])
      })
    })

    describe('spent', () => {
      it('is nothing for a key without calls', async () => {
        const spent = await store.audit.spent('key_none', 0, NOW * 2)
        expect(spent).toStrictEqual({ cost: toNanoUsd(0), oldestAt: undefined })
      })

      it('adds exactly where dollars as fractions drift', async () => {
        // A tenth of a dollar, ten times, is 0.9999999999999999 dollars as a fraction.
        await appendCosts(Array.from({ length: 10 }, () => 100_000_000))
        await appendCosts([1, 7, 999_999_999_999_999], { keyId: 'key_b' })
        expect((await store.audit.spent('key_a', 0, NOW + 1)).cost).toBe(toNanoUsd(1_000_000_000))
        expect((await store.audit.spent('key_b', 0, NOW + 1)).cost).toBe(
          toNanoUsd(1_000_000_000_000_007),
        )
      })

      it('counts from its start and up to but not including its end', async () => {
        await appendCosts([1], { at: NOW - 1 })
        await appendCosts([10], { at: NOW })
        await appendCosts([100], { at: NOW + 9 })
        await appendCosts([1000], { at: NOW + 10 })
        const spent = await store.audit.spent('key_a', NOW, NOW + 10)
        expect(spent).toStrictEqual({ cost: toNanoUsd(110), oldestAt: NOW })
      })

      it('is as old as the first call that cost anything', async () => {
        await appendCosts([0], { at: NOW - 20 })
        expect((await store.audit.spent('key_a', 0, NOW)).oldestAt).toBeUndefined()
        await appendCosts([5], { at: NOW - 5 })
        await appendCosts([5], { at: NOW - 10 })
        expect((await store.audit.spent('key_a', 0, NOW)).oldestAt).toBe(NOW - 10)
      })

      it('holds amounts up to the largest exact one, and tells no rounded one beyond', async () => {
        await appendCosts([Number.MAX_SAFE_INTEGER - 1])
        await appendCosts([1])
        expect((await store.audit.spent('key_a', 0, NOW + 1)).cost).toBe(LARGEST)
        await appendCosts([1])
        expect(store.audit.spent('key_a', 0, NOW + 1)).rejects.toThrow(RangeError)
      })
    })

    describe('audit rows', () => {
      it('keep what is absent absent', async () => {
        const bare = sampleRow({
          supplier: undefined,
          region: undefined,
          inputTokens: undefined,
          outputTokens: undefined,
          firstTokenMs: undefined,
          status: 402,
          code: 'budget_exceeded',
          stream: false,
          attempts: 0,
        })
        const full = sampleRow({
          at: NOW - 1,
          projectId: 'prj_a',
          inputTokens: 0,
          outputTokens: Number.MAX_SAFE_INTEGER,
          cost: LARGEST,
          latencyMs: 0.25,
          firstTokenMs: 0,
        })
        await store.append([asRecord(full), asRecord(bare)])
        const page = await store.audit.list('acc_a', { limit: 2, cursor: undefined })
        expect(page.items).toStrictEqual([bare, full])
      })

      it('are listed by key, newest first, over pages without gap or double', async () => {
        const rows = Array.from({ length: 90 }, (_, index) =>
          sampleRow({
            at: NOW + Math.floor(index / 8),
            keyId: index % 2 ? 'key_a' : 'key_b',
            // Falling costs, so that an order by anything but time and arrival shows.
            cost: toNanoUsd(1000 - index),
          }),
        )
        await store.append(rows.map(asRecord))
        for (const keyId of ['key_a', 'key_b', undefined]) {
          const expected = rows
            .filter((row) => keyId === undefined || row.keyId === keyId)
            .toReversed()
          // oxlint-disable-next-line no-await-in-loop -- pages follow each other in any case
          const found = await readAll((cursor) =>
            store.audit.list('acc_a', { limit: 7, cursor, keyId }),
          )
          expect(found).toStrictEqual(expected)
        }
      })

      it('of another account are not listed, not even by key', async () => {
        await store.append([asRecord(sampleRow({ accountId: 'acc_b', keyId: 'key_b' }))])
        const page = { limit: 10, cursor: undefined }
        for (const keyId of ['key_b', undefined])
          // oxlint-disable-next-line no-await-in-loop -- two cases of one sentence
          expect((await store.audit.list('acc_a', { ...page, keyId })).items).toEqual([])
        expect((await store.audit.list('acc_b', { ...page, keyId: 'key_b' })).items).toHaveLength(1)
      })

      it('refuse a cursor that no page returned, and a limit that no page has', async () => {
        for (const cursor of ['nonsense', '', 'MQ', 'a'.repeat(5000)])
          expect(store.audit.list('acc_a', { limit: 10, cursor })).rejects.toMatchObject({
            code: 'validation_error',
            param: 'cursor',
          })
        for (const limit of [0, 1.5, 1001])
          expect(store.audit.list('acc_a', { limit, cursor: undefined })).rejects.toMatchObject({
            code: 'validation_error',
            param: 'limit',
          })
      })

      it('are listed on whole pages while new ones arrive, late ones among them', async () => {
        const rows = Array.from({ length: 6 }, (_, index) => sampleRow({ at: NOW + index }))
        await store.append(rows.map(asRecord))
        for (const filter of [{}, { keyId: 'key_a' }, { status: 200 }]) {
          // oxlint-disable-next-line no-await-in-loop -- pages follow each other in any case
          const first = await store.audit.list('acc_a', { ...filter, limit: 3, cursor: undefined })
          // A call that arrived long ago and has ended only now belongs among rows yet to be shown.
          const late = [sampleRow({ at: NOW - 1, model: 'late' }), sampleRow({ at: NOW + 99 })]
          // oxlint-disable-next-line no-await-in-loop -- the same
          await store.append(late.map((row) => asRecord({ ...row, accountId: 'acc_a' })))
          // oxlint-disable-next-line no-await-in-loop -- the same
          const rest = await readAll((cursor) =>
            store.audit.list('acc_a', { ...filter, limit: 3, cursor: cursor ?? first.next }),
          )
          const ids = [...first.items, ...rest].map((row) => row.requestId)
          expect(new Set(ids).size).toBe(ids.length)
          for (const row of rows) expect(ids).toContain(row.requestId)
          for (const row of late) expect(ids).not.toContain(row.requestId)
        }
      })
    })

    describe('the audit filter', () => {
      /** Every combination of a few values, told apart by what they hold. */
      const rows = Array.from({ length: 192 }, (_, index) =>
        sampleRow({
          at: NOW + index * 1000,
          requestId: requestIdAt(NOW + index * 1000),
          keyId: index % 2 ? 'key_a' : 'key_b',
          model: index & 2 ? 'a-model' : "o'ther",
          supplier: [undefined, 'one', 'two'][index % 3],
          region: [undefined, 'EU', 'US'][index % 3],
          status: index & 4 ? 200 : 429,
          code: index & 8 ? 'rate_limit_exceeded' : undefined,
        }),
      )

      const expectOnly = async (
        filter: AuditFilter,
        isWanted: (row: AuditRow) => boolean,
      ): Promise<void> => {
        const found = await readAll((cursor) =>
          store.audit.list('acc_a', { ...filter, limit: 5, cursor }),
        )
        const wanted = rows.filter(isWanted).toReversed()
        expect(wanted.length).toBeGreaterThan(0)
        expect(found).toStrictEqual(wanted)
      }

      beforeEach(async () => {
        const foreign = rows.map((row) => ({ ...row, accountId: 'acc_b', keyId: 'key_c' }))
        await store.append([...rows, ...foreign].map(asRecord))
      })

      it.each<readonly [string, AuditFilter, (row: AuditRow) => boolean]>([
        ['key', { keyId: 'key_a' }, (row) => row.keyId === 'key_a'],
        ['model', { model: "o'ther" }, (row) => row.model === "o'ther"],
        ['supplier', { supplier: 'two' }, (row) => row.supplier === 'two'],
        ['region, in any case', { region: 'eu' }, (row) => row.region === 'EU'],
        ['status of success', { status: 200 }, (row) => row.status === 200],
        ['status of failure', { status: 429 }, (row) => row.status === 429],
        ['code', { code: 'rate_limit_exceeded' }, (row) => row.code !== undefined],
        ['start', { from: NOW + 100_000 }, (row) => row.at >= NOW + 100_000],
        ['end', { to: NOW + 100_000 }, (row) => row.at < NOW + 100_000],
        ['request', { requestId: rows[77]!.requestId }, (row) => row === rows[77]],
      ])('finds by %s', (_, filter, isWanted) => expectOnly(filter, isWanted))

      it('finds what meets all that is asked, and nothing that meets a part', async () => {
        const period = { from: NOW + 10_000, to: NOW + 150_000 }
        const isWithin = ({ at }: AuditRow): boolean => at >= period.from && at < period.to
        await expectOnly(
          { ...period, keyId: 'key_a', model: 'a-model' },
          (row) => isWithin(row) && row.keyId === 'key_a' && row.model === 'a-model',
        )
        await expectOnly(
          { ...period, keyId: 'key_b', status: 429, supplier: 'one' },
          (row) =>
            isWithin(row) && row.keyId === 'key_b' && row.status === 429 && row.supplier === 'one',
        )
        await expectOnly(
          { ...period, code: 'rate_limit_exceeded', status: 200, region: 'US' },
          (row) =>
            isWithin(row) && row.code !== undefined && row.status === 200 && row.region === 'US',
        )
        await expectOnly(
          { ...period, model: "o'ther", region: 'EU' },
          (row) => isWithin(row) && row.model === "o'ther" && row.region === 'EU',
        )
      })

      it.each<readonly [string, AuditFilter]>([
        ['a key of another account', { keyId: 'key_c' }],
        ['a pattern', { model: '%' }],
        ['an empty period', { from: NOW + 10_000, to: NOW + 10_000 }],
        ['a request of another key', { requestId: rows[77]!.requestId, keyId: 'key_b' }],
        ['a request of another time', { requestId: rows[77]!.requestId, to: NOW }],
        ['a request that never was', { requestId: requestIdAt(NOW) }],
      ])('finds nothing by %s', async (_, filter) => {
        const page = await store.audit.list('acc_a', { ...filter, limit: 5, cursor: undefined })
        expect(page).toEqual({ items: [], next: undefined })
      })

      it('finds a call of long ago that ended among later ones, in its own time', async () => {
        const late = sampleRow({ at: NOW - 86_400_000, requestId: requestIdAt(NOW - 86_400_000) })
        await store.append([asRecord(late)])
        const query = { from: late.at, to: late.at + 1, limit: 5, cursor: undefined }
        for (const filter of [{}, { keyId: late.keyId }, { model: late.model }])
          // oxlint-disable-next-line no-await-in-loop -- three cases of one sentence
          expect((await store.audit.list('acc_a', { ...query, ...filter })).items).toEqual([late])
        expect(await store.audit.find('acc_a', late.requestId)).toStrictEqual(late)
      })

      it('finds one call by its id, whatever the clock said, and only in its own account', async () => {
        const odd = [sampleRow({ at: 5 }), sampleRow({ requestId: 'from-elsewhere' })]
        await store.append(odd.map(asRecord))
        for (const row of [rows[0]!, rows[191]!, ...odd]) {
          // oxlint-disable-next-line no-await-in-loop -- cases of one sentence
          expect(await store.audit.find('acc_a', row.requestId)).toStrictEqual(row)
          // oxlint-disable-next-line no-await-in-loop -- the same
          expect((await store.audit.find('acc_b', row.requestId))?.accountId).not.toBe('acc_a')
          // oxlint-disable-next-line no-await-in-loop -- the same
          expect(await store.audit.find('acc_none', row.requestId)).toBeUndefined()
        }
        expect(await store.audit.find('acc_a', 'req_none')).toBeUndefined()
      })
    })

    it('closes twice and refuses reads afterwards', async () => {
      await store.ping()
      await Promise.all([store.close(), store.close()])
      expect(store.ping()).rejects.toMatchObject({ code: 'service_unavailable', retryable: true })
    })
  })
}

async function readAll<Item>(
  read: (cursor: string | undefined) => Promise<Page<Item>>,
): Promise<readonly Item[]> {
  const items: Item[] = []
  let cursor: string | undefined
  do {
    // oxlint-disable-next-line no-await-in-loop -- a page names its successor
    const page = await read(cursor)
    items.push(...page.items)
    cursor = page.next
  } while (cursor !== undefined)
  return items
}

// The part of the store's contract that is about the audit: lists and filters.
import { beforeEach, describe, expect, it } from 'bun:test'
import type { AuditRow, CallDetails } from '../../src/core/audit.ts'
import { toNanoUsd } from '../../src/core/money.ts'
import type { AuditFilter, Store } from '../../src/store/store.ts'
import {
  asCall,
  asHold,
  asRecord,
  endOf,
  LARGEST,
  NOW,
  readAll,
  requestIdAt,
  sampleHold,
  sampleRow,
} from './samples.ts'

const FULL_DETAILS: CallDetails = {
  tries: [
    { supplier: 'one', region: 'EU', evidence: 'unknown', status: 502, suspense: toNanoUsd(7) },
    { supplier: 'two', region: 'US', evidence: 'reported' },
  ],
  maxTokens: 64,
  cachedTokens: 3,
  resolved: { by: 'key_root', reason: 'seen on the bill, "paid"\n\ud800' },
}

/** `store` is the one of the test that runs. */
export function describeAudit(store: () => Store): void {
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
      const call = asCall(
        sampleRow({
          at: NOW - 1,
          projectId: 'prj_a',
          inputTokens: 0,
          outputTokens: Number.MAX_SAFE_INTEGER,
          cost: LARGEST,
          latencyMs: 0.25,
          firstTokenMs: 0,
          count: 7,
          details: FULL_DETAILS,
        }),
      )
      await store().append([...call, asRecord(bare)])
      const page = await store().audit.list('acc_a', { limit: 2, cursor: undefined })
      expect(page.items).toStrictEqual([bare, call[1].row])
    })

    it('tell what was left to the operator', async () => {
      const hold = sampleHold()
      const row = endOf(hold, { cost: hold.amount, overrun: toNanoUsd(5), evidence: 'broken' })
      await store().append([asHold(hold), asRecord(row)])
      expect(await store().audit.find('acc_a', row.requestId)).toStrictEqual(row)
    })

    it('are listed by key, newest first, over pages without gap or double', async () => {
      const rows = Array.from({ length: 90 }, (_, index) =>
        sampleRow({
          at: NOW + Math.floor(index / 8),
          keyId: index % 2 ? 'key_a' : 'key_b',
          // Falling figures, so that an order by anything but time and arrival shows.
          inputTokens: 1000 - index,
        }),
      )
      await store().append(rows.map(asRecord))
      for (const keyId of ['key_a', 'key_b', undefined]) {
        const expected = rows
          .filter((row) => keyId === undefined || row.keyId === keyId)
          .toReversed()
        // oxlint-disable-next-line no-await-in-loop -- pages follow each other in any case
        const found = await readAll((cursor) =>
          store().audit.list('acc_a', { limit: 7, cursor, keyId }),
        )
        expect(found).toStrictEqual(expected)
      }
    })

    it('of another account are not listed, not even by key', async () => {
      await store().append([asRecord(sampleRow({ accountId: 'acc_b', keyId: 'key_b' }))])
      const page = { limit: 10, cursor: undefined }
      for (const keyId of ['key_b', undefined])
        // oxlint-disable-next-line no-await-in-loop -- two cases of one sentence
        expect((await store().audit.list('acc_a', { ...page, keyId })).items).toEqual([])
      expect((await store().audit.list('acc_b', { ...page, keyId: 'key_b' })).items).toHaveLength(1)
    })

    it('refuse a cursor that no page returned, and a limit that no page has', async () => {
      for (const cursor of ['nonsense', '', 'MQ', 'a'.repeat(5000)])
        expect(store().audit.list('acc_a', { limit: 10, cursor })).rejects.toMatchObject({
          code: 'validation_error',
          param: 'cursor',
        })
      for (const limit of [0, 1.5, 1001])
        expect(store().audit.list('acc_a', { limit, cursor: undefined })).rejects.toMatchObject({
          code: 'validation_error',
          param: 'limit',
        })
    })

    it('are listed on whole pages while new ones arrive, late ones among them', async () => {
      const rows = Array.from({ length: 6 }, (_, index) => sampleRow({ at: NOW + index }))
      await store().append(rows.map(asRecord))
      for (const filter of [{}, { keyId: 'key_a' }, { status: 200 }]) {
        // oxlint-disable-next-line no-await-in-loop -- pages follow each other in any case
        const first = await store().audit.list('acc_a', { ...filter, limit: 3, cursor: undefined })
        // A call that arrived long ago and has ended only now belongs among rows yet to be shown.
        const late = [sampleRow({ at: NOW - 1, model: 'late' }), sampleRow({ at: NOW + 99 })]
        // oxlint-disable-next-line no-await-in-loop -- the same
        await store().append(late.map((row) => asRecord({ ...row, accountId: 'acc_a' })))
        // oxlint-disable-next-line no-await-in-loop -- the same
        const rest = await readAll((cursor) =>
          store().audit.list('acc_a', { ...filter, limit: 3, cursor: cursor ?? first.next }),
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
    ).map((row, index) => (index & 16 ? asCall(row)[1].row : row))

    const expectOnly = async (
      filter: AuditFilter,
      isWanted: (row: AuditRow) => boolean,
    ): Promise<void> => {
      const found = await readAll((cursor) =>
        store().audit.list('acc_a', { ...filter, limit: 5, cursor }),
      )
      const wanted = rows.filter(isWanted).toReversed()
      expect(wanted.length).toBeGreaterThan(0)
      expect(found).toStrictEqual(wanted)
    }

    beforeEach(async () => {
      const foreign = rows.map((row) =>
        sampleRow({ at: row.at, requestId: row.requestId, accountId: 'acc_b', keyId: 'key_c' }),
      )
      const recorded = rows.flatMap((row) =>
        row.state === 'settled' ? asCall(row) : asRecord(row),
      )
      await store().append([...recorded, ...foreign.map(asRecord)])
    })

    it.each<readonly [string, AuditFilter, (row: AuditRow) => boolean]>([
      ['key', { keyId: 'key_a' }, (row) => row.keyId === 'key_a'],
      ['model', { model: "o'ther" }, (row) => row.model === "o'ther"],
      ['supplier', { supplier: 'two' }, (row) => row.supplier === 'two'],
      ['region, in any case', { region: 'eu' }, (row) => row.region === 'EU'],
      ['status of success', { status: 200 }, (row) => row.status === 200],
      ['status of failure', { status: 429 }, (row) => row.status === 429],
      ['state', { state: 'settled' }, (row) => row.state === 'settled'],
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
        { ...period, keyId: 'key_a', state: 'refused' },
        (row) => isWithin(row) && row.keyId === 'key_a' && row.state === 'refused',
      )
      await expectOnly(
        { ...period, model: "o'ther", region: 'EU' },
        (row) => isWithin(row) && row.model === "o'ther" && row.region === 'EU',
      )
    })

    it.each<readonly [string, AuditFilter]>([
      ['a key of another account', { keyId: 'key_c' }],
      ['a pattern', { model: '%' }],
      ['a state that none has', { state: 'voided' }],
      ['an empty period', { from: NOW + 10_000, to: NOW + 10_000 }],
      ['a request of another key', { requestId: rows[77]!.requestId, keyId: 'key_b' }],
      ['a request of another time', { requestId: rows[77]!.requestId, to: NOW }],
      ['a request that never was', { requestId: requestIdAt(NOW) }],
    ])('finds nothing by %s', async (_, filter) => {
      const page = await store().audit.list('acc_a', { ...filter, limit: 5, cursor: undefined })
      expect(page).toEqual({ items: [], next: undefined })
    })

    it('finds a call of long ago that ended among later ones, in its own time', async () => {
      const late = sampleRow({ at: NOW - 86_400_000, requestId: requestIdAt(NOW - 86_400_000) })
      await store().append([asRecord(late)])
      const query = { from: late.at, to: late.at + 1, limit: 5, cursor: undefined }
      for (const filter of [{}, { keyId: late.keyId }, { model: late.model }])
        // oxlint-disable-next-line no-await-in-loop -- three cases of one sentence
        expect((await store().audit.list('acc_a', { ...query, ...filter })).items).toEqual([late])
      expect(await store().audit.find('acc_a', late.requestId)).toStrictEqual(late)
    })

    it('finds one call by its id, whatever the clock said, and only in its own account', async () => {
      const odd = [sampleRow({ at: 5 }), sampleRow({ requestId: 'from-elsewhere' })]
      await store().append(odd.map(asRecord))
      for (const row of [rows[0]!, rows[191]!, ...odd]) {
        // oxlint-disable-next-line no-await-in-loop -- cases of one sentence
        expect(await store().audit.find('acc_a', row.requestId)).toStrictEqual(row)
        // oxlint-disable-next-line no-await-in-loop -- the same
        expect((await store().audit.find('acc_b', row.requestId))?.accountId).not.toBe('acc_a')
        // oxlint-disable-next-line no-await-in-loop -- the same
        expect(await store().audit.find('acc_none', row.requestId)).toBeUndefined()
      }
      expect(await store().audit.find('acc_a', 'req_none')).toBeUndefined()
    })
  })
}

// A million audit rows, made by the first version of the schema and taken over by this one: every
// question is answered right, and none of them by reading or sorting the whole.
import { Database } from 'bun:sqlite'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  asCall,
  asHold,
  asRecord,
  requestIdAt,
  sampleHold,
  sampleRow,
} from '../../../test/contracts/samples.ts'
import { createFakeClock } from '../../../test/fakes/clock.ts'
import type { AuditRow } from '../../core/audit.ts'
import { createSystemClock } from '../../core/clock.ts'
import type { AuditFilter, Store } from '../store.ts'
import { link, textOf } from '../chain.ts'
import { CHECKPOINTS, HEAD, TOTALS } from './ledger.ts'
import { MIGRATIONS } from './migrations.ts'
import { openSqliteStore } from './open.ts'
import { HASH, LAST, OPEN_HOLDS, RECORDS } from './records.ts'
import { FAILURE_WALK, KEY_WALK, NEWEST, TABLE_WALK } from './walks.ts'

const clock = createSystemClock()
const NOW = Date.UTC(2026, 0, 15, 12)
const START = 1_700_000_000_000
const HOUR = 3_600_000
/** When the last of a million arrived. */
const END = START + 100_000_000

// Ten rows a second. One in a hundred failed, one in a thousand took an hour, one in ten is not ours.
const MILLION = `
  WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000000),
  call AS (SELECT i, ${START} + i * 100 - iif(i % 1000 = 7, ${HOUR}, i * 7919 % 5000) AS at FROM n)
  INSERT INTO audit SELECT
    i, at, printf('req_%012x7%03x8%015x', at, i % 4096, i), 1 + (i % 10 = 0), NULL,
    iif(i % 10 = 0, 6, 3 + i % 3), '/v1/chat/completions', 'model-' || iif(i % 40000 = 1, 'rare', i % 11),
    'supplier-' || (i % 5), iif(i % 2, 'US', 'EU'), i % 500, i % 300,
    iif(i % 1000 = 7, 0, i % 100000), 1000.0, 100.0,
    iif(i % 100 = 7, 429, 200), iif(i % 100 = 7, 'rate_limit_exceeded', NULL), 1, 1
  FROM call`

function writeFirstVersion(file: string): void {
  const database = new Database(file, { create: true })
  database.run('PRAGMA page_size = 2048')
  database.run('PRAGMA journal_mode = WAL')
  database.run(MIGRATIONS[0]!)
  database.run('CREATE TABLE schema_version (version INTEGER NOT NULL) STRICT')
  database.run('INSERT INTO schema_version VALUES (1)')
  database.run(`INSERT INTO names VALUES
    (1, 'acc_a'), (2, 'acc_b'), (3, 'key_0'), (4, 'key_1'), (5, 'key_2'), (6, 'key_b')`)
  database.run(MILLION)
  database.close()
}

async function walk(
  store: Store,
  filter: AuditFilter,
): Promise<{ readonly rows: readonly AuditRow[]; readonly pages: number }> {
  const rows: AuditRow[] = []
  let pages = 0
  let cursor: string | undefined
  do {
    // oxlint-disable-next-line no-await-in-loop -- a page names its successor
    const page = await store.audit.list('acc_a', { ...filter, limit: 1000, cursor })
    rows.push(...page.items)
    pages += 1
    cursor = page.next
  } while (cursor !== undefined)
  return { rows, pages }
}

describe('the audit of a million calls', () => {
  let folder: string
  let store: Store
  let outsider: Database

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'store-'))
    writeFirstVersion(join(folder, 'gateway.db'))
    store = await openSqliteStore({ folder, clock: createFakeClock(END) })
    outsider = new Database(join(folder, 'gateway.db'), { readonly: true })
  }, 60_000)
  afterAll(async () => {
    outsider.close()
    await store.close()
    rmSync(folder, { recursive: true })
  })

  /** The truth, by reading everything. */
  const select = (where: string, order: string): readonly string[] =>
    outsider
      .query<{ readonly request_id: string }, []>(
        `SELECT request_id FROM audit NOT INDEXED WHERE account = 1 AND ${where} ORDER BY ${order}`,
      )
      .all()
      .map((row) => row.request_id)

  const ENDED = 'sequence DESC'
  const ARRIVED = 'at DESC, sequence DESC'

  it.each<readonly [string, AuditFilter, string, string]>([
    ['a rare model', { model: 'model-rare' }, "model = 'model-rare'", ENDED],
    [
      'ten minutes',
      { from: START + 5e7, to: START + 5e7 + 600_000 },
      `at >= ${START + 5e7} AND at < ${START + 5e7 + 600_000}`,
      ENDED,
    ],
    [
      'the failures of an hour',
      { code: 'rate_limit_exceeded', from: START + 6e7, to: START + 6e7 + HOUR },
      `code IS NOT NULL AND at >= ${START + 6e7} AND at < ${START + 6e7 + HOUR}`,
      ARRIVED,
    ],
    [
      'the failures of a model',
      { status: 429, model: 'model-3' },
      "status = 429 AND model = 'model-3'",
      ARRIVED,
    ],
    [
      "a key's minutes",
      { keyId: 'key_1', from: START + 7e7, to: START + 7e7 + 600_000 },
      `key = 4 AND at >= ${START + 7e7} AND at < ${START + 7e7 + 600_000}`,
      ARRIVED,
    ],
    [
      "a key's rare model",
      { keyId: 'key_1', model: 'model-rare', region: 'us' },
      "key = 4 AND model = 'model-rare' AND region = 'US'",
      ARRIVED,
    ],
    ['the oldest', { to: START + 1000 }, `at < ${START + 1000}`, ENDED],
    ['nothing', { supplier: 'nobody' }, "supplier = 'nobody'", ENDED],
  ])('finds %s', async (_, filter, where, order) => {
    const expected = select(where, order)
    expect(expected.length > 0).toBe(filter.supplier !== 'nobody')
    const { rows } = await walk(store, filter)
    expect(rows.map((row) => row.requestId)).toEqual([...expected])
  })

  it('looks at a part of the rows for one page, and goes on with the next', async () => {
    const { rows, pages } = await walk(store, { supplier: 'nobody' })
    expect([rows.length, pages]).toEqual([0, 16])
    expect((await walk(store, { keyId: 'key_1', supplier: 'nobody' })).pages).toBe(5)
    expect((await walk(store, { code: 'nothing' })).pages).toBe(1)
  })

  it('does not even look at the rows of a key of another account', async () => {
    for (const filter of [{ keyId: 'key_b' }, { keyId: 'key_b', supplier: 'nobody' }]) {
      // oxlint-disable-next-line no-await-in-loop -- two cases of one sentence
      const page = await store.audit.list('acc_a', { ...filter, limit: 1, cursor: undefined })
      expect(page).toEqual({ items: [], next: undefined })
    }
    const page = await store.audit.list('acc_b', { keyId: 'key_b', limit: 1, cursor: undefined })
    expect(page.items).toHaveLength(1)
  })

  it('finds each call by its id, also one that took an hour', async () => {
    for (const sequence of [1, 7, 499_999, 500_007, 999_999]) {
      const row = outsider
        .query<{ readonly request_id: string }, [number]>(
          'SELECT request_id FROM audit WHERE sequence = ?',
        )
        .get(sequence)
      // oxlint-disable-next-line no-await-in-loop -- one after another is how they are asked for
      const found = await store.audit.find('acc_a', row!.request_id)
      expect(found?.requestId).toBe(row!.request_id)
    }
    expect(await store.audit.find('acc_a', requestIdAt(START + 5e7))).toBeUndefined()
  })

  it.each<readonly [string, string]>([
    ['the newest row', NEWEST],
    ['the records', RECORDS],
    ['one of them', HASH],
    ['the rows of a key', KEY_WALK.rows],
    ['where they stop', KEY_WALK.stop],
    ['the failures', FAILURE_WALK.rows],
    ['where they stop', FAILURE_WALK.stop],
    ['the table', TABLE_WALK.rows],
    ['where it stops', TABLE_WALK.stop],
  ])('reads %s within a range and sorts nothing', (_, sql) => {
    const plan = outsider
      .query<{ readonly detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => detail)
    // A list that is part of the question is gone through whole, and is no table.
    expect(plan.filter((step) => /^SCAN (?!json_each)|B-TREE|AUTOMATIC/.test(step))).toEqual([])
    // The newest row is the end of the table, for which SQLite names no range.
    const steps = plan.filter((step) => /^SEARCH (audit|run)/.test(step) && sql !== NEWEST)
    for (const step of steps) expect(step).toMatch(/\((key=\?|account=\?|rowid[<>=]\?)/)
    expect(plan.some((step) => step.startsWith('SEARCH'))).toBe(true)
  })

  it.each<readonly [string, string]>([
    ['the last record', LAST],
    ['where the books stand', HEAD],
    ['open operations', OPEN_HOLDS],
    ['totals', TOTALS],
    ['checkpoints', CHECKPOINTS],
  ])('reads no whole table of records for %s', (_, sql) => {
    const plan = outsider
      .query<{ readonly detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => detail)
    // The end of a table is a scan to SQLite, too; and an index of checkpoints holds nothing else.
    const scans = plan.filter((step) => /^SCAN (holds|audit|notes)\b/.test(step))
    const ends = sql === LAST || sql === HEAD ? ['SCAN holds', 'SCAN notes'] : []
    const index = 'SCAN notes USING INDEX notes_checkpoints'
    expect(scans).toEqual(sql === CHECKPOINTS ? [index] : ends)
  })

  it('tells the state of calls that were recorded before there were states', async () => {
    const list = async (filter: AuditFilter): Promise<readonly AuditRow[]> =>
      (await store.audit.list('acc_a', { ...filter, limit: 1000, cursor: undefined })).items
    const settled = await list({ state: 'settled' })
    for (const row of settled) expect(row.status === 200 || row.cost > 0).toBe(true)
    const voided = await list({ state: 'voided', code: 'rate_limit_exceeded' })
    for (const row of voided) expect([row.cost, row.status]).toEqual([0, 429])
    expect([settled.length, voided.length]).toEqual([1000, 1000])
    expect(await list({ state: 'refused', status: 429 })).toEqual([])
    const nothing = { evidence: undefined, held: undefined, hour: undefined, details: undefined }
    expect(settled[0]).toMatchObject({ count: 1, overrun: 0, ...nothing })
  })

  it('counts what was spent before there were books, and only where budgets ask for it', async () => {
    const { ledger } = await store.load()
    const truth = outsider
      .query<{ readonly cost: number }, []>('SELECT sum(cost) AS cost FROM audit')
      .get()
    expect(ledger.spent.reduce((sum, { amount }) => sum + amount, 0)).toBe(truth!.cost)
    const days = outsider
      .query<{ readonly key: string; readonly day: number; readonly cost: number }, []>(
        `SELECT name AS key, at / ${24 * HOUR} AS day, sum(cost) AS cost FROM audit
         JOIN names ON number = key WHERE cost > 0 GROUP BY 1, 2`,
      )
      .all()
    const spent = new Map<string, number>()
    for (const { ownerId, hour, amount } of ledger.spent) {
      const name = `${ownerId} ${Math.floor(hour / 24)}`
      spent.set(name, (spent.get(name) ?? 0) + amount)
    }
    expect(spent).toEqual(new Map(days.map(({ key, day, cost }) => [`${key} ${day}`, cost])))
    const head = await store.ledger.spent()
    expect(head).toMatchObject({ spent: [], open: [], base: { number: 1_000_000, hash: '' } })
    expect(await store.ledger.totals(0, END)).toEqual([])
    expect(await store.ledger.records(0, 10)).toEqual([])
  })

  it('begins its chain after them', async () => {
    const hold = sampleHold({ at: END, accountId: 'acc_c' })
    await store.append([asHold(hold)])
    const [first, ...rest] = await store.ledger.records(0, 10)
    expect(rest).toEqual([])
    const record = asHold(hold)
    expect(first).toEqual({ number: 1_000_001, hash: link('', textOf(record)), record })
    expect((await store.load()).ledger.open).toHaveLength(1)
  })
})

describe('runs of audit rows', () => {
  let folder: string
  let store: Store

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'store-'))
    store = await openSqliteStore({ folder, clock })
  })
  afterEach(async () => {
    await store.close()
    rmSync(folder, { recursive: true })
  })

  const onFile = <Result>(work: (database: Database) => Result): Result => {
    const database = new Database(join(folder, 'gateway.db'))
    try {
      return work(database)
    } finally {
      database.close()
    }
  }

  /** Arrived in disorder, some a day before their neighbours and some after. */
  const timeOf = (index: number): number =>
    NOW + index * 1000 + ((index * 7919) % 60_000) + (index % 500 === 3 ? -86_400_000 : 0)

  const append = (from: number, to: number): Promise<void> =>
    store.append(
      Array.from({ length: to - from }, (_, index) =>
        asRecord(sampleRow({ at: timeOf(from + index), inputTokens: from + index })),
      ),
    )

  const expectPeriod = async (from: number, to: number, count: number): Promise<void> => {
    const { rows } = await walk(store, { from, to })
    const expected = Array.from({ length: count }, (_, index) => index)
      .filter((index) => timeOf(index) >= from && timeOf(index) < to)
      .toReversed()
    expect(rows.map((row) => row.inputTokens)).toEqual(expected)
  }

  it('cover every row, wherever its time falls and whenever it was written', async () => {
    await append(0, 1022)
    await append(1022, 1026)
    await append(1026, 3500)
    expect(
      onFile((database) => database.query('SELECT first, last FROM audit_runs').all()),
    ).toEqual([
      { first: 0, last: 1023 },
      { first: 1024, last: 2047 },
      { first: 2048, last: 3071 },
      { first: 3072, last: Number.MAX_SAFE_INTEGER },
    ])
    const edges = [0, NOW - 86_400_000, NOW, NOW + 1_000_000, NOW + 1_024_000, NOW + 3_400_000]
    for (const [index, from] of edges.entries())
      // oxlint-disable-next-line no-await-in-loop -- one period after another
      for (const to of [...edges.slice(index + 1), NOW * 2]) await expectPeriod(from, to, 3500)
  })

  it('are left as they were by a commit that fails, and follow the next', async () => {
    await append(0, 1020)
    onFile((database) =>
      database.run(`CREATE TRIGGER full BEFORE INSERT ON audit WHEN new.model = 'poison'
        BEGIN SELECT RAISE(ABORT, 'disk on fire'); END`),
    )
    const failing = [append(2000, 2100), store.append([asRecord(sampleRow({ model: 'poison' }))])]
    for (const outcome of await Promise.allSettled(failing)) expect(outcome.status).toBe('rejected')
    await append(1020, 1500)
    await expectPeriod(0, NOW * 2, 1500)
    await expectPeriod(NOW + 1_000_000, NOW + 1_060_000, 1500)
    await expectPeriod(NOW - 86_400_000, NOW, 1500)
  })

  it('count the holds and notes between the rows', async () => {
    const calls = Array.from({ length: 1500 }, (_, index) =>
      asCall(sampleRow({ at: timeOf(index), inputTokens: index })),
    )
    for (let from = 0; from < calls.length; from += 100)
      // oxlint-disable-next-line no-await-in-loop -- in groups, as they come
      await store.append(calls.slice(from, from + 100).flat())
    expect(onFile((database) => database.query('SELECT first FROM audit_runs').values())).toEqual([
      [0],
      [1024],
      [2048],
    ])
    await expectPeriod(0, NOW * 2, 1500)
    await expectPeriod(NOW + 500_000, NOW + 560_000, 1500)
    await expectPeriod(NOW - 86_400_000, NOW, 1500)
  })
})

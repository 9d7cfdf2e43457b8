// Databases that earlier versions wrote, row by row, as they are brought up to date.
import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sampleIdentity } from '../../../test/contracts/identities.ts'
import {
  asRecord,
  endOf,
  NOW,
  payerText,
  sampleCall,
  sampleDeed,
} from '../../../test/contracts/samples.ts'
import { createFakeClock } from '../../../test/fakes/clock.ts'
import type { AuditRow } from '../../core/audit.ts'
import { toNanoUsd } from '../../core/money.ts'
import type { LedgerRecord } from '../../core/record.ts'
import { link, textOf } from '../chain.ts'
import type { Store } from '../store.ts'
import { MIGRATIONS } from './migrations.ts'
import { openSqliteStore } from './open.ts'

const HOUR = NOW / 3_600_000

// A call that ended, one that did not, and a refusal, with the hashes that were made of them then.
const BEFORE_PAYERS = `
  INSERT INTO accounts VALUES (1, 'acc_a', 'default', ${NOW}), (2, 'acc_b', 'other', ${NOW});
  INSERT INTO keys (id, account_id, kind, hash, name, metadata, created_at, fits_budget)
    VALUES ('key_a', 'acc_a', 'managed', 'hash-a', 'plain', '{}', ${NOW}, 1);
  INSERT INTO names (number, name) VALUES (1, 'acc_a'), (2, 'key_a'), (3, '/v1/chat/completions'),
    (4, 'a-model'), (5, '[]'), (6, 'daily'), (7, 'key/key_a'), (8, 'supplier/a-supplier');
  INSERT INTO holds VALUES
    (1, ${NOW}, ${HOUR}, 'req_1', 1, NULL, 2, 3, 4, 1, 1000000, NULL, NULL, 12, 4096, 5,
      'S+oKGrhHsHFjW658/JBQTfRL1svGZdAVmYVNRFKrcro='),
    (2, ${NOW}, ${HOUR}, 'req_2', 1, NULL, 2, 3, 4, 1, 1000000, 5, 6, 12, 4096, 5,
      'bQG98RVs9P9YVBNkwyeg7WvxOOxYcN/mtg6YoC7nu7E=');
  INSERT INTO notes VALUES (3, ${NOW}, 'attempt', 'req_2', '{"supplier":"two"}',
    'N8Ip0nezENaD4SZ0Azlhn+NpZ0ciD5Vgzg3DzBKPHBc=');
  INSERT INTO audit (sequence, at, request_id, account, key, endpoint, model, supplier, region,
    input_tokens, output_tokens, cost, latency_ms, first_token_ms, status, code, stream, attempts,
    state, evidence, held, hour, overrun, held_ms, count, hold, hash) VALUES
    (4, ${NOW}, 'req_1', 1, 2, '/v1/chat/completions', 'a-model', 'a-supplier', 'EU', 12, 34, 777,
      1234, 56, 200, NULL, 1, 1, 'settled', 'reported', 1000000, ${HOUR}, 0, 1.5, 1, 1,
      'kOHABaWBp8pRMu3sX1LzRtM1ZpZQnANVuMhbwO+r9Ls='),
    (5, ${NOW}, 'req_3', 1, 2, '/v1/chat/completions', 'a-model', 'a-supplier', 'EU', 12, 34, 0,
      1234, 56, 402, 'budget_exceeded', 1, 1, 'refused', NULL, NULL, NULL, 0, NULL, 1, NULL,
      'gzsIhexbSWWhidvG4NImB9KNleSz59OnE4lOQwDirsA=');
  INSERT INTO sums VALUES (${HOUR}, 7, 777), (${HOUR}, 8, 777);`

describe('a database of the version before payers', () => {
  let folder: string
  let store: Store

  const open = async (): Promise<void> => {
    store = await openSqliteStore({ folder, clock: createFakeClock(NOW) })
  }

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'store-'))
    const database = new Database(join(folder, 'gateway.db'), { create: true })
    for (const sql of MIGRATIONS.slice(0, 3)) database.run(sql)
    database.run('CREATE TABLE schema_version (version INTEGER NOT NULL) STRICT')
    database.run('INSERT INTO schema_version VALUES (3)')
    database.run(BEFORE_PAYERS)
    database.close()
    await open()
  })
  afterEach(async () => {
    await store.close()
    rmSync(folder, { recursive: true })
  })

  /** How many records there are, after a proof that they are a chain. */
  const countChain = async (): Promise<number> => {
    const records = await store.ledger.records(0, 1000)
    let hash = ''
    for (const { record, ...place } of records) {
      hash = link(hash, textOf(record))
      expect(place.hash).toBe(hash)
    }
    return records.length
  }

  it('keeps its chain, its open calls and what was spent, and goes on', async () => {
    expect(await countChain()).toBe(5)
    const { open: left, spent, balances } = (await store.load()).ledger
    expect(left).toMatchObject([
      {
        hold: { requestId: 'req_2', payer: undefined, claim: undefined },
        asked: [{ supplier: 'two' }],
      },
    ])
    expect(spent).toEqual([{ ownerId: 'key_a', hour: HOUR, amount: toNanoUsd(777) }])
    expect(balances).toEqual([])
    await store.append([
      { type: 'audit', row: endOf(left[0]!.hold, { cost: toNanoUsd(3) }) },
      ...sampleCall(5, { payer: payerText('wal_a') }),
    ])
    await store.close()
    await open()
    expect(await countChain()).toBe(8)
    const { ledger } = await store.load()
    expect(ledger.open).toEqual([])
    const sums = { credited: 0n, charged: 5n, before: 0n }
    expect(ledger.balances).toEqual([{ walletId: 'wal_a', ...sums }])
  })

  it('gets a wallet with an open end for each account, once', async () => {
    const wallets = async (): Promise<unknown> =>
      (await store.load()).tenancy.flatMap((entry) =>
        entry.type === 'wallet' ? [[entry.record.ownerId, entry.record.creditLine]] : [],
      )
    const expected = [
      ['acc_a', undefined],
      ['acc_b', undefined],
    ]
    expect(await wallets()).toEqual(expected)
    await store.close()
    await open()
    expect(await wallets()).toEqual(expected)
  })

  it('keeps its keys, which belong to nobody in particular', async () => {
    expect((await store.load()).keys).toMatchObject([
      { id: 'key_a', projectId: undefined, manages: false, previous: undefined },
    ])
  })

  it('lets its records go to an archive', async () => {
    const { open: left } = (await store.load()).ledger
    await store.append([{ type: 'audit', row: endOf(left[0]!.hold) }])
    await store.ledger.forget((await store.ledger.head()).last)
    expect(await store.ledger.records(0, 10)).toEqual([])
    expect((await store.load()).ledger.balances).toEqual([])
  })
})

const PAYER = payerText('wal_a')

// A call that a wallet paid for, with the hashes that were made of it then.
const BEFORE_ROUTES = `
  INSERT INTO names (number, name) VALUES (1, 'acc_a'), (2, 'key_a'), (3, '/v1/chat/completions'),
    (4, 'a-model'), (5, '[]'), (6, '${PAYER}');
  INSERT INTO holds VALUES
    (1, ${NOW}, ${HOUR}, 'req_1', 1, NULL, 2, 3, 4, 1, 1000000, NULL, NULL, 12, 4096, 5,
      'AlCL5Y7x+BBAA0ucezqo5Jp4fQfBMjy55fFMa5qrLDw=', 6, NULL);
  INSERT INTO audit (sequence, at, request_id, account, key, endpoint, model, supplier, region,
    input_tokens, output_tokens, cost, latency_ms, first_token_ms, status, code, stream, attempts,
    state, evidence, held, hour, overrun, held_ms, count, hold, hash, payer) VALUES
    (2, ${NOW}, 'req_1', 1, 2, '/v1/chat/completions', 'a-model', 'a-supplier', 'EU', 12, 34, 777,
      1234, 56, 200, NULL, 1, 1, 'settled', 'reported', 1000000, ${HOUR}, 0, 1.5, 1, 1,
      'BGpHwkTDtwh9eAdWWJfDCBJgc2bSUB7MMfIaviWMED4=', 6);`

describe('a database of the version before routes', () => {
  let folder: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'store-'))
    const database = new Database(join(folder, 'gateway.db'), { create: true })
    for (const sql of MIGRATIONS.slice(0, 4)) database.run(sql)
    database.run('CREATE TABLE schema_version (version INTEGER NOT NULL) STRICT')
    database.run('INSERT INTO schema_version VALUES (4)')
    database.run(BEFORE_ROUTES)
    database.close()
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it('keeps its chain, tells no route of its calls, and goes on with those that have one', async () => {
    const store = await openSqliteStore({ folder, clock: createFakeClock(NOW) })
    const route = '{"snapshot":"a","listed":["one"]}'
    const [held, ended] = sampleCall(5, { payer: PAYER })
    await store.append([held, asRecord({ ...rowOf(ended), route })])
    let hash = ''
    for (const { record, ...place } of await store.ledger.records(0, 1000)) {
      hash = link(hash, textOf(record))
      expect(place.hash).toBe(hash)
    }
    const { items } = await store.audit.list('acc_a', { limit: 9, cursor: undefined })
    expect(items.map(({ requestId, route: told }) => [requestId === 'req_1', told])).toEqual([
      [false, route],
      [true, undefined],
    ])
    await store.close()
  })
})

const BEFORE_IDENTITIES = `
  INSERT INTO accounts (id, name, created_at) VALUES ('acc_a', 'default', ${NOW});
  INSERT INTO organisations (id, account_id, name, created_at)
    VALUES ('org_a', 'acc_a', 'old', ${NOW});`

describe('a database of the version before native sign-ins', () => {
  let folder: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'store-'))
    const database = new Database(join(folder, 'gateway.db'), { create: true })
    for (const sql of MIGRATIONS.slice(0, 5)) database.run(sql)
    database.run('CREATE TABLE schema_version (version INTEGER NOT NULL) STRICT')
    database.run('INSERT INTO schema_version VALUES (5)')
    database.run(BEFORE_IDENTITIES)
    database.close()
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it('has none, lets its organisations use them, and takes them', async () => {
    const store = await openSqliteStore({ folder, clock: createFakeClock(NOW) })
    const { tenancy, identities } = await store.load()
    expect(identities).toEqual([])
    const [organisation] = tenancy.filter(({ type }) => type === 'organisation')
    expect(organisation).toMatchObject({ record: { id: 'org_a', name: 'old', usesNative: true } })
    const identity = sampleIdentity('acc_a', { organisationId: 'org_a' })
    await store.identities.insert(identity, sampleDeed())
    expect((await store.load()).identities).toStrictEqual([identity])
    await store.close()
  })
})

function rowOf(record: LedgerRecord): AuditRow {
  if (record.type !== 'audit') throw new Error('no audit row')
  return record.row
}

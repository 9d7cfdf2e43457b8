// What leaves with the records that are archived, and what must not: money that a budget still counts, and names
// that a record has.
import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, it } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  asHold,
  asRecord,
  endOf,
  NOW,
  payerText,
  sampleCall,
  sampleHold,
} from '../../../test/contracts/samples.ts'
import { createFakeClock, type FakeClock } from '../../../test/fakes/clock.ts'
import { toNanoUsd } from '../../core/money.ts'
import type { LedgerRecord } from '../../core/record.ts'
import { link, textOf } from '../chain.ts'
import type { Store } from '../store.ts'
import { openSqliteStore } from './open.ts'

const DAY_MS = 86_400_000

let folder: string
let clock: FakeClock
let store: Store

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'store-'))
  clock = createFakeClock(NOW)
  store = await openSqliteStore({ folder, clock })
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

async function reopen(): Promise<void> {
  await store.close()
  store = await openSqliteStore({ folder, clock })
}

async function forgetThrough(number: number): Promise<void> {
  const [found] = await store.ledger.records(number - 1, 1)
  await store.ledger.forget({ number, hash: found!.hash })
}

function names(): readonly string[] {
  const database = new Database(join(folder, 'gateway.db'), { readonly: true })
  try {
    const rows = database.query<{ readonly name: string }, []>('SELECT name FROM names').all()
    return rows.map(({ name }) => name)
  } finally {
    database.close(true)
  }
}

/** The models of all holds, after a proof that the records are a chain. */
async function readModels(): Promise<readonly string[]> {
  const found = await store.ledger.records(0, 10_000)
  let { hash } = (await store.ledger.head()).base
  for (const { hash: own, record } of found) {
    hash = link(hash, textOf(record))
    expect(own).toBe(hash)
  }
  return found.flatMap(({ record }) => (record.type === 'hold' ? [record.hold.model] : []))
}

it('keeps what the books still count while the clock is ahead of them', async () => {
  await store.append([
    ...sampleCall(500, { at: NOW - 14 * DAY_MS }),
    ...sampleCall(7, { at: NOW - 40 * DAY_MS, keyId: 'key_old' }),
    asHold(sampleHold()),
  ])
  clock.jump(40 * DAY_MS)
  await forgetThrough(4)
  clock.jump(-40 * DAY_MS)
  await reopen()
  const { spent } = (await store.load()).ledger
  expect(spent.map(({ ownerId, amount }) => [ownerId, Number(amount)])).toEqual([['key_a', 500]])
})

it('drops names that no record has any more, and no other', async () => {
  const invented = Array.from({ length: 1200 }, (_, index) => `open/invented-${index}`)
  await store.append(invented.flatMap((model) => sampleCall(1, { model, terms: `["${model}"]` })))
  const kept = sampleHold({ model: 'open/kept', projectId: 'prj_kept', period: 'daily' })
  await store.append([...sampleCall(1, { model: 'a-model', keyId: 'key_b' }), asHold(kept)])
  await forgetThrough(2400)
  const left = names()
  expect(left.filter((name) => name.includes('invented'))).toEqual([])
  expect(left).toContain('a-model')
  await reopen()
  expect(await readModels()).toEqual(['a-model', 'open/kept'])
  expect((await store.load()).ledger.open[0]?.hold).toStrictEqual(kept)
})

it('drops payers that no record has any more, and keeps those of the books and of open calls', async () => {
  const gone = payerText('wal_gone')
  const ended = payerText('wal_ended')
  const running = payerText('wal_running')
  const slow = sampleHold({ payer: ended })
  await store.append([...sampleCall(5, { payer: gone }), asHold(slow)])
  const open = sampleHold({ payer: running })
  await store.append([asHold(open), asRecord(endOf(slow, { cost: toNanoUsd(7) }))])
  await forgetThrough(3)
  const left = names()
  expect(left).not.toContain(gone)
  // The first is of a row whose hold is gone, too.
  for (const name of [ended, running, 'payer/wal_gone', 'payer/wal_ended', 'payments'])
    expect(left).toContain(name)
  await reopen()
  const { ledger } = await store.load()
  expect(ledger.open[0]?.hold).toStrictEqual(open)
  const [row] = (await store.audit.list('acc_a', { limit: 9, cursor: undefined })).items
  expect(row?.payer).toBe(ended)
})

it('drops routes that no record has any more, and keeps those of the rows that stay', async () => {
  const gone = '{"snapshot":"a","listed":["gone"]}'
  const shared = '{"snapshot":"a","listed":["shared"]}'
  const row = (route: string): readonly LedgerRecord[] => {
    const hold = sampleHold()
    return [asHold(hold), asRecord(endOf(hold, { route }))]
  }
  await store.append([...row(gone), ...row(shared), ...row(shared)])
  await forgetThrough(4)
  expect(names()).not.toContain(gone)
  await reopen()
  const { items } = await store.audit.list('acc_a', { limit: 9, cursor: undefined })
  expect(items.map(({ route }) => route)).toEqual([shared])
})

it('adds the calls up before their records go', async () => {
  await store.append(Array.from({ length: 300 }, () => sampleCall(2)).flat())
  await forgetThrough(600)
  const asked = { per: 'total', by: [], equal: {}, limit: 1, cursor: undefined } as const
  const hour = NOW / 3_600_000
  const range = { fromHour: hour, toHour: hour + 1 }
  const { items } = await store.usage.read('acc_a', { ...asked, ...range })
  expect(items[0]?.figures).toMatchObject({ calls: 300n, cost: 600n })
})

it('writes a name again that it has dropped', async () => {
  await store.append(sampleCall(1, { model: 'open/one' }))
  await forgetThrough(2)
  expect(names()).not.toContain('open/one')
  await store.append(sampleCall(1, { model: 'open/two' }))
  await store.append(sampleCall(1, { model: 'open/one' }))
  expect(await readModels()).toEqual(['open/two', 'open/one'])
  await reopen()
  expect(await readModels()).toEqual(['open/two', 'open/one'])
})

it('keeps a name that a call comes back to while names are dropped', async () => {
  const invented = Array.from({ length: 1200 }, (_, index) => `open/invented-${index}`)
  await store.append(invented.flatMap((model) => sampleCall(1, { model })))
  const forgetting = forgetThrough(2400)
  const work = { isDone: false }
  void forgetting.finally(() => {
    work.isDone = true
  })
  const again: string[] = []
  while (!work.isDone) {
    const model = invented[(again.length * 7) % invented.length]!
    again.push(model)
    // oxlint-disable-next-line no-await-in-loop -- one turn after another
    await store.append(sampleCall(1, { model }))
  }
  await forgetting
  expect(again.length).toBeGreaterThan(5)
  expect(await readModels()).toEqual(again)
  await reopen()
  expect(await readModels()).toEqual(again)
})

// The books of a data folder, as an operator checks and exports them, while a gateway has it and after.
import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'bun:test'
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { Clerk } from '../../test/fakes/books.ts'
import { createFakeClock } from '../../test/fakes/clock.ts'
import { createFolder, type Folder } from '../../test/fakes/process.ts'
import { tell } from '../../test/fakes/terminal.ts'
import { toNanoUsd } from '../core/money.ts'
import type { HoldRecord, LedgerRecord } from '../core/record.ts'
import { Archive } from '../ledger/months/archive.ts'
import { closeMonth } from '../ledger/months/month.ts'
import { openSqliteStore } from '../store/sqlite/open.ts'
import type { Store } from '../store/store.ts'

let folder: Folder
let data = ''
let store: Store

beforeEach(async () => {
  folder = createFolder()
  data = join(folder.path, 'data')
  const clock = createFakeClock(Date.UTC(2026, 10, 2))
  store = await openSqliteStore({ folder: data, clock, durability: 'process' })
})

afterEach(async () => {
  await store.close()
  folder[Symbol.dispose]()
})

const BUDGET = { limit: 3_000_000, period: 'monthly' } as const

/** Some days of October, and the first of November. */
function keepBooks(): readonly LedgerRecord[] {
  const clerk = new Clerk()
  const calls: HoldRecord[] = []
  for (let index = 0; index < 9; index += 1) {
    clerk.at += 40 * 3_600_000
    calls.push(clerk.hold(index % 2 === 0 ? 'key_a' : 'key_b', 500_000, BUDGET)!)
    if (index % 3 === 0) clerk.refuse('key_b', 4)
    const call = calls[index - 1]
    if (call === undefined) continue
    if (index % 4 === 1) clerk.void(call, toNanoUsd(1234))
    else clerk.settle(call, index * 200)
  }
  clerk.note('review', calls[8]!.requestId, { reason: 'gone' })
  clerk.settle(calls[8]!, 1, { evidence: 'crashed' })
  clerk.at = Date.UTC(2026, 10, 1, 3)
  clerk.hold('key_a', 500_000, BUDGET)
  return clerk.books.chain.map(({ record }) => record)
}

describe('gateway ledger verify', () => {
  it('finds honest books in order, beside whoever writes them and after', async () => {
    await store.append(keepBooks())
    const live = await tell(['ledger', 'verify', '--data', data])
    expect(live.err).toBe('')
    expect(live.code).toBe(0)
    expect(live.out).toEndWith('The books are in order.\n')
    expect(live.out).toMatch(/^Settled +7$/m)
    expect(live.out).toMatch(/^Open +1, 0 of them in review$/m)
    expect(live.out).toMatch(/^2026-10 +\S+ +\S+ +0\.000002468 /m)
    await store.close()
    expect(await tell(['ledger', 'verify', '--data', data])).toEqual(live)
  })

  it('names the record that somebody has changed, with code 1', async () => {
    await store.append(keepBooks())
    await store.close()
    const database = new Database(join(data, 'gateway.db'))
    database.run('DROP TRIGGER audit_is_final')
    const { sequence } = database
      .query<{ sequence: number }, []>('SELECT sequence FROM audit WHERE cost > 1000 LIMIT 1')
      .get()!
    database.run('UPDATE audit SET cost = cost - 1000 WHERE sequence = ?', [sequence])
    database.close(true)
    const { code, out, err } = await tell(['ledger', 'verify', '--data', data])
    expect(code).toBe(1)
    expect(out).toMatch(new RegExp(`^ *${sequence} +req_\\d+ +its hash is not that of`, 'm'))
    expect(err).toStartWith('error: The books have 3 faults.')
    const machine = await tell(['ledger', 'verify', '--data', data, '--json'])
    expect(machine.code).toBe(1)
    expect(JSON.parse(machine.out)).toMatchObject({
      is_clean: false,
      fault_count: 3,
      faults: [{ number: sequence }, { number: sequence }, { number: null }],
    })
    expect(JSON.parse(machine.err)).toMatchObject({ exit_code: 1 })
  })

  it('says what it could not read, and what to do about it', async () => {
    await store.append(keepBooks())
    await store.close()
    const verify = async (sql: string): Promise<string> => {
      const database = new Database(join(data, 'gateway.db'))
      database.run('DROP TRIGGER IF EXISTS audit_is_final')
      database.run(sql)
      database.close(true)
      const { code, err } = await tell(['ledger', 'verify', '--data', data])
      expect(code).toBe(1)
      expect(err).toContain(`The books in ${join(data, 'gateway.db')} cannot be checked`)
      expect(err).toContain('keep a copy of the data folder')
      return err
    }
    expect(await verify("UPDATE audit SET state = 'paid' WHERE sequence = 4")).toMatch(
      /The record 4 \(table audit, request .*\) cannot be read: the column state holds an/,
    )
    expect(await verify("UPDATE marks SET value = '7' WHERE name = 'base'")).toContain(
      'The mark of where the chain begins cannot be read: expected a row.',
    )
    expect(await verify("UPDATE marks SET value = '{' WHERE name = 'base'")).toContain(
      'cannot be used: malformed JSON',
    )
  })

  it('says where there are no books', async () => {
    const { code, err } = await tell(['ledger', 'verify', '--data', '/nowhere'])
    expect(code).toBe(1)
    expect(err).toContain('There are no books in /nowhere.')
  })

  it('goes on from an archive, and through it where it is named', async () => {
    await store.append(keepBooks())
    const append = (batch: readonly LedgerRecord[]): Promise<void> => store.append(batch)
    const at = Date.UTC(2026, 10, 2)
    await closeMonth(store.ledger, append, { month: '2026-10', at })
    const files = join(data, 'archive')
    const archive = new Archive({
      ledger: store.ledger,
      append,
      folder: files,
      now: () => at,
      closeMonths: async () => {},
    })
    const before = JSON.parse((await tell(['ledger', 'verify', '--data', data, '--json'])).out)
    const [month] = await archive.run('2026-11')
    const read = async (...words: readonly string[]): Promise<Record<string, unknown>> => {
      const { out, err } = await tell(['ledger', 'verify', '--data', data, '--json', ...words])
      expect(err).toBe('')
      return JSON.parse(out) as Record<string, unknown>
    }
    expect(await read()).toMatchObject({ is_clean: true, after: { number: month!.last } })
    const whole = await read('--archive', files)
    expect(whole).toMatchObject({ is_clean: true, months: before.months, remark_count: 0 })
    expect(whole['records']).toBe(before.records + 1)
    const { code, err } = await tell(['ledger', 'verify', '--data', data, '--archive', 'nowhere'])
    expect([code, err]).toEqual([1, 'error: There is no nowhere.\n'])
  })

  it('takes nothing for an archive: neither an empty folder nor an empty file', async () => {
    await store.append(keepBooks())
    const refused = async (path: string): Promise<string> => {
      const { code, err } = await tell(['ledger', 'verify', '--data', data, '--archive', path])
      expect(code).toBe(1)
      return err
    }
    const empty = join(folder.path, 'empty')
    mkdirSync(empty)
    expect(await refused(empty)).toContain(`There is no archive in ${empty}.`)
    for (const [name, bytes] of [
      ['nothing.jsonl', ''],
      ['nothing.jsonl.gz', gzipSync('')],
    ] as const) {
      const file = join(folder.path, name)
      writeFileSync(file, bytes)
      expect(await refused(file)).toContain(`${file} holds no records at all.`)
    }
  })

  it('follows sums that are too large for a number, and for the database', async () => {
    const largest = toNanoUsd(Number.MAX_SAFE_INTEGER)
    const clerk = new Clerk()
    const spend = (times: number): void => {
      for (let index = 0; index < times; index += 1) {
        const call = clerk.hold('key_a', largest)!
        clerk.end(call, { state: 'settled', evidence: 'counted', cost: largest })
      }
    }
    spend(3)
    clerk.at += 3_600_000
    spend(600)
    await store.append(clerk.books.chain.map(({ record }) => record))
    const at = Date.UTC(2026, 10, 2)
    await closeMonth(store.ledger, (batch) => store.append(batch), { month: '2026-10', at })
    const { code, out, err } = await tell(['ledger', 'verify', '--data', data])
    expect([code, err]).toEqual([0, ''])
    expect(out).toContain('closes 2026-10 with amounts that are too large to be exact')
    expect(out).toContain('The books are in order.')
  })
})

describe('gateway ledger export', () => {
  it('writes every record as a line, to stdout or to a file of its owner', async () => {
    const records = keepBooks()
    await store.append(records)
    const { code, out } = await tell(['ledger', 'export', '--data', data])
    expect(code).toBe(0)
    const lines = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { number: number })
    expect(lines.map(({ number }) => number)).toEqual(records.map((_, index) => index + 1))
    const file = join(folder.path, 'books.jsonl')
    const told = await tell(['ledger', 'export', '--data', data, '--out', file, '--after', '4'])
    expect(told.out).toBe(`Wrote ${records.length - 4} records to ${file}.\n`)
    expect(readFileSync(file, 'utf8')).toBe(out.split('\n').slice(4).join('\n'))
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const again = await tell(['ledger', 'export', '--data', data, '--out', file])
    expect(again.code).toBe(1)
    expect(again.err).toContain('exists already')
    expect((await tell(['ledger', 'export', '--data', data, '--out', file, '--force'])).code).toBe(
      0,
    )
    expect(readFileSync(file, 'utf8')).toBe(out)
  })

  it('refuses a number that is none', async () => {
    const file = join(folder.path, 'books.jsonl')
    const { code, err } = await tell(['ledger', 'export', '--after', 'x', '--out', file])
    expect(code).toBe(2)
    expect(err).toContain('--after takes the number of a record.')
    expect(existsSync(file)).toBe(false)
  })
})

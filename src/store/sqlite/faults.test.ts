// What a crash, a bad disk or a busy hand can do to the books: whatever is found at the next start is a
// whole beginning of what was written, or it is refused by name.
import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'bun:test'
import {
  copyFileSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  asHold,
  asNote,
  asRecord,
  endOf,
  NOW,
  payerText,
  sampleCall,
  sampleHold,
  sampleRow,
} from '../../../test/contracts/samples.ts'
import { createFakeClock } from '../../../test/fakes/clock.ts'
import { toNanoUsd } from '../../core/money.ts'
import type { LedgerRecord } from '../../core/record.ts'
import { link, textOf } from '../chain.ts'
import type { ChainPlace, LedgerRepository, Store } from '../store.ts'
import { inspectLedger } from './inspect.ts'
import { migrate } from './migrate.ts'
import { openSqliteStore } from './open.ts'
import { recover } from './recover.ts'
import { Writer } from './writer.ts'

const clock = createFakeClock(NOW)

let folder: string
let store: Store | undefined

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'store-'))
})
afterEach(async () => {
  await store?.close()
  store = undefined
  rmSync(folder, { recursive: true })
})

const file = (): string => join(folder, 'gateway.db')
const open = async (): Promise<Store> => {
  store = await openSqliteStore({ folder, clock })
  return store
}

/** Changes the file of a store that is closed. */
function tamper(work: (database: Database) => void): void {
  const database = new Database(file())
  try {
    for (const table of ['audit', 'hold', 'note'])
      database.run(`DROP TRIGGER IF EXISTS ${table}_is_final`)
    work(database)
  } finally {
    database.close()
  }
}

/** Every record, after a proof that they are a chain. */
async function readChain(ledger: LedgerRepository): Promise<readonly LedgerRecord[]> {
  const found = await ledger.records(0, 10_000)
  let place: ChainPlace = (await ledger.head()).base
  for (const { number, hash, record } of found) {
    expect([number, hash]).toEqual([place.number + 1, link(place.hash, textOf(record))])
    place = { number, hash }
  }
  return found.map(({ record }) => record)
}

describe('a log that was torn off', () => {
  let torn: string
  beforeEach(() => {
    torn = mkdtempSync(join(tmpdir(), 'store-'))
  })
  afterEach(() => {
    rmSync(torn, { recursive: true })
  })

  /** Commits and the bytes of the log after each of them. */
  async function writeCommits(): Promise<{
    readonly records: readonly LedgerRecord[]
    readonly ends: readonly { readonly bytes: number; readonly records: number }[]
  }> {
    const opened = await open()
    const held = sampleHold()
    const batches: readonly (readonly LedgerRecord[])[] = [
      [asHold(held), ...sampleCall(3)],
      [asNote('attempt', held.requestId, { supplier: 'two' }), asHold(sampleHold())],
      [asRecord(endOf(held, { cost: toNanoUsd(9) })), ...sampleCall(7, { keyId: 'key_new' })],
      Array.from({ length: 9 }, () => sampleCall(1)).flat(),
    ]
    const records: LedgerRecord[] = []
    const ends = []
    for (const batch of batches) {
      // oxlint-disable-next-line no-await-in-loop -- a commit each
      await opened.append(batch)
      records.push(...batch)
      ends.push({ bytes: statSync(`${file()}-wal`).size, records: records.length })
    }
    return { records, ends }
  }

  /** What a start finds. */
  function openTorn(): { readonly number: number; readonly open: number } {
    const database = new Database(join(torn, 'gateway.db'))
    try {
      database.run('PRAGMA synchronous = off')
      const { head, operations } = recover(database)
      const integrity = database.query('PRAGMA integrity_check').values()
      expect(integrity).toEqual([['ok']])
      return { number: head.number, open: operations.numbers().length }
    } finally {
      database.close()
    }
  }

  function copy(change: (log: Buffer) => Uint8Array): void {
    rmSync(join(torn, 'gateway.db-shm'), { force: true })
    copyFileSync(file(), join(torn, 'gateway.db'))
    writeFileSync(join(torn, 'gateway.db-wal'), change(readFileSync(`${file()}-wal`)))
  }

  it('at any place leaves the commits before it, and a chain that is whole', async () => {
    const { ends } = await writeCommits()
    const pageBytes = 2048 + 24
    const [first] = ends
    const offsets = Array.from(
      { length: ends.at(-1)!.bytes - first!.bytes + 1 },
      (_, index) => index,
    )
      // The edges of frames byte by byte, and what is between them here and there.
      .filter((index) => (index + 26) % pageBytes < 52 || index % 97 === 0)
      .map((index) => first!.bytes + index)
    expect(offsets.length).toBeGreaterThan(500)
    const expected = offsets.map((bytes) => ends.findLast((end) => end.bytes <= bytes)!.records)
    const found = offsets.map((bytes) => {
      copy((log) => log.subarray(0, bytes))
      return openTorn().number
    })
    expect(found).toEqual(expected)
    expect(new Set(found).size).toBe(ends.length)
  }, 60_000)

  it('or spoilt at any place leaves the commits before it', async () => {
    const { ends } = await writeCommits()
    const last = ends.at(-2)!
    for (let offset = last.bytes; offset < ends.at(-1)!.bytes; offset += 211) {
      copy((log) => {
        log[offset]! ^= 4
        return log
      })
      expect(openTorn().number).toBe(last.records)
    }
  }, 60_000)

  it('leaves a store that goes on where it was cut', async () => {
    const { records, ends } = await writeCommits()
    const { bytes, records: count } = ends[1]!
    copy((log) => log.subarray(0, bytes + 3000))
    const again = await openSqliteStore({ folder: torn, clock })
    const kept = records.slice(0, count)
    expect(await readChain(again.ledger)).toEqual(kept)
    const { ledger } = await again.load()
    expect(ledger.open).toHaveLength(2)
    const more = [...sampleCall(5), asRecord(endOf(ledger.open[0]!.hold))]
    await again.append(more)
    expect(await readChain(again.ledger)).toEqual([...kept, ...more])
    await again.close()
  })
})

describe('books that were changed', () => {
  const held = sampleHold({ model: 'a-model-of-its-own' })
  const ended = sampleHold()

  beforeEach(async () => {
    const opened = await open()
    await opened.append([
      ...sampleCall(1),
      asHold(ended),
      asRecord(endOf(ended, { cost: toNanoUsd(777) })),
      asHold(held),
      asNote('progress', held.requestId, { outputTokens: 5 }),
      ...sampleCall(1),
    ])
    await opened.close()
  })

  it.each<readonly [string, string, string]>([
    [
      'a cost',
      'UPDATE audit SET cost = 776 WHERE cost = 777',
      `4 (table audit, request ${ended.requestId})`,
    ],
    [
      'a hold',
      'UPDATE holds SET amount = 5 WHERE number = 3',
      `3 (table holds, request ${ended.requestId})`,
    ],
    ['a note', "UPDATE notes SET body = '{}'", `6 (table notes, request ${held.requestId})`],
    ['a hash', "UPDATE audit SET hash = 'x' WHERE sequence = 4", '4 (table audit'],
    [
      'the name of a key',
      "UPDATE names SET name = 'key_thief' WHERE name = 'key_a'",
      '1 (table holds',
    ],
    ['a state', "UPDATE audit SET state = 'odd' WHERE sequence = 4", '4 (table audit'],
    [
      'an end that is another',
      'UPDATE audit SET sequence = 1000 WHERE sequence = 4',
      '4 is missing',
    ],
    ['a row less', 'DELETE FROM holds WHERE number = 5', '5 is missing'],
    [
      'two in each other’s place',
      `UPDATE holds SET number = -number WHERE number IN (3, 5);
       UPDATE holds SET number = iif(number = -3, 5, 3) WHERE number < 0`,
      '3 (table holds',
    ],
    [
      'a row more',
      `INSERT INTO audit SELECT 2000, at, request_id, account, project_id, key, endpoint, model, supplier,
        region, input_tokens, output_tokens, cost, latency_ms, first_token_ms, status, code, stream,
        attempts, state, evidence, held, hour, overrun, held_ms, count, details, NULL, hash, NULL, NULL
       FROM audit WHERE sequence = 4`,
      '9 is missing',
    ],
  ])('by %s are refused, and the record is named', async (_, sql, named) => {
    tamper((database) => database.run(sql))
    const refusal = await open().catch((thrown: unknown) => thrown)
    expect(String(refusal)).toContain(named)
    expect(String(refusal)).toContain(folder)
    // The folder is not kept from whoever puts a good copy back.
    expect(String(await open().catch((thrown: unknown) => thrown))).toContain(named)
  })

  it('long ago are not looked at by a start, which reads the end alone', async () => {
    const opened = await open()
    for (let calls = 0; calls < 2300; calls += 100)
      // oxlint-disable-next-line no-await-in-loop -- in groups, as they come
      await opened.append(Array.from({ length: 100 }, () => sampleCall(1)).flat())
    await opened.close()
    tamper((database) => database.run('UPDATE audit SET cost = 776 WHERE cost = 777'))
    const again = await open()
    expect((await again.load()).ledger.open).toMatchObject([{ hold: held, outputTokens: 5 }])
    await again.close()
    tamper((database) => database.run('UPDATE audit SET cost = 2 WHERE sequence = 4400'))
    expect(open()).rejects.toThrow('The record 4400 (table audit')
  })

  it.each([
    ['another', "UPDATE audit SET hash = 'x' WHERE sequence = ?"],
    ['none', 'DELETE FROM audit WHERE sequence = ?'],
  ])('where a start begins to read, so that it finds %s there, are refused', async (_, sql) => {
    const opened = await open()
    const { last } = await opened.ledger.head()
    const [first] = await opened.ledger.records(0, 1)
    // What is removed is preceded by a mark of where the chain stands.
    await opened.ledger.forget({ number: 1, hash: first!.hash })
    await opened.close()
    tamper((database) => database.run(sql, [last.number]))
    expect(open()).rejects.toThrow(`The record ${last.number} is not what it was.`)
  })

  it('by one bit of a page are refused, and the record is named', async () => {
    const bytes = readFileSync(file())
    const at = bytes.indexOf(held.requestId)
    bytes[at + 20]! ^= 1
    writeFileSync(file(), bytes)
    expect(open()).rejects.toThrow('The record 5 (table holds, request req_')
  })

  it('by one bit of a name are refused', async () => {
    const bytes = readFileSync(file())
    bytes[bytes.indexOf(held.model) + 3]! ^= 1
    writeFileSync(file(), bytes)
    expect(open()).rejects.toThrow(`The record 5 (table holds, request ${held.requestId})`)
  })

  it('to something that is no database are refused in plain words', async () => {
    const bytes = readFileSync(file())
    bytes.fill(0xff, 0, 4096)
    writeFileSync(file(), bytes)
    expect(open()).rejects.toThrow(`The database ${file()} is damaged.`)
  })

  it('so that a whole page is gone are refused in plain words', async () => {
    truncateSync(file(), 6 * 2048)
    expect(open()).rejects.toThrow(`The database ${file()} is damaged.`)
  })

  it.each([
    ['recovery', '{"number":'],
    ['recovery', '{"number":2,"hash":"x","at":0,"open":"none"}'],
    ['base', '7'],
  ])('in the mark %s are refused with the file and what to do', async (name, value) => {
    tamper((database) => database.run('UPDATE marks SET value = ? WHERE name = ?', [value, name]))
    const refusal = String(await open().catch((thrown: unknown) => thrown))
    expect(refusal).toContain(file())
    expect(refusal).toContain('Put back a copy of the data folder that is whole.')
  })

  it('while another program has them locked say so', async () => {
    const other = new Database(file())
    other.run('PRAGMA locking_mode = EXCLUSIVE')
    other.run('BEGIN EXCLUSIVE')
    const refusal = String(await open().catch((thrown: unknown) => thrown))
    other.close(true)
    expect(refusal).toContain(`The database ${file()} is locked by another program.`)
  })
})

describe('a process that was killed', () => {
  it('has left every record that it called durable, and nothing half', async () => {
    const child = spawnAppender(folder)
    const told: string[] = []
    const decoder = new TextDecoder()
    let text = ''
    for await (const chunk of child.stdout) {
      text += decoder.decode(chunk, { stream: true })
      told.push(...text.split('\n').slice(0, -1))
      text = text.slice(text.lastIndexOf('\n') + 1)
      if (told.length > 3000) break
    }
    child.kill('SIGKILL')
    await child.exited
    const opened = await open()
    const records = await readAll(opened.ledger)
    const written = new Set(
      records.map((record) =>
        record.type === 'hold'
          ? `hold ${record.hold.requestId}`
          : 'row' in record
            ? `end ${record.row.requestId}`
            : '',
      ),
    )
    expect(told.filter((line) => !written.has(line))).toEqual([])
    const begun = records.filter(({ type }) => type === 'hold').length
    const ended = records.filter(({ type }) => type === 'audit').length
    const { open: left, spent } = (await opened.load()).ledger
    expect(left).toHaveLength(begun - ended)
    expect(spent.reduce((sum, { amount }) => sum + amount, 0)).toBe(ended * 3)
  }, 30_000)
})

/** Holds and ends calls as fast as it can, and tells what is durable. */
function spawnAppender(into: string): Bun.Subprocess<'ignore', 'pipe', 'inherit'> {
  const source = (path: string): string => JSON.stringify(join(import.meta.dir, path))
  const script = `
    import { createFakeClock } from ${source('../../../test/fakes/clock.ts')}
    import { asHold, asRecord, endOf, sampleHold } from ${source('../../../test/contracts/samples.ts')}
    import { openSqliteStore } from ${source('open.ts')}
    const store = await openSqliteStore({ folder: ${JSON.stringify(into)}, clock: createFakeClock(${NOW}) })
    const call = async () => {
      const hold = sampleHold()
      await store.append([asHold(hold)])
      process.stdout.write('hold ' + hold.requestId + '\\n')
      await store.append([asRecord(endOf(hold, { cost: 3 }))])
      process.stdout.write('end ' + hold.requestId + '\\n')
    }
    const caller = async () => { for (;;) await call() }
    for (let index = 0; index < 20; index += 1) caller()
  `
  return Bun.spawn([process.execPath, '-e', script], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  })
}

async function readAll(ledger: LedgerRepository): Promise<readonly LedgerRecord[]> {
  const records: LedgerRecord[] = []
  let after = 0
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- a page follows the one before
    const page = await ledger.records(after, 5000)
    records.push(...page.map(({ record }) => record))
    after = page.at(-1)?.number ?? after
    if (page.length < 5000) return records
  }
}

describe('a database that refuses', () => {
  let database: Database
  let writer: Writer

  beforeEach(() => {
    database = new Database(file(), { create: true })
    database.run('PRAGMA journal_mode = WAL')
    database.run('PRAGMA busy_timeout = 50')
    migrate(database)
    writer = new Writer(database, recover(database))
  })
  afterEach(() => {
    database.close(true)
  })

  it.each<readonly [string, string, string, string]>([
    ['has no room', 'PRAGMA max_page_count = 1', 'PRAGMA max_page_count = 100000', 'SQLITE_FULL'],
    ['may not be written', 'PRAGMA query_only = 1', 'PRAGMA query_only = 0', 'SQLITE_READONLY'],
  ])('because it %s refuses the group, and goes on when it can', async (_, begin, end, code) => {
    const held = sampleHold()
    await writer.append([asHold(held)])
    database.run(begin)
    const large = asNote('month', undefined, { text: 'x'.repeat(100_000) })
    const refused = [
      writer.append([asRecord(endOf(held, { cost: toNanoUsd(5) }))]),
      writer.append(sampleCall(7)),
      writer.append([large]),
    ]
    for (const outcome of await Promise.allSettled(refused))
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { code: 'billing_unavailable', details: undefined, cause: { code } },
      })
    database.run(end)
    await writer.append([asRecord(endOf(held, { cost: toNanoUsd(9) }))])
    await writer.append(sampleCall(1))
    writer.close()
    const { head } = recover(database)
    expect(head.number).toBe(4)
    const spent = database.query(
      "SELECT amount FROM sums JOIN names ON number = account WHERE name = 'key/key_a'",
    )
    expect(spent.values()).toEqual([[10]])
  })

  it('keeps nothing of a group of which one record fails, and leaves no gap', async () => {
    const held = sampleHold()
    await writer.append([asHold(held)])
    database.run(`CREATE TRIGGER full BEFORE INSERT ON holds WHEN new.amount = 666
      BEGIN SELECT RAISE(ABORT, 'disk on fire'); END`)
    const payer = payerText('wal_a')
    const refused = [
      writer.append(sampleCall(3, { keyId: 'key_new', payer })),
      writer.append([asRecord(endOf(held, { cost: toNanoUsd(5) }))]),
      writer.append([asHold(sampleHold({ amount: toNanoUsd(666) }))]),
      writer.append([asRecord(sampleRow())]),
    ]
    for (const outcome of await Promise.allSettled(refused)) expect(outcome.status).toBe('rejected')
    await writer.append([asRecord(endOf(held, { cost: toNanoUsd(1) }))])
    await writer.append(sampleCall(2, { keyId: 'key_new', payer }))
    writer.close()
    expect(database.query('SELECT wallet_id, charged FROM balances').values()).toEqual([
      ['wal_a', 2],
    ])
    const { head, operations } = recover(database)
    expect([head.number, operations.numbers()]).toEqual([4, []])
    const sums = database.query(
      "SELECT name, amount FROM sums JOIN names ON number = account WHERE name NOT LIKE 'supplier/%' ORDER BY name",
    )
    expect(sums.values()).toEqual([
      ['key/key_a', 1],
      ['key/key_new', 2],
      ['payer/wal_a', 2],
      ['payments', 2],
    ])
  })

  it('keeps nothing of a change that fails, and takes its records when they come again', async () => {
    const open = asHold(sampleHold())
    const held = sampleHold()
    await writer.append([asHold(held)])
    const end = asRecord(endOf(held, { cost: toNanoUsd(5) }))
    const fail = (): never => {
      throw new Error('disk on fire')
    }
    expect(() => writer.commit([open, end], fail)).toThrow('disk on fire')
    writer.commit([open, end], () => {})
    writer.close()
    expect(recover(database).operations.numbers()).toEqual([2])
  })

  it('because its pages are spoilt takes nothing any more, not even when they are whole again', async () => {
    await writer.append(sampleCall(1))
    database.run('PRAGMA wal_checkpoint(TRUNCATE)')
    database.run('PRAGMA shrink_memory')
    const whole = readFileSync(file())
    const spoilt = Buffer.from(whole)
    writeFileSync(file(), spoilt.fill(0xff, 4096))
    const lost = { code: 'billing_unavailable', details: { fatal: true } }
    expect(await writer.append(sampleCall(1)).catch((thrown: unknown) => thrown)).toMatchObject({
      ...lost,
      cause: { code: 'SQLITE_CORRUPT' },
    })
    writeFileSync(file(), whole)
    expect(await writer.append(sampleCall(1)).catch((thrown: unknown) => thrown)).toMatchObject(
      lost,
    )
    expect(() => writer.transact(() => {})).toThrow('malformed')
  })

  it('ends a call once, whatever the books believe', async () => {
    const held = sampleHold()
    await writer.append([asHold(held), asRecord(endOf(held))])
    const again = `INSERT INTO audit SELECT 9, at, request_id, account, project_id, key, endpoint, model,
      supplier, region, input_tokens, output_tokens, cost, latency_ms, first_token_ms, status, code,
      stream, attempts, state, evidence, held, hour, overrun, held_ms, count, details, hold, hash, payer, route FROM audit`
    expect(() => database.run(again)).toThrow('UNIQUE constraint failed: audit.hold')
  })
})

describe('a key that cannot be stored', () => {
  it('says that another program is in the way, and what to do', async () => {
    const store = await open()
    const other = new Database(join(folder, 'gateway.db'))
    other.run('BEGIN IMMEDIATE')
    const refusal = store.keys.replaceRoot('acc_a', 'hash').catch((thrown: unknown) => thrown)
    // More often than it tries.
    for (let tries = 0; tries < 40; tries += 1) {
      clock.advance(50)
      // oxlint-disable-next-line no-await-in-loop -- one try after another
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(await refusal).toMatchObject({
      code: 'service_unavailable',
      message: expect.stringContaining('another program has the database locked'),
    })
    other.close(true)
  })
})

describe('books that are inspected', () => {
  it('are read beside the store that writes them, as they stand', async () => {
    const opened = await open()
    const inspected = inspectLedger(folder)
    const first = sampleCall(5)
    await opened.append(first)
    expect(await readChain(inspected)).toEqual([...first])
    const held = sampleHold()
    await opened.append([asHold(held)])
    expect(await inspected.head()).toEqual(await opened.ledger.head())
    expect(await inspected.spent()).toEqual(await opened.ledger.spent())
    expect(await inspected.totals(0, NOW)).toEqual(await opened.ledger.totals(0, NOW))
    expect(inspected.forget((await inspected.head()).last)).rejects.toThrow('cannot be changed')
    inspected.close()
    await opened.append([asRecord(endOf(held))])
    expect(await readChain(opened.ledger)).toHaveLength(4)
  })

  it('are read when nobody writes them, and after a death', async () => {
    const opened = await open()
    const call = sampleCall(5)
    await opened.append(call)
    const dead = mkdtempSync(join(tmpdir(), 'store-'))
    for (const name of ['gateway.db', 'gateway.db-wal'])
      copyFileSync(join(folder, name), join(dead, name))
    await opened.close()
    for (const each of [folder, dead]) {
      const inspected = inspectLedger(each)
      // oxlint-disable-next-line no-await-in-loop -- two cases of one sentence
      expect(await readChain(inspected)).toEqual([...call])
      inspected.close()
    }
    const again = await openSqliteStore({ folder: dead, clock })
    expect(await readChain(again.ledger)).toEqual([...call])
    await again.close()
    rmSync(dead, { recursive: true })
    await open()
  })

  it('must be there, and of this version', async () => {
    expect(() => inspectLedger(folder)).toThrow(`There is no database in ${folder}.`)
    await (await open()).close()
    tamper((database) => database.run('UPDATE schema_version SET version = 2'))
    expect(() => inspectLedger(folder)).toThrow('has schema version 2')
    expect(() => inspectLedger(folder)).toThrow('Start the gateway once with this program')
    tamper((database) => database.run('UPDATE schema_version SET version = 9999'))
    expect(() => inspectLedger(folder)).toThrow(/9999 .* Use the newer program that wrote it\.$/)
  })
})

// What SQLite promises beyond the contract: rights, the lock, versions, one commit for many, and a
// reader that may die.
import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'bun:test'
import { EventEmitter } from 'node:events'
import {
  chmodSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import {
  asNote,
  asRecord,
  NOW,
  sampleCall,
  sampleDeed,
  sampleKey,
  sampleRow,
} from '../../../test/contracts/samples.ts'
import { describeStore } from '../../../test/contracts/store.ts'
import { createFakeClock } from '../../../test/fakes/clock.ts'
import { createSystemClock } from '../../core/clock.ts'
import type { Store } from '../store.ts'
import { findRunFile, writeRunFile } from './lock.ts'
import { MIGRATIONS } from './migrations.ts'
import { openSqliteStore } from './open.ts'
import { createReads, startReader } from './reads.ts'

const clock = createSystemClock()
const PAGE = { limit: 1000, cursor: undefined }
const VERSION = MIGRATIONS.length

function createFolder(): string {
  return mkdtempSync(join(tmpdir(), 'store-'))
}

describeStore('sqlite', async () => {
  const folder = createFolder()
  const standing = createFakeClock(NOW)
  let store = await openSqliteStore({ folder, clock: standing })
  return {
    store,
    async reopen() {
      await store.close()
      store = await openSqliteStore({ folder, clock: standing })
      return store
    },
    async dispose() {
      await store.close()
      rmSync(folder, { recursive: true })
    },
  }
})

const children: Bun.Subprocess[] = []

describe('the SQLite store', () => {
  let folder: string
  let store: Store | undefined
  let outsider: Database | undefined

  beforeEach(() => {
    folder = createFolder()
  })
  afterEach(async () => {
    // A test that fails before it ends its child must not leave it behind.
    for (const child of children.splice(0)) child.kill('SIGKILL')
    outsider?.close()
    outsider = undefined
    await store?.close()
    store = undefined
    rmSync(folder, { recursive: true })
  })

  const open = async (): Promise<Store> => {
    store = await openSqliteStore({ folder, clock })
    return store
  }
  const openOutsider = (): Database => {
    outsider = new Database(join(folder, 'gateway.db'))
    return outsider
  }

  it('keeps its files to their owner, and the rights of a folder that it did not make', async () => {
    chmodSync(folder, 0o755)
    const opened = await open()
    await opened.append([asRecord(sampleRow())])
    writeRunFile(folder, { pid: 1, address: 'http://127.0.0.1:1' })
    expect(modeOf(folder)).toBe(0o755)
    const names = readdirSync(folder).toSorted()
    expect(names).toEqual(['gateway.db', 'gateway.db-shm', 'gateway.db-wal', 'lock.db', 'run.json'])
    for (const name of names) expect([name, modeOf(join(folder, name))]).toEqual([name, 0o600])
  })

  it('makes its folder, and narrows files that are too open', async () => {
    const inner = join(folder, 'deep', 'data')
    const first = await openSqliteStore({ folder: inner, clock })
    expect(modeOf(inner)).toBe(0o700)
    await first.close()
    for (const name of readdirSync(inner)) chmodSync(join(inner, name), 0o644)
    const second = await openSqliteStore({ folder: inner, clock })
    for (const name of readdirSync(inner)) expect(modeOf(join(inner, name))).toBe(0o600)
    await second.close()
  })

  it('leaves no log behind when it closes after reads', async () => {
    const opened = await open()
    await opened.append([asRecord(sampleRow())])
    await opened.audit.list('acc_a', PAGE)
    await opened.close()
    expect(readdirSync(folder).toSorted()).toEqual(['gateway.db', 'lock.db'])
  })

  describe('the lock', () => {
    it('refuses a second store in the same process, and says who has the folder', async () => {
      await open()
      const plain = `The data folder ${folder} is in use by another process.`
      expect(openSqliteStore({ folder, clock })).rejects.toThrow(plain)
      writeRunFile(folder, { pid: 4711, address: 'http://127.0.0.1:8080' })
      const named = `${folder} is in use by process 4711 at http://127.0.0.1:8080.`
      expect(openSqliteStore({ folder, clock })).rejects.toThrow(named)
      // A refused attempt must not loosen the lock of the one that has it.
      expect(await openElsewhere(folder)).toContain(named)
    })

    it('is released by close, which also removes the run file', async () => {
      const first = await open()
      writeRunFile(folder, { pid: 4711, address: 'http://127.0.0.1:8080' })
      await first.close()
      expect(findRunFile(folder)).toBeUndefined()
      expect(await openElsewhere(folder)).toBe('opened')
      await (await open()).ping()
    })

    it('is released when the process that has it is killed, and what it appended is there', async () => {
      const row = sampleRow()
      const holder = spawnHolder(folder, row.requestId)
      expect(await readLine(holder)).toBe('holding')
      const refusal = `is in use by process ${holder.pid} at http://127.0.0.1:9`
      expect(openSqliteStore({ folder, clock })).rejects.toThrow(refusal)
      holder.kill('SIGKILL')
      await holder.exited
      const opened = await open()
      expect(findRunFile(folder)).toBeUndefined()
      const [found] = (await opened.audit.list('acc_a', PAGE)).items
      expect(found?.requestId).toBe(row.requestId)
    })

    it('is not kept by an open that failed', async () => {
      await (await open()).close()
      setVersion(openOutsider(), 999)
      const open999 = openSqliteStore({ folder, clock })
      expect(open999).rejects.toThrow(
        `schema version 999 and this program knows versions up to ${VERSION}`,
      )
      setVersion(openOutsider(), VERSION)
      await (await open()).ping()
    })
  })

  describe('a group', () => {
    it('is one commit for all that was appended in a turn', async () => {
      const opened = await open()
      const before = countCommits(folder)
      const waits = Array.from({ length: 64 }, () => opened.append([asRecord(sampleRow())]))
      expect(new Set(waits).size).toBe(1)
      await Promise.all(waits)
      expect(countCommits(folder) - before).toBe(1)
      for (let index = 0; index < 3; index += 1)
        // oxlint-disable-next-line no-await-in-loop -- a turn each is what is compared
        await opened.append([asRecord(sampleRow())])
      expect(countCommits(folder) - before).toBe(4)
    })

    it('fails as a whole when its commit fails, and the next one works', async () => {
      const opened = await open()
      const other = openOutsider()
      other.run(`CREATE TRIGGER full BEFORE INSERT ON audit WHEN new.model = 'poison'
        BEGIN SELECT RAISE(ABORT, 'disk on fire'); END`)
      const waits = [
        opened.append([asRecord(sampleRow({ keyId: 'key_new' }))]),
        opened.append([asRecord(sampleRow({ model: 'poison' }))]),
        opened.append([asRecord(sampleRow())]),
      ]
      const settled = await Promise.allSettled(waits)
      for (const outcome of settled)
        expect(outcome).toMatchObject({
          status: 'rejected',
          reason: { code: 'billing_unavailable', cause: { message: 'disk on fire' } },
        })
      expect((await opened.audit.list('acc_a', PAGE)).items).toEqual([])
      // The key's number was undone with the group and must be given again.
      const later = sampleRow({ keyId: 'key_new' })
      await opened.append([asRecord(later)])
      expect((await opened.audit.list('acc_a', PAGE)).items).toStrictEqual([later])
    })

    it('fails when an outsider holds the database, and the next one works', async () => {
      const opened = await open()
      const other = openOutsider()
      other.run('BEGIN IMMEDIATE')
      expect(
        await opened.append([asRecord(sampleRow())]).catch((thrown: unknown) => thrown),
      ).toMatchObject({
        code: 'billing_unavailable',
        cause: { code: 'SQLITE_BUSY' },
      })
      other.run('ROLLBACK')
      await opened.append([asRecord(sampleRow())])
      expect((await opened.audit.list('acc_a', PAGE)).items).toHaveLength(1)
    })
  })

  it('never changes a record', async () => {
    const opened = await open()
    await opened.append([...sampleCall(5), asNote('resumed', undefined, {})])
    const other = openOutsider()
    expect(() => other.run('UPDATE audit SET cost = 0')).toThrow('an audit row is final')
    expect(() => other.run('UPDATE holds SET amount = 0')).toThrow('a hold is final')
    expect(() => other.run("UPDATE notes SET body = ''")).toThrow('a note is final')
  })

  it('tries again to store a key while an outsider holds the database', async () => {
    const opened = await open()
    const { accountId } = await opened.load()
    const other = openOutsider()
    other.run('BEGIN IMMEDIATE')
    const key = sampleKey(accountId)
    const inserted = opened.keys.insert(key, sampleDeed())
    other.run('ROLLBACK')
    await inserted
    expect(await opened.keys.find(accountId, key.id)).toStrictEqual(key)
  })

  it('keeps records in either kind of durability', async () => {
    const call = sampleCall(5)
    for (const durability of ['power', 'process'] as const) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other, on one folder
      const opened = await openSqliteStore({ folder, clock, durability })
      // oxlint-disable-next-line no-await-in-loop -- the same
      if (durability === 'power') await opened.append(call)
      // oxlint-disable-next-line no-await-in-loop -- the same
      const found = await opened.ledger.records(0, 10)
      expect(found.map(({ record }) => record)).toEqual([...call])
      // oxlint-disable-next-line no-await-in-loop -- the same
      await opened.close()
    }
  })

  describe('the reader', () => {
    it('that cannot start refuses its reads, and the next read starts another', async () => {
      const opened = await open()
      const file = join(folder, 'gateway.db')
      renameSync(file, `${file}.away`)
      const find = (): Promise<unknown> => opened.keys.find('acc_a', 'key_a')
      const refused = await Promise.allSettled([find(), find()])
      renameSync(`${file}.away`, file)
      for (const outcome of refused)
        expect(outcome).toMatchObject({
          status: 'rejected',
          reason: { code: 'service_unavailable', retryAfter: 1 },
        })
      expect(await find()).toBeUndefined()
    })

    it('that dies refuses what was open, and the next read starts another', async () => {
      await open()
      const started: Worker[] = []
      const reads = createReads(() => {
        const worker = startReader(join(folder, 'gateway.db'))
        started.push(worker)
        return worker
      })
      expect(started).toHaveLength(0)
      await reads.query('SELECT 1')
      const long = reads.query(
        'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 300000) SELECT max(i) FROM n',
      )
      const next = reads.query('SELECT 1')
      await started[0]?.terminate()
      const outcomes = await Promise.allSettled([long, next])
      expect(outcomes.at(-1)).toMatchObject({
        status: 'rejected',
        reason: { code: 'service_unavailable', retryable: true },
      })
      expect(await reads.query('SELECT ? AS one', 1)).toEqual([{ one: 1n }])
      expect(started).toHaveLength(2)
      await reads.close()
    })

    it('takes 256 reads at a time, and is not asked whether the store answers', async () => {
      const opened = await open()
      const find = (): Promise<unknown> => opened.keys.find('acc_a', 'key_a')
      const finds = Array.from({ length: 260 }, find)
      await opened.ping()
      const outcomes = await Promise.allSettled(finds)
      const refused = outcomes.filter((outcome) => outcome.status === 'rejected')
      expect(refused).toHaveLength(4)
      expect(refused[0]?.reason).toMatchObject({ code: 'service_unavailable', retryAfter: 1 })
      expect(await find()).toBeUndefined()
    })

    it('lets the loop turn before a read that follows on the answer of another', async () => {
      const reads = createReads(startEager)
      let turns = 0
      const count = (): void => {
        turns += 1
        pending = setImmediate(count)
      }
      let pending = setImmediate(count)
      // oxlint-disable-next-line no-await-in-loop -- one on the answer of another
      for (let read = 0; read < 100; read += 1) await reads.query('SELECT 1')
      clearImmediate(pending)
      expect(turns).toBeGreaterThanOrEqual(99)
    })

    it('is a file that a compiled program can carry untranslated', async () => {
      const source = await Bun.file(join(import.meta.dir, 'reader.ts')).text()
      const plain = new Bun.Transpiler({ loader: 'js' })
      expect(() => plain.transformSync(source)).not.toThrow()
      const imported = plain.scanImports(source).map(({ path }) => path)
      expect(imported.toSorted()).toEqual(['bun:sqlite', 'node:worker_threads'])
    })

    it('cannot write, and tells a failed read from a dead one', async () => {
      await open()
      const reads = createReads(() => startReader(join(folder, 'gateway.db')))
      expect(
        await reads.query('DELETE FROM audit').catch((thrown: unknown) => thrown),
      ).toMatchObject({
        code: 'service_unavailable',
        cause: { message: expect.stringContaining('readonly') },
      })
      expect(await reads.query('SELECT 1 AS one')).toEqual([{ one: 1n }])
      await reads.close()
    })
  })
})

/** The fastest reader there could be: what it is asked, it has answered. */
function startEager(): Worker {
  const worker = new EventEmitter()
  const postMessage = ({ id }: { readonly id: number }): void => {
    worker.emit('message', { id, rows: [] })
  }
  return Object.assign(worker, { postMessage }) as unknown as Worker
}

function modeOf(path: string): number {
  return statSync(path).mode & 0o777
}

function setVersion(database: Database, version: number): void {
  database.run('UPDATE schema_version SET version = ?', [version])
  database.close()
}

/**
 * Counts in the log itself, by https://www.sqlite.org/fileformat2.html#the_write_ahead_log: the last frame
 * of a commit names the size of the database, and the frames of the log carry the salts of its header.
 */
function countCommits(folder: string): number {
  const log = readFileSync(join(folder, 'gateway.db-wal'))
  const pageBytes = log.readUInt32BE(8)
  const salts = log.readBigUInt64BE(16)
  let commits = 0
  for (let frame = 32; frame + 24 + pageBytes <= log.length; frame += 24 + pageBytes)
    if (log.readBigUInt64BE(frame + 8) === salts && log.readUInt32BE(frame + 4) > 0) commits += 1
  return commits
}

/** Opens the folder in a process of its own and tells how that went. */
async function openElsewhere(folder: string): Promise<string> {
  const child = spawnScript(`
    const opened = openSqliteStore({ folder: ${JSON.stringify(folder)}, clock: createSystemClock() })
    await opened.then((store) => store.close()).then(
      () => console.log('opened'),
      (error) => console.log(error.message),
    )
  `)
  return (await new Response(child.stdout).text()).trim()
}

/** Opens the folder, appends a row, says `holding` and stays until it is killed. */
function spawnHolder(folder: string, requestId: string): ReturnType<typeof spawnScript> {
  return spawnScript(`
    const folder = ${JSON.stringify(folder)}
    const store = await openSqliteStore({ folder, clock: createSystemClock() })
    writeRunFile(folder, { pid: process.pid, address: 'http://127.0.0.1:9' })
    await store.append([{ type: 'audit', row: ${JSON.stringify(sampleRow({ requestId }))} }])
    console.log('holding')
    setInterval(() => {}, 1000)
  `)
}

function spawnScript(body: string): Bun.Subprocess<'ignore', 'pipe', 'inherit'> {
  const imports = `
    import { createFakeClock } from '../../../test/fakes/clock.ts'
import { createSystemClock } from ${JSON.stringify(join(import.meta.dir, '../../core/clock.ts'))}
    import { writeRunFile } from ${JSON.stringify(join(import.meta.dir, 'lock.ts'))}
    import { openSqliteStore } from ${JSON.stringify(join(import.meta.dir, 'open.ts'))}
  `
  const child = Bun.spawn([process.execPath, '-e', imports + body], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  children.push(child)
  return child
}

async function readLine(child: ReturnType<typeof spawnScript>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of child.stdout) {
    text += decoder.decode(chunk, { stream: true })
    if (text.includes('\n')) break
  }
  return text.trim()
}

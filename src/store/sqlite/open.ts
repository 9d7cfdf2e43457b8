// The embedded store: one folder, one process, one SQLite database. Writes happen on the main thread in
// shared commits, reads in a Worker.
import { Database } from 'bun:sqlite'
import { chmodSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../../core/clock.ts'
import { createPing } from '../ping.ts'
import type { Store } from '../store.ts'
import { createAudit } from './audit.ts'
import { createKeys, loadKeys } from './keys.ts'
import { lockFolder, prepareFolder, removeRunFile, type FolderLock } from './lock.ts'
import { migrate } from './migrate.ts'
import { createReads, startReader, unavailable } from './reads.ts'
import { asRow, readText } from './rows.ts'
import { createWriter } from './writer.ts'

export interface SqliteOptions {
  readonly folder: string
  readonly clock: Clock
}

interface Parts {
  readonly folder: string
  readonly lock: FolderLock
  readonly database: Database
  readonly clock: Clock
}

const PRAGMAS = [
  // Small pages, because a commit writes every page that it touched as a whole.
  'page_size = 2048',
  'journal_mode = WAL',
  // Survives the death of the process; a power cut may take the last moments.
  'synchronous = normal',
  // Copying the log into the database stops every call for some 15 ms. Sixteen megabytes of log make
  // that rare enough to stay out of the slowest percent.
  'wal_autocheckpoint = 8000',
  'foreign_keys = on',
  // Nobody else writes, so only a tool of the operator's can make a commit wait, and calls wait with it.
  'busy_timeout = 1000',
]

export async function openSqliteStore({ folder, clock }: SqliteOptions): Promise<Store> {
  prepareFolder(folder)
  const lock = lockFolder(folder)
  try {
    // Whoever wrote it no longer has the folder.
    removeRunFile(folder)
    return assemble({ folder, lock, clock, database: openDatabase(folder, clock) })
  } catch (thrown) {
    lock.release()
    throw thrown
  }
}

function openDatabase(folder: string, clock: Clock): Database {
  const file = join(folder, 'gateway.db')
  const database = new Database(file, { create: true, readwrite: true })
  try {
    // Before the log exists, which takes over the rights of the database.
    chmodSync(file, 0o600)
    for (const pragma of PRAGMAS) database.run(`PRAGMA ${pragma}`)
    migrate(database)
    insertFirstAccount(database, clock)
    for (const beside of [`${file}-wal`, `${file}-shm`])
      if (existsSync(beside)) chmodSync(beside, 0o600)
    return database
  } catch (thrown) {
    database.close(true)
    throw thrown
  }
}

function insertFirstAccount(database: Database, clock: Clock): void {
  const sql = `
    INSERT INTO accounts (id, name, created_at)
    SELECT 'acc_' || lower(hex(randomblob(16))), 'default', ?
    WHERE NOT EXISTS (SELECT 1 FROM accounts)`
  database.run(sql, [clock.now()])
}

function assemble(parts: Parts): Store {
  const { database, clock } = parts
  const writer = createWriter(database)
  const reads = createReads(() => startReader(database.filename))
  // By the connection that calls depend on: the reader may be far behind, and calls are served all the same.
  const ping = createPing(() => checkAnswers(database), clock)
  let closing: Promise<void> | undefined

  const close = async (): Promise<void> => {
    try {
      writer.close()
      // Before the database, whose last connection clears the log away and must be able to write.
      await reads.close()
    } finally {
      closeFolder(parts)
    }
  }

  return {
    async load() {
      return { accountId: readFirstAccount(database), keys: loadKeys(database) }
    },
    append: (batch) => writer.append(batch),
    async acquire(_scope, want) {
      return want
    },
    keys: createKeys({ database, writer, reads, clock }),
    audit: createAudit(reads),
    async ping() {
      if (closing !== undefined) throw unavailable(new Error('the store is closed'))
      await ping()
    },
    close() {
      closing ??= close()
      return closing
    },
  }
}

function checkAnswers(database: Database): void {
  try {
    database.query('SELECT version FROM schema_version').get()
  } catch (cause) {
    throw unavailable(cause)
  }
}

function closeFolder({ folder, lock, database }: Parts): void {
  try {
    // `true` ends its statements too: with one open the connection would live on until it is collected.
    database.close(true)
  } finally {
    removeRunFile(folder)
    lock.release()
  }
}

function readFirstAccount(database: Database): string {
  const row = database.prepare('SELECT id FROM accounts ORDER BY sequence LIMIT 1').get()
  return readText(asRow(row), 'id')
}

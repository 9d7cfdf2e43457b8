// The embedded store: one folder, one process, one SQLite database. Writes happen on the main thread in
// shared commits, reads in a Worker.
import { Database } from 'bun:sqlite'
import { chmodSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../../core/clock.ts'
import { createPing } from '../ping.ts'
import type { Store } from '../store.ts'
import { createActions } from './actions.ts'
import { createAudit } from './audit.ts'
import type { Recovered } from './books.ts'
import { createClaims } from './claims.ts'
import { explain } from './failure.ts'
import { createForgetter } from './forget.ts'
import { createIdentities, loadIdentities } from './identities.ts'
import { createKeys, loadKeys } from './keys.ts'
import { createLedger } from './ledger.ts'
import { lockFolder, prepareFolder, removeRunFile, type FolderLock } from './lock.ts'
import { migrate } from './migrate.ts'
import { createReads, startReader, unavailable } from './reads.ts'
import { loadBooks, recover } from './recover.ts'
import { asRow, readText } from './rows.ts'
import { createTenancy, loadTenancy } from './tenancy.ts'
import { createUsage } from './usage.ts'
import { createWallets } from './wallets.ts'
import { Writer } from './writer.ts'

/** What a record that is called durable survives: the death of the process, or of the machine as well. */
export type Durability = 'process' | 'power'

export interface SqliteOptions {
  readonly folder: string
  readonly clock: Clock
  /** `process` where nothing is said. */
  readonly durability?: Durability
}

interface Parts {
  readonly folder: string
  readonly lock: FolderLock
  readonly database: Database
  readonly recovered: Recovered
  readonly clock: Clock
}

const PRAGMAS = [
  // Small pages, because a commit writes every page that it touched as a whole.
  'page_size = 2048',
  'journal_mode = WAL',
  // Copying the log into the database stops every call for some 15 ms. Sixteen megabytes of log make
  // that rare enough to stay out of the slowest percent.
  'wal_autocheckpoint = 8000',
  'foreign_keys = on',
]

/** For what is done before calls are taken. */
const OPENING_WAIT = 'busy_timeout = 1000'
/** Nobody else writes, so only a tool of the operator's can make a commit wait, and every call with it. */
const CALL_WAIT = 'busy_timeout = 50'

const SYNCHRONOUS: Readonly<Record<Durability, string>> = {
  // A power cut may take the last moments.
  process: 'synchronous = normal',
  // Every commit waits for the disk.
  power: 'synchronous = full',
}

export async function openSqliteStore(options: SqliteOptions): Promise<Store> {
  const { folder, clock } = options
  prepareFolder(folder)
  const lock = lockFolder(folder)
  try {
    // Whoever wrote it no longer has the folder.
    removeRunFile(folder)
    return assemble({ folder, lock, clock, ...openDatabase(options) })
  } catch (thrown) {
    lock.release()
    throw thrown
  }
}

function openDatabase(options: SqliteOptions): Pick<Parts, 'database' | 'recovered'> {
  const file = join(options.folder, 'gateway.db')
  const database = new Database(file, { create: true, readwrite: true })
  try {
    // Before the log exists, which takes over the rights of the database.
    chmodSync(file, 0o600)
    prepareDatabase(database, options)
    const recovered = recover(database)
    for (const beside of [`${file}-wal`, `${file}-shm`])
      if (existsSync(beside)) chmodSync(beside, 0o600)
    database.run(`PRAGMA ${CALL_WAIT}`)
    return { database, recovered }
  } catch (thrown) {
    database.close(true)
    throw explain(file, thrown)
  }
}

function prepareDatabase(
  database: Database,
  { clock, durability = 'process' }: SqliteOptions,
): void {
  for (const pragma of [OPENING_WAIT, ...PRAGMAS, SYNCHRONOUS[durability]])
    database.run(`PRAGMA ${pragma}`)
  migrate(database)
  insertFirstAccount(database, clock)
  insertWallets(database, clock)
}

function insertFirstAccount(database: Database, clock: Clock): void {
  const sql = `
    INSERT INTO accounts (id, name, created_at)
    SELECT 'acc_' || lower(hex(randomblob(16))), 'default', ?
    WHERE NOT EXISTS (SELECT 1 FROM accounts)`
  database.run(sql, [clock.now()])
}

/** With an open end. One that was closed stays so: whoever closed it wanted calls to be refused. */
function insertWallets(database: Database, clock: Clock): void {
  const sql = `
    INSERT INTO wallets (id, account_id, name, owner, owner_id, created_at)
    SELECT 'wal_' || lower(hex(randomblob(16))), id, 'account', 'account', id, ? FROM accounts
    WHERE NOT EXISTS (SELECT 1 FROM wallets WHERE owner_id = accounts.id)`
  database.run(sql, [clock.now()])
}

function assemble(parts: Parts): Store {
  const { database, clock, recovered } = parts
  const writer = new Writer(database, recovered)
  const reads = createReads(() => startReader(database.filename))
  const shared = { database, writer, reads, clock }
  const usage = createUsage(shared)
  const forgetter = createForgetter({ ...shared, usage })
  // By the connection that calls depend on: the reader may be far behind, and calls are served all the same.
  const ping = createPing(() => checkAnswers(database), clock)
  let closing: Promise<void> | undefined

  const close = async (): Promise<void> => {
    try {
      forgetter.close()
      writer.close()
      // Before the database, whose last connection clears the log away and must be able to write.
      await reads.close()
    } finally {
      closeFolder(parts)
    }
  }

  return {
    async load() {
      try {
        return {
          accountId: readFirstAccount(database),
          tenancy: loadTenancy(database),
          keys: loadKeys(database),
          identities: loadIdentities(database),
          ledger: loadBooks(database, clock.now()),
        }
      } catch (thrown) {
        throw explain(database.filename, thrown)
      }
    },
    append: (batch) => writer.append(batch),
    async acquire(_scope, want) {
      return want
    },
    keys: createKeys(shared),
    tenancy: createTenancy(shared),
    wallets: createWallets(shared),
    identities: createIdentities(shared),
    claims: createClaims({ ...shared, operations: recovered.operations }),
    actions: createActions(reads),
    usage,
    audit: createAudit(reads),
    ledger: { ...createLedger(reads), forget: (through) => forgetter.forget(through) },
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

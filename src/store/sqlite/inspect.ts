// The books of a folder, read by whoever may read its files, whether a gateway runs on it or not. Nothing is
// locked, changed or brought up to date.
import { Database } from 'bun:sqlite'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { GatewayError } from '../../core/problem.ts'
import type { LedgerRepository } from '../store.ts'
import { explain } from './failure.ts'
import { createLedger } from './ledger.ts'
import { MIGRATIONS } from './migrations.ts'
import type { Reads } from './reads.ts'
import { asRow, readInteger } from './rows.ts'

export interface InspectedLedger extends LedgerRepository {
  /** Where they are. */
  readonly file: string
  close(): void
}

export function inspectLedger(folder: string): InspectedLedger {
  const file = join(folder, 'gateway.db')
  if (!existsSync(file)) throw new Error(`There is no database in ${folder}.`)
  const database = openReadonly(file)
  return {
    ...createLedger(readDirectly(database)),
    file,
    async forget() {
      throw new GatewayError('conflict', 'Books that are only inspected cannot be changed.')
    },
    close: () => database.close(true),
  }
}

function openReadonly(file: string): Database {
  const database = new Database(file, { readonly: true, safeIntegers: true })
  try {
    database.run('PRAGMA busy_timeout = 1000')
    checkVersion(database)
    return database
  } catch (thrown) {
    database.close(true)
    throw explain(file, thrown)
  }
}

function readDirectly(database: Database): Pick<Reads, 'query'> {
  return {
    async query(sql, ...parameters) {
      try {
        return database
          .query(sql)
          .all(...parameters)
          .map(asRow)
      } catch (thrown) {
        throw explain(database.filename, thrown)
      }
    },
  }
}

function checkVersion(database: Database): void {
  const row = database.query('SELECT max(version) AS version FROM schema_version').get()
  const version = readInteger(asRow(row), 'version')
  if (version === MIGRATIONS.length) return
  // One that is older can be brought up to date; one that is newer never goes back.
  const advice =
    version > MIGRATIONS.length
      ? 'Use the newer program that wrote it.'
      : 'Start the gateway once with this program, or use the one that wrote it.'
  throw new Error(
    `The database ${database.filename} has schema version ${version} and this program reads version ` +
      `${MIGRATIONS.length}. ${advice}`,
  )
}

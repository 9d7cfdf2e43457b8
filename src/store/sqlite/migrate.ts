// Brings a database up to the version that this program knows. Forward only: what a newer program wrote
// is left alone, because an older one would misread it.
import type { Database } from 'bun:sqlite'
import { MIGRATIONS } from './migrations.ts'
import { asRow, readInteger } from './rows.ts'

export function migrate(database: Database): void {
  database.run('CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL) STRICT')
  const version = findVersion(database)
  if (version > MIGRATIONS.length)
    throw new Error(
      `The database ${database.filename} has schema version ${version} and this program knows ` +
        `versions up to ${MIGRATIONS.length}. Start the newer program that wrote it.`,
    )
  for (const [index, sql] of MIGRATIONS.entries())
    if (index >= version) apply(database, sql, index + 1)
}

function findVersion(database: Database): number {
  const row = database.prepare('SELECT max(version) AS version FROM schema_version').get()
  const found = asRow(row)
  return found['version'] === null ? 0 : readInteger(found, 'version')
}

/** One transaction, so that a crash in the middle leaves the version before. */
function apply(database: Database, sql: string, version: number): void {
  const step = database.transaction(() => {
    database.run(sql)
    database.run('DELETE FROM schema_version')
    database.run('INSERT INTO schema_version (version) VALUES (?)', [version])
  })
  step.immediate()
}

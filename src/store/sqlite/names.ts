// Numbers for the account and key ids that audit rows repeat. A number is given once and kept for ever.
import type { Database } from 'bun:sqlite'
import { asRow, readInteger } from './rows.ts'

export interface Names {
  /** Gives a new name its number, inside the caller's transaction. */
  numberOf(name: string): number
  /** After a rollback: numbers that were given in it are gone from the database. */
  forget(): void
}

export function createNames(database: Database): Names {
  const known = new Map<string, number>()
  const find = database.prepare('SELECT number FROM names WHERE name = ?')
  const insert = database.prepare('INSERT INTO names (name) VALUES (?)')

  return {
    numberOf(name) {
      const number = known.get(name)
      if (number !== undefined) return number
      const row = find.get(name)
      const given =
        row === null ? Number(insert.run(name).lastInsertRowid) : readInteger(asRow(row), 'number')
      known.set(name, given)
      return given
    },
    forget() {
      known.clear()
    },
  }
}

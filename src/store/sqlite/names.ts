// Numbers for the texts that records repeat: account and key ids, terms, accounts of the books. A number stays
// as long as a record has it.
import type { Database } from 'bun:sqlite'
import { asRow, readInteger } from './rows.ts'

export interface Names {
  /** Gives a new name its number, inside the caller's transaction. */
  numberOf(name: string): number
  /** After a rollback, which takes its numbers out of the database, and after a removal. */
  forget(): void
}

/** Far more than are in use at a time; a text that was dropped is looked up again. */
const KNOWN_MAX = 20_000

export function createNames(database: Database): Names {
  const known = new Map<string, number>()
  const find = database.prepare('SELECT number FROM names WHERE name = ?')
  const insert = database.prepare('INSERT INTO names (name) VALUES (?)')

  return {
    numberOf(name) {
      const number = known.get(name)
      if (number !== undefined) return number
      if (known.size >= KNOWN_MAX) known.clear()
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

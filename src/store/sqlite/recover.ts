// What a start must know: where the chain ends and which operations are open. Only what was written since
// the last mark is read, and every hash of that is checked, since a crash can only have hurt the end.
import type { Database } from 'bun:sqlite'
import type { AttemptNote, OpenOperation } from '../../core/record.ts'
import { link, textOf } from '../chain.ts'
import { Operations, type Operation } from '../operations.ts'
import type { ChainedRecord, ChainPlace, LedgerState } from '../store.ts'
import { loadBalances } from './balances.ts'
import type { Recovered } from './books.ts'
import { isClaimed } from './change.ts'
import { readBase, readRecovery } from './marks.ts'
import { HASH, LATEST, OPEN_HOLDS, placeOf, RECORDS, toChained } from './records.ts'
import { asRow, findInteger, isRow, readInteger, readText, toHoldRecord, type Row } from './rows.ts'
import { loadSpent } from './spent.ts'

const PAGE = 1000
const NOTES = 'SELECT at, kind, body FROM notes WHERE request_id = ? AND number > ? ORDER BY number'

export function recover(database: Database): Recovered {
  const mark = readRecovery(database)
  const atMark = asPlace(database.query(HASH).get(mark.number))
  if (mark.number > readBase(database).number && atMark !== mark.hash)
    throw broken(database, `The record ${mark.number} is not what it was.`)
  return {
    head: readToEnd(database, mark),
    at: latestTime(database),
    operations: new Operations(openOperations(database), (claim) => isClaimed(database, claim)),
  }
}

export function loadBooks(database: Database, now: number): LedgerState {
  const at = latestTime(database)
  const open = openOperations(database).map((operation) => withNotes(database, operation))
  const spent = loadSpent(database, Math.max(at, now))
  return { at, spent, balances: loadBalances(database), open }
}

function readToEnd(database: Database, mark: ChainPlace): ChainPlace {
  let place = mark
  for (;;) {
    const rows = database.query(RECORDS).all(place.number, PAGE)
    for (const row of rows) place = follow(database, place, asRow(row))
    if (rows.length < PAGE) return place
  }
}

function follow(database: Database, before: ChainPlace, row: Row): ChainPlace {
  const number = before.number + 1
  if (row['number'] !== number) throw broken(database, `The record ${number} is missing.`)
  const { hash, record } = readChained(database, row)
  if (hash !== link(before.hash, textOf(record)))
    throw broken(database, `The record ${placeOf(row)} is not what it was.`)
  return { number, hash }
}

function readChained(database: Database, row: Row): ChainedRecord {
  try {
    return toChained(row)
  } catch (cause) {
    throw broken(database, `The record ${placeOf(row)} cannot be read.`, cause)
  }
}

function broken(database: Database, what: string, cause?: unknown): Error {
  return new Error(
    `The books in ${database.filename} are broken. ${what} Put back a copy of the data folder that ` +
      'is whole; the gateway does not start on books that it cannot trust.',
    { cause },
  )
}

/** The time at which the books stand, whatever any clock says. */
export function latestTime(database: Database): number {
  const since = findInteger(asRow(database.query(LATEST).get()), 'at')
  return Math.max(readRecovery(database).at, since ?? 0)
}

function openOperations(database: Database): readonly Operation[] {
  const rows = database.query(OPEN_HOLDS).all()
  return rows.map(asRow).map((row) => ({
    hold: toHoldRecord(row),
    number: readInteger(row, 'number'),
  }))
}

function withNotes(database: Database, { hold, number }: Operation): OpenOperation {
  const asked: AttemptNote[] = []
  let reviewAt: number | undefined
  let outputTokens = 0
  for (const found of database.query(NOTES).all(hold.requestId, number)) {
    const note = asRow(found)
    const body: unknown = JSON.parse(readText(note, 'body'))
    if (note['kind'] === 'review') reviewAt = readInteger(note, 'at')
    if (note['kind'] === 'attempt') asked.push(toAttempt(asRow(body)))
    if (note['kind'] === 'progress') outputTokens = readInteger(asRow(body), 'outputTokens')
  }
  return { hold, reviewAt, asked, outputTokens }
}

function toAttempt(body: Row): AttemptNote {
  return {
    supplier: readText(body, 'supplier'),
    ...('model' in body && { model: readText(body, 'model') }),
    ...('number' in body && { number: readInteger(body, 'number') }),
  }
}

function asPlace(row: unknown): unknown {
  return isRow(row) ? row['hash'] : undefined
}

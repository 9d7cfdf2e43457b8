// Facts about the chain itself: whose it is, where it begins, and a place that it need not be read before.
import type { Database } from 'bun:sqlite'
import type { ChainPlace } from '../store.ts'
import { asRow, isRow, readInteger, readText, type Row } from './rows.ts'

/** All that a start must know of the records up to a place. */
export interface RecoveryMark extends ChainPlace {
  /** The latest time of any hold or note. */
  readonly at: number
  /** The holds without an end. */
  readonly open: readonly number[]
}

/** A start reads at most so many records, and a group. */
export const MARK_RECORDS = 4096

const FIND = 'SELECT value FROM marks WHERE name = ?'
const PUT = 'INSERT OR REPLACE INTO marks (name, value) VALUES (?, ?)'

export function readBase(database: Database): ChainPlace {
  return toPlace(readMark(database, 'base'))
}

export function readRecovery(database: Database): RecoveryMark {
  const mark = readMark(database, 'recovery')
  const { open } = mark
  if (!Array.isArray(open) || !open.every((number) => typeof number === 'number'))
    throw new TypeError('the mark of recovery cannot be read')
  return { ...toPlace(mark), at: readInteger(mark, 'at'), open }
}

export function writeBase(database: Database, { number, hash }: ChainPlace): void {
  database.query(PUT).run('base', JSON.stringify({ number, hash }))
}

export function writeRecovery(database: Database, mark: RecoveryMark): void {
  const { number, hash, at, open } = mark
  database.query(PUT).run('recovery', JSON.stringify({ number, hash, at, open }))
}

export function toPlace(row: Row): ChainPlace {
  return { number: readInteger(row, 'number'), hash: readText(row, 'hash') }
}

function readMark(database: Database, name: string): Row {
  const value: unknown = JSON.parse(readText(asRow(database.query(FIND).get(name)), 'value'))
  if (!isRow(value)) throw new TypeError(`the mark ${name} cannot be read`)
  return value
}

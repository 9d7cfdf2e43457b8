// The records of three tables as the one row of numbers that they are. What was written by versions without
// a chain lies at or below its base and is never among them.
import type { LedgerRecord } from '../../core/record.ts'
import type { ChainedRecord } from '../store.ts'
import { readInteger, readText, toAuditRow, toHoldRecord, toNoteRecord, type Row } from './rows.ts'

type Columns = Readonly<Record<string, string>>

const BASE = "(SELECT value ->> '$.number' FROM marks WHERE name = 'base')"
const RECOVERY = "(SELECT value ->> '$.number' FROM marks WHERE name = 'recovery')"

const OWNERS: Columns = { account_id: nameOf('account'), key_id: nameOf('key') }

const HOLD: Columns = {
  ...plain('hash', 'at', 'hour', 'request_id', 'stream', 'amount', 'budget_limit'),
  ...plain('input_tokens', 'max_tokens', 'claim'),
  ...OWNERS,
  project_id: nameOf('project'),
  endpoint: nameOf('endpoint'),
  model: nameOf('model'),
  period: nameOf('period'),
  terms: nameOf('terms'),
  payer: nameOf('payer'),
}

const AUDIT: Columns = {
  ...plain('hash', 'at', 'request_id', 'project_id', 'endpoint', 'model', 'supplier', 'region'),
  ...plain('input_tokens', 'output_tokens', 'cost', 'latency_ms', 'first_token_ms', 'status'),
  ...plain('code', 'stream', 'attempts', 'state', 'evidence', 'held', 'hour', 'overrun'),
  ...plain('held_ms', 'count', 'details'),
  ...OWNERS,
  payer: nameOf('payer'),
  route: nameOf('route'),
}

const NOTE: Columns = plain('hash', 'at', 'kind', 'request_id', 'body')

const ALL = Object.keys({ ...HOLD, ...AUDIT, ...NOTE })

/** Up to ?2 records above the number ?1. Each table is in this order already: nothing is sorted. */
export const RECORDS = `
  SELECT 'hold' AS type, number, ${select(HOLD)} FROM holds WHERE number > max(?1, ${BASE})
  UNION ALL
  SELECT 'audit', sequence, ${select(AUDIT)} FROM audit WHERE sequence > max(?1, ${BASE})
  UNION ALL
  SELECT 'note', number, ${select(NOTE)} FROM notes WHERE number > max(?1, ${BASE})
  ORDER BY number LIMIT ?2`

/** The last record, or none. */
export const LAST = `
  SELECT * FROM (SELECT number, hash FROM holds ORDER BY number DESC LIMIT 1)
  UNION ALL
  SELECT * FROM (SELECT sequence, hash FROM audit WHERE sequence > ${BASE} ORDER BY sequence DESC LIMIT 1)
  UNION ALL
  SELECT * FROM (SELECT number, hash FROM notes ORDER BY number DESC LIMIT 1)
  ORDER BY number DESC LIMIT 1`

/** The hash of the record ?1. */
export const HASH = `
  SELECT hash FROM holds WHERE number = ?1
  UNION ALL SELECT hash FROM notes WHERE number = ?1
  UNION ALL SELECT hash FROM audit WHERE sequence = ?1 AND sequence > ${BASE}`

// What the mark of recovery names and what was held since, less what has ended.
const OPEN_FROM = `
  FROM (
    SELECT place.value AS number FROM marks, json_each(marks.value, '$.open') AS place
    WHERE marks.name = 'recovery'
    UNION ALL
    SELECT number FROM holds WHERE number > ${RECOVERY}
  ) AS open CROSS JOIN holds ON holds.number = open.number
  WHERE NOT EXISTS (SELECT 1 FROM audit WHERE hold = open.number)`

export const OPEN_IDS = `SELECT holds.number, request_id ${OPEN_FROM}`

export const OPEN_HOLDS = `
  SELECT holds.number, ${select(HOLD, Object.keys(HOLD))} ${OPEN_FROM} ORDER BY holds.number`

/** The latest time of a hold or note since the mark of recovery. */
export const LATEST = `
  SELECT max(at) AS at FROM (
    SELECT at FROM holds WHERE number > ${RECOVERY}
    UNION ALL
    SELECT at FROM notes WHERE number > ${RECOVERY}
  )`

export function toChained(row: Row): ChainedRecord {
  const number = readInteger(row, 'number')
  try {
    return { number, hash: readText(row, 'hash'), record: toRecord(row) }
  } catch (cause) {
    throw new Error(`The record ${placeOf(row)} cannot be read.`, { cause })
  }
}

/** Where a record stands, for people. */
export function placeOf({ number, type, request_id: requestId }: Row): string {
  const call = typeof requestId === 'string' ? `, request ${requestId}` : ''
  return `${String(number)} (table ${type === 'audit' ? 'audit' : `${String(type)}s`}${call})`
}

function toRecord(row: Row): LedgerRecord {
  const type = readText(row, 'type')
  if (type === 'hold') return { type, hold: toHoldRecord(row) }
  if (type === 'audit') return { type, row: toAuditRow(row) }
  return { type: 'note', note: toNoteRecord(row) }
}

function select(columns: Columns, names: readonly string[] = ALL): string {
  return names.map((name) => `${columns[name] ?? 'NULL'} AS ${name}`).join(', ')
}

function plain(...names: readonly string[]): Columns {
  return Object.fromEntries(names.map((name) => [name, name]))
}

function nameOf(column: string): string {
  return `(SELECT name FROM names WHERE names.number = ${column})`
}

// The ways through the audit, newest first. A walk follows what has its order already, so nothing is ever
// sorted, and is told where to stop, so no question costs more than looking at so many rows.
import type { AuditFilter } from '../store.ts'
import { RUN_ROWS } from './runs.ts'

export interface Walk {
  /** Begins the cursors of this walk: a place on one is no place on another. */
  readonly letter: string
  /** The rows between a place and a stop that meet the filter. */
  readonly rows: string
  /** The stop: the last of the rows that may be looked at. No row when fewer are left. */
  readonly stop: string
}

/** Some twenty milliseconds of reading. */
const LOOK_MAX = 64 * RUN_ROWS

const COLUMNS = `audit.*, account_names.name AS account_id, key_names.name AS key_id,
  (SELECT name FROM names WHERE names.number = audit.payer) AS payer,
  (SELECT name FROM names WHERE names.number = audit.route) AS route`

// The order of a cross join is kept, so the names are looked up for rows that are wanted and no others.
const NAMES = `
  CROSS JOIN names AS account_names ON account_names.number = audit.account
  CROSS JOIN names AS key_names ON key_names.number = audit.key`

const ACCOUNT_NUMBER = '(SELECT number FROM names WHERE name = :account)'
const KEY_NUMBER = '(SELECT number FROM names WHERE name = :key)'
const ACCOUNT = `audit.account = ${ACCOUNT_NUMBER}`
const PERIOD = 'at >= :from AND at < :to'

const FILTER = `
  ${ACCOUNT} AND ${PERIOD} AND sequence <= :bound
  AND (:key IS NULL OR audit.key = ${KEY_NUMBER})
  AND (:projects IS NULL OR project_id IN (SELECT value FROM json_each(:projects)))
  AND (:model IS NULL OR model = :model)
  AND (:supplier IS NULL OR supplier = :supplier)
  AND (:region IS NULL OR region = :region COLLATE NOCASE)
  AND (:status IS NULL OR status = :status)
  AND (:code IS NULL OR code = :code)
  AND (:request IS NULL OR request_id = :request)
  AND (:state IS NULL OR state = :state)`

/** Along an index that begins with what is asked for and goes on with the time. */
function alongIndex(letter: string, index: string, start: string): Walk {
  const from = `FROM audit INDEXED BY ${index}`
  const below = `${start} AND (at, sequence) < (:at, :sequence)`
  const order = 'ORDER BY at DESC, sequence DESC'
  return {
    letter,
    rows: `SELECT ${COLUMNS} ${from} ${NAMES}
      WHERE ${below} AND (at, sequence) >= (:stop_at, :stop_sequence) AND ${FILTER}
      ${order} LIMIT :limit`,
    stop: `SELECT at AS stop_at, sequence AS stop_sequence ${from}
      WHERE ${below} AND ${PERIOD} AND sequence <= :bound ${order} LIMIT 1 OFFSET ${LOOK_MAX - 1}`,
  }
}

/** A key never changes its account, so one row tells whose it is: a foreign key has nothing to walk. */
const OWN_KEY = `audit.key = CASE ${ACCOUNT_NUMBER}
  WHEN (SELECT account FROM audit AS any INDEXED BY audit_by_key WHERE any.key = ${KEY_NUMBER} LIMIT 1)
  THEN ${KEY_NUMBER} END`

export const KEY_WALK = alongIndex('k', 'audit_by_key', OWN_KEY)

export const FAILURE_WALK = alongIndex(
  'f',
  'audit_failures',
  // In the words of the index, which SQLite must recognise.
  `(status <> 200 OR code IS NOT NULL) AND ${ACCOUNT}`,
)

const RUNS_IN_PERIOD = `
  run.first < :sequence AND run.newest_at >= :from AND run.oldest_at < :to`

/** Along the table itself, leaving out the runs that the period cannot concern. */
export const TABLE_WALK: Walk = {
  letter: 't',
  rows: `SELECT ${COLUMNS} FROM audit_runs AS run
    CROSS JOIN audit ON sequence BETWEEN run.first AND run.last ${NAMES}
    WHERE run.first >= :stop_sequence AND ${RUNS_IN_PERIOD} AND sequence < :sequence AND ${FILTER}
    ORDER BY run.first DESC, sequence DESC LIMIT :limit`,
  stop: `SELECT 0 AS stop_at, run.first AS stop_sequence FROM audit_runs AS run
    WHERE ${RUNS_IN_PERIOD} ORDER BY run.first DESC LIMIT 1 OFFSET ${LOOK_MAX / RUN_ROWS - 1}`,
}

export const NEWEST = 'SELECT coalesce(max(sequence), 0) AS sequence FROM audit'

/** Failures are the fewest; then one key's calls are fewer than everyone's. */
export function chooseWalk({ keyId, status, code, requestId }: AuditFilter): Walk {
  if (requestId !== undefined) return TABLE_WALK
  if (code !== undefined || (status !== undefined && status !== 200)) return FAILURE_WALK
  return keyId === undefined ? TABLE_WALK : KEY_WALK
}

/** Whether every row on the key's own way is wanted, so that a page fills as fast as it can be read. */
export function isWholeKey(walk: Walk, filter: AuditFilter): boolean {
  const { projectIds, model, supplier, region, status, state } = filter
  return (
    walk === KEY_WALK &&
    [projectIds, model, supplier, region, status, state].every((value) => value === undefined)
  )
}

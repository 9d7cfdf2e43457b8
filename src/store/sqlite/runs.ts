// Times of runs of audit rows. Rows are written as calls end, in about the order in which they arrived,
// so the oldest and newest arrival of a thousand neighbours tell whether a period can concern them. That
// holds however long a call took and however the clock was set, and costs one row in a thousand. Holds and
// notes take numbers, too, so a run has a thousand numbers and about half as many rows.
import type { Database } from 'bun:sqlite'

export interface Runs {
  /** To be called with the number of every record, in the transaction that wrote it. */
  follow(number: number): void
}

export const RUN_ROWS = 1024

// Every sequence lies in one run. The last run is open: it reaches to the end and may hold any time.
const CLOSE = `
  UPDATE audit_runs SET last = ?1 - 1, (oldest_at, newest_at) = (
    SELECT coalesce(min(at), 0), coalesce(max(at), ${Number.MAX_SAFE_INTEGER}) FROM audit
    WHERE sequence >= first AND sequence < ?1
  ) WHERE first = (SELECT max(first) FROM audit_runs)`

// Replaces, because no state of this table may make the record of a call fail.
const OPEN = `
  INSERT OR REPLACE INTO audit_runs (first, last, oldest_at, newest_at)
  VALUES (?1, ${Number.MAX_SAFE_INTEGER}, 0, ${Number.MAX_SAFE_INTEGER})`

export function createRuns(database: Database): Runs {
  const close = database.prepare(CLOSE)
  const open = database.prepare(OPEN)
  return {
    follow(number) {
      if (number % RUN_ROWS !== 0) return
      close.run(number)
      open.run(number)
    },
  }
}

// The very moment in which a commit becomes visible. What belongs to it and was meant to follow in a commit of its own
// has not been written then: a process that dies there has lost it, and whoever reads there sees what it would leave.
import { Database } from 'bun:sqlite'
import { closeSync, existsSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'

/** Changes with every commit; the write-ahead index begins with it. */
const HEADER_BYTES = 48
const PATIENCE_MS = 8

/** Nothing else happens in this process meanwhile: what is waited for takes less time than a turn of the loop. */
export function awaitCommit(data: string): void {
  const path = join(data, 'gateway.db-shm')
  if (!existsSync(path)) return
  const file = openSync(path, 'r')
  try {
    const before = Buffer.alloc(HEADER_BYTES)
    const now = Buffer.alloc(HEADER_BYTES)
    readSync(file, before, 0, HEADER_BYTES, 0)
    const end = performance.now() + PATIENCE_MS
    do readSync(file, now, 0, HEADER_BYTES, 0)
    while (now.equals(before) && performance.now() < end)
  } finally {
    closeSync(file)
  }
}

/** All of it must be nothing after every single commit. */
export interface Torn {
  readonly charged: number
  readonly paid: number
  readonly credited: number
  readonly stated: number
  readonly unclaimed: number
}

export const WHOLE: Torn = { charged: 0, paid: 0, credited: 0, stated: 0, unclaimed: 0 }

// One statement, so that all of it is of one moment.
const TORN = `
  WITH spent AS MATERIALIZED (SELECT coalesce(sum(cost), 0) AS cost FROM audit),
    put AS MATERIALIZED (
      SELECT coalesce(sum(body ->> 'amount'), 0) AS amount FROM notes WHERE kind = 'credit'
    )
  SELECT
    (SELECT coalesce(sum(charged), 0) FROM balances) - spent.cost AS charged,
    (SELECT coalesce(sum(amount), 0) FROM sums JOIN names ON number = account WHERE name = 'payments')
      - spent.cost AS paid,
    (SELECT coalesce(sum(credited), 0) FROM balances) - put.amount AS credited,
    (SELECT coalesce(sum(amount), 0) FROM credits) - put.amount AS stated,
    (
      SELECT count(*) FROM holds
      WHERE claim IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM claims WHERE id = substr(claim, 1, instr(claim, ' ') - 1))
      AND NOT EXISTS (SELECT 1 FROM audit WHERE audit.hold = holds.number AND state = 'voided')
    ) AS unclaimed
  FROM spent, put`

export interface Glance extends Disposable {
  /** As a crash behind the next commit would leave it. */
  look(): Torn
}

export function openGlance(data: string): Glance {
  const database = new Database(join(data, 'gateway.db'), { readonly: true })
  const query = database.query<Torn, []>(TORN)
  return {
    look() {
      awaitCommit(data)
      return query.get()!
    },
    [Symbol.dispose]: () => database.close(true),
  }
}

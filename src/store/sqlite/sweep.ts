// Removing names that no record has any more: callers make up models, and each would stay for ever. The Worker
// looks through the records, and what calls wait for is a few removals at a time.
import type { Database } from 'bun:sqlite'
import type { Reads } from './reads.ts'
import { asRow, readInteger } from './rows.ts'
import type { Writer } from './writer.ts'

interface SweepParts {
  readonly database: Database
  readonly writer: Writer
  readonly reads: Pick<Reads, 'query'>
}

/** Some milliseconds. */
const STEP = 500
/** The rest is for another time. */
const MOST = 100_000

// Names of accounts, and of those in the books, are not for callers to make up: these stay.
const BOOKS = ['key/', 'before/', 'supplier/', 'suspense/', 'overrun', 'payer/', 'payments']
const STAYING = ['acc_', ...BOOKS]

const OF_HOLDS = ['account', 'project', 'key', 'endpoint', 'model', 'period', 'terms', 'payer']

// Rows have the payer of their holds, so only those count whose hold is gone: there is an index of holds.
const PAYERS_ALONE = `
  SELECT payer FROM audit INDEXED BY audit_by_hold
  WHERE hold IS NOT NULL AND hold <= (SELECT value ->> '$.number' FROM marks WHERE name = 'base')
  AND payer IS NOT NULL`

/** The numbers that holds and rows have. Holds are many and of few kinds: they are gone through once, as are rows. */
function usedBy(holds: string, audit: string): string {
  const columns = OF_HOLDS.map(
    (column) => `UNION SELECT ${column} FROM kinds WHERE ${column} IS NOT NULL`,
  )
  return `
    WITH kinds AS MATERIALIZED (SELECT DISTINCT ${OF_HOLDS.join(', ')} FROM ${holds})
    SELECT key AS number FROM ${audit} ${columns.join(' ')} UNION ${PAYERS_ALONE}
    UNION SELECT route FROM (SELECT route FROM ${audit}) WHERE route IS NOT NULL`
}

const USED_SINCE = usedBy('holds WHERE number > ?1', 'audit WHERE sequence > ?1')

const UNUSED = `
  SELECT number FROM names WHERE number NOT IN (${usedBy('holds', 'audit')})
  ${STAYING.map((start) => `AND name NOT GLOB '${start}*'`).join('\n')}
  LIMIT ${MOST}`

const LAST = `
  SELECT coalesce(max(number), 0) AS number
  FROM (SELECT max(number) AS number FROM holds UNION ALL SELECT max(sequence) FROM audit)`

const DROP = 'DELETE FROM names WHERE number = ?'

/** Stops after its step where it is told so. */
export type Sweep = (isOver: () => boolean) => Promise<void>

export function createSweep({ database, writer, reads }: SweepParts): Sweep {
  const last = (): number => readInteger(asRow(database.query(LAST).get()), 'number')

  return async (isOver) => {
    let seen = last()
    const found = await findUnused(reads)
    const used = new Set<number>()
    const dropStep = (numbers: readonly number[]): void => {
      // A call may have come back to a name since it was found.
      for (const row of database.query(USED_SINCE).all(seen))
        used.add(readInteger(asRow(row), 'number'))
      seen = last()
      for (const number of numbers) if (!used.has(number)) database.query(DROP).run(number)
    }
    for (let start = 0; start < found.length && !isOver(); start += STEP) {
      writer.transact(() => dropStep(found.slice(start, start + STEP)))
      writer.forgetNames()
      // oxlint-disable-next-line no-await-in-loop -- calls come first
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}

async function findUnused(reads: Pick<Reads, 'query'>): Promise<readonly number[]> {
  try {
    return (await reads.query(UNUSED)).map((row) => readInteger(row, 'number'))
  } catch {
    // Names that stay do no harm, and the records are removed: the next archive comes to them.
    return []
  }
}

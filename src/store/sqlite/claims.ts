// What was asked under an Idempotency-Key. Calls wait for these, so all of it is on the connection that calls
// depend on, and each statement touches a handful of rows.
import type { Operations } from '../operations.ts'
import type { ClaimRepository, KeptBytes, KeptClaim } from '../store.ts'
import { persist, type ChangeParts } from './change.ts'
import { INSERT_CLAIM } from './inserts.ts'
import { unavailable } from './reads.ts'
import { asRow, isRow, readInteger, readText, type Row } from './rows.ts'

export interface ClaimParts extends ChangeParts {
  readonly operations: Pick<Operations, 'claimed'>
}

const FIND = `
  SELECT id, fingerprint, request_id, account_id, at, answer IS NOT NULL AS has_answer
  FROM claims WHERE id = ?`
const ANSWER = 'SELECT answer FROM claims WHERE id = ?'
// Most changes have written their own by then, and nothing is undone for it.
const ADD = `${INSERT_CLAIM} ON CONFLICT (id) DO NOTHING`
const KEEP = 'UPDATE claims SET answer = ? WHERE id = ?'

// Of an answer the length is known without reading it.
const BYTES = 'account_id, ifnull(length(answer), 0) AS bytes'
const SIZE = `SELECT ${BYTES} FROM claims WHERE id = ? AND answer IS NOT NULL`
const DROP = 'DELETE FROM claims WHERE id = ?'
const SIZES = `
  SELECT account_id, sum(length(answer)) AS bytes FROM claims INDEXED BY claims_kept
  WHERE answer IS NOT NULL GROUP BY account_id`

/** Some milliseconds: as many as these are, or as long, for each page of an answer is touched to free it. */
const STEP = 500
const STEP_BYTES = 8 * 1_048_576

// A call that nobody knows the end of keeps its claim: sent again, it must not run again. Along the index, so
// that nothing younger is looked at.
const OLD = `
  SELECT sequence, ${BYTES} FROM claims INDEXED BY claims_by_time
  WHERE at < ?1 AND request_id NOT IN (SELECT value FROM json_each(?2))
  ORDER BY at LIMIT ${STEP}`
const SWEEP = 'DELETE FROM claims WHERE sequence IN (SELECT value FROM json_each(?))'

export function createClaims({ operations, ...parts }: ClaimParts): ClaimRepository {
  const { database, writer } = parts
  return {
    find: (id) =>
      read(() => {
        const row = database.query(FIND).get(id)
        return isRow(row) ? toClaim(row) : undefined
      }),
    answer: (id) =>
      read(() => {
        const row = database.query(ANSWER).get(id)
        const answer = isRow(row) ? row['answer'] : undefined
        return answer instanceof Uint8Array ? answer : undefined
      }),
    add: ({ id, fingerprint, requestId, accountId, at }) =>
      // What is queued comes first: a hold must find its claim free.
      persist(parts, {}, () => {
        database.query(ADD).run(id, fingerprint, requestId, accountId, at)
      }),
    async keep(id, answer) {
      let isKept = false
      await writer.join(() => {
        isKept = database.query(KEEP).run(answer, id).changes > 0
      })
      return isKept
    },
    async drop(id) {
      let freed: readonly KeptBytes[] = []
      await writer.join(() => {
        freed = database.query(SIZE).all(id).map(asRow).map(toBytes)
        database.query(DROP).run(id)
      })
      return freed
    },
    sweep: (before) =>
      persist(parts, undefined, () => {
        const open = JSON.stringify(operations.claimed())
        const old = firstOf(database.query(OLD).all(before, open).map(asRow))
        const places = JSON.stringify(old.map((row) => readInteger(row, 'sequence')))
        if (old.length > 0) database.query(SWEEP).run(places)
        const freed = old.map(toBytes).filter(({ bytes }) => bytes > 0)
        return { count: old.length, freed }
      }),
    sizes: () => read(() => database.query(SIZES).all().map(asRow).map(toBytes)),
  }
}

async function read<Result>(work: () => Result): Promise<Result> {
  try {
    return work()
  } catch (thrown) {
    throw unavailable(thrown)
  }
}

/** At least one, and no more than can be removed in a step. */
function firstOf(rows: readonly Row[]): readonly Row[] {
  let sum = 0
  const end = rows.findIndex((row) => {
    sum += toBytes(row).bytes
    return sum > STEP_BYTES
  })
  return end === -1 ? rows : rows.slice(0, Math.max(1, end))
}

function toBytes(row: Row): KeptBytes {
  return { accountId: readText(row, 'account_id'), bytes: readInteger(row, 'bytes') }
}

function toClaim(row: Row): KeptClaim {
  return {
    id: readText(row, 'id'),
    fingerprint: readText(row, 'fingerprint'),
    requestId: readText(row, 'request_id'),
    accountId: readText(row, 'account_id'),
    at: readInteger(row, 'at'),
    hasAnswer: readInteger(row, 'has_answer') !== 0,
  }
}

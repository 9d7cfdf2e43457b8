// Who changed what, newest first: the notes of kinds `action` and `credit` in the order of the chain. A page looks
// at so many of them and no more, so where few fit it may be short and still have a next.
import type { NoteRecord } from '../../core/record.ts'
import type { ActionQuery, ActionRepository, Page } from '../store.ts'
import { decodeCursor, encodeCursor, readLimit } from './page.ts'
import type { Reads } from './reads.ts'
import { readInteger, toNoteRecord, type Row } from './rows.ts'

/** Some twenty milliseconds of reading. */
const LOOK_MAX = 10_000

const CURSOR = /^(\d{1,16})$/

const FROM = `
  FROM notes INDEXED BY notes_actions
  WHERE kind IN ('action', 'credit') AND number < :number`

const STOP = `SELECT number ${FROM} ORDER BY number DESC LIMIT 1 OFFSET ${LOOK_MAX - 1}`

// A credit is an action on its wallet.
const ROWS = `
  SELECT number, at, kind, request_id, body ${FROM} AND number >= :stop
  AND body ->> '$.account' = :account
  AND at >= :from AND at < :to
  AND (:by IS NULL OR body ->> '$.by' = :by)
  AND (:target IS NULL
    OR CASE kind WHEN 'credit' THEN body ->> '$.wallet' ELSE body ->> '$.target' END = :target)
  AND (:action IS NULL
    OR CASE kind WHEN 'credit' THEN 'wallet.credit' ELSE body ->> '$.action' END = :action)
  ORDER BY number DESC LIMIT :limit`

export function createActions(reads: Pick<Reads, 'query'>): ActionRepository {
  return {
    async list(accountId, query) {
      const limit = readLimit(query)
      const start = { ':number': readNumber(query) }
      const [last] = await reads.query(STOP, start)
      const stop = last === undefined ? undefined : readInteger(last, 'number')
      const rows = await reads.query(ROWS, {
        ...start,
        ...filtersOf(query),
        ':account': accountId,
        ':stop': stop ?? 0,
        ':limit': limit + 1,
      })
      return toPage(rows, limit, stop)
    },
  }
}

function readNumber({ cursor }: ActionQuery): number {
  if (cursor === undefined) return Number.MAX_SAFE_INTEGER
  return Number(decodeCursor(cursor, CURSOR)[0])
}

function filtersOf(query: ActionQuery): Readonly<Record<`:${string}`, string | number | null>> {
  return {
    ':by': query.by ?? null,
    ':target': query.target ?? null,
    ':action': query.action ?? null,
    ':from': query.from ?? 0,
    ':to': query.to ?? Number.MAX_SAFE_INTEGER,
  }
}

function toPage(rows: readonly Row[], limit: number, stop: number | undefined): Page<NoteRecord> {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const end = rows.length > limit && last !== undefined ? readInteger(last, 'number') : stop
  return {
    items: shown.map(toNoteRecord),
    next: end === undefined ? undefined : encodeCursor(String(end)),
  }
}

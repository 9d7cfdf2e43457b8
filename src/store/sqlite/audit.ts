// Audit rows as management reads them: always in the Worker, always over an index.
import type { AuditQuery, AuditRepository, Page } from '../store.ts'
import type { AuditRow } from '../../core/audit.ts'
import { readLimit, readPlace, toPage } from './page.ts'
import type { Reads } from './reads.ts'
import { asRow, findInteger, readAmount, toAuditRow } from './rows.ts'

/** Exported for the test that asks SQLite how it runs them. */
export const SPENT = `
  SELECT coalesce(sum(cost), 0) AS cost, min(at) FILTER (WHERE cost > 0) AS oldest_at FROM audit
  WHERE key = (SELECT number FROM names WHERE name = ?) AND at >= ? AND at < ?`

const ROWS = `
  SELECT audit.*, account_names.name AS account_id, key_names.name AS key_id FROM audit
  JOIN names AS account_names ON account_names.number = account
  JOIN names AS key_names ON key_names.number = key`

const NEWEST_FIRST = '(at, sequence) < (?, ?) ORDER BY at DESC, sequence DESC LIMIT ?'

// In the order in which they were written: the table itself has that order, so no index has to be kept.
export const LIST = `${ROWS}
  WHERE account = (SELECT number FROM names WHERE name = ?)
  AND sequence < ? ORDER BY sequence DESC LIMIT ?`

export const LIST_OF_KEY = `${ROWS}
  WHERE account = (SELECT number FROM names WHERE name = ?)
  AND key = (SELECT number FROM names WHERE name = ?) AND ${NEWEST_FIRST}`

const PAGE = { timeColumn: 'at', toItem: toAuditRow }

export function createAudit(reads: Reads): AuditRepository {
  return {
    async spent(keyId, from, to) {
      const [found] = await reads.query(SPENT, keyId, from, to)
      const row = asRow(found)
      return { cost: readAmount(row, 'cost'), oldestAt: findInteger(row, 'oldest_at') }
    },
    async list(accountId, query): Promise<Page<AuditRow>> {
      const limit = readLimit(query)
      return toPage(await listRows(reads, accountId, query), limit, PAGE)
    },
  }
}

function listRows(reads: Reads, accountId: string, query: AuditQuery): ReturnType<Reads['query']> {
  const { at, sequence } = readPlace(query)
  const { keyId, limit } = query
  if (keyId === undefined) return reads.query(LIST, accountId, sequence, limit + 1)
  return reads.query(LIST_OF_KEY, accountId, keyId, at, sequence, limit + 1)
}

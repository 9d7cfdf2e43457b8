// Audit rows as management reads them: always in the Worker, and never more of them at once than a walk
// allows.
import { GatewayError } from '../../core/problem.ts'
import type { AuditFilter, AuditQuery, AuditRepository, Page } from '../store.ts'
import { BEFORE_ALL, decodeCursor, encodeCursor, readLimit, type Place } from './page.ts'
import type { Reads } from './reads.ts'
import { asRow, readInteger, toAuditRow, type Row } from './rows.ts'
import { chooseWalk, isWholeKey, NEWEST, type Walk } from './walks.ts'

/** Where a page begins: after this place, among the rows up to the bound. */
interface Start extends Place {
  readonly bound: number
}

const CURSOR = /^([kft])\.(\d{1,16})\.(\d{1,16})\.(\d{1,16})$/
const AFTER_ALL: Place = { at: 0, sequence: 0 }
const REQUEST_ID = /^req_([0-9a-f]{12})7[0-9a-f]{19}$/
/** A call's id and its time of arrival are taken in the same breath. */
const ID_SLACK_MS = 1000

type Reader = Pick<Reads, 'query'>

export function createAudit(reads: Reads): AuditRepository {
  return {
    async list(accountId, query) {
      readLimit(query)
      const { items, next } = await listRows(reads, accountId, query)
      return { items: items.map(toAuditRow), next }
    },
    async find(accountId, requestId) {
      const row = await findCall(reads, accountId, requestId)
      return row === undefined ? undefined : toAuditRow(row)
    },
  }
}

/** The row of one call as it stands in the table. */
export async function findCall(
  reads: Reader,
  accountId: string,
  requestId: string,
): Promise<Row | undefined> {
  const page = await listRows(reads, accountId, { requestId, limit: 1, cursor: undefined })
  return page.items[0]
}

function listRows(reads: Reader, accountId: string, query: AuditQuery): Promise<Page<Row>> {
  return query.requestId === undefined
    ? listPage(reads, accountId, query)
    : listCall(reads, accountId, { ...query, requestId: query.requestId })
}

async function listPage(reads: Reader, accountId: string, query: AuditQuery): Promise<Page<Row>> {
  const walk = chooseWalk(query)
  const start = readStart(query, walk) ?? { ...BEFORE_ALL, bound: await findNewest(reads) }
  const parameters = toParameters(accountId, query, start)
  const stop = isWholeKey(walk, query) ? undefined : await findStop(reads, walk, parameters)
  const { at, sequence } = stop ?? AFTER_ALL
  const rows = await reads.query(walk.rows, {
    ...parameters,
    ':stop_at': at,
    ':stop_sequence': sequence,
    ':limit': query.limit + 1,
  })
  const shown = rows.slice(0, query.limit)
  const end = rows.length > query.limit ? placeOf(shown.at(-1)) : stop
  return {
    items: shown,
    next: end === undefined ? undefined : encodeStart(walk, { ...end, bound: start.bound }),
  }
}

/**
 * No index has to be kept for ids, because an id tells its time. Should the clock have been set between
 * the id and the arrival, the newest rows are still looked through.
 */
async function listCall(
  reads: Reader,
  accountId: string,
  query: AuditQuery & { readonly requestId: string },
): Promise<Page<Row>> {
  const near = narrow(query, timeOf(query.requestId))
  let cursor = query.cursor
  do {
    // oxlint-disable-next-line no-await-in-loop -- a page names its successor
    const { items, next } = await listPage(reads, accountId, { ...near, cursor })
    if (items.length > 0) return { items, next: undefined }
    cursor = next
  } while (cursor !== undefined)
  const { items } = await listPage(reads, accountId, query)
  return { items, next: undefined }
}

function timeOf(requestId: string): number {
  return Number.parseInt(REQUEST_ID.exec(requestId)?.[1] ?? '', 16)
}

/** An id of another form tells no time, and then no row is near. */
function narrow(query: AuditQuery, time: number): AuditQuery {
  const { from = 0, to = Number.MAX_SAFE_INTEGER } = query
  if (Number.isNaN(time)) return { ...query, to: 0 }
  return {
    ...query,
    from: Math.max(from, time - ID_SLACK_MS),
    to: Math.min(to, time + ID_SLACK_MS),
  }
}

async function findNewest(reads: Reader): Promise<number> {
  const [row] = await reads.query(NEWEST)
  return readInteger(asRow(row), 'sequence')
}

async function findStop(
  reads: Reader,
  walk: Walk,
  parameters: Parameters,
): Promise<Place | undefined> {
  const [row] = await reads.query(walk.stop, parameters)
  return row && { at: readInteger(row, 'stop_at'), sequence: readInteger(row, 'stop_sequence') }
}

type Parameters = Readonly<Record<`:${string}`, string | number | null>>

function toParameters(accountId: string, filter: AuditFilter, start: Start): Parameters {
  return {
    ':account': accountId,
    ':key': filter.keyId ?? null,
    ':projects': filter.projectIds === undefined ? null : JSON.stringify(filter.projectIds),
    ':model': filter.model ?? null,
    ':supplier': filter.supplier ?? null,
    ':region': filter.region ?? null,
    ':status': filter.status ?? null,
    ':code': filter.code ?? null,
    ':request': filter.requestId ?? null,
    ':state': filter.state ?? null,
    ':from': filter.from ?? 0,
    ':to': filter.to ?? Number.MAX_SAFE_INTEGER,
    ':at': start.at,
    ':sequence': start.sequence,
    ':bound': start.bound,
  }
}

function placeOf(row: Row | undefined): Place {
  const last = asRow(row)
  return { at: readInteger(last, 'at'), sequence: readInteger(last, 'sequence') }
}

function encodeStart({ letter }: Walk, { at, sequence, bound }: Start): string {
  return encodeCursor(`${letter}.${at}.${sequence}.${bound}`)
}

function readStart({ cursor }: AuditQuery, walk: Walk): Start | undefined {
  if (cursor === undefined) return undefined
  const [letter, at, sequence, bound] = decodeCursor(cursor, CURSOR)
  if (letter === walk.letter)
    return { at: Number(at), sequence: Number(sequence), bound: Number(bound) }
  throw new GatewayError(
    'validation_error',
    'The cursor belongs to a list with other filters. Send those again, or leave the cursor out.',
    { param: 'cursor' },
  )
}

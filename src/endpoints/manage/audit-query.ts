// What may be asked of the audit, read from the address. Whatever is not listed here is refused by name,
// so that a filter with a slip in it never passes for one that found everything.
import type { CallState } from '../../core/audit.ts'
import { GatewayError, invalid, quoteName } from '../../core/problem.ts'
import type { AuditFilter, PageRequest } from '../../store/store.ts'

export type Format = 'json' | 'csv' | 'jsonl'

export interface AuditRequest {
  readonly filter: AuditFilter
  readonly format: Format
  /** Of a download, all of it; undefined when there is none. */
  readonly limit: number | undefined
  readonly cursor: string | undefined
}

type Reader = (text: string) => AuditFilter

const LIST_LIMIT_DEFAULT = 100
const LIST_LIMIT_MAX = 1000
const FORMATS: readonly Format[] = ['json', 'csv', 'jsonl']
const STATES: readonly CallState[] = ['settled', 'voided', 'refused']
const REQUEST_ID = /^req_[0-9a-f]{32}$/
const REGION = /^[A-Za-z0-9_-]{1,64}$/
/** A day, or a moment; a plus sign that nobody escaped arrives as a space. */
const TIME = /^(\d{4}-\d{2}-\d{2})(?:(T\d{2}:\d{2}:\d{2})(?:\.\d{1,9})?(?:Z|[+ ]00:00))?$/

const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ['key_id', (text) => ({ keyId: readName('key_id', text) })],
  ['project_id', (text) => ({ projectIds: [readName('project_id', text)] })],
  ['model', (text) => ({ model: readName('model', text) })],
  ['supplier', (text) => ({ supplier: readName('supplier', text) })],
  ['region', (text) => ({ region: readRegion(text) })],
  ['status', (text) => ({ status: readStatus(text) })],
  ['code', (text) => ({ code: readName('code', text) })],
  ['state', (text) => ({ state: readState(text) })],
  ['from', (text) => ({ from: readTime('from', text) })],
  ['to', (text) => ({ to: readTime('to', text) })],
  ['request_id', (text) => ({ requestId: readRequestId(text) })],
])

const PAGING: readonly string[] = ['limit', 'cursor', 'format']

/** `fixed` names the filter that the path already holds. */
export function readAuditRequest(request: Request, fixed?: string): AuditRequest {
  // The address as a whole need not parse: its host is whatever the caller's Host header says.
  const [, ...parts] = request.url.split('?')
  const query = new URLSearchParams(parts.join('?'))
  const names = [...READERS.keys(), ...PAGING].filter((name) => name !== fixed)
  for (const name of query.keys()) checkParameter(name, query, names)
  const filter: AuditFilter = Object.assign(
    {},
    ...[...query].map(([name, text]) => READERS.get(name)?.(text)),
  )
  checkPeriod(filter)
  const format = readFormat(query.get('format'))
  return {
    filter,
    format,
    limit: readLimit(query.get('limit'), format),
    cursor: query.get('cursor') ?? undefined,
  }
}

/** A list without a limit of its own has the usual one. */
export function toPageRequest({ limit, cursor }: AuditRequest): PageRequest {
  return { limit: limit ?? LIST_LIMIT_DEFAULT, cursor }
}

function checkParameter(name: string, query: URLSearchParams, names: readonly string[]): void {
  if (!names.includes(name))
    throw new GatewayError(
      'unsupported_parameter',
      `This parameter is not known here. Send only ${names.join(', ')}.`,
      { param: quoteName(name) },
    )
  if (query.getAll(name).length > 1) throw invalid(name, `Send \`${name}\` once.`)
}

function checkPeriod({ from, to }: AuditFilter): void {
  if (from !== undefined && to !== undefined && from >= to)
    throw invalid('to', 'Send a `to` that is later than `from`: it is the first moment left out.')
}

function readName(name: string, text: string): string {
  if (text !== '') return text
  throw invalid(name, `Send \`${name}\` with a value, or leave it out.`)
}

export function readRegion(text: string): string {
  if (REGION.test(text)) return text
  throw invalid('region', 'Send `region` as a region such as EU.')
}

function readStatus(text: string): number {
  if (/^[1-5]\d\d$/.test(text)) return Number(text)
  throw invalid('status', 'Send `status` as an HTTP status from 100 to 599.')
}

function readState(text: string): CallState {
  const state = STATES.find((each) => each === text)
  if (state !== undefined) return state
  throw invalid(
    'state',
    `Send \`state\` as one of ${STATES.join(', ')}. Calls that have not ended are no part of the audit.`,
  )
}

function readRequestId(text: string): string {
  if (REQUEST_ID.test(text)) return text
  throw invalid(
    'request_id',
    'Send `request_id` as the x-request-id header of the call had it: req_ and 32 hexadecimal digits.',
  )
}

export function readTime(name: string, text: string): number {
  const [, day, time = 'T00:00:00'] = TIME.exec(text) ?? []
  const moment = day === undefined ? Number.NaN : Date.parse(text.replace(' ', '+'))
  // A parser may take the 30th of February for the 2nd of March.
  if (!Number.isNaN(moment) && new Date(moment).toISOString().startsWith(`${day}${time}`))
    return moment
  throw invalid(
    name,
    `Send \`${name}\` as a moment in UTC such as 2030-01-31T12:00:00Z, or as a day such as 2030-01-31.`,
  )
}

function readFormat(text: string | null): Format {
  if (text === null) return 'json'
  const format = FORMATS.find((each) => each === text)
  if (format !== undefined) return format
  throw invalid('format', `Send \`format\` as one of ${FORMATS.join(', ')}.`)
}

function readLimit(text: string | null, format: Format): number | undefined {
  if (text === null) return undefined
  const limit = /^\d{1,15}$/.test(text) ? Number(text) : 0
  if (limit >= 1 && (format !== 'json' || limit <= LIST_LIMIT_MAX)) return limit
  throw invalid(
    'limit',
    format === 'json'
      ? `Send \`limit\` as a whole number from 1 to ${LIST_LIMIT_MAX}.`
      : 'Send `limit` as a whole number from 1, or leave it out to get everything.',
  )
}

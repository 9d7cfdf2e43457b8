// One call as people and programs read it: as JSON, or as a line of a table. Fields and their order are
// the same in both.
import type { AuditRow } from '../../core/audit.ts'
import { toJsonUsd } from '../../core/money.ts'
import { isEstimate } from '../../pipeline/settle.ts'

/** The nine that exports rely on, then what else is known. */
const FIELDS = [
  'timestamp',
  'key_id',
  'model',
  'supplier',
  'region',
  'input_tokens',
  'output_tokens',
  'cost_usd',
  'latency_ms',
  'request_id',
  'endpoint',
  'status',
  'code',
  'stream',
  'first_token_ms',
  'attempts',
  'project_id',
  'state',
  'evidence',
  'estimated',
  'held_usd',
  'overrun_usd',
  'count',
] as const

export type Entry = Readonly<Record<(typeof FIELDS)[number], unknown>>

export function describeCall(row: AuditRow): Entry {
  return {
    timestamp: new Date(row.at).toISOString(),
    key_id: row.keyId,
    model: row.model,
    supplier: row.supplier ?? null,
    region: row.region ?? null,
    input_tokens: row.inputTokens ?? null,
    output_tokens: row.outputTokens ?? null,
    cost_usd: toJsonUsd(row.cost),
    latency_ms: Math.round(row.latencyMs),
    request_id: row.requestId,
    endpoint: row.endpoint,
    status: row.status,
    code: row.code ?? null,
    stream: row.stream,
    first_token_ms: row.firstTokenMs === undefined ? null : Math.round(row.firstTokenMs),
    attempts: row.attempts,
    project_id: row.projectId ?? null,
    state: row.state,
    evidence: row.evidence ?? null,
    // The supplier did not tell what was used: the cost is the gateway's own reckoning.
    estimated: row.evidence !== undefined && isEstimate(row.evidence),
    held_usd: row.held === undefined ? null : toJsonUsd(row.held),
    overrun_usd: toJsonUsd(row.overrun),
    count: row.count,
  }
}

const LINE_END = '\r\n'

export const CSV_HEAD = FIELDS.join(',') + LINE_END

/** By RFC 4180. */
export function toCsvLine(row: AuditRow): string {
  const entry = describeCall(row)
  return FIELDS.map((field) => toCell(entry[field])).join(',') + LINE_END
}

export function toJsonLine(row: AuditRow): string {
  return `${JSON.stringify(describeCall(row))}\n`
}

const NEEDS_QUOTES = /[",\r\n]/
/** What a spreadsheet takes for the beginning of a formula, and would run. */
const FORMULA = /^[=+\-@\t\r]/

function toCell(value: unknown): string {
  if (value === null) return ''
  if (typeof value !== 'string') return JSON.stringify(value)
  const text = FORMULA.test(value) ? `'${value}` : value
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

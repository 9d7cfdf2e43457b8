// One call as people and programs read it: as JSON, or as a line of a table. Fields and their order are
// the same in both.
import type { AuditRow } from '../../core/audit.ts'
import { toJsonUsd } from '../../core/money.ts'
import { readPayer } from '../../store/payer.ts'
import { isEstimate } from '../../pipeline/settle.ts'
import { LINE_END, toLine } from './csv.ts'

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
  'payer_wallet_id',
  'payer_link',
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
    ...describePayer(row),
  }
}

/** Nobody, where it was refused or held before there were payers. */
function describePayer({ payer }: AuditRow): Pick<Entry, 'payer_wallet_id' | 'payer_link'> {
  const terms = payer === undefined ? undefined : readPayer(payer)
  return { payer_wallet_id: terms?.wallet ?? null, payer_link: terms?.link ?? null }
}

export const CSV_HEAD = FIELDS.join(',') + LINE_END

/** By RFC 4180. */
export function toCsvLine(row: AuditRow): string {
  const entry = describeCall(row)
  return toLine(FIELDS.map((field) => entry[field]))
}

export function toJsonLine(row: AuditRow): string {
  return `${JSON.stringify(describeCall(row))}\n`
}

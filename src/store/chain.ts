// The chain of records: each hash covers the record's text and the hash before it, so nothing can be
// changed, removed or put in between without every later hash telling. This runs for every record.
import type { AuditRow } from '../core/audit.ts'
import type { HoldRecord, LedgerRecord, NoteRecord } from '../core/record.ts'

/**
 * The JSON array of the type and all fields in their order, what is absent as null. The same for ever. It is
 * put together by hand, which costs two thirds of printing an array.
 */
export function textOf(record: LedgerRecord): string {
  if (record.type === 'hold') return textOfHold(record.hold)
  return record.type === 'audit' ? textOfRow(record.row) : textOfNote(record.note)
}

export function link(previous: string, text: string): string {
  return Bun.SHA256.hash(`${previous}\n${text}`, 'base64')
}

function textOfHold(hold: HoldRecord): string {
  const { at, hour, requestId, accountId, projectId, keyId, endpoint, model, stream } = hold
  const { amount, limit, period, inputTokens, maxTokens, terms } = hold
  const call = `${text(requestId)},${word(accountId)},${word(projectId)},${word(keyId)}`
  const asked = `${word(endpoint)},${word(model)},${stream},${amount},${figure(limit)},${word(period)}`
  return `["hold",${at},${hour},${call},${asked},${inputTokens},${maxTokens},${terms}${textOfPayer(hold)}]`
}

/** Nothing in records from before there were payers, whose text must stay what it was. */
function textOfPayer({ payer, claim }: HoldRecord): string {
  if (payer === undefined && claim === undefined) return ''
  const claimed = claim === undefined ? 'null' : `["${claim.id}","${claim.fingerprint}"]`
  return `,${payer ?? 'null'},${claimed}`
}

function textOfRow(row: AuditRow): string {
  const { at, requestId, accountId, projectId, keyId, endpoint, model, supplier, region } = row
  const call = `${text(requestId)},${word(accountId)},${word(projectId)},${word(keyId)}`
  const asked = `${word(endpoint)},${word(model)},${word(supplier)},${word(region)}`
  const { inputTokens, outputTokens, cost, latencyMs, firstTokenMs, status, code } = row
  const used = `${figure(inputTokens)},${figure(outputTokens)},${cost}`
  const answered = `${figure(latencyMs)},${figure(firstTokenMs)},${status},${word(code)}`
  return `["audit",${at},${call},${asked},${used},${answered},${row.stream},${row.attempts},${textOfEnd(row)}]`
}

function textOfEnd({
  state,
  evidence,
  held,
  hour,
  overrun,
  heldMs,
  count,
  payer,
  route,
  details,
}: AuditRow): string {
  const how = `${word(state)},${word(evidence)},${figure(held)},${figure(hour)},${overrun}`
  const told = details === undefined ? 'null' : JSON.stringify(details)
  return `${how},${figure(heldMs)},${count},${told}${textOfTail(payer, route)}`
}

/** Nothing in rows from before there were payers and routes, whose text must stay what it was. */
function textOfTail(payer: string | undefined, route: string | undefined): string {
  if (route !== undefined) return `,${payer ?? 'null'},${route}`
  return payer === undefined ? '' : `,${payer}`
}

function textOfNote({ at, kind, requestId, body }: NoteRecord): string {
  return `["note",${at},${word(kind)},${text(requestId)},${body}]`
}

/** Of what ids, paths and names of models are made. */
const PLAIN = /^[\w./: @+-]*$/

// All but the request's own id come again and again.
const WORDS_KEPT = 4096
const words = new Map<string, string>()

function word(value: string | undefined): string {
  if (value === undefined) return 'null'
  const known = words.get(value)
  if (known !== undefined) return known
  if (words.size >= WORDS_KEPT) words.clear()
  const made = text(value)
  words.set(value, made)
  return made
}

/**
 * Callers and suppliers may write half of a surrogate pair, which no database keeps: it counts as what will
 * be read back.
 */
function text(value: string | undefined): string {
  if (value === undefined) return 'null'
  return PLAIN.test(value) ? `"${value}"` : JSON.stringify(value.toWellFormed())
}

function figure(value: number | undefined): number | 'null' {
  return value !== undefined && Number.isFinite(value) ? value : 'null'
}

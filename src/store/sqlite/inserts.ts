// One record into its table, at its place in the chain. This runs on every call, twice.
import type { Database } from 'bun:sqlite'
import type { AuditRow } from '../../core/audit.ts'
import type { HoldRecord, NoteRecord } from '../../core/record.ts'
import type { Item } from '../operations.ts'
import type { Names } from './names.ts'
import { printClaim } from './rows.ts'

export interface Inserts {
  insert(item: Item, number: number, hash: string): void
}

const INSERT_HOLD = `
  INSERT INTO holds (
    number, at, hour, request_id, account, project, key, endpoint, model, stream, amount,
    budget_limit, period, input_tokens, max_tokens, terms, payer, claim, hash
  ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// A call under an Idempotency-Key: the last guard of one that is made once.
export const INSERT_CLAIM = `
  INSERT INTO claims (id, fingerprint, request_id, account_id, at) VALUES (?, ?, ?, ?, ?)`

const INSERT_AUDIT = `
  INSERT INTO audit (
    sequence, at, request_id, account, project_id, key, endpoint, model, supplier, region,
    input_tokens, output_tokens, cost, latency_ms, first_token_ms, status, code, stream, attempts,
    state, evidence, held, hour, overrun, held_ms, count, payer, route, details, hold,
    hash
  ) VALUES (
    ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
  )`

const INSERT_NOTE = `
  INSERT INTO notes (number, at, kind, request_id, body, hash) VALUES (?, ?, ?, ?, ?, ?)`

export function createInserts(database: Database, names: Names): Inserts {
  const insertHold = createHoldInsert(database, names)
  const insertAudit = createAuditInsert(database, names)
  const notes = database.prepare(INSERT_NOTE)
  const insertNote = ({ at, kind, requestId, body }: NoteRecord, number: number, hash: string) =>
    notes.run(number, at, kind, orNull(requestId), body, hash)

  return {
    insert({ record, operation }, number, hash) {
      if (record.type === 'hold') insertHold(record.hold, number, hash)
      else if (record.type === 'note') insertNote(record.note, number, hash)
      else insertAudit(record.row, { number, hash, hold: operation?.number ?? null })
    },
  }
}

function createHoldInsert(
  database: Database,
  names: Names,
): (hold: HoldRecord, number: number, hash: string) => void {
  const holds = database.prepare(INSERT_HOLD)
  const insertClaim = database.prepare(INSERT_CLAIM)
  return (hold, number, hash) => {
    holds.run(
      number,
      hold.at,
      hold.hour,
      hold.requestId,
      names.numberOf(hold.accountId),
      hold.projectId === undefined ? null : names.numberOf(hold.projectId),
      names.numberOf(hold.keyId),
      names.numberOf(hold.endpoint),
      names.numberOf(hold.model),
      hold.stream ? 1 : 0,
      hold.amount,
      orNull(hold.limit),
      hold.period === undefined ? null : names.numberOf(hold.period),
      hold.inputTokens,
      hold.maxTokens,
      names.numberOf(hold.terms),
      hold.payer === undefined ? null : names.numberOf(hold.payer),
      hold.claim === undefined ? null : printClaim(hold.claim),
      hash,
    )
    if (hold.claim === undefined) return
    const { id, fingerprint } = hold.claim
    insertClaim.run(id, fingerprint, hold.requestId, hold.accountId, hold.at)
  }
}

interface AuditPlace {
  readonly number: number
  readonly hash: string
  /** The place of the hold that it ends. */
  readonly hold: number | null
}

function createAuditInsert(
  database: Database,
  names: Names,
): (row: AuditRow, place: AuditPlace) => void {
  const audit = database.prepare(INSERT_AUDIT)
  return (row, { number, hash, hold }) => {
    audit.run(
      number,
      row.at,
      row.requestId,
      names.numberOf(row.accountId),
      orNull(row.projectId),
      names.numberOf(row.keyId),
      row.endpoint,
      row.model,
      orNull(row.supplier),
      orNull(row.region),
      orNull(row.inputTokens),
      orNull(row.outputTokens),
      row.cost,
      row.latencyMs,
      orNull(row.firstTokenMs),
      row.status,
      orNull(row.code),
      row.stream ? 1 : 0,
      row.attempts,
      row.state,
      orNull(row.evidence),
      orNull(row.held),
      orNull(row.hour),
      row.overrun,
      orNull(row.heldMs),
      row.count,
      row.payer === undefined ? null : names.numberOf(row.payer),
      row.route === undefined ? null : names.numberOf(row.route),
      row.details === undefined ? null : JSON.stringify(row.details),
      hold,
      hash,
    )
  }
}

function orNull<Value>(value: Value | undefined): Value | null {
  return value ?? null
}

// Between rows and records. A row is unknown until a reader here has checked it, so what a damaged or
// edited database holds is an error with a name and never a wrong amount.
import type { AuditRow, CallDetails, CallState, Evidence } from '../../core/audit.ts'
import type { Claim } from '../../core/claim.ts'
import {
  BUDGET_PERIODS,
  type KeyKind,
  type KeyRecord,
  type PreviousSecret,
} from '../../core/key.ts'
import { toNanoUsd, type NanoUsd } from '../../core/money.ts'
import type { HoldRecord, NoteKind, NoteRecord } from '../../core/record.ts'

export type Row = Readonly<Record<string, unknown>>

const KINDS: readonly KeyKind[] = ['root', 'token', 'managed']
const STATES: readonly CallState[] = ['settled', 'voided', 'refused']
const EVIDENCES: readonly Evidence[] = [
  'unsent',
  'refused',
  'unknown',
  'broken',
  'reported',
  'counted',
  'crashed',
]
const NOTES: readonly NoteKind[] = [
  'attempt',
  'progress',
  'review',
  'month',
  'archive',
  'resumed',
  'credit',
  'action',
]

export function toKeyRecord(row: Row): KeyRecord {
  return {
    id: readText(row, 'id'),
    accountId: readText(row, 'account_id'),
    projectId: findText(row, 'project_id'),
    teamId: findText(row, 'team_id'),
    userId: findText(row, 'user_id'),
    kind: readOneOf(row, 'kind', KINDS),
    manages: readInteger(row, 'manages') === 1,
    hash: readText(row, 'hash'),
    previous: findPrevious(row),
    name: readText(row, 'name'),
    allowedModels: findTexts(row, 'allowed_models'),
    allowedRegions: findTexts(row, 'allowed_regions'),
    budgetLimit: findAmount(row, 'budget_limit'),
    budgetPeriod: findOneOf(row, 'budget_period', BUDGET_PERIODS),
    fitsBudget: readInteger(row, 'fits_budget') === 1,
    rateLimitRpm: findInteger(row, 'rate_limit_rpm'),
    metadata: readTextRecord(row, 'metadata'),
    expiresAt: findInteger(row, 'expires_at'),
    createdAt: readInteger(row, 'created_at'),
    createdBy: findText(row, 'created_by'),
    revokedAt: findInteger(row, 'revoked_at'),
    lastUsedAt: findInteger(row, 'last_used_at'),
  }
}

function findPrevious(row: Row): PreviousSecret | undefined {
  const hash = findText(row, 'previous_hash')
  return hash === undefined ? undefined : { hash, until: readInteger(row, 'previous_until') }
}

export function toAuditRow(row: Row): AuditRow {
  return {
    at: readInteger(row, 'at'),
    requestId: readText(row, 'request_id'),
    accountId: readText(row, 'account_id'),
    projectId: findText(row, 'project_id'),
    keyId: readText(row, 'key_id'),
    endpoint: readText(row, 'endpoint'),
    model: readText(row, 'model'),
    supplier: findText(row, 'supplier'),
    region: findText(row, 'region'),
    inputTokens: findInteger(row, 'input_tokens'),
    outputTokens: findInteger(row, 'output_tokens'),
    cost: readAmount(row, 'cost'),
    latencyMs: readNumber(row, 'latency_ms'),
    firstTokenMs: findNumber(row, 'first_token_ms'),
    status: readInteger(row, 'status'),
    code: findText(row, 'code'),
    stream: readInteger(row, 'stream') === 1,
    attempts: readInteger(row, 'attempts'),
    state: readOneOf(row, 'state', STATES),
    evidence: findOneOf(row, 'evidence', EVIDENCES),
    held: findAmount(row, 'held'),
    hour: findInteger(row, 'hour'),
    overrun: readAmount(row, 'overrun'),
    heldMs: findNumber(row, 'held_ms'),
    count: readInteger(row, 'count'),
    payer: findText(row, 'payer'),
    route: findText(row, 'route'),
    details: findDetails(row, 'details'),
  }
}

export function toHoldRecord(row: Row): HoldRecord {
  return {
    at: readInteger(row, 'at'),
    hour: readInteger(row, 'hour'),
    requestId: readText(row, 'request_id'),
    accountId: readText(row, 'account_id'),
    projectId: findText(row, 'project_id'),
    keyId: readText(row, 'key_id'),
    endpoint: readText(row, 'endpoint'),
    model: readText(row, 'model'),
    stream: readInteger(row, 'stream') === 1,
    amount: readAmount(row, 'amount'),
    limit: findAmount(row, 'budget_limit'),
    period: findOneOf(row, 'period', BUDGET_PERIODS),
    inputTokens: readInteger(row, 'input_tokens'),
    maxTokens: readInteger(row, 'max_tokens'),
    terms: readText(row, 'terms'),
    payer: findText(row, 'payer'),
    claim: findClaim(row, 'claim'),
  }
}

const CLAIM_SEPARATOR = ' '

/** Two hashes in one column, which most holds leave empty. */
export function printClaim({ id, fingerprint }: Claim): string {
  return id + CLAIM_SEPARATOR + fingerprint
}

function findClaim(row: Row, column: string): Claim | undefined {
  const [id, fingerprint] = findText(row, column)?.split(CLAIM_SEPARATOR) ?? []
  if (id === undefined) return undefined
  if (fingerprint === undefined) throw unexpected(column)
  return { id, fingerprint }
}

export function toNoteRecord(row: Row): NoteRecord {
  return {
    at: readInteger(row, 'at'),
    kind: readOneOf(row, 'kind', NOTES),
    requestId: findText(row, 'request_id'),
    body: readText(row, 'body'),
  }
}

export function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function asRow(value: unknown): Row {
  if (!isRow(value)) throw new TypeError('expected a row')
  return value
}

export function readText(row: Row, column: string): string {
  const value = row[column]
  if (typeof value !== 'string') throw unexpected(column)
  return value
}

export function findInteger(row: Row, column: string): number | undefined {
  return row[column] === null ? undefined : readInteger(row, column)
}

export function readInteger(row: Row, column: string): number {
  const value = readNumber(row, column)
  if (!Number.isSafeInteger(value)) throw unexpected(column)
  return value
}

/** A 64-bit sum beyond the exact range rounds to an unsafe integer, which `toNanoUsd` refuses. */
export function readAmount(row: Row, column: string): NanoUsd {
  return toNanoUsd(readNumber(row, column))
}

export function findAmount(row: Row, column: string): NanoUsd | undefined {
  return row[column] === null ? undefined : readAmount(row, column)
}

function findNumber(row: Row, column: string): number | undefined {
  return row[column] === null ? undefined : readNumber(row, column)
}

function readNumber(row: Row, column: string): number {
  const value = row[column]
  if (typeof value === 'bigint') return Number(value)
  if (typeof value !== 'number') throw unexpected(column)
  return value
}

export function findText(row: Row, column: string): string | undefined {
  return row[column] === null ? undefined : readText(row, column)
}

export function findBytes(row: Row, column: string): Uint8Array | undefined {
  const value = row[column]
  if (value === null) return undefined
  if (!(value instanceof Uint8Array)) throw unexpected(column)
  return value
}

export function readOneOf<Word extends string>(
  row: Row,
  column: string,
  words: readonly Word[],
): Word {
  const found = words.find((word) => word === row[column])
  if (found === undefined) throw unexpected(column)
  return found
}

export function findOneOf<Word extends string>(
  row: Row,
  column: string,
  words: readonly Word[],
): Word | undefined {
  return row[column] === null ? undefined : readOneOf(row, column, words)
}

/** Kept as its own text, which only this program writes and the chain covers. */
function findDetails(row: Row, column: string): CallDetails | undefined {
  if (row[column] === null) return undefined
  const value: unknown = JSON.parse(readText(row, column))
  if (!isDetails(value)) throw unexpected(column)
  return value
}

function isDetails(value: unknown): value is CallDetails {
  if (!isRow(value)) return false
  const { tries } = value
  return tries === undefined || (Array.isArray(tries) && tries.every(isRow))
}

export function findTexts(row: Row, column: string): readonly string[] | undefined {
  if (row[column] === null) return undefined
  const value: unknown = JSON.parse(readText(row, column))
  if (!Array.isArray(value) || !value.every(isText)) throw unexpected(column)
  return value
}

export function readTextRecord(row: Row, column: string): Readonly<Record<string, string>> {
  const value: unknown = JSON.parse(readText(row, column))
  if (!isTextRecord(value)) throw unexpected(column)
  return value
}

function isTextRecord(value: unknown): value is Readonly<Record<string, string>> {
  return isRow(value) && Object.values(value).every(isText)
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function unexpected(column: string): Error {
  return new TypeError(`the column ${column} holds an unexpected value`)
}

// What stores are tested with: a key, a call, and the moments and amounts that all of it agrees on.
import type { AuditRow, CallDetails } from '../../src/core/audit.ts'
import { createId, createRequestId, hashSecret } from '../../src/core/ids.ts'
import type { ClaimRecord } from '../../src/core/claim.ts'
import { NO_TIES, type KeyRecord, type KeySettings } from '../../src/core/key.ts'
import { toNanoUsd, ZERO_USD } from '../../src/core/money.ts'
import type { PayerTerms } from '../../src/core/payer.ts'
import type {
  ActionNote,
  CreditNote,
  HoldRecord,
  LedgerRecord,
  NoteKind,
} from '../../src/core/record.ts'
import type { Deed, Page } from '../../src/store/store.ts'

export const NOW = Date.UTC(2026, 0, 15, 12)
export const HOUR = NOW / 3_600_000
export const LARGEST = toNanoUsd(Number.MAX_SAFE_INTEGER)

export const BARE_SETTINGS: KeySettings = {
  name: 'plain',
  allowedModels: undefined,
  allowedRegions: undefined,
  budgetLimit: undefined,
  budgetPeriod: undefined,
  fitsBudget: true,
  rateLimitRpm: undefined,
  metadata: {},
  expiresAt: undefined,
}

export function sampleKey(accountId: string, change: Partial<KeyRecord> = {}): KeyRecord {
  const id = createId('key')
  return {
    ...BARE_SETTINGS,
    ...NO_TIES,
    id,
    accountId,
    kind: 'managed',
    hash: hashSecret(id),
    createdAt: NOW,
    ...change,
  }
}

/** A row that no hold belongs to, whatever it says: what stores keep of it is the same. */
export function sampleRow(change: Partial<AuditRow> = {}): AuditRow {
  return {
    at: NOW,
    requestId: createRequestId(),
    accountId: 'acc_a',
    projectId: undefined,
    keyId: 'key_a',
    endpoint: '/v1/chat/completions',
    model: 'a-model',
    supplier: 'a-supplier',
    region: 'EU',
    inputTokens: 12,
    outputTokens: 34,
    cost: ZERO_USD,
    latencyMs: 1234,
    firstTokenMs: 56,
    status: 200,
    code: undefined,
    stream: true,
    attempts: 1,
    state: 'refused',
    evidence: undefined,
    held: undefined,
    hour: undefined,
    overrun: ZERO_USD,
    heldMs: undefined,
    count: 1,
    payer: undefined,
    route: undefined,
    details: undefined,
    ...change,
  }
}

export const TERMS = JSON.stringify([
  { supplier: 'a-supplier', region: 'EU', model: 'a-model', price: { input: 1000, output: 2000 } },
])

export function sampleHold(change: Partial<HoldRecord> = {}): HoldRecord {
  const { at = NOW } = change
  return {
    at,
    hour: Math.floor(at / 3_600_000),
    requestId: createRequestId(),
    accountId: 'acc_a',
    projectId: undefined,
    keyId: 'key_a',
    endpoint: '/v1/chat/completions',
    model: 'a-model',
    stream: true,
    amount: toNanoUsd(1_000_000),
    limit: undefined,
    period: undefined,
    inputTokens: 12,
    maxTokens: 4096,
    terms: TERMS,
    payer: undefined,
    claim: undefined,
    ...change,
  }
}

/** The row that ends what was held. */
export function endOf(hold: HoldRecord, change: Partial<AuditRow> = {}): AuditRow {
  return sampleRow({
    at: hold.at,
    requestId: hold.requestId,
    accountId: hold.accountId,
    projectId: hold.projectId,
    keyId: hold.keyId,
    state: 'settled',
    evidence: 'reported',
    held: hold.amount,
    hour: hold.hour,
    heldMs: 1.5,
    payer: hold.payer,
    ...change,
  })
}

/** The text of a payer whose bounds are open. */
export function payerText(wallet: string): string {
  const terms: PayerTerms = {
    wallet,
    link: 'caller',
    line: null,
    limit: null,
    period: null,
    passed: [],
  }
  return JSON.stringify(terms)
}

export function sampleClaim(change: Partial<ClaimRecord> = {}): ClaimRecord {
  const id = hashSecret(createId('key'))
  const owner = { requestId: createRequestId(), accountId: 'acc_a' }
  return { id, fingerprint: hashSecret(id), ...owner, at: NOW, ...change }
}

/** What is written with a change that nobody asks about. */
export function sampleDeed(change: Partial<ActionNote> = {}, claim?: ClaimRecord): Deed {
  const body: ActionNote = {
    account: 'acc_a',
    by: 'key_a',
    action: 'sample.change',
    target: 'key_b',
    before: null,
    after: null,
    ...change,
  }
  const requestId = createRequestId()
  return { note: { at: NOW, kind: 'action', requestId, body: JSON.stringify(body) }, claim }
}

export function creditDeed(wallet: string, amount: number, change: Partial<CreditNote> = {}): Deed {
  const body: CreditNote = {
    account: 'acc_a',
    wallet,
    amount: toNanoUsd(amount),
    by: 'key_a',
    reason: 'for once',
    reference: null,
    ...change,
  }
  const requestId = createRequestId()
  const note = { at: NOW, kind: 'credit', requestId, body: JSON.stringify(body) } as const
  return { note, claim: undefined }
}

type Call = readonly [hold: LedgerRecord, end: Extract<LedgerRecord, { type: 'audit' }>]

/** What was held for a call with this row, and the row as its end. */
export function asCall(row: AuditRow): Call {
  const { at, requestId, accountId, projectId, keyId, endpoint, model, stream, cost } = row
  const owner = { requestId, accountId, projectId, keyId }
  const hold = sampleHold({ at, ...owner, endpoint, model, stream, amount: cost })
  const { state, evidence, held, hour, heldMs } = endOf(hold)
  return [asHold(hold), { type: 'audit', row: { ...row, state, evidence, held, hour, heldMs } }]
}

/** A call of this cost, held and ended. */
export function sampleCall(
  cost: number,
  hold: Partial<HoldRecord> = {},
  details?: CallDetails,
): Call {
  const held = sampleHold(hold)
  const row = endOf(held, { cost: toNanoUsd(cost), details })
  return [asHold(held), { type: 'audit', row }]
}

/** The id of a call that arrived at this time. */
export function requestIdAt(at: number): string {
  return `req_${at.toString(16).padStart(12, '0')}${createRequestId().slice(16)}`
}

export function asRecord(row: AuditRow): LedgerRecord {
  return { type: 'audit', row }
}

export function asHold(hold: HoldRecord): LedgerRecord {
  return { type: 'hold', hold }
}

export function asNote(kind: NoteKind, requestId: string | undefined, body: object): LedgerRecord {
  return { type: 'note', note: { at: NOW, kind, requestId, body: JSON.stringify(body) } }
}

/** A note of no call, whose time is all that matters. */
export function noteAt(at: number): LedgerRecord {
  return { type: 'note', note: { at, kind: 'resumed', requestId: undefined, body: '{}' } }
}

/** All pages of a list. */
export async function readAll<Item>(
  read: (cursor: string | undefined) => Promise<Page<Item>>,
): Promise<readonly Item[]> {
  const items: Item[] = []
  let cursor: string | undefined
  do {
    // oxlint-disable-next-line no-await-in-loop -- a page names its successor
    const page = await read(cursor)
    items.push(...page.items)
    cursor = page.next
  } while (cursor !== undefined)
  return items
}

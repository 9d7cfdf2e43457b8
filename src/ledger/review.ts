// Calls whose process died before their end. What they cost is not known; what is known is what was held,
// what was asked of whom at which prices, and how far a long stream had come.
import type { AuditRow } from '../core/audit.ts'
import { toNanoUsd, ZERO_USD, type NanoUsd } from '../core/money.ts'
import type {
  AttemptNote,
  LedgerRecord,
  NoteKind,
  ProgressNote,
  ReviewNote,
  Terms,
  TermsEntry,
} from '../core/record.ts'
import type { Usage } from '../core/usage.ts'
import type { Operation } from './book.ts'
import type { LedgerPolicy } from './policy.ts'
import { costOf } from './cost/price.ts'

/** How a review is ended by hand or by the policy. */
export interface Resolution {
  /** What the key pays; capped at what is held. */
  readonly cost: NanoUsd
  readonly by: string
  readonly reason: string
}

/** What the audit says of a call whose end nobody saw. */
const LOST_STATUS = 500
const LOST_CODE = 'operation_unknown'

export function reviewNote(at: number, requestId: string): LedgerRecord {
  const body: ReviewNote = { reason: 'the process ended before the call did' }
  return note(at, 'review', requestId, body)
}

export function attemptNote(at: number, requestId: string, body: AttemptNote): LedgerRecord {
  return note(at, 'attempt', requestId, body)
}

export function progressNote(at: number, requestId: string, outputTokens: number): LedgerRecord {
  const body: ProgressNote = { outputTokens }
  return note(at, 'progress', requestId, body)
}

export function resumedNote(at: number, downMs: number): LedgerRecord {
  return note(at, 'resumed', undefined, { downMs: Math.round(downMs) })
}

function note(
  at: number,
  kind: NoteKind,
  requestId: string | undefined,
  body: object,
): LedgerRecord {
  return { type: 'note', note: { at, kind, requestId, body: JSON.stringify(body) } }
}

/** What the input and what was delivered cost at the prices that were fixed, and never more than was held. */
export function estimateOf(operation: Operation): NanoUsd {
  const { hold, outputTokens } = operation
  const terms = termsOf(operation)
  const asked = askedLast(operation, terms)
  if (asked === undefined) return ZERO_USD
  const share = unitShare(asked, terms)
  if (share !== undefined) return toNanoUsd(Math.ceil(hold.amount * share))
  const cost = costOf(usageOf(hold.inputTokens, outputTokens), asked.price)
  return toNanoUsd(Math.min(cost, hold.amount))
}

/**
 * What is not counted in tokens was fixed with the hold, which pays the dearest of all who might have been asked: a
 * cheaper one has its part of it. Undefined where tokens are all that is paid.
 */
function unitShare({ price }: TermsEntry, terms: Terms): number | undefined {
  const rate = unitRate(price)
  if (rate === 0) return undefined
  const all = terms.map((entry) => entry.price)
  // Where tokens are paid as well, what part of the hold was for which cannot be told.
  if (all.some(({ input, output }) => input + output > 0)) return 1
  return rate / Math.max(...all.map(unitRate))
}

/** No model has more than one of these. */
function unitRate({ search, character, second }: TermsEntry['price']): number {
  return (search ?? 0) + (character ?? 0) + (second ?? 0)
}

/** The audit row of an operation that leaves its review, by hand or by a rule. */
export function resolvedRow(
  operation: Operation,
  decision: Resolution | Exclude<LedgerPolicy['recovery'], 'keep'>,
): AuditRow {
  const { hold } = operation
  const asked = askedLast(operation, termsOf(operation))
  const model = asked?.model ?? hold.model
  const resolution = typeof decision === 'string' ? byRule(operation, decision) : decision
  const cost = toNanoUsd(Math.min(resolution.cost, hold.amount))
  return {
    at: hold.at,
    requestId: hold.requestId,
    accountId: hold.accountId,
    projectId: hold.projectId,
    keyId: hold.keyId,
    endpoint: hold.endpoint,
    model,
    supplier: asked?.supplier,
    region: asked?.region,
    inputTokens: hold.inputTokens,
    outputTokens: operation.outputTokens,
    cost,
    latencyMs: 0,
    firstTokenMs: undefined,
    status: LOST_STATUS,
    code: LOST_CODE,
    stream: hold.stream,
    attempts: countAttempts(operation),
    state: cost > 0 ? 'settled' : 'voided',
    evidence: 'crashed',
    held: hold.amount,
    hour: hold.hour,
    overrun: ZERO_USD,
    heldMs: undefined,
    count: 1,
    payer: hold.payer,
    route: undefined,
    details: {
      ...(model !== hold.model && { asked: hold.model }),
      resolved: { by: resolution.by, reason: resolution.reason },
    },
  }
}

function byRule(operation: Operation, rule: 'charge_estimate' | 'charge_hold'): Resolution {
  const by = `ledger.recovery: ${rule}`
  return rule === 'charge_hold'
    ? { cost: operation.hold.amount, by, reason: 'all that was held' }
    : { cost: estimateOf(operation), by, reason: 'the input and what is known to be delivered' }
}

function termsOf({ hold }: Operation): Terms {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its own print, from its own chain
  return JSON.parse(hold.terms) as Terms
}

/** Of those that may have been asked, the one that is known to have been asked last. */
function askedLast({ asked }: Operation, terms: Terms): TermsEntry | undefined {
  const last = asked.at(-1)
  return terms.find((entry) => last !== undefined && isMeant(last, entry)) ?? terms[0]
}

/** Whether the note is of this entry; one supplier may serve a model and what stands in for it. */
export function isMeant({ supplier, model }: AttemptNote, entry: TermsEntry): boolean {
  return supplier === entry.supplier && (model === undefined || model === entry.model)
}

/** That the first of the terms was asked first is not written down, but shows in who was asked after it. */
function countAttempts({ asked }: Operation): number {
  return asked.at(-1)?.number ?? 1 + asked.length
}

/** Whether the first of the terms is known to have been asked first. */
export function beganInOrder({ asked }: Operation): boolean {
  return asked.length > 0 && asked[0]!.number !== 1
}

function usageOf(inputTokens: number, outputTokens: number): Usage {
  return {
    inputTokens,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    cacheWriteLongTokens: 0,
    audioInputTokens: 0,
    outputTokens,
    reasoningTokens: 0,
    audioOutputTokens: 0,
  }
}

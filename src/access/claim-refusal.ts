// Why a request under an Idempotency-Key is neither carried out nor answered from before. Each names the
// request that the key belongs to, and what to do.
import type { AuditRow } from '../core/audit.ts'
import { GatewayError, type ProblemCode } from '../core/problem.ts'

/** What stands behind a claim: a call to a supplier, or a change by management. */
export type ClaimedWork = 'call' | 'change'

export function invalidKey(): GatewayError {
  return new GatewayError(
    'invalid_idempotency_key',
    'Send one Idempotency-Key of 1 to 255 printable ASCII characters without a comma, or none.',
    { param: 'Idempotency-Key' },
  )
}

export function inConflict(requestId: string): GatewayError {
  return refuse('idempotency_conflict', requestId)
}

export function inProgress(requestId: string): GatewayError {
  return new GatewayError('operation_in_progress', undefined, {
    retryAfter: 1,
    details: { request_id: requestId },
  })
}

/** `resolvesAt`: when the rule decides; undefined where only somebody can. */
export function inReview(requestId: string, resolvesAt: number | undefined): GatewayError {
  const time = resolvesAt === undefined ? null : new Date(resolvesAt).toISOString()
  const when =
    time === null
      ? 'Only the holder of the root key can resolve it.'
      : `It is resolved by ${time}, or earlier by the holder of the root key.`
  const text = `The gateway stopped during this operation, and its outcome is not known yet. ${when} Do not start it under another Idempotency-Key before.`
  return new GatewayError('operation_unknown', text, {
    retryable: false,
    details: {
      request_id: requestId,
      resolves_at: time,
      resolve: `the holder of the root key, by POST /v1/manage/reviews/${requestId}`,
    },
  })
}

/** What the books say of a call; undefined where they say no more of it. */
export type Ended = Pick<AuditRow, 'evidence' | 'state' | 'details' | 'projectId'>

export function callNotKept(requestId: string, ended: Ended | undefined): GatewayError {
  const token = ended?.projectId === undefined ? '' : ' or of a token that manages its project'
  const look = `The holder of the root key${token} sees what it cost: GET /v1/manage/calls/${requestId}.`
  const again = 'To run it again, knowing that it may cost again, use a new Idempotency-Key.'
  const text = `${whatBecame(ended)} ${look} ${again}`
  return refuse('payload_not_durable', requestId, text)
}

const RULE = 'ledger.recovery: '

/** Nobody says of a call whose end nobody saw that it was carried out. */
function whatBecame(ended: Ended | undefined): string {
  if (ended?.evidence !== 'crashed')
    return 'This call was carried out and is in the books, and its answer was not kept.'
  const isRule = ended.details?.resolved?.by.startsWith(RULE) === true
  const who = isRule ? "by the operator's rule" : 'by a decision of the holder of the root key'
  const charged = ended.state === 'settled' ? 'charged' : 'not charged'
  return `Nobody saw the end of this call: the gateway stopped while it was under way. It was ${charged} ${who}, and there is no answer.`
}

export function changeNotKept(requestId: string): GatewayError {
  return refuse(
    'payload_not_durable',
    requestId,
    'This change was made, and its answer was not kept. Read the object to see it as it is now; a new secret that got lost with the answer can be replaced by rotating the credential.',
  )
}

/** What waiting does not cure. */
function refuse(code: ProblemCode, requestId: string, text?: string): GatewayError {
  return new GatewayError(code, text, { retryable: false, details: { request_id: requestId } })
}

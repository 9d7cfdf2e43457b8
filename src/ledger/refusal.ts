// Why money refuses a call. Spent is spent: nothing but a higher limit or a new period helps. What running
// calls hold comes back, and is worth waiting for; what calls in review hold comes back when it is decided.
// Every answer can be checked against a read of the key.
import type { KeyRecord } from '../core/key.ts'
import { toJsonUsd, type NanoUsd } from '../core/money.ts'
import { GatewayError } from '../core/problem.ts'
import type { Purse } from './purse.ts'

/** The figures behind a refusal. */
export interface Shortage {
  readonly key: Pick<KeyRecord, 'id' | 'kind' | 'projectId' | 'teamId'>
  readonly purse: Purse
  readonly now: number
  /** What the call may cost at most; undefined where nothing bounds it. */
  readonly estimate: NanoUsd | undefined
}

export function budgetExceeded(shortage: Shortage): GatewayError {
  return new GatewayError(
    'budget_exceeded',
    "What is left of this key's budget cannot pay for this call. Have the limit raised, wait for the reset, or ask for less.",
    {
      details: { ...describe(shortage), raise: raiserOf(shortage.key) },
    },
  )
}

/** Who may change the credential, and where it is found. */
function raiserOf({ id, kind, projectId, teamId }: Shortage['key']): string {
  const tie = projectId === undefined ? teamId && 'team' : 'project'
  const token = tie === undefined ? '' : `, or of a token that manages its ${tie}`
  const path = kind === 'token' ? 'tokens' : 'keys'
  return `the holder of the root key${token}, by PATCH /v1/manage/${path}/${id}`
}

export function capacityExceeded(shortage: Shortage): GatewayError {
  return new GatewayError(
    'capacity_exceeded',
    'Calls of this key that are under way hold the money that this one needs. Try again in a moment, or run fewer at once.',
    { retryAfter: 1, details: describe(shortage) },
  )
}

/** Without running calls, and without those in review, it would fit. `leftMs`: until a rule ends the reviews. */
export function heldInReview(shortage: Shortage, leftMs: number | undefined): GatewayError {
  const { purse, now } = shortage
  const details = {
    ...describe(shortage),
    review_usd: toJsonUsd(purse.inReview(now)),
    resolves_at: leftMs === undefined ? null : new Date(now + leftMs).toISOString(),
    resolve: 'the holder of the root key, by POST /v1/manage/reviews/{request_id}',
  }
  const why = 'Calls of a process that ended are in review and hold the money that this one needs.'
  if (leftMs === undefined)
    return new GatewayError(
      'capacity_exceeded',
      `${why} Have them resolved by the holder of the root key, or have the limit raised.`,
      { retryable: false, details },
    )
  return new GatewayError(
    'capacity_exceeded',
    `${why} They are resolved by ${details.resolves_at}, or earlier by the holder of the root key.`,
    { retryAfter: leftMs / 1000, details },
  )
}

/** Its bytes do not fit, and its tokens may: nobody had the time to count them. */
export function notCounted(shortage: Shortage): GatewayError {
  return new GatewayError(
    'capacity_exceeded',
    "What is left of this key's budget may pay for this call, but its input could not be counted in time. Try again in a moment, or send less at once.",
    { retryAfter: 1, details: describe(shortage) },
  )
}

/** Nine million dollars of one key are under way at once. */
export function tooMuchHeld(shortage: Shortage): GatewayError {
  return new GatewayError(
    'capacity_exceeded',
    'Calls of this key that are under way hold as much as can be held for one key. Try again in a moment, or run fewer at once.',
    { retryAfter: 1, details: describe(shortage) },
  )
}

export function ledgerUnavailable(cause: unknown): GatewayError {
  return new GatewayError(
    'billing_unavailable',
    'The books cannot be written just now, so nothing was sent to a supplier. Try again in a moment.',
    { retryAfter: 1, cause },
  )
}

function describe({ purse, now, estimate }: Shortage): Readonly<Record<string, unknown>> {
  const resetsAt = purse.resetsAt(now)
  return {
    limit_usd: purse.limit === undefined ? null : toJsonUsd(purse.limit),
    used_usd: toJsonUsd(purse.used(now)),
    held_usd: toJsonUsd(purse.held(now)),
    estimate_usd: estimate === undefined ? null : toJsonUsd(estimate),
    resets_at: resetsAt === undefined ? null : new Date(resetsAt).toISOString(),
  }
}

// Why a call cannot be made by a sign-in. Nothing was sent, so that another one may be asked; each text says what to
// do, and none of them holds more of the sign-in than where it is.
import type { Identity } from '../../access/identities.ts'
import { GatewayError } from '../../core/problem.ts'
import { AttemptFailure } from '../../upstream/failure.ts'

/** What stands in the way whatever an issuer says; undefined: nothing. */
export function findTrouble(identity: Identity): AttemptFailure | undefined {
  const { endedAt, disabledAt } = identity.record
  if (endedAt !== undefined) return removed(identity)
  if (disabledAt !== undefined)
    return unsent(
      `The sign-in at ${placeOf(identity)} was disabled meanwhile. Have an administrator enable it with \`gateway native enable\`, or add another one.`,
    )
  return identity.tokens === undefined ? sealed(identity) : undefined
}

export function removed(identity: Identity): AttemptFailure {
  return unsent(`The sign-in at ${placeOf(identity)} was removed. ${adviceOf(identity)}`)
}

function sealed(identity: Identity): AttemptFailure {
  return unsent(
    `The tokens of the sign-in at ${placeOf(identity)} cannot be opened, because the key that they are sealed with is gone. Have the operator put it back. If it is lost: ${adviceOf(identity)}`,
  )
}

/** For good, unless somebody does something. */
export function renewedNoMore(identity: Identity): AttemptFailure {
  return unsent(
    `The sign-in at ${placeOf(identity)} has ended, and its issuer renews it no more. ${adviceOf(identity)}`,
  )
}

/** Waiting helps. */
export function unavailable(identity: Identity, waitMs: number): AttemptFailure {
  const text = `The sign-in at ${placeOf(identity)} cannot be renewed at the moment. Try again in a moment; if it stays like this, have the operator look at the log.`
  const problem = new GatewayError('native_token_error', text, {
    status: 503,
    retryAfter: waitMs / 1000,
  })
  return new AttemptFailure(problem, 'unsent')
}

function unsent(text: string): AttemptFailure {
  return new AttemptFailure(new GatewayError('native_token_error', text), 'unsent')
}

function placeOf({ record }: Identity): string {
  return record.supplierId
}

function adviceOf(identity: Identity): string {
  return `Have an administrator sign in again with \`gateway native login --supplier ${placeOf(identity)}\`.`
}

// What becomes of an Idempotency-Key when its call ends. Each of these is called in the very turn in which the end
// of the call is appended, and not after waiting for it: so both are in one commit.
import { retryHeaders } from '../core/envelope.ts'
import { findProblem, GatewayError } from '../core/problem.ts'
import type { Held } from './call.ts'

type Headers = Readonly<Record<string, string>>

/** A whole answer. */
export function keepAnswer({ claim }: Held, bytes: Uint8Array, headers: Headers): void {
  claim?.add(bytes)
  void claim?.keep({ status: 200, headers })
}

/** A stream that has come to its end, good or bad: its last words follow what was gathered. */
export function keepStream({ claim }: Held, last: readonly Uint8Array[], headers: Headers): void {
  for (const piece of last) claim?.add(piece)
  void claim?.keep({ status: 200, headers })
}

/**
 * A failure before anything was delivered, and what the caller is told of it. What provably did not run frees its
 * key: callers retry for that.
 */
export function keepFailure(call: Held, error: GatewayError): GatewayError {
  const { claim, dialect, id } = call
  if (claim === undefined) return error
  const final = judge(call, error)
  if (final === undefined) return error
  claim.add(new TextEncoder().encode(dialect.problem.encode(final, id)))
  const headers = { 'content-type': 'application/json', ...final.headers, ...retryHeaders(final) }
  void claim.keep({ status: final.status, headers })
  return final
}

/** The same, where the headers of a stream have left before. */
export function keepStreamFailure(call: Held, error: GatewayError, headers: Headers): GatewayError {
  const { claim, dialect, id } = call
  if (claim === undefined) return error
  const final = judge(call, error)
  if (final === undefined) return error
  keepStream(call, [new TextEncoder().encode(dialect.problem.frame(final, id))], headers)
  return final
}

/** Undefined where the key is free again. */
function judge(call: Held, error: GatewayError): GatewayError | undefined {
  if (!isUntouched(call)) return asFinal(error)
  call.claim?.drop()
  return undefined
}

/** The caller has left, and there is no answer to keep. */
export function leaveClaim(call: Held): void {
  if (isUntouched(call)) call.claim?.drop()
  else call.claim?.release()
}

/** Nobody was asked, or nobody was reached, or everybody has refused before any output. */
export function isUntouched({ tries }: Held): boolean {
  return tries.every(({ failure, seen }) => (failure?.evidence ?? seen ?? 'unknown') !== 'unknown')
}

/** Waiting cures it no more, for the first caller as for its twins: the same key leads to the same answer. */
function asFinal(error: GatewayError): GatewayError {
  const { code, status, param, origin, headers, details, cause } = error
  const text = `${whatHappened(error)} A supplier may have worked for this call, so it is not sent again under the same Idempotency-Key; use a new one to run it again knowingly.`
  return new GatewayError(code, text, {
    status,
    retryable: false,
    cause,
    ...(param !== undefined && { param }),
    ...(origin !== undefined && { origin }),
    ...(headers !== undefined && { headers }),
    ...(details !== undefined && { details }),
  })
}

const RETRY_ADVICE = /\b(?:try again|retry|repeat|wait)\b/i
/** The last sentence, where that is the advice. */
const LAST_ADVICE = / (?:Try again|Repeat)[^.]*\.$/

/** Without the advice to try again, which this key rules out; where that cannot be told apart, as the table has it. */
function whatHappened({ code, message }: GatewayError): string {
  const { action = '', explanation = '' } = findProblem(code) ?? {}
  const isAdvised = RETRY_ADVICE.test(action) && message.endsWith(` ${action}`)
  const told = isAdvised ? message.slice(0, -action.length - 1) : message.replace(LAST_ADVICE, '')
  return RETRY_ADVICE.test(told) ? explanation : told
}

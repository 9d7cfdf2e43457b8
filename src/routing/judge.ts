// What a failed attempt says about the way that it went. What is about the account closes it at once, and a pause that
// was asked for is kept. Failures of the line are counted, and so is whatever a single request can have upset: no
// caller closes for others what only its own request has upset.
import type { AttemptFailure } from '../upstream/failure.ts'
import { REST_MAX_MS, REST_MS, type Blow, type Side } from './circuit.ts'

export type Judgement =
  /** Our own doing, or the request's. */
  | { readonly kind: 'nothing' }
  /** One more in a row, of the model at this account. */
  | { readonly kind: 'failure'; readonly side: Side; readonly blow: Blow }
  /** All models of the account are left alone. */
  | { readonly kind: 'account'; readonly blow: Blow }
  /** It asked for a pause: busy, or out of order. */
  | { readonly kind: 'wait' | 'pause'; readonly waitMs: number; readonly why: string }
  | { readonly kind: 'busy'; readonly why: string }

const NOTHING: Judgement = { kind: 'nothing' }

/** Where nobody there has said a word. */
const UNHEARD: ReadonlySet<string> = new Set(['provider_timeout', 'upstream_unavailable'])
/** The supplier lets us do less, or has less, than the configuration says: somebody must look into it. */
const LASTING: ReadonlySet<number> = new Set([401, 403, 404])

/** Whoever asks for more than is read gets more than is read, from anybody. */
export function isRequested(code: string): boolean {
  return code === 'provider_response_too_large'
}

/** `isOpen` where only the caller vouches for the model's name. */
export function judge(failure: AttemptFailure, isOpen = false): Judgement {
  const { problem, evidence, isFinal } = failure
  const { code, origin, cause } = problem
  if (isFinal || isRequested(code)) return NOTHING
  if (isUntrusted(cause)) return closeAccount(`certificate: ${codeOf(cause)}`)
  const why = describe(failure)
  if (evidence === 'unsent' || (origin === undefined && UNHEARD.has(code)))
    return { kind: 'failure', side: 'local', blow: { why, restMs: REST_MS } }
  return judgeAnswer(failure, why, isOpen)
}

function judgeAnswer(
  { problem: { status }, isSpent, waitMs = 0 }: AttemptFailure,
  why: string,
  isOpen: boolean,
): Judgement {
  // A name may mean something that this account was never to pay for; those of the configuration are to be had.
  if ((status === 401 || isSpent) && !isOpen) return closeAccount(why)
  // A pause of no time at all is none.
  if (waitMs > 0) return { kind: status === 429 ? 'wait' : 'pause', waitMs, why }
  if (status === 429) return { kind: 'busy', why }
  const restMs = LASTING.has(status) ? REST_MAX_MS : REST_MS
  return { kind: 'failure', side: 'remote', blow: { why, restMs } }
}

function closeAccount(why: string): Judgement {
  return { kind: 'account', blow: { why, restMs: REST_MAX_MS } }
}

/** A supplier's own code may be anything; only what looks like a code is repeated. */
const CODE = /^[\w.:-]{1,48}$/

function describe({ problem, evidence }: AttemptFailure): string {
  const { status, code, wireCode, origin, cause } = problem
  if (origin !== undefined) return `${status} ${CODE.test(wireCode) ? wireCode : code}`
  const detail = codeOf(cause)
  if (detail === '') return code
  return evidence === 'unsent' ? `unreachable: ${detail}` : `${code}: ${detail}`
}

const UNTRUSTED = /CERT|SELF_SIGNED|UNABLE_TO|HOSTNAME/

/** A certificate does not mend itself, so nobody needs to fail five times of it. */
function isUntrusted(cause: unknown): boolean {
  return UNTRUSTED.test(codeOf(cause))
}

function codeOf(cause: unknown): string {
  if (typeof cause !== 'object' || cause === null || !('code' in cause)) return ''
  return typeof cause.code === 'string' && CODE.test(cause.code) ? cause.code : ''
}

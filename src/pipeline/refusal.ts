// What a supplier's refusal means for the caller. What the caller did wrong keeps the supplier's words;
// what is wrong between us and the supplier never looks like the caller's fault.
import type { Clock } from '../core/clock.ts'
import { advise, GatewayError, type ProblemOrigin } from '../core/problem.ts'
import { readBody } from '../upstream/body.ts'
import { asFailure } from '../upstream/client.ts'
import { AttemptFailure } from '../upstream/failure.ts'
import { CallerGone, type Lifeline } from '../upstream/lifeline.ts'
import type { Attempt } from '../suppliers/routes.ts'
import type { Held } from './call.ts'

const ERROR_BYTES_MAX = 65_536
const REASON_MS = 2_000
const NOTHING = new Uint8Array(0)
/** The beginning of a secret that is shorter than this is the same for all secrets of its kind. */
const TELLING_LENGTH = 6

/** Statuses that blame the request itself: every other supplier would say the same. */
const CALLERS = new Set([400, 405, 406, 409, 410, 411, 413, 414, 415, 416, 422, 424, 451])

export async function refusal(
  response: Response,
  attempt: Attempt,
  lifeline: Lifeline,
  clock: Clock,
): Promise<AttemptFailure> {
  const { status } = response
  if (status < 400) {
    await response.body?.cancel()
    const text = 'The supplier answered with a redirect, which is never followed.'
    return new AttemptFailure(advise('provider_redirect_forbidden', text), 'refused')
  }
  // The status has decided already; the words are worth a moment and no more.
  lifeline.expect('reason', REASON_MS)
  const reason = await readReason(response, lifeline)
  const problem = scrub(attempt.dialect.problem.decode(status, reason ?? NOTHING), attempt)
  if (CALLERS.has(status)) return new AttemptFailure(problem, 'refused', true)
  const retryAfter = readRetryAfter(response.headers.get('retry-after'), clock)
  return new AttemptFailure(
    new GatewayError(problem.code, problem.message, {
      status,
      ...(problem.origin === undefined ? {} : { origin: problem.origin }),
      ...(retryAfter === undefined ? {} : { retryAfter }),
    }),
    hasSaidWhy(problem, reason) ? 'refused' : 'unknown',
  )
}

/** What a proxy says when the supplier behind it took too long: that one may be at work all the same. */
const TOO_LATE = new Set([408, 504, 524])

/** A server that fails may have worked, unless it says all there is to say; and only its own words tell of its time. */
function hasSaidWhy({ status, origin }: GatewayError, reason: Uint8Array | undefined): boolean {
  if (TOO_LATE.has(status)) return origin?.raw !== undefined
  return status < 500 || (reason !== undefined && reason.length > 0)
}

/** Undefined where it is too long or too slow to read, or breaks off. */
async function readReason(response: Response, lifeline: Lifeline): Promise<Uint8Array | undefined> {
  try {
    return await readBody(response, ERROR_BYTES_MAX)
  } catch (thrown) {
    const failure = asFailure(thrown, lifeline.signal)
    if (failure instanceof CallerGone || failure.problem.code === 'pod_draining') throw failure
    return undefined
  }
}

/** Suppliers echo credentials in their errors; ours must not reach a caller or a log. */
export function scrub(problem: GatewayError, attempt: Attempt): GatewayError {
  const secret = attempt.supplier.credential?.reveal()
  const { origin } = problem
  if (secret === undefined || secret === '' || origin === undefined) return problem
  // Printed anew, because an escape in the supplier's own JSON would hide the secret from a look at it.
  const told = JSON.stringify({ ...origin, message: problem.message })
  const hidden = JSON.stringify(secret).slice(1, -1)
  if (!told.includes(hidden)) return problem
  const clean: unknown = JSON.parse(told.replaceAll(hidden, '[redacted]'))
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its own print, read back
  const { message, ...rest } = clean as ProblemOrigin & { readonly message: string }
  const { status, retryable } = problem
  const text = withoutCut(message, secret)
  return new GatewayError(problem.code, text, { status, retryable, origin: rest })
}

/** A long message is cut before it comes here, and the cut may go through the secret. */
function withoutCut(message: string, secret: string): string {
  for (let length = secret.length - 1; length >= TELLING_LENGTH; length--)
    if (message.endsWith(secret.slice(0, length))) return `${message.slice(0, -length)}[redacted]`
  return message
}

function readRetryAfter(header: string | null, clock: Clock): number | undefined {
  if (header === null) return undefined
  const seconds = Number(header)
  if (Number.isFinite(seconds)) return Math.max(0, seconds)
  const date = Date.parse(header)
  return Number.isNaN(date) ? undefined : Math.max(0, (date - clock.now()) / 1000)
}

/** Codes that say precisely what was wrong when every attempt failed in the same way. */
const TELLING = new Set([
  'provider_redirect_forbidden',
  'empty_stream',
  'empty_response',
  'non_json_provider_response',
  'upstream_invalid_response',
  'provider_response_too_large',
  'stream_error',
])

/** Every supplier was tried. One and the same precise failure is told as it is, else that all failed. */
export function exhausted(call: Held): GatewayError {
  const problems = call.tries.flatMap(({ failure }) =>
    failure === undefined ? [] : [failure.problem],
  )
  const first = problems[0]
  if (
    first !== undefined &&
    TELLING.has(first.code) &&
    problems.every(({ code }) => code === first.code)
  )
    return first
  const every = (status: number): boolean => problems.every((problem) => problem.status === status)
  if (every(404))
    return new GatewayError(
      'model_unavailable',
      'No supplier knows this model any more. Ask the operator to check its configuration.',
      { retryable: false },
    )
  if (problems.length > 0 && problems.every(isOurCredential))
    return new GatewayError(
      'all_providers_exhausted',
      'Every supplier of this model refuses the credential of this gateway. Ask the operator to check it.',
      { retryable: false, details: { attempts: call.tries.map(describe) } },
    )
  const waits = problems.map(({ retryAfter }) => retryAfter ?? 1)
  const status = every(429) ? 429 : every(504) ? 504 : 503
  // Suppliers elsewhere may be well, but the key's region is a wall for failover too.
  const isWalled = status === 503 && call.regions !== undefined
  const code = isWalled ? 'sovereign_route_unavailable' : 'all_providers_exhausted'
  return new GatewayError(code, describeAll(problems.length, status), {
    status,
    // Who waited in vain for minutes needs no more waiting; the others do.
    ...(status === 504 ? { retryable: true } : { retryAfter: Math.min(...waits, 60) }),
    details: { attempts: call.tries.map(describe) },
  })
}

function isOurCredential({ status }: GatewayError): boolean {
  return status === 401 || status === 402 || status === 403
}

function describeAll(count: number, status: 429 | 503 | 504): string {
  const who = count === 1 ? 'The one supplier of this model' : `Each of ${count} suppliers`
  const what = { 429: 'is out of capacity', 503: 'failed', 504: 'took too long' }[status]
  return `${who} ${what}. Try again in a moment.`
}

function describe({ attempt, failure }: Held['tries'][number]): Readonly<Record<string, unknown>> {
  return {
    supplier: attempt.supplier.id,
    code: failure?.problem.wireCode,
    status: failure?.problem.status,
  }
}

// What a supplier's refusal means for the caller. What the caller did wrong keeps the supplier's words;
// what is wrong between us and the supplier never looks like the caller's fault.
import type { Clock } from '../core/clock.ts'
import { advise, GatewayError, type ProblemOrigin } from '../core/problem.ts'
import { readWait } from '../suppliers/rate-headers.ts'
import { readBody } from '../upstream/body.ts'
import { asFailure } from '../upstream/client.ts'
import { AttemptFailure } from '../upstream/failure.ts'
import { CallerGone, type Lifeline } from '../upstream/lifeline.ts'
import { findAttempt } from '../routing/choose.ts'
import { FULL, LISTED, RESTING, WAITING } from '../routing/reason.ts'
import type { Attempt } from '../routing/routes.ts'
import type { Held } from './call.ts'
import { nativeFailure, noCapacity, waitsOf } from './native.ts'
import { isAsked, isHopeless } from './tour.ts'

const ERROR_BYTES_MAX = 65_536
const REASON_MS = 2_000
const NOTHING = new Uint8Array(0)
/** The beginning of a secret that is shorter than this is the same for all secrets of its kind. */
const TELLING_LENGTH = 6
/** A shorter part of a secret tells nobody the rest. */
const PART_LENGTH = 16

/** Statuses that blame the request itself: every other supplier would say the same. */
const CALLERS = new Set([400, 405, 406, 409, 410, 411, 413, 414, 415, 416, 422, 424, 451])

export async function refusal(
  response: Response,
  attempt: Attempt,
  lifeline: Lifeline,
  clock: Clock,
): Promise<AttemptFailure> {
  if (response.status < 400) {
    await response.body?.cancel()
    const text = 'The supplier answered with a redirect, which is never followed.'
    return new AttemptFailure(advise('provider_redirect_forbidden', text), 'refused')
  }
  // The status has decided already; the words are worth a moment and no more.
  lifeline.expect('reason', REASON_MS)
  const reason = await readReason(response, lifeline)
  const problem = scrub(attempt.dialect.problem.decode(response.status, reason ?? NOTHING), attempt)
  // As the language has it: an account without money is called a bad request by some.
  const { status } = problem
  if (CALLERS.has(status))
    return new AttemptFailure(nameSize(problem), 'refused', { isFinal: true })
  const waitMs = readWait(response, clock.now())
  return new AttemptFailure(
    new GatewayError(problem.code, problem.message, {
      status,
      ...(problem.origin === undefined ? {} : { origin: problem.origin }),
      ...(waitMs === undefined ? {} : { retryAfter: waitMs / 1000 }),
    }),
    hasSaidWhy(problem, reason) ? 'refused' : 'unknown',
    {
      waitMs,
      isSpent: attempt.dialect.problem.isSpent(problem),
    },
  )
}

/** A server in front of a supplier refuses what is too large without a code of its own. */
function nameSize(problem: GatewayError): GatewayError {
  if (problem.status !== 413 || problem.origin?.code !== undefined) return problem
  const { message, origin } = problem
  return new GatewayError('request_too_large', message, origin === undefined ? {} : { origin })
}

/** An error inside of a 200 is as much of a refusal as one with a status, unless something came before it. */
export function inBand(problem: GatewayError, attempt: Attempt): AttemptFailure {
  const isRefusal = problem.origin !== undefined && problem.origin.isLate !== true
  return new AttemptFailure(problem, isRefusal ? 'refused' : 'unknown', {
    isFinal: isRefusal && CALLERS.has(problem.status),
    isSpent: attempt.dialect.problem.isSpent(problem),
  })
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
  let clean = problem
  for (const secret of secretsOf(attempt)) clean = scrubOne(clean, secret)
  return clean
}

function secretsOf({ supplier: { credential, identity } }: Attempt): readonly string[] {
  return identity?.secrets() ?? (credential === undefined ? [] : [credential.reveal()])
}

function scrubOne(problem: GatewayError, secret: string): GatewayError {
  const { origin } = problem
  if (secret === '' || origin === undefined) return problem
  // Printed anew, because an escape in the supplier's own JSON would hide the secret from a look at it.
  const told = JSON.stringify({ ...origin, message: problem.message })
  const hidden = JSON.stringify(secret).slice(1, -1)
  const kept = withoutParts(told, hidden)
  if (kept === told) return problem
  const clean: unknown = JSON.parse(kept)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its own print, read back
  const { message, ...rest } = clean as ProblemOrigin & { readonly message: string }
  const { status, retryable } = problem
  const text = withoutCut(message, secret)
  return new GatewayError(problem.code, text, { status, retryable, origin: rest })
}

/** Without the secret, and without what is left of one that the supplier has cut itself: so much that little is missing. */
function withoutParts(text: string, secret: string): string {
  const least = secret.slice(0, Math.max(PART_LENGTH, Math.ceil(secret.length / 2)))
  let rest = ''
  let from = 0
  for (let at = text.indexOf(least); at >= 0; at = text.indexOf(least, from)) {
    let length = least.length
    while (length < secret.length && text[at + length] === secret[length]) length++
    rest += `${text.slice(from, at)}[redacted]`
    from = at + length
  }
  return rest + text.slice(from)
}

/** A long message is cut before it comes here, and the cut may go through the secret. */
function withoutCut(message: string, secret: string): string {
  for (let length = secret.length - 1; length >= TELLING_LENGTH; length--)
    if (message.endsWith(secret.slice(0, length))) return `${message.slice(0, -length)}[redacted]`
  return message
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

function findCommon(problems: readonly GatewayError[]): GatewayError | undefined {
  const first = problems[0]
  if (first === undefined || !TELLING.has(first.code)) return undefined
  return problems.every(({ code }) => code === first.code) ? first : undefined
}

/** Nobody is left to ask. One and the same precise failure is told as it is, else that all failed. */
export function exhausted(call: Held, now: number): GatewayError {
  const returns = returnsOf(call, now)
  const asked = call.tries.filter(isAsked)
  if (asked.length === 0) return nobodyIsFree(call, returns, now)
  const problems = asked.flatMap(({ failure }) => (failure === undefined ? [] : [failure.problem]))
  const told =
    findCommon(problems) ??
    nativeFailure(call, problems, returns) ??
    (returns.length > 0 ? undefined : findLasting(call, problems))
  if (told !== undefined) return told
  // Where somebody comes back, that is what is waited for, and not what time does not mend.
  const own = problems.flatMap((problem) =>
    returns.length > 0 && isLasting(problem) ? [] : (problem.retryAfter ?? 1),
  )
  const every = (status: number): boolean => problems.every((problem) => problem.status === status)
  const why = every(429) ? 429 : every(504) ? 504 : 503
  // Suppliers elsewhere may be well, but the region of the call is a wall for failover too.
  const isWalled = why !== 504 && call.regions !== undefined
  const code = isWalled ? 'sovereign_route_unavailable' : 'all_providers_exhausted'
  return new GatewayError(code, describeAll(call, why), {
    status: isWalled ? 503 : why,
    // Who waited in vain for minutes needs no more waiting; the others do.
    ...(why === 504 ? { retryable: true } : { retryAfter: Math.min(...own, ...returns) }),
    details: detailsOf(call),
  })
}

/** Since the list was made all of them have asked for a pause, or have no room any more. */
function nobodyIsFree(call: Held, waits: readonly number[], now: number): GatewayError {
  const isFull = call.route.candidates.some(({ lane }) => lane.standing(now) === FULL)
  const isNative = call.dialect.isNative === true && (isFull || call.regions === undefined)
  return isNative ? noCapacity(call, waits) : everyoneWaits(call.regions, waits)
}

/** What all said and waiting does not cure; undefined where they said anything else. */
function findLasting(call: Held, problems: readonly GatewayError[]): GatewayError | undefined {
  if (problems.every(isGone))
    return new GatewayError(
      'model_unavailable',
      'No supplier that was asked knows this model any more. Ask the operator to check its configuration.',
      { retryable: false },
    )
  if (!problems.every(isOurCredential)) return undefined
  return new GatewayError(
    'all_providers_exhausted',
    'Every supplier that was asked refuses the credential of this gateway. Ask the operator to check it.',
    { retryable: false, details: detailsOf(call) },
  )
}

function isLasting(problem: GatewayError): boolean {
  return isGone(problem) || isOurCredential(problem)
}

function isGone({ status }: GatewayError): boolean {
  return status === 404
}

function isOurCredential({ status }: GatewayError): boolean {
  return status === 401 || status === 402 || status === 403
}

/** Nobody could be told the request: somebody who can be may come back, else it is the fault of the request. */
export function unsayable(call: Held, problem: GatewayError, now: number): GatewayError {
  const pauses = call.route.candidates.flatMap((candidate, index) => {
    const waits = mayCome(call, index) && candidate.lane.standing(now) === WAITING
    return waits ? [candidate.lane.remaining(now) / 1000] : []
  })
  return pauses.length > 0 ? everyoneWaits(call.regions, pauses) : problem
}

/** Neither the request stands in its way nor the language that it would be asked in. */
function mayCome({ route, verdict, dialect, tries }: Held, index: number): boolean {
  const reason = verdict.reasons[index]!
  if (reason !== LISTED && reason < RESTING) return false
  const next = findAttempt(route.candidates[index]!, { dialect, converts: true })
  return tries.every((tried) => isAsked(tried) || tried.attempt.dialect.id !== next?.dialect.id)
}

/** In seconds: when those can be asked who have asked for a pause, or were not asked and might have answered. */
function returnsOf(call: Held, now: number): readonly number[] {
  const { route, tries } = call
  return route.candidates.flatMap((candidate, index) => {
    if (!mayCome(call, index)) return []
    const wasTried = tries.some(({ attempt }) => attempt.candidate === candidate)
    if (!wasTried && tries.some((tried) => isHopeless(tried, candidate))) return []
    const { lane } = candidate
    const waits = waitsOf(lane.standing(now), lane, now)
    if (waits.length > 0) return waits
    return wasTried ? [] : [1]
  })
}

/** Nobody is asked who has asked for a pause; the shortest of them tells when to come back. */
export function everyoneWaits(regions: Held['regions'], waits: readonly number[]): GatewayError {
  const code = regions === undefined ? 'all_providers_exhausted' : 'sovereign_route_unavailable'
  const who = waits.length === 1 ? 'The one supplier' : 'Every supplier'
  const where = regions === undefined ? '' : ` in ${regions.join(', ')}`
  return new GatewayError(
    code,
    `${who} that may be asked${where} has asked for a pause; nothing was sent. Try again in a moment.`,
    {
      status: regions === undefined ? 429 : 503,
      retryAfter: Math.min(...waits),
      ...(regions !== undefined && { details: { regions } }),
    },
  )
}

/** Others may serve the model, too: they were not asked. */
function describeAll({ tries, regions }: Held, status: 429 | 503 | 504): string {
  const asked = tries.filter(isAsked)
  const count = new Set(asked.map(({ attempt }) => attempt.supplier.id)).size
  const where = regions === undefined ? '' : ` in ${regions.join(', ')}`
  const who =
    count === 1
      ? `The supplier that was asked${where}`
      : `Each of ${count} suppliers that were asked${where}`
  const what = { 429: 'is out of capacity', 503: 'failed', 504: 'took too long' }[status]
  return `${who} ${what}. Try again in a moment.`
}

function detailsOf({ tries, regions }: Held): Readonly<Record<string, unknown>> {
  return {
    ...(regions !== undefined && { regions }),
    attempts: tries.filter(isAsked).map(describe),
  }
}

function describe({ attempt, failure }: Held['tries'][number]): Readonly<Record<string, unknown>> {
  const { supplier, credential, rank, modelId } = attempt.candidate
  return {
    supplier: supplier.id,
    ...(supplier.identity !== undefined && { identity: supplier.identity.id }),
    ...(credential !== undefined && { credential }),
    ...(rank > 0 && { model: modelId }),
    code: failure?.problem.wireCode,
    status: failure?.problem.status,
  }
}

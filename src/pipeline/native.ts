// What is particular to calls by the sign-ins of an account: which routes there are, what a call is made for, and why
// none of the sign-ins can be used. All else is as with every other call.
import type { Directory } from '../access/directory.ts'
import { GatewayError } from '../core/problem.ts'
import type { CallPlace } from '../routing/choose.ts'
import { FULL, KEPT_ELSEWHERE, OUT_OF_SCOPE, WAITING } from '../routing/reason.ts'
import type { Route, Verdict } from '../routing/routes.ts'
import type { Admitted, Held, Plant, Received } from './call.ts'

/** What a call is made for; throws where its organisation does not call in this way. */
export function placeOf(call: Received, directory: Directory): CallPlace {
  const { key, projectId } = call
  const find = <Type extends 'project' | 'organisation'>(type: Type, id: string | undefined) =>
    id === undefined ? undefined : directory.find(type, key.accountId, id)
  const organisationId = find('project', projectId)?.organisationId
  if (find('organisation', organisationId)?.usesNative === false)
    throw new GatewayError('native_org_lane_disabled')
  return { projectId, organisationId }
}

/** The route of a model by the account's own sign-ins. */
export function findNative(call: Received, model: string, plant: Plant): Route | undefined {
  const found = plant.natives.of(call.key.accountId).find(model)
  if (found !== undefined) return found
  const [supplier] = plant.natives.serving(model)
  if (supplier !== undefined) throw nobodySignedIn(supplier.id)
  if (plant.routes.find(model) !== undefined) throw notNative()
  return undefined
}

function nobodySignedIn(supplier: string): GatewayError {
  return new GatewayError(
    'native_token_error',
    `No sign-in at ${supplier} can be used for this model: there is none, or each is disabled, renewed no more, sealed with another key or made for another host. Have an administrator look at \`gateway native list\`, and sign in with \`gateway native login --supplier ${supplier}\`.`,
    { param: 'model' },
  )
}

function notNative(): GatewayError {
  return new GatewayError(
    'capability_unsupported',
    'This model is not native-capable. Ask for it at /v1/responses, or for another model here; GET /v1/models lists them.',
    { param: 'model' },
  )
}

/** For who asks elsewhere for a model that only sign-ins are served. */
export function onlyNative(): GatewayError {
  return new GatewayError(
    'capability_unsupported',
    'This model is served to native agents alone. Ask for it at /v1/native/responses, or for another model here.',
    { param: 'model' },
  )
}

/** Why no sign-in is on the list; undefined where what stands in the way is not about sign-ins. */
export function nobodyFree(
  call: Admitted,
  { reasons }: Verdict,
  plant: Plant,
): GatewayError | undefined {
  const { candidates } = call.route
  const now = plant.clock.elapsed()
  const waits = candidates.flatMap(({ lane }, index) => waitsOf(reasons[index]!, lane, now))
  const isFull = reasons.includes(FULL)
  // A region that is down is told as such.
  if (isFull || (waits.length > 0 && call.regions === undefined)) return noCapacity(call, waits)
  if (reasons.includes(KEPT_ELSEWHERE)) return keptElsewhere()
  return reasons.every((reason) => reason === OUT_OF_SCOPE) ? outOfScope(call) : undefined
}

/** In seconds: when a sign-in has room again; a full one may at any moment. */
export function waitsOf(
  reason: number,
  lane: { remaining(now: number): number },
  now: number,
): readonly number[] {
  if (reason === FULL) return [1]
  return reason === WAITING ? [lane.remaining(now) / 1000] : []
}

export function noCapacity({ facts }: Admitted, waits: readonly number[]): GatewayError {
  const isBound = facts.resumes === true
  const text = isBound
    ? 'The sign-in that keeps what this call goes on from has no room for another call. Try again in a moment; nobody else can take it.'
    : 'Every sign-in that may be used for this call is as busy as it may be, or has been asked to pause. Try again in a moment.'
  return new GatewayError('identity_execution_capacity', text, {
    retryAfter: Math.min(...waits),
    details: { reallocate: !isBound },
  })
}

function keptElsewhere(): GatewayError {
  return new GatewayError(
    'native_token_error',
    'The sign-in that keeps what this call goes on from cannot be used any more. Begin a new conversation, or send the whole of it in `input`.',
  )
}

function outOfScope({ route, place }: Admitted): GatewayError {
  const needsOrganisation = route.candidates.some(
    ({ supplier }) => supplier.identity?.organisationId !== undefined,
  )
  if (place?.organisationId === undefined && needsOrganisation)
    return new GatewayError(
      'native_org_context_required',
      'Each sign-in for this model is for the projects of an organisation, and this call is for none of these. Use a key of such a project, or name one with X-Svc-Project.',
    )
  return new GatewayError(
    'native_token_error',
    'No sign-in for this model may be used for the project of this call. Have an administrator add one, or widen the scope of one with `gateway native update`.',
  )
}

/** Every sign-in that was asked has failed; undefined where it is told as with every other call, and of these. */
export function nativeFailure(
  call: Held,
  problems: readonly GatewayError[],
  waits: readonly number[],
): GatewayError | undefined {
  if (call.dialect.isNative !== true) return undefined
  const others = problems.filter((problem) => !isAboutToken(problem))
  // Somebody with a token comes back, and is what is waited for.
  if (others.length === 0) return waits.length > 0 ? noCapacity(call, waits) : noToken(problems)
  // Who has no token is of no help, whatever becomes of the others.
  if (others.every(({ status }) => status === 429)) {
    const own = others.map(({ retryAfter = 1 }) => retryAfter)
    return noCapacity(call, [...own, ...waits])
  }
  // A region that is down is told as such, and so is what took too long, and a model that nobody has any more.
  const isCommon = (status: number): boolean => others.every((problem) => problem.status === status)
  if (call.regions !== undefined || isCommon(504) || isCommon(404)) return undefined
  return new GatewayError(
    'native_backend_error',
    'The native supplier failed for every sign-in that was asked. Try again in a moment.',
    { retryAfter: 1 },
  )
}

/** What the supplier does not let a sign-in do, it will not in a moment either. */
const OF_A_SIGN_IN = new Set([401, 402, 403])

function isAboutToken({ code, status }: GatewayError): boolean {
  return code === 'native_token_error' || OF_A_SIGN_IN.has(status)
}

/** Waiting helps where somebody could only not be asked for a token. */
function noToken(problems: readonly GatewayError[]): GatewayError {
  const passing = problems.find(({ status }) => status === 503)
  if (passing !== undefined) return passing
  const told = problems.find(({ code }) => code === 'native_token_error')
  return (
    told ??
    new GatewayError(
      'native_token_error',
      'The native supplier refuses every sign-in that may be used. Have an administrator sign in again with `gateway native login`, or look what their plans include.',
    )
  )
}

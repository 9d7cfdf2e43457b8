// Decides who may answer and in which order. The list is made once, before any money is held, and
// nothing that comes later can leave it.
import { GatewayError } from '../core/problem.ts'
import { choose } from '../routing/choose.ts'
import {
  LISTED,
  NO_AUDIO,
  NO_IMAGES,
  NO_TOOLS,
  OTHER_ENDPOINT,
  OUTSIDE,
  RESTING,
  WAITING,
} from '../routing/reason.ts'
import type { Attempt, Route, Verdict } from '../routing/routes.ts'
import { findSession } from '../routing/session-id.ts'
import type { Session } from '../routing/sessions.ts'
import type { Admitted, Planned, Plant } from './call.ts'
import { isRelayed, refuseLosses, Request, type Sending } from './request.ts'
import { mergeLosses } from './losses.ts'
import { nobodyFree } from './native.ts'
import { everyoneWaits } from './refusal.ts'

export function plan(call: Admitted, plant: Plant): Planned {
  const session = findOwnSession(call, plant)
  const { verdict, request } = list(call, plant, session)
  call.asked.verdict = verdict
  call.asked.regions = call.regions
  if (verdict.attempts.length === 0) throw nobody(call, verdict, plant)
  for (const { use } of verdict.attempts) use.at = call.at
  if (call.route.aliasUse !== undefined) call.route.aliasUse.at = call.at
  return { ...call, verdict, attempts: verdict.attempts, session, request }
}

/** A list, and the request for those on it who speak another language than the caller. */
export type Listed = Pick<Planned, 'verdict' | 'request'>

/**
 * Changes nothing, so that anybody may ask what would be. A request is decoded before any money is held where all on
 * the list need it so; else when the turn of the first comes that does. It is put into words before that only where
 * this decides who is asked.
 */
export function list(call: Admitted, plant: Plant, session: Session | undefined): Listed {
  const verdict = judge(call, plant, session)
  if (isAllRelayed(call, verdict)) return { verdict, request: undefined }
  const others = verdict.attempts.filter((attempt) => !isRelayed(call, attempt))
  const request = new Request(call.dialect, call.body)
  const isNobodys = others.length === verdict.attempts.length
  if (!plant.refusesLosses && !(isNobodys && hasRelayBeside(call, verdict))) {
    if (isNobodys) request.decode()
    return { verdict, request }
  }
  const obstacles = findObstacles(request, others, call, plant)
  if (obstacles.size < verdict.attempts.length)
    return { verdict: without(verdict, obstacles, call.route), request }
  const relays = judge(call, plant, session, RELAYS_ONLY)
  // Whoever is only waited for could be told: the fault is not the caller's.
  const isHopeful = relays.attempts.length > 0 || relays.reasons.includes(WAITING)
  if (!isHopeful) throw obstacles.get(others[0]!)!
  return { verdict: relays, request: undefined }
}

/** Most lists are, so that this is asked of every call and makes nothing. */
function isAllRelayed(call: Admitted, { attempts }: Verdict): boolean {
  for (const attempt of attempts) if (!isRelayed(call, attempt)) return false
  return true
}

/** Somebody speaks the caller's language who is not on the list for no more than a pause, or for want of places. */
function hasRelayBeside(call: Admitted, { reasons }: Verdict): boolean {
  return call.route.candidates.some(
    ({ attempts }, index) =>
      reasons[index]! >= RESTING && attempts.some((attempt) => isRelayed(call, attempt)),
  )
}

type Obstacles = ReadonlyMap<Attempt, GatewayError>

/** Of each that cannot be told the request, or not all of it where nothing may be lost: why. */
function findObstacles(
  request: Request,
  attempts: readonly Attempt[],
  { path }: Admitted,
  { refusesLosses }: Plant,
): Obstacles {
  const obstacles = new Map<Attempt, GatewayError>()
  for (const attempt of attempts)
    try {
      const losses = lossesOf(request, [attempt])
      if (refusesLosses && losses.length > 0) obstacles.set(attempt, refuseLosses(losses, path))
    } catch (thrown) {
      // A fault of our own is nothing that another supplier could make up for.
      if (!(thrown instanceof GatewayError)) throw thrown
      obstacles.set(attempt, thrown)
    }
  return obstacles
}

/** The list without those who cannot be told, as if they did not speak the language. */
function without(verdict: Verdict, obstacles: Obstacles, { candidates }: Route): Verdict {
  if (obstacles.size === 0) return verdict
  const attempts = verdict.attempts.filter((attempt) => !obstacles.has(attempt))
  const left = new Set([...obstacles.keys()].map(({ candidate }) => candidate))
  const reasons = verdict.reasons.map((reason, index) =>
    left.has(candidates[index]!) ? OTHER_ENDPOINT : reason,
  )
  return {
    attempts,
    reasons,
    isPinned: verdict.isPinned && attempts[0] === verdict.attempts[0],
    // Whoever rests stands behind all others.
    isLastResort: reasons[candidates.indexOf(attempts[0]!.candidate)] !== LISTED,
  }
}

const RELAYS_ONLY = false

/** With a limit of any size: what gets lost for too low a one is found out once it is known. */
const SUPPOSED: Sending = { maxTokens: undefined, maxTokensDefault: 32_768, dropsThoughts: false }

/** All that any of them would not be told. */
export function lossesOf(request: Request, attempts: readonly Attempt[]): readonly string[] {
  const losses = attempts.map((attempt) => request.encode(attempt, SUPPOSED).losses)
  return losses.reduce(mergeLosses, [])
}

/** Changes nothing, so that anybody may ask what would be. */
export function judge(
  call: Admitted,
  plant: Plant,
  session: Session | undefined,
  converts = true,
): Verdict {
  const { route, facts, dialect, key, regions, place, at } = call
  const { clock, limits } = plant
  return choose(
    {
      route,
      dialect,
      converts,
      regions,
      allowedModels: key.allowedModels,
      load: facts.load,
      usesTools: facts.usesTools,
      place,
      // Only native languages say so: with others nobody can tell whether what is kept is of one account or of all.
      keptBy: facts.resumes === true ? session?.pin : undefined,
      stream: facts.stream,
      attemptsMax: limits.attemptsMax,
      pin: session?.pin,
      isPinSlow: session?.isSlow === true,
    },
    { at, now: clock.elapsed(), draw: plant.draw() },
  )
}

/** With one way to go there is nothing to keep, and only who names a session is told of it. */
export function findOwnSession(call: Admitted, plant: Plant): Session | undefined {
  const { route, key, dialect, facts, headers, body, sessionHeader } = call
  const { sessions, clock } = plant
  const { max, infers } = sessions.policy
  if (max === 0) return undefined
  const unnamed = infers ? 'inferred' : 'sent'
  const clues = { header: sessionHeader, facts, headers, body }
  // Of a model that was chosen there are others to go to, however many serve it; and by the next turn of a
  // conversation that its sign-in keeps, others may be signed in.
  const mayMove = route.isAuto || dialect.isNative === true
  const hasChoice = mayMove || route.candidates.length > 1
  const id = findSession(clues, hasChoice ? unnamed : 'named')
  if (id === undefined) return undefined
  return sessions.open(id, { accountId: key.accountId, route }, clock.elapsed())
}

/** Why the list is empty: by who comes back, else by what is in the way of the one who came closest. */
export function nobody(call: Admitted, verdict: Verdict, plant: Plant): GatewayError {
  const { reasons } = verdict
  const busy = call.dialect.isNative === true ? nobodyFree(call, verdict, plant) : undefined
  if (busy !== undefined) return busy
  const pauses = pausesOf(call.route, reasons, plant)
  if (pauses.length > 0) return everyoneWaits(call.regions, pauses)
  // Of the model that was asked for: what stands in for it is nothing that the caller knows of.
  const own = reasons.filter((_, index) => call.route.candidates[index]!.rank === 0)
  const closest = Math.max(...own)
  if (closest === NO_IMAGES) return lacking('capability_unsupported', 'images', call)
  if (closest === NO_AUDIO) return lacking('capability_unsupported', 'audio', call)
  if (closest === NO_TOOLS) return lacking('model_does_not_support_tools', 'tools', call)
  return closest === OUTSIDE ? noCompliantRoute(call) : wrongEndpoint(call)
}

/** In seconds: how long each that has asked for a pause is left in peace. */
function pausesOf(
  { candidates }: Route,
  reasons: readonly number[],
  { clock }: Plant,
): readonly number[] {
  const now = clock.elapsed()
  return candidates.flatMap(({ lane }, index) =>
    reasons[index] === WAITING ? [lane.remaining(now) / 1000] : [],
  )
}

function lacking(
  code: 'capability_unsupported' | 'model_does_not_support_tools',
  what: 'images' | 'audio' | 'tools',
  { route }: Admitted,
): GatewayError {
  const can = route.candidates[0]?.route.capabilities?.join(', ') ?? ''
  return new GatewayError(
    code,
    `This model is known to do without ${what}${can === '' ? '' : `; beside text it has ${can}`}. Ask for another model, or have the operator list \`${what}\` under its capabilities.`,
    { param: 'model' },
  )
}

function noCompliantRoute({ regions = [], route }: Admitted): GatewayError {
  const own = route.candidates.filter(({ rank }) => rank === 0)
  const places = [...new Set(own.map(({ supplier }) => supplier.region))].join(', ')
  return new GatewayError(
    'sovereign_route_unavailable',
    `No configured supplier serves this model in ${regions.join(', ')}; nothing was sent. It is served in ${places}: ask for one of these, if your key allows it, or have the operator add a supplier.`,
    { status: 403, param: 'region', details: { regions } },
  )
}

function wrongEndpoint({ path }: Admitted): GatewayError {
  return new GatewayError(
    'capability_unsupported',
    `No supplier of this model speaks the language of ${path}. Ask for it at another endpoint, or for another model; GET /v1/models lists them.`,
    { param: 'model' },
  )
}

// Decides who may answer a call and in which order. It changes nothing and asks nobody: what it is told and how
// the lanes stand at this moment make the list, and the same list is the same object.
import type { Load } from '../core/load.ts'
import type { Usage } from '../core/usage.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { textBytes } from '../ledger/cost/bound.ts'
import { estimateUsage, TOKEN_BYTES_MOST } from '../ledger/cost/estimate.ts'
import { costOf, priceAt } from '../ledger/cost/price.ts'
import {
  FULL,
  KEPT_ELSEWHERE,
  LISTED,
  NO_AUDIO,
  NO_IMAGES,
  NO_TOOLS,
  NOT_ALLOWED,
  OTHER_ENDPOINT,
  OUT_OF_SCOPE,
  OUTSIDE,
  PROBING,
  RESTING,
  SPARE,
  TOO_LONG,
  WAITING,
} from './reason.ts'
import { lacks, type Attempt, type Candidate, type Route, type Verdict } from './routes.ts'

/** What a call needs of whoever answers it. */
export interface Need {
  /** The language that the caller speaks. */
  readonly dialect: Dialect
  /** Whoever speaks another language may be asked in that. */
  readonly converts: boolean
  /** Regions that the call must stay in; undefined when any will do. */
  readonly regions: readonly string[] | undefined
  /** The key's list; undefined where it may use all models. */
  readonly allowedModels: readonly string[] | undefined
  readonly load: Load
  readonly usesTools: boolean
  /** What it is made for; read only where sign-ins are asked. */
  readonly place?: CallPlace | undefined
  /** The one lane that has what the call goes on from; undefined where any will do. */
  readonly keptBy?: string | undefined
}

/** What a call is made for. */
export interface CallPlace {
  readonly projectId: string | undefined
  readonly organisationId: string | undefined
}

/** What a call asks for, as far as it matters who can do it. */
export interface RouteAsk extends Need {
  readonly route: Route
  readonly stream: boolean
  readonly attemptsMax: number
  /** The lane that the call's session is pinned to. */
  readonly pin: string | undefined
  /** The pin has become slow: whoever else there is goes first. */
  readonly isPinSlow: boolean
}

export interface Moment {
  /** Wall time, for prices. */
  readonly at: number
  /** Time that never jumps, for lanes. */
  readonly now: number
  /** From 0 inclusive to 1 exclusive: where a choice is left to chance. */
  readonly draw: number
}

// Choosing never awaits, so one set of notes serves all calls; it grows with the longest route. The key is all that
// tells one list of a route from another: the language and whether it may be another, whether the pin is first, each reason, then the order. Notes are
// about places on the route, whose candidates stand by rank and by supplier.
const HEAD = 2
let key = new Uint16Array(HEAD)
let order = new Int32Array(0)
/** Of each that is on the list: its rank, and beyond all ranks where it rests. */
let tiers = new Int32Array(0)
let scores = new Float64Array(0)
const languages = new Map<string, number>()

const RESTS = 1_000_000

export function choose(ask: RouteAsk, moment: Moment): Verdict {
  const { route } = ask
  const count = route.candidates.length
  if (count > order.length) makeRoom(count)
  judgeAll(ask, moment, count)
  let listed = collect(route, count)
  if (listed === 0) {
    relax(route, moment, count)
    listed = collect(route, count)
  }
  if (listed > 1) arrange(ask, moment, listed)
  const isLastResort = listed > 0 && isResting(order[0]!)
  const isPinned = movePin(ask, listed)
  const kept = cut(ask, listed)
  key[0] = 2 * languageOf(ask.dialect.id) + (ask.converts ? 1 : 0)
  key[1] = isPinned ? 1 : 0
  const length = HEAD + count + kept
  for (let index = 0; index < kept; index++) key[HEAD + count + index] = order[index]!
  return route.verdicts.find(key, length) ?? write(ask, { count, kept, isPinned, isLastResort })
}

function makeRoom(count: number): void {
  key = new Uint16Array(HEAD + 2 * count)
  order = new Int32Array(count)
  tiers = new Int32Array(count)
  scores = new Float64Array(count)
}

function languageOf(dialect: string): number {
  const known = languages.get(dialect)
  if (known !== undefined) return known
  languages.set(dialect, languages.size)
  return languages.size - 1
}

/** Notes the reason of each. */
function judgeAll(ask: RouteAsk, { now }: Moment, count: number): void {
  const { candidates } = ask.route
  for (let index = 0; index < count; index++) {
    const candidate = candidates[index]!
    let reason = findBar(ask, candidate)
    if (reason === LISTED) reason = candidate.lane.standing(now)
    key[HEAD + index] = reason
  }
}

/** What no waiting changes. */
export function findBar(ask: Need, candidate: Candidate): number {
  const { allowedModels, regions } = ask
  if (candidate.rank > 0 && allowedModels?.includes(candidate.modelId) === false) return NOT_ALLOWED
  if (!isInScope(candidate, ask.place)) return OUT_OF_SCOPE
  if (ask.keptBy !== undefined && candidate.lane.id !== ask.keptBy) return KEPT_ELSEWHERE
  if (regions !== undefined && !isInside(regions, candidate)) return OUTSIDE
  if (findAttempt(candidate, ask) === undefined) return OTHER_ENDPOINT
  return findLack(ask, candidate)
}

/** A sign-in is used for what it was given for and nothing else; credentials of the configuration are for all. */
function isInScope({ supplier: { identity } }: Candidate, place: CallPlace | undefined): boolean {
  if (identity === undefined) return true
  const { organisationId, projectIds } = identity
  if (organisationId !== undefined && organisationId !== place?.organisationId) return false
  return projectIds === undefined || projectIds.includes(place?.projectId ?? '')
}

function findLack({ load, usesTools, dialect }: Need, candidate: Candidate): number {
  // What others can do is their task.
  if (dialect.task !== undefined) return LISTED
  if (load.images > 0 && lacks(candidate, 'images')) return NO_IMAGES
  if ((load.asksAudio || load.audioBytes > 0) && lacks(candidate, 'audio')) return NO_AUDIO
  if (usesTools && lacks(candidate, 'tools')) return NO_TOOLS
  return isTooLong(load, candidate) ? TOO_LONG : LISTED
}

/** A region is a wall: a supplier that promises no place is inside of none. */
function isInside(regions: readonly string[], candidate: Candidate): boolean {
  for (const region of regions) if (candidate.regions.has(region)) return true
  return false
}

/** Only what is certain: text that is escaped in its JSON has as many bytes a token as no plain text has. */
function isTooLong(load: Load, { route }: Candidate): boolean {
  const most = (route.limits?.contextWindow ?? Infinity) * TOKEN_BYTES_MOST
  return load.bytes > most && textBytes(load) > most
}

/**
 * Where nobody else is left, the supplier itself is to say that a request is too long; but not while somebody who can
 * read it has only asked for a pause.
 */
function relax({ candidates }: Route, { now }: Moment, count: number): void {
  const reasons = key.subarray(HEAD, HEAD + count)
  if (reasons.includes(WAITING) || reasons.includes(FULL)) return
  for (let index = 0; index < count; index++)
    if (key[HEAD + index] === TOO_LONG) key[HEAD + index] = candidates[index]!.lane.standing(now)
}

/**
 * Whoever rests is on the list, too, behind everybody else: asked when nobody else is left. Returns how many there are,
 * by rank and then by supplier, as they stand on the route.
 */
function collect({ candidates }: Route, count: number): number {
  let listed = 0
  let resting = 0
  for (let at = 0; at < count; at++) {
    const reason = key[HEAD + at]
    if (reason === RESTING || reason === PROBING) resting += 1
    if (reason !== LISTED) continue
    tiers[at] = candidates[at]!.rank
    order[listed++] = at
  }
  for (let at = 0; resting > 0; at++) {
    const reason = key[HEAD + at]
    if (reason !== RESTING && reason !== PROBING) continue
    tiers[at] = RESTS + candidates[at]!.rank
    order[listed++] = at
    resting -= 1
  }
  return listed
}

function isResting(at: number): boolean {
  return tiers[at]! >= RESTS
}

/** Those of one rank, and those of them who rest, by policy, and by how busy the credential is. */
function arrange(ask: RouteAsk, moment: Moment, listed: number): void {
  const { candidates, policy } = ask.route
  if (policy !== 'priority') score(ask, moment, listed)
  for (let from = 0, to = 0; from < listed; from = to) {
    to = endOf(from, listed)
    if (to - from === 1) continue
    if (policy !== 'priority') sort(from, to)
    leastBusyFirst(candidates, moment.now, from, to)
    if (policy === 'weight') drawFirst(candidates, from, to, moment.draw)
  }
}

/** Where those end who are of the same rank as the one at `from`, and rest or do not as that one. */
function endOf(from: number, listed: number): number {
  const tier = tiers[order[from]!]
  let end = from + 1
  while (end < listed && tiers[order[end]!] === tier) end += 1
  return end
}

/** Few, and nearly in order: nothing is faster than putting each where it belongs. Equals stay as they are. */
function sort(from: number, to: number): void {
  for (let index = from + 1; index < to; index++) {
    const at = order[index]!
    const own = scores[at]!
    let place = index
    for (; place > from && own < scores[order[place - 1]!]!; place--)
      order[place] = order[place - 1]!
    order[place] = at
  }
}

/** The others stay as they are in the file: of every order there would be another list for each moment. */
function leastBusyFirst(
  candidates: readonly Candidate[],
  now: number,
  from: number,
  to: number,
): void {
  for (let first = from, next = from; first < to; first = next) {
    const { place, credential, lane } = candidates[order[first]!]!
    next = first + 1
    if (credential === undefined) continue
    let best = first
    let least = lane.pressure(now)
    for (; next < to && candidates[order[next]!]!.place === place; next++) {
      const pressure = candidates[order[next]!]!.lane.pressure(now)
      if (pressure >= least) continue
      least = pressure
      best = next
    }
    if (best > first) move(best, first)
  }
}

/** The lower, the earlier among those of one rank. */
function score({ route, load, stream }: RouteAsk, { at, now }: Moment, listed: number): void {
  const { candidates, policy } = route
  const usage = policy === 'cheapest' ? likelyUsage(load) : undefined
  for (let index = 0; index < listed; index++) {
    const place = order[index]!
    const candidate = candidates[place]!
    // Whoever has no share at all takes only what the others could not.
    if (policy === 'weight') scores[place] = candidate.weight > 0 ? 0 : 1
    else if (policy === 'cheapest')
      scores[place] = costOf(usage, priceAt(candidate.route.prices, at))
    else scores[place] = (stream ? candidate.lane.first : candidate.lane.whole).expected(now)
  }
  if (policy === 'fastest') level(candidates, listed)
}

/** Credentials of one supplier are one supplier, as fast as the slowest that was measured: none stands apart. */
function level(candidates: readonly Candidate[], listed: number): void {
  for (let index = 1; index < listed; index++) levelWith(candidates, index - 1, index)
  for (let index = listed - 1; index > 0; index--) levelWith(candidates, index, index - 1)
}

function levelWith(candidates: readonly Candidate[], from: number, to: number): void {
  const [one, other] = [order[from]!, order[to]!]
  if (candidates[other]!.credential === undefined) return
  const isSame = tiers[one] === tiers[other] && candidates[one]!.place === candidates[other]!.place
  if (isSame && scores[one]! > scores[other]!) scores[other] = scores[one]!
}

/** What an answer is taken to be long where less is not demanded: few are longer, whatever their maximum. */
const USUAL_OUTPUT = 500
const BYTES_A_TOKEN = 4

export function likelyUsage(load: Load): Usage {
  const written = Math.min(load.maxTokens ?? USUAL_OUTPUT, USUAL_OUTPUT) * load.choices
  return estimateUsage(load, written * BYTES_A_TOKEN)
}

/** Puts the supplier first that chance picks, each by its weight; the others stay in order. */
function drawFirst(candidates: readonly Candidate[], from: number, to: number, draw: number): void {
  let total = 0
  for (let index = from; index < to; index++) total += shareOf(candidates, index, from)
  let rest = draw * total
  for (let index = from; index < to; index++) {
    const share = shareOf(candidates, index, from)
    rest -= share
    if (share === 0 || rest >= 0) continue
    const { place } = candidates[order[index]!]!
    // Its credentials come along.
    for (let next = index, first = from; next < to; next++, first++) {
      if (candidates[order[next]!]!.place !== place) return
      move(next, first)
    }
    return
  }
}

/** Several credentials of a supplier stand beside each other and weigh as one. */
function shareOf(candidates: readonly Candidate[], index: number, from: number): number {
  const { place, weight } = candidates[order[index]!]!
  return index > from && candidates[order[index - 1]!]!.place === place ? 0 : weight
}

/** From one place of the order to another, with those in between moving up. */
function move(from: number, to: number): void {
  const at = order[from]!
  for (let index = from; index > to; index--) order[index] = order[index - 1]!
  for (let index = from; index < to; index++) order[index] = order[index + 1]!
  order[to] = at
}

/**
 * A session stays where it is, before all others of the same model; one that became slow there goes there last. It
 * never puts a model that stands in before the one that was asked for, and nobody who rests before who does not.
 */
function movePin({ route: { candidates }, pin, isPinSlow }: RouteAsk, listed: number): boolean {
  if (pin === undefined) return false
  for (let from = 0, to = 0; from < listed; from = to) {
    to = endOf(from, listed)
    for (let index = from; index < to; index++) {
      const at = order[index]!
      if (candidates[at]!.lane.id !== pin) continue
      if (!isResting(at)) move(index, isPinSlow ? to - 1 : from)
      return order[0] === at
    }
  }
  return false
}

/**
 * So many suppliers and no more; several credentials of one are one. The last place is for a model that stands in, if
 * one is ready: where a model is down at all its suppliers, it is what helps.
 */
function cut({ route: { candidates }, attemptsMax }: RouteAsk, listed: number): number {
  let isReserved = hasReadyStandIn(candidates, listed)
  let kept = 0
  let suppliers = 0
  for (let index = 0; index < listed; index++) {
    const at = order[index]!
    const isNext = !isKept(candidates, at, kept)
    const isStandIn = candidates[at]!.rank > 0
    const max = isReserved && !isStandIn ? Math.max(1, attemptsMax - 1) : attemptsMax
    if (isNext && suppliers >= max) {
      if (!isResting(at)) key[HEAD + at] = SPARE
      continue
    }
    if (isNext) suppliers += 1
    if (isStandIn) isReserved = false
    order[kept++] = at
  }
  return kept
}

function hasReadyStandIn(candidates: readonly Candidate[], listed: number): boolean {
  for (let index = 0; index < listed; index++) {
    const at = order[index]!
    if (candidates[at]!.rank > 0 && !isResting(at)) return true
  }
  return false
}

/** Another credential of the same supplier, for the same model, is among the first of the order. */
function isKept(candidates: readonly Candidate[], at: number, kept: number): boolean {
  const { place, rank } = candidates[at]!
  for (let index = 0; index < kept; index++) {
    const each = candidates[order[index]!]!
    if (each.place === place && each.rank === rank) return true
  }
  return false
}

/** In the caller's language, else in the first one that it can be put into; undefined where the supplier speaks neither. */
export function findAttempt(
  { attempts }: Candidate,
  { dialect, converts }: Pick<RouteAsk, 'dialect' | 'converts'>,
): Attempt | undefined {
  for (const attempt of attempts) if (attempt.dialect.id === dialect.id) return attempt
  if (!converts || dialect.codec === undefined) return undefined
  for (const attempt of attempts) if (attempt.dialect.codec !== undefined) return attempt
  return undefined
}

interface Notes {
  readonly count: number
  readonly kept: number
  readonly isPinned: boolean
  readonly isLastResort: boolean
}

function write(ask: RouteAsk, notes: Notes): Verdict {
  const { route } = ask
  const { count, kept, isPinned, isLastResort } = notes
  const verdict: Verdict = {
    attempts: Array.from(order.subarray(0, kept), (at) => findAttempt(route.candidates[at]!, ask)!),
    reasons: Array.from(key.subarray(HEAD, HEAD + count)),
    isPinned,
    isLastResort,
  }
  route.verdicts.keep(key, HEAD + count + kept, verdict)
  return verdict
}

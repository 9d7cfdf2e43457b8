// Who is asked next. Everybody on the list at most once, whoever is well before whoever is not, and nobody for
// what the one before has already found out.
import type { Attempt, Candidate } from '../routing/routes.ts'
import { FULL, LISTED, WAITING } from '../routing/reason.ts'
import type { AttemptFailure } from '../upstream/failure.ts'
import type { Held, Plant, Try } from './call.ts'

/** The first failover is free; what comes after it is taken from what all calls share. */
const FREE_TRIES = 2

/** Whoever was tried has shown that it is no use to ask this one. */
type Futile = (tried: Try, next: Candidate) => boolean

export class Tour {
  readonly #call: Held
  readonly #plant: Plant
  #hasPlace = false

  constructor(call: Held, plant: Plant) {
    this.#call = call
    this.#plant = plant
  }

  /** The place on the list of who is asked next; undefined when it is enough, or when all have asked for a pause. */
  next(): number | undefined {
    const { tries, attempts } = this.#call
    if (tries.length === 0 && attempts.length === 1) return this.#isOnlyAvailable() ? 0 : undefined
    if (countAsked(tries) >= this.#plant.limits.attemptsMax) return undefined
    const next =
      this.#findOther() ?? this.#find(isWell) ?? this.#find(isAvailable) ?? this.#findLast()
    if (next === undefined || !this.#mayGoOn()) return undefined
    return next
  }

  /** Gives back what was taken for going on. */
  end(): void {
    if (this.#hasPlace) this.#plant.retries.giveBack(this.#call.key.id)
    this.#hasPlace = false
  }

  /** The request was too long, and somebody on the list can read more. */
  hasLarger(failure: AttemptFailure): boolean {
    if (!isTooLong(failure)) return false
    return this.#find(isAvailable) !== undefined
  }

  /** It may have asked for a pause since the list was made: money is waited for in line. */
  #isOnlyAvailable(): boolean {
    const { lane } = this.#call.attempts[0]!.candidate
    return isAvailable(lane.standing(this.#plant.clock.elapsed()))
  }

  #mayGoOn(): boolean {
    const { tries, key } = this.#call
    if (countAsked(tries) < FREE_TRIES || this.#hasPlace) return true
    this.#hasPlace = this.#plant.retries.take(this.#plant.gate.size, key.id)
    return this.#hasPlace
  }

  #find(
    isFit: (standing: number, isLastResort: boolean) => boolean,
    isFutile: Futile = isSameTrouble,
  ): number | undefined {
    const { attempts, verdict } = this.#call
    const now = this.#plant.clock.elapsed()
    let best: number | undefined
    for (let index = 0; index < attempts.length; index++) {
      const attempt = attempts[index]!
      if (best !== undefined && !isLessBusy(attempt, attempts[best]!, now)) continue
      if (this.#isKnown(attempt, isFutile)) continue
      const standing = attempt.candidate.lane.standing(now)
      if (!isFit(standing, verdict.isLastResort)) continue
      best = index
      const isPin = verdict.isPinned && index === 0
      if (isPin || attempt.candidate.credential === undefined) break
    }
    return best
  }

  /** The last try goes to somebody new, if there is anybody: a third account of one supplier is no better bet. */
  #findOther(): number | undefined {
    const { tries } = this.#call
    const asked = countAsked(tries)
    const isLast = asked > 0 && asked === this.#plant.limits.attemptsMax - 1
    return isLast ? this.#find(isWell, isSameSupplier) : undefined
  }

  /** Another door of a supplier that has failed, where there is no other supplier. */
  #findLast(): number | undefined {
    return this.#call.tries.length === 0 ? undefined : this.#find(isAvailable, isHopeless)
  }

  /** It was asked itself, or somebody has failed of what would make it fail, too. */
  #isKnown(attempt: Attempt, isFutile: Futile): boolean {
    for (const tried of this.#call.tries)
      if (isNoLarger(tried, attempt) || isFutile(tried, attempt.candidate)) return true
    return false
  }
}

/** Who could not be told the request was not asked, and has not failed. */
export function isAsked({ failure }: Try): boolean {
  return failure?.isUnsayable !== true
}

export function countAsked(tries: readonly Try[]): number {
  let count = 0
  for (const tried of tries) if (isAsked(tried)) count += 1
  return count
}

/** Another credential of the same supplier for the same model, with more room than the one at hand. */
function isLessBusy({ candidate }: Attempt, { candidate: best }: Attempt, now: number): boolean {
  if (candidate.place !== best.place || candidate.rank !== best.rank) return false
  return candidate.lane.pressure(now) < best.lane.pressure(now)
}

function isWell(standing: number, isLastResort: boolean): boolean {
  return standing === LISTED || (isLastResort && isAvailable(standing))
}

/** Whoever rests is better than nobody; whoever has asked for a pause, or has no room, is left in peace. */
function isAvailable(standing: number): boolean {
  return standing !== WAITING && standing !== FULL
}

/** Refusals that are about an account: the supplier's next account may fare better. */
const OF_AN_ACCOUNT = new Set([401, 402, 403, 429])
/** For want of a token nobody was asked: it is about a sign-in and never about its supplier. */
const NO_TOKEN = 'native_token_error'
/** Refusals that are about a model: the same account may fare better with another one. */
const OF_A_MODEL = new Set([403, 404, 429])

/** A supplier that is down is down for all of its accounts and models, as long as somebody else can be asked. */
function isSameTrouble({ attempt, failure }: Try, next: Candidate): boolean {
  if (attempt.supplier.id !== next.supplier.id) return false
  if (failure === undefined) return true
  if (failure.isUnsayable) return attempt.modelId === next.modelId
  if (isTooLong(failure)) return false
  const { status, code } = failure.problem
  if (code === NO_TOKEN) return isSameAccount(attempt, next)
  if (attempt.modelId !== next.modelId && OF_A_MODEL.has(status)) return false
  return isSameAccount(attempt, next) || !OF_AN_ACCOUNT.has(status)
}

function isSameSupplier({ attempt }: Try, next: Candidate): boolean {
  return attempt.supplier.id === next.supplier.id
}

/**
 * What not even the last choice helps against: a supplier that cannot be reached, an account that is refused, and
 * what may be at work already. A model that stands in was put there for the trouble of another one.
 */
export function isHopeless({ attempt, failure }: Try, next: Candidate): boolean {
  if (attempt.supplier.id !== next.supplier.id) return false
  if (failure?.isUnsayable === true) return attempt.modelId === next.modelId
  if (failure?.problem.code === NO_TOKEN) return isSameAccount(attempt, next)
  if (failure === undefined || failure.evidence === 'unsent') return true
  const isSame = isSameAccount(attempt, next)
  if (attempt.modelId === next.modelId) return isSame || failure.evidence !== 'refused'
  return isSame && isOfTheAccount(failure)
}

function isOfTheAccount({ problem: { status }, isSpent }: AttemptFailure): boolean {
  return isSpent || status === 401 || status === 402
}

function isSameAccount({ candidate }: Attempt, other: Candidate): boolean {
  return candidate.lane.account === other.lane.account
}

const TOO_LONG = 'context_length_exceeded'

/** Of what is too large for one supplier only somebody known to read more may take more. */
function isTooLong({ problem, isUnsayable }: AttemptFailure): boolean {
  // What grows on the way into another language is as short as it was for everybody else.
  if (isUnsayable) return false
  const { status, code, wireCode } = problem
  if (status === 413) return true
  return status === 400 && (code === TOO_LONG || wireCode === TOO_LONG)
}

function isNoLarger({ attempt, failure }: Try, next: Attempt): boolean {
  if (failure === undefined || !isTooLong(failure)) return false
  const least = attempt.route.limits?.contextWindow
  const most = next.route.limits?.contextWindow
  return least === undefined || most === undefined || most <= least
}

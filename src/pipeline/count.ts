// Counts what a request would make a model read: by the supplier itself where it counts, else by a vocabulary of ours
// and by what was learned of the model. It is no call: nothing is held or charged, only refusals are recorded, and no lane hears of it.
import { Rates } from '../access/rate.ts'
import type { Clock } from '../core/clock.ts'
import type { Load } from '../core/load.ts'
import { asGatewayError, type GatewayError } from '../core/problem.ts'
import type { Usage } from '../core/usage.ts'
import type { CountCodec, Dialect } from '../dialects/dialect.ts'
import { text } from '../http/reply.ts'
import { textBytes } from '../ledger/cost/bound.ts'
import { WAITING } from '../routing/reason.ts'
import type { Attempt, Candidate, Verdict } from '../routing/routes.ts'
import { readBody } from '../upstream/body.ts'
import { asFailure } from '../upstream/client.ts'
import { CallerGone, Lifeline } from '../upstream/lifeline.ts'
import { admit } from './admit.ts'
import type { Admitted, Held, Plant, Received } from './call.ts'
import { findOwnSession, judge, nobody } from './plan.ts'
import { refusal } from './refusal.ts'
import { recordRefusal } from './refuse.ts'

/** What a request comes to, and for which model. */
export interface Counted {
  readonly inputTokens: number
  readonly isExact: boolean
  readonly model: string
  /** How far estimates for the model are off on the average; undefined where that says nothing of this one. */
  readonly deviation: number | undefined
}

export async function answerCount(call: Received, plant: Plant): Promise<Response> {
  try {
    const counted = await count(call, plant)
    const body = JSON.stringify({ input_tokens: counted.inputTokens })
    return text(call.id, body, 200, headersOf(counted))
  } catch (thrown) {
    if (!(thrown instanceof CallerGone)) recordRefusal(call, asGatewayError(thrown), plant)
    throw thrown
  }
}

function headersOf({ isExact, model, deviation }: Counted): Readonly<Record<string, string>> {
  return {
    'x-svc-count': isExact ? 'exact' : 'estimated',
    'x-svc-model': model,
    ...(deviation !== undefined && { 'x-svc-count-error': deviation.toFixed(2) }),
  }
}

export async function count(call: Received, plant: Plant): Promise<Counted> {
  const stage = { ...plant, rates: new Rates() }
  plant.calibration.want(plant.clock.elapsed())
  const admitted = admit({ ...call, dialect: countingOf(call.dialect) }, stage)
  const verdict = judge(admitted, stage, findOwnSession(admitted, plant))
  call.asked.verdict = verdict
  call.asked.regions = admitted.regions
  const [attempt] = verdict.attempts
  if (attempt === undefined) return estimate(admitted, findWaiting(admitted, verdict, plant), plant)
  const exact = await askSupplier(admitted, attempt, verdict, plant)
  if (exact === undefined) return estimate(admitted, attempt, plant)
  learn({ attempt, told: exact, body: call.body, load: admitted.facts.load }, plant)
  return { inputTokens: exact, isExact: true, model: attempt.modelId, deviation: undefined }
}

const counting = new WeakMap<Dialect, Dialect>()

/** The language as it is spoken where a request is only counted. */
function countingOf(dialect: Dialect): Dialect {
  const known = counting.get(dialect)
  if (known !== undefined) return known
  const codec = codecOf(dialect)
  const made: Dialect = { ...dialect, peek: (body) => codec.peek(body) }
  counting.set(dialect, made)
  return made
}

function codecOf({ id, count: codec }: Dialect): CountCodec {
  if (codec === undefined) throw new RangeError(`nothing is counted in ${id}`)
  return codec
}

/** Who has asked for a pause is not asked, and needs not be: it could be asked by a call in a moment. */
function findWaiting(call: Admitted, verdict: Verdict, plant: Plant): Candidate {
  const waiting = call.route.candidates.find((_, index) => verdict.reasons[index] === WAITING)
  if (waiting === undefined) throw nobody(call, verdict, plant)
  return waiting
}

/** How long a supplier may take to count; an estimate is at hand. */
const EXACT_MS = 5_000
const ANSWER_BYTES_MAX = 65_536

/** A supplier that does not count, and one that has failed to, is left alone: each time would cost its askers. */
const ABSENT_MS = 600_000
const FAILED_MS = 30_000
const ABSENT = new Set([404, 405, 410, 501])
const TOO_LARGE = 413
/**
 * By key, because a caller may be why: with a body that takes too long to read, or that breaks whoever reads it. It
 * would take exact counts from all others.
 */
const restingUntil = new WeakMap<Attempt, Map<string, number>>()
const RESTING_MAX = 1000

/** Undefined where it does not count, or not now. Throws what it says is wrong with the request. */
async function askSupplier(
  call: Admitted,
  attempt: Attempt,
  verdict: Verdict,
  plant: Plant,
): Promise<number | undefined> {
  const { clock, lifelines } = plant
  const path = findPath(call, attempt, verdict, clock)
  if (path === undefined) return undefined
  const lifeline = new Lifeline(clock, call.caller, lifelines)
  lifeline.expect('count', EXACT_MS)
  let response: Response | undefined
  try {
    const codec = codecOf(attempt.dialect)
    const body = codec.patch(call.body, call.facts, attempt.rewrite)
    response = await attempt.upstream.post(path, body, lifeline, call.passed)
    lifeline.heard()
    if (!response.ok) throw await refusal(response, attempt, lifeline, clock)
    const tokens = codec.read(await readBody(response, ANSWER_BYTES_MAX))
    if (tokens === undefined) leaveAlone(call, attempt, FAILED_MS, clock)
    return tokens
  } catch (thrown) {
    const failure = asFailure(thrown, lifeline.signal, response !== undefined)
    if (!lifeline.signal.aborted) lifeline.abort(failure)
    if (failure instanceof CallerGone) throw failure
    passOn(failure.problem)
    leaveAlone(call, attempt, restAfter(failure.problem), clock)
    return undefined
  } finally {
    lifeline.release()
  }
}

function findPath(
  { dialect, key }: Admitted,
  attempt: Attempt,
  { isLastResort }: Verdict,
  clock: Clock,
): string | undefined {
  if (isLastResort || attempt.dialect.id !== dialect.id) return undefined
  const until = restingUntil.get(attempt)?.get(key.id) ?? 0
  return until > clock.elapsed() ? undefined : attempt.countPath
}

/** The size of a request says nothing about the next one. */
function restAfter(problem: GatewayError): number {
  if (problem.status === TOO_LARGE) return 0
  return ABSENT.has(problem.status) && !isTold(problem) ? ABSENT_MS : FAILED_MS
}

/** Nor does a file that a request speaks of, which may not be there or take long to fetch. */
function leaveAlone({ key, facts }: Admitted, attempt: Attempt, ms: number, clock: Clock): void {
  if (ms === 0 || facts.load.elsewhere !== undefined) return
  const known = restingUntil.get(attempt)
  const resting = known ?? new Map<string, number>()
  if (known === undefined) restingUntil.set(attempt, resting)
  resting.delete(key.id)
  resting.set(key.id, clock.elapsed() + ms)
  const [oldest] = resting.keys()
  if (resting.size > RESTING_MAX && oldest !== undefined) resting.delete(oldest)
}

/** Throws what is no reason to guess: the request is wrong, or the gateway stops. */
function passOn(problem: GatewayError): void {
  if (blamesRequest(problem) || problem.code === 'pod_draining') throw problem
}

/** In its own words: whatever stands before a supplier may call anything a bad request. */
function blamesRequest({ status, origin }: GatewayError): boolean {
  return status === 400 && origin?.raw !== undefined
}

/** As errors of the language are: for an address that it does not know any server has a page, or a bare status. */
function isTold({ origin }: GatewayError): boolean {
  return origin?.type !== undefined && origin.raw !== undefined
}

const TOKEN_BYTES = 4
/** What an image is likely to count for: the most is what holds are made by, and few images come to that. */
const IMAGE_TOKENS = 1100
const IMAGE_TOKENS_MAX = 1600

async function estimate(
  { body, key, facts: { load } }: Admitted,
  { modelId, route: { limits } }: Pick<Candidate, 'modelId' | 'route'>,
  { counter, calibration }: Plant,
): Promise<Counted> {
  const measured = await counter.measure(body, load, limits?.tokenizer, key.id)
  const counted = measured === 'late' ? textBytes(load) / TOKEN_BYTES : measured
  const factor = calibration.factor(modelId, limits?.tokenizer !== undefined)
  const image = Math.min(limits?.imageTokens ?? IMAGE_TOKENS, IMAGE_TOKENS_MAX)
  const tokens = Math.round(counted * factor) + load.images * image
  const isTelling = measured !== 'late' && isText(load)
  return {
    inputTokens: Math.max(1, tokens),
    isExact: false,
    model: modelId,
    deviation: isTelling ? calibration.deviation(modelId) : undefined,
  }
}

/** Nothing but text: what else there may be is counted in ways of its own. */
function isText({ images, audioBytes, inline, elsewhere, unbounded }: Load): boolean {
  const hasOther = images > 0 || audioBytes > 0 || inline.length > 0
  return !hasOther && elsewhere === undefined && unbounded === undefined
}

/** Fewer bytes are fewer tokens than anything is learned from. */
const LEARNED_BYTES_MIN = 400

/** Of a call that has ended, with what its supplier told that it has read. Returns at once and never throws. */
export function sampleUsage(call: Held, { inputTokens }: Usage, plant: Plant): void {
  const attempt = call.tries.at(-1)?.attempt
  if (attempt === undefined) return
  learn({ attempt, told: inputTokens, body: call.body, load: call.facts.load }, plant)
}

interface Lesson {
  readonly attempt: Attempt
  readonly told: number
  readonly body: Uint8Array
  readonly load: Load
}

/** All lessons share what one key may have measured at a time. */
const MEASURED_FOR = 'calibration'

function learn(lesson: Lesson, plant: Plant): void {
  const { attempt, load } = lesson
  const { counter, calibration, clock } = plant
  if (load.bytes < LEARNED_BYTES_MIN || !isText(load)) return
  // Whoever waits for a count goes first; another call will do as well.
  if (!counter.isIdle() || !calibration.isDue(attempt.modelId, clock.elapsed())) return
  void compare(lesson, plant)
}

async function compare({ attempt, told, body, load }: Lesson, plant: Plant): Promise<void> {
  const { counter, calibration, clock } = plant
  const { modelId, route } = attempt
  const counted = await counter.measure(body, load, route.limits?.tokenizer, MEASURED_FOR)
  if (counted !== 'late') calibration.learn(modelId, counted, told, clock.elapsed())
}

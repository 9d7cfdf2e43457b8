// Sends the call to one supplier after the other until one of them answers. A failure moves on at once
// and without waiting; the caller's own fault, and the caller's leaving, end it.
import { advise, GatewayError } from '../core/problem.ts'
import type { AttemptNote } from '../core/record.ts'
import type { AnswerFacts, Expressed, Facts } from '../dialects/dialect.ts'
import { readBody } from '../upstream/body.ts'
import { asFailure } from '../upstream/client.ts'
import { AttemptFailure } from '../upstream/failure.ts'
import { CallerGone, Lifeline } from '../upstream/lifeline.ts'
import type { Awaited } from '../routing/lane.ts'
import { isRequested } from '../routing/judge.ts'
import type { Attempt } from '../routing/routes.ts'
import { askPieces, isBatch } from './batch.ts'
import type { Held, Plant, SentForm, Try } from './call.ts'
import { isUntouched } from './claim.ts'
import { convertAnswer, convertRequest, dropThoughts } from './convert.ts'
import { isRelayed } from './request.ts'
import { exhausted, inBand, refusal, scrub, unsayable } from './refusal.ts'
import { drain, isDrained } from './drain.ts'
import { sentMaximum } from './hold.ts'
import { basicsOf, RelayStream } from './relay.ts'
import { isAsked, Tour } from './tour.ts'

const PATIENCE_MS = 100

export interface UnaryAnswer extends AnswerFacts, Expressed {}

export function dispatchUnary(call: Held, plant: Plant): Promise<UnaryAnswer> {
  return firstOf(call, plant, (attempt) => askUnary(call, attempt, plant))
}

/** Resolves with a stream whose first content has come. */
export function dispatchStream(call: Held, plant: Plant): Promise<RelayStream> {
  return firstOf(call, plant, (attempt) => askStream(call, attempt, plant))
}

export type Ask<Answer> = (attempt: Attempt) => Promise<Answer>

export async function firstOf<Answer>(call: Held, plant: Plant, ask: Ask<Answer>): Promise<Answer> {
  const tour = new Tour(call, plant)
  try {
    for (let index = tour.next(); index !== undefined; index = tour.next()) {
      checkPresence(call, plant)
      // Held in the last moment, when whatever was under way had just been cut.
      plant.ledger.checkRunning()
      const attempted = enter(call, index, plant)
      try {
        const answer = await ask(attempted.attempt)
        answered(call, plant)
        return answer
      } catch (thrown) {
        note(attempted, thrown, tour, plant)
      }
    }
    throw nobodyLeft(call, plant)
  } finally {
    tour.end()
  }
}

function nobodyLeft(call: Held, plant: Plant): GatewayError {
  if (call.tries.length === 0) checkPresence(call, plant)
  const { tries } = call
  const now = plant.clock.elapsed()
  const last = tries.findLast(isAsked)?.failure
  // Somebody larger was there, and could no longer be asked.
  if (last?.isFinal === true) return last.problem
  const unsaid = last === undefined ? tries.at(-1)?.failure : undefined
  return unsaid === undefined ? exhausted(call, now) : unsayable(call, unsaid.problem, now)
}

function enter(call: Held, index: number, { clock, ledger }: Plant): Try {
  const attempt = call.attempts[index]!
  const now = clock.elapsed()
  const visit = attempt.candidate.lane.enter(now, awaitedOf(call), call.key.id)
  const attempted: Try = { attempt, index, price: call.prices[index]!, visit, askedMs: now }
  call.tries.push(attempted)
  if (!isForetold(call, attempt)) ledger.noteAttempt(call.operation, noteOf(call, attempt))
  return attempted
}

/** The hold says already who is asked first, unless that has changed since. */
function isForetold({ tries, attempts: [first] }: Held, { supplier, modelId }: Attempt): boolean {
  return tries.length === 1 && supplier.id === first?.supplier.id && modelId === first.modelId
}

function noteOf({ tries }: Held, { supplier, modelId }: Attempt): Required<AttemptNote> {
  return { supplier: supplier.id, model: modelId, number: tries.length }
}

function awaitedOf({ route, facts }: Held): Awaited {
  if (route.isNamed) return 'unmeasured'
  return facts.stream ? 'first' : 'whole'
}

/** What one attempt came to, for the call, for the lane and for the operator. Throws where nobody else is to be asked. */
function note(attempted: Try, thrown: unknown, tour: Tour, plant: Plant): void {
  if (thrown instanceof CallerGone && thrown.evidence !== undefined)
    attempted.seen = thrown.evidence
  // A fault of our own is nothing that another supplier could make up for.
  if (!(thrown instanceof AttemptFailure)) throw thrown
  attempted.failure = thrown
  leave(attempted, thrown, plant)
  if (thrown.isFinal && !tour.hasLarger(thrown)) throw thrown.problem
}

function leave(attempted: Try, failure: AttemptFailure, { clock, draw, trouble }: Plant): void {
  const { visit, attempt } = attempted
  const now = clock.elapsed()
  attempted.endedMs = now
  if (failure.isUnsayable) return visit.leave()
  if (!failure.isFinal) visit.failed(failure, now, draw())
  // What we ended ourselves is nobody's proof of life.
  else if (failure.evidence === 'refused') visit.refused(now)
  if (!failure.isFinal || isRequested(failure.problem.code))
    trouble.failed(attempt.supplier.id, failure.problem)
  visit.leave()
}

/**
 * Nobody is asked for a caller who has left, in the line for the money or while another was asked. To look costs
 * too much of every call, so it is done only for who has waited. What is read to its end whoever has gone is also
 * asked for to the end, once it may have cost something.
 */
function checkPresence(call: Held, plant: Plant): void {
  const { caller, heldAtMs, startedMs, tries } = call
  const hasWaited = tries.length > 0 || heldAtMs - startedMs > PATIENCE_MS
  if (!hasWaited || !caller.signal.aborted) return
  if (call.claim === undefined || !isDrained(call, plant) || isUntouched(call))
    throw new CallerGone()
}

async function askUnary(call: Held, attempt: Attempt, plant: Plant): Promise<UnaryAnswer> {
  const lifeline = openLifeline(call, plant)
  let response: Response | undefined
  try {
    if (isBatch(call, attempt)) {
      const bytes = await askPieces(call, lifeline, plant)
      return answerOf(bytes, call, attempt)
    }
    response = await send(call, lifeline, plant)
    lifeline.heard()
    hear(response, attempt, plant)
    if (!response.ok) response = await sendAgain(response, call, lifeline, plant)
    return answerOf(await readBody(response, answerMax(attempt, plant)), call, attempt)
  } catch (thrown) {
    const failure = asFailure(thrown, lifeline.signal, response !== undefined)
    // Whatever the supplier is still sending has no reader any more.
    if (!lifeline.signal.aborted) lifeline.abort(failure)
    throw failure
  } finally {
    lifeline.release()
  }
}

function answerOf(bytes: Uint8Array, call: Held, attempt: Attempt): UnaryAnswer {
  const facts = readFacts(bytes, attempt, call.facts)
  return { ...express(bytes, facts, call), ...facts }
}

/** Numbers as text are long: what is a large answer elsewhere is a usual one of embeddings. */
const EMBEDDINGS_FACTOR = 4

function answerMax({ dialect }: Attempt, { limits: { answerBytesMax } }: Plant): number {
  return dialect.task === 'embedding' ? EMBEDDINGS_FACTOR * answerBytesMax : answerBytesMax
}

async function askStream(call: Held, attempt: Attempt, plant: Plant): Promise<RelayStream> {
  const lifeline = openLifeline(call, plant)
  let response: Response | undefined
  try {
    response = await send(call, lifeline, plant)
    lifeline.heard()
    hear(response, attempt, plant)
    if (!response.ok) response = await sendAgain(response, call, lifeline, plant)
    if (response.body === null) throw new GatewayError('empty_stream')
    if (!isEventStream(response)) throw await notAStream(response, attempt, plant)
    lifeline.expect('content', attempt.timeouts.firstContentMs)
    const stream = new RelayStream(call, response.body, lifeline, plant)
    call.tries.at(-1)!.stream = stream
    await stream.open()
    return stream
  } catch (thrown) {
    const failure = asFailure(thrown, lifeline.signal, response !== undefined)
    if (!lifeline.signal.aborted) lifeline.abort(failure)
    lifeline.release()
    throw failure
  }
}

/** Content has come: the lane is proved, and the session belongs there. */
function answered(call: Held, { clock }: Plant): void {
  const { visit, attempt, askedMs } = call.tries.at(-1)!
  const now = clock.elapsed()
  visit.answered(now)
  const firstMs = call.facts.stream ? now - askedMs : undefined
  call.session?.answered(attempt.candidate.lane, now, firstMs)
}

export function openLifeline(call: Held, plant: Plant): Lifeline {
  const lifeline = new Lifeline(plant.clock, call.caller, plant.lifelines)
  if (isDrained(call, plant)) drain(lifeline, call, plant)
  return lifeline
}

/**
 * What another has sealed is worth nothing to whoever refuses it: the conversation goes on without it. Every other
 * refusal is thrown.
 */
export async function sendAgain(
  refused: Response,
  call: Held,
  lifeline: Lifeline,
  plant: Plant,
): Promise<Response> {
  const tried = call.tries.at(-1)!
  const failure = await refusal(refused, tried.attempt, lifeline, plant.clock)
  if (plant.refusesLosses || !isAboutThoughts(call, tried, failure)) throw failure
  tried.dropsThoughts = true
  const response = await send(call, lifeline, plant)
  lifeline.heard()
  if (response.ok) return response
  throw await refusal(response, tried.attempt, lifeline, plant.clock)
}

/** It would take the request without what was thought before, and that has not been tried. */
function isAboutThoughts(
  { facts }: Held,
  { attempt, dropsThoughts }: Try,
  { problem, isFinal }: AttemptFailure,
): boolean {
  if (!isFinal || dropsThoughts === true || facts.thoughts.length === 0) return false
  return attempt.dialect.problem.refusesThoughts?.(problem) === true
}

export function send(call: Held, lifeline: Lifeline, plant: Plant): Promise<Response> {
  const tried = call.tries.at(-1)!
  const { upstream, path, timeouts } = tried.attempt
  // Each attempt has the whole of it: a share would cut off models that think for minutes.
  if (call.facts.stream) lifeline.expect('first byte', timeouts.firstByteMs)
  else lifeline.expect('answer', timeouts.unaryMs)
  if (!isRelayed(call, tried.attempt)) {
    const { body, headers, losses } = convertRequest(call, tried, plant)
    tried.losses = losses
    return upstream.post(path, body, lifeline, headers)
  }
  if (call.form !== undefined) return sendForm(call.form, tried.attempt, lifeline)
  return upstream.post(path, patch(call, tried, plant), lifeline, call.passed)
}

function sendForm(
  { form, facts }: SentForm,
  { upstream, path, dialect, rewrite }: Attempt,
  lifeline: Lifeline,
): Promise<Response> {
  const { body, headers } = dialect.relay.patchForm!(form, facts, rewrite)
  return upstream.post(path, body, lifeline, headers)
}

/** The request in its own language, but for the listed splices. */
function patch(call: Held, tried: Try, plant: Plant): Uint8Array {
  const { body, facts, fit } = call
  const { attempt, dropsThoughts } = tried
  const { relay } = attempt.dialect
  const maxTokens = sentMaximum(call)
  if (facts.thoughts.length > 0) {
    tried.losses = dropThoughts(call, tried, plant)
    if (dropsThoughts === true)
      return relay.patch(body, facts, attempt.rewrite, { maxTokens, dropsThoughts })
  }
  const adjustment = maxTokens === fit.maxTokens ? fit : { maxTokens }
  return relay.patch(body, facts, attempt.rewrite, adjustment)
}

/** What is left of the supplier's limits matters only where there is a choice between credentials. */
export function hear(response: Response, { candidate }: Attempt, { clock }: Plant): void {
  if (candidate.credential !== undefined) candidate.lane.hear(response, clock)
}

/** An error inside of a 200 is the supplier's own text, which may repeat our credential to us. */
function readFacts(bytes: Uint8Array, attempt: Attempt, asked?: Facts): AnswerFacts {
  try {
    return attempt.dialect.relay.read(bytes, asked)
  } catch (thrown) {
    throw thrown instanceof GatewayError ? inBand(scrub(thrown, attempt), attempt) : thrown
  }
}

/** As the caller reads it: converted, or filled in where the supplier is known to leave things out, or as it came. */
function express(bytes: Uint8Array, facts: AnswerFacts, call: Held): Expressed {
  const tried = call.tries.at(-1)!
  const { dialect, modelId, rewrite } = tried.attempt
  if (!isRelayed(call, tried.attempt)) return { bytes: convertAnswer(call, tried, bytes, facts) }
  const { relay } = dialect
  if (relay.express !== undefined) {
    const expressed = relay.express(bytes, call.facts, basicsOf(call, modelId))
    if (expressed.losses !== undefined) tried.losses = expressed.losses
    return expressed
  }
  if (rewrite.normalize !== true) return { bytes }
  return { bytes: relay.normalize?.answer(bytes, basicsOf(call, modelId)) ?? bytes }
}

function isEventStream(response: Response): boolean {
  return response.headers.get('content-type')?.includes('text/event-stream') === true
}

/** Some suppliers answer a stream request with an error as plain JSON and status 200. */
async function notAStream(response: Response, attempt: Attempt, plant: Plant): Promise<Error> {
  const bytes = await readBody(response, plant.limits.answerBytesMax)
  if (bytes.length === 0) return advise('empty_stream', 'The supplier sent nothing.')
  try {
    readFacts(bytes, attempt)
  } catch (thrown) {
    // Only an error in the supplier's own words says more than that this is no stream.
    if (thrown instanceof AttemptFailure && thrown.problem.origin !== undefined) return thrown
  }
  return advise('non_json_provider_response', 'The supplier sent no event stream.')
}

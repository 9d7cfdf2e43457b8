// Sends the call to one supplier after the other until one of them answers. A failure moves on at once
// and without waiting; the caller's own fault, and the caller's leaving, end it.
import { advise, GatewayError } from '../core/problem.ts'
import type { AnswerFacts } from '../dialects/dialect.ts'
import { readBody } from '../upstream/body.ts'
import { asFailure } from '../upstream/client.ts'
import { AttemptFailure } from '../upstream/failure.ts'
import { CallerGone, Lifeline } from '../upstream/lifeline.ts'
import type { Attempt } from '../suppliers/routes.ts'
import type { Held, Plant, Try } from './call.ts'
import { isUntouched } from './claim.ts'
import { exhausted, refusal, scrub } from './refusal.ts'
import { drain, isDrained } from './drain.ts'
import { basicsOf, RelayStream } from './relay.ts'

const PATIENCE_MS = 100

export interface UnaryAnswer extends AnswerFacts {
  readonly bytes: Uint8Array
}

export function dispatchUnary(call: Held, plant: Plant): Promise<UnaryAnswer> {
  return firstOf(call, plant, (attempt) => askUnary(call, attempt, plant))
}

/** Resolves with a stream whose first content has come. */
export function dispatchStream(call: Held, plant: Plant): Promise<RelayStream> {
  return firstOf(call, plant, (attempt) => askStream(call, attempt, plant))
}

async function firstOf<Answer>(
  call: Held,
  plant: Plant,
  ask: (attempt: Attempt) => Promise<Answer>,
): Promise<Answer> {
  let failed: Try | undefined
  for (const [index, attempt] of call.attempts.entries()) {
    if (call.tries.length === plant.limits.attemptsMax) break
    if (failed !== undefined && isSameTrouble(failed, attempt)) continue
    checkPresence(call, plant)
    // Held in the last moment, when whatever was under way had just been cut.
    plant.ledger.checkRunning()
    const attempted: Try = { attempt, index, price: call.prices[index]! }
    call.tries.push(attempted)
    if (call.tries.length > 1) plant.ledger.noteAttempt(call.operation, attempt.supplier.id)
    try {
      return await ask(attempt)
    } catch (thrown) {
      if (!(thrown instanceof AttemptFailure)) throw thrown
      attempted.failure = thrown
      failed = attempted
      if (thrown.isFinal) throw thrown.problem
      plant.trouble.failed(attempt.supplier.id, thrown.problem)
    }
  }
  throw exhausted(call)
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

/** Refusals that are about an account: the supplier's next account may fare better. */
const OF_AN_ACCOUNT = new Set([401, 402, 403, 429])

/** Another account of a supplier that is down would find it just as much down. */
function isSameTrouble({ attempt: { supplier }, failure }: Try, next: Attempt): boolean {
  return supplier.id === next.supplier.id && !OF_AN_ACCOUNT.has(failure?.problem.status ?? 0)
}

async function askUnary(call: Held, attempt: Attempt, plant: Plant): Promise<UnaryAnswer> {
  const lifeline = openLifeline(call, plant)
  // Each attempt has the whole of it: a share would cut off models that think for minutes.
  lifeline.expect('answer', attempt.timeouts.unaryMs)
  try {
    const response = await send(call, attempt, lifeline)
    if (!response.ok) throw await refusal(response, attempt, lifeline, plant.clock)
    const bytes = await readBody(response, plant.limits.answerBytesMax)
    const facts = readFacts(bytes, attempt)
    return { bytes: normalize(bytes, call, attempt), ...facts }
  } catch (thrown) {
    const failure = asFailure(thrown, lifeline.signal)
    // Whatever the supplier is still sending has no reader any more.
    if (!lifeline.signal.aborted) lifeline.abort(failure)
    throw failure
  } finally {
    lifeline.release()
  }
}

async function askStream(call: Held, attempt: Attempt, plant: Plant): Promise<RelayStream> {
  const lifeline = openLifeline(call, plant)
  lifeline.expect('first byte', attempt.timeouts.firstByteMs)
  try {
    const response = await send(call, attempt, lifeline)
    if (!response.ok) throw await refusal(response, attempt, lifeline, plant.clock)
    if (response.body === null) throw new GatewayError('empty_stream')
    if (!isEventStream(response)) throw await notAStream(response, attempt, plant)
    lifeline.expect('content', attempt.timeouts.firstContentMs)
    const stream = new RelayStream(call, response.body, lifeline, plant)
    await stream.open()
    return stream
  } catch (thrown) {
    const failure = asFailure(thrown, lifeline.signal)
    if (!lifeline.signal.aborted) lifeline.abort(failure)
    lifeline.release()
    throw failure
  }
}

function openLifeline(call: Held, plant: Plant): Lifeline {
  const lifeline = new Lifeline(plant.clock, call.caller, plant.lifelines)
  if (isDrained(call, plant)) drain(lifeline, call, plant)
  return lifeline
}

function send(call: Held, attempt: Attempt, lifeline: Lifeline): Promise<Response> {
  const { body: asked, facts, fit } = call
  const body = attempt.dialect.relay.patch(asked, facts, attempt.rewrite, fit)
  return attempt.upstream.post(attempt.path, body, lifeline)
}

/** An error inside of a 200 is the supplier's own text, which may repeat our credential to us. */
function readFacts(bytes: Uint8Array, attempt: Attempt): AnswerFacts {
  try {
    return attempt.dialect.relay.read(bytes)
  } catch (thrown) {
    throw thrown instanceof GatewayError ? scrub(thrown, attempt) : thrown
  }
}

/** Only where the supplier is known to leave things out: every other answer passes as it came. */
function normalize(
  bytes: Uint8Array,
  call: Held,
  { dialect, modelId, rewrite }: Attempt,
): Uint8Array {
  if (rewrite.normalize !== true) return bytes
  return dialect.relay.normalize?.answer(bytes, basicsOf(call, modelId)) ?? bytes
}

function isEventStream(response: Response): boolean {
  return response.headers.get('content-type')?.includes('text/event-stream') === true
}

/** Some suppliers answer a stream request with an error as plain JSON and status 200. */
async function notAStream(
  response: Response,
  attempt: Attempt,
  plant: Plant,
): Promise<GatewayError> {
  const bytes = await readBody(response, plant.limits.answerBytesMax)
  if (bytes.length === 0) return advise('empty_stream', 'The supplier sent nothing.')
  try {
    readFacts(bytes, attempt)
  } catch (thrown) {
    // Only an error in the supplier's own words says more than that this is no stream.
    if (thrown instanceof GatewayError && thrown.origin !== undefined) return thrown
  }
  return advise('non_json_provider_response', 'The supplier sent no event stream.')
}

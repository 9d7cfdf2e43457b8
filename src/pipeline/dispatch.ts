// Sends the call to one supplier after the other until one of them answers. A failure moves on at once
// and without waiting; the caller's own fault, and the caller's leaving, end it.
import { advise, GatewayError } from '../core/problem.ts'
import type { Usage } from '../core/usage.ts'
import { readBody } from '../upstream/body.ts'
import { asFailure } from '../upstream/client.ts'
import { AttemptFailure } from '../upstream/failure.ts'
import { Lifeline } from '../upstream/lifeline.ts'
import type { Attempt } from '../suppliers/routes.ts'
import type { Held, Plant, Try } from './call.ts'
import { exhausted, refusal, scrub } from './refusal.ts'
import { basicsOf, RelayStream } from './relay.ts'

export interface UnaryAnswer {
  readonly bytes: Uint8Array
  readonly usage: Usage | undefined
}

export function dispatchUnary(call: Held, plant: Plant): Promise<UnaryAnswer> {
  return firstOf(call, (attempt) => askUnary(call, attempt, plant))
}

/** Resolves with a stream whose first content has come. */
export function dispatchStream(call: Held, plant: Plant): Promise<RelayStream> {
  return firstOf(call, (attempt) => askStream(call, attempt, plant))
}

async function firstOf<Answer>(
  call: Held,
  ask: (attempt: Attempt) => Promise<Answer>,
): Promise<Answer> {
  for (const [index, attempt] of call.attempts.entries()) {
    const attempted: Try = { attempt, price: call.prices[index]! }
    call.tries.push(attempted)
    try {
      return await ask(attempt)
    } catch (thrown) {
      if (!(thrown instanceof AttemptFailure)) throw thrown
      attempted.failure = thrown
      if (thrown.isFinal) throw thrown.problem
    }
  }
  throw exhausted(call)
}

async function askUnary(call: Held, attempt: Attempt, plant: Plant): Promise<UnaryAnswer> {
  const lifeline = new Lifeline(plant.clock, call.caller, plant.lifelines)
  // Each attempt has the whole of it: a share would cut off models that think for minutes.
  lifeline.expect('answer', attempt.timeouts.unaryMs)
  try {
    const response = await send(call, attempt, lifeline)
    if (!response.ok) throw await refusal(response, attempt, lifeline, plant.clock)
    const bytes = await readBody(response, plant.limits.answerBytesMax)
    const usage = readUsage(bytes, attempt)
    return { bytes: normalize(bytes, call, attempt), usage }
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
  const lifeline = new Lifeline(plant.clock, call.caller, plant.lifelines)
  lifeline.expect('first byte', attempt.timeouts.firstByteMs)
  try {
    const response = await send(call, attempt, lifeline)
    if (!response.ok) throw await refusal(response, attempt, lifeline, plant.clock)
    if (response.body === null) throw new GatewayError('empty_stream')
    if (!isEventStream(response)) throw await notAStream(response, attempt, plant)
    lifeline.expect('content', attempt.timeouts.firstContentMs)
    const stream = new RelayStream(call, response.body, lifeline, plant.limits)
    await stream.open()
    return stream
  } catch (thrown) {
    const failure = asFailure(thrown, lifeline.signal)
    if (!lifeline.signal.aborted) lifeline.abort(failure)
    lifeline.release()
    throw failure
  }
}

function send(call: Held, attempt: Attempt, lifeline: Lifeline): Promise<Response> {
  const body = attempt.dialect.relay.patch(call.body, call.facts, attempt.rewrite)
  return attempt.upstream.post(attempt.path, body, lifeline)
}

/** An error inside of a 200 is the supplier's own text, which may repeat our credential to us. */
function readUsage(bytes: Uint8Array, attempt: Attempt): Usage | undefined {
  try {
    return attempt.dialect.relay.read(bytes).usage
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
    readUsage(bytes, attempt)
  } catch (thrown) {
    // Only an error in the supplier's own words says more than that this is no stream.
    if (thrown instanceof GatewayError && thrown.origin !== undefined) return thrown
  }
  return advise('non_json_provider_response', 'The supplier sent no event stream.')
}

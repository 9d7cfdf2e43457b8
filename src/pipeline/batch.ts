// One request that a supplier takes only in pieces: they are sent side by side, a few at a time, and joined in their
// order. It succeeds as a whole or fails as a whole, and what was done in vain nobody pays for.
import { AttemptFailure } from '../upstream/failure.ts'
import { readBody } from '../upstream/body.ts'
import { asFailure } from '../upstream/client.ts'
import { CallerGone, type Lifeline } from '../upstream/lifeline.ts'
import type { Attempt } from '../routing/routes.ts'
import type { Held, Plant } from './call.ts'
import { refusal } from './refusal.ts'

const AT_ONCE = 4

/** There are more inputs than the supplier takes at once. */
export function isBatch({ facts: { inputs = 1 } }: Held, { inputsMax, dialect }: Attempt): boolean {
  return inputsMax !== undefined && inputs > inputsMax && dialect.relay.batch !== undefined
}

/** The one answer to all pieces. */
export async function askPieces(call: Held, lifeline: Lifeline, plant: Plant): Promise<Uint8Array> {
  const { attempt } = call.tries.at(-1)!
  const { inputsMax = 1, dialect, rewrite, timeouts } = attempt
  const { batch } = dialect.relay
  const bodies = batch!.split(call.body, call.facts, rewrite, inputsMax)
  lifeline.expect('answer', timeouts.unaryMs)
  const pieces = new Pieces(call, lifeline, plant)
  const answers: Uint8Array[] = []
  let next = 0
  const work = async (): Promise<void> => {
    for (let index = next++; index < bodies.length; index = next++)
      // oxlint-disable-next-line no-await-in-loop -- each of a few workers does one after the other
      answers[index] = await pieces.ask(bodies[index]!)
  }
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, bodies.length) }, work))
  return batch!.join(answers, call.facts)
}

class Pieces {
  readonly #call: Held
  readonly #attempt: Attempt
  readonly #lifeline: Lifeline
  readonly #plant: Plant
  #bytesLeft: number
  /** Somebody was sent something that may have been worked on. */
  #hasSent = false

  constructor(call: Held, lifeline: Lifeline, plant: Plant) {
    this.#call = call
    this.#attempt = call.tries.at(-1)!.attempt
    this.#lifeline = lifeline
    this.#plant = plant
    this.#bytesLeft = 4 * plant.limits.answerBytesMax
  }

  async ask(body: Uint8Array): Promise<Uint8Array> {
    try {
      return await this.#ask(body)
    } catch (thrown) {
      const failure = asFailure(thrown, this.#lifeline.signal)
      // The others have no use any more.
      if (!this.#lifeline.signal.aborted) this.#lifeline.abort(failure)
      throw failure instanceof CallerGone ? failure : this.#asWhole(failure)
    }
  }

  async #ask(body: Uint8Array): Promise<Uint8Array> {
    const { upstream, path } = this.#attempt
    const response = await upstream.post(path, body, this.#lifeline, this.#call.passed)
    this.#lifeline.heard()
    if (!response.ok)
      throw await refusal(response, this.#attempt, this.#lifeline, this.#plant.clock)
    this.#hasSent = true
    const bytes = await readBody(response, this.#bytesLeft)
    this.#bytesLeft -= bytes.length
    return bytes
  }

  /** Of one piece that is refused nothing is known about the others. */
  #asWhole(failure: AttemptFailure): AttemptFailure {
    if (!this.#hasSent) return failure
    const { problem, isFinal, waitMs, isSpent } = failure
    return new AttemptFailure(problem, 'unknown', { isFinal, waitMs, isSpent })
  }
}

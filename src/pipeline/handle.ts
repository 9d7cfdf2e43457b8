// The whole life of a call on one screen. Stages are called in a straight line; every call that got as
// far as a hold is settled exactly once, whatever happens after it, and one that did not leaves a trace.
import { asGatewayError } from '../core/problem.ts'
import { CallerGone } from '../upstream/lifeline.ts'
import { admit } from './admit.ts'
import type { Held, Plant, Received } from './call.ts'
import { keepFailure, leaveClaim } from './claim.ts'
import { deliverStream, deliverUnary, recordLeaving } from './deliver.ts'
import { dispatchStream, dispatchUnary } from './dispatch.ts'
import { hold } from './hold.ts'
import { checkLengths } from './lengths.ts'
import { plan } from './plan.ts'
import { recordRefusal } from './refuse.ts'
import { settleFailed } from './settle.ts'
import { deliverSound, dispatchSound } from './sound.ts'

export async function handle(call: Received, plant: Plant): Promise<Response> {
  let held: Held
  try {
    const admitted = admit(call, plant)
    const planned = plan(admitted, plant)
    if (planned.facts.limited !== undefined)
      await checkLengths(planned, planned.facts.limited, plant)
    held = await hold(planned, plant)
  } catch (thrown) {
    call.claim?.release()
    recordRefusal(call, asGatewayError(thrown), plant)
    throw thrown
  }
  try {
    // Once a stream has begun, its delivery keeps the books itself.
    if (held.facts.answersSound === true)
      return deliverSound(held, await dispatchSound(held, plant), plant)
    if (held.facts.stream) return await deliverStream(held, dispatchStream(held, plant), plant)
    return await deliverUnary(held, await dispatchUnary(held, plant), plant)
  } catch (thrown) {
    // What goes wrong once the books are closed must not close them again.
    if (!held.operation.isEnding) throw await settleThrown(held, thrown, plant)
    held.claim?.release()
    throw thrown
  }
}

/** Resolves with what the caller is told. */
async function settleThrown(held: Held, thrown: unknown, plant: Plant): Promise<Error> {
  if (thrown instanceof CallerGone) {
    const leaving = recordLeaving(held, plant)
    leaveClaim(held)
    await leaving
    return thrown
  }
  const error = asGatewayError(thrown)
  const settling = settleFailed(held, error, plant)
  const told = keepFailure(held, error)
  await settling
  return told
}

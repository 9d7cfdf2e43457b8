// The whole life of a call on one screen. Stages are called in a straight line; every call that got as
// far as a hold is settled exactly once, whatever happens after it.
import { asGatewayError } from '../core/problem.ts'
import { CallerGone } from '../upstream/lifeline.ts'
import { admit } from './admit.ts'
import type { Plant, Received } from './call.ts'
import { deliverStream, deliverUnary, recordLeaving } from './deliver.ts'
import { dispatchStream, dispatchUnary, type UnaryAnswer } from './dispatch.ts'
import { hold } from './hold.ts'
import { plan } from './plan.ts'
import { settleFailed } from './settle.ts'

export async function handle(call: Received, plant: Plant): Promise<Response> {
  const admitted = admit(call, plant)
  const planned = plan(admitted, plant)
  const held = hold(planned, plant)
  let answer: UnaryAnswer
  try {
    // Once a stream has begun, its delivery keeps the books itself.
    if (held.facts.stream) return await deliverStream(held, dispatchStream(held, plant), plant)
    answer = await dispatchUnary(held, plant)
  } catch (thrown) {
    if (thrown instanceof CallerGone) await recordLeaving(held, plant)
    else await settleFailed(held, asGatewayError(thrown), plant)
    throw thrown
  }
  return deliverUnary(held, answer, plant)
}

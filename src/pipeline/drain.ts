// An answer whose caller has gone, read to its end: for the exact figure, where the operator wants it so or nothing
// else tells what was read, or for the retry that an Idempotency-Key announces; for so long, and so many at once.
// Beyond that the supplier is ended.
import type { Place } from '../core/chain.ts'
import type { Lifeline } from '../upstream/lifeline.ts'
import type { Held, Plant } from './call.ts'

const DRAIN_MS = 60_000

/** What is elsewhere, such as a file by its id, is of a length that only the supplier can tell. */
export function isDrained({ facts, claim }: Held, { policy }: Plant): boolean {
  if (policy.onDisconnect === 'drain' || facts.load.elsewhere !== undefined) return true
  return claim?.isKeeping === true
}

/** Lets an attempt outlive its caller. */
export function drain(lifeline: Lifeline, { key }: Held, { drains }: Plant): void {
  let place: Place | undefined
  lifeline.lingerWhile(() => {
    place ??= drains.join(key.accountId)
    return place !== undefined
  }, DRAIN_MS)
  lifeline.onRelease(() => place?.leave())
}

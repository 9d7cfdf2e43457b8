// An answer whose caller has gone, read to its end for the exact figure: where the operator wants it so, or where
// nothing else tells what was read; for so long, and so many at once. Beyond that the supplier is ended.
import type { Place } from '../core/chain.ts'
import type { Lifeline } from '../upstream/lifeline.ts'
import type { Held, Plant } from './call.ts'

const DRAIN_MS = 60_000
const DRAINS_MAX = 64

/** What is elsewhere, such as a file by its id, is of a length that only the supplier can tell. */
export function isDrained({ facts }: Held, { policy }: Plant): boolean {
  return policy.onDisconnect === 'drain' || facts.load.elsewhere !== undefined
}

/** Lets an attempt outlive its caller. */
export function drain(lifeline: Lifeline, { drains }: Plant): void {
  let place: Place | undefined
  lifeline.lingerWhile(() => {
    if (place === undefined && drains.size < DRAINS_MAX) place = drains.join(true)
    return place !== undefined
  }, DRAIN_MS)
  lifeline.onRelease(() => place?.leave())
}

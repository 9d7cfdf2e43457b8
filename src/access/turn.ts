// Changes to who may do what happen one after another. Two at once would each write back what the other has
// not seen, and memory could learn of an end before what it followed, and forget it.
import type { KeyRecord } from '../core/key.ts'
import type { Keyring } from './keyring.ts'

const lastTurns = new WeakMap<object, Promise<unknown>>()

/**
 * Does the work after all that was handed in before with the same ring, for whoever asks as he is by then: a body may
 * take its time, and a secret that has ended meanwhile changes nothing any more.
 */
export function inTurn<Result>(
  ring: Pick<Keyring, 'current'>,
  caller: KeyRecord,
  work: (actor: KeyRecord) => Promise<Result>,
): Promise<Result> {
  const before = lastTurns.get(ring) ?? Promise.resolve()
  const turn = before.then(() => work(ring.current(caller)))
  // A change that failed is its caller's affair; the next one goes on.
  lastTurns.set(
    ring,
    turn.catch(() => {}),
  )
  return turn
}

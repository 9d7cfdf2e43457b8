// Fixes the prices of the call before anything is sent. They are never looked up again, so a change in
// the middle of a call cannot touch its bill.
import type { Held, Planned } from './call.ts'

export function hold(call: Planned): Held {
  return { ...call, prices: call.attempts.map(({ route }) => route.price), tries: [] }
}

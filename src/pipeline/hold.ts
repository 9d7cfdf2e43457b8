// Fixes the prices of the call before anything is sent. They are never looked up again, so a change in
// the middle of a call cannot touch its bill.
import { priceAt } from '../ledger/price.ts'
import type { Held, Planned } from './call.ts'

export function hold(call: Planned): Held {
  const prices = call.attempts.map(({ route }) => priceAt(route.prices, call.at))
  return { ...call, prices, tries: [] }
}

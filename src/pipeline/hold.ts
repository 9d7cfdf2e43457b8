// Takes a place for the call and fixes its prices before anything is sent. They are never looked up
// again, so a change in the middle of a call cannot touch its bill.
import { priceAt } from '../ledger/price.ts'
import type { Held, Planned, Plant } from './call.ts'

export function hold(call: Planned, { gate, limits }: Plant): Held {
  const prices = call.attempts.map(({ route }) => priceAt(route.prices, call.at))
  return { ...call, prices, tries: [], slot: gate.enter(call.key.id, limits) }
}

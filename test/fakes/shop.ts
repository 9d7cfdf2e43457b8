// A gateway in front of one supplier that charges for every token of a call's maximum: what budgets are tried with.
import { startGateway, type Gateway } from './gateway.ts'
import type { FakeClock } from './clock.ts'
import { pricedAt, TOKEN_COST } from './prices.ts'
import { tidy } from './street.ts'
import { startFakeSupplier, type FakeSupplier, type Script } from './supplier.ts'

export const TOKENS = 100
/** What a call with that maximum costs: all of it. */
export const PRICE = TOKENS * TOKEN_COST

export interface Shop {
  readonly gateway: Gateway
  readonly supplier: FakeSupplier
}

export async function openShop(script: Script, clock?: FakeClock): Promise<Shop> {
  const supplier = tidy(await startFakeSupplier(script))
  const suppliers = [pricedAt(supplier.origin)]
  const options = clock === undefined ? { suppliers } : { suppliers, clock }
  return { gateway: tidy(await startGateway(options)), supplier }
}

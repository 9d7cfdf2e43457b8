// The assembly of the catalogue. Published dollar texts become whole pico-dollars a token here,
// once and exactly; a text that cannot be exact stops the start instead of being rounded.
import { parseUsd, toPicoUsd, type PicoUsd } from '../core/money.ts'
import type { Price, Rates } from '../core/usage.ts'
import { chatModels } from './data/chat.ts'
import type { CatalogueModel, CatalogueRoute, ModelRow, PriceText } from './model.ts'

// The sixth decimal of a dollar a million tokens is one pico-dollar a token, the finest unit.
const PRICE_TEXT = /^\d+(?:\.\d{1,6})?$/
// A nano-dollar is a thousand pico-dollars, shared by a million tokens.
const NANO_A_MILLION_FOR_ONE_PICO = 1000

export const catalogue: readonly CatalogueModel[] = assembleCatalogue(chatModels)

export function assembleCatalogue(rows: readonly ModelRow[]): readonly CatalogueModel[] {
  return rows.map((row) => {
    const price: Price = {
      ...toRates(row.price),
      ...(row.longContext && {
        longContext: { above: row.longContext.above, rates: toRates(row.longContext.price) },
      }),
    }
    return {
      id: row.id,
      ownedBy: row.ownedBy,
      kind: row.kind,
      contextWindow: row.contextWindow,
      outputCeiling: row.outputCeiling,
      price,
      priced: row.priced,
      suppliers: toRoutes(row, price),
    }
  })
}

/** `'0.15'` dollars a million tokens are 150,000 pico-dollars a token. */
export function toTokenPrice(dollarsPerMillion: string): PicoUsd {
  const nano = PRICE_TEXT.test(dollarsPerMillion) ? parseUsd(dollarsPerMillion) : undefined
  if (nano === undefined) {
    throw new RangeError(
      `'${dollarsPerMillion}' is no price: write dollars a million tokens with at most 6 decimals`,
    )
  }
  // No remainder: the pattern leaves at most six of the nine decimals that a nano-dollar has.
  return toPicoUsd(nano / NANO_A_MILLION_FOR_ONE_PICO)
}

function toRates(text: PriceText): Rates {
  return {
    input: toTokenPrice(text.input),
    ...(text.cachedInput !== undefined && { cachedInput: toTokenPrice(text.cachedInput) }),
    ...(text.cacheWrite !== undefined && { cacheWrite: toTokenPrice(text.cacheWrite) }),
    output: toTokenPrice(text.output),
  }
}

function toRoutes(row: ModelRow, price: Price): ReadonlyMap<string, CatalogueRoute> {
  const routes = new Map<string, CatalogueRoute>()
  for (const [supplier, route] of Object.entries(row.suppliers)) {
    const own = typeof route === 'string'
    routes.set(supplier, {
      as: own ? route : route.as,
      price: own ? price : toRates(route.price),
      priced: own ? row.priced : route.priced,
    })
  }
  return routes
}

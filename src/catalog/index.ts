// The assembly of the catalogue: rows as published in, exact prices out. It runs at the start, so a row
// that is wrong stops the start and says which one it is.
import type { PriceList } from '../core/usage.ts'
import { anthropicModels } from './data/anthropic.ts'
import { audioModels } from './data/audio.ts'
import { cohereModels } from './data/cohere.ts'
import { googleModels } from './data/google.ts'
import { mistralModels } from './data/mistral.ts'
import { openaiModels } from './data/openai.ts'
import { openWeightModels } from './data/open-weight.ts'
import { retrievalModels } from './data/retrieval.ts'
import { xaiModels } from './data/xai.ts'
import {
  thinkingOf,
  type CatalogueModel,
  type CatalogueRoute,
  type ModelRow,
  type RouteRow,
} from './model.ts'
import { parsePrice, raisePrices } from './price.ts'

export const catalogue: readonly CatalogueModel[] = assembleCatalogue([
  ...openaiModels,
  ...anthropicModels,
  ...googleModels,
  ...xaiModels,
  ...mistralModels,
  ...cohereModels,
  ...openWeightModels,
  ...retrievalModels,
  ...audioModels,
])

export function assembleCatalogue(rows: readonly ModelRow[]): readonly CatalogueModel[] {
  return rows.map((row) => {
    try {
      return toModel(row)
    } catch (thrown) {
      // The row is named here, because a price does not know whose it is.
      const reason = thrown instanceof Error ? thrown.message : String(thrown)
      throw new RangeError(`${row.id}: ${reason}`, { cause: thrown })
    }
  })
}

function toModel(row: ModelRow): CatalogueModel {
  const prices = parsePrice(row.price, row.kind)
  return {
    id: row.id,
    ownedBy: row.ownedBy,
    kind: row.kind,
    contextWindow: row.contextWindow,
    outputCeiling: row.outputCeiling,
    outputApart: row.outputApart ?? false,
    imageTokens: row.imageTokens,
    tokenizer: row.tokenizer,
    capabilities: row.capabilities,
    thinking: row.kind === 'chat' ? thinkingOf(row.capabilities, row.thinking) : undefined,
    sampling: row.sampling,
    leastThinking: row.leastThinking,
    refusedEfforts: row.refusedEfforts,
    prices,
    priced: row.priced,
    suppliers: new Map(
      Object.entries(row.suppliers).map(([supplier, route]) => [
        supplier,
        toRoute(row, prices, typeof route === 'string' ? { as: route } : route),
      ]),
    ),
  }
}

function toRoute(row: ModelRow, inherited: PriceList, route: RouteRow): CatalogueRoute {
  const prices = route.price === undefined ? inherited : parsePrice(route.price, row.kind)
  const besideTools = route.besideTools ?? row.besideTools ?? 'free'
  return {
    as: route.as,
    prices,
    priced: route.priced ?? row.priced,
    regional: new Map(
      Object.entries(route.uplift ?? {}).map(([region, percent]) => [
        region,
        raisePrices(prices, percent),
      ]),
    ),
    ...(besideTools !== 'free' && { besideTools }),
  }
}

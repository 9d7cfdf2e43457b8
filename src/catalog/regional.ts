// Routes that cost more where the supplier promises a place. The percents are published beside the
// prices, and hold for whole groups of models.
import type { RouteRow } from './model.ts'

/**
 * The maker's own regional endpoints: 10 % for models released on or after 2026-03-05
 * (https://developers.openai.com/api/docs/pricing, seen 2026-10-03).
 */
export function regional(as: string): RouteRow {
  return { as, uplift: { EU: 10, US: 10, AE: 10 } }
}

/**
 * Azure asks the maker's price worldwide, and a tenth more for deployments in a data zone
 * (https://prices.azure.com/api/retail/prices, seen 2026-09-24). The name is that of a deployment which
 * is called like its model.
 */
export function azure(as: string, percent = 10): RouteRow {
  return { as, uplift: { EU: percent, US: percent } }
}

/** A tenth more at the regional addresses of Mistral (docs.mistral.ai/studio/regional-inference, seen 2026-11). */
export function zoned(as: string): RouteRow {
  return { as, uplift: { EU: 10, US: 10 } }
}

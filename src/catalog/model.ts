// The contract of the catalogue: what a model is called, how much it holds and what it costs where.
// Rows keep prices as the published text; the assembly turns them into exact integers once.
import type { Price } from '../core/usage.ts'

export type ModelKind = 'chat'

/** Dollars a million tokens: `'0.15'`. A rate that is absent equals its plain neighbour. */
export interface PriceText {
  readonly input: string
  readonly cachedInput?: string
  readonly cacheWrite?: string
  readonly output: string
}

/** Where a price was published and the day it was last seen there. */
export interface Provenance {
  readonly source: string
  /** `YYYY-MM-DD`. */
  readonly date: string
  /** The last day of the price, where the page announces another one after it. */
  readonly until?: string
}

/** A supplier that asks another price than the row's own. */
export interface RouteRow {
  /** The supplier's own name for the model. */
  readonly as: string
  readonly price: PriceText
  readonly priced: Provenance
}

/** Rates for the whole call once its input is longer than `above` tokens. */
export interface LongContext {
  readonly above: number
  readonly price: PriceText
}

/** One line of a data file. */
export interface ModelRow {
  /** The maker's bare id. */
  readonly id: string
  readonly ownedBy: string
  readonly kind: ModelKind
  readonly contextWindow: number
  /** Most output tokens that one answer can have; the window where the maker names no limit. */
  readonly outputCeiling: number
  readonly price: PriceText
  readonly longContext?: LongContext
  readonly priced: Provenance
  /** Supplier ids to the supplier's own name, or to name and price where its price differs. */
  readonly suppliers: Readonly<Record<string, string | RouteRow>>
}

export interface CatalogueRoute {
  readonly as: string
  readonly price: Price
  readonly priced: Provenance
}

export interface CatalogueModel {
  readonly id: string
  readonly ownedBy: string
  readonly kind: ModelKind
  readonly contextWindow: number
  readonly outputCeiling: number
  /** The row's own price; a route may have another. */
  readonly price: Price
  readonly priced: Provenance
  readonly suppliers: ReadonlyMap<string, CatalogueRoute>
}

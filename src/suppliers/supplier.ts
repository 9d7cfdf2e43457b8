// The contract of a supplier: data, not code. An address, a signature, the dialects it speaks and
// where, its region, and what each model is called and costs there.
import type { Secret } from '../core/secret.ts'
import type { Price } from '../core/usage.ts'
import type { Dialect, UsageHabit } from '../dialects/dialect.ts'

export interface Service {
  readonly dialect: Dialect
  readonly path: string
}

export interface ModelRoute {
  /** The supplier's own name for the model. */
  readonly as: string
  readonly price: Price
  /** Who made the model, for the model listing. */
  readonly ownedBy: string
}

export interface Quirks {
  readonly usage: UsageHabit
}

export interface Supplier {
  readonly id: string
  /** Scheme, host and port; every request goes here and nowhere else. */
  readonly origin: string
  /** Where it runs the model; `global` when it does not promise a place. */
  readonly region: string
  readonly credential: Secret | undefined
  readonly services: readonly Service[]
  readonly quirks: Quirks
  /** Model ids to their routes. */
  readonly models: ReadonlyMap<string, ModelRoute>
  /** Set where any other id may be asked for by `<supplier>/<id>` at this price (a local server: free). */
  readonly anyModel: Price | undefined
  /** Plain http and private addresses are allowed: true for local servers alone. */
  readonly allowPrivate: boolean
}

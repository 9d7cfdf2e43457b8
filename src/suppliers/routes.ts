// Which suppliers serve which model, worked out once: a call finds its candidates with one look-up, and
// what is sent to each of them is ready but for the body.
import type { Dialect, Rewrite } from '../dialects/dialect.ts'
import type { Upstream } from '../upstream/client.ts'
import type { ModelRoute, Service, Supplier, Timeouts } from './supplier.ts'

/** One way to serve a model. */
export interface Candidate {
  /** The model's id as it is listed and as keys allow it. */
  readonly modelId: string
  readonly supplier: Supplier
  readonly route: ModelRoute
  /** One for each language that the supplier speaks. */
  readonly attempts: readonly Attempt[]
}

/** One supplier asked for one model in one language. */
export interface Attempt {
  readonly modelId: string
  readonly supplier: Supplier
  readonly route: ModelRoute
  readonly dialect: Dialect
  readonly path: string
  readonly rewrite: Rewrite
  readonly timeouts: Timeouts
  readonly upstream: Upstream
  readonly use: Use
}

/** When a call last had a supplier on its list for a model: tells whether anybody would miss it there. */
export interface Use {
  at: number
}

/** Names of models at an open supplier are the callers' own, so their number is bounded. */
const USES_MAX = 10_000

/** Outlives the routes: a change of the configuration does not change what was used. */
export class Uses {
  readonly #uses = new Map<string, Use>()

  of(supplier: string, model: string): Use {
    const name = JSON.stringify([supplier, model])
    const known = this.#uses.get(name)
    if (known !== undefined) return known
    const use = { at: 0 }
    if (this.#uses.size < USES_MAX) this.#uses.set(name, use)
    return use
  }
}

export interface ListedModel {
  readonly id: string
  readonly ownedBy: string
  /** Regions in which some supplier serves it. */
  readonly regions: readonly string[]
}

export interface Routes {
  /** Candidates in the order of the suppliers; undefined when nobody serves the model. */
  find(model: string): readonly Candidate[] | undefined
  readonly models: readonly ListedModel[]
}

/** What routes need of their surroundings. */
export interface RouteParts {
  readonly suppliers: readonly Supplier[]
  readonly upstreamOf: (supplier: Supplier) => Upstream
  readonly timeouts: Timeouts
  readonly uses: Uses
}

/**
 * A model is asked for by its own id, or by `<supplier>/<id>` at one supplier alone. An id that looks like
 * that is an id all the same: what a key may call must never depend on what else is served.
 */
export function buildRoutes(parts: RouteParts): Routes {
  const { suppliers } = parts
  const byId = new Map<string, Candidate[]>()
  const byPin = new Map<string, Candidate[]>()
  for (const supplier of suppliers)
    for (const [modelId, route] of supplier.models) {
      const candidate = createCandidate(modelId, supplier, route, parts)
      add(byId, modelId, candidate)
      add(byPin, `${supplier.id}/${modelId}`, candidate)
    }
  return {
    find: (model) => byId.get(model) ?? byPin.get(model) ?? findOpen(model, parts),
    models: listModels(byId),
  }
}

function add(candidates: Map<string, Candidate[]>, name: string, candidate: Candidate): void {
  const known = candidates.get(name)
  if (known === undefined) candidates.set(name, [candidate])
  else known.push(candidate)
}

function createCandidate(
  modelId: string,
  supplier: Supplier,
  route: ModelRoute,
  { timeouts, upstreamOf, uses }: RouteParts,
): Candidate {
  const upstream = upstreamOf(supplier)
  const use = uses.of(supplier.id, modelId)
  const toAttempt = ({ dialect, path }: Service): Attempt => ({
    modelId,
    supplier,
    route,
    dialect,
    path: path.includes('{model}') ? path.replace('{model}', encodeURIComponent(route.as)) : path,
    rewrite: { ...supplier.quirks, model: route.as },
    timeouts: { ...timeouts, ...supplier.timeouts, ...route.timeouts },
    upstream,
    use,
  })
  return { modelId, supplier, route, attempts: supplier.services.map(toAttempt) }
}

/** A local server knows models that no catalogue lists: its own name for them is what is asked for. */
function findOpen(model: string, parts: RouteParts): readonly Candidate[] | undefined {
  const slash = model.indexOf('/')
  const as = model.slice(slash + 1)
  if (slash < 0 || as === '') return undefined
  const id = model.slice(0, slash)
  const found = parts.suppliers.flatMap((supplier) => {
    if (supplier.id !== id || supplier.anyModel === undefined) return []
    const route = { as, prices: supplier.anyModel, ownedBy: supplier.id }
    return createCandidate(model, supplier, route, parts)
  })
  return found.length > 0 ? found : undefined
}

function listModels(byId: ReadonlyMap<string, readonly Candidate[]>): readonly ListedModel[] {
  return [...byId].map(([id, candidates]) => ({
    id,
    ownedBy: candidates[0]?.route.ownedBy ?? '',
    regions: [...new Set(candidates.map(({ supplier }) => supplier.region))],
  }))
}

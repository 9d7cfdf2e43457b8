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
  /** When it was last planned for; tells whether anybody would miss it. */
  lastAskedAt: number
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
}

/** A model is asked for by its own id, or by `<supplier>/<id>` at one supplier alone. */
export function buildRoutes(parts: RouteParts): Routes {
  const { suppliers } = parts
  const byName = new Map<string, Candidate[]>()
  const add = (name: string, candidate: Candidate): void => {
    const known = byName.get(name)
    if (known === undefined) byName.set(name, [candidate])
    else known.push(candidate)
  }
  for (const supplier of suppliers)
    for (const [modelId, route] of supplier.models) {
      const candidate = createCandidate(modelId, supplier, route, parts)
      add(modelId, candidate)
      add(`${supplier.id}/${modelId}`, candidate)
    }
  return {
    find: (model) => byName.get(model) ?? findOpen(model, parts),
    models: listModels(suppliers, byName),
  }
}

function createCandidate(
  modelId: string,
  supplier: Supplier,
  route: ModelRoute,
  { timeouts, upstreamOf }: RouteParts,
): Candidate {
  const upstream = upstreamOf(supplier)
  const toAttempt = ({ dialect, path }: Service): Attempt => ({
    modelId,
    supplier,
    route,
    dialect,
    path: path.replace('{model}', encodeURIComponent(route.as)),
    rewrite: { ...supplier.quirks, model: route.as },
    timeouts: { ...timeouts, ...supplier.timeouts, ...route.timeouts },
    upstream,
    lastAskedAt: 0,
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

function listModels(
  suppliers: readonly Supplier[],
  byName: ReadonlyMap<string, readonly Candidate[]>,
): readonly ListedModel[] {
  const ids = new Set(suppliers.flatMap((supplier) => [...supplier.models.keys()]))
  return [...ids].map((id) => {
    const candidates = byName.get(id) ?? []
    return {
      id,
      ownedBy: candidates[0]?.route.ownedBy ?? '',
      regions: [...new Set(candidates.map(({ supplier }) => supplier.region))],
    }
  })
}

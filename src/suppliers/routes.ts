// Which suppliers serve which model, worked out once: a call finds its candidates with one look-up.
import type { Dialect } from '../dialects/dialect.ts'
import type { ModelRoute, Service, Supplier } from './supplier.ts'

/** One way to serve a model. */
export interface Candidate {
  /** The model's id as it is listed and as keys allow it. */
  readonly modelId: string
  readonly supplier: Supplier
  readonly route: ModelRoute
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

/** A model is asked for by its own id, or by `<supplier>/<id>` at one supplier alone. */
export function buildRoutes(suppliers: readonly Supplier[]): Routes {
  const byName = new Map<string, Candidate[]>()
  const add = (name: string, candidate: Candidate): void => {
    const known = byName.get(name)
    if (known === undefined) byName.set(name, [candidate])
    else known.push(candidate)
  }
  for (const supplier of suppliers)
    for (const [modelId, route] of supplier.models) {
      const candidate = { modelId, supplier, route }
      add(modelId, candidate)
      add(`${supplier.id}/${modelId}`, candidate)
    }
  const open = new Map(
    suppliers.filter(({ anyModel }) => anyModel !== undefined).map((each) => [each.id, each]),
  )
  return {
    find: (model) => byName.get(model) ?? findOpen(open, model),
    models: listModels(suppliers, byName),
  }
}

/** A local server knows models that no catalogue lists: its own name for them is what is asked for. */
function findOpen(
  open: ReadonlyMap<string, Supplier>,
  model: string,
): readonly Candidate[] | undefined {
  const slash = model.indexOf('/')
  const supplier = slash < 0 ? undefined : open.get(model.slice(0, slash))
  const as = model.slice(slash + 1)
  if (supplier?.anyModel === undefined || as === '') return undefined
  const route = { as, price: supplier.anyModel, ownedBy: supplier.id }
  return [{ modelId: model, supplier, route }]
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

/** The supplier's service in the caller's own language. */
export function findService(supplier: Supplier, dialect: Dialect): Service | undefined {
  return supplier.services.find((service) => service.dialect.id === dialect.id)
}

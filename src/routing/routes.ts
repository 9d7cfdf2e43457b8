// Which suppliers serve which model, worked out once: a call finds its candidates with one look-up, and
// what is sent to each of them is ready but for the body.
import type { RegionTree } from '../catalog/regions.ts'
import type { Capability } from '../catalog/model.ts'
import type { Policy } from '../config/routing.ts'
import { hashSecret } from '../core/ids.ts'
import type { Task } from '../core/task.ts'
import type { Dialect, Rewrite } from '../dialects/dialect.ts'
import type { ModelRoute, Service, Signature, Supplier, Timeouts } from '../suppliers/supplier.ts'
import type { Upstream } from '../upstream/client.ts'
import type { Lane, Lanes } from './lane.ts'
import { Recall } from './recall.ts'

/** Everybody who may answer for a name, allowed or not. */
export interface Route {
  /** As it is asked for. */
  readonly name: string
  /** A key that has one of these on its list may ask for it: the name itself, what that is another name for, the model. */
  readonly names: readonly string[]
  /** When it was last asked for, where it is another name for something; undefined for a name of its own. */
  readonly aliasUse: Use | undefined
  readonly policy: Policy
  /** It goes to one supplier because that was asked for, however it does beside others. */
  readonly isNamed: boolean
  /** The gateway has chosen the model. */
  readonly isAuto: boolean
  /** Of the model itself in the order of the suppliers, then of each model that stands in for it. */
  readonly candidates: readonly Candidate[]
  /** Lists that were made before: most calls get one of few. */
  readonly verdicts: Recall<Verdict>
}

/** The one list of who may answer a call, in order, and why nobody else is on it. */
export interface Verdict {
  readonly attempts: readonly Attempt[]
  /** Of each candidate of the route. */
  readonly reasons: readonly number[]
  /** The first is who answered the session before. */
  readonly isPinned: boolean
  /** Everybody rests, and is asked all the same for want of anyone else. */
  readonly isLastResort: boolean
}

/** One way to serve a model. */
export interface Candidate {
  /** The model's id as it is listed and as keys allow it. */
  readonly modelId: string
  /** 0 for the model that was asked for, then one more for each that stands in for it. */
  readonly rank: number
  readonly supplier: Supplier
  /** The supplier's place in the configuration; its credentials share one. */
  readonly place: number
  /** Which of its supplier's credentials it is, from 1; undefined where there is but one. */
  readonly credential: number | undefined
  /** Where it runs, and all that this lies in. */
  readonly regions: ReadonlySet<string>
  readonly weight: number
  readonly route: ModelRoute
  readonly lane: Lane
  /** One for each language that the supplier speaks of the model, in the order in which they are preferred. */
  readonly attempts: readonly Attempt[]
}

/** One supplier asked for one model in one language. */
export interface Attempt {
  readonly candidate: Candidate
  readonly modelId: string
  readonly supplier: Supplier
  readonly route: ModelRoute
  readonly dialect: Dialect
  readonly path: string
  /** Where it counts the tokens of a request in this language; undefined where it does not. */
  readonly countPath: string | undefined
  /** How many inputs it takes at once; undefined: as many as anybody sends. */
  readonly inputsMax: number | undefined
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
  /** A key that has one of these on its list may ask for it. */
  readonly names: readonly string[]
  readonly ownedBy: string
  /** What it does: where it can be asked for. */
  readonly task: Task
  /** Regions in which some supplier serves it, and all that these lie in. */
  readonly regions: ReadonlySet<string>
  /** What it is another name for; undefined for a model of its own. */
  readonly aliasOf: string | undefined
}

export interface Routes {
  /** Undefined when nobody serves the model. */
  find(model: string): Route | undefined
  readonly models: readonly ListedModel[]
  readonly regions: RegionTree
}

/** What the operator wants of a model beside who serves it. */
export interface ModelWish {
  readonly policy?: Policy | undefined
  /** Ids of models that stand in for it, in order. */
  readonly fallbacks?: readonly string[] | undefined
}

/** What routes need of their surroundings. */
export interface RouteParts {
  readonly suppliers: readonly Supplier[]
  readonly upstreamOf: (supplier: Supplier, signature: Signature) => Upstream
  readonly timeouts: Timeouts
  readonly uses: Uses
  readonly lanes: Lanes
  readonly regions: RegionTree
  readonly policy: Policy
  readonly wishes: Readonly<Record<string, ModelWish>>
  /** Other names, and the model, or `<supplier>/<model>`, that each of them means. */
  readonly aliases: Readonly<Record<string, string>>
}

/**
 * A model is asked for by its own id, by another name for it, or by `<supplier>/<id>` at one supplier alone. An id
 * that looks like that is an id all the same: what a key may call must never depend on what else is served.
 */
export function buildRoutes(parts: RouteParts): Routes {
  const byId = new Map<string, Candidate[]>()
  const byPin = new Map<string, Candidate[]>()
  const places = placesOf(parts.suppliers)
  // Credentials of one supplier stand beside each other, whatever stood between them.
  for (const supplier of [...places.values()].flatMap(({ list }) => list))
    for (const [modelId, route] of supplier.models) {
      const candidate = createCandidate({ modelId, supplier, route, isOpen: false }, places, parts)
      add(byId, modelId, candidate)
      add(byPin, `${supplier.id}/${modelId}`, candidate)
    }
  const routes = new Map<string, Route>()
  for (const [name, candidates] of byPin)
    routes.set(name, { ...createRoute(name, candidates, parts), isNamed: true })
  for (const [name, own] of byId)
    routes.set(name, createRoute(name, [...own, ...standIns(name, byId, parts)], parts))
  const open = new OpenRoutes(parts, places)
  const find = (name: string): Route | undefined => routes.get(name) ?? open.find(name)
  const aliases = Object.entries(parts.aliases).flatMap(([alias, target]) => {
    const meant = find(alias) === undefined ? find(target) : undefined
    return meant === undefined ? [] : toAlias(alias, meant, parts)
  })
  for (const alias of aliases) routes.set(alias.name, alias)
  const models = [...byId.keys()].map((id) => toListed(routes.get(id)!, undefined))
  const others = aliases.map((alias) => toListed(alias, parts.aliases[alias.name]))
  return { find, models: [...models, ...others], regions: parts.regions }
}

function createRoute(name: string, candidates: readonly Candidate[], parts: RouteParts): Route {
  const { modelId } = candidates[0]!
  return {
    name,
    names: name === modelId ? [name] : [name, modelId],
    aliasUse: undefined,
    policy: parts.wishes[modelId]?.policy ?? parts.policy,
    isNamed: false,
    isAuto: false,
    candidates,
    verdicts: new Recall(),
  }
}

/** Another name for the same lists. */
function toAlias(name: string, meant: Route, { uses }: RouteParts): Route {
  return { ...meant, name, names: [name, ...meant.names], aliasUse: uses.of('', name) }
}

/** Those who serve the models that stand in for one, each model after the other. */
function standIns(
  model: string,
  byId: ReadonlyMap<string, readonly Candidate[]>,
  { wishes }: RouteParts,
): readonly Candidate[] {
  const models = wishes[model]?.fallbacks ?? []
  return models.flatMap((id, index) => {
    const own = byId.get(id) ?? []
    return own.map((candidate) => withRank(candidate, index + 1))
  })
}

/** Attempts know their candidate, so a copy needs copies of them. */
function withRank(candidate: Candidate, rank: number): Candidate {
  const attempts: Attempt[] = []
  const copy: Candidate = { ...candidate, rank, attempts }
  for (const attempt of candidate.attempts) attempts.push({ ...attempt, candidate: copy })
  return copy
}

function add(candidates: Map<string, Candidate[]>, name: string, candidate: Candidate): void {
  const known = candidates.get(name)
  if (known === undefined) candidates.set(name, [candidate])
  else known.push(candidate)
}

/** How many credentials each supplier has, and its place in the configuration. */
type Places = ReadonlyMap<string, { readonly place: number; readonly list: readonly Supplier[] }>

function placesOf(suppliers: readonly Supplier[]): Places {
  const byId = Map.groupBy(suppliers, ({ id }) => id)
  return new Map([...byId].map(([id, list], place) => [id, { place, list }]))
}

interface Served {
  readonly modelId: string
  readonly supplier: Supplier
  readonly route: ModelRoute
  /** Only callers know the model. */
  readonly isOpen: boolean
}

function createCandidate(served: Served, places: Places, parts: RouteParts): Candidate {
  const { modelId, supplier, route, isOpen } = served
  const { place, list } = places.get(supplier.id)!
  const attempts: Attempt[] = []
  const candidate: Candidate = {
    modelId,
    rank: 0,
    supplier,
    place,
    credential: list.length > 1 ? list.indexOf(supplier) + 1 : undefined,
    regions: parts.regions.placesOf(supplier.region),
    weight: route.weight ?? supplier.weight ?? 1,
    route,
    lane: laneOf(served, parts),
    attempts,
  }
  for (const service of servicesFor(supplier, route, isOpen))
    attempts.push(createAttempt(candidate, service, parts))
  return candidate
}

/** What is known of one way, with what a sign-in may be used for now. */
function laneOf({ modelId, supplier, isOpen }: Served, { lanes }: RouteParts): Lane {
  const { identity } = supplier
  const name = accountOf(supplier)
  if (identity === undefined) return lanes.of(name, modelId, isOpen)
  const lane = lanes.ofSignIn(name, modelId)
  lane.account.parallelMax = identity.parallelMax ?? Number.POSITIVE_INFINITY
  lane.account.requestsPerMinute = identity.requestsPerMinute
  return lane
}

/** Those for what the model does, in the order in which they are preferred; what only callers know may do anything. */
function servicesFor(supplier: Supplier, route: ModelRoute, isOpen: boolean): readonly Service[] {
  if (isOpen) return supplier.services
  const { dialects, task = 'chat' } = route
  const services = supplier.services.filter(({ dialect }) => (dialect.task ?? 'chat') === task)
  if (dialects === undefined) return services
  return dialects.flatMap((id) => services.filter(({ dialect }) => dialect.id === id))
}

/** What a supplier's account is known by from one configuration to the next; of its secret only a digest. */
function accountOf({ id, origin, region, credential, identity }: Supplier): string {
  // Its tokens come and go.
  if (identity !== undefined) return JSON.stringify([id, origin, region, identity.id])
  const secret = credential === undefined ? '' : hashSecret(credential.reveal())
  return JSON.stringify([id, origin, region, secret])
}

function createAttempt(
  candidate: Candidate,
  { dialect, path, countPath, inputsMax, signature, quirks }: Service,
  parts: RouteParts,
): Attempt {
  const { modelId, supplier, route } = candidate
  return {
    candidate,
    modelId,
    supplier,
    route,
    dialect,
    path: withModel(path, route.as),
    countPath: countPath === undefined ? undefined : withModel(countPath, route.as),
    inputsMax,
    rewrite: { ...(quirks ?? supplier.quirks), model: route.as },
    timeouts: { ...parts.timeouts, ...supplier.timeouts, ...route.timeouts },
    upstream: parts.upstreamOf(supplier, signature ?? supplier.signature),
    use: parts.uses.of(supplier.id, modelId),
  }
}

function withModel(path: string, name: string): string {
  return path.includes('{model}') ? path.replace('{model}', encodeURIComponent(name)) : path
}

/** Routes that are kept for names which only callers know. */
const OPEN_MAX = 1_000

/** A local server knows models that no catalogue lists: its own name for them is what is asked for. */
class OpenRoutes {
  readonly #parts: RouteParts
  readonly #places: Places
  readonly #routes = new Map<string, Route>()

  constructor(parts: RouteParts, places: Places) {
    this.#parts = parts
    this.#places = places
  }

  find(model: string): Route | undefined {
    const slash = model.indexOf('/')
    if (slash < 0 || slash === model.length - 1) return undefined
    const known = this.#routes.get(model)
    if (known !== undefined) return known
    const candidates = this.#candidates(model, model.slice(0, slash), model.slice(slash + 1))
    if (candidates.length === 0) return undefined
    const route = createRoute(model, candidates, this.#parts)
    if (this.#routes.size >= OPEN_MAX) this.#routes.clear()
    this.#routes.set(model, route)
    return route
  }

  #candidates(modelId: string, id: string, as: string): readonly Candidate[] {
    return this.#parts.suppliers.flatMap((supplier) => {
      if (supplier.id !== id || supplier.anyModel === undefined) return []
      const route = { as, prices: supplier.anyModel, ownedBy: supplier.id }
      const served = { modelId, supplier, route, isOpen: true }
      return createCandidate(served, this.#places, this.#parts)
    })
  }
}

/** Where it is served itself: what stands in for it elsewhere is another model. */
function toListed({ name, names, candidates }: Route, aliasOf: string | undefined): ListedModel {
  const own = candidates.filter(({ rank }) => rank === 0)
  const regions = new Set(own.flatMap((candidate) => [...candidate.regions]))
  const { ownedBy, task = 'chat' } = own[0]!.route
  return { id: name, names, ownedBy, task, regions, aliasOf }
}

/** What a model is known to lack; nothing is known of one without a list. */
export function lacks({ route }: Candidate, capability: Capability): boolean {
  return route.capabilities?.includes(capability) === false
}

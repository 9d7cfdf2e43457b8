// Which models a configured supplier serves, what they are called and cost there, how much they hold and
// how long they may take. A model without a price is not served: what nobody has priced would be given away.
import type { BesideTools, CatalogueModel, CatalogueRoute } from '../catalog/model.ts'
import { readPrice } from '../catalog/merge.ts'
import { FREE } from '../catalog/price.ts'
import type { RegionTree } from '../catalog/regions.ts'
import { ConfigFault, Faults, type ConfigPath } from '../config/fault.ts'
import { findClosest } from '../config/names.ts'
import type { Config, SupplierConfig, TimeoutsConfig } from '../config/schema.ts'
import type { ModelLimits } from '../core/load.ts'
import type { Task } from '../core/task.ts'
import type { PriceList } from '../core/usage.ts'
import { openaiChat } from '../dialects/openai-chat/index.ts'
import { openaiResponses } from '../dialects/openai-responses/index.ts'
import type { Kind } from './kind.ts'
import type { ModelRoute, Supplier, Timeouts } from './supplier.ts'

export interface RouteSource {
  readonly id: string
  readonly kind: Kind
  /** Those of the version that was chosen. */
  readonly services: Kind['services']
  readonly config: SupplierConfig
  readonly path: ConfigPath
  readonly region: string
  readonly regions: RegionTree
  readonly models: Config['models']
  readonly catalogue: readonly CatalogueModel[]
}

type Entry = NonNullable<NonNullable<SupplierConfig['models']>[string]>

/** The models that the file names, or all that the catalogue knows to be there. */
export function findRoutes(source: RouteSource): ReadonlyMap<string, ModelRoute> {
  const { config, catalogue, kind } = source
  const known = new Map(catalogue.map((model) => [model.id, model]))
  const routes = new Map<string, ModelRoute>()
  if (config.models !== undefined) {
    const faults = new Faults()
    for (const [id, entry] of Object.entries(config.models)) {
      const route = faults.collect(() => namedRoute(source, id, entry ?? {}, known.get(id)))
      if (route !== undefined) routes.set(id, route)
    }
    if (!faults.isEmpty) throw faults.gather()
    return routes
  }
  if (kind.servesOwn === true) return routes
  for (const model of catalogue) {
    const route = routeOf(model, kind)
    if (route !== undefined && isServed(model, source.services))
      routes.set(model.id, listedRoute(source, model, route))
  }
  return routes
}

/** What the catalogue knows of the model at suppliers of the kind. */
function routeOf(model: CatalogueModel, { id, listedAs = id }: Kind): CatalogueRoute | undefined {
  return model.suppliers.get(listedAs)
}

/** Some service is for what the model does. */
export function isServed(
  { kind }: Pick<CatalogueModel, 'kind'>,
  services: Kind['services'],
): boolean {
  return services.some(({ dialect }) => (dialect.task ?? 'chat') === kind)
}

export function taskOf({ kind }: Pick<CatalogueModel, 'kind'>): Pick<ModelRoute, 'task'> {
  return kind === 'chat' ? {} : { task: kind }
}

function listedRoute(
  source: RouteSource,
  model: CatalogueModel,
  route: CatalogueRoute,
): ModelRoute {
  return {
    as: route.as,
    prices: cataloguePrices(source, route),
    ownedBy: model.ownedBy,
    ...taskOf(model),
    limits: limitsOf(model),
    ...abilitiesOf(model, route, source.services),
    ...timesOf(source, model.id, {}),
  }
}

function namedRoute(
  source: RouteSource,
  id: string,
  entry: Entry,
  model: CatalogueModel | undefined,
): ModelRoute {
  if (!isServed(model ?? UNKNOWN, source.services)) throw unserved(source, id, model)
  const route = model && routeOf(model, source.kind)
  return {
    as: entry.as ?? route?.as ?? id,
    prices: pricesOf(source, id, entry, model),
    ownedBy: model?.ownedBy ?? source.id,
    ...(model !== undefined && {
      ...taskOf(model),
      limits: limitsOf(model, route === undefined ? habitsOf(source, id) : model),
      ...abilitiesOf(model, route, source.services),
    }),
    ...(entry.weight !== undefined && { weight: entry.weight }),
    ...timesOf(source, id, entry),
  }
}

/** A model that neither the catalogue nor the file describes chats. */
const UNKNOWN: Pick<CatalogueModel, 'kind'> = { kind: 'chat' }

function unserved(
  { path, services }: RouteSource,
  id: string,
  model: CatalogueModel | undefined,
): ConfigFault {
  const place = [...path, 'models', id]
  if (model !== undefined)
    return new ConfigFault(
      place,
      `is a model for ${model.kind}, which no service of this supplier offers: remove it`,
    )
  const tasks = [...new Set(services.map(({ dialect }) => dialect.task ?? 'chat'))]
  return new ConfigFault(
    place,
    `is a model of which nobody says what it does, and this supplier has no chats: write models: and below it ${id}: with kind: ${tasks.join(' or kind: ')}`,
  )
}

type Abilities = Pick<
  ModelRoute,
  | 'capabilities'
  | 'reasoning'
  | 'samples'
  | 'leastThinking'
  | 'refusedEfforts'
  | 'besideTools'
  | 'dialects'
>

/** What a model can do, how it is told to think and what it refuses to be told: wherever it runs, but for tools. */
export function abilitiesOf(
  model: CatalogueModel,
  route: CatalogueRoute | undefined,
  services: Kind['services'],
): Abilities {
  // What these can do is what they are for, and what they give is not beside it.
  if (model.kind !== 'chat') return {}
  const { capabilities, thinking, sampling, leastThinking, refusedEfforts } = model
  const besideTools = besideToolsIn(services, route)
  const dialects = besideTools && dialectsFor(besideTools, services)
  const isRefused = besideTools === 'refused'
  const takesTools = !isRefused || dialects !== undefined
  return {
    capabilities: takesTools ? capabilities : capabilities.filter((each) => each !== 'tools'),
    ...(thinking !== undefined && { reasoning: thinking }),
    ...(sampling === 'fixed' && { samples: false }),
    ...(leastThinking !== undefined && { leastThinking }),
    ...(refusedEfforts !== undefined && { refusedEfforts }),
    ...(!isRefused && besideTools !== undefined && { besideTools }),
    ...(dialects !== undefined && { dialects }),
  }
}

/** It is a matter of chats, and nothing to whoever speaks none. */
function besideToolsIn(
  services: Kind['services'],
  route: CatalogueRoute | undefined,
): BesideTools | undefined {
  const hasChats = services.some(({ dialect }) => dialect.id === openaiChat.id)
  return hasChats ? route?.besideTools : undefined
}

/**
 * A model that does not reason beside tools in chats does both in the language that its maker made for it, so that it is
 * spoken to in that one where there is a choice; and in chats not at all where these take no tools.
 */
function dialectsFor(
  besideTools: BesideTools,
  services: Kind['services'],
): readonly string[] | undefined {
  const ids = services.flatMap(({ dialect }) => (dialect.task === undefined ? dialect.id : []))
  if (!ids.includes(openaiResponses.id)) return undefined
  const unwanted = new Set([
    openaiResponses.id,
    ...(besideTools === 'refused' ? [openaiChat.id] : []),
  ])
  return [openaiResponses.id, ...ids.filter((id) => !unwanted.has(id))]
}

type Habits = Pick<CatalogueModel, 'outputCeiling' | 'imageTokens'>

/**
 * Of a supplier that the catalogue does not know for the model: a window belongs to the model wherever it
 * runs, but how much is put out and what an image counts for is up to whoever runs it.
 */
function habitsOf({ models }: RouteSource, id: string): Habits {
  const { output_ceiling: outputCeiling, image_tokens: imageTokens } = models[id] ?? {}
  return { outputCeiling, imageTokens }
}

/** What bounds the cost of a call to a model. */
export function limitsOf(model: CatalogueModel, habits: Habits = model): ModelLimits {
  const { contextWindow, outputApart, tokenizer } = model
  const { outputCeiling, imageTokens } = habits
  // A window of these is that of one input, and a call may hold many.
  if (model.kind !== 'chat')
    return {
      ...(outputCeiling !== undefined && { outputCeiling }),
      ...(tokenizer !== undefined && { tokenizer }),
    }
  const apart = outputApart ? (model.outputCeiling ?? 0) : 0
  return {
    ...(contextWindow !== undefined && { contextWindow: contextWindow + apart }),
    ...(outputCeiling !== undefined && { outputCeiling }),
    ...(imageTokens !== undefined && { imageTokens }),
    ...(tokenizer !== undefined && { tokenizer }),
  }
}

/** The supplier's own line, or whatever else is known. */
function pricesOf(
  source: RouteSource,
  id: string,
  entry: Entry,
  model: CatalogueModel | undefined,
): PriceList {
  const place = [...source.path, 'models', id, 'price']
  if (source.config.billing === 'subscription') return subscribed(entry, place)
  if (entry.price !== undefined) return readPrice(entry.price, model?.kind ?? 'chat', place)
  const known = model === undefined ? undefined : knownPrices(source, model)
  if (known !== undefined) return known
  throw new ConfigFault(
    place,
    `is missing, and nobody knows what ${id} costs at this supplier: ${meantBy(id, source)}write ${RATES[model?.kind ?? 'chat']}, or price: free`,
  )
}

/** What the price of a model is made of. */
const RATES: Readonly<Record<Task, string>> = {
  chat: 'input: and output: in dollars for a million tokens',
  embedding: 'input: in dollars for a million tokens, and output: 0',
  rerank:
    'search: in dollars for a thousand searches, or input: for a million tokens and output: 0',
  transcription: 'minute: in dollars for a minute of sound',
  speech: 'character: in dollars for a million characters',
}

/** Whoever signs in has paid already, and a call costs nothing beside that. */
function subscribed({ price }: Entry, place: ConfigPath): PriceList {
  if (price === undefined || price === 'free') return FREE
  throw new ConfigFault(
    place,
    'stands below billing: subscription, by which calls cost nothing: remove one of the two',
  )
}

/** A model that its kind is known to serve, where the name looks like a slip. */
function meantBy(id: string, { kind, catalogue, services }: RouteSource): string {
  const isUnlisted = kind.servesOwn === true && kind.listedAs === undefined
  if (isUnlisted || catalogue.some((model) => model.id === id)) return ''
  const served = catalogue.filter(
    (model) => isServed(model, services) && routeOf(model, kind) !== undefined,
  )
  const ids = served.map((model) => model.id)
  const closest = findClosest(id, ids)
  return closest === undefined ? '' : `did you mean ${closest}? If not, `
}

/** What the catalogue knows of this kind, or what the file says of the model wherever it is served. */
function knownPrices(source: RouteSource, model: CatalogueModel): PriceList | undefined {
  const route = routeOf(model, source.kind)
  if (route !== undefined) return cataloguePrices(source, route)
  // The maker's price is no other supplier's; only the operator may say that it holds everywhere.
  return source.models[model.id]?.price === undefined ? undefined : model.prices
}

/** A place costs what the smallest region around it costs that has a price of its own. */
function cataloguePrices({ region, regions }: RouteSource, route: CatalogueRoute): PriceList {
  return regions.findNearest(region, route.regional) ?? route.prices
}

function timesOf(
  { models }: RouteSource,
  id: string,
  entry: Entry,
): { readonly timeouts?: Partial<Timeouts> } {
  const timeouts = { ...toTimeouts(models[id]?.timeouts), ...toTimeouts(entry.timeouts) }
  return Object.keys(timeouts).length === 0 ? {} : { timeouts }
}

const MS_A_SECOND = 1000

export function toTimeouts(config: TimeoutsConfig | undefined): Partial<Timeouts> {
  const { total, first_byte: firstByte, first_content: firstContent, idle } = config ?? {}
  return {
    ...(total !== undefined && { unaryMs: total * MS_A_SECOND }),
    ...(firstByte !== undefined && { firstByteMs: firstByte * MS_A_SECOND }),
    ...(firstContent !== undefined && { firstContentMs: firstContent * MS_A_SECOND }),
    ...(idle !== undefined && { idleMs: idle * MS_A_SECOND }),
  }
}

/** What the file says of models holds for suppliers that it does not name, too. */
export function withTimeouts(supplier: Supplier, models: Config['models']): Supplier {
  const routes = [...supplier.models].map(([id, route]) => {
    const timeouts = toTimeouts(models[id]?.timeouts)
    return [id, { ...route, timeouts: { ...timeouts, ...route.timeouts } }] as const
  })
  return { ...supplier, models: new Map(routes) }
}

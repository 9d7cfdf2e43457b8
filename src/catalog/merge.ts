// What the operator's `models:` changes in the catalogue. The file has the last word: a price that stands
// there is what is charged, at every supplier and in every region, unless the supplier's own entry says
// something else.
import { ConfigFault, type ConfigPath } from '../config/fault.ts'
import type { Config, ModelConfig, PriceConfig } from '../config/schema.ts'
import type { PriceList } from '../core/usage.ts'
import {
  thinkingOf,
  type Capability,
  type CatalogueModel,
  type CatalogueRoute,
  type ModelKind,
  type PriceRow,
  type PriceText,
  type Provenance,
  type Thinking,
} from './model.ts'
import { FREE, parsePrice, PriceError } from './price.ts'

/** The operator answers for it; the day is that of the file. */
const CONFIGURED: Provenance = { source: 'configuration', date: '' }

// Nothing is known of a model that only the file names, so nothing is ruled out.
const ANYTHING: readonly Capability[] = ['tools', 'images', 'audio', 'json', 'reasoning']

/** The file's names of rates, and ours. */
const NAMES = {
  input: 'input',
  cached_input: 'cachedInput',
  cache_write: 'cacheWrite',
  cache_write_long: 'cacheWriteLong',
  audio_input: 'audioInput',
  output: 'output',
  reasoning: 'reasoning',
  audio_output: 'audioOutput',
  search: 'search',
  character: 'character',
  minute: 'minute',
} as const

type FileRate = keyof typeof NAMES
type RateName = (typeof NAMES)[FileRate]
type RateTexts = { -readonly [Name in RateName]?: string }
type PricePart = Exclude<PriceConfig, 'free' | readonly unknown[]>

/** Models that the file names and the catalogue does not know come last. Throws a `ConfigFault`. */
export function overrideCatalogue(
  catalogue: readonly CatalogueModel[],
  models: Config['models'],
): readonly CatalogueModel[] {
  const merged = new Map(catalogue.map((model) => [model.id, model]))
  for (const [id, config] of Object.entries(models)) {
    const known = merged.get(id)
    merged.set(id, known === undefined ? createModel(id, config) : changeModel(known, config))
  }
  return [...merged.values()]
}

/** The prices of a `price:` anywhere in the file; `path` is where it stands there. */
export function readPrice(price: PriceConfig, kind: ModelKind, path: ConfigPath): PriceList {
  if (price === 'free') return FREE
  try {
    return parsePrice(toRow(price), kind)
  } catch (thrown) {
    // The border to the file: its own names and the whole path instead of ours.
    if (thrown instanceof PriceError)
      throw new ConfigFault([...path, ...thrown.path.map(toFileName)], thrown.message)
    throw thrown
  }
}

function createModel(id: string, config: ModelConfig): CatalogueModel {
  const kind = config.kind ?? 'chat'
  return {
    id,
    ownedBy: config.owned_by ?? 'operator',
    kind,
    ...limitsOf(id, config, undefined),
    capabilities: config.capabilities ?? (kind === 'chat' ? ANYTHING : []),
    thinking: readThinking(config, kind, undefined),
    sampling: undefined,
    leastThinking: undefined,
    refusedEfforts: undefined,
    prices: pricesOf(id, config, kind),
    priced: CONFIGURED,
    suppliers: new Map(),
  }
}

function changeModel(known: CatalogueModel, config: ModelConfig): CatalogueModel {
  const { id } = known
  const kind = config.kind ?? known.kind
  const prices = pricesOf(id, config, kind)
  if (kind !== known.kind && prices === undefined)
    throw new ConfigFault(
      ['models', id, 'kind'],
      `is ${known.kind} in the catalogue, and so is its price: add price: for a ${kind} model`,
    )
  return {
    id,
    ownedBy: config.owned_by ?? known.ownedBy,
    kind,
    ...limitsOf(id, config, known),
    capabilities: config.capabilities ?? known.capabilities,
    thinking: readThinking(config, kind, known.thinking),
    sampling: known.sampling,
    leastThinking: known.leastThinking,
    refusedEfforts: known.refusedEfforts,
    prices: prices ?? known.prices,
    priced: prices === undefined ? known.priced : CONFIGURED,
    suppliers: routesOf(known, config, prices),
  }
}

/** Who lists tools among what a model can do knows better than the catalogue, which says that nobody takes them. */
function routesOf(
  { suppliers }: CatalogueModel,
  { capabilities = [] }: ModelConfig,
  prices: PriceList | undefined,
): CatalogueModel['suppliers'] {
  const routes = prices === undefined ? suppliers : priceRoutes(suppliers, prices)
  if (!capabilities.includes('tools')) return routes
  return new Map([...routes].map(([supplier, route]) => [supplier, takingTools(route)]))
}

function takingTools(route: CatalogueRoute): CatalogueRoute {
  const { besideTools, ...free } = route
  return besideTools === 'refused' ? free : route
}

/** Of a model of which nobody says what it can do nothing is known: it might refuse to be told. */
function readThinking(
  { capabilities }: ModelConfig,
  kind: ModelKind,
  known: Thinking | undefined,
): Thinking | undefined {
  if (kind !== 'chat') return undefined
  return capabilities === undefined ? known : thinkingOf(capabilities, known)
}

function pricesOf(id: string, config: ModelConfig, kind: ModelKind): PriceList | undefined {
  if (config.price === undefined) return undefined
  return readPrice(config.price, kind, ['models', id, 'price'])
}

function priceRoutes(
  routes: CatalogueModel['suppliers'],
  prices: PriceList,
): CatalogueModel['suppliers'] {
  const price = (route: CatalogueRoute): CatalogueRoute => ({
    ...route,
    prices,
    priced: CONFIGURED,
    regional: new Map(),
  })
  return new Map([...routes].map(([supplier, route]) => [supplier, price(route)]))
}

type Size = Pick<
  CatalogueModel,
  'contextWindow' | 'outputCeiling' | 'outputApart' | 'imageTokens' | 'tokenizer'
>

function limitsOf(id: string, config: ModelConfig, known: Size | undefined): Size {
  const contextWindow = config.context_window ?? known?.contextWindow
  return {
    contextWindow,
    outputCeiling:
      ceilingOf(id, config, contextWindow) ?? lower(known?.outputCeiling, contextWindow),
    // A window that the file states is that of both.
    outputApart: config.context_window === undefined && known?.outputApart === true,
    imageTokens: config.image_tokens ?? known?.imageTokens,
    tokenizer: known?.tokenizer,
  }
}

function ceilingOf(
  id: string,
  { output_ceiling: stated }: ModelConfig,
  contextWindow = Infinity,
): number | undefined {
  if (stated === undefined || stated <= contextWindow) return stated
  throw new ConfigFault(
    ['models', id, 'output_ceiling'],
    `is more than the ${contextWindow} tokens of the context window: lower it, or raise context_window`,
  )
}

/** A smaller window lowers the ceiling that the catalogue knows; one that the file states must fit. */
function lower(ceiling: number | undefined, contextWindow = Infinity): number | undefined {
  return ceiling === undefined ? undefined : Math.min(ceiling, contextWindow)
}

function toRow(price: Exclude<PriceConfig, 'free'>): PriceRow {
  return Array.isArray(price) ? price.map(toText) : toText(price)
}

function toText(part: PricePart): PriceText & { readonly from?: string } {
  const { from, long_context: long } = part
  return {
    ...toRates(part),
    ...(from !== undefined && { from }),
    ...(long !== undefined && { longContext: { above: long.above, ...toRates(long) } }),
  }
}

function toRates(part: { readonly [Name in FileRate]?: string | undefined }): RateTexts {
  const rates: RateTexts = {}
  for (const name of FILE_RATES) {
    const text = part[name]
    if (text !== undefined) rates[NAMES[name]] = text
  }
  return rates
}

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of a record are its keys
const FILE_RATES = Object.keys(NAMES) as readonly FileRate[]

function toFileName(step: string | number): string | number {
  return typeof step === 'number'
    ? step
    : step.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

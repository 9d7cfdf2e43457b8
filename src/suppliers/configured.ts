// Suppliers of the configuration: a kind, an account, and what the operator knows better. Pure; whatever
// cannot be is a fault with its place in the file and what to write instead.
import type { CatalogueModel } from '../catalog/model.ts'
import { FREE } from '../catalog/price.ts'
import type { RegionTree } from '../catalog/regions.ts'
import { ConfigFault, Faults, type ConfigPath } from '../config/fault.ts'
import { findForeignKind } from '../config/habits.ts'
import { findClosest } from '../config/names.ts'
import type { Config, SupplierConfig } from '../config/schema.ts'
import { NO_PLACE } from '../core/region.ts'
import type { Secret } from '../core/secret.ts'
import type { Dialect } from '../dialects/dialect.ts'
import type { QuirkFault, Quirks, RerankShape } from '../dialects/quirk.ts'
import { checkOrigin, type Origin } from '../upstream/address.ts'
import { kindIds, kinds, nativeKinds } from './index.ts'
import { toServices, type Kind, type KindService, type KindVersion } from './kind.ts'
import { findRoutes, toTimeouts } from './models.ts'
import { findSignIns } from './native.ts'
import type { Supplier } from './supplier.ts'

export interface ConfigureParts {
  readonly catalogue: readonly CatalogueModel[]
  readonly regions: RegionTree
}

/** In the order of the file; one with several credentials once for each of them. Throws a `ConfigFault`. */
export function configureSuppliers(config: Config, parts: ConfigureParts): readonly Supplier[] {
  return Object.entries(config.suppliers).flatMap(([id, supplier]) =>
    configure({ id, config: supplier, path: ['suppliers', id] }, config.models, parts),
  )
}

interface Entry {
  readonly id: string
  readonly config: SupplierConfig
  readonly path: ConfigPath
}

function configure(
  entry: Entry,
  models: Config['models'],
  { catalogue, regions }: ConfigureParts,
): readonly Supplier[] {
  const { id, config, path } = entry
  const kind = findKind(entry)
  const faults = new Faults()
  const version = faults.collect(() => findVersion(kind, entry))
  const address = faults.collect(() => findAddress(kind, entry))
  const region = config.region ?? NO_PLACE
  const allowPrivate = isPrivateAllowed(kind, config)
  const isOpen = isOwn(kind, allowPrivate) && config.models === undefined
  const routes = faults.collect(() => {
    const { services } = version ?? kind
    const source = { id, kind, services, config, path, region, regions, models, catalogue }
    const found = findRoutes(source)
    if (found.size === 0 && !isOpen) throw noModels(kind, entry)
    return found
  })
  const services = faults.collect(() => mergeServices(version ?? kind, entry, address))
  const credentials = faults.collect(() => findCredentials(kind, entry))
  const signIns = faults.collect(() => findSignIns({ kind, config, path, allowPrivate }))
  if (!version || !address || !routes || !services || !credentials || !signIns)
    throw faults.gather()
  const supplier = {
    id,
    origin: address.origin,
    region,
    ...toServices(services),
    timeouts: toTimeouts(config.timeouts),
    models: routes,
    anyModel: isOpen ? FREE : undefined,
    allowPrivate,
    ...(config.weight !== undefined && { weight: config.weight }),
    ...signIns,
  }
  return credentials.map((credential) => ({ ...supplier, credential }))
}

function findKind({ config, path }: Entry): Kind {
  const kind = [...kinds, ...nativeKinds].find(({ id }) => id === config.kind)
  if (kind !== undefined) return kind
  const closest = findForeignKind(config.kind, kindIds) ?? findClosest(config.kind, kindIds)
  const hint = closest === undefined ? '' : ` (did you mean ${closest}?)`
  throw new ConfigFault(
    [...path, 'kind'],
    `is no known kind${hint}: write one of ${kindIds.join(', ')}; openai-compatible is for any other server of that language, anthropic-compatible for one that speaks messages`,
  )
}

function findVersion(kind: Kind, { config, path }: Entry): KindVersion {
  const place = [...path, 'api_version']
  if (kind.versionOf === undefined) {
    if (config.api_version === undefined) return kind
    throw new ConfigFault(place, `is nothing that ${kind.id} asks for: remove it`)
  }
  const version = kind.versionOf(config.api_version)
  if ('reason' in version) throw new ConfigFault(place, version.reason)
  return version
}

/** A server of the operator's, who may ask it for anything and pays nobody. */
function isOwn({ isLocal, isGeneric, oauth }: Kind, allowPrivate: boolean): boolean {
  if (oauth !== undefined) return false
  return isLocal === true || (isGeneric === true && allowPrivate)
}

function isPrivateAllowed(kind: Kind, config: SupplierConfig): boolean {
  return config.allow_private || kind.isLocal === true
}

const SERVICE_PATH =
  /\/(?:(?:chat\/)?completions|messages|responses|embeddings|rerank|(?:audio\/)?(?:transcriptions|speech))$/

function findAddress(kind: Kind, entry: Entry): Origin {
  const { config, path } = entry
  const origin = config.origin ?? findOrigin(kind, entry)
  const checked = checkOrigin(origin, { allowPrivate: isPrivateAllowed(kind, config) })
  if ('reason' in checked) throw new ConfigFault([...path, 'origin'], checked.reason)
  if (SERVICE_PATH.test(checked.prefix))
    throw new ConfigFault(
      [...path, 'origin'],
      'ends in the path of a service: write the part before /chat/completions, /messages, /responses, /embeddings, /rerank or /audio',
    )
  return checked
}

/** The address that the kind itself has for the region. */
function findOrigin(kind: Kind, { config, path }: Entry): string {
  const { region = NO_PLACE } = config
  if (kind.origin === undefined)
    throw new ConfigFault(
      [...path, 'origin'],
      `is missing: ${kind.id} has another address for everybody; write yours`,
    )
  // One's own server stands where its operator says it does.
  if (region === NO_PLACE || kind.isLocal === true) return kind.origin
  const regional = kind.regions?.[region]
  if (regional !== undefined) return regional
  const known = Object.keys(kind.regions ?? {})
  const there =
    known.length === 0
      ? `${kind.id} promises no region at its usual address`
      : `${kind.id} has an address for ${known.join(', ')} alone`
  throw new ConfigFault(
    [...path, 'region'],
    // Not by its name: it may have come from a variable, and a wrong one at that.
    `is one that its kind cannot promise, as ${there}: remove it, or add origin: with an address of which you know that it stays there`,
  )
}

const VERSION_END = /\/v\d+\w*$/
const VERSION = /\/v\d+\w*\//

/** A base address as SDKs have it takes the place of what the kind's path begins with. */
function joinPath(prefix: string, path: string): string {
  if (!VERSION_END.test(prefix)) return prefix + path
  if (path.startsWith('/v1/')) return prefix + path.slice('/v1'.length)
  // A path with a version of its own takes no other one.
  return (VERSION.test(path) ? prefix.replace(VERSION_END, '') : prefix) + path
}

function findCredentials(kind: Kind, { config, path }: Entry): readonly (Secret | undefined)[] {
  if (kind.oauth !== undefined) return [undefined]
  const given = config.credentials ?? (config.credential === undefined ? [] : [config.credential])
  if (given.length > 0) return given
  if (kind.isLocal === true || kind.isGeneric === true) return [undefined]
  throw new ConfigFault(
    [...path, 'credential'],
    `is missing: write \${${kind.environment[0]}} and set that variable, or the name of another one`,
  )
}

/** What the operator says of fields holds for the first service alone: another language has other fields. */
function mergeServices(
  { services: [first, ...others] }: KindVersion,
  entry: Entry,
  address: Origin | undefined,
): Kind['services'] {
  const prefix = address?.prefix ?? ''
  // What one of its services begins with is the kind's own way to write its address, and says nothing new of the others.
  const isOwn = [first, ...others].some(({ path }) => path.startsWith(`${prefix}/`))
  const join = (path: string): string => (isOwn ? path : joinPath(prefix, path))
  const place = (service: KindService): KindService => ({
    ...service,
    path: join(service.path),
    ...(service.countPath !== undefined && { countPath: join(service.countPath) }),
  })
  const quirks = mergeQuirks(first.quirks, entry, first.dialect)
  checkShape([first, ...others], entry)
  return [
    { ...place(first), quirks },
    ...others.map((service) => place(shape(service, entry.config.quirks?.rerank_shape))),
  ]
}

function isRanking({ dialect }: KindService): boolean {
  return dialect.task === 'rerank'
}

function checkShape(services: readonly KindService[], { config, path }: Entry): void {
  if (config.quirks?.rerank_shape === undefined || services.some(isRanking)) return
  throw new ConfigFault(
    [...path, 'quirks', 'rerank_shape'],
    'is about rankings, which no service of this supplier offers: remove it',
  )
}

/** The file's words for shapes are the fields that they are known by. */
const SHAPES = { top_n: 'cohere', top_k: 'voyage', texts: 'tei' } as const satisfies Readonly<
  Record<string, RerankShape>
>

/** The one quirk that is about rankings, and the path of who has no version in it (text-embeddings-inference, seen 2026-11). */
function shape(service: KindService, word: keyof typeof SHAPES | undefined): KindService {
  if (word === undefined || !isRanking(service)) return service
  const path = word === 'texts' ? '/rerank' : service.path
  return { ...service, path, quirks: { ...service.quirks, rerankShape: SHAPES[word] } }
}

/** What the operator says of a field outranks the kind; what is dropped adds up. */
function mergeQuirks(own: Quirks, { config, path }: Entry, dialect: Dialect): Quirks {
  if (config.quirks === undefined) return own
  const said = readQuirks(config.quirks)
  const drop = [...new Set([...(own.drop ?? []), ...(said.drop ?? [])])]
  const rename = { ...own.rename, ...said.rename }
  const merged: Quirks = {
    ...own,
    ...said,
    ...(drop.length > 0 && { drop }),
    ...(Object.keys(rename).length > 0 && { rename }),
  }
  // First as the file has it, so that a place in a list is the file's.
  const findFault = (quirks: Quirks): QuirkFault | undefined => dialect.relay.findFault?.(quirks)
  const fault = findFault({ usage: own.usage, ...said }) ?? findFault(merged)
  if (fault === undefined) return merged
  throw new ConfigFault([...path, 'quirks', ...fault.path], fault.message)
}

/** The file's names for quirks are ours, in its own spelling. */
function readQuirks(given: NonNullable<SupplierConfig['quirks']>): Partial<Quirks> {
  const {
    usage,
    max_tokens_name: maxTokensName,
    output_limit: outputLimit,
    normalize,
    drop,
    rename,
    default: defaults,
    thoughts,
    call_ids: callIds,
    strict_order: strictOrder,
  } = given
  return {
    ...(usage !== undefined && { usage }),
    ...(maxTokensName !== undefined && { maxTokensName }),
    ...(outputLimit !== undefined && { outputLimit }),
    ...(normalize !== undefined && { normalize }),
    ...(drop !== undefined && { drop }),
    ...(rename !== undefined && { rename }),
    ...(defaults !== undefined && { default: defaults }),
    ...(thoughts !== undefined && { thoughts }),
    ...(callIds !== undefined && { callIds }),
    ...(strictOrder !== undefined && { strictOrder }),
  }
}

function noModels(kind: Kind, { config, path }: Entry): ConfigFault {
  if (config.models !== undefined)
    return new ConfigFault([...path, 'models'], 'is empty: name the models that are served there')
  const why = whyNamed(kind)
  return new ConfigFault(
    [...path, 'models'],
    `is missing: ${why}, so name each model, and its price where the catalogue does not know it`,
  )
}

function whyNamed({ id, servesOwn, oauth }: Kind): string {
  if (oauth !== undefined) return `what ${id} serves depends on who signs in`
  return servesOwn === true
    ? `what ${id} serves is set up by you`
    : `the catalogue lists no model for ${id}`
}

// What a new configuration changes, and what somebody would miss: models and regions that go while keys
// name them or calls have lately used them.
import type { Config } from './config/schema.ts'
import type { KeyRecord } from './core/key.ts'
import type { ConfigChanges } from './endpoints/endpoint.ts'
import type { Snapshot } from './snapshot.ts'
import { DEMO_REGIONS } from './suppliers/demo/models.ts'
import type { Route } from './routing/routes.ts'
import { describeSupplier } from './suppliers/describe.ts'
import type { Supplier } from './suppliers/supplier.ts'

/** How long after its last call a model still counts as used. */
const LATELY_MS = 3_600_000
/** More would be read by nobody. */
const DROPS_SHOWN = 20

/** `started` is what the process began with: some settings are in force as they were then. */
export function compareSnapshots(
  before: Snapshot,
  after: Snapshot,
  started: Config,
): ConfigChanges {
  const old = new Map(describeSuppliers(before))
  const suppliers = new Map(describeSuppliers(after))
  const oldModels = new Set(before.routes.models.map(({ id }) => id))
  const models = new Set(after.routes.models.map(({ id }) => id))
  return {
    suppliersAdded: [...suppliers.keys()].filter((id) => !old.has(id)),
    suppliersRemoved: [...old.keys()].filter((id) => !suppliers.has(id)),
    suppliersChanged: [...suppliers].flatMap(([id, text]) =>
      old.has(id) && old.get(id) !== text ? [id] : [],
    ),
    modelsAdded: [...models].filter((id) => !oldModels.has(id)),
    modelsRemoved: [...oldModels].filter((id) => !models.has(id)),
    settingsChanged: findSettings(before, after),
    needRestart: findRestarts(started, after),
  }
}

/** One line for a person. */
export function printChanges(changes: ConfigChanges): string {
  const parts = [
    list('suppliers added', changes.suppliersAdded),
    list('suppliers removed', changes.suppliersRemoved),
    list('suppliers changed', changes.suppliersChanged),
    list('models added', changes.modelsAdded),
    list('models removed', changes.modelsRemoved),
    list('changed', changes.settingsChanged),
    list('waiting for a restart', changes.needRestart),
  ].filter((part) => part !== '')
  return parts.length === 0 ? 'nothing changed' : parts.join('; ')
}

const LISTED_MAX = 8

function list(title: string, names: readonly string[]): string {
  if (names.length === 0) return ''
  const more = names.length - LISTED_MAX
  const shown = names.slice(0, LISTED_MAX).join(', ')
  return `${title}: ${shown}${more > 0 ? ` and ${more} more` : ''}`
}

/** Everything about each supplier as one text; of a secret only whether it is the same. */
function describeSuppliers({ suppliers }: Snapshot): readonly (readonly [string, string])[] {
  const texts = new Map<string, string>()
  for (const supplier of suppliers)
    texts.set(supplier.id, `${texts.get(supplier.id) ?? ''}${describeSupplier(supplier)}`)
  return [...texts]
}

function findSettings(
  { config: before }: Snapshot,
  { config: after }: Snapshot,
): readonly string[] {
  const sections = [
    'routing',
    'conversion',
    'auto',
    'models',
    'aliases',
    'regions',
    'limits',
    'ledger',
    'idempotency',
    'defaults',
    'models_shape',
  ] as const
  const print = (config: Config, name: (typeof sections)[number]): string => {
    if (name === 'ledger') return JSON.stringify({ ...config.ledger, durability: undefined })
    return JSON.stringify(name === 'models' ? wishesOf(config) : config[name])
  }
  return sections.filter((name) => print(before, name) !== print(after, name))
}

/** What is said of models and of no supplier: all else shows in the suppliers that serve them. */
function wishesOf({ models }: Config): object {
  return Object.entries(models).flatMap(([id, { policy, fallbacks }]) =>
    policy === undefined && fallbacks === undefined ? [] : [[id, policy, fallbacks]],
  )
}

function findRestarts(started: Config, { config: after }: Snapshot): readonly string[] {
  const changed: string[] = []
  if (started.listen.host !== after.listen.host) changed.push('listen.host')
  if (started.listen.port !== after.listen.port) changed.push('listen.port')
  if (started.data !== after.data) changed.push('data')
  if (started.root_key?.reveal() !== after.root_key?.reveal()) changed.push('root_key')
  if (started.ledger.durability !== after.ledger.durability) changed.push('ledger.durability')
  return changed
}

/** One sentence for each model and region that would go although somebody uses it. */
export function findDrops(
  before: Snapshot,
  after: Snapshot,
  keys: Iterable<KeyRecord>,
  now: number,
): readonly string[] {
  const change: Change = { before, after, keys: [...keys].filter((key) => isActive(key, now)), now }
  const drops = [
    ...findLastSupplier(change),
    ...findNames(change),
    ...findRegions(change),
    ...findUsed(change),
  ]
  const more = drops.length - DROPS_SHOWN
  return more > 0 ? [...drops.slice(0, DROPS_SHOWN), `And ${more} more.`] : drops
}

interface Change {
  readonly before: Snapshot
  readonly after: Snapshot
  readonly keys: readonly KeyRecord[]
  readonly now: number
}

function isActive({ revokedAt, expiresAt }: KeyRecord, now: number): boolean {
  return revokedAt === undefined && (expiresAt === undefined || expiresAt > now)
}

/** A file that was emptied by mistake looks just so. */
function findLastSupplier({ before, after }: Change): readonly string[] {
  const isLost = !before.isDemoAlone && after.isDemoAlone
  return isLost ? ['No supplier would be left, and the demo would answer.'] : []
}

/** What keys name: ids of models, and pinned ones. */
function findNames({ before, after, keys }: Change): readonly string[] {
  const users = new Map<string, KeyRecord[]>()
  for (const key of keys)
    for (const name of key.allowedModels ?? [])
      if (isServed(before, name) && after.routes.find(name) === undefined)
        users.set(name, [...(users.get(name) ?? []), key])
  return [...users].map(
    ([name, naming]) =>
      `The model ${name} is no longer served: it is on the list of ${who(naming)}.`,
  )
}

/** Keys that are locked to places in which nothing, or not the model that they name, is left. */
function findRegions({ before, after, keys }: Change): readonly string[] {
  const real = before.suppliers.filter(({ id }) => !Object.hasOwn(DEMO_REGIONS, id))
  const old = placesOf(real, before)
  const left = placesOf(after.suppliers, after)
  const drops = new Map<string, KeyRecord[]>()
  const note = (text: string, key: KeyRecord): void =>
    void drops.set(text, [...(drops.get(text) ?? []), key])
  for (const key of keys) {
    const { allowedRegions: own, allowedModels: names = [] } = key
    if (own === undefined) continue
    const places = own.join(', ')
    const isLost = own.some((region) => old.has(region)) && !own.some((region) => left.has(region))
    if (isLost) note(`Nothing is served in ${places} any more`, key)
    for (const name of isLost ? [] : names)
      if (hasLeft({ before, after }, name, own))
        note(`The model ${name} is no longer served in ${places}`, key)
  }
  return [...drops].map(([text, locked]) => `${text}, and that is where ${who(locked)} may call.`)
}

/** Where suppliers run, and all that this lies in by the regions of the same configuration. */
function placesOf(suppliers: readonly Supplier[], { routes }: Snapshot): ReadonlySet<string> {
  return new Set(suppliers.flatMap(({ region }) => [...routes.regions.placesOf(region)]))
}

/** By anyone but the demo, which makes room for the first real supplier. */
function isServed({ routes }: Snapshot, name: string): boolean {
  const candidates = routes.find(name)?.candidates ?? []
  return candidates.some(({ supplier }) => !Object.hasOwn(DEMO_REGIONS, supplier.id))
}

/** Elsewhere it is still there: what is gone altogether is told as such. */
function hasLeft(
  { before, after }: Pick<Change, 'before' | 'after'>,
  name: string,
  regions: readonly string[],
): boolean {
  const isElsewhere = after.routes.find(name) !== undefined
  return isElsewhere && isServedIn(before, name, regions) && !isServedIn(after, name, regions)
}

function isServedIn({ routes }: Snapshot, name: string, regions: readonly string[]): boolean {
  const candidates = routes.find(name)?.candidates ?? []
  return candidates.some(
    (candidate) => candidate.rank === 0 && regions.some((region) => candidate.regions.has(region)),
  )
}

/** What calls have lately used and nobody serves any more. */
function findUsed({ before, after, now }: Change): readonly string[] {
  return before.routes.models.flatMap(({ id }) => {
    if (!isServed(before, id) || after.routes.find(id) !== undefined) return []
    const at = lastUse(before.routes.find(id))
    if (now - at >= LATELY_MS) return []
    const minutes = Math.floor((now - at) / 60_000)
    const ago = minutes === 0 ? 'less than a minute' : `${minutes} min`
    return [`The model ${id} is no longer served: it was called ${ago} ago.`]
  })
}

/** Of another name when it was asked for itself; of a model by whatever name, but not for what it stood in for. */
function lastUse(route: Route | undefined): number {
  if (route?.aliasUse !== undefined) return route.aliasUse.at
  const own = route?.candidates.filter(({ rank }) => rank === 0) ?? []
  return Math.max(0, ...own.flatMap(({ attempts }) => attempts.map(({ use }) => use.at)))
}

function who([first, ...others]: readonly KeyRecord[]): string {
  const more = others.length === 0 ? '' : ` and ${others.length} more`
  return `the key ${first?.id}${more}`
}

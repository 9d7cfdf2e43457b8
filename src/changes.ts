// What a new configuration changes, and what somebody would miss: models and regions that go while keys
// name them or calls have lately used them.
import type { KeyRecord } from './core/key.ts'
import type { ConfigChanges } from './endpoints/endpoint.ts'
import type { Snapshot } from './snapshot.ts'
import type { Candidate } from './suppliers/routes.ts'

/** How long after its last call a model still counts as used. */
const LATELY_MS = 3_600_000

export function compareSnapshots(before: Snapshot, after: Snapshot): ConfigChanges {
  const suppliers = [before, after].map((each) => new Set(each.suppliers.map(({ id }) => id)))
  const models = [before, after].map((each) => new Set(each.routes.models.map(({ id }) => id)))
  return {
    suppliersAdded: without(suppliers[1], suppliers[0]),
    suppliersRemoved: without(suppliers[0], suppliers[1]),
    modelsAdded: without(models[1], models[0]),
    modelsRemoved: without(models[0], models[1]),
    needRestart: findRestarts(before, after),
  }
}

function without(
  some: ReadonlySet<string> | undefined,
  others: ReadonlySet<string> | undefined,
): readonly string[] {
  return [...(some ?? [])].filter((each) => others?.has(each) !== true)
}

function findRestarts(
  { config: before }: Snapshot,
  { config: after }: Snapshot,
): readonly string[] {
  const changed: string[] = []
  if (before.listen.host !== after.listen.host) changed.push('listen.host')
  if (before.listen.port !== after.listen.port) changed.push('listen.port')
  if (before.data !== after.data) changed.push('data')
  if (before.root_key?.reveal() !== after.root_key?.reveal()) changed.push('root_key')
  return changed
}

/** One sentence for each model and region that would go although somebody uses it. */
export function findDrops(
  before: Snapshot,
  after: Snapshot,
  keys: Iterable<KeyRecord>,
  now: number,
): readonly string[] {
  const active = [...keys].filter((key) => isActive(key, now))
  return before.routes.models.flatMap(({ id }) => {
    const old = before.routes.find(id) ?? []
    const left = regionsOf(after.routes.find(id) ?? [])
    if (left.size === 0) return describeModel(id, old, active, now)
    return [...regionsOf(old)]
      .filter((region) => !left.has(region))
      .flatMap((region) => describeRegion({ id, region, left }, old, active, now))
  })
}

function isActive({ revokedAt, expiresAt }: KeyRecord, now: number): boolean {
  return revokedAt === undefined && (expiresAt === undefined || expiresAt > now)
}

function regionsOf(candidates: readonly Candidate[]): ReadonlySet<string> {
  return new Set(candidates.map(({ supplier }) => supplier.region))
}

function describeModel(
  id: string,
  old: readonly Candidate[],
  keys: readonly KeyRecord[],
  now: number,
): readonly string[] {
  const users = usersOf(
    keys.filter(({ allowedModels }) => allowedModels?.includes(id) === true),
    old,
    now,
  )
  return users === undefined ? [] : [`The model ${id} would no longer be served: ${users}.`]
}

interface LostRegion {
  readonly id: string
  readonly region: string
  /** Where the model is still served. */
  readonly left: ReadonlySet<string>
}

/** Only keys that are locked to the region lose anything: for the others the model is still there. */
function describeRegion(
  { id, region, left }: LostRegion,
  old: readonly Candidate[],
  keys: readonly KeyRecord[],
  now: number,
): readonly string[] {
  const locked = keys.filter(
    ({ allowedModels, allowedRegions }) =>
      allowedRegions?.includes(region) === true &&
      allowedRegions.every((each) => !left.has(each)) &&
      (allowedModels === undefined || allowedModels.includes(id)),
  )
  if (locked.length === 0) return []
  const there = old.filter(({ supplier }) => supplier.region === region)
  const naming = locked.filter(({ allowedModels }) => allowedModels !== undefined)
  const users = usersOf(naming, there, now)
  return users === undefined ? [] : [`The model ${id} would leave ${region}: ${users}.`]
}

function usersOf(
  keys: readonly KeyRecord[],
  candidates: readonly Candidate[],
  now: number,
): string | undefined {
  const parts: string[] = []
  if (keys.length > 0) parts.push(`the key ${keys[0]!.id}${more(keys.length - 1)} names it`)
  const asked = candidates.flatMap(({ attempts }) => attempts.map((each) => each.lastAskedAt))
  const last = Math.max(0, ...asked)
  if (now - last < LATELY_MS)
    parts.push(`it was called ${Math.max(1, Math.round((now - last) / 60_000))} min ago`)
  return parts.length === 0 ? undefined : parts.join(', and ')
}

function more(count: number): string {
  return count > 0 ? ` (and ${count} more)` : ''
}

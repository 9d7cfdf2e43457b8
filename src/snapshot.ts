// What a configuration makes of suppliers, routes and limits. A snapshot is built whole or not at all and
// never changed: a new configuration makes another one, and calls that run keep theirs.
import type { ClaimPolicy } from './access/claims.ts'
import type { Identities } from './access/identities.ts'
import { catalogue } from './catalog/index.ts'
import { overrideCatalogue } from './catalog/merge.ts'
import type { Settings } from './config/environment.ts'
import { ConfigFault } from './config/fault.ts'
import type { Config } from './config/schema.ts'
import { configureRegions, RegionTree } from './catalog/regions.ts'
import { hashSecret } from './core/ids.ts'
import type { LedgerPolicy } from './ledger/policy.ts'
import { DEFAULT_LIMITS, type Limits, type Plant } from './pipeline/call.ts'
import { configureSuppliers } from './suppliers/configured.ts'
import { connect } from './suppliers/connect.ts'
import { discoverSuppliers } from './suppliers/discovered.ts'
import { kinds } from './suppliers/index.ts'
import { withTimeouts } from './suppliers/models.ts'
import { Auto } from './routing/auto.ts'
import { NativeRoutes } from './routing/native.ts'
import { findNameFaults, type Serving } from './routing/check.ts'
import type { Lanes } from './routing/lane.ts'
import { buildRoutes, type Uses } from './routing/routes.ts'
import type { SessionPolicy } from './routing/sessions.ts'
import { openIssuer } from './suppliers/oauth/issuer.ts'
import type { Renewals } from './suppliers/oauth/renewals.ts'
import { signed } from './suppliers/oauth/signed.ts'
import { DEMO_TRANSCRIPTION } from './suppliers/demo/models.ts'
import { describeSupplier } from './suppliers/describe.ts'
import type { Signature, Supplier } from './suppliers/supplier.ts'
import type { Upstream } from './upstream/client.ts'

export interface Snapshot extends Pick<
  Plant,
  | 'routes'
  | 'natives'
  | 'auto'
  | 'limits'
  | 'modelsShape'
  | 'policy'
  | 'snapshotId'
  | 'refusesLosses'
  | 'transcriptionModel'
> {
  readonly config: Config
  readonly claimPolicy: ClaimPolicy
  readonly sessionPolicy: SessionPolicy
  readonly suppliers: readonly Supplier[]
  /** Nobody is configured, and the demo answers for want of anyone else. */
  readonly isDemoAlone: boolean
  /** By all that makes a connection what it is, so that an unchanged supplier keeps its open ones. */
  readonly upstreams: ReadonlyMap<string, Upstream>
}

/** What a snapshot is made of beside the configuration itself. */
export interface SnapshotParts {
  readonly settings: Settings
  /** Suppliers that no configuration names. */
  readonly suppliers: readonly Supplier[]
  /** Limits that outrank the configuration's. */
  readonly limits: Partial<Limits>
  /** Milliseconds that never jump. */
  readonly now: () => number
  readonly uses: Uses
  readonly lanes: Lanes
  /** Of all accounts. */
  readonly identities: Identities
  readonly renewals: Renewals
  /** Asked only when the demo is to be on. */
  readonly demo: () => readonly Supplier[]
}

/** Throws a `ConfigurationError` where the configuration asks for something that cannot be. */
export function buildSnapshot(parts: SnapshotParts, before?: Snapshot): Snapshot {
  const { config } = parts.settings
  const found = [...parts.suppliers, ...findSuppliers(parts.settings)]
  const isDemo = config.demo ?? found.length === 0
  const suppliers = isDemo ? [...found, ...parts.demo()] : found
  checkNames(parts.settings, suppliers)
  const limits = { ...limitsOf(config), ...parts.limits }
  const upstreams = new Map<string, Upstream>()
  // Let go of below: a snapshot that kept the one before would keep all there ever were.
  let earlier = before?.upstreams
  const open = (supplier: Supplier, signature: Signature): Upstream =>
    connect(supplier, { now: parts.now, lookup: parts.settings.lookup }, signature)
  const upstreamOf = (supplier: Supplier, signature: Signature): Upstream => {
    const key = connectionOf(supplier, signature)
    const upstream = upstreams.get(key) ?? earlier?.get(key) ?? open(supplier, signature)
    upstreams.set(key, upstream)
    return upstream
  }
  for (const supplier of suppliers)
    for (const { signature } of supplier.services)
      upstreamOf(supplier, signature ?? supplier.signature)
  const [own, native] = split(suppliers)
  // What is wrong with the way to an issuer stops a start, too, and not the first call that needs a token.
  const openPlace = (place: Supplier): Upstream => upstreamOf(place, place.signature)
  const issuers = new Map(native.map((each) => [each.id, openIssuer(each, openPlace)]))
  earlier = undefined
  const common = {
    timeouts: limits,
    uses: parts.uses,
    lanes: parts.lanes,
    regions: new RegionTree(config.regions),
    policy: config.routing.policy,
    wishes: config.models,
    aliases: config.aliases,
  }
  const routes = buildRoutes({ ...common, suppliers: own, upstreamOf })
  const natives = new NativeRoutes({
    ...common,
    suppliers: native,
    identities: parts.identities,
    upstreamOf: (supplier, identity) =>
      signed(identity, {
        upstream: upstreamOf(supplier, supplier.signature),
        issuer: issuers.get(supplier.id)!,
        oauth: supplier.oauth!,
        renewals: parts.renewals,
      }),
  })
  return {
    config,
    suppliers,
    isDemoAlone: found.length === 0,
    upstreams,
    limits,
    routes,
    natives,
    auto: new Auto(routes, config.auto),
    snapshotId: idOf(config, suppliers),
    sessionPolicy: sessionPolicyOf(config),
    modelsShape: config.models_shape,
    transcriptionModel: config.defaults.transcription ?? (isDemo ? DEMO_TRANSCRIPTION : undefined),
    refusesLosses: config.conversion.losses === 'refuse',
    policy: policyOf(config),
    claimPolicy: claimPolicyOf(config),
  }
}

/** Those who are called by a credential, and those who are called by the sign-ins of accounts. */
function split(
  suppliers: readonly Supplier[],
): readonly [own: readonly Supplier[], native: readonly Supplier[]] {
  const own = suppliers.filter(({ oauth }) => oauth === undefined)
  return [own, suppliers.filter(({ oauth }) => oauth !== undefined)]
}

/** Those of the file in its order, then those of the environment that the file does not name. */
export function findSuppliers(settings: Settings): readonly Supplier[] {
  const { config, lookup } = settings
  const faults: ConfigFault[] = []
  // What is wrong in one place must not hide what is wrong in the next.
  const collect = <Found>(find: () => Found, otherwise: Found): Found => {
    try {
      return find()
    } catch (thrown) {
      if (!(thrown instanceof ConfigFault)) throw thrown
      faults.push(thrown)
      return otherwise
    }
  }
  const models = collect(() => overrideCatalogue(catalogue, config.models), catalogue)
  const regions = collect(() => configureRegions(config.regions), new RegionTree())
  const parts = { catalogue: models, regions }
  const configured = Object.entries(config.suppliers).flatMap(([id, supplier]) =>
    collect(() => configureSuppliers({ ...config, suppliers: { [id]: supplier } }, parts), []),
  )
  if (faults.length > 0) throw settings.refuse(faults)
  if (!config.discover) return configured
  const known = new Set(configured.map(({ id }) => id))
  const discovered = discoverSuppliers(kinds, lookup, models)
    .filter(({ id }) => !known.has(id))
    .map((supplier) => withTimeouts(supplier, config.models))
  return [...configured, ...discovered]
}

/** Throws where a name of the configuration leads to no model of these suppliers. */
export function checkNames(settings: Settings, suppliers: readonly Serving[]): void {
  const faults = findNameFaults(settings.config, suppliers)
  if (faults.length > 0) throw settings.refuse(faults)
}

const MEBIBYTE = 1_048_576
const SNAPSHOT_ID_LENGTH = 12

function limitsOf({ limits, defaults: { timeouts } }: Config): Limits {
  return {
    ...DEFAULT_LIMITS,
    unaryMs: timeouts.total * 1000,
    firstByteMs: timeouts.first_byte * 1000,
    firstContentMs: timeouts.first_content * 1000,
    idleMs: timeouts.idle * 1000,
    stallMs: limits.stall * 1000,
    keepAliveMs: limits.keep_alive * 1000,
    bodyBytesMax: limits.body_mib * MEBIBYTE,
    answerBytesMax: limits.answer_mib * MEBIBYTE,
    attemptsMax: limits.attempts,
    inFlightMax: limits.in_flight,
    inFlightKeyMax: limits.in_flight_per_key,
  }
}

/** The same for whatever decides alike who is asked, at which prices and in which order. */
function idOf(config: Config, suppliers: readonly Supplier[]): string {
  const { routing, aliases, regions, models, limits, auto } = config
  const said = JSON.stringify([routing, aliases, regions, models, limits.attempts, auto])
  const all = said + suppliers.map(describeSupplier).join('')
  return Bun.SHA256.hash(all, 'hex').slice(0, SNAPSHOT_ID_LENGTH)
}

function sessionPolicyOf({ routing }: Config): SessionPolicy {
  const { session_idle: idle, sessions: max, infer_sessions: infers } = routing
  return { idleMs: idle * 1000, max, infers }
}

function policyOf({ ledger }: Config): LedgerPolicy {
  return {
    recovery: ledger.recovery,
    recoveryAfterMs: ledger.recovery_after * 1000,
    overrun: ledger.overrun,
    onDisconnect: ledger.on_disconnect,
    unbounded: ledger.unbounded,
  }
}

function claimPolicyOf({ idempotency }: Config): ClaimPolicy {
  const { keep, answer_bytes: answerBytesMax, total_bytes: totalBytesMax } = idempotency
  return { keepMs: keep * 1000, answerBytesMax, totalBytesMax }
}

function connectionOf(
  { id, origin, credential, allowPrivate }: Supplier,
  signature: Signature,
): string {
  const secret = credential === undefined ? '' : hashSecret(credential.reveal())
  return JSON.stringify([id, origin, signature, allowPrivate, secret])
}

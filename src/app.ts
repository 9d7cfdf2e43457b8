// The composition root: the only file that picks backends and wires them together. It starts in the
// order in which things are needed and stops in the opposite one.
import { dirname, join } from 'node:path'
import { Claims, type ClaimParts } from './access/claims.ts'
import { Directory } from './access/directory.ts'
import { Guesses } from './access/guesses.ts'
import { Identities } from './access/identities.ts'
import { Keyring } from './access/keyring.ts'
import { Rates } from './access/rate.ts'
import { KeyUses } from './access/uses.ts'
import {
  KEPT_ANSWERS,
  NATIVE_TOKENS,
  Vault,
  type Purpose,
  type VaultParts,
} from './access/vault.ts'
import type { Settings } from './config/environment.ts'
import type { Config } from './config/schema.ts'
import { Chain } from './core/chain.ts'
import { createSystemClock, type Clock } from './core/clock.ts'
import { Places } from './core/places.ts'
import { createSecret, hashSecret, ROOT_PREFIX } from './core/ids.ts'
import { Drain, type DrainTimes } from './drain.ts'
import type { House, ReloadOutcome } from './endpoints/endpoint.ts'
import { renderProblem, routesOf } from './endpoints/index.ts'
import { listen, type Listener } from './http/server.ts'
import { sweepUploads } from './http/spool.ts'
import { Archive } from './ledger/months/archive.ts'
import { Calibration } from './ledger/cost/calibration.ts'
import { createCounter } from './ledger/cost/counter.ts'
import { Ledger } from './ledger/ledger.ts'
import { Months } from './ledger/months/month.ts'
import { createLog, type Log } from './observe/log.ts'
import { Trouble } from './observe/trouble.ts'
import type { Limits, Plant } from './pipeline/call.ts'
import { Gate } from './pipeline/gate.ts'
import { Reload } from './reload.ts'
import { RollUps } from './roll-ups.ts'
import { buildSnapshot, type Snapshot, type SnapshotParts } from './snapshot.ts'
import { writeRunFile } from './store/sqlite/lock.ts'
import { openSqliteStore } from './store/sqlite/open.ts'
import type { Store, StoreState } from './store/store.ts'
import { startDemoSuppliers, type DemoSuppliers } from './suppliers/demo/index.ts'
import { Lanes } from './routing/lane.ts'
import { Retries } from './routing/retries.ts'
import { Uses } from './routing/routes.ts'
import { Sessions } from './routing/sessions.ts'
import { Watch } from './routing/watch.ts'
import { Renewals, type RenewalParts } from './suppliers/oauth/renewals.ts'
import type { Supplier } from './suppliers/supplier.ts'

export interface AppOptions {
  readonly settings: Settings
  readonly clock?: Clock
  readonly log?: Log
  readonly limits?: Partial<Limits>
  /** Chance, where it has a say; from 0 inclusive to 1 exclusive. */
  readonly draw?: () => number
  /** Suppliers beside those of the configuration. With any at all the demo stays off. */
  readonly suppliers?: readonly Supplier[]
  /** What happens when the books are in an impossible state. Without it the process ends at once. */
  readonly halt?: (fault: Error) => void
  /** Reads the configuration again for a reload; without it there is nothing to read. */
  readonly readSettings?: () => Promise<Settings>
}

/** Answers that are read to their end for callers who have gone. */
const DRAINS_MAX = 128
/** Questions what a call would meet: each may be as long as a call. */
const QUESTIONS_MAX = 8
/** Requests that are being counted for whoever asks: of all keys, and of one. */
const COUNTS_MAX = 256
const COUNTS_KEY_MAX = 64

/** Forms that are coming in or waiting for their answer: each may be on disk with all that a file may have. */
const UPLOADS_MAX = 512
const UPLOADS_KEY_MAX = 128

const MEBIBYTE = 1_048_576
const FORM_LIMITS = { bodyBytesMax: 26 * MEBIBYTE, fileBytesMax: 25 * MEBIBYTE }

/** The exit status of a process whose books are wrong: an internal error, by the list of sysexits.h. */
const FAULT_STATUS = 70

export interface App {
  readonly url: string
  /** The root key, when this start made one: shown once and kept nowhere. */
  readonly newRootKey: string | undefined
  readonly models: readonly string[]
  readonly suppliers: readonly string[]
  /** Requests whose caller still waits. */
  pending(): number
  /** The configuration in force. */
  config(): Config
  /** Reads the configuration again and takes it into force, or says why not. */
  reload(): Promise<ReloadOutcome>
  /** Takes no new calls, waits for the running ones, cuts what is left and closes everything. */
  drain(times: DrainTimes): Promise<void>
  /** Ends every running call with an error, and all waiting of a drain, now. */
  cut(): void
}

export async function startApp(options: AppOptions): Promise<App> {
  const { settings } = options
  const clock = options.clock ?? createSystemClock()
  const { durability } = settings.config.ledger
  const store = await openSqliteStore({ folder: settings.dataFolder, clock, durability })
  const opened: Opened = { store, demo: undefined, listener: undefined }
  try {
    return await open(options, opened, clock)
  } catch (thrown) {
    await opened.listener?.stop(true)
    await opened.demo?.stop()
    await store.close()
    throw thrown
  }
}

/** What must be closed again when a start fails half-way. */
interface Opened {
  readonly store: Store
  demo: DemoSuppliers | undefined
  listener: Listener | undefined
}

async function open(options: AppOptions, opened: Opened, clock: Clock): Promise<App> {
  const { settings } = options
  const { store } = opened
  const log = options.log ?? createQuietLog(clock)
  const natives = createNatives(settings, { store, clock, log })
  const parts = { ...partsOf(options, opened, clock), ...natives }
  const snapshot = buildSnapshot(parts)
  const plant = createPlant({ ...options, log }, snapshot, store, clock)
  const months = createMonths(plant)
  const house: House = {
    plant,
    keyring: plant.keyring,
    directory: plant.directory,
    identities: natives.identities,
    nativeSuppliers: () => house.plant.natives.suppliers,
    guesses: new Guesses(),
    formLimits: { ...FORM_LIMITS, folder: join(settings.dataFolder, 'uploads') },
    uploads: new Places(UPLOADS_MAX, UPLOADS_KEY_MAX),
    state: { phase: 'starting' },
    archive: createArchive(plant, settings, months),
    reload: (allowDrop) => reload.run(allowDrop),
  }
  const read = options.readSettings ?? (() => Promise.resolve(settings))
  const reload = new Reload({ house, parts, read }, snapshot)
  const listener = openListener(house, settings)
  opened.listener = listener
  sweepUploads(house.formLimits.folder)
  // After everything that can fail: a root key is shown once, and a start that dies shows nothing.
  const { newRootKey, operatorId, tenancy, keys, identities, ledger } = await establishRoot(
    store,
    settings,
  )
  plant.directory.operatorId = operatorId
  for (const entry of tenancy) {
    plant.directory.put(entry)
    if (entry.type === 'wallet') plant.ledger.putWallet(entry.record)
  }
  for (const key of keys) {
    plant.keyring.put(key)
    plant.ledger.put(key)
  }
  for (const identity of identities) natives.identities.put(identity)
  // Before any call: what an earlier process left open counts against its key.
  await plant.ledger.open(ledger)
  await plant.claims.open()
  const uses = new KeyUses({ keyring: plant.keyring, keys: store.keys, clock })
  const rollUps = new RollUps(store.usage, plant.log)
  const { lanes } = parts
  const watch = new Watch({ routes: () => house.plant.routes, lanes, clock, log: plant.log })
  const closing = [months, uses, rollUps, watch].map((ticker) => clock.everySecond(ticker))
  house.state.phase = 'ready'
  writeRunFile(settings.dataFolder, { pid: process.pid, address: listener.url })
  if (options.readSettings !== undefined) reload.watch(settings.watched)
  const tasks = { closing, uses, rollUps }
  const { renewals } = natives
  const drain = new Drain({ house, listener, reload, ...tasks, renewals, demo: () => opened.demo })
  return {
    url: listener.url,
    newRootKey,
    models: house.plant.routes.models.map(({ id }) => id),
    suppliers: [...new Set(snapshot.suppliers.map(({ id }) => id))],
    pending: () => listener.pending(),
    config: () => reload.snapshot.config,
    reload: () => reload.run(),
    drain: (times) => drain.run(times),
    cut: () => drain.cut(),
  }
}

function partsOf(
  { settings, suppliers = [], limits = {} }: AppOptions,
  opened: Opened,
  clock: Clock,
): Omit<SnapshotParts, keyof Natives> {
  return {
    settings,
    now: () => clock.elapsed(),
    uses: new Uses(),
    lanes: new Lanes(),
    suppliers,
    limits,
    demo() {
      opened.demo ??= startDemoSuppliers({ now: () => clock.now() })
      return opened.demo.suppliers
    },
  }
}

type Natives = Pick<SnapshotParts, 'identities' | 'renewals'>

function createNatives(
  settings: Settings,
  { store, clock, log }: Pick<Plant, 'store' | 'clock' | 'log'>,
): Natives {
  const warn: RenewalParts['warn'] = (text, extra) => log.note('warn', text, extra)
  const vault = createVault(NATIVE_TOKENS, settings, warn)
  const identities = new Identities({ repository: store.identities, vault })
  return { identities, renewals: new Renewals({ identities, clock, warn }) }
}

function createPlant(
  { log, halt, settings, draw }: AppOptions & { readonly log: Log },
  snapshot: Snapshot,
  store: Store,
  clock: Clock,
): Plant {
  const { routes, natives, auto, limits, modelsShape, transcriptionModel, policy } = snapshot
  const { snapshotId, sessionPolicy, refusesLosses } = snapshot
  const ledger = new Ledger({ store, clock, policy, log, halt: halt ?? stopProcess(log) })
  const directory = new Directory()
  return {
    clock,
    store,
    routes,
    natives,
    auto,
    limits,
    modelsShape,
    transcriptionModel,
    refusesLosses,
    policy,
    snapshotId,
    sessions: new Sessions(sessionPolicy),
    retries: new Retries(),
    draw: draw ?? Math.random,
    keyring: new Keyring([], clock, directory),
    directory,
    ledger,
    claims: createClaims(settings, snapshot, { store, ledger, clock, log }),
    counter: createCounter({ clock }),
    calibration: new Calibration(),
    counts: new Places(COUNTS_MAX, COUNTS_KEY_MAX),
    drains: new Places(DRAINS_MAX),
    questions: new Places(QUESTIONS_MAX),
    log,
    trouble: new Trouble(log, clock),
    rates: new Rates(),
    gate: new Gate(),
    lifelines: new Chain(),
  }
}

interface ClaimsBase extends Pick<ClaimParts, 'ledger' | 'clock'> {
  readonly store: Store
  readonly log: Log
}

function createClaims(
  settings: Settings,
  { claimPolicy }: Snapshot,
  { store: { claims, audit }, log, ...parts }: ClaimsBase,
): Claims {
  const warn = (text: string): void => log.note('warn', text)
  const vault = createVault(KEPT_ANSWERS, settings, warn)
  return new Claims({ ...parts, claims, audit, vault, policy: claimPolicy, warn })
}

function createVault(
  purpose: Purpose,
  { secretKey, dataFolder }: Settings,
  warn: VaultParts['warn'],
): Vault {
  // Beside the folder, so that a copy of the folder is not also a copy of the key.
  const file = join(dirname(dataFolder), 'gateway.key')
  const vault = new Vault({ purpose, secret: secretKey, file, warn })
  vault.check()
  return vault
}

function createArchive(
  { store, ledger }: Plant,
  { dataFolder }: Settings,
  months: Months,
): Archive {
  return new Archive({
    ledger: store.ledger,
    append: (batch) => store.append(batch),
    folder: join(dataFolder, 'archive'),
    now: () => ledger.now(),
    closeMonths: () => months.run(),
  })
}

function createMonths({ store, ledger, log }: Plant): Months {
  return new Months({
    ledger: store.ledger,
    append: (batch) => store.append(batch),
    now: () => ledger.now(),
    oldestOpenHour: () => ledger.oldestOpenHour(),
    log,
  })
}

/** What would be written after an impossible state is in doubt, so nothing is; every hold is on disk. */
function stopProcess(log: Log): (fault: Error) => void {
  return (fault) => {
    log.note(
      'error',
      `the books are in an impossible state, and the process stops: ${fault.message}`,
    )
    log.flush()
    process.exit(FAULT_STATUS)
  }
}

interface Established extends Pick<StoreState, 'tenancy' | 'keys' | 'identities' | 'ledger'> {
  readonly newRootKey: string | undefined
  readonly operatorId: string
}

/** The root key is the operator's if one is given, else made at the first start. */
async function establishRoot(store: Store, settings: Settings): Promise<Established> {
  const { accountId, ...state } = await store.load()
  const known = { ...state, operatorId: accountId, newRootKey: undefined }
  const root = state.keys.find((key) => key.kind === 'root' && key.accountId === accountId)
  const own = settings.rootKey?.reveal()
  if (own === undefined && root !== undefined) return known
  const secret = own ?? createSecret(ROOT_PREFIX)
  const hash = hashSecret(secret)
  if (root?.hash === hash) return known
  await store.keys.replaceRoot(accountId, hash)
  const newRootKey = own === undefined ? secret : undefined
  return { ...known, newRootKey, keys: (await store.load()).keys }
}

function openListener(house: House, settings: Settings): Listener {
  const { clock } = house.plant
  return listen({
    host: settings.host,
    port: settings.port,
    clock,
    routes: routesOf(house),
    render: (thrown, exchange) => renderProblem(thrown, exchange, house),
    observe: (exchange, response) =>
      house.plant.log.request({
        id: exchange.id,
        method: exchange.request.method,
        path: exchange.path,
        status: response.status,
        ms: clock.elapsed() - exchange.startedMs,
      }),
  })
}

function createQuietLog(clock: Clock): Log {
  return createLog({ write: () => {}, now: () => clock.now(), isTerminal: true })
}

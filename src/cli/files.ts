// What commands read from files and not from a running gateway: the configuration, the catalogue and who
// would serve what. The one place where the command line touches those folders.
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { CatalogueModel } from '../catalog/model.ts'
import type { RegionTree } from '../catalog/regions.ts'
import type {
  ConfigProblem,
  ConfigurationError,
  Environment,
  Settings,
} from '../config/environment.ts'
import { foldRegion } from '../core/region.ts'
import type { Task } from '../core/task.ts'
import type { PriceList } from '../core/usage.ts'
import type { Supplier } from '../suppliers/supplier.ts'
import { CliFailure } from './failure.ts'

export interface FileOptions {
  /** The file that was named. */
  readonly config: string | undefined
  readonly environment: Environment
}

/** File and environment, as a start reads them. Throws a `ConfigurationError`. */
export async function readFiles({ config, environment }: FileOptions): Promise<Settings> {
  const { readSettings } = await import('../config/environment.ts')
  const { kindIds } = await import('../suppliers/index.ts')
  const { KNOWN_REGIONS } = await import('../catalog/regions.ts')
  const regions = [...KNOWN_REGIONS.keys()]
  return readSettings({ config, environment, kinds: kindIds, regions })
}

/** Who would serve what. */
export interface Offered {
  readonly id: string
  readonly region: string
  readonly models: ReadonlyMap<string, OfferedModel>
  /** Set where it is called by sign-ins, and by native agents alone. */
  readonly oauth?: unknown
}

interface OfferedModel {
  readonly prices: PriceList
  /** What it does; absent: it chats. */
  readonly task?: Task
}

export interface Offer {
  readonly settings: Settings
  /** Those that the file or the environment names. */
  readonly suppliers: readonly Supplier[]
  /** All that would be asked, the demo included, in this order. */
  readonly offered: readonly Offered[]
  /** All that is known of models, those of the file included. */
  readonly catalogue: readonly CatalogueModel[]
  /** The demo answers, because nobody else is configured or because the file says so. */
  readonly isDemo: boolean
  readonly regions: RegionTree
}

/** Whom a start would ask for what, without starting anything. Throws a `ConfigurationError`. */
export async function readOffer(options: FileOptions): Promise<Offer> {
  const settings = await readFiles(options)
  const { checkNames, findSuppliers } = await import('../snapshot.ts')
  const { catalogue } = await import('../catalog/index.ts')
  const { overrideCatalogue } = await import('../catalog/merge.ts')
  const { configureRegions } = await import('../catalog/regions.ts')
  const { ConfigFault } = await import('../config/fault.ts')
  try {
    const suppliers = findSuppliers(settings)
    const isDemo = settings.config.demo ?? suppliers.length === 0
    const offered = isDemo ? [...suppliers, ...(await describeDemo())] : suppliers
    checkNames(settings, offered)
    return {
      settings,
      suppliers,
      offered,
      catalogue: overrideCatalogue(catalogue, settings.config.models),
      isDemo,
      regions: configureRegions(settings.config.regions),
    }
  } catch (thrown) {
    // Found on a floor that knows no lines; the settings do.
    throw thrown instanceof ConfigFault ? settings.refuse([thrown]) : thrown
  }
}

/** What is known of models, without any file. */
export async function readCatalogue(): Promise<readonly CatalogueModel[]> {
  return (await import('../catalog/index.ts')).catalogue
}

/** What is known of a region by its name alone. */
export interface NamedRegion {
  /** As it is compared. */
  readonly name: string
  readonly isKnown: boolean
  /** Of those that are known, and of `others`, the one that somebody may have meant. */
  readonly closest: (others: readonly string[]) => string | undefined
}

export async function findRegion(text: string): Promise<NamedRegion> {
  const { KNOWN_REGIONS } = await import('../catalog/regions.ts')
  const { findClosest } = await import('../config/names.ts')
  const name = foldRegion(text)
  return {
    name,
    isKnown: KNOWN_REGIONS.has(name),
    closest: (others) => findClosest(name, [...others, ...KNOWN_REGIONS.keys()]),
  }
}

/** The kinds of supplier that a file can name. */
export async function findServing(): Promise<ReadonlySet<string>> {
  return new Set((await import('../suppliers/index.ts')).kindIds)
}

/** The demo as it would be: its suppliers are servers, and none is started for a list. */
async function describeDemo(): Promise<readonly Offered[]> {
  const { demoOffers, taskOf } = await import('../suppliers/demo/models.ts')
  return Object.values(demoOffers).map(({ id, region, models, isNative }) => ({
    id,
    region,
    oauth: isNative,
    models: new Map(
      models.map((model) => {
        const task = taskOf(model)
        const prices = [{ from: 0, price: model.price }] as const
        return [`demo/${model.name}`, { prices, ...(task !== undefined && { task }) }]
      }),
    ),
  }))
}

/** What is wrong with where the names of suppliers lead now. */
export async function findAddressTroubles(
  suppliers: readonly Supplier[],
  lookup: Settings['lookup'],
): Promise<readonly string[]> {
  const { findAddressTrouble } = await import('../suppliers/connect.ts')
  const found = suppliers.map(async (supplier) => {
    const trouble = await findAddressTrouble(supplier, { lookup })
    return trouble === undefined ? [] : [`${supplier.id}: ${trouble}`]
  })
  return (await Promise.all(found)).flat()
}

/** For a `catch`: what is wrong with a file, in the words of the command line. */
export async function asConfigurationFailure(thrown: unknown): Promise<never> {
  const { ConfigurationError } = await import('../config/environment.ts')
  if (!(thrown instanceof ConfigurationError)) throw thrown
  const problems = thrown.problems.map(toMachineProblem)
  throw new CliFailure('configuration', thrown.message, {
    // Several lines stand as they are; one is wrapped like any other.
    isLaidOut: thrown.message.includes('\n'),
    details: { problems },
    cause: thrown,
  })
}

/** Without the line of the file: a program has the file. */
export function toMachineProblem({ file, line, column, path, message }: ConfigProblem): object {
  return { file, line, column, path, message }
}

/** A supplier that a first file may name. */
export interface Choice {
  readonly id: string
  /** What holds its credential, or its address. */
  readonly variable: string
  readonly isSet: boolean
  readonly isChosen: boolean
  /** What is still to be written into the file by hand. */
  readonly toDo?: string
}

/** Stands for a server that has no variable; the text of the example knows it. */
const OWN_SERVER = 'OWN_SERVER'

/** What the environment has is chosen already, where nothing else is needed. */
export async function findChoices(
  lookup: (name: string) => string | undefined,
): Promise<readonly Choice[]> {
  const { kinds } = await import('../suppliers/index.ts')
  const models = await readCatalogue()
  const isListed = (kind: string): boolean => models.some(({ suppliers }) => suppliers.has(kind))
  return kinds.map(({ id, origin, isLocal, environment: [usual, ...others] }) => {
    if (usual === undefined)
      return {
        id,
        variable: OWN_SERVER,
        isSet: false,
        isChosen: false,
        toDo: 'a server of your own: write its address and models',
      }
    const set = [usual, ...others].find((name) => lookup(name) !== undefined)
    const isSet = set !== undefined
    const choice = { id, variable: set ?? usual, isSet }
    if (origin === undefined)
      return { ...choice, isChosen: false, toDo: 'write your address and deployments' }
    if (isLocal === true || isListed(id)) return { ...choice, isChosen: isSet }
    return { ...choice, isChosen: false, toDo: 'write its models and their prices' }
  })
}

/** The commented example, with these suppliers switched on. */
export async function writeExample(chosen: readonly Choice[]): Promise<string> {
  const { exampleConfig } = await import('../config/example.ts')
  return exampleConfig({
    present: chosen.map(({ variable }) => variable),
    suppliers: chosen.map(({ id, variable }) => ({ kind: id, variable })),
  })
}

export interface DataFolder {
  readonly path: string
  /** Somebody has written it down on purpose. */
  readonly isNamed: boolean
}

export interface DataOptions extends FileOptions {
  readonly data: string | undefined
}

/** The data folder, also where the file has problems: the gateway may still run with an older one. */
export async function findDataFolder(options: DataOptions): Promise<DataFolder> {
  const { data, config, environment } = options
  const named = data ?? environment['GATEWAY_DATA']
  if (named) return { path: resolve(named), isNamed: true }
  const isNamed = Boolean(config ?? environment['GATEWAY_CONFIG'])
  try {
    return { path: (await readFiles(options)).dataFolder, isNamed }
  } catch (thrown) {
    const { ConfigurationError } = await import('../config/environment.ts')
    if (!(thrown instanceof ConfigurationError) || thrown.problems.length === 0) throw thrown
    return { path: await readFolderAlone(thrown), isNamed }
  }
}

/** Variables of suppliers are often set for the service alone and not for the person who asks. */
async function readFolderAlone({ problems }: ConfigurationError): Promise<string> {
  const file = problems[0]?.file ?? ''
  const { parseDocument } = await import('yaml')
  const data: unknown = parseDocument(readFileSync(file, 'utf8')).get('data')
  const isPlain = typeof data === 'string' && !data.includes('${')
  return isPlain ? resolve(dirname(file), data) : resolve('data')
}

// The settings of a start: the configuration file and, above it, the environment. Only this folder reads
// the environment. What is wrong in either stops the start with a text that says what to write instead.
import { lstatSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { Secret } from '../core/secret.ts'
import { spreadFaults, type ConfigFault } from './fault.ts'
import { ConfigurationError, printPath, type ConfigProblem } from './problem.ts'
import { ConfigSchema, isRootKey, ROOT_KEY_RULE, type Config } from './schema.ts'
import type { Known } from './load.ts'
import type { Environment } from './variables.ts'

export { ConfigurationError, type ConfigProblem } from './problem.ts'
export type { Environment } from './variables.ts'

export interface Settings {
  readonly host: string
  readonly port: number
  readonly dataFolder: string
  readonly rootKey: Secret | undefined
  /** What is kept at rest is encrypted with it; undefined: with a key that is made and kept in a file. */
  readonly secretKey: Secret | undefined
  /** Looks up a supplier's credential variable. */
  readonly lookup: (name: string) => string | undefined
  /** The whole path of the configuration file, where there is one. */
  readonly file: string | undefined
  /** Where to look for a file that has changed, or has come to be. */
  readonly watched: readonly string[]
  /** What the file says; `listen`, `data` and `root_key` may be outranked by the fields above. */
  readonly config: Config
  /** What works and should still be changed, in the file's order. */
  readonly warnings: readonly ConfigProblem[]
  /** Gives faults that a floor above found the lines of the file where they stand. */
  readonly refuse: (faults: readonly ConfigFault[]) => ConfigurationError
}

export interface SettingsOptions extends Known {
  /** The file to read, as `--config` named it. */
  readonly config?: string | undefined
  readonly environment?: Environment
}

/** Looked for in the working directory when no file is named. */
const USUAL_FILES = ['gateway.yaml', 'gateway.yml']

/** The file, if there is one, and the environment above it. */
export async function readSettings(options: SettingsOptions = {}): Promise<Settings> {
  const { environment = process.env } = options
  const file = findFile(options.config, environment)
  if (file === undefined) return defaultSettings(environment)
  // Only now, because a start without a file should not pay for reading one.
  const { readConfig } = await import('./read.ts')
  const loaded = readConfig(file, environment, options)
  const { config, warnings } = loaded
  const folder = loaded.has(['data']) ? resolve(dirname(file), config.data) : resolve(config.data)
  const beneath: Beneath = {
    config,
    warnings,
    refuse: (faults) => loaded.refuse(faults),
    file: resolve(file),
    dataFolder: folder,
  }
  return outrank(beneath, environment)
}

/** The settings of a start without a file: suppliers are those whose usual variables are set. */
export function defaultSettings(environment: Environment = process.env): Settings {
  const config = ConfigSchema.parse({ discover: true })
  const beneath = {
    config,
    warnings: [],
    refuse,
    file: undefined,
    dataFolder: resolve(config.data),
  }
  return outrank(beneath, environment)
}

function findFile(named: string | undefined, environment: Environment): string | undefined {
  const file = named || environment['GATEWAY_CONFIG']
  if (!file) return findUsualFile()
  if (isThere(file)) return file
  const who = named ? '' : ', which GATEWAY_CONFIG names'
  throw new ConfigurationError(
    `There is no file ${resolve(file)}${who}. Correct the path, or write a first file there with \`gateway config init ${file}\`.`,
  )
}

/** The file of the working directory, where no other is named. */
export function findUsualFile(): string | undefined {
  return USUAL_FILES.find((usual) => isThere(usual))
}

/** Also a link that leads nowhere: whoever laid it wants a file, and a start without one is another start. */
function isThere(file: string): boolean {
  try {
    return lstatSync(file, { throwIfNoEntry: false }) !== undefined
  } catch {
    // A folder on the way that is none, or that may not be looked into.
    return false
  }
}

type Beneath = Pick<Settings, 'config' | 'warnings' | 'refuse' | 'file' | 'dataFolder'>

/** A container sets variables where its image brings a file along. */
function outrank(beneath: Beneath, environment: Environment): Settings {
  const { config, dataFolder } = beneath
  const data = environment['GATEWAY_DATA']
  return {
    ...beneath,
    watched:
      beneath.file === undefined ? USUAL_FILES.map((usual) => resolve(usual)) : [beneath.file],
    host: environment['HOST'] || config.listen.host,
    port: readPort(environment['PORT']) ?? config.listen.port,
    dataFolder: data ? resolve(data) : dataFolder,
    rootKey: readRootKey(environment['GATEWAY_ROOT_KEY']) ?? config.root_key,
    secretKey: readSecretKey(environment['GATEWAY_SECRET_KEY']),
    lookup: (name) => environment[name],
  }
}

/** Without a file there is no line to show. */
function refuse(faults: readonly ConfigFault[]): ConfigurationError {
  const lines = spreadFaults(faults).map(({ path, message }) => `${printPath(path)}  ${message}`)
  return new ConfigurationError(lines.join('\n'))
}

function readPort(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (port <= 65_535) return port
  throw new ConfigurationError('PORT must be a number from 0 to 65535 (0 takes any free port).')
}

function readRootKey(text: string | undefined): Secret | undefined {
  if (text === undefined || text === '') return undefined
  if (isRootKey(text)) return new Secret(text)
  throw new ConfigurationError(`GATEWAY_ROOT_KEY must ${ROOT_KEY_RULE}.`)
}

const SECRET_KEY_LENGTH_MIN = 32

function readSecretKey(text: string | undefined): Secret | undefined {
  if (text === undefined || text === '') return undefined
  if (text.length >= SECRET_KEY_LENGTH_MIN) return new Secret(text)
  throw new ConfigurationError(
    `GATEWAY_SECRET_KEY must have at least ${SECRET_KEY_LENGTH_MIN} characters, such as those that \`openssl rand -base64 32\` prints.`,
  )
}

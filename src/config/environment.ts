// The settings of a start. Only this folder reads the environment. What is wrong in it stops the start with a line that says
// what to write instead.
import { resolve } from 'node:path'
import { ROOT_PREFIX } from '../core/ids.ts'
import { Secret } from '../core/secret.ts'

export interface Settings {
  readonly host: string
  readonly port: number
  readonly dataFolder: string
  readonly rootKey: Secret | undefined
  /** Looks up a supplier's credential variable. */
  readonly lookup: (name: string) => string | undefined
}

export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
}

const ROOT_KEY_LENGTH_MIN = 32

export type Environment = Readonly<Record<string, string | undefined>>

export function readSettings(environment: Environment = process.env): Settings {
  return {
    host: environment['HOST'] || '127.0.0.1',
    port: readPort(environment['PORT']),
    dataFolder: resolve(environment['GATEWAY_DATA'] || 'data'),
    rootKey: readRootKey(environment['GATEWAY_ROOT_KEY']),
    lookup: (name) => environment[name],
  }
}

function readPort(text: string | undefined): number {
  if (text === undefined || text === '') return 8080
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (port <= 65_535) return port
  throw new ConfigurationError('PORT must be a number from 0 to 65535 (0 takes any free port).')
}

function readRootKey(text: string | undefined): Secret | undefined {
  if (text === undefined || text === '') return undefined
  if (
    text.startsWith(ROOT_PREFIX) &&
    text.length >= ROOT_KEY_LENGTH_MIN &&
    /^[\x21-\x2b\x2d-\x7e]+$/.test(text)
  )
    return new Secret(text)
  throw new ConfigurationError(
    `GATEWAY_ROOT_KEY must begin with ${ROOT_PREFIX} and have at least ${ROOT_KEY_LENGTH_MIN} printable characters, none of them a comma.`,
  )
}

// The environment of this process, for those who must not pay for reading a configuration.
import type { Environment } from './environment.ts'

export function processEnvironment(): Environment {
  return process.env
}

// The headers of a caller that are part of this language: its version, and what is on trial. No other header
// of a caller's reaches a supplier.
import { GatewayError, invalid } from '../../core/problem.ts'

const VERSION = 'anthropic-version'
/** The same by a name without a maker's in it. */
const NEUTRAL_VERSION = 'messages-version'
const TRIALS = 'anthropic-beta'

const DATE = /^\d{4}-\d{2}-\d{2}$/
/** What suppliers take a request without a version for. */
const OLDEST_VERSION = '2023-06-01'
/** Ten times what the longest of known clients sends. */
const TRIALS_LENGTH_MAX = 4096
const SENDABLE = /^[\x20-\x7e]*$/

export function readHeaders(headers: Headers): Readonly<Record<string, string>> {
  const version = readVersion(headers, VERSION)
  const neutral = readVersion(headers, NEUTRAL_VERSION)
  const trials = headers.get(TRIALS)
  if (trials !== null && (trials.length > TRIALS_LENGTH_MAX || !SENDABLE.test(trials)))
    throw invalid(TRIALS, `Send \`${TRIALS}\` with at most ${TRIALS_LENGTH_MAX} plain characters.`)
  const passed = { [VERSION]: version ?? neutral ?? OLDEST_VERSION }
  return trials === null || trials === '' ? passed : { ...passed, [TRIALS]: trials }
}

function readVersion(headers: Headers, name: string): string | undefined {
  const version = headers.get(name)
  if (version === null || version === '') return undefined
  if (DATE.test(version)) return version
  throw new GatewayError(
    'invalid_schema_version',
    `Send \`${name}\` as a date such as ${OLDEST_VERSION}, once, or leave it out.`,
    { param: name },
  )
}

// The flags that describe a key, as the body that the gateway takes. What is plainly wrong is told here, in
// the words of the command line; the rest is the gateway's to say.
import { parseUsd, printUsd } from '../core/money.ts'
import type { Words } from './command.ts'
import { wrongUsage } from './failure.ts'
import type { FlagName } from './flags.ts'
import type { JsonRecord } from './json.ts'

/** Takes a limit away. */
const NONE = 'none'
const DAY = /^\d{4}-\d{2}-\d{2}$/
const MOMENT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$/

type Reader = (text: string, now: number) => unknown

const FIELDS: readonly (readonly [flag: FlagName, field: string, read: Reader])[] = [
  ['models', 'allowed_models', readNames],
  ['regions', 'allowed_regions', readNames],
  ['budget', 'budget_limit', readAmount],
  ['period', 'budget_period', readPeriod],
  ['fit', 'fit', readFit],
  ['rpm', 'rate_limit_rpm', readCount],
  ['expires', 'expires_at', readMoment],
]

export function readSettings(words: Words, now: number): JsonRecord {
  const name = words.text('name')
  const labels = words.texts('metadata')
  const fields = FIELDS.flatMap(([flag, field, read]) => {
    const text = words.text(flag)
    if (text === undefined) return []
    return [[field, text === NONE ? null : read(text, now)] as const]
  })
  return {
    ...(name === undefined ? {} : { name }),
    ...Object.fromEntries(fields),
    ...(labels.length === 0 ? {} : { metadata: readLabels(labels) }),
  }
}

function readNames(text: string): readonly string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}

function readAmount(text: string): unknown {
  const amount = parseUsd(text.replace(/^\$/, ''))
  if (amount === undefined)
    throw wrongUsage(
      `--budget takes dollars as a plain number such as 10 or 0.50, with at most nine decimals, or none, and got ${JSON.stringify(text)}.`,
    )
  return JSON.rawJSON(printUsd(amount))
}

function readCount(text: string): number {
  const rpm = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (rpm > 0) return rpm
  throw wrongUsage(
    `--rpm takes a whole number of requests a minute from 1 on, or none, and got ${JSON.stringify(text)}.`,
  )
}

const PERIODS = ['daily', 'monthly', 'rolling']

function readPeriod(text: string): string {
  if (PERIODS.includes(text)) return text
  throw wrongUsage(`--period takes ${PERIODS.join(', ')}, and got ${JSON.stringify(text)}.`)
}

function readFit(text: string): string {
  if (text === 'on' || text === 'off') return text
  throw wrongUsage(`--fit takes on or off, and got ${JSON.stringify(text)}.`)
}

/** A day ends the key as it begins, in UTC. */
function readMoment(text: string, now: number): string {
  const written = DAY.test(text) ? `${text}T00:00:00Z` : text
  const at = MOMENT.test(written) ? Date.parse(written) : Number.NaN
  // A parser may take the 30th of February for the 2nd of March.
  const isReal = !Number.isNaN(at) && new Date(at).toISOString().startsWith(written.slice(0, 10))
  if (isReal && at > now) return written
  throw wrongUsage(
    `--expires takes a time that is still to come, in UTC, such as 2030-01-31 or 2030-01-31T12:00:00Z, or none, and got ${JSON.stringify(text)}.`,
  )
}

function readLabels(pairs: readonly string[]): JsonRecord | null {
  if (pairs.length === 1 && pairs[0] === NONE) return null
  const labels = pairs.map((pair) => {
    const at = pair.indexOf('=')
    if (at <= 0) throw wrongUsage(`--metadata takes NAME=VALUE, and got ${JSON.stringify(pair)}.`)
    return [pair.slice(0, at), pair.slice(at + 1)] as const
  })
  return Object.fromEntries(labels)
}

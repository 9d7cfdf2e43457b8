// The flags that describe a key, as the body that the gateway takes. Only their form is read here; what a
// value may be is the gateway's to say.
import { parseUsd, printUsd } from '../core/money.ts'
import type { Words } from './command.ts'
import { wrongUsage } from './failure.ts'
import type { FlagName } from './flags.ts'
import type { JsonRecord } from './json.ts'

/** Takes a limit away. */
const NONE = 'none'
const DAY = /^\d{4}-\d{2}-\d{2}$/

type Reader = (text: string) => unknown

const FIELDS: readonly (readonly [flag: FlagName, field: string, read: Reader])[] = [
  ['models', 'allowed_models', readNames],
  ['regions', 'allowed_regions', readNames],
  ['budget', 'budget_limit', readAmount],
  ['period', 'budget_period', (text) => text],
  ['rpm', 'rate_limit_rpm', readCount],
  ['expires', 'expires_at', readMoment],
]

export function readSettings(words: Words): JsonRecord {
  const name = words.text('name')
  const labels = words.texts('metadata')
  const fields = FIELDS.flatMap(([flag, field, read]) => {
    const text = words.text(flag)
    if (text === undefined) return []
    return [[field, text === NONE ? null : read(text)] as const]
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
    throw wrongUsage('--budget takes dollars as a plain number such as 10 or 0.50.')
  return JSON.rawJSON(printUsd(amount))
}

function readCount(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw wrongUsage('--rpm takes a whole number of requests a minute.')
}

/** A day ends the key as it begins, in UTC. */
function readMoment(text: string): string {
  return DAY.test(text) ? `${text}T00:00:00Z` : text
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

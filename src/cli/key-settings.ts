// The flags that describe a key, as the body that the gateway takes. What is plainly wrong is told here, in
// the words of the command line; the rest is the gateway's to say.
import { BUDGET_PERIODS } from '../core/key.ts'
import { readAmount } from './amount.ts'
import type { Words } from './command.ts'
import { wrongUsage } from './failure.ts'
import type { FlagName } from './flags.ts'
import type { JsonRecord } from './json.ts'
import { findSpanMs } from './span.ts'

/** Takes a limit away. */
const NONE = 'none'
const OVERLAP_MS_MAX = 30 * 86_400_000
const DAY = /^\d{4}-\d{2}-\d{2}$/
const MOMENT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$/

type Reader = (text: string, now: number) => unknown

const FIELDS: readonly (readonly [flag: FlagName, field: string, read: Reader])[] = [
  ['models', 'allowed_models', readNames],
  ['regions', 'allowed_regions', readNames],
  ['budget', 'budget_limit', (text) => readAmount(text, 'budget')],
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

/** What a new one belongs to. */
export function readTies(words: Words): JsonRecord {
  const [project, team, user] = [words.text('project'), words.text('team'), words.text('user')]
  if (project !== undefined && team !== undefined)
    throw wrongUsage('Give --project or --team, not both.')
  return {
    ...(project === undefined ? {} : { project_id: project }),
    ...(team === undefined ? {} : { team_id: team }),
    ...(user === undefined ? {} : { user_id: user }),
    ...(words.has('manage') ? { manage: true } : {}),
  }
}

/** Which of them a list is to show, as the address says it. */
export function readFilters(words: Words): Readonly<Record<string, string>> {
  const named = {
    project_id: words.text('project'),
    team_id: words.text('team'),
    user_id: words.text('user'),
    name: words.text('name'),
    status: words.text('status'),
  }
  const given = Object.entries(named).flatMap(([name, text]) =>
    text === undefined ? [] : [[name, text] as const],
  )
  const labels = words.texts('metadata').map(readLabel)
  return Object.fromEntries([
    ...given,
    ...labels.map(([name, value]) => [`metadata.${name}`, value] as const),
  ])
}

/** How long the secret before goes on, in the body of a rotation. */
export function readOverlap(words: Words): JsonRecord {
  const text = words.text('overlap')
  if (text === undefined) return {}
  const ms = text === NONE || text === '0' ? 0 : findSpanMs(text)
  if (ms !== undefined && ms <= OVERLAP_MS_MAX) return { overlap_seconds: ms / 1000 }
  throw wrongUsage(
    `--overlap takes a length of time such as 30m, 2h or 7d, at most 30d, or none, and got ${JSON.stringify(text)}.`,
  )
}

export function readNames(text: string): readonly string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}

function readCount(text: string): number {
  const rpm = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (rpm > 0) return rpm
  throw wrongUsage(
    `--rpm takes a whole number of requests a minute from 1 on, or none, and got ${JSON.stringify(text)}.`,
  )
}

export function readPeriod(text: string): string {
  if (BUDGET_PERIODS.some((period) => period === text)) return text
  throw wrongUsage(`--period takes ${BUDGET_PERIODS.join(', ')}, and got ${JSON.stringify(text)}.`)
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

export function readLabels(pairs: readonly string[]): JsonRecord | null {
  if (pairs.length === 1 && pairs[0] === NONE) return null
  return Object.fromEntries(pairs.map(readLabel))
}

export function readLabel(pair: string): readonly [name: string, value: string] {
  const at = pair.indexOf('=')
  if (at <= 0) throw wrongUsage(`--metadata takes NAME=VALUE, and got ${JSON.stringify(pair)}.`)
  return [pair.slice(0, at), pair.slice(at + 1)]
}

// What may be asked of usage, read from the address: a range of whole hours, its steps, and what figures are
// told apart by. Whatever is not listed here is refused by name.
import { HOUR_MS, hourOf } from '../../core/hour.ts'
import { invalid } from '../../core/problem.ts'
import { USAGE_DIMENSIONS, type UsageDimension, type UsageQuery } from '../../store/store.ts'
import { readRegion, readTime } from './audit-query.ts'
import { readFilters, readPage } from './page.ts'

export type UsageWord = 'team' | UsageDimension

export interface UsageRequest {
  readonly fromHour: number
  readonly toHour: number
  readonly per: UsageQuery['per']
  /** Each once, in the order of the fields of an entry. */
  readonly by: readonly UsageWord[]
  readonly equal: UsageQuery['equal']
  readonly teamId: string | undefined
  readonly format: 'json' | 'csv'
  /** Undefined where none was asked for. */
  readonly limit: number | undefined
  readonly cursor: string | undefined
}

type Words = ReadonlyMap<string, string>

const LIMIT_MAX = 1000
const DAY_HOURS = 24
const DAYS_DEFAULT = 30
/** The most days that may be asked for in such steps. */
const DAYS_MAX: Readonly<Record<UsageQuery['per'], number>> = {
  hour: 32,
  day: 400,
  total: Number.POSITIVE_INFINITY,
}

const STEPS: readonly UsageQuery['per'][] = ['hour', 'day', 'total']
const FORMATS: readonly UsageRequest['format'][] = ['json', 'csv']

/** In the order of the fields of an entry. */
const WORDS: readonly UsageWord[] = ['team', ...USAGE_DIMENSIONS]

/** The parameters that must fit exactly. */
const EQUAL: readonly (readonly [parameter: string, dimension: UsageDimension])[] = [
  ['key_id', 'key'],
  ['project_id', 'project'],
  ['payer', 'payer'],
  ['model', 'model'],
  ['supplier', 'supplier'],
  ['region', 'region'],
  ['code', 'code'],
]

const PARAMETERS = [
  'from',
  'to',
  'per',
  'by',
  'team_id',
  'format',
  ...EQUAL.map(([parameter]) => parameter),
]

/** `now` is the books' time. */
export function readUsageRequest(request: Request, now: number): UsageRequest {
  const { limit, cursor } = readPage(request, { standard: 0, most: LIMIT_MAX }, PARAMETERS)
  const words = readFilters(request)
  const per = readOneOf(words, 'per', STEPS) ?? 'day'
  return {
    ...readRange(words, per, now),
    per,
    by: readBy(words.get('by')),
    equal: readEqual(words),
    teamId: words.get('team_id'),
    format: readOneOf(words, 'format', FORMATS) ?? 'json',
    limit: limit === 0 ? undefined : limit,
    cursor,
  }
}

type Range = Pick<UsageRequest, 'fromHour' | 'toHour'>

/** Hours that the moments touch: figures are kept by the hour. */
function readRange(words: Words, per: UsageQuery['per'], now: number): Range {
  const to = readMoment(words, 'to')
  const from = readMoment(words, 'from')
  const toHour = to === undefined ? hourOf(now) + 1 : Math.ceil(to / HOUR_MS)
  const today = Math.floor((toHour - 1) / DAY_HOURS)
  const fromHour = from === undefined ? (today - DAYS_DEFAULT + 1) * DAY_HOURS : hourOf(from)
  if ((from !== undefined && to !== undefined && from >= to) || fromHour >= toHour)
    throw invalid('to', 'Send a `to` that is later than `from`: it is the first moment left out.')
  if (toHour - fromHour > DAYS_MAX[per] * DAY_HOURS)
    throw invalid(
      'from',
      `Figures per ${per} reach over at most ${DAYS_MAX[per]} days. Send a later \`from\`, or larger steps.`,
    )
  return { fromHour: Math.max(fromHour, 0), toHour }
}

function readMoment(words: Words, name: 'from' | 'to'): number | undefined {
  const text = words.get(name)
  return text === undefined ? undefined : readTime(name, text)
}

function readBy(text: string | undefined): readonly UsageWord[] {
  if (text === undefined) return []
  const asked = text.split(',')
  const unknown = asked.find((word) => !WORDS.some((known) => known === word))
  if (unknown === undefined && new Set(asked).size === asked.length)
    return WORDS.filter((word) => asked.includes(word))
  throw invalid('by', `Send \`by\` as a list of ${WORDS.join(', ')} with commas, each once.`)
}

function readEqual(words: Words): UsageQuery['equal'] {
  const region = words.get('region')
  if (region !== undefined) readRegion(region)
  return Object.fromEntries(
    EQUAL.flatMap(([parameter, dimension]) => {
      const value = words.get(parameter)
      return value === undefined ? [] : [[dimension, value]]
    }),
  )
}

function readOneOf<Word extends string>(
  words: Words,
  name: string,
  known: readonly Word[],
): Word | undefined {
  const text = words.get(name)
  if (text === undefined) return undefined
  const found = known.find((word) => word === text)
  if (found !== undefined) return found
  throw invalid(name, `Send \`${name}\` as one of ${known.join(', ')}.`)
}

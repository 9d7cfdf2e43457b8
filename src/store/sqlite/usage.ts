// What was used, by the hour: the sums, and the rows that are not in them yet, in one statement. So figures are
// exact to the last record, and a question reads the hours that it is about and not every call in them.
import { GatewayError } from '../../core/problem.ts'
import {
  USAGE_DIMENSIONS,
  type Page,
  type UsageDimension,
  type UsageFigures,
  type UsageQuery,
  type UsageRepository,
  type UsageRow,
} from '../store.ts'
import { decodeCursor, encodeCursor, readLimit } from './page.ts'
import type { Reads } from './reads.ts'
import {
  LARGE,
  nameOf,
  readBigInt,
  readParts,
  RollUp,
  ROW_FIGURES,
  ROW_HOUR,
  ROW_MODEL,
  SMALL,
  sumParts,
  USAGE_MARK,
  walletIn,
  type RollUpParts,
} from './roll-up.ts'
import { asRow, readInteger, readText, type Row } from './rows.ts'

/** What the store itself asks beside it. */
export interface Usage extends UsageRepository {
  /** To be waited for before rows up to this number are removed. */
  rollUpThrough(number: number): Promise<void>
}

type Step = UsageQuery['per']
/** What the text of a statement follows from. */
type Asked = Pick<UsageQuery, 'per' | 'projectIds' | 'equal'>
type Dimensions = readonly UsageDimension[]
type Parameters = Readonly<Record<`:${string}`, string | number | null>>

/** The last row of a page: the first hour of its step, and its values, empty where there is none. */
interface Place {
  readonly hour: number
  readonly values: readonly string[]
}

/** How many sums the first statement adds up, beyond its first step. Each after it takes twice as many. */
const WINDOW_ROWS = 8192

const STEP_HOURS: Readonly<Record<Exclude<Step, 'total'>, number>> = { hour: 1, day: 24 }

const ACCOUNT_LABEL = '(SELECT number FROM labels WHERE label = :account)'

const WINDOW = `
  SELECT hour FROM usage WHERE account = ${ACCOUNT_LABEL} AND hour >= :from AND hour < :to
  ORDER BY hour LIMIT 1 OFFSET :rows`

export function createUsage(parts: RollUpParts): Usage {
  const { reads } = parts
  const rollUp = new RollUp(parts)
  return {
    read: (accountId, query) => readPage(reads, accountId, query),
    rollUp: () => rollUp.run(),
    rollUpThrough: (number) => rollUp.runThrough(number),
  }
}

async function readPage(
  reads: RollUpParts['reads'],
  accountId: string,
  query: UsageQuery,
): Promise<Page<UsageRow>> {
  const limit = readLimit(query)
  const by = USAGE_DIMENSIONS.filter((name) => query.by.includes(name))
  const start = readStart(query, by)
  const sql = statementOf(query, by)
  const parameters = { ...filterParameters(accountId, query), ...startParameters(start, by) }
  const rows: Row[] = []
  let from = Math.max(query.fromHour, start?.hour ?? 0)
  for (let window = WINDOW_ROWS; from < query.toHour && rows.length <= limit; window *= 2) {
    const range = { ':account': accountId, ':from': from, ':to': query.toHour, ':rows': window }
    // oxlint-disable no-await-in-loop -- a window begins where the one before ended
    const to = await windowEnd(reads, query.per, range)
    const part = { ':from': from, ':to': to, ':limit': limit + 1 - rows.length }
    rows.push(...(await reads.query(sql, { ...parameters, ...part })))
    // oxlint-enable no-await-in-loop
    from = to
  }
  const items = rows.slice(0, limit).map((row) => toUsageRow(row, query.per, by))
  const last = rows.length > limit ? rows[limit - 1] : undefined
  return { items, next: last && encodePlace(query.per, by, toPlace(last, by)) }
}

/** Whole steps, so that each row of the answer is of one statement. */
async function windowEnd(
  reads: Pick<Reads, 'query'>,
  per: Step,
  range: Parameters & { readonly ':from': number; readonly ':to': number },
): Promise<number> {
  if (per === 'total') return range[':to']
  const [row] = await reads.query(WINDOW, range)
  if (row === undefined) return range[':to']
  const size = STEP_HOURS[per]
  const first = Math.floor(range[':from'] / size) * size
  const last = Math.floor(readInteger(asRow(row), 'hour') / size) * size
  return Math.min(Math.max(last, first + size), range[':to'])
}

const LIVE_VALUES: Readonly<Record<UsageDimension, string>> = {
  key: nameOf('audit.key'),
  project: "coalesce(project_id, '')",
  payer: walletIn('audit.payer'),
  model: ROW_MODEL,
  supplier: "coalesce(supplier, '')",
  region: "coalesce(region, '')",
  code: "coalesce(code, '')",
}

/** Where the sums that are asked for stand: in a range of the primary key. */
function rolledFilter({ projectIds, equal }: Asked): string {
  return all(
    `account = ${ACCOUNT_LABEL} AND hour >= :from AND hour < :to`,
    ...(projectIds === undefined
      ? []
      : [`project IN (SELECT number FROM labels WHERE label IN (${PROJECTS}))`]),
    ...given(equal).map(
      (name) => `${name} IN (SELECT number FROM labels WHERE label = :${name}${collationOf(name)})`,
    ),
  )
}

/** The rows that are not in the sums: a range of the table's own order. */
function liveFilter({ projectIds, equal }: Asked): string {
  return all(
    `sequence > ${USAGE_MARK} AND account = (SELECT number FROM names WHERE name = :account)`,
    `${ROW_HOUR} >= :from AND ${ROW_HOUR} < :to`,
    ...(projectIds === undefined ? [] : [`project_id IN (${PROJECTS})`]),
    ...given(equal).map((name) => `${LIVE_VALUES[name]} = :${name}${collationOf(name)}`),
  )
}

const PROJECTS = 'SELECT value FROM json_each(:projects)'

function given(equal: UsageQuery['equal']): Dimensions {
  return USAGE_DIMENSIONS.filter((name) => equal[name] !== undefined)
}

/** Regions are asked for in any case, as in the audit. */
function collationOf(name: UsageDimension): string {
  return name === 'region' ? ' COLLATE NOCASE' : ''
}

function all(...conditions: readonly string[]): string {
  return conditions.join(' AND ')
}

function statementOf(query: Asked, by: Dimensions): string {
  const { per } = query
  const values = by.map((name) => `value_${name}`)
  const groups = ['1', ...by.map((_, index) => String(index + 2))].join(', ')
  const partNames = LARGE.flatMap((name) => [`${name}_high`, `${name}_low`])
  const after = ['step', ...values]
  const place = [':step', ...by.map((name) => `:after_${name}`)]
  return `
    WITH rolled AS (
      SELECT ${list(
        `${stepOf(per, 'hour')} AS step`,
        ...by.map((name) => `${name} AS of_${name}`),
        ...SMALL.map((name) => `sum(${name}) AS ${name}`),
        ...LARGE.map((name) => sumParts(name, name)),
      )}
      FROM usage WHERE ${rolledFilter(query)} GROUP BY ${groups}
    ), merged AS (
      SELECT ${list(
        'step',
        ...by.map((name) => `coalesce(${labelOf(`of_${name}`)}, '') AS value_${name}`),
        ...SMALL,
        ...partNames,
      )} FROM rolled
      UNION ALL
      SELECT ${list(
        stepOf(per, ROW_HOUR),
        ...by.map((name) => LIVE_VALUES[name]),
        ...SMALL.map((name) => ROW_FIGURES[name]),
        ...LARGE.flatMap((name) => [
          `(${ROW_FIGURES[name]}) >> 31`,
          `(${ROW_FIGURES[name]}) & 0x7fffffff`,
        ]),
      )}
      FROM audit WHERE ${liveFilter(query)}
    )
    SELECT ${list(...after, ...[...SMALL, ...partNames].map((name) => `sum(${name}) AS ${name}`))}
    FROM merged WHERE (${list(...after)}) > (${list(...place)})
    GROUP BY ${groups} ORDER BY ${groups} LIMIT :limit`
}

function list(...parts: readonly string[]): string {
  return parts.join(', ')
}

function labelOf(number: string): string {
  return `(SELECT label FROM labels WHERE labels.number = ${number})`
}

function stepOf(per: Step, hour: string): string {
  if (per === 'total') return '0'
  return per === 'hour' ? hour : `${hour} / ${STEP_HOURS.day} * ${STEP_HOURS.day}`
}

function filterParameters(accountId: string, { equal, projectIds }: UsageQuery): Parameters {
  return {
    ...Object.fromEntries(given(equal).map((name) => [`:${name}`, equal[name] ?? ''])),
    ':account': accountId,
    ...(projectIds === undefined ? {} : { ':projects': JSON.stringify(projectIds) }),
  }
}

/** Without a place everything is behind it. */
function startParameters(start: Place | undefined, by: Dimensions): Parameters {
  return {
    ':step': start?.hour ?? -1,
    ...Object.fromEntries(by.map((name, index) => [`:after_${name}`, start?.values[index] ?? ''])),
  }
}

function toUsageRow(row: Row, per: Step, by: Dimensions): UsageRow {
  const values = by.map((name) => [name, readText(row, `value_${name}`) || undefined])
  return {
    hour: per === 'total' ? undefined : readInteger(row, 'step'),
    values: Object.fromEntries(values),
    figures: toFigures(row),
  }
}

function toFigures(row: Row): UsageFigures {
  return {
    calls: readBigInt(row, 'calls'),
    refused: readBigInt(row, 'refused'),
    failed: readBigInt(row, 'failed'),
    inputTokens: readParts(row, 'input_tokens'),
    outputTokens: readParts(row, 'output_tokens'),
    cost: readParts(row, 'cost'),
    overrun: readParts(row, 'overrun'),
  }
}

function toPlace(row: Row, by: Dimensions): Place {
  return {
    hour: readInteger(row, 'step'),
    values: by.map((name) => readText(row, `value_${name}`)),
  }
}

const CURSOR = /^(hour|day|total)\.([a-z,]*)\.(\d{1,10})\.(.*)$/
const SEPARATOR = '&'

function encodePlace(per: Step, by: Dimensions, { hour, values }: Place): string {
  const words = values.map((value) => encodeURIComponent(value.toWellFormed())).join(SEPARATOR)
  return encodeCursor(`${per}.${by.join()}.${hour}.${words}`)
}

function readStart({ per, cursor }: UsageQuery, by: Dimensions): Place | undefined {
  if (cursor === undefined) return undefined
  const [step, dimensions, hour, words = ''] = decodeCursor(cursor, CURSOR)
  const values = words === '' ? [''] : words.split(SEPARATOR).map(decodeValue)
  if (step === per && dimensions === by.join()) return { hour: Number(hour), values }
  throw new GatewayError(
    'validation_error',
    'The cursor belongs to figures with another `per` or `by`. Send those again, or leave the cursor out.',
    { param: 'cursor' },
  )
}

function decodeValue(word: string): string {
  try {
    return decodeURIComponent(word)
  } catch (cause) {
    // Ours always decode: somebody has made this one up.
    throw new GatewayError(
      'validation_error',
      'The cursor is not one that a page before returned.',
      {
        param: 'cursor',
        cause,
      },
    )
  }
}

// The command about usage: figures in steps of time, told apart as asked. Every sum is shown digit for digit as
// the gateway sent it.
import { toLine } from '../endpoints/manage/csv.ts'
import { windowOf } from './calls.ts'
import type { Desk, Words } from './command.ts'
import { wrongUsage } from './failure.ts'
import type { FlagName } from './flags.ts'
import { isRecord, parseExactly, toList, toRecord, toText, type JsonRecord } from './json.ts'
import { reach, somethingElse, type Live } from './live.ts'
import { findNames, type Names } from './names.ts'
import { count } from './print.ts'
import type { Column } from './table.ts'

const PAGE_MAX = 1000

const PARAMETERS: readonly (readonly [flag: FlagName, parameter: string])[] = [
  ['per', 'per'],
  ['by', 'by'],
  ['key-id', 'key_id'],
  ['project', 'project_id'],
  ['team', 'team_id'],
  ['payer', 'payer'],
  ['model', 'model'],
  ['supplier', 'supplier'],
  ['region', 'region'],
  ['code', 'code'],
]

/** What the gateway answers, all pages together; numbers stand for their own text. */
interface Usage {
  readonly about: JsonRecord
  readonly items: readonly JsonRecord[]
  readonly totals: JsonRecord
}

export async function showUsage(words: Words, desk: Desk): Promise<void> {
  const { screen } = desk
  if (screen.isMachine && words.has('csv')) throw wrongUsage('Give --csv or --json, not both.')
  const parameters = PARAMETERS.map(([flag, name]) => [name, words.text(flag)] as const)
  const query = { ...Object.fromEntries(parameters), ...windowOf(words, desk.now()) }
  const live = await reach(words, desk)
  const usage = await readUsage(live, query)
  if (screen.isMachine) return screen.json({ ...usage.about, ...lastPage(usage) })
  if (words.has('csv')) return desk.terminal.stdout(toTable(usage))
  if (usage.items.length === 0) return screen.note('No call fits.')
  const names = await findNames(idsOf(usage), live)
  const columns = columnsOf(usage)
  screen.table(
    columns,
    usage.items.map((item) => columns.map(({ cell }) => cell(item, names))),
  )
  screen.note(`\n${summaryOf(usage)}`)
}

async function readUsage(
  live: Live,
  query: Readonly<Record<string, string | undefined>>,
): Promise<Usage> {
  const items: JsonRecord[] = []
  let about: JsonRecord = {}
  let cursor: string | undefined
  do {
    const path = addressOf({ ...query, limit: String(PAGE_MAX), cursor })
    // oxlint-disable-next-line no-await-in-loop -- a page says where the next one begins
    const page = toRecord(parseExactly((await live.call('GET', path)).text))
    if (!Array.isArray(page['data']) || !isRecord(page['totals'])) throw somethingElse(live.url)
    items.push(...toList(page['data']).filter(isRecord))
    about = page
    const { has_more: hasMore, next_cursor: next } = page
    cursor = hasMore === true && typeof next === 'string' ? next : undefined
  } while (cursor !== undefined)
  return { about, items, totals: toRecord(about['totals']) }
}

function addressOf(query: Readonly<Record<string, string | undefined>>): string {
  const parts = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parts.set(name, value)
  return `/v1/manage/usage?${parts.toString()}`
}

function lastPage({ items, totals }: Usage): JsonRecord {
  return { data: items, totals, has_more: false, next_cursor: null }
}

function toTable({ items, totals }: Usage): string {
  const fields = Object.keys(items[0] ?? { start: null, end: null, ...totals })
  return [fields, ...items.map((item) => Object.values(item))].map(toLine).join('')
}

interface FieldColumn extends Column {
  readonly cell: (item: JsonRecord, names: Names) => string
}

const FIGURES: readonly (Column & { readonly field: string })[] = [
  { field: 'calls', title: 'CALLS', align: 'right' },
  { field: 'refused', title: 'REFUSED', align: 'right', rank: 2 },
  { field: 'failed', title: 'FAILED', align: 'right', rank: 3 },
  { field: 'input_tokens', title: 'IN', align: 'right', rank: 4 },
  { field: 'output_tokens', title: 'OUT', align: 'right', rank: 5 },
  { field: 'cost_usd', title: 'COST USD', align: 'right' },
]

const HIDDEN = new Set(['start', 'end', 'overrun_usd', ...FIGURES.map(({ field }) => field)])
/** Fields that hold an id of something with a name. */
const IDS: ReadonlySet<string> = new Set(['team_id', 'key_id', 'project_id', 'payer'])

function columnsOf(usage: Usage): readonly FieldColumn[] {
  const { about, items } = usage
  const dimensions = Object.keys(items[0] ?? {}).filter((field) => !HIDDEN.has(field))
  // A line of refusals alone would else be a line of nothing.
  const isRefused = items.some(({ calls, refused }) => isNothing(calls) && !isNothing(refused))
  const start = (item: JsonRecord): string => printStart(item, usage)
  return [
    ...(about['per'] === 'total' ? [] : [{ title: 'FROM', cell: start }]),
    ...dimensions.flatMap(dimensionColumns),
    ...FIGURES.map(({ field, rank, ...column }) => ({
      ...column,
      ...(rank === undefined || (field === 'refused' && isRefused) ? {} : { rank }),
      cell: (item: JsonRecord) => toText(item[field]),
    })),
  ]
}

/** What has a name is shown by it, and where there is room by its id, too. */
function dimensionColumns(field: string): readonly FieldColumn[] {
  const title = field.replace(/_id$/, '').toUpperCase()
  const textOf = (item: JsonRecord): string => toText(item[field])
  if (!IDS.has(field)) return [{ title, isElastic: true, cell: textOf }]
  return [
    { title, isElastic: true, cell: (item, names) => names(textOf(item)) },
    { title: `${title} ID`, rank: 1, cell: textOf },
  ]
}

function idsOf({ items }: Usage): ReadonlySet<string> {
  const fields = Object.keys(items[0] ?? {}).filter((field) => IDS.has(field))
  return new Set(items.flatMap((item) => fields.map((field) => toText(item[field]))))
}

function isNothing(figure: unknown): boolean {
  return toText(figure) === '0'
}

function printStart({ start }: JsonRecord, { about }: Usage): string {
  const text = toText(start)
  return about['per'] === 'day' ? text.slice(0, 10) : text.replace(/:\d\d\.\d+Z$/, 'Z')
}

function summaryOf({ totals }: Usage): string {
  const calls = count(Number(toText(totals['calls'])), 'call')
  const parts = [calls, `${toText(totals['cost_usd'])} USD`]
  for (const field of ['failed', 'refused'])
    if (toText(totals[field]) !== '0') parts.push(`${toText(totals[field])} ${field}`)
  return parts.join(', ')
}

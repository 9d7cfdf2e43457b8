// The commands about calls: a list with the filters that the gateway has, and one call whole.
import type { Desk, Words } from './command.ts'
import { describeEntry } from './entry.ts'
import { showRoute } from './explain.ts'
import { wrongUsage } from './failure.ts'
import type { FlagName } from './flags.ts'
import { parseExactly, toRecord, toText, type JsonRecord } from './json.ts'
import { reach, somethingElse } from './live.ts'
import { findNames, type Names } from './names.ts'
import { readLimit, walk } from './pages.ts'
import { count, isToday, money, sumMoney, time, timeOfDay } from './print.ts'
import { findSpanMs } from './span.ts'
import type { Column } from './table.ts'
import type { Style } from './text.ts'

const LIMIT_DEFAULT = 20
const PAGE_MAX = 1000

const FILTERS: readonly (readonly [flag: FlagName, parameter: string])[] = [
  ['key-id', 'key_id'],
  ['project', 'project_id'],
  ['model', 'model'],
  ['supplier', 'supplier'],
  ['region', 'region'],
  ['status', 'status'],
  ['code', 'code'],
  ['state', 'state'],
  ['cursor', 'cursor'],
]

export async function listCalls(words: Words, desk: Desk): Promise<void> {
  const { screen } = desk
  const limit = readCount(words)
  const query = { ...filtersOf(words), ...windowOf(words, desk.now()) }
  const live = await reach(words, desk)
  const request = { path: '/v1/manage/audit', query, limit, pageMax: PAGE_MAX }
  const { items, next, machine } = await walk(live, request)
  if (screen.isMachine) return screen.json(machine)
  if (items.length === 0) return screen.note('No call fits.')
  if (words.has('ids')) screen.table(ID_COLUMNS, items.map(toIds))
  else showTable(items, await findNames(keysOf(items), live), desk)
  screen.note(`\n${summaryOf(items)}${next === undefined ? '' : `; more with --cursor ${next}`}`)
}

function keysOf(items: readonly JsonRecord[]): ReadonlySet<string> {
  return new Set(items.map((call) => toText(call['key_id'])))
}

/** A window has little room: where all calls are of today, it shows the time alone. */
function showTable(items: readonly JsonRecord[], names: Names, { screen, now }: Desk): void {
  const isShort = screen.isWatched && items.every(({ timestamp }) => isToday(timestamp, now()))
  screen.table(
    COLUMNS,
    items.map((call) => toRow(call, names, isShort ? timeOfDay : time)),
  )
}

export async function showCall(words: Words, desk: Desk): Promise<void> {
  const { screen } = desk
  const live = await reach(words, desk)
  const id = encodeURIComponent(words.argument ?? '')
  const { value, text } = await live.call('GET', `/v1/manage/calls/${id}`)
  if (typeof toRecord(value)['request_id'] !== 'string') throw somethingElse(live.url)
  if (screen.isMachine) return screen.json(parseExactly(text))
  const { route, explanation, ...entry } = toRecord(value)
  screen.sheet(describeEntry(entry, desk.now()))
  showRoute({ route, explanation }, screen)
}

function readCount(words: Words): number | undefined {
  const limit = readLimit(words.text('limit'))
  if (!words.has('all')) return limit ?? LIMIT_DEFAULT
  if (limit === undefined) return undefined
  throw wrongUsage('Give --all or --limit, not both.')
}

function filtersOf(words: Words): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(FILTERS.map(([flag, parameter]) => [parameter, words.text(flag)]))
}

export function windowOf(words: Words, now: number): Readonly<Record<string, string | undefined>> {
  return { from: readMoment(words, 'from', now), to: readMoment(words, 'to', now) }
}

const MOMENT = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?Z?)?$/

/** Whatever is written without a zone is UTC, as everything here is. */
function readMoment(words: Words, flag: 'from' | 'to', now: number): string | undefined {
  const text = words.text(flag)
  if (text === undefined) return undefined
  const spanMs = findSpanMs(text)
  if (spanMs !== undefined) return new Date(now - spanMs).toISOString()
  const written = text.includes('T') && !text.endsWith('Z') ? `${text}Z` : text
  const at = MOMENT.test(text) ? Date.parse(written) : Number.NaN
  if (!Number.isNaN(at)) return new Date(at).toISOString()
  throw wrongUsage(
    `--${flag} takes a time such as 30m, 2h, 7d, 2026-11-01 or 2026-11-01T12:00:00Z, and got ${JSON.stringify(text)}.`,
  )
}

function statusStyle(cell: string): Style | undefined {
  if (cell.startsWith('2')) return 'green'
  return cell.startsWith('5') ? 'red' : 'yellow'
}

const COLUMNS: readonly Column[] = [
  { title: 'TIME' },
  { title: 'HTTP', style: statusStyle },
  { title: 'MODEL', isElastic: true },
  { title: 'KEY', isElastic: true },
  { title: 'SUPPLIER', isElastic: true, rank: 6 },
  { title: 'IN', align: 'right', rank: 5 },
  { title: 'OUT', align: 'right', rank: 4 },
  { title: 'COST USD', align: 'right' },
  { title: 'MS', align: 'right', rank: 3 },
  { title: 'CODE', isElastic: true },
  { title: 'STATE', rank: 0 },
  { title: 'KEY ID', rank: 2 },
  { title: 'REQUEST', rank: 1 },
]

function toRow(
  call: JsonRecord,
  names: Names,
  print: (value: unknown) => string,
): readonly string[] {
  return [
    print(call['timestamp']),
    toText(call['status']),
    toText(call['model']),
    names(toText(call['key_id'])),
    toText(call['supplier']),
    toText(call['input_tokens']),
    toText(call['output_tokens']),
    money(call['cost_usd']),
    toText(call['latency_ms']),
    toText(call['code']),
    toText(call['state']),
    toText(call['key_id']),
    toText(call['request_id']),
  ]
}

const ID_COLUMNS: readonly Column[] = [
  { title: 'REQUEST' },
  { title: 'TIME' },
  { title: 'HTTP', style: statusStyle },
  { title: 'MODEL', isElastic: true },
]

function toIds(call: JsonRecord): readonly string[] {
  const { request_id: id, timestamp, status, model } = call
  return [toText(id), time(timestamp), toText(status), toText(model)]
}

function summaryOf(items: readonly JsonRecord[]): string {
  const cost = sumMoney(items.map((call) => call['cost_usd']))
  const bad = items.filter(({ status, code }) => Number(status) >= 400 || toText(code) !== '')
  const failed = bad.length === 0 ? '' : `, ${countOf(bad)} failed`
  return `${count(countOf(items), 'call')}, ${cost} USD${failed}`
}

/** Refusals that are alike share one entry. */
function countOf(items: readonly JsonRecord[]): number {
  return items.reduce((sum, call) => sum + (Number(call['count']) || 1), 0)
}

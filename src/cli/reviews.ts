// The commands about calls whose end nobody saw: which there are, what is known of one, and what becomes of
// it. A decision needs a reason, because it is final and somebody will ask.
import { parseUsd, printUsd } from '../core/money.ts'
import type { Desk, Words } from './command.ts'
import { describeEntry } from './entry.ts'
import { wrongUsage } from './failure.ts'
import { parseExactly, toRecord, toText, type JsonRecord } from './json.ts'
import { reach, somethingElse } from './live.ts'
import { readLimit, walk } from './pages.ts'
import { count, distance, money, sumMoney, time } from './print.ts'
import type { Column } from './table.ts'
import { clean } from './text.ts'

const PATH = '/v1/manage/reviews'
const PAGE_MAX = 1000

const COLUMNS: readonly Column[] = [
  { title: 'REQUEST' },
  { title: 'CALLED', rank: 1 },
  { title: 'MODEL', isElastic: true },
  { title: 'KEY ID', rank: 2 },
  { title: 'HELD USD', align: 'right' },
  { title: 'ESTIMATE USD', align: 'right' },
  { title: 'RESOLVES', rank: 3 },
]

export async function listReviews(words: Words, desk: Desk): Promise<void> {
  const { screen } = desk
  const limit = readLimit(words.text('limit'))
  const live = await reach(words, desk)
  const query = { cursor: words.text('cursor') }
  const { items, next, machine } = await walk(live, { path: PATH, query, limit, pageMax: PAGE_MAX })
  if (screen.isMachine) return screen.json(machine)
  if (words.has('quiet')) return screen.print(...items.map((each) => clean(idOf(each))))
  if (items.length === 0) return screen.note('No call is in review.')
  screen.table(
    COLUMNS,
    items.map((each) => toRow(each, desk.now())),
  )
  const held = sumMoney(items.map((each) => each['held_usd']))
  const more = next === undefined ? '' : `; more with --cursor ${next}`
  screen.note(`\n${count(items.length, 'call')} in review, ${held} USD held${more}`)
}

export async function showReview(words: Words, desk: Desk): Promise<void> {
  const live = await reach(words, desk)
  const { value, text } = await live.call('GET', addressOf(words))
  show(toRecord(value), text, desk, live.url)
}

export async function settleReview(words: Words, desk: Desk): Promise<void> {
  const cost = readCost(words.text('cost'))
  await resolve(words, desk, { action: 'settle', ...(cost !== undefined && { cost_usd: cost }) })
}

export async function voidReview(words: Words, desk: Desk): Promise<void> {
  await resolve(words, desk, { action: 'void' })
}

async function resolve(words: Words, desk: Desk, decision: JsonRecord): Promise<void> {
  const body = { ...decision, reason: words.text('reason') ?? '' }
  const live = await reach(words, desk)
  const { value, text } = await live.call('POST', addressOf(words), body)
  show(toRecord(value), text, desk, live.url)
}

function show(entry: JsonRecord, text: string, { screen, now }: Desk, url: string): void {
  if (typeof entry['request_id'] !== 'string') throw somethingElse(url)
  if (screen.isMachine) return screen.json(parseExactly(text))
  screen.sheet(describeEntry(entry, now()))
}

function readCost(text: string | undefined): object | undefined {
  if (text === undefined) return undefined
  const cost = parseUsd(text.replace(/^\$/, ''))
  if (cost !== undefined) return JSON.rawJSON(printUsd(cost))
  throw wrongUsage(
    `--cost takes dollars as a plain number such as 0.0123, with at most nine decimals, and got ${JSON.stringify(text)}.`,
  )
}

function toRow(review: JsonRecord, now: number): readonly string[] {
  return [
    idOf(review),
    time(review['called_at']),
    toText(review['model']),
    toText(review['key_id']),
    money(review['held_usd']),
    money(review['estimate_usd']),
    distance(review['resolves_at'], now) || 'by hand',
  ]
}

function idOf(review: JsonRecord): string {
  return toText(review['request_id'])
}

function addressOf({ argument }: Words): string {
  return `${PATH}/${encodeURIComponent(argument ?? '')}`
}

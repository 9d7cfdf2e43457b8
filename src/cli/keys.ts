// The commands about keys. A secret is printed once, by the command that made it, and asked for by none.
import type { Desk, Words } from './command.ts'
import { CliFailure, wrongUsage } from './failure.ts'
import { parseExactly, toList, toRecord, toText, type JsonRecord } from './json.ts'
import { readSettings } from './key-settings.ts'
import { reach, type Live } from './live.ts'
import { readLimit, walk } from './pages.ts'
import { count, distance, money, timeAndDistance } from './print.ts'
import type { Column } from './table.ts'
import type { Style } from './text.ts'

const PATH = '/v1/manage/keys'
const PAGE_MAX = 100

export async function createKey(words: Words, desk: Desk): Promise<void> {
  const { screen } = desk
  const body = readSettings(words)
  const live = await reach(words, desk)
  const { value, text } = await live.call('POST', PATH, body)
  const created = toRecord(value)
  if (screen.isMachine) return screen.json(parseExactly(text))
  if (words.has('quiet')) return screen.print(toText(created['key']))
  screen.sheet([
    ['ID', toText(created['id'])],
    ['Name', toText(created['name'])],
    ['Key', toText(created['key'])],
  ])
  screen.note(
    `\nThe key is shown this once. Clients send it as \`Authorization: Bearer <key>\` to ${live.url}/v1.`,
  )
}

export async function listKeys(words: Words, desk: Desk): Promise<void> {
  const { screen } = desk
  const limit = readLimit(words.text('limit'))
  const live = await reach(words, desk)
  const query = { cursor: words.text('cursor') }
  const { items, next, machine } = await walk(live, { path: PATH, query, limit, pageMax: PAGE_MAX })
  if (screen.isMachine) return screen.json(machine)
  if (words.has('quiet')) return screen.print(...items.map(({ id }) => toText(id)))
  if (items.length === 0)
    return screen.note('There are no keys yet. Make one with `gateway keys create --name NAME`.')
  screen.table(
    COLUMNS,
    items.map((key) => toRow(key, desk.now())),
  )
  screen.note(`\n${count(items.length, 'key')}${moreOf(next)}`)
}

export async function showKey(words: Words, desk: Desk): Promise<void> {
  const live = await reach(words, desk)
  const { value, text } = await live.call('GET', addressOf(words))
  showOne(toRecord(value), text, desk)
}

export async function changeKey(words: Words, desk: Desk): Promise<void> {
  const body = readSettings(words)
  if (Object.keys(body).length === 0)
    throw wrongUsage('Nothing is named to be changed. Write for example --budget 25.')
  const live = await reach(words, desk)
  const { value, text } = await live.call('PATCH', addressOf(words), body)
  showOne(toRecord(value), text, desk)
}

export async function revokeKey(words: Words, desk: Desk): Promise<void> {
  const { screen, terminal } = desk
  const canAsk = terminal.isTerminal.stdin && terminal.isTerminal.stderr && !screen.isMachine
  if (!words.has('yes') && !canAsk)
    throw wrongUsage('Nobody is there to ask whether to revoke this key. Write --yes.')
  const live = await reach(words, desk)
  if (!words.has('yes')) await confirm(words, desk, live)
  const { value, text } = await live.call('DELETE', addressOf(words))
  if (screen.isMachine) return screen.json(parseExactly(text))
  screen.print(`${toText(toRecord(value)['id'])} is revoked.`)
}

async function confirm(words: Words, { screen, input }: Desk, live: Live): Promise<void> {
  const { value } = await live.call('GET', addressOf(words))
  const { id, name, status } = toRecord(value)
  screen.sheet([
    ['ID', toText(id)],
    ['Name', toText(name)],
    ['Status', toText(status)],
  ])
  screen.ask('\nRevoke this key, at once and for good? [y/N] ')
  const answer = (await input.line()) ?? ''
  if (!/^y(es)?$/i.test(answer.trim())) throw new CliFailure('refused', 'Nothing was revoked.')
}

function addressOf({ argument }: Words): string {
  return `${PATH}/${encodeURIComponent(argument ?? '')}`
}

const STATUS_STYLES: Readonly<Record<string, Style>> = {
  active: 'green',
  budget_exhausted: 'yellow',
  expired: 'dim',
  revoked: 'dim',
}

const COLUMNS: readonly Column[] = [
  { title: 'ID' },
  { title: 'NAME', isElastic: true },
  { title: 'STATUS', style: (cell) => STATUS_STYLES[cell] },
  { title: 'SPENT', align: 'right' },
  { title: 'BUDGET', align: 'right' },
  { title: 'CREATED', isOptional: true },
]

function toRow(key: JsonRecord, now: number): readonly string[] {
  return [
    toText(key['id']),
    toText(key['name']),
    toText(key['status']),
    money(key['budget_used']),
    budgetOf(key),
    distance(key['created'], now),
  ]
}

const PERIODS: Readonly<Record<string, string>> = {
  daily: '/day',
  monthly: '/month',
  rolling: '/30 days',
}

function budgetOf(key: JsonRecord): string {
  const limit = money(key['budget_limit'])
  return limit === '' ? '' : limit + (PERIODS[toText(key['budget_period'])] ?? '')
}

function showOne(key: JsonRecord, text: string, { screen, now }: Desk): void {
  if (screen.isMachine) return screen.json(parseExactly(text))
  const labels = Object.entries(toRecord(key['metadata']))
  screen.sheet([
    ['ID', toText(key['id'])],
    ['Name', toText(key['name'])],
    ['Status', toText(key['status'])],
    ['Spent', `${money(key['budget_used'])} USD in this period`],
    ['Budget', describeBudget(key, now())],
    ['Models', toList(key['allowed_models']).map(toText).join(', ') || 'every model'],
    ['Regions', toList(key['allowed_regions']).map(toText).join(', ') || 'every region'],
    ['Rate', rateOf(key['rate_limit_rpm'])],
    ['Metadata', labels.map(([name, value]) => `${name}=${toText(value)}`).join(', ') || 'none'],
    ['Created', timeAndDistance(key['created'], now())],
    ['Expires', timeAndDistance(key['expires_at'], now()) || 'never'],
    ...revokedAt(key, now()),
  ])
}

function rateOf(rpm: unknown): string {
  return typeof rpm === 'number' ? `${rpm} a minute` : 'no limit'
}

function revokedAt(key: JsonRecord, now: number): readonly (readonly [string, string])[] {
  const moment = timeAndDistance(key['revoked_at'], now)
  return moment === '' ? [] : [['Revoked', moment]]
}

function describeBudget(key: JsonRecord, now: number): string {
  const limit = budgetOf(key)
  if (limit === '') return 'no limit'
  const left = money(key['budget_remaining'])
  return `${limit}, ${left} left, resets ${timeAndDistance(key['resets_at'], now)}`
}

function moreOf(next: string | undefined): string {
  return next === undefined ? '' : `; more with --cursor ${next}`
}

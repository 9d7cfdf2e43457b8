// The commands about keys. A secret is printed once, by the command that made it, and asked for by none.
import type { Desk, Words } from './command.ts'
import { CliFailure, wrongUsage } from './failure.ts'
import { parseExactly, toList, toRecord, toText, type JsonRecord } from './json.ts'
import { readSettings } from './key-settings.ts'
import { reach, somethingElse, type Live } from './live.ts'
import { readLimit, walk } from './pages.ts'
import { count, distance, money, time, timeAndDistance } from './print.ts'
import type { Column } from './table.ts'
import { clean, type Style } from './text.ts'

const PATH = '/v1/manage/keys'
const PAGE_MAX = 100

export async function createKey(words: Words, desk: Desk): Promise<void> {
  const { screen } = desk
  const body = readSettings(words, desk.now())
  const live = await reach(words, desk)
  const { value, text } = await live.call('POST', PATH, body)
  const created = toRecord(value)
  if (typeof created['key'] !== 'string') throw somethingElse(live.url)
  for (const doubt of await findDoubts(live.as(created['key']), body)) screen.warn(doubt)
  if (screen.isMachine) return screen.json(parseExactly(text))
  if (words.has('quiet')) return screen.print(clean(toText(created['key'])))
  screen.sheet([
    ['ID', toText(created['id'])],
    ['Name', toText(created['name'])],
    ['Key', toText(created['key'])],
    ...newBudget(words),
  ])
  screen.note(
    `\nThe key is shown this once. Clients send it as \`Authorization: Bearer <key>\` to ${live.url}/v1.`,
  )
}

function newBudget(words: Words): readonly (readonly [string, string])[] {
  const limit = words.text('budget')
  const fit = words.text('fit')
  const hasLimit = limit !== undefined && limit !== 'none'
  return [
    ...(hasLimit ? [['Budget', `${limit} USD ${words.text('period') ?? 'monthly'}`] as const] : []),
    ...(fit === undefined ? [] : [['Fit', fitOf(fit)] as const]),
  ]
}

/** What a key is for and cannot reach. That is no error: suppliers may come later. */
async function findDoubts(live: Live, body: JsonRecord): Promise<readonly string[]> {
  const models = toList(body['allowed_models']).map(toText)
  const regions = toList(body['allowed_regions']).map(toText)
  if (models.length === 0 && regions.length === 0) return []
  // The secret is shown this once: nothing that fails from here on may keep it from being shown.
  const answer = await live.call('GET', '/v1/models?limit=1000').catch(() => undefined)
  if (answer === undefined) return []
  const { value } = answer
  const listed = Array.isArray(value) ? value : toList(toRecord(value)['data'])
  const ids = new Set(listed.map((model) => toText(toRecord(model)['id'])))
  const where = regions.length === 0 ? 'here' : `in ${regions.join(', ')}`
  if (models.length === 0)
    return ids.size > 0 ? [] : [`No model that this gateway lists is served ${where}.`]
  const missing = models.filter((id) => !ids.has(id))
  return missing.map((id) => `No supplier lists the model ${id} ${where}.`)
}

export async function listKeys(words: Words, desk: Desk): Promise<void> {
  const { screen } = desk
  const limit = readLimit(words.text('limit'))
  const live = await reach(words, desk)
  const query = { cursor: words.text('cursor') }
  const { items, next, machine } = await walk(live, { path: PATH, query, limit, pageMax: PAGE_MAX })
  if (screen.isMachine) return screen.json(machine)
  if (words.has('quiet')) return screen.print(...items.map(({ id }) => clean(toText(id))))
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
  showOne(asKey(value, live), text, desk)
}

export async function changeKey(words: Words, desk: Desk): Promise<void> {
  const body = readSettings(words, desk.now())
  if (Object.keys(body).length === 0)
    throw wrongUsage('Nothing is named to be changed. Write for example --budget 25.')
  const live = await reach(words, desk)
  const { value, text } = await live.call('PATCH', addressOf(words), body)
  // Asked as root, which every region is open to: only models can be told from this.
  const { allowed_models: models } = body
  for (const doubt of await findDoubts(live, { allowed_models: models })) desk.screen.warn(doubt)
  showOne(asKey(value, live), text, desk)
}

export async function revokeKey(words: Words, desk: Desk): Promise<void> {
  const { screen, terminal } = desk
  const canAsk = terminal.isTerminal.stdin && terminal.isTerminal.stderr && !screen.isMachine
  if (!words.has('yes') && !canAsk)
    throw wrongUsage('Nobody is there to ask whether to revoke this key. Write --yes.')
  const live = await reach(words, desk)
  if (!words.has('yes')) await confirm(words, desk, live)
  const { value, text } = await live.call('DELETE', addressOf(words))
  const { id } = asKey(value, live)
  if (screen.isMachine) return screen.json(parseExactly(text))
  screen.print(`${clean(toText(id))} is revoked.`)
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

/** The answer as a key; whatever has no id was sent by something else. */
function asKey(value: unknown, { url }: Live): JsonRecord {
  const key = toRecord(value)
  if (typeof key['id'] !== 'string') throw somethingElse(url)
  return key
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
  { title: 'SPENT USD', align: 'right' },
  { title: 'BUDGET USD', align: 'right' },
  { title: 'MODELS', isElastic: true, rank: 5 },
  { title: 'REGIONS', rank: 4 },
  { title: 'RPM', align: 'right', rank: 2 },
  { title: 'EXPIRES', rank: 3 },
  { title: 'CREATED', rank: 1 },
]

function toRow(key: JsonRecord, now: number): readonly string[] {
  return [
    toText(key['id']),
    toText(key['name']),
    toText(key['status']),
    money(key['budget_used']),
    budgetOf(key),
    toList(key['allowed_models']).map(toText).join(','),
    toList(key['allowed_regions']).map(toText).join(','),
    toText(key['rate_limit_rpm']),
    time(key['expires_at']),
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
    ['Fit', fitOf(key['fit'])],
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
  const held = money(key['budget_held'])
  const inReview = money(key['budget_in_review'])
  // A rolling budget in which nothing was spent has nothing to give back.
  const resets = timeAndDistance(key['resets_at'], now)
  return [
    limit,
    `${left} left`,
    ...(isSome(held) ? [`${held} held`] : []),
    ...(isSome(inReview) ? [`${inReview} of it by calls in review (\`gateway reviews\`)`] : []),
    ...(resets === '' ? [] : [`resets ${resets}`]),
  ].join(', ')
}

function isSome(amount: string): boolean {
  return amount !== '' && amount !== '0'
}

function fitOf(fit: unknown): string {
  return fit === 'off'
    ? 'off: a call that the budget cannot pay whole is refused'
    : 'on: answers are shortened to what is left of the budget'
}

function moreOf(next: string | undefined): string {
  return next === undefined ? '' : `; more with --cursor ${next}`
}

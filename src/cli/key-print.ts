// Keys and tokens as people read them: many in a table, one as a sheet.
import { toList, toRecord, toText, type JsonRecord } from './json.ts'
import { distance, money, time, timeAndDistance } from './print.ts'
import type { Line } from './records.ts'
import type { Column } from './table.ts'
import type { Style } from './text.ts'

const STATUS_STYLES: Readonly<Record<string, Style>> = {
  active: 'green',
  budget_exhausted: 'yellow',
  expired: 'dim',
  revoked: 'dim',
}

export const COLUMNS: readonly Column[] = [
  { title: 'ID' },
  { title: 'NAME', isElastic: true },
  { title: 'STATUS', style: (cell) => STATUS_STYLES[cell] },
  { title: 'SPENT USD', align: 'right' },
  { title: 'BUDGET USD', align: 'right' },
  { title: 'MODELS', isElastic: true, rank: 5 },
  { title: 'REGIONS', rank: 4 },
  { title: 'RPM', align: 'right', rank: 2 },
  { title: 'EXPIRES', rank: 3 },
  { title: 'PROJECT', rank: 6 },
  { title: 'TEAM', rank: 6 },
  { title: 'LAST USED', rank: 7 },
  { title: 'CREATED', rank: 1 },
]

export function toRow(key: JsonRecord, now: number): readonly string[] {
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
    toText(key['project_id']),
    toText(key['team_id']),
    distance(key['last_used_at'], now),
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

export function toSheet(key: JsonRecord, now: number): readonly Line[] {
  const labels = Object.entries(toRecord(key['metadata']))
  return [
    ['ID', toText(key['id'])],
    ['Name', toText(key['name'])],
    ['Status', toText(key['status'])],
    ...tiesOf(key),
    ['Spent', `${money(key['budget_used'])} USD in this period`],
    ['Budget', describeBudget(key, now)],
    ['Fit', fitOf(key['fit'])],
    ['Models', toList(key['allowed_models']).map(toText).join(', ') || 'every model'],
    ['Regions', toList(key['allowed_regions']).map(toText).join(', ') || 'every region'],
    ['Rate', rateOf(key['rate_limit_rpm'])],
    ['Metadata', labels.map(([name, value]) => `${name}=${toText(value)}`).join(', ') || 'none'],
    ['Created', timeAndDistance(key['created'], now)],
    ['Last used', timeAndDistance(key['last_used_at'], now) || 'never'],
    ['Expires', timeAndDistance(key['expires_at'], now) || 'never'],
    ...oldSecretOf(key, now),
    ...optional('Revoked', timeAndDistance(key['revoked_at'], now)),
  ]
}

function tiesOf(key: JsonRecord): readonly Line[] {
  return [
    ...optional('Project', toText(key['project_id'])),
    ...optional('Team', toText(key['team_id'])),
    ...optional('User', toText(key['user_id'])),
    ...optional('Manages', key['manage'] === true ? 'keys and tokens of the same scope' : ''),
  ]
}

/** While two secrets work, what matters is whether anyone still sends the old one. */
function oldSecretOf(key: JsonRecord, now: number): readonly Line[] {
  const until = timeAndDistance(key['previous_secret_until'], now)
  if (until === '') return []
  const used = timeAndDistance(key['previous_secret_used_at'], now) || 'not seen'
  return [['Old secret', `until ${until}; last used: ${used}`]]
}

function optional(name: string, value: string): readonly Line[] {
  return value === '' ? [] : [[name, value]]
}

function rateOf(rpm: unknown): string {
  return typeof rpm === 'number' ? `${rpm} a minute` : 'no limit'
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

export function fitOf(fit: unknown): string {
  return fit === 'off'
    ? 'off: a call that the budget cannot pay whole is refused'
    : 'on: answers are shortened to what is left of the budget'
}

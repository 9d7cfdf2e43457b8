// The commands about wallets: what payers have, what is put in and why, and who would pay for a call.
import { parseUsd, printUsd } from '../core/money.ts'
import { readAmount } from './amount.ts'
import type { Desk, Words } from './command.ts'
import { wrongUsage } from './failure.ts'
import { parseExactly, toList, toRecord, toText, type JsonRecord } from './json.ts'
import { readPeriod } from './key-settings.ts'
import { reach, somethingElse } from './live.ts'
import { readLimit, walk } from './pages.ts'
import { count, money, time, timeAndDistance } from './print.ts'
import { addressOf, commandsOf, readFields, type Line, type RecordKind } from './records.ts'
import type { Column } from './table.ts'
import { clean, type Style } from './text.ts'

const STATUS_STYLES: Readonly<Record<string, Style>> = {
  active: 'green',
  exhausted: 'yellow',
  closed: 'dim',
}

const WALLETS: RecordKind = {
  noun: 'wallet',
  path: '/v1/manage/wallets',
  columns: [
    { title: 'ID' },
    { title: 'NAME', isElastic: true },
    { title: 'OWNER', rank: 3 },
    { title: 'OWNER ID', rank: 1 },
    { title: 'STATUS', style: (cell) => STATUS_STYLES[cell] },
    { title: 'BALANCE USD', align: 'right' },
    { title: 'HELD USD', align: 'right', rank: 4 },
    { title: 'AVAILABLE USD', align: 'right' },
    { title: 'LIMIT USD', align: 'right', rank: 2 },
  ],
  row: (wallet) => [
    toText(wallet['id']),
    toText(wallet['name']),
    toText(wallet['owner']),
    toText(wallet['owner_id']),
    toText(wallet['status']),
    money(wallet['balance_usd']),
    money(wallet['held_usd']),
    money(wallet['available_usd']) || 'open',
    limitOf(wallet),
  ],
  sheet: toSheet,
  body: readSettings,
  ties: readOwner,
  filters: (words) => ({
    name: words.text('name'),
    status: words.text('status'),
    project_id: words.text('project'),
    user_id: words.text('user'),
    owner: words.has('account') ? 'account' : undefined,
  }),
  example: '--credit-line 10',
  end: { verb: 'close', done: 'closed' },
}

export const wallets = commandsOf(WALLETS)

/** Nothing that anybody can run twice by mistake: with a reference the second is refused. */
export async function creditWallet(words: Words, desk: Desk): Promise<void> {
  const reference = words.text('reference')
  const body = {
    amount_usd: readSigned(words.text('amount') ?? ''),
    reason: words.text('reason') ?? '',
    ...(reference === undefined ? {} : { reference }),
  }
  const live = await reach(words, desk)
  const { value, text } = await live.call('POST', `${addressOf(WALLETS, words)}/credits`, body)
  const entry = toRecord(value)
  if (typeof entry['wallet_id'] !== 'string') throw somethingElse(live.url)
  const { screen } = desk
  if (screen.isMachine) return screen.json(parseExactly(text))
  if (words.has('quiet')) return screen.print(money(entry['balance_usd']))
  screen.sheet([
    ['Wallet', toText(entry['wallet_id'])],
    ['Amount', `${money(entry['amount_usd'])} USD`],
    ['Reason', toText(entry['reason'])],
    ['Reference', toText(entry['reference']) || 'none'],
    ['Balance', `${money(entry['balance_usd'])} USD`],
  ])
}

const ENTRY_COLUMNS: readonly Column[] = [
  { title: 'AT' },
  { title: 'AMOUNT USD', align: 'right' },
  { title: 'REASON', isElastic: true },
  { title: 'REFERENCE', isElastic: true },
  { title: 'BY', rank: 2 },
  { title: 'REQUEST', rank: 1 },
]

export async function listEntries(words: Words, desk: Desk): Promise<void> {
  const { screen } = desk
  const limit = readLimit(words.text('limit'))
  const query = { cursor: words.text('cursor') }
  const path = `${addressOf(WALLETS, words)}/credits`
  const live = await reach(words, desk)
  const { items, next, machine } = await walk(live, { path, query, limit, pageMax: 100 })
  if (screen.isMachine) return screen.json(machine)
  if (items.length === 0) return screen.note('Nothing was put into this wallet.')
  const fields = ['reason', 'reference', 'by', 'request_id']
  screen.table(
    ENTRY_COLUMNS,
    items.map((entry) => [
      time(entry['at']),
      money(entry['amount_usd']),
      ...fields.map((field) => toText(entry[field])),
    ]),
  )
  const more = next === undefined ? '' : `; more with --cursor ${next}`
  screen.note(`\n${count(items.length, 'credit')}${more}`)
}

const PLACE_COLUMNS: readonly Column[] = [
  { title: 'PLACE' },
  { title: 'OWNER', isElastic: true },
  { title: 'OWNER ID', rank: 1 },
  { title: 'WALLET' },
  { title: 'AVAILABLE USD', align: 'right', rank: 2 },
  { title: 'STATE', style: (cell) => (cell === 'pays' ? 'green' : undefined) },
]

export async function showPayers(words: Words, desk: Desk): Promise<void> {
  const { screen } = desk
  const query = new URLSearchParams()
  const estimate = words.text('estimate')
  if (estimate !== undefined) readAmount(estimate, 'estimate', false)
  const [, second] = SUBJECTS.filter((flag) => words.has(flag))
  if (second !== undefined) throw wrongUsage('Give only one of --project, --key-id and --token-id.')
  for (const [flag, name] of PAYER_FILTERS) {
    const text = words.text(flag)
    if (text !== undefined) query.set(name, text.replace(/^\$/, ''))
  }
  const live = await reach(words, desk)
  const { value, text } = await live.call('GET', `/v1/manage/payers?${query.toString()}`)
  const payers = toRecord(value)
  if (payers['object'] !== 'payers') throw somethingElse(live.url)
  if (screen.isMachine) return screen.json(parseExactly(text))
  if (words.has('quiet')) return screen.print(clean(toText(payers['payer'])))
  screen.table(
    PLACE_COLUMNS,
    toList(payers['chain'])
      .map(toRecord)
      .map((place) => [
        toText(place['link']),
        toText(place['owner_name']),
        toText(place['owner_id']),
        toText(place['wallet_id']),
        money(place['available_usd']),
        toText(place['state']),
      ]),
  )
  const pinned = toText(payers['pinned'])
  if (pinned !== '') screen.note(`\nThe project pins ${pinned}: nobody else is asked.`)
}

const SUBJECTS = ['project', 'key-id', 'token-id'] as const

const PAYER_FILTERS = [
  ['project', 'project_id'],
  ['key-id', 'key_id'],
  ['token-id', 'token_id'],
  ['estimate', 'estimate_usd'],
] as const

function readSettings(words: Words): JsonRecord {
  const name = words.text('name')
  return {
    ...(name === undefined ? {} : { name }),
    ...readFields(
      words,
      [
        ['credit-line', 'credit_line'],
        ['spending-limit', 'spending_limit'],
      ],
      readAmount,
    ),
    ...readFields(words, [['period', 'spending_period']], readPeriod),
  }
}

function readOwner(words: Words): JsonRecord {
  // Nobody opens a wallet without an end by the way: that is a decision of its own.
  if (words.text('credit-line') === 'none')
    throw wrongUsage(
      'A new wallet has an end. Open it afterwards with `gateway wallets update ID --credit-line none`.',
    )
  const owners = (['project', 'user', 'account'] as const).filter((flag) => words.has(flag))
  if (owners.length !== 1)
    throw wrongUsage('A wallet is of one owner. Give one of --project, --user and --account.')
  return {
    ...readFields(words, [
      ['project', 'project_id'],
      ['user', 'user_id'],
    ]),
    ...(words.has('account') ? { account: true } : {}),
  }
}

function readSigned(text: string): object {
  const isTaken = text.startsWith('-')
  const amount = parseUsd(text.replace(/^-/, '').replace(/^\$/, ''))
  if (amount !== undefined && amount > 0)
    return JSON.rawJSON(`${isTaken ? '-' : ''}${printUsd(amount)}`)
  throw wrongUsage(
    `--amount takes dollars such as 25 to put in, or =-25 to take back, with at most nine decimals, and got ${JSON.stringify(text)}.`,
  )
}

function toSheet(wallet: JsonRecord, now: number): readonly Line[] {
  const closed = timeAndDistance(wallet['closed_at'], now)
  return [
    ['ID', toText(wallet['id'])],
    ['Name', toText(wallet['name'])],
    ['Owner', `${toText(wallet['owner'])} ${toText(wallet['owner_id'])}`],
    ['Status', toText(wallet['status'])],
    ['Balance', `${money(wallet['balance_usd'])} USD`],
    ['Held', `${money(wallet['held_usd'])} USD`],
    ['In review', `${money(wallet['in_review_usd'])} USD`],
    ['Available', amountOr(wallet['available_usd'], 'open end')],
    ['Credit line', amountOr(wallet['credit_line'], 'open end')],
    ['Spending limit', limitOf(wallet) || 'none'],
    ['Spent', `${money(wallet['spent_usd'])} USD in this period`],
    ['Created', timeAndDistance(wallet['created'], now)],
    ...(closed === '' ? [] : [['Closed', closed] as const]),
  ]
}

function amountOr(value: unknown, word: string): string {
  const amount = money(value)
  return amount === '' ? word : `${amount} USD`
}

const PERIODS: Readonly<Record<string, string>> = {
  daily: '/day',
  monthly: '/month',
  rolling: '/30 days',
}

function limitOf(wallet: JsonRecord): string {
  const limit = money(wallet['spending_limit'])
  return limit === '' ? '' : limit + (PERIODS[toText(wallet['spending_period'])] ?? '')
}

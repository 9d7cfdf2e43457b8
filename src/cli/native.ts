// The commands about sign-ins at native suppliers, as far as they are records like others. How one is made stands in
// `native-login.ts` and `native-import.ts`; no token is ever shown.
import type { RunCommand, Words } from './command.ts'
import { wrongUsage } from './failure.ts'
import { parseExactly, toList, toRecord, toText, type JsonRecord } from './json.ts'
import { readNames } from './key-settings.ts'
import { reach, somethingElse } from './live.ts'
import { distance, timeAndDistance } from './print.ts'
import { addressOf, commandsOf, readFields, type Line, type RecordKind } from './records.ts'
import { clean, type Style } from './text.ts'

export const IDENTITIES_PATH = '/v1/manage/native/identities'

const STATUS_STYLES: Readonly<Record<string, Style>> = {
  active: 'green',
  disabled: 'dim',
  refused: 'red',
  sealed: 'red',
  removed: 'dim',
}

export const IDENTITIES: RecordKind = {
  noun: 'sign-in',
  path: IDENTITIES_PATH,
  columns: [
    { title: 'ID' },
    { title: 'NAME', isElastic: true },
    { title: 'SUPPLIER', isElastic: true },
    { title: 'STATUS', style: (cell) => STATUS_STYLES[cell] },
    { title: 'ACCOUNT', isElastic: true, rank: 3 },
    { title: 'ORGANISATION', rank: 4 },
    { title: 'PROJECTS', isElastic: true, rank: 2 },
    { title: 'TOKEN ENDS', rank: 5 },
    { title: 'CREATED', rank: 1 },
  ],
  row: (record, now) => [
    toText(record['id']),
    toText(record['name']),
    toText(record['supplier']),
    toText(record['status']),
    toText(record['account_id']),
    toText(record['organisation_id']),
    projectsOf(record),
    distance(record['expires_at'], now),
    distance(record['created'], now),
  ],
  sheet: toSheet,
  body: readSettings,
  filters: (words) => ({
    name: words.text('name'),
    status: words.text('status'),
    supplier: words.text('supplier'),
    organisation_id: words.text('organisation'),
  }),
  example: '--parallel-max 4',
  end: { verb: 'remove', done: 'removed', isAtOnce: true },
  first: 'native login',
}

export const identities = commandsOf(IDENTITIES)
export const disable = setDisabled(true)
export const enable = setDisabled(false)

function setDisabled(disabled: boolean): RunCommand {
  return async (words, desk) => {
    const { screen } = desk
    const live = await reach(words, desk)
    const address = addressOf(IDENTITIES, words)
    const { value, text } = await live.call('PATCH', address, { disabled })
    const { id, status } = toRecord(value)
    if (typeof id !== 'string') throw somethingElse(live.url)
    if (screen.isMachine) return screen.json(parseExactly(text))
    screen.print(`${clean(id)} is ${clean(toText(status))}.`)
  }
}

/** What can be said of a sign-in beside its tokens, and changed later. */
export function readSettings(words: Words): JsonRecord {
  const name = words.text('name')
  return {
    ...(name === undefined ? {} : { name }),
    ...readFields(words, [
      ['account-id', 'account_id'],
      ['organisation', 'organisation_id'],
    ]),
    ...readFields(words, [['projects', 'project_ids']], readNames),
    ...readFields(
      words,
      [
        ['parallel-max', 'parallel_max'],
        ['rpm', 'requests_per_minute'],
      ],
      readCount,
    ),
  }
}

function readCount(text: string, flag: string): number {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (number > 0) return number
  throw wrongUsage(
    `--${flag} takes a whole number from 1 on, or none, and got ${JSON.stringify(text)}.`,
  )
}

function toSheet(record: JsonRecord, now: number): readonly Line[] {
  const moments = [
    ['Renewed', 'renewed_at'],
    ['Refused', 'refused_at'],
    ['Created', 'created'],
    ['Created by', 'created_by'],
    ['Removed', 'removed_at'],
  ] as const
  return [
    ['ID', toText(record['id'])],
    ['Name', toText(record['name'])],
    ['Supplier', toText(record['supplier'])],
    ['Status', statusOf(record)],
    ['Account', toText(record['account_id']) || 'none'],
    ['Organisation', toText(record['organisation_id']) || 'any'],
    ['Projects', projectsOf(record) || 'any'],
    ['At once', toText(record['parallel_max']) || 'any number of calls'],
    ['Calls a minute', toText(record['requests_per_minute']) || 'any number'],
    ['Token ends', timeAndDistance(record['expires_at'], now) || 'unknown'],
    ['Refresh token', record['has_refresh_token'] === true ? 'yes' : 'no'],
    ...moments.flatMap(([label, field]): readonly Line[] => {
      const told = timeAndDistance(record[field], now) || toText(record[field])
      return told === '' ? [] : [[label, told]]
    }),
  ]
}

/** What is to be done stands beside what is wrong. */
function statusOf(record: JsonRecord): string {
  const status = toText(record['status'])
  const again = `sign in again with \`gateway native login --id ${toText(record['id'])}\``
  if (status === 'refused') return `refused (its issuer renews it no more: ${again})`
  return status === 'sealed'
    ? `sealed (the key of its tokens is gone: put it back, or ${again})`
    : status
}

function projectsOf(record: JsonRecord): string {
  return toList(record['project_ids']).map(toText).join(', ')
}

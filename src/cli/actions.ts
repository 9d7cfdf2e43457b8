// The command about actions: what was changed by whom, with what was before and after.
import { windowOf } from './calls.ts'
import type { Desk, Words } from './command.ts'
import { isRecord, toRecord, toText, type JsonRecord } from './json.ts'
import { reach } from './live.ts'
import { readLimit, walk } from './pages.ts'
import { count, time } from './print.ts'
import type { Column } from './table.ts'

const LIMIT_DEFAULT = 20
const PAGE_MAX = 1000

const COLUMNS: readonly Column[] = [
  { title: 'AT' },
  { title: 'ACTION' },
  { title: 'TARGET' },
  { title: 'CHANGE', isElastic: true },
  { title: 'BY', rank: 2 },
  { title: 'REQUEST', rank: 1 },
]

export async function listActions(words: Words, desk: Desk): Promise<void> {
  const { screen } = desk
  const limit = readLimit(words.text('limit')) ?? LIMIT_DEFAULT
  const query = {
    by: words.text('by'),
    target: words.text('target'),
    action: words.text('action'),
    account_id: words.text('account-id'),
    ...windowOf(words, desk.now()),
    cursor: words.text('cursor'),
  }
  const live = await reach(words, desk)
  const request = { path: '/v1/manage/actions', query, limit, pageMax: PAGE_MAX }
  const { items, next, machine } = await walk(live, request)
  if (screen.isMachine) return screen.json(machine)
  if (items.length === 0) return screen.note('No action fits.')
  screen.table(COLUMNS, items.map(toRow))
  const more = next === undefined ? '' : `; more with --cursor ${next}`
  screen.note(`\n${count(items.length, 'action')}${more}`)
}

function toRow(action: JsonRecord): readonly string[] {
  return [
    time(action['at']),
    toText(action['action']),
    toText(action['target']),
    changeOf(action['before'], action['after']),
    toText(action['by']),
    toText(action['request_id']),
  ]
}

/** What differs: `name search → find, payer project`. */
function changeOf(before: unknown, after: unknown): string {
  if (!isRecord(after)) return ''
  const old = toRecord(before)
  return Object.entries(after)
    .filter(([name, value]) => toText(value) !== toText(old[name]) && !isEmpty(value, old[name]))
    .map(([name, value]) => {
      const from = toText(old[name])
      const to = toText(value) || 'none'
      return `${name} ${from === '' ? to : `${from} → ${to}`}`
    })
    .join(', ')
}

/** Nothing that was nothing, however it is written. */
function isEmpty(value: unknown, old: unknown): boolean {
  return ['', '{}', '[]'].includes(toText(value)) && ['', '{}', '[]'].includes(toText(old))
}

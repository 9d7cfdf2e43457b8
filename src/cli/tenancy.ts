// The commands about users, organisations and teams: who calls, who is billed, and which projects belong together.
import type { Words } from './command.ts'
import { wrongUsage } from './failure.ts'
import { toList, toText, type JsonRecord } from './json.ts'
import { readNames } from './key-settings.ts'
import { distance, timeAndDistance } from './print.ts'
import { commandsOf, readFields, type Line, type RecordKind } from './records.ts'
import type { Column } from './table.ts'

/** What these kinds differ in. */
interface Trait {
  readonly noun: string
  /** The field that only this kind has. */
  readonly field: string
  readonly title: string
  readonly flag: 'email' | 'billing-user' | 'projects'
  readonly read?: (text: string) => unknown
  /** The parameter of a list, and its flag. */
  readonly filter?: readonly [flag: 'email' | 'project', parameter: string]
  /** Something else that is on or off. */
  readonly toggle?: Toggle
  readonly example: string
}

interface Toggle {
  readonly field: string
  readonly title: string
  readonly flag: 'native'
}

const BEGIN: readonly Column[] = [
  { title: 'ID' },
  { title: 'NAME', isElastic: true },
  { title: 'STATUS', style: (cell) => (cell === 'active' ? 'green' : 'dim') },
]

function kindOf(trait: Trait): RecordKind {
  const { noun, field, title, flag, read, filter, toggle, example } = trait
  const toggles = toggle === undefined ? [] : [toggle]
  return {
    noun,
    path: `/v1/manage/${noun}s`,
    columns: [
      ...BEGIN,
      { title: title.toUpperCase(), isElastic: true },
      ...toggles.map((each) => ({ title: each.title.toUpperCase(), rank: 2 })),
      { title: 'CREATED', rank: 1 },
    ],
    row: (record, now) => [
      toText(record['id']),
      toText(record['name']),
      toText(record['status']),
      valueOf(record[field]),
      ...toggles.map((each) => switchOf(record[each.field])),
      distance(record['created'], now),
    ],
    sheet: (record, now) =>
      toSheet(record, now, [
        [title, valueOf(record[field]) || 'none'],
        ...toggles.map((each) => [each.title, switchOf(record[each.field])] as const),
      ]),
    body: (words) => ({
      ...nameOf(words),
      ...readFields(words, [[flag, field]], read),
      ...Object.fromEntries(toggles.flatMap((each) => readSwitch(words, each))),
    }),
    filters: (words) => ({
      name: words.text('name'),
      status: words.text('status'),
      ...(filter === undefined ? {} : { [filter[1]]: words.text(filter[0]) }),
    }),
    example,
    end: { verb: 'end', done: 'ended' },
  }
}

function toSheet(record: JsonRecord, now: number, own: readonly Line[]): readonly Line[] {
  const ended = timeAndDistance(record['ended_at'], now)
  return [
    ['ID', toText(record['id'])],
    ['Name', toText(record['name'])],
    ['Status', toText(record['status'])],
    ...own,
    ['Created', timeAndDistance(record['created'], now)],
    ...(ended === '' ? [] : [['Ended', ended] as const]),
  ]
}

function valueOf(value: unknown): string {
  return Array.isArray(value) ? toList(value).map(toText).join(', ') : toText(value)
}

/** An older gateway tells nothing of it. */
function switchOf(value: unknown): string {
  return typeof value === 'boolean' ? (value ? 'on' : 'off') : ''
}

function readSwitch(
  words: Words,
  { flag, field }: Toggle,
): readonly (readonly [string, boolean])[] {
  const text = words.text(flag)
  if (text === undefined) return []
  if (text === 'on' || text === 'off') return [[field, text === 'on']]
  throw wrongUsage(`--${flag} takes on or off, and got ${JSON.stringify(text)}.`)
}

function nameOf(words: Words): JsonRecord {
  const name = words.text('name')
  return name === undefined ? {} : { name }
}

export const users = commandsOf(
  kindOf({
    noun: 'user',
    field: 'email',
    title: 'Email',
    flag: 'email',
    filter: ['email', 'email'],
    example: '--name NAME',
  }),
)

export const organisations = commandsOf(
  kindOf({
    noun: 'organisation',
    field: 'billing_user_id',
    title: 'Billing user',
    flag: 'billing-user',
    toggle: { field: 'native', title: 'Native', flag: 'native' },
    example: '--billing-user usr_…',
  }),
)

export const teams = commandsOf(
  kindOf({
    noun: 'team',
    field: 'project_ids',
    title: 'Projects',
    flag: 'projects',
    read: readNames,
    filter: ['project', 'project_id'],
    example: '--projects prj_…,prj_…',
  }),
)

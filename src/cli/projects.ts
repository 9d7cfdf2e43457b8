// The commands about projects: what calls are made for, and who pays for them.
import { PAYER_LINKS } from '../core/payer.ts'
import type { Words } from './command.ts'
import { wrongUsage } from './failure.ts'
import { toRecord, toText, type JsonRecord } from './json.ts'
import { readLabel, readLabels } from './key-settings.ts'
import { distance, timeAndDistance } from './print.ts'
import { commandsOf, readFields, type RecordKind } from './records.ts'

const PROJECTS: RecordKind = {
  noun: 'project',
  path: '/v1/manage/projects',
  columns: [
    { title: 'ID' },
    { title: 'NAME', isElastic: true },
    { title: 'STATUS', style: (cell) => (cell === 'active' ? 'green' : 'dim') },
    { title: 'ORGANISATION', rank: 3 },
    { title: 'DELEGATE', rank: 2 },
    { title: 'PIN', rank: 4 },
    { title: 'LABELS', isElastic: true, rank: 5 },
    { title: 'CREATED', rank: 1 },
  ],
  row: (project, now) => [
    toText(project['id']),
    toText(project['name']),
    toText(project['status']),
    toText(project['organisation_id']),
    toText(project['delegate_user_id']),
    toText(project['payer']),
    labelsOf(project),
    distance(project['created'], now),
  ],
  sheet: (project, now) => [
    ['ID', toText(project['id'])],
    ['Name', toText(project['name'])],
    ['Status', toText(project['status'])],
    ['Organisation', toText(project['organisation_id']) || 'none'],
    ['Delegate', toText(project['delegate_user_id']) || 'none'],
    ['Payer', payerOf(project['payer'])],
    ['Metadata', labelsOf(project) || 'none'],
    ['Created', timeAndDistance(project['created'], now)],
  ],
  body: readSettings,
  filters: (words) => ({
    name: words.text('name'),
    status: words.text('status'),
    organisation_id: words.text('organisation'),
    ...Object.fromEntries(
      words.texts('metadata').map((pair) => {
        const [name, value] = readLabel(pair)
        return [`metadata.${name}`, value]
      }),
    ),
  }),
  example: '--name NAME',
  end: { verb: 'end', done: 'ended' },
}

export const projects = commandsOf(PROJECTS)

function readSettings(words: Words): JsonRecord {
  const name = words.text('name')
  const labels = words.texts('metadata')
  return {
    ...(name === undefined ? {} : { name }),
    ...readFields(words, [
      ['organisation', 'organisation_id'],
      ['delegate', 'delegate_user_id'],
    ]),
    ...readFields(words, [['pin', 'payer']], readPlace),
    ...(labels.length === 0 ? {} : { metadata: readLabels(labels) }),
  }
}

function readPlace(text: string): string {
  if (PAYER_LINKS.some((link) => link === text)) return text
  throw wrongUsage(
    `--pin takes ${PAYER_LINKS.join(', ')}, or none for all of them in this order, and got ${JSON.stringify(text)}.`,
  )
}

function labelsOf(project: JsonRecord): string {
  return Object.entries(toRecord(project['metadata']))
    .map(([name, value]) => `${name}=${toText(value)}`)
    .join(', ')
}

function payerOf(pinned: unknown): string {
  return pinned === null || pinned === undefined
    ? 'the first of project, organisation, delegate and caller that can'
    : `${toText(pinned)} alone`
}

// The commands about keys, and about tokens, which differ from them in little more than their place.
import type { RunCommand, Words } from './command.ts'
import { toList, toRecord, toText, type JsonRecord } from './json.ts'
import { COLUMNS, fitOf, toRow, toSheet } from './key-print.ts'
import { readFilters, readSettings, readTies } from './key-settings.ts'
import type { Live } from './live.ts'
import { commandsOf, rotate, type Line, type RecordCommands, type RecordKind } from './records.ts'

export const keys = credentials('key')
export const tokens = credentials('token')

function credentials(noun: 'key' | 'token'): RecordCommands & { readonly rotate: RunCommand } {
  const kind: RecordKind = {
    noun,
    path: `/v1/manage/${noun}s`,
    columns: COLUMNS,
    row: toRow,
    sheet: toSheet,
    body: readSettings,
    ties: readTies,
    filters: readFilters,
    example: '--budget 25',
    end: { verb: 'revoke', done: 'revoked', isAtOnce: true },
    secret: { field: 'key', label: 'Key', lines: newBudget },
    doubts: findDoubts,
  }
  return { ...commandsOf(kind), rotate: rotate(kind) }
}

function newBudget(words: Words): readonly Line[] {
  const limit = words.text('budget')
  const fit = words.text('fit')
  const hasLimit = limit !== undefined && limit !== 'none'
  return [
    ...(hasLimit ? [['Budget', `${limit} USD ${words.text('period') ?? 'monthly'}`] as const] : []),
    ...(fit === undefined ? [] : [['Fit', fitOf(fit)] as const]),
  ]
}

/**
 * Models that nobody serves here. That is no error: suppliers may come later. It is asked as whoever manages, because
 * a key that is asked with counts as used; in which regions a model is served is told to nobody, and so not doubted.
 */
async function findDoubts(body: JsonRecord, live: Live): Promise<readonly string[]> {
  const models = toList(body['allowed_models']).map(toText)
  if (models.length === 0) return []
  const { value } = await live.call('GET', '/v1/models?limit=1000')
  const listed = Array.isArray(value) ? value : toList(toRecord(value)['data'])
  const ids = new Set(listed.map((model) => toText(toRecord(model)['id'])))
  const missing = models.filter((id) => !ids.has(id))
  return missing.map((id) => `No supplier lists the model ${id} here.`)
}

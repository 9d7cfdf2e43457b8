// The commands about keys, and about tokens, which differ from them in little more than their place.
import type { RunCommand, Words } from './command.ts'
import { findRegion } from './files.ts'
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
 * Models that nobody serves here, and regions that nobody knows. That is no error: suppliers may come later. It is
 * asked as whoever manages, because a key that is asked with counts as used.
 */
async function findDoubts(body: JsonRecord, live: Live): Promise<readonly string[]> {
  const models = await doubtModels(body, live)
  // Only whoever runs the gateway is told where its suppliers are.
  const regions = await doubtRegions(body, live).catch(() => [])
  return [...models, ...regions]
}

async function doubtModels(body: JsonRecord, live: Live): Promise<readonly string[]> {
  const models = toList(body['allowed_models']).map(toText)
  if (models.length === 0) return []
  const { value } = await live.call('GET', '/v1/models?limit=1000')
  const listed = Array.isArray(value) ? value : toList(toRecord(value)['data'])
  const ids = new Set(listed.map((model) => toText(toRecord(model)['id'])))
  const missing = models.filter((id) => !ids.has(id))
  return missing.map((id) => `No supplier lists the model ${id} here.`)
}

/** A region of a name that nobody knows is one of its own: the key reaches nobody, if no supplier has that name. */
async function doubtRegions(body: JsonRecord, live: Live): Promise<readonly string[]> {
  const asked = await Promise.all(toList(body['allowed_regions']).map(toText).map(findRegion))
  const strange = asked.filter(({ isKnown }) => !isKnown)
  if (strange.length === 0) return []
  const suppliers = await findPlaces(live)
  const doubts = strange.map(async ({ name, closest }) => {
    if (await isInside(name, suppliers, live)) return []
    const meant = closest([...suppliers.keys()])
    const hint = meant === undefined ? '' : ` Did you mean ${meant}?`
    return [`No supplier that lists models is in the region ${name} here.${hint}`]
  })
  return (await Promise.all(doubts)).flat()
}

/** Of each region in which a supplier is, a model there, by the name at that supplier alone. */
async function findPlaces(live: Live): Promise<ReadonlyMap<string, string>> {
  const { value } = await live.call('GET', '/v1/manage/suppliers')
  const suppliers = toList(toRecord(value)['data']).map(toRecord)
  return new Map(
    suppliers.map(({ id, region, routes }) => {
      const { model } = toRecord(toList(routes)[0])
      return [toText(region), `${toText(id)}/${toText(model)}`]
    }),
  )
}

/** Whether some supplier is there, or in a part of it: what lies in what is the gateway's to say, and it is only asked. */
async function isInside(
  region: string,
  suppliers: ReadonlyMap<string, string>,
  live: Live,
): Promise<boolean> {
  if (suppliers.has(region)) return true
  for (const [place, model] of suppliers) {
    // What everybody knows lies in nothing of anybody's own.
    if ((await findRegion(place)).isKnown) continue
    const request = { model, region, messages: [{ role: 'user', content: 'Hello' }] }
    const { value } = await live.call('POST', '/v1/manage/explain', { request })
    if (toRecord(toRecord(value)['region'])['verdict'] === 'served') return true
  }
  return false
}

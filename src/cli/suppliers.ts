// The command about suppliers: how each of their routes is doing at this moment.
import type { Desk, Words } from './command.ts'
import { parseExactly, toList, toRecord, toText, type JsonRecord } from './json.ts'
import { reach, somethingElse } from './live.ts'
import { count } from './print.ts'
import type { Column } from './table.ts'
import type { Style } from './text.ts'

const PATH = '/v1/manage/suppliers'

export async function listSuppliers(words: Words, desk: Desk): Promise<void> {
  const { screen } = desk
  const live = await reach(words, desk)
  const { value, text } = await live.call('GET', addressOf(words))
  const { data } = toRecord(value)
  if (!Array.isArray(data)) throw somethingElse(live.url)
  if (screen.isMachine) return screen.json(parseExactly(text))
  const suppliers = data.map(toRecord)
  const routes = suppliers.flatMap(routesOf)
  if (routes.length === 0) return screen.note('No supplier serves this.')
  screen.table(COLUMNS, routes.map(toRow))
  const away = routes.filter(({ route }) => route['state'] !== 'ready').length
  const rest = away === 0 ? 'all of them ready' : `${away} not ready`
  screen.note(`\n${count(suppliers.length, 'supplier')}, ${count(routes.length, 'route')}, ${rest}`)
}

function addressOf(words: Words): string {
  const query = new URLSearchParams()
  for (const flag of ['model', 'supplier'] as const) {
    const text = words.text(flag)
    if (text !== undefined) query.set(flag, text)
  }
  return query.size === 0 ? PATH : `${PATH}?${query.toString()}`
}

interface Shown {
  readonly supplier: JsonRecord
  /** Undefined for a supplier with one alone, of whom it would say nothing. */
  readonly credential: JsonRecord | undefined
  readonly route: JsonRecord
  readonly inFlight: unknown
}

function routesOf(supplier: JsonRecord): readonly Shown[] {
  const credentials = toList(supplier['credentials']).map(toRecord)
  return toList(supplier['routes'])
    .map(toRecord)
    .map((route) => {
      const own = credentials.find((each) => each['credential'] === route['credential'])
      const credential = credentials.length > 1 ? own : undefined
      return { supplier, credential, route, inFlight: own?.['in_flight'] }
    })
}

function stateStyle(cell: string): Style {
  if (cell === 'ready') return 'green'
  return cell === 'resting' ? 'red' : 'yellow'
}

const COLUMNS: readonly Column[] = [
  { title: 'SUPPLIER', isElastic: true },
  { title: 'CREDENTIAL', align: 'right' },
  { title: 'MODEL', isElastic: true },
  { title: 'REGION', rank: 3 },
  { title: 'STATE', style: stateStyle },
  { title: 'FOR', align: 'right' },
  { title: 'WHY', isElastic: true },
  { title: 'FIRST MS', align: 'right', rank: 2 },
  { title: 'MS', align: 'right', rank: 1 },
  { title: 'BUSY', align: 'right', rank: 0 },
]

function toRow({ supplier, credential, route, inFlight }: Shown): readonly string[] {
  const seconds = Number(route['retry_in_seconds'])
  return [
    toText(supplier['id']),
    toText(credential?.['credential']),
    toText(route['model']),
    toText(route['region']),
    toText(route['state']),
    seconds > 0 ? `${seconds} s` : '',
    toText(route['why']),
    toText(route['first_token_ms']),
    toText(route['latency_ms']),
    toText(inFlight),
  ]
}

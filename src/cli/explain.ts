// The command that tells what a call would meet, without making it: who would be asked, why nobody else, what it could
// cost and who would pay. And the same of a call that was made.
import { readFileSync } from 'node:fs'
import type { Desk, Words } from './command.ts'
import { CliFailure, wrongUsage } from './failure.ts'
import {
  isRecord,
  parseExactly,
  parseJson,
  toList,
  toRecord,
  toText,
  type JsonRecord,
} from './json.ts'
import { reach, somethingElse } from './live.ts'
import { count, money } from './print.ts'
import type { Screen } from './screen.ts'
import type { Column } from './table.ts'
import { clean, type Style } from './text.ts'

export async function explainCall(words: Words, desk: Desk): Promise<void> {
  const { screen } = desk
  const body = readQuestion(words)
  const live = await reach(words, desk)
  const { value, text } = await live.call('POST', '/v1/manage/explain', body)
  const told = toRecord(value)
  if (told['object'] !== 'explanation') throw somethingElse(live.url)
  if (screen.isMachine) return screen.json(parseExactly(text))
  screen.print(clean(verdictOf(told)), '')
  const candidates = toList(told['candidates']).map(toRecord)
  if (candidates.length > 0) showCandidates(candidates, screen)
  if (candidates.length > 0) screen.print('')
  screen.sheet(sheetOf(told))
}

type Named = 'endpoint' | 'key-id' | 'project' | 'session'

const NAMED: readonly (readonly [flag: Named, field: string])[] = [
  ['endpoint', 'endpoint'],
  ['key-id', 'key_id'],
  ['project', 'project_id'],
  ['session', 'session_id'],
]

function readQuestion(words: Words): JsonRecord {
  const named = NAMED.flatMap(([flag, field]) => {
    const text = words.text(flag)
    return text === undefined ? [] : [[field, text] as const]
  })
  return { ...Object.fromEntries(named), request: readRequest(words) }
}

interface Language {
  readonly hello: JsonRecord
  /** Its word for how many tokens an answer may have; none where answers are no text. */
  readonly limit?: string
}

const GREETING = [{ role: 'user', content: 'Hello' }]
/** Understood wherever there are messages; one of these endpoints demands a limit. */
const MESSAGES: Language = {
  hello: { messages: GREETING, max_tokens: 1024 },
  limit: 'max_tokens',
}
const RESPONSES: Language = { hello: { input: GREETING }, limit: 'max_output_tokens' }
const RANKING: Language = { hello: { query: 'Hello', documents: ['Hello'] } }
const OTHERS: ReadonlyMap<string | undefined, Language> = new Map([
  ['/v1/responses', RESPONSES],
  // Native agents have every answer streamed.
  ['/v1/native/responses', { ...RESPONSES, hello: { ...RESPONSES.hello, stream: true } }],
  ['/v1/embeddings', { hello: { input: 'Hello' } }],
  ['/v1/rerank', RANKING],
  ['/v2/rerank', RANKING],
  ['/v1/audio/speech', { hello: { input: 'Hello' } }],
  // There is no file to ask about, but how long it plays.
  ['/v1/audio/transcriptions', { hello: { seconds: 60 } }],
])

/** What the flags say outranks what the file says. */
function readRequest(words: Words): JsonRecord {
  const file = words.text('file')
  const model = words.text('model')
  const region = words.text('region')
  const tokens = words.text('tokens')
  const language = OTHERS.get(words.text('endpoint')) ?? MESSAGES
  if (file === undefined && model === undefined)
    throw wrongUsage('Give --model, or --file with the body of the call.')
  return {
    ...(file === undefined ? language.hello : readBody(file)),
    ...(model !== undefined && { model }),
    ...(region !== undefined && { region }),
    ...(tokens !== undefined && { [limitOf(language)]: readTokens(tokens) }),
    ...(words.has('stream') && { stream: true }),
  }
}

function limitOf({ limit }: Language): string {
  if (limit !== undefined) return limit
  throw wrongUsage('--tokens is about answers of text, and this endpoint has none: leave it out.')
}

function readBody(file: string): JsonRecord {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    // Of the machine, and for whoever typed the name.
    throw new CliFailure('usage', `The file ${file} cannot be read.`, { cause })
  }
  const value = parseJson(text)
  if (isRecord(value)) return value
  throw wrongUsage(`The file ${file} holds no JSON object, as the body of a call is one.`)
}

function readTokens(text: string): number {
  const tokens = /^\d{1,15}$/.test(text) ? Number(text) : 0
  if (tokens > 0) return tokens
  throw wrongUsage(`--tokens takes a number of tokens, and got ${JSON.stringify(text)}.`)
}

function verdictOf(told: JsonRecord): string {
  const refusal = toRecord(told['refusal'])
  if (told['verdict'] !== 'would_be_sent')
    return `It would be refused: ${toText(refusal['status'])} ${toText(refusal['code'])}. ${toText(refusal['message'])}`
  const [first, ...others] = toList(told['order']).map(toText)
  const then = others.length === 0 ? 'and to nobody else' : `and on failure to ${others.join(', ')}`
  const most = count(Number(told['attempts_max']), 'attempt')
  return `It would be sent to ${first ?? ''}, ${then}: at most ${most} in all.`
}

function stateStyle(cell: string): Style | undefined {
  return cell === 'listed' ? 'green' : 'yellow'
}

/** That it is asked first. */
const CHANCE: Column = { title: 'CHANCE', align: 'right' }

/** On the way into another language. */
const LOST: Column = { title: 'LOST', isElastic: true, rank: 5 }

const COLUMNS: readonly Column[] = [
  { title: 'PLACE', align: 'right' },
  { title: 'CANDIDATE' },
  CHANCE,
  { title: 'MODEL', isElastic: true, rank: 2 },
  { title: 'REGION', rank: 3 },
  { title: 'STATE', style: stateStyle },
  { title: 'AT MOST USD', align: 'right', rank: 4 },
  LOST,
  { title: 'WHY', isElastic: true, rank: 1 },
]

/** Where nothing is left to chance, and where nothing gets lost, there is none of it to show. */
function showCandidates(candidates: readonly JsonRecord[], screen: Screen): void {
  const absent = new Set<Column>()
  if (!candidates.some(({ chance }) => typeof chance === 'number')) absent.add(CHANCE)
  if (candidates.every(({ losses }) => toList(losses).length === 0)) absent.add(LOST)
  const isShown = (_: unknown, at: number): boolean => !absent.has(COLUMNS[at]!)
  screen.table(
    COLUMNS.filter(isShown),
    candidates.map((candidate) => toRow(candidate).filter(isShown)),
  )
}

/** `95 %`, `33.3 %`. */
function chanceOf({ chance }: JsonRecord): string {
  return typeof chance === 'number' ? `${Math.round(chance * 1000) / 10} %` : ''
}

function toRow(candidate: JsonRecord): readonly string[] {
  return [
    toText(candidate['place']),
    toText(candidate['candidate']),
    chanceOf(candidate),
    toText(candidate['model']),
    toText(candidate['region']),
    toText(candidate['state']),
    money(candidate['worst_case_usd']),
    toList(candidate['losses']).map(toText).join(' '),
    toText(candidate['why']),
  ]
}

type Line = readonly [name: string, value: string]

function sheetOf(told: JsonRecord): readonly Line[] {
  const lines: readonly Line[] = [
    ['Key', toText(told['key_id'])],
    ['Model', modelOf(toRecord(told['model']))],
    ['Region', regionOf(toRecord(told['region']))],
    ['Session', sessionOf(told['session'])],
    ...moneyOf(told['money']),
    ['Configuration', toText(told['snapshot'])],
  ]
  return lines.filter(([, value]) => value !== '')
}

/** The name by which a caller leaves the choice of a model to the gateway. */
const AUTO = 'auto'

function modelOf({ asked, resolved, is_alias: isAlias, policy }: JsonRecord): string {
  const name = toText(asked)
  const means = isAlias === true ? `${name}, which means ${toText(resolved)}` : name
  const by = policy === null ? '' : `by ${toText(policy)}`
  if (isAlias !== true && asked === AUTO && typeof resolved === 'string' && resolved !== AUTO)
    return `${name}, which chooses ${resolved}${by === '' ? '' : `; its suppliers ${by}`}`
  return by === '' ? means : `${means}, ${by}`
}

const REGIONS: Readonly<Record<string, string>> = {
  any: 'anywhere',
  unserved: 'where nobody serves it',
  disjoint: 'the call names one that its key forbids',
}

function regionOf({ effective, verdict }: JsonRecord): string {
  const places = toList(effective).map(toText).join(', ')
  const words = REGIONS[toText(verdict)] ?? ''
  return [places, words].filter((part) => part !== '').join(', ')
}

const SOURCES: Readonly<Record<string, string>> = {
  header: 'by its X-Session-Id',
  metadata: 'by its metadata',
  program: 'by what its program sends',
  inferred: 'inferred from its body',
}

function sessionOf(value: unknown): string {
  const { source, state, pinned_to: pinned } = toRecord(value)
  if (state === undefined) return ''
  const where = toText(pinned) === '' ? '' : `, at ${toText(pinned)} before`
  const how = SOURCES[toText(source)] ?? toText(source)
  return `${toText(state)}, ${how}${where}`
}

function moneyOf(value: unknown): readonly Line[] {
  if (!isRecord(value)) return []
  const { worst_case_usd: worst, held_usd: held, max_tokens: tokens, budget, payer } = value
  const { would_pay: pays } = toRecord(payer)
  const { wallet_id: wallet, link } = toRecord(pays)
  const left = toRecord(budget)
  return [
    ['At most', worst === null ? 'nothing bounds it' : `${money(worst)} USD`],
    ['Held', held === null ? '' : `${money(held)} USD`],
    ['Cut to', tokens === null ? '' : `${toText(tokens)} output tokens`],
    ['Paid by', pays === null ? '' : `${toText(wallet)} (${toText(link)})`],
    ['Budget left', budget === null ? '' : budgetOf(left)],
  ]
}

function budgetOf({ left_usd: left, after_usd: after }: JsonRecord): string {
  return after === null
    ? `${money(left)} USD`
    : `${money(left)} USD, and ${money(after)} while it runs`
}

/** The list of a call that was made, below its sheet. */
export function showRoute(call: JsonRecord, screen: Screen): void {
  const { explanation } = call
  const route = toRecord(call['route'])
  const listed = toList(route['listed']).map((candidate) => [toText(candidate), 'listed', ''])
  const others = [...toList(route['resting']), ...toList(route['excluded'])].map(toRecord)
  const resting = new Map(others.map((each) => [toText(each['candidate']), each] as const))
  const rows = listed.map(([name = '', state = '']) => {
    const found = resting.get(name)
    return [name, toText(found?.['reason'] ?? state), toText(found?.['why'])]
  })
  const names = new Set(rows.map(([name]) => name))
  for (const [name, { reason, why }] of resting)
    if (!names.has(name)) rows.push([name, toText(reason), toText(why)])
  if (rows.length > 0) screen.print('')
  if (rows.length > 0) screen.table(ROUTE_COLUMNS, rows)
  if (typeof explanation === 'string')
    screen.print('', ...explanation.split('\n').map((line) => clean(line)))
}

const ROUTE_COLUMNS: readonly Column[] = [
  { title: 'CANDIDATE' },
  { title: 'STATE', style: stateStyle },
  { title: 'WHY', isElastic: true },
]

// What commands about a kind of record have in common: how one is addressed, made, listed, shown, changed and ended.
// What a kind is made of, its own file says. A secret is printed once, by the command that made it, and asked for by
// none.
import type { Desk, RunCommand, Words } from './command.ts'
import { CliFailure, wrongUsage } from './failure.ts'
import { parseExactly, toRecord, toText, type JsonRecord } from './json.ts'
import { readOverlap } from './key-settings.ts'
import { reach, somethingElse, type Live } from './live.ts'
import { readLimit, walk } from './pages.ts'
import { count, timeAndDistance } from './print.ts'
import type { Column } from './table.ts'
import { clean } from './text.ts'

export type Line = readonly [name: string, value: string]

export interface RecordKind {
  readonly noun: string
  readonly path: string
  readonly columns: readonly Column[]
  readonly row: (record: JsonRecord, now: number) => readonly string[]
  readonly sheet: (record: JsonRecord, now: number) => readonly Line[]
  /** What a new one, or a change, is made of. */
  readonly body: (words: Words, now: number) => JsonRecord
  /** What a new one belongs to. */
  readonly ties?: (words: Words) => JsonRecord
  readonly filters: (words: Words) => Readonly<Record<string, string | undefined>>
  /** For whoever names nothing to change. */
  readonly example: string
  /** What becomes of one that is no longer wanted. */
  readonly end: { readonly verb: string; readonly done: string; readonly isAtOnce?: true }
  /** The command that makes one; without it the noun's own. */
  readonly first?: string
  /** Of what opens the gateway. */
  readonly secret?: Secret
  /** What is strange about a new one or a change, and no error. */
  readonly doubts?: (body: JsonRecord, live: Live) => Promise<readonly string[]>
}

export interface Secret {
  /** The field that has it. */
  readonly field: string
  readonly label: string
  /** What a new one is shown with. */
  readonly lines?: (words: Words) => readonly Line[]
}

/** What can be done with any kind of record. */
export interface RecordCommands {
  readonly create: RunCommand
  readonly list: RunCommand
  readonly show: RunCommand
  readonly update: RunCommand
  readonly end: RunCommand
}

export function commandsOf(kind: RecordKind): RecordCommands {
  return {
    create: create(kind),
    list: list(kind),
    show: show(kind),
    update: update(kind),
    end: end(kind),
  }
}

const PAGE_MAX = 100

function create(kind: RecordKind): RunCommand {
  return async (words, desk) => {
    const body = { ...kind.body(words, desk.now()), ...kind.ties?.(words) }
    const live = await reach(words, desk)
    const { value, text } = await live.call('POST', kind.path, body)
    const record = asMade(kind, value, live)
    await warn(kind, body, live, desk)
    if (kind.secret !== undefined) {
      const where = `Clients send it as \`Authorization: Bearer <key>\` to ${live.url}/v1.`
      return showSecret(
        kind,
        { record, text, lines: kind.secret.lines?.(words), where },
        words,
        desk,
      )
    }
    if (!desk.screen.isMachine && words.has('quiet'))
      return desk.screen.print(clean(toText(record['id'])))
    showOne(kind, record, text, desk)
  }
}

/** Another secret for what has one. How long the one before goes on, --overlap says. */
export function rotate(kind: RecordKind): RunCommand {
  return async (words, desk) => {
    const body = readOverlap(words)
    const live = await reach(words, desk)
    const { value, text } = await live.call('POST', `${addressOf(kind, words)}/rotate`, body)
    const record = asMade(kind, value, live)
    const until = timeAndDistance(record['previous_secret_until'], desk.now())
    const old: Line = ['Old secret', until === '' ? 'ended' : `until ${until}`]
    showSecret(kind, { record, text, lines: [old], where: '' }, words, desk)
  }
}

interface Shown {
  readonly record: JsonRecord
  readonly text: string
  readonly lines: readonly Line[] | undefined
  readonly where: string
}

function showSecret(
  { noun, secret }: RecordKind,
  { record, text, lines = [], where }: Shown,
  words: Words,
  { screen }: Desk,
): void {
  const { field, label } = secret ?? { field: '', label: '' }
  const shown = toText(record[field])
  if (screen.isMachine) return screen.json(parseExactly(text))
  if (words.has('quiet')) return screen.print(clean(shown))
  screen.sheet([
    ['ID', toText(record['id'])],
    ['Name', toText(record['name'])],
    [label, shown],
    ...lines,
  ])
  const what = label === 'Key' ? noun : label.toLowerCase()
  screen.note(`\nThe ${what} is shown this once. ${where}`.trimEnd())
}

/** The secret is shown this once: nothing that fails here may keep it from being shown. */
async function warn(
  { doubts }: RecordKind,
  body: JsonRecord,
  live: Live,
  { screen }: Desk,
): Promise<void> {
  const found = (await doubts?.(body, live).catch(() => [])) ?? []
  for (const doubt of found) screen.warn(doubt)
}

function list(kind: RecordKind): RunCommand {
  return async (words, desk) => {
    const { screen } = desk
    const { path, noun } = kind
    const limit = readLimit(words.text('limit'))
    const filters = kind.filters(words)
    const live = await reach(words, desk)
    const query = { ...filters, cursor: words.text('cursor') }
    const { items, next, machine } = await walk(live, { path, query, limit, pageMax: PAGE_MAX })
    if (screen.isMachine) return screen.json(machine)
    if (words.has('quiet')) return screen.print(...items.map(({ id }) => clean(toText(id))))
    if (items.length === 0) return screen.note(noneOf(kind, filters))
    screen.table(
      kind.columns,
      items.map((record) => kind.row(record, desk.now())),
    )
    const more = next === undefined ? '' : `; more with --cursor ${next}`
    screen.note(`\n${count(items.length, noun)}${more}`)
  }
}

function noneOf(
  { noun, first = `${noun}s create` }: RecordKind,
  filters: Readonly<Record<string, string | undefined>>,
): string {
  const isFiltered = Object.values(filters).some((filter) => filter !== undefined)
  if (isFiltered) return `No ${noun} is like this.`
  return `There are no ${noun}s yet. \`gateway ${first} --help\` tells how to make one.`
}

function show(kind: RecordKind): RunCommand {
  return async (words, desk) => {
    const live = await reach(words, desk)
    const { value, text } = await live.call('GET', addressOf(kind, words))
    showOne(kind, asRecord(value, live), text, desk)
  }
}

function update(kind: RecordKind): RunCommand {
  return async (words, desk) => {
    const body = kind.body(words, desk.now())
    if (Object.keys(body).length === 0)
      throw wrongUsage(`Nothing is named to be changed. Write for example ${kind.example}.`)
    const live = await reach(words, desk)
    const { value, text } = await live.call('PATCH', addressOf(kind, words), body)
    await warn(kind, body, live, desk)
    showOne(kind, asRecord(value, live), text, desk)
  }
}

function end(kind: RecordKind): RunCommand {
  return async (words, desk) => {
    const { screen, terminal } = desk
    const { noun } = kind
    const { verb, done, isAtOnce } = kind.end
    const canAsk = terminal.isTerminal.stdin && terminal.isTerminal.stderr && !screen.isMachine
    if (!words.has('yes') && !canAsk)
      throw wrongUsage(`Nobody is there to ask whether to ${verb} this ${noun}. Write --yes.`)
    const live = await reach(words, desk)
    const address = addressOf(kind, words)
    if (!words.has('yes')) {
      const record = toRecord((await live.call('GET', address)).value)
      screen.sheet(kind.sheet(record, desk.now()))
      const how = isAtOnce === true ? 'at once and for good' : 'for good'
      await confirm(`\n${capital(verb)} this ${noun}, ${how}? [y/N] `, done, desk)
    }
    const { value, text } = await live.call('DELETE', address)
    const { id } = asRecord(value, live)
    if (screen.isMachine) return screen.json(parseExactly(text))
    screen.print(`${clean(toText(id))} is ${done}.`)
  }
}

export function addressOf({ path }: RecordKind, { argument }: Words): string {
  return `${path}/${encodeURIComponent(argument ?? '')}`
}

/** Flags as fields: what is not given is left out, and the word none takes a value away. */
export function readFields(
  words: Words,
  fields: readonly (readonly [flag: Parameters<Words['text']>[0], field: string])[],
  read: (text: string, flag: string) => unknown = (text) => text,
): JsonRecord {
  return Object.fromEntries(
    fields.flatMap(([flag, field]) => {
      const text = words.text(flag)
      return text === undefined ? [] : [[field, text === 'none' ? null : read(text, flag)]]
    }),
  )
}

/** Whatever has no id was sent by something else. */
function asRecord(value: unknown, { url }: Live): JsonRecord {
  const record = toRecord(value)
  if (typeof record['id'] !== 'string') throw somethingElse(url)
  return record
}

/** What was made with a secret, or given another one, comes with it. */
function asMade({ secret }: RecordKind, value: unknown, live: Live): JsonRecord {
  const record = asRecord(value, live)
  if (secret !== undefined && typeof record[secret.field] !== 'string')
    throw somethingElse(live.url)
  return record
}

function showOne(kind: RecordKind, record: JsonRecord, text: string, desk: Desk): void {
  if (desk.screen.isMachine) return desk.screen.json(parseExactly(text))
  desk.screen.sheet(kind.sheet(record, desk.now()))
}

async function confirm(
  question: string,
  done: string,
  { screen, input }: Pick<Desk, 'screen' | 'input'>,
): Promise<void> {
  screen.ask(question)
  const answer = (await input.line()) ?? ''
  if (!/^y(es)?$/i.test(answer.trim())) throw new CliFailure('refused', `Nothing was ${done}.`)
}

function capital(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1)
}

// Brings a sign-in to the gateway: as a new identity, or into one that is there and must be signed in again.
import type { Desk, Words } from './command.ts'
import { CliFailure, wrongUsage } from './failure.ts'
import { parseExactly, toRecord, toText, type JsonRecord } from './json.ts'
import { somethingElse, type Answer, type Live } from './live.ts'
import { IDENTITIES, IDENTITIES_PATH, readSettings } from './native.ts'
import { clean } from './text.ts'

export interface Target {
  /** The one that is signed in again. */
  readonly id: string | undefined
  readonly settings: JsonRecord
}

/** Throws where it is not said what the sign-in is to be. */
export function readTarget(words: Words, found: JsonRecord = {}): Target {
  const id = words.text('id')
  const settings = readSettings(words)
  if (id !== undefined && !/^nid_[\w-]+$/.test(id))
    throw wrongUsage(`--id takes the id of a sign-in such as nid_…, and got ${JSON.stringify(id)}.`)
  if (id === undefined && !toText(settings['name'] ?? found['name']))
    throw wrongUsage('--name is missing. Write --name NAME, or --id ID to sign one in again.')
  return { id, settings }
}

export function addressOfTarget(id: string): string {
  return `${IDENTITIES_PATH}/${encodeURIComponent(id)}`
}

interface Bringing {
  readonly words: Words
  readonly desk: Desk
  readonly live: Live
}

/** `fields` has the tokens; flags outrank what stands there beside them. */
export async function bring(
  { id, settings }: Target,
  fields: JsonRecord,
  { words, desk, live }: Bringing,
): Promise<void> {
  const body = { ...fields, ...settings }
  const { value, text } =
    id === undefined
      ? await create(body, desk, live)
      : await live.call('PATCH', addressOfTarget(id), body)
  const record = toRecord(value)
  if (typeof record['id'] !== 'string') throw somethingElse(live.url)
  const { screen } = desk
  if (screen.isMachine) return screen.json(parseExactly(text))
  if (words.has('quiet')) return screen.print(clean(record['id']))
  screen.sheet(IDENTITIES.sheet(record, desk.now()))
}

/** Who was signed in already has signed in again; the way there was long, and need not be gone twice. */
async function create(body: JsonRecord, desk: Desk, live: Live): Promise<Answer> {
  try {
    return await live.call('POST', IDENTITIES_PATH, body)
  } catch (thrown) {
    const id = twinOf(thrown)
    if (id === undefined) throw thrown
    const { screen, terminal, input } = desk
    const canAsk = terminal.isTerminal.stdin && terminal.isTerminal.stderr && !screen.isMachine
    if (!canAsk) throw asAgain(thrown, id)
    screen.ask(`${clean(id)} is this sign-in. Give it the new tokens? [y/N] `)
    if (!/^y(es)?$/i.test(((await input.line()) ?? '').trim())) throw asAgain(thrown, id)
    const { supplier: _same, ...rest } = body
    return live.call('PATCH', addressOfTarget(id), rest)
  }
}

/** The one that keeps another from being made. */
function twinOf(thrown: unknown): string | undefined {
  if (!(thrown instanceof CliFailure) || thrown.error?.['code'] !== 'conflict') return undefined
  return toText(thrown.error['identity_id']) || undefined
}

function asAgain(thrown: unknown, id: string): CliFailure {
  const { error, details } = thrown instanceof CliFailure ? thrown : {}
  return new CliFailure('refused', `${id} is this sign-in already.`, {
    advice: `To give it new tokens, run the same command with --id ${id} in the place of --name.`,
    cause: thrown,
    ...(error && { error }),
    ...(details && { details }),
  })
}

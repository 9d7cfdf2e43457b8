// Asks the running gateway to read its configuration again, and says what came of it.
import type { Desk, Words } from './command.ts'
import { CliFailure } from './failure.ts'
import { isRecord, parseExactly, toList, toRecord, toText, type JsonRecord } from './json.ts'
import { reach, somethingElse } from './live.ts'

export async function reload(words: Words, desk: Desk): Promise<void> {
  const { screen } = desk
  const live = await reach(words, desk)
  const body = { allow_drop: words.has('allow-drop') }
  const { value, text } = await live.call('POST', '/v1/manage/reload', body).catch(explain)
  if (toRecord(value)['applied'] !== true) throw somethingElse(live.url)
  if (screen.isMachine) return screen.json(parseExactly(text))
  screen.print('The configuration is in force.')
  const answer = toRecord(value)
  const changes = changesOf(answer)
  if (changes.length > 0) screen.sheet(changes)
  else screen.print('Nothing has changed.')
  for (const problem of toList(answer['problems'])) screen.warn(toText(problem))
}

/** The error object names all problems; its text only the first. */
function explain(thrown: unknown): never {
  if (!(thrown instanceof CliFailure) || thrown.kind !== 'configuration') throw thrown
  const { problems: found, advice } = thrown.error ?? {}
  const problems = toList(found).map(toText)
  if (problems.length === 0) throw thrown
  throw new CliFailure(
    'configuration',
    ['The configuration was not applied; the one before stays in force.', ...problems].join('\n'),
    {
      cause: thrown,
      details: thrown.details,
      ...(thrown.error && { error: thrown.error }),
      ...(typeof advice === 'string' && { advice }),
    },
  )
}

const LABELS: Readonly<Record<string, string>> = {
  suppliers_added: 'New suppliers',
  suppliers_removed: 'Suppliers gone',
  suppliers_changed: 'Suppliers changed',
  models_added: 'New models',
  models_removed: 'Models gone',
  settings_changed: 'Settings changed',
  need_restart: 'Wait for a restart',
}

/** The lists may stand in the answer itself or under `changes`. */
function changesOf(answer: JsonRecord): readonly (readonly [string, string])[] {
  const changes = isRecord(answer['changes']) ? answer['changes'] : answer
  return Object.entries(LABELS).flatMap(([name, label]) => {
    const items = toList(changes[name]).map(toText)
    return items.length === 0 ? [] : [[label, items.join(', ')] as const]
  })
}

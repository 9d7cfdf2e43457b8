// The commands about the configuration file. Checking reads it as a start would; writing never takes the
// place of a file that somebody has.
import { randomUUID } from 'node:crypto'
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Desk, Words } from './command.ts'
import { CliFailure, wrongUsage } from './failure.ts'
import {
  asConfigurationFailure,
  findAddressTroubles,
  findChoices,
  readOffer,
  toMachineProblem,
  writeExample,
  type Choice,
  type Offer,
} from './files.ts'
import { count } from './print.ts'

const USUAL_FILE = 'gateway.yaml'
/** It names who is called and with which variables, and somebody may write a credential into it. */
const OWNER_ONLY = 0o600

export async function checkFile(words: Words, desk: Desk): Promise<void> {
  const { screen, terminal } = desk
  const flag = words.text('config')
  if (words.argument !== undefined && flag !== undefined)
    throw wrongUsage('The file is named twice. Write it behind the command or with --config.')
  const options = { config: words.argument ?? flag, environment: terminal.environment }
  const offer = await readOffer(options).catch(asConfigurationFailure)
  const { settings, suppliers, offered, isDemo } = offer
  const { file, warnings } = settings
  const troubles = words.has('resolve') ? await findAddressTroubles(suppliers, settings.lookup) : []
  const ids = [...new Set(offered.map(({ id }) => id))]
  const models = new Set(offered.flatMap((each) => [...each.models.keys()]))
  const open = new Set(
    suppliers.flatMap(({ id, anyModel }) => (anyModel === undefined ? [] : [id])),
  )
  if (screen.isMachine)
    return screen.json({
      object: 'config_check',
      file: file ?? null,
      suppliers: ids,
      demo: isDemo,
      models: [...models],
      any_model_of: [...open],
      warnings: [...warnings.map(toMachineProblem), ...troubles.map((message) => ({ message }))],
    })
  for (const { file, line, column, message } of warnings)
    screen.warn(`${file}:${line}:${column}  ${message}`)
  for (const trouble of troubles) screen.warn(trouble)
  const what = describeOffer(offer, models.size, [...open])
  if (file === undefined)
    screen.print(`There is no file; a start would go by the environment: ${what}.`)
  else screen.print(`${file} is good: ${what}.`)
}

/** What a start would have, in a few words. */
function describeOffer(
  { suppliers, isDemo }: Pick<Offer, 'suppliers' | 'isDemo'>,
  models: number,
  open: readonly string[],
): string {
  if (suppliers.length === 0) return isDemo ? 'the demo suppliers' : 'no supplier at all'
  const own = count(new Set(suppliers.map(({ id }) => id)).size, 'supplier')
  const any = open.length === 0 ? [] : [`any model of ${open.join(', ')}`]
  const listed = models > 0 || open.length === 0 ? [count(models, 'model')] : []
  return [`${own}${isDemo ? ' and the demo' : ''}`, ...listed, ...any].join(', ')
}

export async function writeFirstFile(words: Words, desk: Desk): Promise<void> {
  const { screen, lookup, terminal } = desk
  const file = resolve(words.argument ?? USUAL_FILE)
  const isForced = words.has('force')
  if (!isForced && existsSync(file)) throw exists(file)
  const choices = await findChoices(lookup)
  const canAsk = terminal.isTerminal.stdin && terminal.isTerminal.stderr && !screen.isMachine
  const chosen = canAsk && !words.has('yes') ? await choose(choices, desk) : choices
  const present = chosen.filter(({ isChosen }) => isChosen)
  write(file, await writeExample(present), isForced)
  const suppliers = present.map(({ id }) => id)
  if (screen.isMachine) return screen.json({ object: 'config_file', file, suppliers })
  screen.print(`Wrote ${file}.`)
  const check = ['gateway config check', words.argument].filter(Boolean).join(' ')
  screen.note(`Look through it, then run \`${check}\`.`)
}

/** Shows the list again after every answer, until an empty one. */
async function choose(choices: readonly Choice[], desk: Desk): Promise<readonly Choice[]> {
  const { screen, input } = desk
  screen.ask(`Which suppliers?\n\n${listed(choices)}\n\nNumbers switch, Enter writes the file: `)
  const answer = await input.line()
  if (answer === undefined) throw new CliFailure('interrupted', 'Nothing was written.')
  const numbers = answer.split(/[\s,]+/).filter((word) => word !== '')
  if (numbers.length === 0) return choices
  // Those that are right count, and the list shows it before the next answer.
  for (const wrong of numbers.filter((word) => choices[Number(word) - 1] === undefined))
    screen.warn(`${wrong} is none of the numbers 1 to ${choices.length}.`)
  return choose(
    choices.map((choice, index) =>
      numbers.includes(String(index + 1)) ? { ...choice, isChosen: !choice.isChosen } : choice,
    ),
    desk,
  )
}

function listed(choices: readonly Choice[]): string {
  return choices
    .map(({ id, variable, isSet, isChosen, toDo }, index) => {
      const box = isChosen ? '[x]' : '[ ]'
      const state = toDo ?? (isSet ? `${variable} is set` : variable)
      return `  ${String(index + 1).padStart(2)} ${box} ${id.padEnd(18)} ${state}`
    })
    .join('\n')
}

function write(file: string, text: string, isForced: boolean): void {
  try {
    if (!isForced) {
      // Fails where a file has appeared meanwhile, also behind a link.
      writeFileSync(file, text, { mode: OWNER_ONLY, flag: 'wx' })
      return
    }
    replace(file, text)
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'EEXIST') throw exists(file)
    const reason = thrown instanceof Error ? thrown.message : String(thrown)
    throw new CliFailure('refused', `${file} cannot be written: ${reason}`, { cause: thrown })
  }
}

/** Under a name that nobody can have laid a link at, and only if nothing is there. */
function replace(file: string, text: string): void {
  const draft = `${file}.${randomUUID()}`
  try {
    writeFileSync(draft, text, { mode: OWNER_ONLY, flag: 'wx' })
    renameSync(draft, file)
  } finally {
    rmSync(draft, { force: true })
  }
}

function exists(file: string): CliFailure {
  return new CliFailure('refused', `${file} exists already.`, {
    advice: 'Name another file, or overwrite it with --force.',
  })
}

// The command line: finds the command that was meant, lets it work, and turns whatever it throws into a
// text and an exit code. Everything it touches is handed in.
import type { Command, Desk } from './command.ts'
import { CliFailure, EXIT, wrongUsage } from './failure.ts'
import { FLAGS, isFlagName } from './flags.ts'
import { commandHelp, generalHelp, groupHelp } from './help.ts'
import { commands, groups } from './roster.ts'
import { Screen } from './screen.ts'
import type { Terminal } from './terminal.ts'
import { flagsOf, hear, readWords, unknownFlag, unknownWord, type Spoken } from './words.ts'

export async function run(line: readonly string[], terminal: Terminal): Promise<number> {
  const spoken = hear(line)
  const screen = new Screen(terminal, spoken.isMachine)
  try {
    await answer(spoken, screen, terminal)
    return EXIT.ok
  } catch (thrown) {
    // The one border where every failure becomes a text and a number.
    const failure = toFailure(thrown)
    screen.fail(failure)
    return failure.exitCode
  } finally {
    await terminal.stdin.close()
  }
}

async function answer(spoken: Spoken, screen: Screen, terminal: Terminal): Promise<void> {
  const names = spoken.isVersion && spoken.names.length === 0 ? ['version'] : spoken.names
  // `help help` and `help --help` are about the word itself.
  if (spoken.isHelp) return showHelp(names, screen)
  if (names[0] === 'help') return showHelp(names.slice(1), screen)
  const command = await findCommand(names, spoken)
  const rest = spoken.names.length === 0 ? spoken.without(0) : spoken.without(command.words.length)
  try {
    const words = await readWords(rest, command)
    const runCommand = await command.load()
    await runCommand(words, deskOf(screen, terminal))
  } catch (thrown) {
    // Here it is known whose help tells how to write it.
    throw withHelp(thrown, `gateway ${[...command.words, '--help'].join(' ')}`)
  }
}

function withHelp(thrown: unknown, help: string): unknown {
  if (!(thrown instanceof CliFailure) || thrown.kind !== 'usage') return thrown
  if (thrown.advice !== undefined) return thrown
  const { message, error, details } = thrown
  const advice = `See \`${help}\`.`
  return new CliFailure('usage', message, { advice, details, ...(error && { error }) })
}

function deskOf(screen: Screen, terminal: Terminal): Desk {
  return {
    screen,
    input: terminal.stdin,
    terminal,
    // What is set to nothing is not set.
    lookup: (name) => terminal.environment[name] || undefined,
    now: () => Date.now(),
  }
}

async function findCommand(names: readonly string[], spoken: Spoken): Promise<Command> {
  const found = findNamed(names.length === 0 ? ['start'] : names)
  // A flag that nobody has may have swallowed, or not swallowed, the word behind it.
  if (spoken.unknownFlag !== undefined)
    throw await unknownFlag(
      spoken.unknownFlag,
      found === undefined ? Object.keys(FLAGS).filter(isFlagName) : flagsOf(found),
    )
  if (found !== undefined) return found
  const [first = '', second] = names
  if (!Object.hasOwn(groups, first)) throw await unknownWord(first, firstWords())
  const below = secondWords(first)
  const list = `There are ${below.map((word) => `${first} ${word}`).join(', ')}.`
  if (second === undefined) throw wrongUsage(`gateway ${first} needs a second word.`, list)
  throw wrongUsage((await unknownWord(second, below, first)).message, list)
}

/** The command with the most words that the line begins with. */
function findNamed(names: readonly string[]): Command | undefined {
  return commands
    .filter(({ words }) => words.every((word, index) => names[index] === word))
    .toSorted((left, right) => right.words.length - left.words.length)[0]
}

async function showHelp(names: readonly string[], screen: Screen): Promise<void> {
  const [first] = names
  const command = findNamed(names)
  if (first === undefined) screen.print(generalHelp().trimEnd())
  else if (command !== undefined) screen.print(commandHelp(command).trimEnd())
  else if (Object.hasOwn(groups, first)) screen.print(groupHelp(first).trimEnd())
  else throw await unknownWord(first, firstWords())
}

function firstWords(): readonly string[] {
  return [...new Set(commands.flatMap(({ words }) => words[0] ?? []))]
}

function secondWords(group: string): readonly string[] {
  return commands.flatMap(({ words }) => (words[0] === group && words[1]) || [])
}

function toFailure(thrown: unknown): CliFailure {
  const failure = withHelp(thrown, 'gateway help')
  if (failure instanceof CliFailure) return failure
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  return new CliFailure('refused', message, { cause: thrown })
}

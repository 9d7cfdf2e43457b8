// Reads what was typed: first which command it names, wherever its flags stand, then strictly what that
// command takes. Whatever it does not take is refused by name, with a guess at what was meant.
import { parseArgs, type ParseArgsOptionsConfig } from 'node:util'
import type { Command, Words } from './command.ts'
import { wrongUsage, type CliFailure } from './failure.ts'
import { COMMON_FLAGS, flagOf, FLAGS, isFlagName, LIVE_FLAGS, type FlagName } from './flags.ts'

export interface Spoken {
  /** The words that are no flags and no values, in order. */
  readonly names: readonly string[]
  readonly isHelp: boolean
  readonly isVersion: boolean
  readonly isMachine: boolean
  /** The line without its first words. */
  without(count: number): readonly string[]
  /** The first flag that no command has. */
  readonly unknownFlag: string | undefined
}

const ALL = optionsOf(Object.keys(FLAGS).filter(isFlagName))

/** Understands a line before it is known whose flags they are. */
export function hear(line: readonly string[]): Spoken {
  const { tokens, values } = parseArgs({
    args: [...line],
    options: ALL,
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  const named = tokens.filter((token) => token.kind === 'positional')
  const unknown = tokens.find((token) => token.kind === 'option' && !isFlagName(token.name))
  return {
    names: named.map(({ value }) => value),
    isHelp: values['help'] === true,
    isVersion: values['version'] === true,
    isMachine: values['json'] === true,
    without(count) {
      const gone = new Set(named.slice(0, count).map(({ index }) => index))
      return line.filter((_, index) => !gone.has(index))
    },
    unknownFlag: unknown?.kind === 'option' ? unknown.rawName : undefined,
  }
}

export function flagsOf({ flags, isLive }: Command): readonly FlagName[] {
  return [...new Set([...flags, ...(isLive === true ? LIVE_FLAGS : []), ...COMMON_FLAGS])]
}

/** Reads the rest of the line as the command takes it. */
export async function readWords(line: readonly string[], command: Command): Promise<Words> {
  const flags = flagsOf(command)
  const { values, positionals } = await parseStrictly(line, flags)
  checkArguments(positionals, command)
  const missing = command.needs?.find((flag) => values[flag] === undefined)
  if (missing !== undefined)
    throw wrongUsage(`--${missing} is missing. Write --${missing} ${flagOf(missing).value ?? ''}.`)
  const text = (flag: FlagName): string | undefined => {
    const value = values[flag]
    return typeof value === 'string' ? value : undefined
  }
  return {
    argument: positionals[0],
    has: (flag) => values[flag] !== undefined,
    text,
    texts(flag) {
      const value = values[flag]
      return Array.isArray(value) ? value.map(String) : []
    },
  }
}

interface Parsed {
  readonly values: Readonly<Record<string, unknown>>
  readonly positionals: readonly string[]
}

async function parseStrictly(line: readonly string[], flags: readonly FlagName[]): Promise<Parsed> {
  try {
    const parsed = parseArgs({
      args: [...line],
      options: optionsOf(flags),
      strict: true,
      allowPositionals: true,
      tokens: true,
    })
    checkRepeats(parsed.tokens)
    return { values: parsed.values, positionals: parsed.positionals }
  } catch (thrown) {
    throw await asUsage(thrown, flags)
  }
}

function optionsOf(flags: readonly FlagName[]): ParseArgsOptionsConfig {
  const options: ParseArgsOptionsConfig = {}
  for (const name of flags) {
    const { value, short, isList } = flagOf(name)
    options[name] = {
      type: value === undefined ? 'boolean' : 'string',
      ...(short === undefined ? {} : { short }),
      ...(isList === true ? { multiple: true } : {}),
    }
  }
  return options
}

/** The last of two would win in silence. */
function checkRepeats(tokens: readonly { readonly kind: string; readonly name?: string }[]): void {
  const seen = new Set<string>()
  for (const { kind, name } of tokens) {
    if (kind !== 'option' || name === undefined || !isFlagName(name)) continue
    if (seen.has(name) && flagOf(name).isList !== true)
      throw wrongUsage(`--${name} is given twice. Give it once.`)
    seen.add(name)
  }
}

function checkArguments(positionals: readonly string[], { argument, words }: Command): void {
  const name = ['gateway', ...words].join(' ')
  const [, second] = argument === undefined ? [undefined, positionals[0]] : positionals
  if (second !== undefined)
    throw wrongUsage(
      argument === undefined
        ? `${name} takes no argument, and got ${JSON.stringify(second)}.`
        : `${name} takes one ${argument.name}, and got ${JSON.stringify(second)} as well.`,
    )
  if (argument?.isRequired === true && !positionals[0])
    throw wrongUsage(`${name} needs a ${argument.name}: ${argument.text}.`)
}

/** Names the flag at fault; the parser's own texts speak of other things. */
async function asUsage(thrown: unknown, flags: readonly FlagName[]): Promise<unknown> {
  if (!(thrown instanceof TypeError) || !('code' in thrown)) return thrown
  const quoted = /'(?:-\w, )?-{0,2}([\w-]+)/.exec(thrown.message)?.[1] ?? ''
  if (thrown.code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION')
    return unknownFlag(`${quoted.length > 1 ? '--' : '-'}${quoted}`, flags)
  if (!isFlagName(quoted)) return wrongUsage(thrown.message)
  const { value } = flagOf(quoted)
  if (value === undefined) return wrongUsage(`--${quoted} takes no value.`)
  return wrongUsage(
    `--${quoted} needs a value.`,
    `Write --${quoted} ${value}, or --${quoted}=${value} where the value begins with a dash.`,
  )
}

export async function unknownFlag(raw: string, flags: readonly FlagName[]): Promise<CliFailure> {
  const guess = await guessOf(raw.replace(/^-+/, ''), flags, '--')
  return wrongUsage(`There is no flag ${raw} here.${guess}`)
}

export async function unknownWord(
  word: string,
  known: readonly string[],
  group = '',
): Promise<CliFailure> {
  const prefix = group === '' ? '' : `${group} `
  const guess = await guessOf(word, known, prefix)
  return wrongUsage(`There is no command ${JSON.stringify(prefix + word)}.${guess}`)
}

async function guessOf(word: string, known: readonly string[], prefix: string): Promise<string> {
  // Loaded for a typo alone: it comes with the whole description of the configuration.
  const { findClosest } = await import('../config/names.ts')
  const closest = findClosest(word, known)
  return closest === undefined ? '' : ` Did you mean ${prefix}${closest}?`
}

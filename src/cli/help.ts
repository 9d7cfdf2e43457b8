// Help, made from the roster: what a flag does is written once, where the flag is. No line is longer than
// 80 columns, whatever the window.
import type { Command } from './command.ts'
import { COMMON_FLAGS, flagOf, LIVE_FLAGS, type FlagName } from './flags.ts'
import { commands, groups } from './roster.ts'
import { pad, widthOf, wrap } from './text.ts'

const WIDTH = 80
const INDENT = '  '

export function generalHelp(): string {
  const rows = commands.map(({ words, summary }) => [words.join(' '), summary] as const)
  return [
    'gateway: one address for many model suppliers',
    '',
    'Usage: gateway [COMMAND] [FLAGS]',
    '',
    'Commands:',
    ...columns(rows),
    '',
    'Without a command it starts. `gateway COMMAND --help` tells more of each.',
    '',
    ...everywhere(),
    '',
    ...reaching(),
    '',
    'Exit codes:',
    ...columns([
      ['0', 'done'],
      ['1', 'refused by the gateway, or failed'],
      ['2', 'wrongly written'],
      ['3', 'no gateway there'],
      ['4', 'no key, or a key that may not'],
      ['5', 'no such key, call, project, wallet …'],
      ['6', 'the configuration has problems'],
    ]),
    '',
  ].join('\n')
}

export function groupHelp(group: string): string {
  const rows = commands
    .filter(({ words }) => words[0] === group)
    .map(({ words, summary }) => [words.join(' '), summary] as const)
  return [
    `gateway ${group}: ${groups[group] ?? ''}`,
    '',
    `Usage: gateway ${group} COMMAND [FLAGS]`,
    '',
    'Commands:',
    ...columns(rows),
    '',
    `\`gateway ${group} COMMAND --help\` tells more of each.`,
    '',
  ].join('\n')
}

export function commandHelp(command: Command): string {
  const { words, summary, details, argument, isLive, examples } = command
  const name = ['gateway', ...words].join(' ')
  const own = command.flags.filter((flag) => !isShared(flag, isLive))
  return [
    ...wrap(`${name}: ${summary}`, WIDTH),
    '',
    `Usage: ${[name, ...usageOf(command), '[FLAGS]'].join(' ')}`,
    '',
    ...details.flatMap((text) => [...wrap(text, WIDTH), '']),
    ...(argument === undefined
      ? []
      : ['Argument:', ...columns([[argument.name, argument.text]]), '']),
    ...(own.length === 0
      ? []
      : ['Flags:', ...columns(own.map((flag) => describe(flag, command.says))), '']),
    ...(isLive === true ? [...reaching(), ''] : []),
    ...everywhere(),
    '',
    'Examples:',
    ...examples.flatMap(([line, meaning]) => exampleOf(line, meaning)),
    '',
  ].join('\n')
}

function isShared(flag: FlagName, isLive: true | undefined): boolean {
  const shared: readonly FlagName[] =
    isLive === true ? [...COMMON_FLAGS, ...LIVE_FLAGS] : COMMON_FLAGS
  return shared.includes(flag)
}

function usageOf({ argument, needs }: Command): readonly string[] {
  const flags = (needs ?? []).map((flag) => describe(flag)[0])
  if (argument === undefined) return flags
  return [argument.isRequired === true ? argument.name : `[${argument.name}]`, ...flags]
}

function reaching(): readonly string[] {
  return [
    'Reaching a gateway (the address is in its data folder, the key in',
    'GATEWAY_KEY or GATEWAY_ROOT_KEY, unless one of these says otherwise):',
    ...columns(LIVE_FLAGS.map((flag) => describe(flag))),
  ]
}

function everywhere(): readonly string[] {
  return ['Everywhere:', ...columns(COMMON_FLAGS.map((flag) => describe(flag)))]
}

function describe(name: FlagName, says: Command['says'] = {}): readonly [string, string] {
  const { value, short, text } = { ...flagOf(name), ...says[name] }
  const flag = value === undefined ? `--${name}` : `--${name} ${value}`
  return [short === undefined ? flag : `-${short}, ${flag}`, text]
}

function columns(rows: readonly (readonly [string, string])[]): readonly string[] {
  const width = Math.max(...rows.map(([left]) => widthOf(left))) + 2
  return rows.flatMap(([left, right]) =>
    wrap(right, WIDTH - INDENT.length - width).map(
      (line, index) => INDENT + pad(index === 0 ? left : '', width) + line,
    ),
  )
}

/** The meaning stands behind the line as a comment, so that both can be pasted. */
function exampleOf(line: string, meaning: string): readonly string[] {
  if (meaning === '') return [INDENT + line]
  const whole = `${INDENT}${line}   # ${meaning}`
  return widthOf(whole) <= WIDTH ? [whole] : [`${INDENT}# ${meaning}`, INDENT + line]
}

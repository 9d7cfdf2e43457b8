// The contract of a command: how it is called and explained, as data, and where its code is. The code is
// loaded when the command runs, so that none pays for the others.
import type { FlagName } from './flags.ts'
import type { Input, Terminal } from './terminal.ts'
import type { Screen } from './screen.ts'

export interface Command {
  /** `['keys', 'create']`. */
  readonly words: readonly string[]
  /** One line, for the list of commands. */
  readonly summary: string
  /** Paragraphs of the command's own help. */
  readonly details: readonly string[]
  readonly argument?: Argument
  readonly flags: readonly FlagName[]
  /** What a flag says here, where that is not what it says elsewhere. */
  readonly says?: Partial<Readonly<Record<FlagName, FlagText>>>
  /** The flags without which the command makes no sense. */
  readonly needs?: readonly FlagName[]
  /** Speaks to a running gateway, and so takes the flags that find one. */
  readonly isLive?: true
  /** Lines to paste, each with what it does. */
  readonly examples: readonly (readonly [line: string, meaning: string])[]
  readonly load: () => Promise<RunCommand>
}

export interface FlagText {
  readonly value?: string
  readonly text: string
}

export interface Argument {
  readonly name: string
  readonly isRequired?: true
  readonly text: string
}

/** Resolves when the command has succeeded; throws a `CliFailure` otherwise. */
export type RunCommand = (words: Words, desk: Desk) => Promise<void>

/** What was typed behind a command's name. */
export interface Words {
  readonly argument: string | undefined
  has(flag: FlagName): boolean
  text(flag: FlagName): string | undefined
  texts(flag: FlagName): readonly string[]
}

/** What a command works with. */
export interface Desk {
  readonly screen: Screen
  readonly input: Input
  readonly terminal: Terminal
  /** The environment of the caller. */
  readonly lookup: (name: string) => string | undefined
  readonly now: () => number
}

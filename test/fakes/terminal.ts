// A person or a script in front of the command line, in this process.
import { run } from '../../src/cli/index.ts'
import type { Terminal } from '../../src/cli/terminal.ts'

export interface Told {
  readonly code: number
  readonly out: string
  readonly err: string
}

export interface Person {
  readonly environment?: Readonly<Record<string, string>>
  /** A person at a terminal of this width, who answers the questions with these lines. */
  readonly columns?: number
  readonly answers?: readonly string[]
  /** What is piped in. */
  readonly input?: string
}

/** Runs a command as a script would, or as a person at a terminal. */
export async function tell(line: readonly string[], person: Person = {}): Promise<Told> {
  const { columns, answers = [], input = '', environment = {} } = person
  const isTerminal = columns !== undefined
  const left = [...answers]
  let out = ''
  let err = ''
  const terminal: Terminal = {
    stdout: (text) => (out += text),
    stderr: (text) => (err += text),
    stdin: {
      line: async () => left.shift(),
      hidden: async () => left.shift(),
      all: async () => input,
      close: async () => {},
    },
    environment,
    isTerminal: { stdin: isTerminal, stdout: isTerminal, stderr: isTerminal },
    columns: columns ?? 80,
  }
  const code = await run(line, terminal)
  return { code, out, err }
}

/** Columns of the longest line. */
export function longest(text: string): number {
  return Math.max(...text.split('\n').map((line) => Bun.stringWidth(line)))
}

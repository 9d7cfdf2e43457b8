// Where a command reads and writes. Everything comes in from outside, so that a test can be the person
// in front of it.
import type { Environment } from '../config/environment.ts'

export interface Terminal {
  readonly stdout: (text: string) => void
  readonly stderr: (text: string) => void
  readonly stdin: Input
  readonly environment: Environment
  readonly isTerminal: Streams
  /** Width of the window. */
  readonly columns: number
}

/** Which of the three has a person at its end. */
export interface Streams {
  readonly stdin: boolean
  readonly stdout: boolean
  readonly stderr: boolean
}

export interface Input {
  /** The next line without its end; undefined at the end of the input. */
  line(): Promise<string | undefined>
  /** A line that is not shown while it is typed. */
  hidden(): Promise<string | undefined>
  /** All that is left. */
  all(): Promise<string>
  /** Lets go of it: a process that still listens does not end. */
  close(): Promise<void>
}

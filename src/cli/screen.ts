// What a command shows, in one of two forms: text for people or JSON for programs. In the machine form
// nothing but the answer reaches stdout, and stderr holds one JSON object a line.
import type { CliFailure } from './failure.ts'
import { printJson } from './json.ts'
import { table, sheet, type Column, type TableOptions } from './table.ts'
import type { Terminal } from './terminal.ts'
import { clean, paint, wrap, wrapLines, type Style } from './text.ts'

const WIDTH_DEFAULT = 80
/** Longer lines of prose are hard to read, however wide the window is. */
const PROSE_WIDTH_MAX = 100
const ERROR = 'error: '
const WARNING = 'warning: '

export class Screen {
  readonly isMachine: boolean
  readonly #terminal: Terminal
  readonly #hasColours: boolean

  constructor(terminal: Terminal, isMachine: boolean) {
    this.#terminal = terminal
    this.isMachine = isMachine
    const { NO_COLOR: noColour, TERM: kind } = terminal.environment
    this.#hasColours = !noColour && kind !== 'dumb'
  }

  /** Whether a person looks at what goes to stdout. */
  get isWatched(): boolean {
    return this.#terminal.isTerminal.stdout
  }

  print(...lines: readonly string[]): void {
    this.#terminal.stdout(lines.map((line) => `${line}\n`).join(''))
  }

  json(value: unknown): void {
    this.#terminal.stdout(`${printJson(value)}\n`)
  }

  table(columns: readonly Column[], rows: readonly (readonly string[])[]): void {
    const cleaned = rows.map((row) => row.map(clean))
    this.print(...table(columns, cleaned, this.#tableOptions))
  }

  sheet(pairs: readonly (readonly [name: string, value: string])[]): void {
    const cleaned = pairs.map(([name, value]) => [clean(name), clean(value)] as const)
    this.print(...sheet(cleaned, this.#tableOptions))
  }

  /** A pipe gets all of it: whoever cuts or searches there wants whole values. */
  get #tableOptions(): TableOptions {
    const width = this.isWatched ? this.#terminal.columns || WIDTH_DEFAULT : undefined
    return { width, isColoured: this.#isColoured('stdout') }
  }

  /** Words around the answer: for a person alone, and never in the way of a pipe. */
  note(text: string): void {
    const { stdout, stderr } = this.#terminal.isTerminal
    if (this.isMachine || !stdout || !stderr) return
    const cleaned = this.#spell(text).split('\n').map(clean).join('\n')
    this.#tell(this.#style(wrap(cleaned, this.#proseWidth).join('\n'), 'dim'))
  }

  /** A question, without the end of the line. */
  ask(text: string): void {
    this.#terminal.stderr(text)
  }

  warn(text: string): void {
    if (this.isMachine) this.#tell(JSON.stringify({ warning: text }))
    else this.#tell(this.#labelled(WARNING, 'yellow', text))
  }

  /** Shows why a command ended without success. */
  fail(failure: CliFailure): void {
    if (this.isMachine) {
      this.#tell(JSON.stringify(failure.toMachine()))
      return
    }
    const { message, advice, isLaidOut } = failure
    if (isLaidOut) this.#tell(this.#style(ERROR, 'red') + this.#layOut(message))
    else this.#tell(this.#labelled(ERROR, 'red', message))
    if (advice === undefined) return
    const indent = ' '.repeat(ERROR.length)
    for (const line of wrap(this.#spell(advice), this.#proseWidth - ERROR.length))
      this.#tell(indent + line)
  }

  #labelled(label: string, style: Style, text: string): string {
    const lines = this.#spell(text).split('\n').map(clean)
    const wrapped = lines.flatMap((line) => wrap(line, this.#proseWidth - label.length))
    const indent = ' '.repeat(label.length)
    return this.#style(label, style) + wrapped.join(`\n${indent}`)
  }

  #layOut(message: string): string {
    const cleaned = this.#spell(message).split('\n').map(clean).join('\n')
    return wrapLines(cleaned, this.#proseWidth)
  }

  /** Commands to paste as this one was called: in a clone there is no `gateway` on the path. */
  #spell(text: string): string {
    const isNpm = Boolean(this.#terminal.environment['npm_command'])
    return isNpm ? text.replaceAll('`gateway ', '`npx gateway ') : text
  }

  #tell(text: string): void {
    this.#terminal.stderr(`${text}\n`)
  }

  #style(text: string, style: Style): string {
    return this.#isColoured('stderr') ? paint(text, style) : text
  }

  #isColoured(stream: 'stdout' | 'stderr'): boolean {
    return this.#hasColours && this.#terminal.isTerminal[stream]
  }

  /** Prose that goes into a file or a program stays on its line, where it can be searched for. */
  get #proseWidth(): number {
    if (!this.#terminal.isTerminal.stderr) return Infinity
    return Math.min(this.#terminal.columns || WIDTH_DEFAULT, PROSE_WIDTH_MAX)
  }
}

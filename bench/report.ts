// The result of a run, for a terminal of 80 columns, for a page and for a program. It says what was
// measured and what the goal was, and leaves the judging to the reader.
import { round } from './figures.ts'
import type { Machine } from './machine.ts'
import type { Measure, Outcome, Row } from './scenarios/scenario.ts'

export interface Result {
  readonly date: string
  readonly command: string
  readonly machine: Machine
  /** Share of the machine's time that went to other guests of the host. */
  readonly stolen: number
  readonly load: string
  readonly rounds: number
  readonly seconds: number
  readonly callers: number
  readonly absent: readonly string[]
  readonly scenarios: readonly Ran[]
}

export interface Ran extends Outcome {
  readonly id: string
  readonly title: string
}

type Cells = readonly string[]

const RELAY_HEAD = ['', 'CPU µs', '× bare', '±', 'calls/s', '+p50 ms', '+p99 ms', 'RSS MB', 'peak']
const GOAL_HEAD = ['', 'goal', 'measured', '']

export function problemsOf({ scenarios }: Result): readonly string[] {
  return scenarios.flatMap(({ problems = [] }) => problems)
}

export function toTerminal(result: Result): string {
  const parts = result.scenarios
    .filter(({ rows }) => rows !== undefined)
    .map(
      ({ id, title, rows = [] }) =>
        `${id}: ${title}\n${columns([RELAY_HEAD, ...rows.map(relayCells)])}`,
    )
  const goals = measuresOf(result).map(goalCells)
  return [
    heading(result).join('\n'),
    ...parts,
    ...(goals.length > 0 ? [columns([GOAL_HEAD, ...goals])] : []),
    ...remarks(result),
  ].join('\n\n')
}

export function toMarkdown(result: Result): string {
  const parts = result.scenarios
    .filter(({ rows }) => rows !== undefined)
    .map(
      ({ title, rows = [] }) =>
        `## ${capital(title)}\n\n${page([RELAY_HEAD, ...rows.map(relayCells)])}`,
    )
  return (
    [
      '# Benchmark',
      heading(result)
        .map((line) => `- ${line}`)
        .join('\n'),
      page([GOAL_HEAD, ...measuresOf(result).map(goalCells)]),
      ...parts,
      ...remarks(result).map((line) => `- ${line}`),
      '',
    ]
      .join('\n\n')
      .trimEnd() + '\n'
  )
}

/** Short lists of numbers stay on one line, as the formatter of this repository wants them. */
export function toJson(result: Result): string {
  const text = JSON.stringify(result, (_, value: unknown) => rounded(value), 2)
  const lists = text.replaceAll(/\[[\d.,\s-]+\]/g, (list) =>
    list.replaceAll(/\s+/g, ' ').replace('[ ', '[').replace(' ]', ']'),
  )
  return `${lists}\n`
}

function rounded(value: unknown): unknown {
  return typeof value === 'number' ? round(value, 3) : value
}

function heading({ date, command, machine, load, ...result }: Result): readonly string[] {
  const { cpu, cores, kernel, bun, loadBefore } = machine
  const stolen = `${(result.stolen * 100).toFixed(1)} % stolen`
  return [
    date,
    command,
    `${cpu}, ${cores} cores, ${kernel}, Bun ${bun}`,
    `load by ${load}, ${result.callers} callers, ${result.rounds} × ${result.seconds} s each`,
    `machine load before ${loadBefore}, ${stolen} by its host meanwhile`,
  ]
}

function remarks(result: Result): readonly string[] {
  return [
    ...result.absent.map((text) => `Not measured: ${text}`),
    ...result.scenarios.flatMap(({ id, absent = [] }) =>
      absent.map((text) => `Not measured in ${id}: ${text}`),
    ),
    ...result.scenarios.flatMap(({ id, skipped }) =>
      skipped === undefined ? [] : [`Skipped: ${id}: ${skipped}`],
    ),
    ...problemsOf(result).map((text) => `BROKEN: ${text}`),
  ]
}

function measuresOf({ scenarios }: Result): readonly Measure[] {
  return scenarios.flatMap(({ measures = [] }) => measures)
}

function relayCells(row: Row): Cells {
  return [
    row.candidate,
    row.cpuMicros.toFixed(1),
    row.ratio?.toFixed(2) ?? '',
    row.cpuRounds.length > 1 ? `${(row.cpuSpread * 100).toFixed(0)} %` : '',
    Math.round(row.callsPerSecond).toLocaleString('en'),
    row.candidate === 'direct' ? '' : row.addedP50Ms.toFixed(2),
    row.candidate === 'direct' ? '' : row.addedP99Ms.toFixed(2),
    row.rssMb.toFixed(0),
    row.peakMb.toFixed(0),
  ]
}

function goalCells({ label, value, unit, atMost }: Measure): Cells {
  const print = (figure: number): string =>
    unit === '×' || (unit === 'ms' && figure < 10)
      ? figure.toFixed(2)
      : Math.round(figure).toLocaleString('en')
  const goal = atMost === undefined ? '' : `≤ ${atMost < 10 ? atMost : print(atMost)} ${unit}`
  const verdict = atMost === undefined ? '' : value <= atMost ? 'met' : 'MISSED'
  return [capital(label), goal, `${print(value)} ${unit}`, verdict]
}

function columns(table: readonly Cells[]): string {
  const widths = (table[0] ?? []).map((_, column) =>
    Math.max(...table.map((cells) => cells[column]?.length ?? 0)),
  )
  const line = (cells: Cells): string =>
    cells
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!),
      )
      .join('  ')
      .trimEnd()
  return table.map((cells) => `  ${line(cells)}`).join('\n')
}

function page(table: readonly Cells[]): string {
  const [head = [], ...rows] = table
  const rule = head.map((_, column) => (column === 0 ? '---' : '--:'))
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

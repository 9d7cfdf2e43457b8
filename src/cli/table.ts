// Aligned columns for people. What does not fit gives way in the order that the columns say; ids and
// amounts never do, because they are copied and read to the last digit.
import { cut, pad, paint, widthOf, wrap, type Style } from './text.ts'

export interface Column {
  readonly title: string
  readonly align?: 'right'
  /** May be cut to fit. */
  readonly isElastic?: true
  /** Left out as a whole where the table would not fit with it; the lowest rank goes first. */
  readonly rank?: number
  readonly style?: (cell: string) => Style | undefined
}

export interface TableOptions {
  /** Undefined: nothing is cut. */
  readonly width: number | undefined
  readonly isColoured: boolean
}

const GAP = 2
const WIDTH_MIN = 6
/** Of a table with more columns than a window has room for, a line that is broken is worse still. */
const WIDTH_LAST = 3

export function table(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  { width, isColoured }: TableOptions,
): readonly string[] {
  const used = fit(
    columns.map((column, index) => measure(column, index, rows)).filter(hasContent),
    width,
  )
  const show = (text: string, style: Style | undefined): string =>
    isColoured && style !== undefined ? paint(text, style) : text
  const line = (pick: (each: Measured) => string, style: (each: Measured) => Style | undefined) =>
    used
      .map((each) => show(pad(cut(pick(each), each.width), each.width, each.align), style(each)))
      .join(' '.repeat(GAP))
      .trimEnd()
  return [
    line(
      ({ title }) => title,
      () => 'bold',
    ),
    ...rows.map((row) =>
      line(
        ({ index }) => row[index] ?? '',
        ({ index, style }) => style?.(row[index] ?? ''),
      ),
    ),
  ]
}

interface Measured extends Column {
  readonly index: number
  width: number
  readonly isEmpty: boolean
}

function measure(column: Column, index: number, rows: readonly (readonly string[])[]): Measured {
  const widest = Math.max(0, ...rows.map((row) => widthOf(row[index] ?? '')))
  return {
    ...column,
    index,
    width: Math.max(widest, widthOf(column.title)),
    isEmpty: rows.length > 0 && widest === 0,
  }
}

function hasContent({ isEmpty }: Measured): boolean {
  return !isEmpty
}

function fit(columns: readonly Measured[], width: number | undefined): readonly Measured[] {
  if (width === undefined || totalOf(columns) <= width) return columns
  const kept = [...columns]
  while (totalOf(kept) > width) {
    const ranks = kept.flatMap(({ rank }) => rank ?? [])
    if (ranks.length === 0) break
    const lowest = Math.min(...ranks)
    kept.splice(
      kept.findIndex(({ rank }) => rank === lowest),
      1,
    )
  }
  for (const least of [WIDTH_MIN, WIDTH_LAST]) shrink(kept, width, least)
  return kept
}

function shrink(columns: readonly Measured[], width: number, least: number): void {
  while (totalOf(columns) > width) {
    const widest = findWidest(columns, least)
    if (widest === undefined) return
    widest.width--
  }
}

function findWidest(columns: readonly Measured[], least: number): Measured | undefined {
  let widest: Measured | undefined
  for (const column of columns) {
    if (column.isElastic !== true || column.width <= least) continue
    if (widest === undefined || column.width > widest.width) widest = column
  }
  return widest
}

function totalOf(columns: readonly Measured[]): number {
  return columns.reduce((sum, { width }) => sum + width, GAP * Math.max(0, columns.length - 1))
}

/** Names on the left, values on the right; a value that is long goes on below itself. */
export function sheet(
  pairs: readonly (readonly [name: string, value: string])[],
  { width = Infinity, isColoured }: TableOptions,
): readonly string[] {
  const left = Math.max(0, ...pairs.map(([name]) => widthOf(name))) + GAP
  return pairs.flatMap(([name, value]) =>
    wrap(value, width - left).map((line, index) => {
      const label = pad(index === 0 ? name : '', left)
      return `${isColoured && index === 0 ? paint(label, 'dim') : label}${line}`.trimEnd()
    }),
  )
}

// Lines of a table by RFC 4180. No cell is ever taken for a formula.

export const LINE_END = '\r\n'

const NEEDS_QUOTES = /[",\r\n]/
/** What a spreadsheet takes for the beginning of a formula, and would run. */
const FORMULA = /^[=+\-@\t\r]/

function toCell(value: unknown): string {
  if (value === null) return ''
  if (typeof value !== 'string') return JSON.stringify(value)
  const text = FORMULA.test(value) ? `'${value}` : value
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

export function toLine(cells: readonly unknown[]): string {
  return cells.map(toCell).join(',') + LINE_END
}

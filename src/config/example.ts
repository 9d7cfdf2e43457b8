// The first configuration of somebody, as `gateway config init` writes it: every section explained, and
// the suppliers switched on whose variables are at hand. The text itself is `example.yaml`.
import template from './example.yaml' with { type: 'text' }

export interface ExampleChoice {
  /** Variables whose suppliers are to be switched on. */
  readonly present: readonly string[]
  /** What a variable belongs to, where its name does not say it. */
  readonly suppliers?: readonly ExampleSupplier[]
}

export interface ExampleSupplier {
  readonly kind: string
  readonly variable: string
}

/**
 * `#? NAME` above a supplier keeps it where the variable is chosen; `#?? NAME` keeps it as a comment
 * where it is not. A blank line ends the supplier.
 */
const MARK = /^ *#(\?{1,2}) (.+)$/
/** Where suppliers go that the text does not foresee. */
const MORE = /^ *#\+$/

type Mode = 'as it is' | 'switched on' | 'left out'

export function exampleConfig({ present, suppliers = [] }: ExampleChoice): string {
  const text = String(template)
  const marks = [...text.matchAll(new RegExp(MARK, 'gm'))]
  const foreseen = new Set(marks.flatMap(([, , names = '']) => names.split(' ')))
  const others = present.filter((variable) => !foreseen.has(variable))
  const lines: string[] = []
  let supplier: Mark = PLAIN
  for (const line of text.split('\n')) {
    if (MARK.test(line)) supplier = readMark(line, present)
    else if (MORE.test(line)) {
      lines.push(...others.flatMap((variable) => describeSupplier(variable, suppliers)))
      supplier = { ...PLAIN, mode: 'left out' }
    } else {
      lines.push(...writeLine(line, supplier))
      if (line === '') supplier = PLAIN
    }
  }
  return lines.join('\n')
}

interface Mark {
  readonly mode: Mode
  /** The variable of the text, and the one to put in its place. */
  readonly usual: string
  readonly chosen: string
}

const PLAIN: Mark = { mode: 'as it is', usual: '', chosen: '' }

function readMark(line: string, present: readonly string[]): Mark {
  const [, strength, names = ''] = MARK.exec(line) ?? []
  const [usual = '', ...more] = names.split(' ')
  const chosen = [usual, ...more].find((name) => present.includes(name))
  if (chosen !== undefined) return { mode: 'switched on', usual, chosen }
  return { ...PLAIN, mode: strength === '?' ? 'left out' : 'as it is' }
}

function writeLine(line: string, { mode, usual, chosen }: Mark): readonly string[] {
  if (mode === 'left out') return []
  if (mode === 'as it is') return [line]
  return [line.replace(/^( *)# /, '$1').replaceAll(usual, chosen)]
}

/** `NAME_API_KEY` most often belongs to the kind `name`. */
function describeSupplier(
  variable: string,
  suppliers: readonly ExampleSupplier[],
): readonly string[] {
  const known = suppliers.find((supplier) => supplier.variable === variable)?.kind
  const kind = known ?? variable.replace(/_API_KEY$|_KEY$|_TOKEN$/, '').toLowerCase()
  return [`  ${kind}:`, `    kind: ${kind}`, `    credential: \${${variable}}`, '']
}

// What to write in the place of one value that does not fit its field. A value of a secret field, and one
// that came from the environment, is never repeated.
import { findClosest, isFieldName } from './names.ts'
import type { Field } from './outline.ts'
import { LOOKED_AT_MAX, quote, show } from './show.ts'
import type { List, Node, Scalar } from './tree.ts'

export function explainValue(node: Node, field: Field): string {
  if (node.type === 'scalar' && node.value === null) return `is empty: ${wanted(field)}`
  if (isFromVariable(node)) return `comes from a variable that does not fit: ${wanted(field)}`
  switch (field.shape) {
    case 'mapping':
    case 'named':
      return explainSection(node, field)
    case 'list':
      return explainList(node, field)
    case 'number':
      return explainNumber(node, field)
    case 'boolean':
      return explainBoolean(node, field)
    case 'choice':
      return explainChoice(node, field)
    case 'text':
      return explainText(node, field)
    default:
      return `${found(node, field)}: ${wanted(field)}`
  }
}

/** "write …", as the schema says it. */
function wanted(field: Field): string {
  return `write ${wantedValue(field)}`
}

function wantedValue({ shape, hint, range, isWhole, choices }: Field): string {
  if (shape === 'boolean') return 'true or false'
  if (shape === 'choice') return `one of ${choices.join(', ')}`
  if (shape !== 'number') return hint || 'something else'
  return [hint || (isWhole ? 'a whole number' : 'a number'), range].filter(Boolean).join(' ')
}

function found(node: Node, { isSecret }: Field): string {
  if (node.type === 'list') return 'is a list'
  if (node.type === 'mapping') return 'has fields of its own'
  if (isSecret) return 'is not what belongs here'
  return typeof node.value === 'string' ? `is ${quote(node.value)}` : `is ${String(node.value)}`
}

function isFromVariable(node: Node): boolean {
  return node.type === 'scalar' && typeof node.value === 'string' && /(?<!\$)\$\{/.test(node.value)
}

function explainSection(node: Node, field: Field): string {
  if (node.type === 'list') return explainDashes(node, field)
  if (node.type !== 'scalar') return `${found(node, field)}: ${wanted(field)}`
  const [, name, sign] = /^([A-Za-z_]+)\s*([:=])/.exec(String(node.value)) ?? []
  if (name !== undefined && isFieldName(name) && sign === ':')
    return `is read as one text, because a space is missing after a colon: write \`${name}: …\``
  if (name !== undefined && isFieldName(name) && sign === '=')
    return `is read as one text, because of the equals sign: write \`${name}: …\``
  return `is a ${typeof node.value === 'string' ? 'text' : typeof node.value}: ${wanted(field)}`
}

/** `- name` where `name:` belongs. */
function explainDashes({ items, isFlow }: List, field: Field): string {
  const name = field.shape === 'named' && items[0] ? nameOf(items[0]) : undefined
  if (isFlow) return explainBrackets(name, field)
  if (name === undefined) return `is a list: remove the dashes and ${wanted(field)}`
  return `is a list: remove the dashes and end each name with a colon, such as \`${show(name)}:\``
}

function explainBrackets(name: string | undefined, field: Field): string {
  if (name === undefined) return `is a list: remove the brackets and ${wanted(field)}`
  return `is a list: remove the brackets and write each name on a line of its own below, with a colon, such as \`${show(name)}:\``
}

/** What an item of a list calls itself. */
function nameOf(item: Node): string | undefined {
  if (item.type === 'mapping') {
    const names = ['name', 'id', 'kind'].map((name) => item.entries.get(name)?.node)
    return names.flatMap((node) => (node ? [nameOf(node)] : [])).find((name) => name !== undefined)
  }
  const isName = item.type === 'scalar' && typeof item.value === 'string'
  return isName && /^[\w.:/@-]{1,60}$/.test(item.value) ? item.value : undefined
}

function explainList(node: Node, field: Field): string {
  if (node.type === 'list')
    return node.items.length === 0 ? `is empty: ${wanted(field)}` : `is too long: ${wanted(field)}`
  if (node.type === 'mapping') return `has names where a list belongs: ${wanted(field)}`
  return `is a single value: ${wanted(field)}`
}

function explainBoolean(node: Node, field: Field): string {
  if (node.type !== 'scalar') return `${found(node, field)}: ${wanted(field)}`
  const word = String(node.value).toLowerCase()
  if (['true', 'yes', 'y', 'on', '1', 'enabled'].includes(word))
    return `${found(node, field)}: write true${node.isQuoted ? ', without quotes' : ''}`
  if (['false', 'no', 'n', 'off', '0', 'disabled'].includes(word))
    return `${found(node, field)}: write false${node.isQuoted ? ', without quotes' : ''}`
  return `${found(node, field)}: ${wanted(field)}`
}

function explainChoice(node: Node, field: Field): string {
  const { choices } = field
  const word = node.type === 'scalar' ? String(node.value) : ''
  const closest = findClosest(word, choices)
  const others = choices.filter((choice) => choice !== closest)
  if (closest === undefined) return `${found(node, field)}: ${wanted(field)}`
  return `${found(node, field)}: write ${closest} (or ${others.join(', ')})`
}

function explainText(node: Node, field: Field): string {
  if (node.type === 'list') {
    const [first] = node.items
    const isShown = first?.type === 'scalar' && !field.isSecret
    const example = isShown ? `, such as ${show(String(first.value))}` : ''
    return `is a list: write one value without brackets or dashes${example}`
  }
  if (node.type === 'mapping') return `has fields of its own: ${wanted(field)}`
  if (field.isSecret) return `is read as a ${typeof node.value}: ${wanted(field)}, or use quotes`
  if (typeof node.value === 'string')
    return node.value === ''
      ? `is empty: ${wanted(field)}`
      : `${found(node, field)}: ${wanted(field)}`
  return `is read as a ${typeof node.value}: put it in quotes, "${String(node.value)}"`
}

const SECONDS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86_400 }
const MEBIBYTES: Readonly<Record<string, number>> = { k: 1 / 1024, m: 1, g: 1024 }
const COUNTS: Readonly<Record<string, number>> = { k: 1000, m: 1_000_000 }

function explainNumber(node: Node, field: Field): string {
  if (node.type !== 'scalar') return `${found(node, field)}: ${wanted(field)}`
  if (typeof node.value === 'string')
    return explainNumberText(node, node.value.slice(0, LOOKED_AT_MAX).trim(), field)
  if (typeof node.value === 'number' && field.hint.includes('dollars'))
    return explainDollars(node.value, field)
  return `${found(node, field)}: ${wanted(field)}`
}

function explainDollars(dollars: number, field: Field): string {
  if (dollars > 0 && dollars < 1)
    return `is finer than a millionth of a dollar: prices are for a million tokens, so write ${roundPrice(dollars * 1e6)} if this is the price of one`
  return `is ${dollars}: ${wanted(field)}`
}

function explainNumberText(node: Scalar, text: string, field: Field): string {
  if (/^-?\d+(?:\.\d+)?$/.test(text) && node.isQuoted)
    return `is a text because of its quotes: write ${text} without them`
  if (/^\d+,\d{1,2}$/.test(text))
    return `has a comma: write ${text.replace(',', '.')}, with a point`
  const amount = /^(?:US)?\$\s*(\d+(?:\.\d+)?)$|^(\d+(?:\.\d+)?)\s*(?:\$|USD|dollars?)$/i.exec(text)
  if (amount)
    return `has a currency in it: write ${amount[1] ?? amount[2]} alone, it is always US dollars`
  if (/^\d[\d_' ,]*\d$/.test(text))
    return `has separators in it: write ${text.replaceAll(/\D/g, '')}`
  return explainUnit(text, field) ?? `is ${quote(text)}: ${wanted(field)}`
}

/** `10m`, `32MB` and `128k`, worked out. */
function explainUnit(text: string, field: Field): string | undefined {
  const [, digits, unit = ''] = /^(\d+(?:\.\d+)?)\s*([a-z]+)$/i.exec(text) ?? []
  if (digits === undefined) return undefined
  const { hint } = field
  const units = hint.includes('seconds') ? SECONDS : hint.includes('MiB') ? MEBIBYTES : COUNTS
  const factor = units[unit === 'ms' ? 'ms' : unit.charAt(0).toLowerCase()]
  if (factor === undefined) return undefined
  return `has a unit in it: write ${roundPrice(Number(digits) * factor)}, ${hint.split(' such as')[0] || 'a number'}`
}

function roundPrice(value: number): number {
  return Number(value.toFixed(6))
}

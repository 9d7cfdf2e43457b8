// What is wrong with a text that is not YAML, told to somebody who never read the standard of YAML: most
// of these are a missing space, a missing colon or a quote that was not closed.
import {
  isCollection,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Document,
  type ErrorCode,
  type Node,
  type YAMLError,
  type YAMLMap,
} from 'yaml'
import { isFieldName } from './names.ts'
import type { Text } from './text.ts'
import type { Objection } from './tree.ts'

interface SyntaxProblem {
  readonly offset: number
  readonly message: string
}

const ERRORS_MAX = 100

/** Errors after which the rest of the file may well be understood. */
const HARMLESS = new Set(['MULTIPLE_DOCS'])

/** One problem a line: the others are most often echoes of the first. */
export function explainSyntax(document: Document, text: Text): readonly Objection[] {
  const problems = new Map<number, SyntaxProblem>()
  // A file of nothing but brackets has thousands.
  const broken = document.errors.filter(({ code }) => !HARMLESS.has(code)).slice(0, ERRORS_MAX)
  const tabs = broken.filter(({ code }) => code === 'TAB_AS_INDENT')
  const seen = new Set<number>()
  for (const error of broken) {
    const own = text.placeOf(error.pos[0]).line
    const isAnotherTab = error.code === 'TAB_AS_INDENT' && error !== tabs[0]
    if (seen.has(own) || isAnotherTab || isEcho(error, broken)) continue
    seen.add(own)
    const problem = explainError(error, document, text)
    const { line } = text.placeOf(problem.offset)
    if (!problems.has(line)) problems.set(line, problem)
  }
  return [...problems.values()].map((problem) => ({ ...problem, path: [] }))
}

/** A line that is too deep is reported a second time, as a name of two lines. */
function isEcho({ code, pos }: YAMLError, errors: readonly YAMLError[]): boolean {
  if (code !== 'MULTILINE_IMPLICIT_KEY') return false
  return errors.some((other) => other.code === 'BLOCK_AS_IMPLICIT_KEY' && other.pos[0] === pos[0])
}

function explainError(error: YAMLError, document: Document, text: Text): SyntaxProblem {
  const [offset] = error.pos
  // Whatever else the parser makes of its brace.
  if (text.whole.slice(offset - 1, offset + 1) === '${')
    return { offset, message: 'inside { } or [ ] a variable needs quotes: write "${NAME}"' }
  switch (error.code) {
    case 'TAB_AS_INDENT':
      return {
        offset,
        message: 'a tab stands before the text; indent with spaces, two for each level',
      }
    case 'BLOCK_AS_IMPLICIT_KEY':
      return explainNesting(error, text)
    case 'MULTILINE_IMPLICIT_KEY':
      return explainName(offset, text)
    case 'MISSING_CHAR':
      return /quote/.test(error.message)
        ? explainQuote(offset, document)
        : explainName(offset, text)
    case 'BAD_INDENT':
      return /end with/.test(error.message)
        ? explainBracket(offset, document, text)
        : explainIndent(offset, text)
    case 'RESOURCE_EXHAUSTION':
      return {
        offset,
        message: 'brackets or dashes are nested too deeply: 32 levels are the limit',
      }
    default:
      return { offset, message: explainCharacter(error, text) }
  }
}

/** A line that should be `name: value` and is not. */
function explainName(offset: number, text: Text): SyntaxProblem {
  const rest = text.restFrom(offset).trimEnd()
  const [, word = '', between = ''] = /^["']?([\w.-]+)["']?(\s*[:=]?\s*)/.exec(rest) ?? []
  if (word === '') return { offset, message: 'this line is neither `name: value` nor `- item`' }
  // Anything else may be a part of a secret that was torn apart.
  const name = isFieldName(word) ? word : 'name'
  if (between.includes('='))
    return { offset, message: `write a colon instead of the equals sign: \`${name}: …\`` }
  if (between === ':')
    return { offset, message: `a space is missing after the colon: write \`${name}: …\`` }
  const value = rest === word ? '' : ' …'
  return { offset, message: `a colon is missing in this line: write \`${name}:${value}\`` }
}

/** A second colon in one line, or a line that is deeper than it should be. */
function explainNesting({ pos }: YAMLError, text: Text): SyntaxProblem {
  const [offset] = pos
  const { line } = text.placeOf(offset)
  const first = text.restFrom(offset)
  if (/:(?:\s|$)/.test(first))
    return {
      offset,
      message: 'the value holds a colon, which begins a new field here: put the value in quotes',
    }
  const next = text.lines.findIndex((each, index) => index >= line && each.trim() !== '') + 1
  const deeper = text.lineAt(next).search(/\S/)
  return {
    offset: text.startOf(next) + deeper,
    message: `this line is indented by ${spaces(deeper)}, deeper than line ${line}, which already has a value: begin both in the same column`,
  }
}

function explainIndent(offset: number, text: Text): SyntaxProblem {
  const { line } = text.placeOf(offset)
  const indent = text.lineAt(line).search(/\S|$/)
  const open = openIndents(text, line)
  const choices =
    open.length > 1 ? `${open.slice(0, -1).join(', ')} or ${open.at(-1)}` : open.join()
  return {
    offset: offset + Math.max(0, indent - text.placeOf(offset).column + 1),
    message: `this line is indented by ${spaces(indent)}, and no line above that it could belong to is: indent it by ${choices} to match one of them`,
  }
}

/** The columns in which a line could begin, given the lines above it. */
function openIndents(text: Text, line: number): readonly number[] {
  const open = new Set<number>()
  let least = Infinity
  for (let above = line - 1; above > 0 && least > 0; above -= 1) {
    const whole = text.lineAt(above)
    const indent = whole.search(/\S/)
    if (indent < 0 || indent >= least || whole[indent] === '#') continue
    open.add(indent)
    least = indent
  }
  return [...open].toSorted((one, other) => one - other)
}

function explainQuote(offset: number, document: Document): SyntaxProblem {
  const starts = listNodes(document).flatMap((node) => {
    const isQuoted =
      isScalar(node) && (node.type === 'QUOTE_DOUBLE' || node.type === 'QUOTE_SINGLE')
    return isQuoted && node.range && node.range[0] <= offset ? [node.range[0]] : []
  })
  return {
    offset: starts.toSorted((one, other) => other - one)[0] ?? offset,
    message:
      'the quote that opens here is never closed: close it at the end of the value, or use none',
  }
}

function explainBracket(offset: number, document: Document, text: Text): SyntaxProblem {
  const starts = listNodes(document).flatMap((node) => {
    const { range } = node
    const isFlow = isCollection(node) && node.flow === true
    const isOpen = isFlow && range && !/[}\]]/.test(text.whole[range[1] - 1] ?? '')
    return isOpen && range[0] <= offset ? [range[0]] : []
  })
  const at = starts.toSorted((one, other) => one - other)[0] ?? offset
  const [open, close] = text.whole[at] === '[' ? '[]' : '{}'
  return { offset: at, message: `the ${open} that opens here is never closed: add the ${close}` }
}

const listed = new WeakMap<Document, readonly Node[]>()

/** Without recursion and without a path for each, because a broken file may be nested thousands deep. */
function listNodes(document: Document): readonly Node[] {
  const known = listed.get(document)
  if (known !== undefined) return known
  const nodes: Node[] = []
  listed.set(document, nodes)
  const open: unknown[] = [document.contents]
  while (open.length > 0) {
    const node = open.pop()
    if (!isNode(node)) continue
    nodes.push(node)
    if (isSeq(node)) for (const item of node.items) open.push(item)
    if (isMap(node)) for (const { key, value } of node.items) open.push(key, value)
  }
  return nodes
}

/** Characters that mean something in YAML where a plain text was meant. */
function explainCharacter(error: YAMLError, text: Text): string {
  const [offset] = error.pos
  const character = text.whole[offset] ?? ''
  switch (error.code) {
    case 'BAD_SCALAR_START':
      return `a value cannot begin with ${character}: put it in quotes`
    case 'BAD_DQ_ESCAPE':
      return 'a backslash in double quotes begins a special character: use single quotes, or write it twice'
    case 'NON_STRING_KEY':
      return text.whole.slice(offset - 1, offset + 1) === '{{'
        ? 'templates in {{ }} are not read here: write ${NAME} for a variable of the environment'
        : 'a name must be plain text, without brackets'
    case 'BAD_ALIAS':
      return 'a lone * or & refers to nothing: put it in quotes if it is meant as text'
    case 'UNEXPECTED_TOKEN':
      return 'something follows here that does not belong to the value: put the whole value in quotes, or move the rest to a line of its own'
    default:
      return `this cannot be read as YAML (${error.message}): check this line and the one above it`
  }
}

/** What YAML allows, or nearly does, and a configuration has no use for. */
export function explainDocument(document: Document, text: Text): readonly Objection[] {
  const { errors, warnings, contents, directives } = document
  const found = [...errors, ...warnings].flatMap(({ code, pos: [offset] }): SyntaxProblem[] => {
    const message = MESSAGES[code]
    return message === undefined ? [] : [{ offset, message }]
  })
  for (const problem of findDuplicates(document, text)) found.push(problem)
  if (directives?.yaml.explicit === true && directives.yaml.version !== '1.2')
    found.push({ offset: 0, message: OLD_YAML })
  if (contents !== null && !isMap(contents))
    found.push({ offset: contents.range?.[0] ?? 0, message: explainTop(contents) })
  return found.map((problem) => ({ ...problem, path: [] }))
}

const MESSAGES: Readonly<Partial<Record<ErrorCode, string>>> = {
  MULTIPLE_DOCS:
    'a second document begins here: a file may have one, so remove this line or what follows it',
  TAG_RESOLVE_FAILED: 'tags that begin with ! are not read here: write the plain value',
}

const OLD_YAML =
  'this version of YAML reads words such as yes and no in another way: remove the line'

function explainTop(contents: unknown): string {
  if (isSeq(contents))
    return 'the file begins with a dash, as a list: it must consist of names with a colon, such as `suppliers:`'
  const isEmpty = isScalar(contents) && contents.value === null
  return isEmpty
    ? 'the file says nothing but ~ or null: remove it, an empty file is enough'
    : 'the file is one text: it must consist of names with a colon, such as `suppliers:`'
}

/** The parser would compare each name with all before it, which takes seconds where there are thousands. */
function findDuplicates(document: Document, text: Text): readonly SyntaxProblem[] {
  return listNodes(document).flatMap((node) => (isMap(node) ? findTwice(node, text) : []))
}

function findTwice({ items }: YAMLMap, text: Text): readonly SyntaxProblem[] {
  const first = new Map<unknown, number>()
  return items.flatMap(({ key }) => {
    const offset = isScalar(key) ? key.range?.[0] : undefined
    if (!isScalar(key) || offset === undefined || key.value === '<<') return []
    const before = first.get(key.value)
    if (before === undefined) {
      first.set(key.value, offset)
      return []
    }
    const { line } = text.placeOf(before)
    const message = `this name stands here a second time (first in line ${line}): keep one of the two, or give this one another name`
    return [{ offset, message }]
  })
}

function spaces(count: number): string {
  return count === 1 ? '1 space' : `${count} spaces`
}

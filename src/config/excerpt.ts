// The line of a file under a problem, with a mark where to look. It is often pasted into a chat or a
// ticket, so of values only those are shown that belong to a field of ours which is no secret.
import { isFieldName, isHarmlessName } from './names.ts'
import {
  findFirst,
  HIDDEN,
  LOOKED_AT_MAX,
  SECRET_LOOK,
  SECRET_NAME,
  SECRET_PARTS,
  showName,
  tidyText,
} from './show.ts'
import type { Place, Text } from './text.ts'

const WIDTH_MAX = 100
/** What may be shown of that; the rest is there so that a credential at the end is seen whole. */
const COLUMNS_MAX = 300

/** References to the environment, which say nothing. */
const REFERENCES = /^\s*["']?(?:\$\{[A-Za-z_]\w*\})+["']?[\s,}\]]*$/
const BRACKETS = /^[\s{}[\]"',]*$/

export interface ExcerptOptions {
  /** The value belongs to a secret field or to a name that nobody knows. */
  readonly isHidden?: boolean
  /** The file is no YAML around here, so what looks like one thing may be another. */
  readonly isBroken?: boolean
}

export function excerptOf(text: Text, place: Place, options: ExcerptOptions = {}): string {
  const { line, column } = place
  if (column > COLUMNS_MAX) return ''
  const looked = tidyText(text.lineAt(line).slice(0, LOOKED_AT_MAX))
  const shown = showLine(looked, options).slice(0, COLUMNS_MAX)
  if (shown.trim() === '') return ''
  const start = column > WIDTH_MAX - 20 ? column - 40 : 0
  const cut = (start > 0 ? HIDDEN : '') + shown.slice(start + (start > 0 ? 1 : 0))
  const clipped = cut.length > WIDTH_MAX ? cut.slice(0, WIDTH_MAX - 1) + HIDDEN : cut
  const mark = Math.min(column - 1 - start, Math.max(0, clipped.length - 1))
  const gutter = String(line).padStart(4)
  return `${gutter} | ${clipped}\n${' '.repeat(gutter.length)} | ${' '.repeat(mark)}^`
}

/** Cut, and never changed in the middle, so that columns stay what they are. */
function showLine(line: string, options: ExcerptOptions): string {
  const end = endOfSafe(line, options)
  const kept = line.slice(0, end)
  if (line.slice(end).trim() === '') return kept
  return `${kept}${/(?:^|\s)$/.test(kept) ? '' : ' '}${HIDDEN}`
}

function endOfSafe(line: string, options: ExcerptOptions): number {
  const body = line.search(/[^\s→-]/)
  const isMarker = body < 0 || /^%(?:YAML|TAG)\b/.test(line)
  if (isMarker || REFERENCES.test(line.slice(body))) return line.length
  const names = findNames(line, body, options)
  if (names.length === 0) return endOfLoose(line, body, options)
  for (const [index, own] of names.entries()) {
    const end = endOfOne(line, own, names[index + 1]?.start ?? line.length, options)
    if (end !== undefined) return end
  }
  return line.length
}

/** Where to stop within one name and its value; undefined where all of it may be seen. */
function endOfOne(
  line: string,
  { name, start, end }: Name,
  next: number,
  { isHidden = false }: ExcerptOptions,
): number | undefined {
  if (name !== showName(name, isFieldName(name) || !isHidden)) return start
  if (isHarmlessName(name)) {
    const safe = endOfValue(line, end, next)
    return safe < next && !REFERENCES.test(line.slice(end, next)) ? safe : undefined
  }
  const rest = line.slice(end)
  if (BRACKETS.test(rest) || REFERENCES.test(rest)) return undefined
  // A name that somebody chose has fields of its own behind a brace; a secret has none.
  const hasFields = /^\s*\{\s*$/.test(line.slice(end, next)) && next < line.length
  return hasFields && !isFieldName(name) ? undefined : end
}

interface Name {
  readonly name: string
  readonly start: number
  /** Where its value begins. */
  readonly end: number
}

/** None at all where a line begins with something else. */
function findNames(line: string, body: number, options: ExcerptOptions): readonly Name[] {
  const first = findFirstName(line, body, options)
  const from = first?.end ?? body
  const others = [...line.matchAll(/(?<=[\s{,])[^\s:={}[\],]+\s*(?::(?=\s|$)|=)/g)]
    .filter(({ index }) => index >= from)
    .map(({ 0: text, index }) => toName(text, index))
  if (first !== undefined) return [first, ...others]
  const isFlow = /^[{[][\s{[]*$/.test(line.slice(body, others[0]?.start ?? body))
  return isFlow && options.isHidden !== true ? others : []
}

/** In a broken file a name of our own may lack its space; any other must be written as a name is. */
function findFirstName(line: string, body: number, options: ExcerptOptions): Name | undefined {
  const { isBroken = false, isHidden = false } = options
  const rest = line.slice(body)
  const own = /^["']?\w+["']?\s*[:=]/.exec(rest)?.[0]
  if (own !== undefined && isFieldName(toName(own, 0).name)) return toName(own, body)
  const isItem = line.slice(0, body).includes('-')
  if (isItem && (isBroken || isHidden)) return undefined
  const other = (isBroken ? /^[\w.-]+:(?=\s|$)/ : /^[^:={}[\],]+:(?=\s|$)/).exec(rest)?.[0]
  return other === undefined ? undefined : toName(other, body)
}

function toName(text: string, start: number): Name {
  return { name: text.replaceAll(/["'\s:=]/g, ''), start, end: start + text.length }
}

/** A line without a name: part of a list or of a longer value, or one that lacks its colon. */
function endOfLoose(line: string, body: number, { isHidden, isBroken }: ExcerptOptions): number {
  const [first = ''] = line.slice(body).split(/\s/)
  const isKnown = isBroken === true && isHarmlessName(first)
  const isShown = isKnown || (isHidden !== true && isBroken !== true)
  return isShown ? endOfValue(line, body, line.length) : body
}

/** Before a comment, before what may be another name, and before what sounds or looks like a secret. */
function endOfValue(line: string, start: number, end: number): number {
  const value = line.slice(start, end)
  const first = findFirst(value, [/\s#/, /\S*:\s/, SECRET_NAME, SECRET_LOOK, ...SECRET_PARTS])
  return first === undefined ? end : start + first
}

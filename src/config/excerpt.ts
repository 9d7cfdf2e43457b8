// The line of a file under a problem, with a mark where to look. It is often pasted into a chat or a
// ticket, so of values only those are shown that belong to a field of ours which is no secret.
import { isFieldName, isHarmlessName } from './names.ts'
import type { Place, Text } from './text.ts'

const WIDTH_MAX = 100
const HIDDEN = '…'

/** Anywhere in a value: to hide `monkey` costs less than to show what follows `mainkey`. */
const SECRET_NAME = /credential|key|secret|token|passw|auth|bearer/i
/** Prefixes of the usual credentials, and anything long that no person would make up. */
const SECRET_LOOK = /\b(?:sk|pk|rk|svc)[-_][\w-]{6,}|\b(?=[\w-]*\d)[\w-]{32,}/
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
  const shown = showLine(tidyText(text.lineAt(line)), options)
  if (shown.trim() === '') return ''
  const start = column > WIDTH_MAX - 20 ? column - 40 : 0
  const cut = (start > 0 ? HIDDEN : '') + shown.slice(start + (start > 0 ? 1 : 0))
  const clipped = cut.length > WIDTH_MAX ? cut.slice(0, WIDTH_MAX - 1) + HIDDEN : cut
  const mark = Math.min(column - 1 - start, Math.max(0, clipped.length - 1))
  const gutter = String(line).padStart(4)
  return `${gutter} | ${clipped}\n${' '.repeat(gutter.length)} | ${' '.repeat(mark)}^`
}

/** Text of the file that may stand in a message. */
export function show(value: string): string {
  const tidy = tidyText(value)
  const look = SECRET_LOOK.exec(tidy)
  const safe = look ? `${tidy.slice(0, look.index)}${HIDDEN}` : tidy
  return safe.length > 40 ? `${safe.slice(0, 39)}${HIDDEN}` : safe
}

export function quote(value: string): string {
  return JSON.stringify(show(value))
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
    const end = endOfOne(line, own, names[index + 1]?.start ?? line.length)
    if (end !== undefined) return end
  }
  return line.length
}

/** Where to stop within one name and its value; undefined where all of it may be seen. */
function endOfOne(line: string, { name, end }: Name, next: number): number | undefined {
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
  const first = findFirst(line, body, options)
  const from = first?.end ?? body
  const others = [...line.matchAll(/(?<=[\s{,])[^\s:={}[\],]+\s*(?::(?=\s|$)|=)/g)]
    .filter(({ index }) => index >= from)
    .map(({ 0: text, index }) => toName(text, index))
  if (first !== undefined) return [first, ...others]
  const isFlow = /^[{[][\s{[]*$/.test(line.slice(body, others[0]?.start ?? body))
  return isFlow && options.isHidden !== true ? others : []
}

/** In a broken file a name of our own may lack its space; any other must be written as a name is. */
function findFirst(line: string, body: number, options: ExcerptOptions): Name | undefined {
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
  const places = [/\s#/, /\S*:\s/, SECRET_NAME, SECRET_LOOK].map((pattern) => value.search(pattern))
  const first = Math.min(...places.filter((place) => place >= 0))
  return first === Infinity ? end : start + first
}

/** One column for each character, and none that a terminal would obey. */
function tidyText(text: string): string {
  // oxlint-disable-next-line no-control-regex -- they are what must not reach a terminal
  return text.replaceAll('\t', '→').replaceAll(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e]/g, '·')
}

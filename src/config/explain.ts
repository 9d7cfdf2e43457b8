// What the schema refuses, told in the words of whoever wrote the file. The schema says where and by
// which rule; the tree says what really stands there; together they say what to write instead.
import type { z } from 'zod'
import { ANY_VARIABLE } from './credential.ts'
import type { ConfigPath } from './fault.ts'
import { findForeignKind, findHabit } from './habits.ts'
import { findClosest, variableFor } from './names.ts'
import { describeField, findField, type Field } from './outline.ts'
import { LOOKED_AT_MAX, quote, showName } from './show.ts'
import { findEntry, type Mapping, type Node } from './tree.ts'
import { explainValue } from './value.ts'

export interface Finding {
  readonly path: ConfigPath
  readonly message: string
  /** Whether to point at the name or at what it was given. */
  readonly at: 'name' | 'value'
}

type Issue = z.core.$ZodIssue

export function explainIssues(issues: readonly Issue[], root: Node): readonly Finding[] {
  const plain = issues.flatMap((issue) => spread(issue))
  const unknown = plain.flatMap((issue) => explainUnknown(issue, root))
  const meant = new Set(unknown.map(({ meant }) => meant))
  const places = new Set(unknown.map(({ path }) => JSON.stringify(path.slice(0, -1))))
  const rest = plain.flatMap((issue) => {
    const place = JSON.stringify(issue.path)
    // A name that was misspelt is not missing, too, and what a section lacks may be what it misspells.
    const isMeant = meant.has(place) && !findEntry(root, toPath(issue.path))
    const isEcho = isMeant || (issue.code === 'custom' && places.has(place))
    return isEcho || issue.code === 'unrecognized_keys' ? [] : explainIssue(issue, root)
  })
  return [...unknown, ...rest]
}

/** Of a value that may have several forms, the complaints of the one that it comes closest to. */
function spread(issue: Issue): readonly Issue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const fitting = issue.errors.filter((errors) => !errors.some((error) => isOtherForm(error)))
  const [best] = fitting.toSorted((one, other) => one.length - other.length)
  if (best === undefined) return [issue]
  return best.flatMap((error) => spread({ ...error, path: [...issue.path, ...error.path] }))
}

function isOtherForm({ code, path }: Issue): boolean {
  return path.length === 0 && (code === 'invalid_type' || code === 'invalid_value')
}

function explainIssue(issue: Issue, root: Node): readonly Finding[] {
  const path = toPath(issue.path)
  if (issue.code === 'invalid_key') return [explainName(path)]
  const entry = findEntry(root, path)
  const field = findField(path)
  if (issue.code === 'custom' && issue.message !== 'Invalid input')
    return [
      { path, at: 'value', message: issue.message.replaceAll(ANY_VARIABLE, variableFor(path)) },
    ]
  if (entry === undefined) return [{ path, at: 'name', message: explainMissing(path, field) }]
  const misplaced = explainPlace(path, entry.node)
  if (misplaced !== undefined) return [{ path, at: 'name', message: misplaced }]
  const message = field ? explainValue(entry.node, field) : issue.message
  return [{ path, at: 'value', message: message.replaceAll(ANY_VARIABLE, variableFor(path)) }]
}

function explainMissing(path: ConfigPath, field: Field | undefined): string {
  return `is missing: add \`${path.at(-1)}:\` with ${field?.hint || 'a value'}`
}

/** What suppliers are, where it is known what they can be. */
export function explainKinds(root: Node, kinds: readonly string[]): readonly Finding[] {
  const suppliers = findEntry(root, ['suppliers'])?.node
  if (suppliers?.type !== 'mapping') return []
  return [...suppliers.entries].flatMap(([id, { node }]) => {
    if (node.type !== 'mapping') return []
    const path = ['suppliers', id, 'kind']
    const kind = node.entries.get('kind')?.node
    const message = kind === undefined ? missingKind(id, node, kinds) : wrongKind(kind, kinds)
    return message === undefined ? [] : [{ path, message, at: 'value' as const }]
  })
}

function missingKind(
  id: string,
  { entries }: Mapping,
  kinds: readonly string[],
): string | undefined {
  // Told at the name that stands there instead.
  const isMeant = [...entries.keys()].some((name) => describeHabitOf(name) === 'kind')
  if (isMeant) return undefined
  const own = findClosest(id, kinds)
  const better = own === undefined ? `one of ${kinds.join(', ')}` : `\`kind: ${own}\``
  return `is missing: write ${better}`
}

function describeHabitOf(name: string): string | undefined {
  return findHabit(['suppliers', '*'], name)?.field ?? findClosest(name, ['kind'])
}

function wrongKind(kind: Node, kinds: readonly string[]): string | undefined {
  if (kind.type !== 'scalar' || typeof kind.value !== 'string' || kinds.includes(kind.value))
    return undefined
  if (kind.value.includes('${')) return undefined
  const own = findForeignKind(kind.value, kinds)
  if (own !== undefined) return `is ${quote(kind.value)}, which is ${own} here: write ${own}`
  const closest = findClosest(kind.value, kinds)
  const better = closest ?? `one of ${kinds.join(', ')}`
  return `is ${quote(kind.value)}, which is no known kind: write ${better}`
}

/** A field that stands one level too far left ends up among the names. */
function explainPlace(path: ConfigPath, node: Node): string | undefined {
  const parent = findField(path.slice(0, -1))
  const name = path.at(-1)
  if (parent?.shape !== 'named' || parent.member === undefined || typeof name !== 'string')
    return undefined
  const { fields } = describeField(parent.member)
  if (node.type === 'mapping' || !Object.hasOwn(fields, name)) return undefined
  return `is a field, and stands where a name under ${path.at(-2)} belongs: indent it by two more spaces, below the name that it describes`
}

function explainName(path: ConfigPath): Finding {
  const name = String(path.at(-1))
  const parent = findField(path.slice(0, -1))
  const hint = parent?.names ? describeField(parent.names).hint : ''
  const isModel = path.at(-2) === 'models'
  const better = isModel ? repairName(name) : repairSupplier(name)
  const isShown = better !== '' && better !== name && showName(name, true) === name
  const example = isShown ? `\`${better}:\`` : 'another'
  const note = isModel ? '; what the supplier calls it goes to `as`' : ''
  return { path, at: 'name', message: `cannot be a name here: write ${example} (${hint})${note}` }
}

function repairName(name: string): string {
  return name
    .slice(0, LOOKED_AT_MAX)
    .replaceAll(/[^\w.:/@-]+/g, '-')
    .replaceAll(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '')
}

/** With a letter first, which names that are numbers lack. */
function repairSupplier(name: string): string {
  const repaired = repairName(name.toLowerCase().replaceAll(/[.:/@]+/g, '-'))
  return /^\d/.test(repaired) ? `supplier-${repaired}` : repaired
}

interface UnknownFinding extends Finding {
  /** The path of the field that was meant, as text. */
  readonly meant: string | undefined
}

function explainUnknown(issue: Issue, root: Node): readonly UnknownFinding[] {
  if (issue.code !== 'unrecognized_keys') return []
  const path = toPath(issue.path)
  let isListed = false
  return issue.keys.map((name, index) => {
    const known = isListed ? [] : namesOf(findField(path))
    const { message, field } =
      index < EXPLAINED_MAX
        ? (describeHabit(name, path) ?? describeUnknown(name, path, root))
        : LOST
    const meant = field === undefined ? undefined : JSON.stringify([...path, field])
    const isLost = message === UNKNOWN
    // All that is known here is told once.
    const others = isLost && !isListed ? `, or write one of ${known.join(', ')}` : ''
    isListed ||= isLost
    return { path: [...path, name], at: 'name', message: message + others, meant }
  })
}

const UNKNOWN = 'is not known here: remove it'
/** Of one mapping. Nobody reads that many, and what was meant takes a search for each. */
const EXPLAINED_MAX = 100

interface Unknown {
  readonly message: string
  /** The known field of the same mapping that it stands for. */
  readonly field?: string
}

const LOST: Unknown = { message: UNKNOWN }

/** What other programs call it. */
function describeHabit(name: string, path: ConfigPath): Unknown | undefined {
  const { text, field, note = '' } = findHabit(placeOf(path), name) ?? {}
  if (text !== undefined) return { message: text }
  if (field === undefined) return undefined
  const steps = field.split('.')
  const own = steps.at(-1) ?? field
  if (steps.length === 1)
    return { message: `is called \`${own}\` here: write \`${own}:\`${note}`, field }
  const place = steps.slice(0, -1).join('.')
  return { message: `belongs elsewhere: write \`${own}:\`${note}, indented below ${place}` }
}

function describeUnknown(name: string, path: ConfigPath, root: Node): Unknown {
  const node = findEntry(root, path)?.node
  const section = path.length === 0 ? findSection(findEntry(root, [name])?.node) : undefined
  if (section !== undefined)
    return {
      message: `looks like one of the ${section}: indent it, and all that belongs to it, by two more spaces, below \`${section}:\``,
    }
  if (node?.type === 'mapping' && isDecimal(name, node))
    return { message: 'is what follows a comma: write decimals with a point, such as 0.15' }
  const closest = findClosest(name, namesOf(findField(path)))
  if (closest === undefined) return { message: UNKNOWN }
  return { message: `is not known here: write \`${closest}:\``, field: closest }
}

/** Where something belongs that stands at the left margin under a name of somebody's own. */
function findSection(node: Node | undefined): 'suppliers' | 'models' | undefined {
  if (node?.type !== 'mapping') return undefined
  const has = (name: string): boolean => node.entries.has(name)
  if (SUPPLIER_SIGNS.some(has) || describesSupplier(node)) return 'suppliers'
  return MODEL_SIGNS.some(has) ? 'models' : undefined
}

const SUPPLIER_SIGNS = ['origin', 'credential', 'credentials', 'allow_private', 'quirks', 'oauth']
const MODEL_SIGNS = ['price', 'context_window', 'output_ceiling', 'capabilities', 'owned_by']

/** Models have a kind, too, but none of them says what it serves. */
function describesSupplier({ entries }: Mapping): boolean {
  return (
    entries.has('models') || (entries.has('kind') && !MODEL_SIGNS.some((name) => entries.has(name)))
  )
}

/** `{ input: 0,15 }` is a field `input` of 0 and a field named 15. */
function isDecimal(name: string, { isFlow, entries }: Mapping): boolean {
  if (!isFlow || !/^\d+$/.test(name)) return false
  const last = beforeOf(entries).get(name)
  return last?.type === 'scalar' && Number.isInteger(last.value)
}

const before = new WeakMap<Mapping['entries'], ReadonlyMap<string, Node>>()

/** What stands before each name, found once for all of them. */
function beforeOf(entries: Mapping['entries']): ReadonlyMap<string, Node> {
  const known = before.get(entries)
  if (known !== undefined) return known
  const found = new Map<string, Node>()
  let last: Node | undefined
  for (const [name, { node }] of entries) {
    if (last !== undefined) found.set(name, last)
    last = node
  }
  before.set(entries, found)
  return found
}

function namesOf(field: Field | undefined): readonly string[] {
  const own = Object.keys(field?.fields ?? {})
  return [...own, ...(field?.forms ?? []).flatMap((form) => namesOf(form))]
}

/** A path with `*` for every name that people choose themselves. */
function placeOf(path: ConfigPath): readonly string[] {
  return path.flatMap((step, index) => {
    if (typeof step === 'number') return []
    return findField(path.slice(0, index))?.shape === 'named' ? ['*'] : [step]
  })
}

function toPath(path: readonly PropertyKey[]): ConfigPath {
  return path.map((step) => (typeof step === 'number' ? step : String(step)))
}

// The names that fields of the file have, and what people write instead of them.
import type { ConfigPath } from './fault.ts'
import { describeField, type Field } from './outline.ts'
import { ConfigSchema } from './schema.ts'
import { showName } from './show.ts'

let known: { readonly all: Set<string>; readonly harmless: Set<string> } | undefined

export function isFieldName(name: string): boolean {
  return knownNames().all.has(name)
}

/** A field of ours whose value may be shown, whatever its name sounds like. */
export function isHarmlessName(name: string): boolean {
  return knownNames().harmless.has(name)
}

function knownNames(): NonNullable<typeof known> {
  if (known === undefined) {
    known = { all: new Set(), harmless: new Set() }
    collectNames(describeField(ConfigSchema), known)
  }
  return known
}

function collectNames(field: Field, names: NonNullable<typeof known>): void {
  for (const [name, schema] of Object.entries(field.fields)) {
    const below = describeField(schema)
    names.all.add(name)
    if (!below.isSecret) names.harmless.add(name)
    collectNames(below, names)
  }
  if (field.member) collectNames(describeField(field.member), names)
  for (const form of field.forms) collectNames(form, names)
}

/** The variable that a secret could come from, by the name of its supplier: `${MAIN_EU_API_KEY}`. */
export function variableFor(path: ConfigPath): string {
  const [section, id, , index] = path
  if (section !== 'suppliers') return '${MY_ROOT_KEY}'
  const isPlain = typeof id === 'string' && id.length <= NAME_MAX && showName(id, true) === id
  const name = isPlain ? id.toUpperCase().replaceAll(/\W/g, '_') : 'SUPPLIER'
  if (path.at(-1) === 'client_secret') return `\${${name}_CLIENT_SECRET}`
  const number = typeof index === 'number' && index > 0 ? `_${index + 1}` : ''
  return `\${${name}_API_KEY${number}}`
}

/** Nobody misspells a name into something longer, and to compare takes the product of both lengths. */
const NAME_MAX = 64

/** The known name that somebody meant: another spelling, a beginning, or at most two letters off. */
export function findClosest(name: string, known: readonly string[]): string | undefined {
  const plain = flatten(name)
  const same = known.find((each) => flatten(each) === plain)
  if (same !== undefined || plain.length < 2 || plain.length > NAME_MAX) return same
  const ranked = known
    .map((each) => ({ each, distance: distanceOf(plain, flatten(each)) }))
    .toSorted((one, other) => one.distance - other.distance)
  const nearest = ranked[0]
  // Two letters off is another word where the word has only three.
  if (nearest && nearest.distance <= Math.min(2, Math.floor(plain.length / 3) + 1))
    return nearest.each
  const isLong = plain.length >= 3
  return known.find((each) => isLong && startsAlike(flatten(each), plain))
}

function startsAlike(one: string, other: string): boolean {
  return one.startsWith(other) || (one.length >= 3 && other.startsWith(one))
}

function flatten(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
}

/** Letters to add, drop, change or swap with their neighbour. */
function distanceOf(one: string, other: string): number {
  // Further off than counts, whatever the letters are.
  if (Math.abs(one.length - other.length) > 2) return Infinity
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, index) => index)]
  const at = (i: number, j: number): number => rows[i]?.[j] ?? Infinity
  for (let i = 1; i <= one.length; i += 1) {
    const row = [i]
    rows.push(row)
    for (let j = 1; j <= other.length; j += 1) {
      const change = at(i - 1, j - 1) + (one[i - 1] === other[j - 1] ? 0 : 1)
      const isSwap = one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]
      const swap = isSwap ? at(i - 2, j - 2) + 1 : Infinity
      row[j] = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, change, swap)
    }
  }
  return at(one.length, other.length)
}

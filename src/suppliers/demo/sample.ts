// Makes a value that satisfies a JSON schema. The schema is a stranger's, so the work is bounded: by
// depth, by a budget of work and by the schema's size, and whatever lies beyond becomes null.
import { asList, asNumber, isJson, type Json } from './json.ts'
import { badRequest } from './refusal.ts'

const SCHEMA_LENGTH_MAX = 120_000
/** Nodes visited and keys copied. */
const WORK_MAX = 20_000
const DEPTH_MAX = 32
/** How long a chain of references is followed at one place. */
const HOPS_MAX = 8
/** From here on a recursive schema is led to its end: null branches, empty lists. */
const DEPTH_EASY = 6
const ITEMS_MAX = 100
const STRING_LENGTH_MAX = 10_000

const FORMATS: Readonly<Record<string, string>> = {
  email: 'demo@example.com',
  date: '2026-01-01',
  'date-time': '2026-01-01T00:00:00Z',
  time: '00:00:00Z',
  duration: 'P1D',
  uuid: '00000000-0000-4000-8000-000000000000',
  uri: 'https://example.com/',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
}

interface Walk {
  readonly root: unknown
  workLeft: number
}

export function sample(schema: unknown): unknown {
  if (lengthOf(schema) > SCHEMA_LENGTH_MAX) {
    throw badRequest('The schema is too large for the demo supplier.', 'schema')
  }
  return sampleAt(schema, { root: schema, workLeft: WORK_MAX }, 0)
}

function lengthOf(schema: unknown): number {
  try {
    return JSON.stringify(schema).length
  } catch {
    // The parser reads deeper nesting than the printer can follow.
    return Infinity
  }
}

function sampleAt(schema: unknown, walk: Walk, depth: number): unknown {
  walk.workLeft -= 1
  if (walk.workLeft < 0 || depth > DEPTH_MAX || schema === false) return null
  if (!isJson(schema)) return 'demo'
  const whole = chooseBranch(expand(schema, walk, 0), walk, depth)
  if ('const' in whole) return whole['const']
  const choices = asList(whole['enum'])
  return choices.length > 0 ? choices[0] : sampleTyped(whole, walk, depth)
}

function sampleTyped(whole: Json, walk: Walk, depth: number): unknown {
  switch (typeOf(whole)) {
    case 'object':
      return sampleObject(whole, walk, depth)
    case 'array':
      return sampleArray(whole, walk, depth)
    case 'integer':
      return sampleNumber(whole, true)
    case 'number':
      return sampleNumber(whole, false)
    case 'boolean':
      return true
    case 'null':
      return null
    default:
      return sampleString(whole)
  }
}

function typeOf(schema: Json): unknown {
  const named = schema['type']
  if (Array.isArray(named)) return named.find((type) => type !== 'null') ?? 'null'
  if (named !== undefined) return named
  if (isJson(schema['properties']) || Array.isArray(schema['required'])) return 'object'
  return schema['items'] === undefined && schema['prefixItems'] === undefined ? 'string' : 'array'
}

/** Folds `$ref` and `allOf` into the schema that names them. */
function expand(schema: Json, walk: Walk, hops: number): Json {
  walk.workLeft -= Object.keys(schema).length
  const { $ref: reference, allOf, ...own } = schema
  const targets = typeof reference === 'string' ? [follow(reference, walk.root)] : []
  let whole: Json = own
  for (const part of [...targets, ...asList(allOf)]) {
    if (walk.workLeft < 0 || hops > HOPS_MAX) break
    if (isJson(part)) whole = merge(whole, expand(part, walk, hops + 1), walk)
  }
  return whole
}

/** Reads a JSON pointer such as `#/$defs/City`. */
function follow(reference: string, root: unknown): unknown {
  if (!reference.startsWith('#')) return undefined
  let target: unknown = root
  for (const step of reference.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    if (isJson(target)) target = Object.hasOwn(target, name) ? target[name] : undefined
    else target = asList(target)[Number(name)]
  }
  return target
}

function merge(own: Json, other: Json, walk: Walk): Json {
  const merged: Record<string, unknown> = { ...other, ...own }
  if (isJson(own['properties']) && isJson(other['properties'])) {
    const properties = { ...other['properties'], ...own['properties'] }
    walk.workLeft -= Object.keys(properties).length
    merged['properties'] = properties
  }
  if (Array.isArray(own['required']) && Array.isArray(other['required'])) {
    merged['required'] = [...new Set([...asList(other['required']), ...asList(own['required'])])]
  }
  return merged
}

function chooseBranch(schema: Json, walk: Walk, depth: number): Json {
  const { anyOf, oneOf, ...own } = schema
  const branches = asList(anyOf ?? oneOf).filter(isJson)
  const [first] = branches
  if (!first) return schema
  const end = branches.find((branch) => branch['type'] === 'null')
  const branch = depth >= DEPTH_EASY && end ? end : first
  const whole = expand(branch, walk, 0)
  // A branch may itself be a choice; the budget ends a circle of choices.
  walk.workLeft -= 1
  return walk.workLeft < 0 ? own : chooseBranch(merge(own, whole, walk), walk, depth)
}

function sampleObject(schema: Json, walk: Walk, depth: number): unknown {
  const properties = isJson(schema['properties']) ? schema['properties'] : {}
  const entries: [string, unknown][] = []
  for (const name of neededNames(schema, properties, depth)) {
    if (walk.workLeft < 0) break
    const known = Object.hasOwn(properties, name)
    const part = known ? properties[name] : schema['additionalProperties']
    entries.push([name, sampleAt(part, walk, depth + 1)])
  }
  // fromEntries and not assignment: a property may be called __proto__.
  return Object.fromEntries(entries)
}

/** A schema that requires nothing by name still gets its properties, or a demo would show `{}`. */
function neededNames(schema: Json, properties: Json, depth: number): readonly string[] {
  const required = schema['required']
  if (Array.isArray(required)) return required.filter((name) => typeof name === 'string')
  return depth < DEPTH_EASY ? Object.keys(properties) : []
}

function sampleArray(schema: Json, walk: Walk, depth: number): unknown {
  const fixed = asList(schema['prefixItems'])
  const items = schema['items']
  const usual = items === undefined || depth >= DEPTH_EASY ? 0 : 1
  const least = asNumber(schema['minItems']) ?? 0
  const most = Math.min(asNumber(schema['maxItems']) ?? ITEMS_MAX, ITEMS_MAX)
  const count = Math.min(Math.max(least, fixed.length || usual), most)
  const values: unknown[] = []
  while (values.length < count && walk.workLeft >= 0) {
    const part = values.length < fixed.length ? fixed[values.length] : items
    values.push(sampleAt(part, walk, depth + 1))
  }
  return values
}

function sampleNumber(schema: Json, whole: boolean): number {
  const low = asNumber(schema['minimum']) ?? asNumber(schema['exclusiveMinimum'])
  const high = asNumber(schema['maximum']) ?? asNumber(schema['exclusiveMaximum'])
  const step = asNumber(schema['multipleOf']) || 1
  const start = Math.ceil((low ?? 0) / step) * step
  const tried = [1, 0, start, start + step, step, low, high]
  if (low !== undefined) tried.push(Math.ceil(low), Math.floor(low) + 1)
  if (high !== undefined) tried.push(Math.floor(high), Math.ceil(high) - 1)
  if (low !== undefined && high !== undefined) tried.push((low + high) / 2)
  return tried.find((value) => value !== undefined && fits(value, schema, whole)) ?? 1
}

function fits(value: number, schema: Json, whole: boolean): boolean {
  const step = asNumber(schema['multipleOf'])
  if (whole && !Number.isInteger(value)) return false
  if (step !== undefined && !Number.isInteger(value / step)) return false
  return (
    value >= (asNumber(schema['minimum']) ?? -Infinity) &&
    value <= (asNumber(schema['maximum']) ?? Infinity) &&
    value > (asNumber(schema['exclusiveMinimum']) ?? -Infinity) &&
    value < (asNumber(schema['exclusiveMaximum']) ?? Infinity)
  )
}

function sampleString(schema: Json): string {
  const format = schema['format']
  const formatted = typeof format === 'string' && Object.hasOwn(FORMATS, format)
  const plain = (formatted ? FORMATS[format] : undefined) ?? 'demo'
  const least = Math.min(asNumber(schema['minLength']) ?? 0, STRING_LENGTH_MAX)
  const most = asNumber(schema['maxLength']) ?? STRING_LENGTH_MAX
  return plain.padEnd(least, 'demo').slice(0, Math.max(0, most))
}

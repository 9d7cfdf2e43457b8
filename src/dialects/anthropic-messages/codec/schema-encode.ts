// A schema as the maker takes it where a model is held to it: every object is closed, and what it does not check is said
// in words. What cannot be put so is not sent as one
// (platform.claude.com/docs/en/build-with-claude/structured-outputs, "JSON Schema limitations", seen 2026-11).
import { asNumber } from '../../exact-json.ts'
import { asFields, isFields, type Fields } from '../../json.ts'

/** Undefined where an object of it is open on purpose, or it refers to what is not in it or to itself. */
export function closeSchema(schema: Fields): Fields | undefined {
  try {
    new References(schema).check()
    return asFields(close(schema))
  } catch (thrown) {
    if (thrown instanceof Unsayable) return undefined
    throw thrown
  }
}

class Unsayable extends Error {}

/** Those whose values are schemas by their names. */
const MAPS = ['properties', '$defs', 'definitions'] as const
const LISTS = ['anyOf', 'allOf'] as const

function close(value: unknown): unknown {
  if (!isFields(value)) return value
  const closed: [string, unknown][] = []
  const words: string[] = []
  for (const [name, each] of Object.entries(withAnyOf(value))) {
    if (isChecked(name, each)) closed.push([name, closeMember(name, each)])
    else words.push(`${name} ${typeof each === 'string' ? each : JSON.stringify(each)}`)
  }
  if (isOpen(value)) closed.push(['additionalProperties', false])
  // By entries, because a property may have any name.
  return describe(Object.fromEntries(closed), words)
}

function closeMember(name: string, value: unknown): unknown {
  if (name === 'items') return close(value)
  if (isOneOf(name, LISTS) && Array.isArray(value)) return value.map(close)
  if (!isOneOf(name, MAPS) || !isFields(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, close(each)]))
}

function isOneOf(name: string, names: readonly string[]): boolean {
  return names.includes(name)
}

/** Of exactly one and of any the model is held to the same: it writes one. */
function withAnyOf(schema: Fields): Fields {
  if (schema['oneOf'] === undefined) return schema
  if (schema['anyOf'] !== undefined) throw new Unsayable()
  return Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [name === 'oneOf' ? 'anyOf' : name, value]),
  )
}

/** An object that has to be closed. One that names no property is open on purpose: closed, it could only be empty. */
function isOpen(schema: Fields): boolean {
  checkParts(schema)
  if (!isObject(schema)) return false
  const { properties, additionalProperties, patternProperties } = schema
  if (patternProperties !== undefined) throw new Unsayable()
  if (additionalProperties === false) return false
  if (additionalProperties !== undefined || !isFields(properties)) throw new Unsayable()
  return true
}

function isObject({ type, properties, additionalProperties }: Fields): boolean {
  if (isFields(properties) || additionalProperties !== undefined) return true
  return type === 'object' || (Array.isArray(type) && type.includes('object'))
}

/** Objects that are one together cannot be closed each on its own: none would let the others' properties pass. */
function checkParts(schema: Fields): void {
  const all = partsOf(schema['allOf'])
  const parts = [...all, ...partsOf(schema['anyOf']), ...partsOf(schema['oneOf'])]
  const isShared = isObject(schema) ? parts.some(isObject) : all.filter(isObject).length > 1
  if (isShared || all.some(({ $ref }) => $ref !== undefined)) throw new Unsayable()
}

function partsOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isFields) : []
}

const UNCHECKED = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'maxItems',
  'uniqueItems',
  'prefixItems',
  'contains',
  'minContains',
  'maxContains',
  'minProperties',
  'maxProperties',
  'propertyNames',
  'dependentRequired',
  'dependentSchemas',
  'not',
  'if',
  'then',
  'else',
])
const FORMATS = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'uri',
  'ipv4',
  'ipv6',
  'uuid',
])
/** Back references, looks ahead and behind, and borders of words. */
const HARD_PATTERN = /\\[1-9bBk]|\(\?<?[=!]/

function isChecked(name: string, value: unknown): boolean {
  if (name === 'minItems') return [0, 1].includes(Number(asNumber(value)))
  if (name === 'format') return typeof value === 'string' && FORMATS.has(value)
  if (name === 'pattern') return typeof value === 'string' && !HARD_PATTERN.test(value)
  if (name === 'items') return isFields(value)
  if (name === 'enum') return !Array.isArray(value) || value.every((each) => !isNested(each))
  return !UNCHECKED.has(name)
}

function isNested(value: unknown): boolean {
  return typeof value === 'object' && value !== null && typeof asNumber(value) !== 'number'
}

function describe(schema: Fields, words: readonly string[]): Fields {
  if (words.length === 0) return schema
  const { description } = schema
  const said = `(${words.join(', ')})`
  return {
    ...schema,
    description: typeof description === 'string' ? `${description} ${said}` : said,
  }
}

/** More than these in a row are a schema that nobody has written by hand. */
const REFERENCES_MAX = 64

/** Follows all references of a schema once. Going round in a circle is what is refused. */
class References {
  readonly #root: Fields
  /** Where the ones lead that are being followed. */
  readonly #open: Set<unknown>
  readonly #seen = new Set<unknown>()

  constructor(root: Fields) {
    this.#root = root
    this.#open = new Set([root])
  }

  check(value: unknown = this.#root): void {
    if (typeof value !== 'object' || value === null) return
    if (isFields(value) && typeof value['$ref'] === 'string') this.#follow(value['$ref'])
    for (const each of Object.values(value)) this.check(each)
  }

  #follow(reference: string): void {
    const found = this.#find(reference)
    if (this.#open.has(found) || this.#open.size > REFERENCES_MAX) throw new Unsayable()
    if (this.#seen.has(found)) return
    this.#seen.add(found)
    this.#open.add(found)
    this.check(found)
    this.#open.delete(found)
  }

  #find(reference: string): unknown {
    const [start, ...steps] = reference.split('/')
    if (start !== '#') throw new Unsayable()
    let found: unknown = this.#root
    for (const step of steps) {
      const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
      if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name))
        throw new Unsayable()
      found = Reflect.get(found, name)
    }
    return found
  }
}

// Whether a schema leaves anything open. A supplier that is told to be strict refuses one that does, so it is told so
// only of one that does not.
import { isFields, type Fields } from './json.ts'

/** Of these no strict supplier takes any (seen in the maker's guide, 2026-11). */
const REFUSED = [
  'allOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'dependentRequired',
  'dependentSchemas',
  'patternProperties',
]
const MAPS = ['properties', '$defs', 'definitions']
const LISTS = ['anyOf', 'prefixItems']

/** An object that leaves nothing open, itself or within: what a strict tool takes. */
export function isClosedObject(schema: unknown): boolean {
  return isFields(schema) && schema['type'] === 'object' && isClosed(schema)
}

/** Every object in it names all of its members, and demands them. */
export function isClosed(schema: unknown): boolean {
  if (!isFields(schema) || REFUSED.some((name) => Object.hasOwn(schema, name))) return false
  if (isObject(schema) && !demandsAll(schema)) return false
  return innerOf(schema).every(isClosed)
}

function isObject({ type, properties }: Fields): boolean {
  if (properties !== undefined) return true
  return type === 'object' || (Array.isArray(type) && type.includes('object'))
}

function demandsAll({ additionalProperties, properties, required }: Fields): boolean {
  if (additionalProperties !== false) return false
  const demanded = new Set<unknown>(Array.isArray(required) ? required : [])
  return Object.keys(isFields(properties) ? properties : {}).every((name) => demanded.has(name))
}

function innerOf(schema: Fields): readonly unknown[] {
  const inMaps = MAPS.flatMap((name) => (isFields(schema[name]) ? Object.values(schema[name]) : []))
  const inLists = LISTS.flatMap((name) => {
    const list: unknown = schema[name]
    return Array.isArray(list) ? (list as readonly unknown[]) : []
  })
  return [...inMaps, ...inLists, ...('items' in schema ? [schema['items']] : [])]
}

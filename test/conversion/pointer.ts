// Whether a request has the place that a caller is told: by its members, with `*` for any item of a list. What stands in
// a list is also named by its kind.
import { quoteName } from '../../src/core/problem.ts'

export function exists(body: unknown, pointer: string): boolean {
  const [root, ...names] = pointer.split('/')
  return root === '' && names.length > 0 && leads(body, names)
}

function leads(value: unknown, [name, ...rest]: readonly string[]): boolean {
  if (name === undefined) return true
  if (name === '*' && Array.isArray(value)) return value.some((item) => leads(item, rest))
  if (Array.isArray(value) || typeof value !== 'object' || value === null)
    return rest.length === 0 && name === 'unknown'
  const fields = value as Record<string, unknown>
  const member = Object.keys(fields).find((each) => told(each) === name && fields[each] !== null)
  if (member !== undefined && leads(fields[member], rest)) return true
  return rest.length === 0 && isKind(fields, name)
}

/** What says nothing of its kind is of an unknown one. */
function isKind({ type }: Record<string, unknown>, name: string): boolean {
  if (typeof type === 'string' && told(type) === name) return true
  return name === 'unknown' && (typeof type !== 'string' || type === '')
}

/** Cut short, and as pointers have it. */
function told(name: string): string {
  return quoteName(name).replaceAll('~', '~0').replaceAll('/', '~1')
}

// Reads the values of a request that was peeked at: what a conversation cannot do without is refused where it is of the
// wrong kind, in the same words for every language.
import { GatewayError, invalid } from '../core/problem.ts'
import { asNumber } from './exact-json.ts'
import { isFields, type Fields } from './json.ts'

/** What is asked for cannot be asked of a supplier that speaks another language. */
export function unsupported(param: string, text: string): GatewayError {
  return new GatewayError('unsupported_parameter', text, { param })
}

export function isAbsent(value: unknown): value is null | undefined {
  return value === null || value === undefined
}

export function findText(value: unknown, param: string): string | undefined {
  return isAbsent(value) ? undefined : getText(value, param)
}

export function getText(value: unknown, param: string): string {
  if (typeof value === 'string') return value
  throw invalid(param, `\`${param}\` must be a string.`)
}

export function findNumber(value: unknown, param: string): number | undefined {
  if (isAbsent(value)) return undefined
  const number = asNumber(value)
  if (typeof number === 'number' && Number.isFinite(number)) return number
  throw invalid(param, `\`${param}\` must be a number.`)
}

export function findBoolean(value: unknown, param: string): boolean | undefined {
  if (isAbsent(value)) return undefined
  if (typeof value === 'boolean') return value
  throw invalid(param, `\`${param}\` must be true or false.`)
}

export function findFields(value: unknown, param: string): Fields | undefined {
  return isAbsent(value) ? undefined : getFields(value, param)
}

export function getFields(value: unknown, param: string): Fields {
  if (isFields(value)) return value
  throw invalid(param, `\`${param}\` must be an object.`)
}

export function findList(value: unknown, param: string): readonly unknown[] {
  if (isAbsent(value)) return []
  if (Array.isArray(value)) return value
  throw invalid(param, `\`${param}\` must be an array.`)
}

/** Without the fields that are undefined: absence has one spelling. */
export function told<Value extends object>(value: {
  readonly [Name in keyof Value]: Value[Name] | undefined
}): Value {
  const copy: Record<string, unknown> = {}
  for (const [name, each] of Object.entries(value)) if (each !== undefined) copy[name] = each
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what may be undefined may be left out
  return copy as Value
}

// The schema as a tree that can be asked: what belongs at a path, what else could stand there, and what
// must never be shown. Error texts and the reference page are made from it.
import { z } from 'zod'
import type { ConfigPath } from './fault.ts'
import { ConfigSchema } from './schema.ts'

export type Shape = 'mapping' | 'named' | 'list' | 'text' | 'number' | 'boolean' | 'choice' | 'any'

export interface Field {
  readonly shape: Shape
  readonly description: string
  readonly hint: string
  readonly isSecret: boolean
  /** May be left out; what holds then is `fallback`, if anything does. */
  readonly isOptional: boolean
  readonly fallback: unknown
  /** A mapping's fields, in the order in which people should read them. */
  readonly fields: Readonly<Record<string, z.core.$ZodType>>
  /** What stands under each name, or at each place of a list. */
  readonly member: z.core.$ZodType | undefined
  /** What each name must look like. */
  readonly names: z.core.$ZodType | undefined
  readonly choices: readonly string[]
  readonly isWhole: boolean
  /** The range of a number in words; empty where there is none worth telling. */
  readonly range: string
  /** More than one form; the fields are those of all of them together. */
  readonly forms: readonly Field[]
}

/** What stands at a path; undefined where nothing may. */
export function findField(path: ConfigPath): Field | undefined {
  let field: Field | undefined = describeField(ConfigSchema)
  for (const step of path) {
    field = field && stepInto(field, step)
    if (field === undefined) return undefined
  }
  return field
}

function stepInto(field: Field, step: string | number): Field | undefined {
  for (const form of field.forms) {
    const found = stepInto(form, step)
    if (found !== undefined) return found
  }
  if (field.shape === 'any') return field.forms.length === 0 ? field : undefined
  const isRight = field.shape === 'list' ? typeof step === 'number' : typeof step === 'string'
  if (!isRight) return undefined
  const own = Object.hasOwn(field.fields, step) ? field.fields[step] : field.member
  return own && describeField(own)
}

const NOTHING = {
  shape: 'any',
  description: '',
  hint: '',
  isSecret: false,
  isOptional: false,
  fallback: undefined,
  fields: {},
  member: undefined,
  names: undefined,
  choices: [],
  isWhole: false,
  range: '',
  forms: [],
} as const satisfies Field

/** A file of a thousand models asks for the same few fields thousands of times. */
const described = new WeakMap<z.core.$ZodType, Field>()

export function describeField(schema: z.core.$ZodType): Field {
  const known = described.get(schema)
  if (known !== undefined) return known
  const field = describeAnew(schema)
  described.set(schema, field)
  return field
}

/** The outermost description and hint win: a field may say more than its type. */
function describeAnew(schema: z.core.$ZodType): Field {
  const inner = describeInner(schema)
  const meta = z.globalRegistry.get(schema)
  return {
    ...inner,
    description: meta?.description ?? inner.description,
    hint: meta?.hint ?? inner.hint,
    isSecret: meta?.secret ?? (inner.isSecret || isListOfSecrets(inner)),
  }
}

function isListOfSecrets({ shape, member }: Field): boolean {
  return shape === 'list' && member !== undefined && describeField(member).isSecret
}

function describeInner(schema: z.core.$ZodType): Field {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return { ...describeField(schema.unwrap()), isOptional: true }
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)
    return {
      ...describeField(schema.unwrap()),
      isOptional: true,
      fallback: schema.def.defaultValue,
    }
  if (schema instanceof z.ZodPipe) return describeField(schema.in)
  if (schema instanceof z.ZodObject) return { ...NOTHING, shape: 'mapping', fields: schema.shape }
  if (schema instanceof z.ZodRecord)
    return { ...NOTHING, shape: 'named', member: schema.valueType, names: schema.keyType }
  if (schema instanceof z.ZodArray) return { ...NOTHING, shape: 'list', member: schema.element }
  if (schema instanceof z.ZodUnion) return describeUnion(schema.options.map(describeField))
  return describeScalar(schema)
}

function describeScalar(schema: z.core.$ZodType): Field {
  if (schema instanceof z.ZodNumber)
    return { ...NOTHING, shape: 'number', isWhole: schema.isInt, range: rangeOf(schema) }
  if (schema instanceof z.ZodBoolean) return { ...NOTHING, shape: 'boolean' }
  if (schema instanceof z.ZodEnum)
    return { ...NOTHING, shape: 'choice', choices: schema.options.map(String) }
  if (schema instanceof z.ZodLiteral)
    return { ...NOTHING, shape: 'choice', choices: [...schema.values].map(String) }
  return schema instanceof z.ZodString ? { ...NOTHING, shape: 'text' } : NOTHING
}

function rangeOf(schema: z.ZodNumber): string {
  const least = schema.minValue ?? -Infinity
  const most = schema.maxValue ?? Infinity
  const isBounded = most < Number.MAX_SAFE_INTEGER
  if (least <= Number.MIN_SAFE_INTEGER) return isBounded ? `of at most ${most}` : ''
  if (!schema.safeParse(least).success)
    return isBounded ? `above ${least} and at most ${most}` : `above ${least}`
  return isBounded ? `from ${least} to ${most}` : `of at least ${least}`
}

function describeUnion(forms: readonly Field[]): Field {
  const shapes = new Set(forms.map(({ shape }) => shape))
  // A number that may also be quoted is a number to whoever writes one.
  const isNumber = shapes.size === 2 && shapes.has('number') && shapes.has('text')
  return { ...NOTHING, shape: isNumber ? 'number' : 'any', forms: isNumber ? [] : forms }
}

// The form that an answer is to have: `text.format`, in which a schema stands beside its name.
import type { Format } from '../../../core/chat.ts'
import { isClosed } from '../../closed-schema.ts'
import type { Fields } from '../../json.ts'
import type { Lost } from '../../lost.ts'
import { findBoolean, findFields, findText, told } from '../../reader.ts'

const PLACE = 'text.format'
const POINTER = '/text/format'

const TEXT_FIELDS = new Set(['format'])
const SCHEMA_FIELDS = new Set(['type', 'name', 'description', 'schema', 'strict'])

/** Schemas must have a name here. */
const NAME = 'answer'

export function decodeFormat(value: unknown, lost: Lost): Format | undefined {
  const text = findFields(value, 'text') ?? {}
  lost.addOthers('/text', text, TEXT_FIELDS, isDefault)
  const fields = findFields(text['format'], PLACE)
  switch (fields?.['type']) {
    case undefined:
    case null:
    case 'text':
      return undefined
    case 'json_object':
      return { kind: 'json' }
    case 'json_schema':
      return decodeSchema(fields, lost)
    default:
      // A grammar, or code: no other language has them.
      lost.add(POINTER)
      return undefined
  }
}

function isDefault(value: unknown, name: string): boolean {
  return value === null || (name === 'verbosity' && value === 'medium')
}

function decodeSchema(fields: Fields, lost: Lost): Format {
  lost.addOthers(POINTER, fields, SCHEMA_FIELDS)
  return told<Format & { kind: 'schema' }>({
    kind: 'schema',
    schema: findFields(fields['schema'], `${PLACE}.schema`) ?? {},
    name: findText(fields['name'], `${PLACE}.name`),
    description: findText(fields['description'], `${PLACE}.description`),
    isStrict: findBoolean(fields['strict'], `${PLACE}.strict`),
  })
}

export function encodeFormat(format: Format | undefined): Fields | undefined {
  if (format === undefined) return undefined
  if (format.kind === 'json') return { format: { type: 'json_object' } }
  const { name = NAME, description, schema, isStrict = isClosed(schema) } = format
  const about = description === undefined ? {} : { description }
  return { format: { type: 'json_schema', name, ...about, schema, strict: isStrict } }
}

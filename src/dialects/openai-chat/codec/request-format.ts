// The form that an answer is to have, as chat says it: strict where its schema leaves nothing open.
import type { Format } from '../../../core/chat.ts'
import { isClosed } from '../../closed-schema.ts'
import type { Fields } from '../../json.ts'

/** Schemas have a name in chat, and nowhere else. */
const NAME = 'answer'

export function encodeFormat(format: Format | undefined): Fields | undefined {
  if (format === undefined) return undefined
  if (format.kind === 'json') return { type: 'json_object' }
  const { name = NAME, description, schema, isStrict = isClosed(schema) } = format
  const json = { name, ...(description !== undefined && { description }), schema, strict: isStrict }
  return { type: 'json_schema', json_schema: json }
}

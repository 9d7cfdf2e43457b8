// An answer or an event of one as values. Inputs of calls are texts; what some send in their place keeps its numbers.
import { parseExactly } from '../../exact-json.ts'
import { asFields, isFields, parseJson, type Fields } from '../../json.ts'

/** Empty for what is none. */
export function parseAnswer(data: Uint8Array): Fields {
  const answer = asFields(parseJson(data)) ?? {}
  return isWrittenOut(answer) ? (asFields(parseExactly(data)) ?? answer) : answer
}

function isWrittenOut({ item, output, response }: Fields): boolean {
  if (isFields(item)) return hasObject(item)
  const items = asFields(response)?.['output'] ?? output
  return Array.isArray(items) && items.some(hasObject)
}

function hasObject(item: unknown): boolean {
  const input = asFields(item)?.['arguments']
  return typeof input === 'object' && input !== null
}

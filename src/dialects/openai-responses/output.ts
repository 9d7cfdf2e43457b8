// How much text a model has put out, for the calls whose supplier does not tell: answer, reasoning and calls of
// tools. What is said in a way that nobody here knows counts for something too: only silence is nothing.
import { isFields, type Fields } from '../json.ts'

/** A text, or an item, that was not made into a value: no more than how long it is. */
export class UnreadText {
  readonly bytes: number

  constructor(bytes: number) {
    this.bytes = bytes
  }
}

/** Items that say nothing before there is text in them. */
const QUIET = new Set<unknown>(['message', 'reasoning'])
const TEXT_FIELDS = ['text', 'refusal', 'transcript']
const ITEM_FIELDS = ['content', 'summary', 'name', 'arguments', 'input', 'code']

/** Bytes of text in an item, whole or as it begins. What a search or a tool of the supplier's has found is not put out. */
export function outputOfItem(item: unknown): number {
  if (item instanceof UnreadText) return item.bytes
  if (!isFields(item)) return 0
  let bytes = 0
  for (const name of ITEM_FIELDS) bytes += textBytes(item[name])
  return bytes === 0 && !QUIET.has(item['type']) ? 1 : bytes
}

/** Of all items of an answer that came whole; undefined for a shape that is not known. */
export function outputOfAll(output: unknown): number | undefined {
  if (!Array.isArray(output)) return undefined
  return output.reduce((sum: number, item) => sum + outputOfItem(item) + unshownOf(item), 0)
}

/** What was thought and not shown, by its seal, which holds the whole thought: four characters for three bytes. */
export function unshownOf(item: unknown): number {
  if (!isFields(item) || item['type'] !== 'reasoning') return 0
  const sealed = Math.floor((textBytes(item['encrypted_content']) * 3) / 4)
  return Math.max(0, sealed - shownOf(item))
}

function shownOf(item: Fields): number {
  return textBytes(item['content']) + textBytes(item['summary'])
}

/** Bytes of sound in a piece of it. */
export function audioBytes(delta: unknown): number {
  return Math.floor((textBytes(delta) * 3) / 4)
}

/** A text, or the parts that it is cut into. */
export function textBytes(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value)
  if (value instanceof UnreadText) return value.bytes
  let bytes = 0
  if (Array.isArray(value)) for (const part of value) bytes += textBytes(part)
  else if (isFields(value)) for (const name of TEXT_FIELDS) bytes += textBytes(value[name])
  return bytes
}

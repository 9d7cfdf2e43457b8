// What callers are told that a conversion has lost, in their own words and to the letter: rows by the language of the
// caller.
import { CHAT } from './losses-chat.ts'
import { MESSAGES } from './losses-messages.ts'
import { RESPONSES } from './losses-responses.ts'
import { HI, type Row, type RowLosses } from './row.ts'
import type { Json } from './sides.ts'

export const ROWS: Readonly<Record<string, readonly Row[]>> = {
  'openai-chat': CHAT,
  'anthropic-messages': MESSAGES,
  'openai-responses': RESPONSES,
}

/** A request of nothing but a greeting, by the language. */
export const GREETINGS: Readonly<Record<string, Json>> = {
  'openai-chat': { messages: [HI] },
  'anthropic-messages': { messages: [HI] },
  'openai-responses': { input: [HI] },
}

export function lostAt(supplier: string, lost: RowLosses): readonly string[] {
  return isList(lost) ? lost : (lost[supplier] ?? [])
}

function isList(lost: RowLosses): lost is readonly string[] {
  return Array.isArray(lost)
}

// Rows of what a conversion loses: a request beside a plain one, and all that is lost of it on the way to suppliers of
// other languages, in the caller's own words.
import type { Target } from '../../src/dialects/codec.ts'
import type { Json } from './sides.ts'

/** Everywhere, or by the language of the supplier: nothing where none is told. */
export type RowLosses = readonly string[] | Readonly<Record<string, readonly string[]>>

export type Row = readonly [
  what: string,
  fields: Json,
  lost: RowLosses,
  /** Whom it is said to, where that is nobody in particular. */
  target?: Partial<Target>,
]

export const HI = { role: 'user', content: 'Hi' }

/** Where the parts of messages stand. */
export const PART = '/messages/*/content/*'

/** A request of one user's turn. */
export function said(...content: readonly Json[]): Json {
  return { messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }, ...content] }] }
}

/** A request in which an assistant has said something before. */
export function before(message: Json): Json {
  return { messages: [HI, { role: 'assistant', content: 'Yes', ...message }, HI] }
}

/** A mark for a cache that is to last. */
export const HOUR = { type: 'ephemeral', ttl: '1h' }

/** A model that cannot be told to think. */
export const DEAF: Partial<Target> = { reasoning: 'none' }

/** A supplier that refuses a field, by each of the names that it has. */
export function without(...drop: readonly string[]): Partial<Target> {
  return { quirks: { usage: 'ask', drop } }
}

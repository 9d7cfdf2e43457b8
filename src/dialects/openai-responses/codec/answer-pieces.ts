// The events of a stream that add to an item, or say once more what was added: what each is about, and where it is.
// A table, so that one reader takes them all.

export type ItemKind = 'message' | 'thought' | 'call' | 'lost'

/** The kinds of items that have a counterpart, by their names on the wire. */
const KINDS: ReadonlyMap<unknown, ItemKind> = new Map([
  ['message', 'message'],
  ['reasoning', 'thought'],
  ['function_call', 'call'],
])

export function kindOf(type: unknown): ItemKind {
  return KINDS.get(type) ?? 'lost'
}

/** The lists of texts that a thought may have; models show the one or the other. */
export type Source = 'content' | 'summary'

export interface Piece {
  readonly item: Exclude<ItemKind, 'lost'>
  readonly says: 'text' | 'refusal' | Source | 'input'
  /** The member that has its text. */
  readonly text: string
  /** The member that says which part of the item it is of. */
  readonly part: string
  /** It is all of that part, and not more of it. */
  readonly isAll: boolean
}

export const PIECES: ReadonlyMap<unknown, Piece> = new Map([
  ...both('response.output_text', { item: 'message', says: 'text', part: 'content_index' }, 'text'),
  ...both(
    'response.refusal',
    { item: 'message', says: 'refusal', part: 'content_index' },
    'refusal',
  ),
  ...both(
    'response.reasoning_text',
    { item: 'thought', says: 'content', part: 'content_index' },
    'text',
  ),
  ...both(
    'response.reasoning_summary_text',
    { item: 'thought', says: 'summary', part: 'summary_index' },
    'text',
  ),
  ...both(
    'response.function_call_arguments',
    { item: 'call', says: 'input', part: '' },
    'arguments',
  ),
])

function both(
  event: string,
  about: Pick<Piece, 'item' | 'says' | 'part'>,
  whole: string,
): readonly (readonly [string, Piece])[] {
  return [
    [`${event}.delta`, { ...about, text: 'delta', isAll: false }],
    [`${event}.done`, { ...about, text: whole, isAll: true }],
  ]
}

/** Events that announce what others tell, or say that somebody is still there. */
export const ASIDES: ReadonlySet<unknown> = new Set([
  'response.created',
  'response.queued',
  'response.in_progress',
  'response.content_part.added',
  'response.content_part.done',
  'response.reasoning_summary_part.added',
  'response.reasoning_summary_part.done',
  'keepalive',
  'ping',
])

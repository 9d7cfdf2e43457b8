// The contract of a side: a language as its clients and its suppliers speak it, written without the codecs. And what
// all sides need to take words apart and to put them together.
export type Json = Record<string, unknown>

export interface Side {
  /** What a request has that no fixture says. */
  readonly request: Json
  /** A request in the one spelling that requests are compared in. */
  readonly plain: (request: Json) => Json
  /** The whole answer of what a fixture says of it. */
  readonly answer: (brief: Json) => Json
  /** And the reverse, in the one spelling that answers are compared in. */
  readonly brief: (answer: Json) => Json
  /** How a supplier streams an answer. */
  readonly stream: (brief: Json) => string
  /** Frames with what ends a stream. */
  readonly frames: (frames: readonly Json[]) => string
  /** What a client makes of a stream, in the words of a fixture. */
  readonly collect: (text: string) => Json
  /** How a client goes on after an answer: it echoes all of it, and says what came of its calls. */
  readonly goOn: (brief: Json) => Json
  /** What the assistant has said in a request, in the words of a fixture. */
  readonly echoed: (request: Json) => Json
}

/** A text in two pieces, neither of which is empty where that can be. */
export function halves(text: unknown): readonly string[] {
  if (typeof text !== 'string' || text === '') return []
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)].filter((piece) => piece !== '')
}

export function join(before: unknown, more: unknown): unknown {
  if (before === undefined) return more
  if (Array.isArray(before) && Array.isArray(more)) return [...(before as unknown[]), ...more]
  if (typeof before !== 'string' || typeof more !== 'string') throw new Error('no text goes on so')
  return before + more
}

export function without(fields: Json, ...names: readonly string[]): Json {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))
}

/** Null says no more than absence. */
export function told(fields: Json): Json {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== null && value !== undefined),
  )
}

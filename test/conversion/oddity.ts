// The contract of an oddity: something that a supplier sends and its language does not quite have, and what is meant.
import type { AssistantPart, Finish } from '../../src/core/chat.ts'
import type { Json } from './sides.ts'

export interface Oddity {
  readonly what: string
  /** A whole answer, as a fixture has it. */
  readonly answer?: Json
  /** A stream, frame by frame. */
  readonly frames?: readonly Json[]
  /** What is meant. */
  readonly parts: readonly AssistantPart[]
  readonly reason: Finish['reason']
  readonly lost?: readonly string[]
  /** The same on a stream, where it stands in another place there. */
  readonly lostOnStream?: readonly string[]
}

/** An id that a call was not given by its supplier. */
export const MADE_UP = 'made up'

export function text(text: string): AssistantPart {
  return { kind: 'text', text }
}

export function call(id: string, name: string, input: string): AssistantPart {
  return { kind: 'call', id, name, input }
}

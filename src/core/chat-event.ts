// What happens on the stream of an answer, in words of our own and in the order in which it happens.
import type { Finish } from './chat.ts'

export type ChatEvent =
  /** The supplier has begun to answer. Told once, before all others. */
  | { readonly kind: 'start' }
  /** More of the text at hand. */
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'thinking'; readonly text: string }
  | { readonly kind: 'refusal'; readonly text: string }
  /** Seals the thought at hand, or the next call where nothing was thought: what its supplier wants back. */
  | { readonly kind: 'seal'; readonly data: string }
  /** A whole thought that is kept from everybody. */
  | { readonly kind: 'hidden'; readonly data: string }
  /** What follows is another text, or another thought, than what came before. */
  | { readonly kind: 'break' }
  /** A call begins. Its place tells it from others that are under way; they may come mixed. */
  | { readonly kind: 'call'; readonly place: number; readonly id: string; readonly name: string }
  /** More of the JSON text of a call's input. */
  | { readonly kind: 'input'; readonly place: number; readonly text: string }
  /** Told once; usage may follow, and nothing else. */
  | { readonly kind: 'finish'; readonly finish: Finish }

// What a call consumed and what a unit of it costs. Missing is missing: an absent figure is undefined
// and never silently zero.
import type { PicoUsd } from './money.ts'

export interface Usage {
  /** All input tokens, cached ones included. */
  readonly inputTokens: number
  /** The part of the input that a cache answered. */
  readonly cachedTokens: number
  /** The part of the input that was written to a cache. */
  readonly cacheWriteTokens: number
  /** All output tokens, reasoning included. */
  readonly outputTokens: number
  /** The part of the output that was reasoning. */
  readonly reasoningTokens: number
}

/** Pico-dollars a token. A rate that is absent equals its plain neighbour (input or output). */
export interface Rates {
  readonly input: PicoUsd
  readonly cachedInput?: PicoUsd
  readonly cacheWrite?: PicoUsd
  readonly output: PicoUsd
}

export interface Price extends Rates {
  /** Rates for the whole call once its input is longer than `above` tokens. */
  readonly longContext?: { readonly above: number; readonly rates: Rates }
}

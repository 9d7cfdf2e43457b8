// What a call consumed and what a unit of it costs. Missing is missing: an absent figure is undefined
// and never silently zero.
import type { PicoUsd } from './money.ts'

/** What is counted in something else than tokens: whole numbers, and nothing where there is none. */
export interface Units {
  /** Searches, or units of reranking. */
  readonly searches?: number
  /** Characters of text that is spoken. */
  readonly characters?: number
  /** Seconds of audio that is heard; one that has begun counts. */
  readonly seconds?: number
}

export interface Usage {
  /** All input tokens, cached ones and audio included. */
  readonly inputTokens: number
  /** The part of the input that a cache answered. */
  readonly cachedTokens: number
  /** The part of the input that was written to a cache. */
  readonly cacheWriteTokens: number
  /** The part of what was written to a cache that is kept there for an hour. */
  readonly cacheWriteLongTokens: number
  /** The part of the input that was audio and that no cache answered. */
  readonly audioInputTokens: number
  /** All output tokens, reasoning and audio included. */
  readonly outputTokens: number
  /** The part of the output that was reasoning. */
  readonly reasoningTokens: number
  /** The part of the output that was audio. */
  readonly audioOutputTokens: number
  readonly units?: Units | undefined
}

/** Of what is not counted in tokens, to be added to. */
export const NO_TOKENS: Usage = {
  inputTokens: 0,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  cacheWriteLongTokens: 0,
  audioInputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  audioOutputTokens: 0,
}

/**
 * Pico-dollars a unit: a token where nothing else is said. A rate that is absent equals its plain
 * neighbour (input or output; for writes of an hour that of other writes); the last three have none, and a
 * model without them does not count them.
 */
export interface Rates {
  readonly input: PicoUsd
  readonly cachedInput?: PicoUsd
  readonly cacheWrite?: PicoUsd
  readonly cacheWriteLong?: PicoUsd
  readonly audioInput?: PicoUsd
  readonly output: PicoUsd
  readonly reasoning?: PicoUsd
  readonly audioOutput?: PicoUsd
  /** One search, or one unit of reranking. */
  readonly search?: PicoUsd
  /** One character of text that is spoken. */
  readonly character?: PicoUsd
  /** One second of audio that is heard. */
  readonly second?: PicoUsd
}

export interface Price extends Rates {
  /** Rates for the whole call once its input is longer than `above` tokens. */
  readonly longContext?: { readonly above: number; readonly rates: Rates }
}

/** A price and the moment from which it holds. */
export interface DatedPrice {
  readonly from: number
  readonly price: Price
}

/** Oldest first; the first holds since ever. */
export type PriceList = readonly [DatedPrice, ...DatedPrice[]]

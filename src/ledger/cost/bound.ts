// The most that a call can cost, from the size of its body and the limits of whoever may answer: never less
// than any usage within them costs. One is made for every call, so it is plain arithmetic.
import type { Load, ModelLimits, TokenizerName } from '../../core/load.ts'
import { PICO_A_NANO, toNanoUsd, type NanoUsd } from '../../core/money.ts'
import type { Price, Rates } from '../../core/usage.ts'
import { unitCost } from './price.ts'

/** One for each attempt, in their order. */
export interface BoundTerms {
  readonly price: Price
  readonly limits: ModelLimits | undefined
  /** It cannot be told to put out less. */
  readonly refusesLimit?: boolean
}

/** What is set aside for a call, and what has to be sent so that it stays enough. */
export interface Fit {
  readonly amount: NanoUsd
  /**
   * Most output tokens of each choice, whoever answers; undefined where what the caller sent, or nothing, will do.
   * What each attempt is sent is up to `Bound.maxTokensAt`.
   */
  readonly maxTokens: number | undefined
  /** Most output tokens of all choices, whoever answers; `ENDLESS_TOKENS` where nothing bounds them. */
  readonly outputTokens: number
}

/** Tokens of the text by the vocabulary of whoever reads it. */
export type CountOf = (tokenizer: TokenizerName | undefined) => number

export const ENDLESS_TOKENS: number = Number.MAX_SAFE_INTEGER

/** A call that would get less than this for its answer is refused rather than cut short. */
export const LEAST_TOKENS = 1024

/** What a message takes beside its text: its role and the marks around it. */
const MESSAGE_TOKENS = 16
/** More than any maker says that an image counts for. */
const IMAGE_TOKENS = 50_000
/** The lowest bit-rate that speech survives, and the most tokens that a maker counts for a second. */
const AUDIO_BYTES_A_SECOND = 1000
const AUDIO_TOKENS_A_SECOND = 32
/** Sent where nobody knows what a model can put out: more than this is refused by too many. */
const UNKNOWN_MOST_TOKENS = 32_768
/** One call takes a quarter of what is left for its output, since others may come. */
const SHARES = 4
const TEXT_BYTES_A_TOKEN = 4

/** What one attempt can come to. Infinite is unknown. */
interface Extent {
  readonly input: number
  /** What it reads is elsewhere and no window bounds it: `input` is only what is in the body. */
  readonly isOpen: boolean
  readonly window: number
  /** Output tokens of one choice. */
  readonly most: number
  /** What the input is likely to leave of the window for a maximum of ours. */
  readonly room: number
  readonly refusesLimit: boolean
  /** Nano-dollars of what is not counted in tokens. */
  readonly unitsAmount: number
  /** Pico-dollars a token: the dearest that this call can incur. */
  readonly inputRate: number
  readonly outputRate: number
}

export class Bound {
  /** Upper bound of the input tokens; of what is in the body where nothing bounds the rest. */
  readonly inputTokens: number
  readonly #load: Load
  readonly #extents: readonly Extent[]
  /** Output tokens of one choice, wherever most. */
  readonly #most: number
  /** For a maximum of ours, wherever most. */
  readonly #room: number
  readonly #isOpen: boolean
  /** Somebody who may be asked cannot be told to put out less. */
  readonly #isFixed: boolean

  /** `countOf`: where somebody has counted the text. */
  constructor(load: Load, terms: readonly BoundTerms[], countOf?: CountOf) {
    const bytes = textBytes(load)
    const extents: Extent[] = []
    let input = 0
    let most = 0
    let room = 0
    let isOpen = false
    let isFixed = false
    for (const each of terms) {
      const text = countOf === undefined ? bytes : countOf(each.limits?.tokenizer)
      const likely = countOf === undefined ? Math.ceil(bytes / TEXT_BYTES_A_TOKEN) : text
      const extent = toExtent(each, load, text, likely)
      extents.push(extent)
      input = Math.max(input, extent.input)
      most = Math.max(most, extent.most)
      room = Math.max(room, extent.room)
      isOpen ||= extent.isOpen
      isFixed ||= extent.refusesLimit
    }
    this.inputTokens = input
    this.#load = load
    this.#extents = extents
    this.#most = most
    this.#room = room
    this.#isOpen = isOpen
    this.#isFixed = isFixed
  }

  /** The whole worst case: what a key without a budget holds. Undefined where nothing bounds it. */
  whole(): Fit | undefined {
    const amount = this.#isOpen ? Infinity : this.#amountAt(this.#most)
    return amount === Infinity ? undefined : this.#toFit(this.#most, amount)
  }

  /**
   * What `rest` can pay; undefined where that is not even the least. `isShared`: other calls of the key run.
   * `mayCut`: the output may be cut to what there is, if everybody can be told to.
   */
  fit(rest: number, isShared: boolean, mayCut: boolean): Fit | undefined {
    if (this.#isOpen) return undefined
    const fits = mayCut && !this.#isFixed
    const whole = this.#amountAt(this.#most)
    // Who names no maximum needs none, and must not keep the whole rest from the next call.
    const isModest = isShared || this.#load.maxTokens === undefined
    if (whole <= rest && !(fits && isModest)) return this.#toFit(this.#most, whole)
    if (!fits) return undefined
    const affordable = this.#affordable(rest)
    if (whole <= rest && affordable >= this.#most) return this.#toFit(this.#most, whole)
    const least = Math.min(this.#most, LEAST_TOKENS + this.#load.thinkingTokens)
    const maxTokens = Math.max(least, Math.min(affordable, this.#room))
    const amount = this.#amountAt(maxTokens)
    return amount <= rest ? this.#toFit(maxTokens, amount) : undefined
  }

  /** The worst case of one attempt with so many output tokens in all; the largest amount where nothing bounds it. */
  costAt(index: number, outputTokens: number): NanoUsd {
    const extent = this.#extentAt(index)
    const { choices, predictedBytes } = this.#load
    const maxTokens = Math.ceil(Math.max(0, outputTokens - predictedBytes) / choices)
    const amount = extent.isOpen ? Infinity : amountOf(extent, this.#load, maxTokens)
    return toNanoUsd(Math.min(amount, Number.MAX_SAFE_INTEGER))
  }

  /** Upper bound of the input tokens of one attempt; of what is in the body where nothing bounds the rest. */
  inputTokensAt(index: number): number {
    return this.#extentAt(index).input
  }

  /**
   * Output tokens of each choice that one attempt is sent in place of the caller's maximum, never more than are held
   * for there; undefined where what the caller sent, or nothing, will do.
   */
  maxTokensAt(index: number, { maxTokens }: Fit): number | undefined {
    const { maxTokens: asked } = this.#load
    const { most, room, refusesLimit } = this.#extentAt(index)
    if (refusesLimit) return undefined
    if (asked !== undefined) {
      const each = Math.min(maxTokens ?? asked, most)
      return each < asked ? each : undefined
    }
    // The model ends by itself before.
    if (maxTokens === undefined || maxTokens >= most) return undefined
    return Math.min(maxTokens, Math.max(room, LEAST_TOKENS))
  }

  /** The same for a language that demands a maximum: never undefined. */
  demandedMaxAt(index: number, fit: Fit): number {
    const { most, room } = this.#extentAt(index)
    const { maxTokens: asked } = this.#load
    const limit = most === Infinity ? UNKNOWN_MOST_TOKENS : most
    return this.maxTokensAt(index, fit) ?? asked ?? Math.min(limit, Math.max(room, LEAST_TOKENS))
  }

  /** Most output tokens of all choices of one attempt; `ENDLESS_TOKENS` where nothing bounds them. */
  outputTokensAt(index: number, fit: Fit): number {
    const { choices, predictedBytes } = this.#load
    const each = this.maxTokensAt(index, fit) ?? this.#extentAt(index).most
    return Math.min(choices * each + predictedBytes, ENDLESS_TOKENS)
  }

  #extentAt(index: number): Extent {
    const extent = this.#extents[index]
    if (extent === undefined) throw new RangeError('no such attempt')
    return extent
  }

  /** Over all attempts; infinite where nothing bounds it. */
  #amountAt(maxTokens: number): number {
    let amount = 0
    for (const extent of this.#extents)
      amount = Math.max(amount, amountOf(extent, this.#load, maxTokens))
    return amount
  }

  /** Output tokens of a choice that a share of the rest pays at every attempt; infinite where it pays all. */
  #affordable(rest: number): number {
    let tokens = Infinity
    for (const extent of this.#extents)
      tokens = Math.min(tokens, affordableAt(extent, this.#load, rest))
    return tokens
  }

  #toFit(maxTokens: number, amount: number): Fit {
    const { maxTokens: asked, choices, predictedBytes } = this.#load
    const isWhole = maxTokens >= this.#most
    const each = isWhole ? this.#most : maxTokens
    const isAsked = asked === undefined || asked <= this.#most
    return {
      amount: toNanoUsd(amount),
      maxTokens: isWhole && isAsked ? undefined : each,
      outputTokens: Math.min(choices * each + predictedBytes, ENDLESS_TOKENS),
    }
  }
}

/** Without what only looks like text: images, audio and tokens. */
export function textBytes({ bytes, inline }: Load): number {
  let text = bytes
  for (const { from, to } of inline) text -= to - from
  return text
}

/** Of what stands in the body and is no text, without images. */
function untextedTokens(load: Load): number {
  return (load.tokens ?? 0) + audioTokens(load)
}

function audioTokens({ audioBytes, units }: Load): number {
  if (units?.seconds !== undefined) return units.seconds * AUDIO_TOKENS_A_SECOND
  return Math.ceil((audioBytes * AUDIO_TOKENS_A_SECOND) / AUDIO_BYTES_A_SECOND)
}

/** `text`: the most tokens that it can be, and as a guess `likely`. */
function toExtent(terms: BoundTerms, load: Load, text: number, likely: number): Extent {
  const { price, limits } = terms
  const window = limits?.contextWindow ?? Infinity
  const read = text + MESSAGE_TOKENS * load.messages + untextedTokens(load)
  const inside = Math.min(read + load.images * (limits?.imageTokens ?? IMAGE_TOKENS), window)
  const reach = load.elsewhere === undefined ? inside : window
  const long = price.longContext
  const rates = long !== undefined && reach > long.above ? long.rates : price
  const inputRate = Math.max(inputRateOf(price, load), inputRateOf(rates, load))
  return {
    input: reach === Infinity ? inside : reach,
    isOpen: reach === Infinity && inputRate > 0,
    window,
    most: mostOf(load, limits?.outputCeiling ?? window, window),
    room: roomOf(load, window, likely),
    refusesLimit: terms.refusesLimit === true,
    unitsAmount: Math.ceil(unitCost(load.units, rates) / PICO_A_NANO),
    inputRate,
    outputRate: Math.max(outputRateOf(price, load), outputRateOf(rates, load)),
  }
}

/** Where the caller named no maximum, ours must leave room for the input: some suppliers add up the two. */
function roomOf({ maxTokens }: Load, window: number, likely: number): number {
  return maxTokens === undefined ? window - likely : Infinity
}

function mostOf(load: Load, ceiling: number, window: number): number {
  const most = Math.min(load.maxTokens ?? Infinity, ceiling, window)
  // No supplier puts out so much, and past this nothing could be added up.
  return load.choices * most + load.predictedBytes <= Number.MAX_SAFE_INTEGER ? most : Infinity
}

/**
 * Writing to a cache counts whether it was asked for or not: some makers do it unasked and bill it (seen in
 * usage of chat completions, BerriAI/litellm #37628, 2026). For an hour nobody is known to do it
 * unasked. What is elsewhere may be audio.
 */
function inputRateOf(rates: Rates, load: Load): number {
  const { input, cachedInput = 0, cacheWrite = 0, cacheWriteLong = 0, audioInput = 0 } = rates
  const plain = Math.max(input, cachedInput, cacheWrite, load.writesLong ? cacheWriteLong : 0)
  const hasAudio = load.audioBytes > 0 || load.elsewhere !== undefined
  return hasAudio ? Math.max(plain, audioInput) : plain
}

function outputRateOf({ output, reasoning, audioOutput }: Rates, { asksAudio }: Load): number {
  const plain = Math.max(output, reasoning ?? 0)
  return asksAudio ? Math.max(plain, audioOutput ?? 0) : plain
}

/**
 * Input and output share the window. Where they fill it, more of the one is less of the other at a constant
 * gain or loss, so the worst is at an end: all of the input, or all of the output.
 */
function amountOf(extent: Extent, load: Load, maxTokens: number): number {
  const { input, window, inputRate, outputRate, unitsAmount } = extent
  const { choices, predictedBytes } = load
  const each = Math.min(maxTokens, extent.most)
  const output = choices * each + predictedBytes
  if (window === Infinity || input + each <= window)
    return charge(input, inputRate, output, outputRate) + unitsAmount
  const beside = choices * (window - input) + predictedBytes
  const most = Math.max(
    charge(window - each, inputRate, output, outputRate),
    charge(input, inputRate, beside, outputRate),
  )
  return most + unitsAmount
}

function affordableAt(extent: Extent, load: Load, rest: number): number {
  const { input, inputRate, outputRate, most, unitsAmount } = extent
  const { choices, predictedBytes } = load
  if (outputRate === 0) return Infinity
  const share = Math.floor((rest - unitsAmount - charge(input, inputRate, 0, 0)) / SHARES)
  const limit = most === Infinity ? UNKNOWN_MOST_TOKENS : most
  if (charge(0, 0, choices * limit + predictedBytes, outputRate) <= share)
    return most === Infinity ? limit : Infinity
  const pico = share * PICO_A_NANO
  const foretold = predictedBytes * outputRate
  if (pico + foretold <= Number.MAX_SAFE_INTEGER)
    return Math.floor((pico - foretold) / (choices * outputRate))
  const left = BigInt(share) * BigInt(PICO_A_NANO) - product(predictedBytes, outputRate)
  return Number(left / product(choices, outputRate))
}

/** Nano-dollars, rounded once and up; infinite where the tokens are, and past what a number can hold. */
function charge(input: number, inputRate: number, output: number, outputRate: number): number {
  // Nothing times infinity is no number.
  const inputPico = inputRate === 0 ? 0 : input * inputRate
  const outputPico = outputRate === 0 ? 0 : output * outputRate
  const pico = inputPico + outputPico
  if (pico <= Number.MAX_SAFE_INTEGER) return Math.ceil(pico / PICO_A_NANO)
  if (pico === Infinity) return Infinity
  const exact = product(input, inputRate) + product(output, outputRate)
  const nano = Number((exact + BigInt(PICO_A_NANO - 1)) / BigInt(PICO_A_NANO))
  return nano <= Number.MAX_SAFE_INTEGER ? nano : Infinity
}

function product(tokens: number, rate: number): bigint {
  return rate === 0 ? 0n : BigInt(tokens) * BigInt(rate)
}

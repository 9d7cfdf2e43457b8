// What a call costs: whole units times whole prices, one rounding at the end, upward.
import {
  PICO_A_NANO,
  toNanoUsd,
  toPicoUsd,
  ZERO_USD,
  type NanoUsd,
  type PicoUsd,
} from '../../core/money.ts'
import type { Price, PriceList, Rates, Units, Usage } from '../../core/usage.ts'

/**
 * Of what a supplier reports beyond a call's hold no more than this is booked, a million dollars: nobody has such
 * a bill to pay. Whoever checks a cost against its tokens must know of it.
 */
export const OVERRUN_MAX = 1_000_000_000_000_000

/** Nine million dollars: no sum is told beyond it, so that no usage and no price can break one. */
const MOST_USD: NanoUsd = toNanoUsd(Number.MAX_SAFE_INTEGER)

const NOTHING: PicoUsd = toPicoUsd(0)

/** The price that holds at a moment. */
export function priceAt(prices: PriceList, at: number): Price {
  let { price } = prices[0]
  for (const dated of prices) if (dated.from <= at) ({ price } = dated)
  return price
}

/** Never throws, whatever a supplier tells: a cost past the exact range is the last of it. */
export function costOf(usage: Usage | undefined, price: Price): NanoUsd {
  if (usage === undefined) return ZERO_USD
  const rates = ratesFor(usage, price)
  const { input, output, cacheWrite: write = input } = rates
  const pico =
    plainInput(usage) * input +
    usage.cachedTokens * (rates.cachedInput ?? input) +
    shortWrites(usage) * write +
    usage.cacheWriteLongTokens * (rates.cacheWriteLong ?? write) +
    usage.audioInputTokens * (rates.audioInput ?? input) +
    plainOutput(usage) * output +
    usage.reasoningTokens * (rates.reasoning ?? output) +
    usage.audioOutputTokens * (rates.audioOutput ?? output) +
    unitCost(usage.units, rates)
  if (!Number.isSafeInteger(pico))
    return pico < MOST_USD * PICO_A_NANO ? exactCost(usage, rates) : MOST_USD
  return toNanoUsd(Math.ceil(pico / PICO_A_NANO))
}

/** Pico-dollars of what is counted in something else than tokens. */
export function unitCost(units: Units | undefined, rates: Rates): number {
  if (units === undefined) return 0
  const { searches = 0, characters = 0, seconds = 0 } = units
  const { search = 0, character = 0, second = 0 } = rates
  return searches * search + characters * character + seconds * second
}

/** What is left of the input when its special parts are taken out. */
function plainInput({
  inputTokens,
  cachedTokens,
  cacheWriteTokens,
  audioInputTokens,
}: Usage): number {
  return Math.max(0, inputTokens - cachedTokens - cacheWriteTokens - audioInputTokens)
}

/** What was written to a cache for less than an hour. */
function shortWrites({ cacheWriteTokens, cacheWriteLongTokens }: Usage): number {
  return Math.max(0, cacheWriteTokens - cacheWriteLongTokens)
}

function plainOutput({ outputTokens, reasoningTokens, audioOutputTokens }: Usage): number {
  return Math.max(0, outputTokens - reasoningTokens - audioOutputTokens)
}

/** Those of a long input, where it is one. */
export function ratesFor(usage: Usage, price: Price): Rates {
  const long = price.longContext
  return long !== undefined && usage.inputTokens > long.above ? long.rates : price
}

function unitParts(
  { searches = 0, characters = 0, seconds = 0 }: Units,
  { search = NOTHING, character = NOTHING, second = NOTHING }: Rates,
): readonly (readonly [number, PicoUsd])[] {
  return [
    [searches, search],
    [characters, character],
    [seconds, second],
  ]
}

/** A sum past nine thousand dollars leaves the exact range of a number; whole integers do not. */
function exactCost(usage: Usage, rates: Rates): NanoUsd {
  const { input, output, cacheWrite: write = input } = rates
  const parts: readonly (readonly [number, PicoUsd])[] = [
    [plainInput(usage), input],
    [usage.cachedTokens, rates.cachedInput ?? input],
    [shortWrites(usage), write],
    [usage.cacheWriteLongTokens, rates.cacheWriteLong ?? write],
    [usage.audioInputTokens, rates.audioInput ?? input],
    [plainOutput(usage), output],
    [usage.reasoningTokens, rates.reasoning ?? output],
    [usage.audioOutputTokens, rates.audioOutput ?? output],
    ...unitParts(usage.units ?? {}, rates),
  ]
  const pico = parts.reduce(
    (sum, [units, rate]) => sum + BigInt(Math.ceil(units)) * BigInt(rate),
    0n,
  )
  const nano = (pico + BigInt(PICO_A_NANO - 1)) / BigInt(PICO_A_NANO)
  return toNanoUsd(Math.min(Number(nano), MOST_USD))
}

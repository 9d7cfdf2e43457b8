// What a call costs: whole units times whole prices, one rounding at the end, upward.
import { toNanoUsd, ZERO_USD, type NanoUsd, type PicoUsd } from '../core/money.ts'
import type { Price, PriceList, Rates, Usage } from '../core/usage.ts'

const PICO_A_NANO = 1000

/** The price that holds at a moment. */
export function priceAt(prices: PriceList, at: number): Price {
  let { price } = prices[0]
  for (const dated of prices) if (dated.from <= at) ({ price } = dated)
  return price
}

export function costOf(usage: Usage | undefined, price: Price): NanoUsd {
  if (usage === undefined) return ZERO_USD
  const rates = ratesFor(usage, price)
  const { input, output } = rates
  const pico =
    plainInput(usage) * input +
    usage.cachedTokens * (rates.cachedInput ?? input) +
    usage.cacheWriteTokens * (rates.cacheWrite ?? input) +
    usage.audioInputTokens * (rates.audioInput ?? input) +
    plainOutput(usage) * output +
    usage.reasoningTokens * (rates.reasoning ?? output) +
    usage.audioOutputTokens * (rates.audioOutput ?? output)
  if (!Number.isSafeInteger(pico)) return exactCost(usage, rates)
  return toNanoUsd(Math.ceil(pico / PICO_A_NANO))
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

function plainOutput({ outputTokens, reasoningTokens, audioOutputTokens }: Usage): number {
  return Math.max(0, outputTokens - reasoningTokens - audioOutputTokens)
}

function ratesFor(usage: Usage, price: Price): Rates {
  const long = price.longContext
  return long !== undefined && usage.inputTokens > long.above ? long.rates : price
}

/**
 * A sum past nine thousand dollars leaves the exact range of a number; whole integers do not. What comes out
 * always fits: the counts that are believed and the highest rate of a file stay below nine million dollars.
 */
function exactCost(usage: Usage, rates: Rates): NanoUsd {
  const { input, output } = rates
  const parts: readonly (readonly [number, PicoUsd])[] = [
    [plainInput(usage), input],
    [usage.cachedTokens, rates.cachedInput ?? input],
    [usage.cacheWriteTokens, rates.cacheWrite ?? input],
    [usage.audioInputTokens, rates.audioInput ?? input],
    [plainOutput(usage), output],
    [usage.reasoningTokens, rates.reasoning ?? output],
    [usage.audioOutputTokens, rates.audioOutput ?? output],
  ]
  const pico = parts.reduce((sum, [units, rate]) => sum + BigInt(units) * BigInt(rate), 0n)
  const nano = (pico + BigInt(PICO_A_NANO - 1)) / BigInt(PICO_A_NANO)
  return toNanoUsd(Number(nano))
}

// What a call costs: whole units times whole prices, one rounding at the end, upward.
import { toNanoUsd, ZERO_USD, type NanoUsd } from '../core/money.ts'
import type { Price, Rates, Usage } from '../core/usage.ts'

const PICO_A_NANO = 1000

export function costOf(usage: Usage | undefined, price: Price): NanoUsd {
  if (usage === undefined) return ZERO_USD
  const rates = ratesFor(usage, price)
  const plain = Math.max(0, usage.inputTokens - usage.cachedTokens - usage.cacheWriteTokens)
  const pico =
    plain * rates.input +
    usage.cachedTokens * (rates.cachedInput ?? rates.input) +
    usage.cacheWriteTokens * (rates.cacheWrite ?? rates.input) +
    usage.outputTokens * rates.output
  if (!Number.isSafeInteger(pico)) return exactCost(usage, rates)
  return toNanoUsd(Math.ceil(pico / PICO_A_NANO))
}

function ratesFor(usage: Usage, price: Price): Rates {
  const long = price.longContext
  return long !== undefined && usage.inputTokens > long.above ? long.rates : price
}

/** A sum past nine thousand dollars leaves the exact range of a number; whole integers do not. */
function exactCost(usage: Usage, rates: Rates): NanoUsd {
  const plain = Math.max(0, usage.inputTokens - usage.cachedTokens - usage.cacheWriteTokens)
  const pico =
    BigInt(plain) * BigInt(rates.input) +
    BigInt(usage.cachedTokens) * BigInt(rates.cachedInput ?? rates.input) +
    BigInt(usage.cacheWriteTokens) * BigInt(rates.cacheWrite ?? rates.input) +
    BigInt(usage.outputTokens) * BigInt(rates.output)
  const nano = (pico + BigInt(PICO_A_NANO - 1)) / BigInt(PICO_A_NANO)
  return toNanoUsd(Number(nano))
}

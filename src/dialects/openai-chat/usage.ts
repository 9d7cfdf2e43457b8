// Usage as chat suppliers report it. A figure that is no whole number of tokens is treated as not told:
// money is never computed from nonsense.
import type { Usage } from '../../core/usage.ts'
import { asFields, type Fields } from './json.ts'

export function readUsage(value: unknown): Usage | undefined {
  const usage = asFields(value)
  if (usage === undefined) return undefined
  const input = asCount(usage['prompt_tokens'])
  const output = asCount(usage['completion_tokens'])
  if (input === undefined || output === undefined) return undefined
  const inputDetails = asFields(usage['prompt_tokens_details'])
  const outputDetails = asFields(usage['completion_tokens_details'])
  // Two names for one figure, by who wrote the supplier's interface.
  const told =
    asCount(inputDetails?.['cached_tokens']) ?? asCount(usage['prompt_cache_hit_tokens']) ?? 0
  const cached = Math.min(told, input)
  const cacheWrite = Math.min(part(inputDetails, 'cache_write_tokens'), input - cached)
  const heard = Math.min(part(inputDetails, 'audio_tokens'), input - cached - cacheWrite)
  const reasoned = Math.min(part(outputDetails, 'reasoning_tokens'), output)
  const spoken = Math.min(part(outputDetails, 'audio_tokens'), output - reasoned)
  return {
    inputTokens: input,
    cachedTokens: cached,
    cacheWriteTokens: cacheWrite,
    audioInputTokens: heard,
    outputTokens: output,
    reasoningTokens: reasoned,
    audioOutputTokens: spoken,
  }
}

function part(details: Fields | undefined, name: string): number {
  return asCount(details?.[name]) ?? 0
}

/** More than any call can use, and little enough for every price to stay exact. */
const COUNT_MAX = 1_000_000_000

function asCount(value: unknown): number | undefined {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) return undefined
  return value >= 0 && value <= COUNT_MAX ? value : undefined
}

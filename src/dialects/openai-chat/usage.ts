// Usage as chat suppliers report it. A figure that is no whole number of tokens is treated as not told:
// money is never computed from nonsense.
import type { Usage } from '../../core/usage.ts'
import { asFields } from './json.ts'

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
  const written = asCount(inputDetails?.['cache_write_tokens']) ?? 0
  const reasoning = asCount(outputDetails?.['reasoning_tokens']) ?? 0
  return {
    inputTokens: input,
    cachedTokens: cached,
    cacheWriteTokens: Math.min(written, input - cached),
    outputTokens: output,
    reasoningTokens: Math.min(reasoning, output),
  }
}

/** More than any call can use, and little enough for every price to stay exact. */
const COUNT_MAX = 1_000_000_000

function asCount(value: unknown): number | undefined {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) return undefined
  return value >= 0 && value <= COUNT_MAX ? value : undefined
}

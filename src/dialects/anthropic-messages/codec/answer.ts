// What whole answers and streams have in common: why they stop, and what was used.
import type { Finish } from '../../../core/chat.ts'
import type { Usage } from '../../../core/usage.ts'

const STOP_REASONS: Readonly<Record<Finish['reason'], string>> = {
  end: 'end_turn',
  stop: 'stop_sequence',
  length: 'max_tokens',
  window: 'model_context_window_exceeded',
  tools: 'tool_use',
  refusal: 'refusal',
  pause: 'pause_turn',
}
const REASONS: ReadonlyMap<unknown, Finish['reason']> = new Map([
  ['end_turn', 'end'],
  ['stop_sequence', 'stop'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'window'],
  ['tool_use', 'tools'],
  ['refusal', 'refusal'],
  ['pause_turn', 'pause'],
])

/** Some say that they are done when they wait for the results of their calls. */
export function readFinish(stopReason: unknown, stopSequence: unknown, hasCalls: boolean): Finish {
  const reason = REASONS.get(stopReason) ?? 'end'
  return {
    reason: reason === 'end' && hasCalls ? 'tools' : reason,
    raw: typeof stopReason === 'string' ? stopReason : undefined,
    ...(typeof stopSequence === 'string' ? { stopText: stopSequence } : {}),
  }
}

/** Members of an object. */
export function printFinish({ reason, stopText }: Finish): string {
  const stopSequence = reason === 'stop' && stopText !== undefined ? stopText : null
  return `"stop_reason":"${STOP_REASONS[reason]}","stop_sequence":${JSON.stringify(stopSequence)}`
}

/** The input is told in three parts here, which add up. */
export function printUsage(usage: Usage): string {
  const { inputTokens, cachedTokens, cacheWriteTokens, outputTokens, reasoningTokens } = usage
  return JSON.stringify({
    input_tokens: Math.max(0, inputTokens - cachedTokens - cacheWriteTokens),
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cachedTokens,
    output_tokens: outputTokens,
    ...(reasoningTokens > 0 ? { output_tokens_details: { thinking_tokens: reasoningTokens } } : {}),
  })
}

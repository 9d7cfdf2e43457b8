// Usage as chat suppliers report it. Suppliers disagree on what their figures include, and the rule is that
// never less is counted than they say in total. What cannot be read is said to be so, and is never zero.
import type { Usage } from '../../core/usage.ts'
import { Told } from '../figures.ts'
import { asFields, isBlank, parseJson, type Fields } from '../json.ts'

export interface UsageReading {
  readonly usage: Usage | undefined
  /** Something was told that is no whole number of tokens. */
  readonly isUnread: boolean
}

export const NO_USAGE: UsageReading = { usage: undefined, isUnread: false }
const UNREAD: UsageReading = { usage: undefined, isUnread: true }

/** A usage is a few hundred bytes; making values of millions would keep the process busy. */
export const USAGE_BYTES_MAX = 65_536

/** Reads the usage whose text stands between two offsets. */
export function readUsageText(bytes: Uint8Array, from: number, to: number): UsageReading {
  return to - from > USAGE_BYTES_MAX ? UNREAD : readUsage(parseJson(bytes.subarray(from, to)))
}

export function readUsage(value: unknown): UsageReading {
  if (isBlank(value)) return NO_USAGE
  const fields = asFields(value)
  if (fields === undefined) return UNREAD
  const told = new Told()
  const input = told.count(fields, 'prompt_tokens', 'input_tokens')
  const output = told.count(fields, 'completion_tokens', 'output_tokens')
  if (input === undefined || output === undefined) return UNREAD
  const inputDetails = details(fields, 'prompt_tokens_details', 'input_tokens_details')
  const outputDetails = details(fields, 'completion_tokens_details', 'output_tokens_details')
  const figures: Figures = {
    input,
    output,
    total: told.count(fields, 'total_tokens'),
    cached:
      told.count(inputDetails, 'cached_tokens') ??
      told.count(fields, 'prompt_cache_hit_tokens') ??
      0,
    cacheWrite: told.count(inputDetails, 'cache_write_tokens') ?? 0,
    heard: told.count(inputDetails, 'audio_tokens') ?? 0,
    reasoned: told.count(outputDetails, 'reasoning_tokens') ?? 0,
    spoken: told.count(outputDetails, 'audio_tokens') ?? 0,
  }
  return { usage: toUsage(figures), isUnread: told.isUnread }
}

/** What was told of one answer at two times: each figure only ever grows, and its parts stay within it. */
export function largerUsage(one: Usage, other: Usage): Usage {
  const most = (name: Exclude<keyof Usage, 'units'>): number => Math.max(one[name], other[name])
  const input = most('inputTokens')
  const output = most('outputTokens')
  const cached = most('cachedTokens')
  const cacheWrite = Math.min(most('cacheWriteTokens'), input - cached)
  const reasoning = Math.min(most('reasoningTokens'), output)
  return {
    inputTokens: input,
    cachedTokens: cached,
    cacheWriteTokens: cacheWrite,
    cacheWriteLongTokens: Math.min(most('cacheWriteLongTokens'), cacheWrite),
    audioInputTokens: Math.min(most('audioInputTokens'), input - cached - cacheWrite),
    outputTokens: output,
    reasoningTokens: reasoning,
    audioOutputTokens: Math.min(most('audioOutputTokens'), output - reasoning),
  }
}

/** What a supplier says, in its own understanding of what includes what. */
interface Figures {
  readonly input: number
  readonly output: number
  readonly total: number | undefined
  readonly cached: number
  readonly cacheWrite: number
  readonly heard: number
  readonly reasoned: number
  readonly spoken: number
}

function toUsage(figures: Figures): Usage {
  const input = wholeInput(figures)
  const output = wholeOutput(figures, input)
  const cached = Math.min(figures.cached, input)
  const cacheWrite = Math.min(figures.cacheWrite, input - cached)
  return {
    inputTokens: input,
    cachedTokens: cached,
    cacheWriteTokens: cacheWrite,
    // This language does not tell for how long.
    cacheWriteLongTokens: 0,
    // What was heard may have been cached too, and counts once.
    audioInputTokens: Math.min(figures.heard, input - cached - cacheWrite),
    outputTokens: output,
    reasoningTokens: figures.reasoned,
    audioOutputTokens: figures.spoken,
  }
}

/** Cached tokens stand beside the input where they do not fit into it, or where the total counts both. */
function wholeInput(figures: Figures): number {
  const { input, output, total, heard, reasoned } = figures
  const beside = figures.cached + figures.cacheWrite
  const unexplained = total === undefined ? undefined : total - input - output
  const isCounted = unexplained === beside || unexplained === beside + reasoned
  // A total of the plain sum, or of that and the reasoning, says that the cached ones are inside.
  const isDenied = unexplained === 0 || unexplained === reasoned
  const isBeside = !isDenied && (isCounted || beside > input)
  return Math.max(isBeside ? input + beside : input, heard)
}

/**
 * Reasoning stands beside the output where it does not fit into it, or where the total counts both (seen in
 * vercel/ai #12425, 2026-02). Whatever else a total has beyond its parts was put out too: some suppliers
 * count their reasoning nowhere else (seen in vercel/ai #6738, 2025-06).
 */
function wholeOutput({ output, total = 0, reasoned, spoken }: Figures, input: number): number {
  const whole = reasoned > output ? output + reasoned : output
  return Math.max(whole, reasoned + spoken, total - input)
}

function details(usage: Fields, name: string, otherName: string): Fields | undefined {
  return asFields(usage[name]) ?? asFields(usage[otherName])
}

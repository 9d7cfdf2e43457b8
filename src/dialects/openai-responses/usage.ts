// Usage as suppliers of responses report it: what a cache answered and what was written to one are parts of the
// input, reasoning is a part of the output. Never less is counted than they say in total, and what cannot be read
// is said to be so, and is never zero.
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

/** By the names of chats, too: some who speak both languages have one way to tell it. */
export function readUsage(value: unknown): UsageReading {
  if (isBlank(value)) return NO_USAGE
  const fields = asFields(value)
  if (fields === undefined) return UNREAD
  const told = new Told()
  const input = told.count(fields, 'input_tokens', 'prompt_tokens')
  const output = told.count(fields, 'output_tokens', 'completion_tokens')
  if (input === undefined || output === undefined) return UNREAD
  const read = asFields(fields['input_tokens_details'] ?? fields['prompt_tokens_details'])
  const put = asFields(fields['output_tokens_details'] ?? fields['completion_tokens_details'])
  const part = (details: Fields | undefined, name: string): number => told.count(details, name) ?? 0
  const figures: Figures = {
    input,
    cached: part(read, 'cached_tokens'),
    written: part(read, 'cache_write_tokens'),
    heard: part(read, 'audio_tokens'),
    output,
    reasoned: part(put, 'reasoning_tokens'),
    spoken: part(put, 'audio_tokens'),
    total: part(fields, 'total_tokens'),
  }
  return { usage: toUsage(figures), isUnread: told.isUnread }
}

/** What a supplier says. */
interface Figures {
  readonly input: number
  readonly cached: number
  readonly written: number
  readonly heard: number
  readonly output: number
  readonly reasoned: number
  readonly spoken: number
  readonly total: number
}

/** Parts that do not fit into their whole stand beside it. */
function toUsage({
  input,
  cached,
  written,
  heard,
  output,
  reasoned,
  spoken,
  total,
}: Figures): Usage {
  const all = cached + written > input ? input + cached + written : input
  const beside = reasoned > output ? output + reasoned : output
  return {
    inputTokens: all,
    cachedTokens: cached,
    cacheWriteTokens: written,
    // For how long has no price that is known.
    cacheWriteLongTokens: 0,
    // What was heard may have been cached too, and counts once.
    audioInputTokens: Math.min(heard, all - cached - written),
    outputTokens: Math.max(beside, reasoned + spoken, total - all),
    reasoningTokens: reasoned,
    audioOutputTokens: spoken,
  }
}

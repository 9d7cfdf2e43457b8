// Usage as suppliers of embeddings tell it: one figure, under one or two names. Embedding something takes at least one
// token, so that a zero is no figure.
import type { Load, Span } from '../../core/load.ts'
import type { Usage } from '../../core/usage.ts'
import { Told } from '../figures.ts'
import { asFields, isBlank, parseJson, type Fields } from '../json.ts'
import { USAGE_BYTES_MAX } from '../openai-chat/usage.ts'

export interface TokenReading {
  /** Undefined where none were told. */
  readonly tokens: number | undefined
  /** Something was told that is no whole number of tokens. */
  readonly isUnread: boolean
  /** It was told as callers expect it, by both names. */
  readonly isWhole: boolean
  readonly fields: Fields
}

export const UNTOLD: TokenReading = {
  tokens: undefined,
  isUnread: false,
  isWhole: false,
  fields: {},
}

/** Some tell the total alone (Voyage, typesense #2080, 2024-11); never less is counted than they say in total. */
export function readTokens(bytes: Uint8Array, { from, to }: Span): TokenReading {
  if (to - from > USAGE_BYTES_MAX) return { ...UNTOLD, isUnread: true }
  const value = parseJson(bytes.subarray(from, to))
  if (isBlank(value)) return UNTOLD
  const fields = asFields(value)
  if (fields === undefined) return { ...UNTOLD, isUnread: true }
  const told = new Told()
  const input = told.count(fields, 'prompt_tokens', 'input_tokens')
  const total = told.count(fields, 'total_tokens')
  const most = Math.max(input ?? 0, total ?? 0)
  return {
    tokens: most === 0 ? undefined : most,
    isUnread: told.isUnread,
    isWhole: most > 0 && fields['prompt_tokens'] === most && fields['total_tokens'] === most,
    fields,
  }
}

export function toUsage(tokens: number): Usage {
  return {
    inputTokens: tokens,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    cacheWriteLongTokens: 0,
    audioInputTokens: 0,
    outputTokens: 0,
    reasoningTokens: 0,
    audioOutputTokens: 0,
  }
}

const TOKEN_BYTES = 4
const MESSAGE_TOKENS = 4

/** What the books count where nothing was told: the caller is shown what it is charged for. */
export function likelyTokens({ bytes, inline, messages, tokens = 0 }: Load): number {
  const text = inline.reduce((rest, { from, to }) => rest - (to - from), bytes)
  return Math.ceil(text / TOKEN_BYTES) + MESSAGE_TOKENS * messages + tokens
}

/** As JSON, with the figure under both of its names. */
export function printUsage(fields: Fields, tokens: number): string {
  return JSON.stringify({ ...fields, prompt_tokens: tokens, total_tokens: tokens })
}

// What a call has used where its supplier did not say: it broke, or told no usage. A guess that is fair on
// the average; it is charged, flagged as estimated, and never above what was held.
import type { Load } from '../../core/load.ts'
import type { Usage } from '../../core/usage.ts'
import { textBytes } from './bound.ts'

/** More bytes than a token of any known vocabulary stands for, taken over a whole answer. */
export const TOKEN_BYTES_MOST = 16

const TOKEN_BYTES = 4
const MESSAGE_TOKENS = 4
const IMAGE_TOKENS = 800
/** Recordings have about 16 kB a second, and a second counts for 32 tokens at most. */
const AUDIO_TOKEN_BYTES = 500
/** Of the makers who count them, those who do not count 32 count about ten. */
const AUDIO_TOKENS_A_SECOND = 10

export function estimateUsage(load: Load, outputBytes: number, audioBytes = 0): Usage {
  const spoken = Math.ceil(audioBytes / AUDIO_TOKEN_BYTES)
  const { seconds } = load.units ?? {}
  const audio =
    seconds === undefined
      ? Math.ceil(load.audioBytes / AUDIO_TOKEN_BYTES)
      : seconds * AUDIO_TOKENS_A_SECOND
  const text = Math.ceil(textBytes(load) / TOKEN_BYTES) + (load.tokens ?? 0)
  return {
    inputTokens: text + MESSAGE_TOKENS * load.messages + IMAGE_TOKENS * load.images + audio,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    cacheWriteLongTokens: 0,
    audioInputTokens: audio,
    outputTokens: Math.ceil(outputBytes / TOKEN_BYTES) + spoken,
    reasoningTokens: 0,
    audioOutputTokens: spoken,
    ...(load.units !== undefined && { units: load.units }),
  }
}

/** More was put out than the limit allows, however it is counted: the supplier does not keep to it. */
export function isSpent(outputBytes: number, maxTokensAll: number): boolean {
  return outputBytes > maxTokensAll * TOKEN_BYTES_MOST
}

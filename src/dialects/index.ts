// The roster of dialects: one line for each folder beside this file.
import { anthropicMessages } from './anthropic-messages/index.ts'
import type { Dialect } from './dialect.ts'
import { nativeResponses } from './native-responses/index.ts'
import { openaiChat } from './openai-chat/index.ts'
import { openaiEmbeddings } from './openai-embeddings/index.ts'
import { openaiResponses } from './openai-responses/index.ts'
import { openaiSpeech } from './openai-speech/index.ts'
import { openaiTranscriptions } from './openai-transcriptions/index.ts'
import { rerank } from './rerank/index.ts'

export const dialects: readonly Dialect[] = [
  openaiChat,
  anthropicMessages,
  openaiResponses,
  nativeResponses,
  openaiEmbeddings,
  rerank,
  openaiTranscriptions,
  openaiSpeech,
]

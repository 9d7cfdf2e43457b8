// The roster of dialects: one line for each folder beside this file.
import type { Dialect } from './dialect.ts'
import { openaiChat } from './openai-chat/index.ts'

export const dialects: readonly Dialect[] = [openaiChat]

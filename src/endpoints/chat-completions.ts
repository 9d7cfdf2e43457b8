// Chat completions, unary and streamed.
import { openaiChat } from '../dialects/openai-chat/index.ts'
import type { InferenceEndpoint } from './endpoint.ts'

export const chatCompletions: InferenceEndpoint = {
  method: 'POST',
  path: '/v1/chat/completions',
  role: 'infer',
  dialect: openaiChat,
}

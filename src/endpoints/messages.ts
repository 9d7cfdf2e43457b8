// Messages, unary and streamed.
import { anthropicMessages } from '../dialects/anthropic-messages/index.ts'
import type { InferenceEndpoint } from './endpoint.ts'

export const messages: InferenceEndpoint = {
  method: 'POST',
  path: '/v1/messages',
  role: 'infer',
  dialect: anthropicMessages,
}

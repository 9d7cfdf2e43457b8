// How many tokens a request of messages would make a model read, told before it is made.
import { anthropicMessages } from '../dialects/anthropic-messages/index.ts'
import type { CountEndpoint } from './endpoint.ts'

export const countTokens: CountEndpoint = {
  method: 'POST',
  path: '/v1/messages/count_tokens',
  role: 'infer',
  counts: anthropicMessages,
}

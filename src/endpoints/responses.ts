// Responses, unary and streamed.
import { openaiResponses } from '../dialects/openai-responses/index.ts'
import type { InferenceEndpoint } from './endpoint.ts'

export const responses: InferenceEndpoint = {
  method: 'POST',
  path: '/v1/responses',
  role: 'infer',
  dialect: openaiResponses,
}

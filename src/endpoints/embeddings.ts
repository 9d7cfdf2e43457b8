// Embeddings.
import { openaiEmbeddings } from '../dialects/openai-embeddings/index.ts'
import type { InferenceEndpoint } from './endpoint.ts'

export const embeddings: InferenceEndpoint = {
  method: 'POST',
  path: '/v1/embeddings',
  role: 'infer',
  dialect: openaiEmbeddings,
}

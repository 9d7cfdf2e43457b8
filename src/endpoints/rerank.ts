// Reranking, at its own address and at the one that newer clients of its maker have.
import { rerank } from '../dialects/rerank/index.ts'
import type { InferenceEndpoint } from './endpoint.ts'

const common = { method: 'POST', role: 'infer', dialect: rerank } as const

export const rerankEndpoints: readonly InferenceEndpoint[] = [
  { ...common, path: '/v1/rerank' },
  { ...common, path: '/v2/rerank' },
]

// Native agents, by the sign-ins of their organisation. Always streamed.
import { nativeResponses } from '../dialects/native-responses/index.ts'
import type { InferenceEndpoint } from './endpoint.ts'

export const nativeResponsesEndpoint: InferenceEndpoint = {
  method: 'POST',
  path: '/v1/native/responses',
  role: 'infer',
  dialect: nativeResponses,
}

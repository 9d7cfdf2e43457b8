// Speech to text: a form in, text out.
import { openaiTranscriptions } from '../dialects/openai-transcriptions/index.ts'
import type { InferenceEndpoint } from './endpoint.ts'

export const transcriptions: InferenceEndpoint = {
  method: 'POST',
  path: '/v1/audio/transcriptions',
  role: 'infer',
  dialect: openaiTranscriptions,
  takesForm: true,
}

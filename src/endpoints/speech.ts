// Text to speech: JSON in, sound out.
import { openaiSpeech } from '../dialects/openai-speech/index.ts'
import type { InferenceEndpoint } from './endpoint.ts'

export const speech: InferenceEndpoint = {
  method: 'POST',
  path: '/v1/audio/speech',
  role: 'infer',
  dialect: openaiSpeech,
}

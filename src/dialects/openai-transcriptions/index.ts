// Transcription: a form with sound in, text out.
import { GatewayError } from '../../core/problem.ts'
import type { Dialect } from '../dialect.ts'
import { problem } from '../openai-chat/problem.ts'
import { unstreamed } from '../unstreamed.ts'
import { express, readAnswer } from './answer.ts'
import { transcriptionQuirks } from './fields.ts'
import { patchForm } from './patch.ts'
import { peekForm } from './peek.ts'

export const openaiTranscriptions: Dialect = {
  id: 'openai-transcriptions',
  task: 'transcription',
  peek: refuseJson,
  peekForm,
  relay: {
    ...unstreamed,
    patch: refuseJson,
    patchForm,
    read: readAnswer,
    express,
    findFault: (quirks) => transcriptionQuirks.findFault(quirks),
  },
  problem,
}

/** Sound comes as a file. */
function refuseJson(): never {
  throw new GatewayError(
    'unsupported_media_type',
    'A transcription is asked for with a form: `Content-Type: multipart/form-data`.',
  )
}

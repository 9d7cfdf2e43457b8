// Speech: text in, sound out. The sound itself passes unread; only what stands in its place is looked at here.
import { advise } from '../../core/problem.ts'
import type { Dialect } from '../dialect.ts'
import { asFields, isBlank, parseJson } from '../json.ts'
import { problem } from '../openai-chat/problem.ts'
import { unstreamed } from '../unstreamed.ts'
import { speechQuirks } from './fields.ts'
import { patch } from './patch.ts'
import { peek } from './peek.ts'

export const openaiSpeech: Dialect = {
  id: 'openai-speech',
  task: 'speech',
  peek,
  relay: {
    ...unstreamed,
    patch,
    read: refuseText,
    findFault: (quirks) => speechQuirks.findFault(quirks),
  },
  problem,
}

/** Whatever can be read is no sound. Only an error that blames the request says more than that, in a status of its own. */
function refuseText(answer: Uint8Array): never {
  if (answer.length === 0) throw advise('empty_response', 'The supplier sent no sound.')
  if (!isBlank(asFields(parseJson(answer))?.['error'])) {
    const refusal = problem.decode(200, answer)
    if (refusal.status < 500) throw refusal
  }
  throw advise('upstream_invalid_response', 'The supplier sent something that is no sound.')
}

// The responses language as native agents speak it with their makers: always streamed, never converted, and with the
// headers that belong to it.
import type { Dialect } from '../dialect.ts'
import { openaiResponses } from '../openai-responses/index.ts'
import { readHeaders } from './headers.ts'
import { peek } from './peek.ts'
import { problem } from './problem.ts'

export const nativeResponses: Dialect = {
  id: 'native-responses',
  isNative: true,
  peek,
  relay: { ...openaiResponses.relay, headers: readHeaders },
  problem,
}

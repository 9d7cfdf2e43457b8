// The responses language. This file assembles the dialect; each half has a file of its own.
import type { Dialect } from '../dialect.ts'
import { readAnswer } from './answer.ts'
import { codec } from './codec/index.ts'
import { cutOff } from './cut-off.ts'
import { patch } from './patch.ts'
import { peek } from './peek.ts'
import { problem } from './problem.ts'
import { responsesQuirks } from './quirks.ts'
import { watch } from './stream.ts'

export const openaiResponses: Dialect = {
  id: 'openai-responses',
  peek,
  relay: {
    patch,
    watch,
    cutOff,
    read: readAnswer,
    findFault: (quirks) => responsesQuirks.findFault(quirks),
  },
  problem,
  codec,
}

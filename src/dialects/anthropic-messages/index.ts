// The messages language. This file assembles the dialect; each half has a file of its own.
import type { Dialect } from '../dialect.ts'
import { readAnswer } from './answer.ts'
import { codec } from './codec/index.ts'
import { count } from './count.ts'
import { cutOff } from './cut-off.ts'
import { readHeaders } from './headers.ts'
import { patch } from './patch.ts'
import { peek } from './peek.ts'
import { problem } from './problem.ts'
import { messagesQuirks } from './quirks.ts'
import { watch } from './stream.ts'

export const anthropicMessages: Dialect = {
  id: 'anthropic-messages',
  peek,
  relay: {
    patch,
    headers: readHeaders,
    watch,
    cutOff,
    read: readAnswer,
    findFault: (quirks) => messagesQuirks.findFault(quirks),
  },
  problem,
  count,
  codec,
}

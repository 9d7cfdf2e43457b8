// Reranking: a question and documents in, and how much each has to do with it out. Callers speak one shape, suppliers
// several: what differs is patched on the way out and read on the way back.
import type { Dialect } from '../dialect.ts'
import { problem } from '../openai-chat/problem.ts'
import { unstreamed } from '../unstreamed.ts'
import { express } from './express.ts'
import { notesOf } from './notes.ts'
import { patch } from './patch.ts'
import { peek } from './peek.ts'
import { rerankQuirks } from './quirks.ts'
import { readRanking } from './ranking.ts'

export const rerank: Dialect = {
  id: 'rerank',
  task: 'rerank',
  peek,
  relay: {
    ...unstreamed,
    patch,
    read(answer, facts) {
      const count = facts === undefined ? Infinity : notesOf(facts).papers.length
      const { usage, hasUnreadUsage } = readRanking(answer, count)
      return { usage, outputBytes: 0, audioBytes: 0, hasUnreadUsage }
    },
    express,
    findFault: (quirks) => rerankQuirks.findFault(quirks),
  },
  problem,
}

// Embeddings: texts in, lists of numbers out. This file assembles the dialect; each half has a file of its own.
import type { AnswerFacts, Dialect, Facts } from '../dialect.ts'
import { problem } from '../openai-chat/problem.ts'
import { unstreamed } from '../unstreamed.ts'
import { readAnswer } from './answer.ts'
import { askedOf } from './asked.ts'
import { batch } from './batch.ts'
import { express } from './express.ts'
import { patch } from './patch.ts'
import { peek } from './peek.ts'
import { embeddingQuirks } from './quirks.ts'
import { toUsage } from './usage.ts'

export const openaiEmbeddings: Dialect = {
  id: 'openai-embeddings',
  task: 'embedding',
  peek,
  relay: {
    ...unstreamed,
    patch,
    read,
    express,
    batch,
    findFault: (quirks) => embeddingQuirks.findFault(quirks),
  },
  problem,
}

function read(answer: Uint8Array, facts?: Facts): AnswerFacts {
  const { tokens, isUnread } = readAnswer(answer, askedOf(facts)).reading
  return {
    usage: tokens === undefined ? undefined : toUsage(tokens),
    outputBytes: 0,
    audioBytes: 0,
    hasUnreadUsage: isUnread,
  }
}

// An answer that came at once: the same reader that takes a stream, given its end and nothing before it.
import type { ChatResponse, Finish } from '../../../core/chat.ts'
import type { ChatEvent } from '../../../core/chat-event.ts'
import { collect } from './answer-collect.ts'
import { parseAnswer } from './answer-parse.ts'
import { AnswerReader } from './answer-read.ts'

const COMPLETE: Finish = { reason: 'end', raw: undefined }

export function decodeResponse(answer: Uint8Array): ChatResponse {
  const reader = new AnswerReader('whole')
  const events: ChatEvent[] = []
  reader.readAll(parseAnswer(answer), events)
  const { parts, finish = COMPLETE } = collect(events)
  return { parts, finish, lost: reader.lost }
}

// An answer that came at once: the same reader that takes a stream, given all of it in one piece.
import type { ChatResponse, Finish } from '../../../core/chat.ts'
import type { ChatEvent } from '../../../core/chat-event.ts'
import { collect } from './answer-collect.ts'
import { AnswerReader } from './answer-read.ts'

/** Choices that nobody can read hold no answer, and none that was cut. */
const SILENT: Finish = { reason: 'end', raw: undefined }

export function decodeResponse(answer: Uint8Array): ChatResponse {
  const reader = new AnswerReader('message')
  const events: ChatEvent[] = []
  reader.read(answer, events)
  const { parts, finish = SILENT } = collect(events)
  return { parts, finish, lost: reader.lost }
}

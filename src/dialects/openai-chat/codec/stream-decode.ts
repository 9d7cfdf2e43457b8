// Reads the frames of a supplier's stream into events. A frame of text is parsed once and becomes one event.
import type { ChatEvent } from '../../../core/chat-event.ts'
import type { ChatDecoder } from '../../codec.ts'
import { AnswerReader } from './answer-read.ts'

const START: ChatEvent = { kind: 'start' }

export function createDecoder(): ChatDecoder {
  return new StreamDecoder()
}

class StreamDecoder implements ChatDecoder {
  readonly #reader = new AnswerReader('delta')
  #hasBegun = false

  get lost(): readonly string[] {
    return this.#reader.lost
  }

  decode(data: Uint8Array): readonly ChatEvent[] {
    const events: ChatEvent[] = this.#hasBegun ? [] : [START]
    this.#hasBegun = true
    this.#reader.read(data, events)
    return events
  }
}

// Reads the events of a supplier's stream into ours. The last of them is its closing marker too, and has to be read:
// nothing else says why the answer ends.
import type { ChatEvent } from '../../../core/chat-event.ts'
import type { ChatDecoder } from '../../codec.ts'
import { parseAnswer } from './answer-parse.ts'
import { AnswerReader } from './answer-read.ts'

const START: ChatEvent = { kind: 'start' }

export function createDecoder(): ChatDecoder {
  return new ResponseDecoder()
}

class ResponseDecoder implements ChatDecoder {
  readonly #reader = new AnswerReader('stream')
  #hasBegun = false

  get lost(): readonly string[] {
    return this.#reader.lost
  }

  decode(data: Uint8Array): readonly ChatEvent[] {
    const events: ChatEvent[] = this.#hasBegun ? [] : [START]
    this.#hasBegun = true
    this.#reader.read(parseAnswer(data), events)
    return events
  }
}

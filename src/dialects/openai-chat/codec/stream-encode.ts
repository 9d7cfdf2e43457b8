// Writes the frames of a chat stream. What is the same in all of them is printed once; the reason to stop is held back
// until the supplier has ended well, so that no caller takes an answer for whole that was not.
import type { AnswerHead, Finish } from '../../../core/chat.ts'
import type { ChatEvent } from '../../../core/chat-event.ts'
import type { Usage } from '../../../core/usage.ts'
import type { ChatEncoder } from '../../codec.ts'
import { Backlog, ENTRY } from '../../backlog.ts'
import { writeFinish } from './answer-finish.ts'
import { hiddenThought, NO_INPUT, sealedThought, writeUsage, type Detail } from './answer-words.ts'

const ROLE = '{"role":"assistant","content":""}'
const DONE = 'data: [DONE]\n\n'

export function createEncoder(head: AnswerHead): ChatEncoder {
  return new StreamEncoder(head)
}

interface CallState {
  /** What stands before a piece of its input. */
  readonly opening: string
  hasInput: boolean
}

class StreamEncoder implements ChatEncoder {
  readonly #head: AnswerHead
  /** All of a frame up to its choices. */
  readonly #prefix: string
  readonly #opening: string
  readonly #closing = ',"finish_reason":null}]}\n\n'
  readonly #textOpening: string
  readonly #textClosing: string
  readonly #thinkingOpening: string
  readonly #backlog = new Backlog()
  /** All calls in their order, and those that their places belong to at the moment. */
  readonly #calls: CallState[] = []
  readonly #places = new Map<number, CallState>()
  /** The thought at hand, which a seal may follow. */
  #thought = ''
  #hasBegun = false
  #hasRefusal = false
  #finish: Finish | undefined

  constructor(head: AnswerHead) {
    const { id, created, model } = head
    const fields = { id: `chatcmpl-${id}`, object: 'chat.completion.chunk', created, model }
    this.#head = head
    this.#prefix = `data: ${JSON.stringify(fields).slice(0, -1)},"choices":[`
    this.#opening = `${this.#prefix}{"index":0,"delta":`
    this.#textOpening = `${this.#opening}{"content":`
    this.#textClosing = `}${this.#closing}`
    this.#thinkingOpening = `${this.#opening}{"reasoning_content":`
  }

  encode(event: ChatEvent): string {
    return this.#hasBegun ? this.#write(event) : this.#begin() + this.#write(event)
  }

  end(usage: Usage): string {
    let frames = this.#hasBegun ? '' : this.#begin()
    for (const call of this.#calls) if (!call.hasInput) frames += this.#input(call, NO_INPUT)
    const finish = this.#finish ?? { reason: 'end', raw: undefined }
    const said = { hasCalls: this.#calls.length > 0, hasRefusal: this.#hasRefusal }
    const choice = { index: 0, delta: {}, ...writeFinish(finish, said) }
    frames += `${this.#prefix}${JSON.stringify(choice)}]}\n\n`
    if (this.#head.asksUsage)
      frames += `${this.#prefix}],"usage":${JSON.stringify(writeUsage(usage))}}\n\n`
    return frames + DONE
  }

  #begin(): string {
    this.#hasBegun = true
    return this.#delta(ROLE)
  }

  #delta(json: string): string {
    return this.#opening + json + this.#closing
  }

  /** What most events are comes first. */
  #write(event: ChatEvent): string {
    if (event.kind === 'text') {
      this.#forget()
      if (event.text === '') return ''
      return this.#textOpening + JSON.stringify(event.text) + this.#textClosing
    }
    if (event.kind === 'thinking') {
      this.#backlog.add(event.text.length)
      this.#thought += event.text
      if (event.text === '') return ''
      return this.#thinkingOpening + JSON.stringify(event.text) + this.#textClosing
    }
    if (event.kind === 'input') return this.#writeInput(event.place, event.text)
    const { supplier } = this.#head
    if (event.kind === 'seal')
      return this.#writeDetail(sealedThought(supplier, this.#thought, event.data))
    this.#forget()
    if (event.kind === 'hidden') return this.#writeDetail(hiddenThought(supplier, event.data))
    if (event.kind === 'call') return this.#writeCall(event)
    if (event.kind === 'refusal') return this.#writeRefusal(event.text)
    if (event.kind === 'finish') this.#finish ??= event.finish
    return ''
  }

  #writeRefusal(text: string): string {
    if (text === '') return ''
    this.#hasRefusal = true
    return this.#delta(`{"refusal":${JSON.stringify(text)}}`)
  }

  #forget(): void {
    this.#backlog.release(this.#thought.length)
    this.#thought = ''
  }

  #writeDetail(detail: Detail): string {
    this.#forget()
    return this.#delta(`{"reasoning_details":[${JSON.stringify(detail)}]}`)
  }

  #writeCall({ place, id, name }: Extract<ChatEvent, { kind: 'call' }>): string {
    this.#backlog.add(ENTRY)
    const index = this.#calls.length
    const opening = `${this.#opening}{"tool_calls":[{"index":${index},"function":{"arguments":`
    const call = { opening, hasInput: false }
    this.#calls.push(call)
    this.#places.set(place, call)
    const fields = { index, id, type: 'function', function: { name, arguments: '' } }
    return this.#delta(`{"tool_calls":[${JSON.stringify(fields)}]}`)
  }

  /** A piece of a call that never began has nobody to be told of. */
  #writeInput(place: number, text: string): string {
    const call = this.#places.get(place)
    return call === undefined || text === '' ? '' : this.#input(call, text)
  }

  #input(call: CallState, text: string): string {
    call.hasInput = true
    return `${call.opening}${JSON.stringify(text)}}}]}${this.#closing}`
  }
}

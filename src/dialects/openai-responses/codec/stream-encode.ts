// Writes the events of a stream: items one after another, but for calls, which may be under way side by side. Nothing
// says that the answer is whole before its supplier has ended well.
import type { AnswerHead, Finish } from '../../../core/chat.ts'
import type { ChatEvent } from '../../../core/chat-event.ts'
import type { Usage } from '../../../core/usage.ts'
import { Backlog } from '../../backlog.ts'
import type { ChatEncoder } from '../../codec.ts'
import type { StreamPlace } from '../problem.ts'
import { writeCause } from './answer-finish.ts'
import { printResponse, responseId } from './answer-words.ts'
import { printSealing } from './reasoning-seal.ts'
import { Sequence } from './stream-frames.ts'
import { CallItem, MessageItem, ThoughtItem, type ItemPlace } from './stream-items.ts'

const COMPLETE: Finish = { reason: 'end', raw: undefined }

export function createEncoder(head: AnswerHead): ResponseEncoder {
  return new ResponseEncoder(head)
}

export class ResponseEncoder implements ChatEncoder {
  readonly #head: AnswerHead
  readonly #sequence = new Sequence()
  readonly #backlog = new Backlog()
  /** All items in their order. */
  readonly #items: (MessageItem | ThoughtItem | CallItem)[] = []
  /** Those that may still be given something, and those that their places belong to at the moment. */
  #openCalls: CallItem[] = []
  readonly #calls = new Map<number, CallItem>()
  /** What further text or thinking goes to, if it is of its kind. */
  #atHand: MessageItem | ThoughtItem | undefined
  #hasStarted = false
  #hasRefusal = false
  #finish = COMPLETE

  constructor(head: AnswerHead) {
    this.#head = head
  }

  encode(event: ChatEvent): string {
    return this.#hasStarted ? this.#tell(event) : this.#start() + this.#tell(event)
  }

  end(usage: Usage): string {
    const begun = this.#hasStarted ? '' : this.#start()
    const cause = writeCause(this.#finish, this.#hasRefusal)
    const isCut = cause !== undefined
    const closed = this.#closeAll(isCut)
    const items = this.#items.map(({ printed }) => printed)
    const response = printResponse(
      this.#head,
      isCut ? { status: 'incomplete', cause, items, usage } : { status: 'completed', items, usage },
    )
    const type = isCut ? 'response.incomplete' : 'response.completed'
    return begun + closed + this.#sequence.print(type, `"response":${response}`)
  }

  /** Where it has come to, for the event that tells of a failure. */
  place(): StreamPlace {
    return { id: responseId(this.#head), sequence: this.#sequence.next }
  }

  /** Nothing is announced before there is something to say. */
  #tell(event: ChatEvent): string {
    if (isEmpty(event)) return ''
    switch (event.kind) {
      case 'text':
      case 'refusal':
        return this.#say(event.kind, event.text)
      case 'thinking':
        return this.#think(event.text)
      case 'input':
        return this.#input(event.place, event.text)
      case 'call':
        return this.#call(event)
      case 'seal':
      case 'hidden':
        return this.#seal(event)
      case 'break':
        return this.#break()
      case 'finish':
        this.#finish = event.finish
        return ''
      default:
        // The start, which was told by now.
        return ''
    }
  }

  #start(): string {
    this.#hasStarted = true
    const members = `"response":${printResponse(this.#head, { status: 'in_progress', items: [] })}`
    return (
      this.#sequence.print('response.created', members) +
      this.#sequence.print('response.in_progress', members)
    )
  }

  #say(kind: 'text' | 'refusal', text: string): string {
    if (kind === 'refusal') this.#hasRefusal = true
    if (this.#atHand?.kind === 'message') return this.#atHand.add(kind, text)
    const item = new MessageItem(this.#place())
    const begun = this.#begin(item)
    this.#atHand = item
    return begun + item.add(kind, text)
  }

  #think(text: string): string {
    if (this.#atHand?.kind === 'thought') return this.#atHand.add(text)
    const item = new ThoughtItem(this.#place())
    const begun = this.#begin(item)
    this.#atHand = item
    return begun + item.add(text)
  }

  /** Ends the thought at hand with its seal; a seal that finds none is one of its own. */
  #seal({ kind, data }: Extract<ChatEvent, { kind: 'seal' | 'hidden' }>): string {
    if (data === '') return ''
    const isHidden = kind === 'hidden'
    if (!isHidden && this.#atHand?.kind === 'thought') return this.#closeAtHand(false, data)
    const item = new ThoughtItem(this.#place())
    return this.#begin(item) + item.close(printSealing(this.#head.supplier, data, isHidden))
  }

  #break(): string {
    return this.#atHand?.kind === 'message' ? this.#atHand.break() : this.#closeAtHand(false)
  }

  #call({ place, id, name }: Extract<ChatEvent, { kind: 'call' }>): string {
    const item = new CallItem(this.#place(), { id, name })
    const begun = this.#begin(item)
    this.#openCalls.push(item)
    this.#calls.set(place, item)
    return begun
  }

  /** A call that never began has nobody to be told of, and to one that is done nothing can be added. */
  #input(place: number, text: string): string {
    const call = this.#calls.get(place)
    return call === undefined || call.isDone ? '' : call.add(text)
  }

  #place(): ItemPlace {
    return {
      sequence: this.#sequence,
      backlog: this.#backlog,
      answerId: this.#head.id,
      index: this.#items.length,
    }
  }

  /** Who acts on calls does not have to wait for the end: one that is whole is done when something else begins. */
  #begin(item: MessageItem | ThoughtItem | CallItem): string {
    let frames = this.#closeAtHand(false)
    if (this.#openCalls.length > 0) {
      for (const call of this.#openCalls) if (call.isWhole) frames += call.close('completed')
      this.#openCalls = this.#openCalls.filter(({ isDone }) => !isDone)
    }
    this.#items.push(item)
    return frames + item.open()
  }

  /**
   * Whether its supplier has sealed it or not, a thought leaves with our mark: without one it would be handed, when it
   * comes back, to a supplier that has never heard of it and refuses the whole.
   */
  #closeAtHand(isCut: boolean, seal = ''): string {
    const item = this.#atHand
    this.#atHand = undefined
    if (item === undefined) return ''
    if (item.kind === 'message') return item.close(isCut ? 'incomplete' : 'completed')
    return item.close(printSealing(this.#head.supplier, seal, false))
  }

  /** What was under way when an answer was cut is not complete, nor is a call whose input has no end. */
  #closeAll(isCut: boolean): string {
    const last = this.#items.at(-1)
    let frames = this.#closeAtHand(isCut)
    for (const call of this.#openCalls) {
      const isOpen = isCut && (call === last || call.isBroken)
      frames += call.close(isOpen ? 'incomplete' : 'completed')
    }
    return frames
  }
}

function isEmpty(event: ChatEvent): boolean {
  return 'text' in event && event.text === ''
}

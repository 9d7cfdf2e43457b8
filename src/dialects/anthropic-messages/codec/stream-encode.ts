// Writes the events of a stream in this language: a start, whole blocks one after another, the reason, the end. Which
// block an event goes to is decided here; when it is told, the lineup decides.
import type { AnswerHead, Finish } from '../../../core/chat.ts'
import type { ChatEvent } from '../../../core/chat-event.ts'
import type { Usage } from '../../../core/usage.ts'
import type { ChatEncoder } from '../../codec.ts'
import { printSeal } from '../../seal.ts'
import { printFinish, printUsage } from './answer.ts'
import { callBlock, hiddenBlock, Lineup, printEvent, textBlock, thinkingBlock } from './lineup.ts'
import type { Block } from './lineup.ts'

const COMPLETE: Finish = { reason: 'end', raw: undefined }

export function createEncoder(head: AnswerHead): ChatEncoder {
  return new MessagesEncoder(head)
}

class MessagesEncoder implements ChatEncoder {
  readonly #head: AnswerHead
  readonly #lineup = new Lineup()
  /** By their place; those that are complete are none of them. */
  readonly #calls = new Map<number, Block>()
  /** What further text or thinking goes to, if it is of the same kind. */
  #atHand: Block | undefined
  #hasStarted = false
  #finish = COMPLETE

  constructor(head: AnswerHead) {
    this.#head = head
  }

  encode(event: ChatEvent): string {
    return this.#hasStarted ? this.#tell(event) : this.#start() + this.#tell(event)
  }

  end(usage: Usage): string {
    return (
      (this.#hasStarted ? '' : this.#start()) +
      this.#lineup.end() +
      printEvent(
        'message_delta',
        `"delta":{${printFinish(this.#finish)}},"usage":${printUsage(usage)}`,
      ) +
      printEvent('message_stop')
    )
  }

  #tell(event: ChatEvent): string {
    switch (event.kind) {
      case 'text':
      case 'thinking':
      case 'refusal':
        return this.#say(event.kind, event.text)
      case 'input':
        return this.#input(event.place, event.text)
      case 'call':
        return this.#call(event.place, callBlock(event.id, event.name))
      case 'seal':
        return this.#seal(event.data)
      case 'hidden':
        return this.#push(hiddenBlock(this.#head.supplier, event.data))
      case 'break':
        this.#atHand = undefined
        return ''
      case 'finish':
        this.#finish = event.finish
        return ''
      default:
        // The start, which was told by now.
        return ''
    }
  }

  /** The input is a guess that some clients never replace, so it is never nothing. */
  #start(): string {
    this.#hasStarted = true
    const { id, model, inputTokens } = this.#head
    const message = {
      id: `msg_${id}`,
      type: 'message',
      role: 'assistant',
      model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: Math.max(1, inputTokens), output_tokens: 0 },
    }
    return printEvent('message_start', `"message":${JSON.stringify(message)}`)
  }

  #say(kind: 'text' | 'thinking' | 'refusal', text: string): string {
    if (this.#atHand?.kind === kind) return this.#atHand.add(text)
    // A block that stays empty may not be sent back.
    if (text === '') return ''
    const block = kind === 'thinking' ? thinkingBlock(this.#head.supplier) : textBlock(kind)
    const begun = this.#push(block)
    return begun + block.add(text)
  }

  /** Puts what was thought under seal; a seal that finds no thought is one of its own. */
  #seal(data: string): string {
    if (data === '') return ''
    const block = this.#atHand
    if (block?.kind !== 'thinking') return this.#push(hiddenBlock(this.#head.supplier, data))
    block.seal(printSeal(this.#head.supplier, data))
    this.#atHand = undefined
    return ''
  }

  #call(place: number, block: Block): string {
    this.#calls.set(place, block)
    return this.#push(block)
  }

  #input(place: number, text: string): string {
    const block = this.#calls.get(place)
    if (block === undefined) return ''
    const added = block.add(text)
    if (!block.isOver) return added
    this.#calls.delete(place)
    return added + this.#lineup.advance()
  }

  #push(block: Block): string {
    this.#atHand = block
    return this.#lineup.push(block)
  }
}

// Reads the events of a stream of this language into ours. What a block is, it says when it begins; what only its end
// proves, such as a call without input, is told there.
import type { ChatEvent } from '../../../core/chat-event.ts'
import type { ChatDecoder } from '../../codec.ts'
import { Backlog, ENTRY } from '../../backlog.ts'
import { makeCallId } from '../../call-id.ts'
import { asFields, isBlank, parseJson, type Fields } from '../../json.ts'
import { readFinish } from './answer.ts'
import { readInput } from './answer-input.ts'
import { AnswerLost } from './answer-lost.ts'
import { inputOf, textOf } from './response-decode.ts'

interface OpenBlock {
  readonly index: number
  readonly kind: 'text' | 'thinking' | 'hidden' | 'call' | 'lost'
  /** Something of it was told. */
  isTold: boolean
  /** Of a call: what it has if nothing is added to it. */
  input: string
  /** Of a thought. */
  signature: string
}

const START: ChatEvent = { kind: 'start' }
const BREAK: ChatEvent = { kind: 'break' }
const DELTA_FIELDS = new Set(['stop_reason', 'stop_sequence'])
const REASON_FIELDS = new Set(['type', 'delta', 'usage'])

export function createDecoder(): ChatDecoder {
  return new MessagesDecoder()
}

class MessagesDecoder implements ChatDecoder {
  readonly #lost = new AnswerLost()
  readonly #backlog = new Backlog()
  /** By their index: they may stay open side by side. */
  readonly #openCalls = new Map<number, OpenBlock>()
  /** The one block that is open and no call. */
  #current: OpenBlock | undefined
  #events: ChatEvent[] = []
  #hasStarted = false
  #answerId: unknown
  #calls = 0
  #isFinished = false
  /** The kind that was told last: two of one kind need a break between them. */
  #last: OpenBlock['kind'] | undefined

  get lost(): readonly string[] {
    return this.#lost.places
  }

  decode(data: Uint8Array): readonly ChatEvent[] {
    const event = asFields(parseJson(data))
    if (event === undefined || event['type'] === 'ping') return []
    this.#events = this.#hasStarted ? [] : [START]
    this.#hasStarted = true
    this.#see(event, data)
    return this.#events
  }

  #see(event: Fields, data: Uint8Array): void {
    switch (event['type']) {
      case 'message_start':
        this.#announce(asFields(event['message']) ?? {})
        return
      case 'content_block_start':
        this.#begin(event, data)
        return
      case 'content_block_delta':
        this.#add(indexOf(event), asFields(event['delta']) ?? {})
        return
      case 'content_block_stop':
        this.#close(this.#find(indexOf(event)))
        return
      case 'message_delta':
        this.#finish(event)
        return
      default:
        this.#lost.addNamed('', textOf(event, 'type'))
    }
  }

  /** Nobody is known to tell content here, and the language has no place for it. */
  #announce(message: Fields): void {
    this.#answerId = message['id']
    this.#lost.addAnswerFields(message)
    if (!isBlank(message['content'])) this.#lost.addNamed('', 'content')
  }

  #begin(event: Fields, data: Uint8Array): void {
    const index = indexOf(event)
    const fields = asFields(event['content_block']) ?? {}
    const block = openBlock(index, fields)
    this.#open(block)
    if (block.kind === 'lost') this.#lost.addBlock(fields['type'])
    else this.#lost.addBlockFields(fields)
    if (block.kind === 'call') this.#call(block, fields, data)
    if (block.kind === 'text') this.#say(block, 'text', textOf(fields, 'text'))
    if (block.kind === 'hidden') this.#hide(textOf(fields, 'data'))
    if (block.kind !== 'thinking') return
    this.#say(block, 'thinking', textOf(fields, 'thinking'))
    this.#sign(block, textOf(fields, 'signature'))
  }

  /** Whoever does not say that a block has ended says so by the next one, or by another of its index. */
  #open(block: OpenBlock): void {
    this.#close(this.#current)
    this.#close(this.#openCalls.get(block.index))
    if (block.kind === 'call') this.#openCalls.set(block.index, block)
    else this.#current = block
    this.#backlog.add(ENTRY)
  }

  #find(index: number): OpenBlock | undefined {
    return this.#current?.index === index ? this.#current : this.#openCalls.get(index)
  }

  #add(index: number, delta: Fields): void {
    const block = this.#find(index) ?? this.#implied(index, delta)
    if (block.kind === 'lost') return
    switch (delta['type']) {
      case 'text_delta':
        this.#say(block, 'text', textOf(delta, 'text'))
        return
      case 'thinking_delta':
        this.#say(block, 'thinking', textOf(delta, 'thinking'))
        return
      case 'signature_delta':
        if (block.kind === 'thinking') this.#sign(block, textOf(delta, 'signature'))
        else this.#lost.addBlock('signature')
        return
      case 'input_json_delta':
        this.#input(block, textOf(delta, 'partial_json'))
        return
      case 'citations_delta':
        this.#lost.addBlock('citations')
        return
      default:
        this.#lost.addBlock(delta['type'])
    }
  }

  /** What is added to a block that has never begun is one that its supplier has not announced. */
  #implied(index: number, delta: Fields): OpenBlock {
    const kind = delta['type'] === 'thinking_delta' ? 'thinking' : 'text'
    const block: OpenBlock = { index, kind, isTold: false, input: '', signature: '' }
    this.#open(block)
    return block
  }

  #say(block: OpenBlock, kind: 'text' | 'thinking', text: string): void {
    if (text === '' || this.#isLate(kind)) return
    this.#part(block, kind)
    this.#events.push({ kind, text })
  }

  #sign(block: OpenBlock, signature: string): void {
    this.#backlog.add(signature.length - block.signature.length)
    block.signature = signature
  }

  #call(block: OpenBlock, fields: Fields, data: Uint8Array): void {
    if (this.#isLate('tool_use')) return
    this.#last = 'call'
    const written = isBlank(fields['input']) ? undefined : readInput(data)
    block.input = inputOf(fields, written, this.#lost)
    this.#backlog.add(block.input.length)
    const id = textOf(fields, 'id') || makeCallId('toolu', this.#answerId, this.#calls)
    this.#calls += 1
    this.#events.push({ kind: 'call', place: block.index, id, name: textOf(fields, 'name') })
  }

  #input(block: OpenBlock, text: string): void {
    if (block.kind !== 'call' || text === '' || this.#isLate('tool_use')) return
    block.isTold = true
    this.#events.push({ kind: 'input', place: block.index, text })
  }

  #hide(data: string): void {
    if (data === '' || this.#isLate('redacted_thinking')) return
    this.#last = 'hidden'
    this.#events.push({ kind: 'hidden', data })
  }

  #close(block: OpenBlock | undefined): void {
    if (block === undefined) return
    if (block === this.#current) this.#current = undefined
    else this.#openCalls.delete(block.index)
    this.#backlog.release(ENTRY + block.input.length + block.signature.length)
    if (block.kind === 'call' && !block.isTold) this.#input(block, block.input)
    if (block.signature === '' || this.#isLate('thinking')) return
    this.#part(block, 'thinking')
    this.#events.push({ kind: 'seal', data: block.signature })
  }

  /** Keeps apart what stands in two blocks of one kind. */
  #part(block: OpenBlock, kind: 'text' | 'thinking'): void {
    if (!block.isTold && this.#last === kind) this.#events.push(BREAK)
    block.isTold = true
    this.#last = kind
  }

  #finish(event: Fields): void {
    const delta = asFields(event['delta']) ?? {}
    this.#lost.addOthers('', event, REASON_FIELDS, isBlank)
    this.#lost.addOthers('', delta, DELTA_FIELDS, isBlank)
    if (isBlank(delta['stop_reason']) || this.#isFinished) return
    for (const block of this.#openCalls.values()) this.#close(block)
    this.#close(this.#current)
    this.#isFinished = true
    const finish = readFinish(delta['stop_reason'], delta['stop_sequence'], this.#calls > 0)
    this.#events.push({ kind: 'finish', finish })
  }

  /** What follows the reason to stop has no place any more. */
  #isLate(kind: string): boolean {
    if (this.#isFinished) this.#lost.addBlock(kind)
    return this.#isFinished
  }
}

function openBlock(index: number, fields: Fields): OpenBlock {
  return { index, kind: kindOf(fields), isTold: false, input: '', signature: '' }
}

function kindOf(fields: Fields): OpenBlock['kind'] {
  switch (fields['type']) {
    case 'text':
    case 'thinking':
      return fields['type']
    case 'redacted_thinking':
      return 'hidden'
    case 'tool_use':
      return textOf(fields, 'name') === '' ? 'lost' : 'call'
    default:
      return 'lost'
  }
}

function indexOf({ index }: Fields): number {
  return typeof index === 'number' ? index : 0
}

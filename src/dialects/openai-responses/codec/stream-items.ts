// Items of a stream while they are told: announced, added to, told whole once they are done. What they have come to is
// kept for the end, which repeats all of them.
import { ENTRY, type Backlog } from '../../backlog.ts'
import {
  isWhole,
  itemId,
  printCall,
  printMessage,
  printPart,
  printSummary,
  printThought,
  type CallName,
  type Status,
} from './answer-items.ts'
import { NO_INPUT } from './answer-words.ts'
import { Pieces, type Sequence, type Surroundings } from './stream-frames.ts'

/** Where an item stands in its answer. */
export interface ItemPlace extends Surroundings {
  readonly answerId: string
  readonly index: number
}

class Announced {
  readonly id: string
  readonly index: number
  /** The members that say which item something belongs to. */
  readonly mark: string
  readonly sequence: Sequence
  readonly backlog: Backlog
  /** Printed, once it is done. */
  printed = ''

  constructor(
    kind: Parameters<typeof itemId>[0],
    { sequence, backlog, answerId, index }: ItemPlace,
  ) {
    backlog.add(ENTRY)
    this.id = itemId(kind, answerId, index)
    this.index = index
    this.sequence = sequence
    this.backlog = backlog
    this.mark = `"item_id":${JSON.stringify(this.id)},"output_index":${index}`
  }

  begin(item: string): string {
    const members = `"output_index":${this.index},"item":${item}`
    return this.sequence.print('response.output_item.added', members)
  }

  finish(item: string): string {
    this.printed = item
    const members = `"output_index":${this.index},"item":${item}`
    return this.sequence.print('response.output_item.done', members)
  }
}

export class MessageItem extends Announced {
  readonly kind = 'message'
  readonly #parts: string[] = []
  #atHand: { readonly kind: 'text' | 'refusal'; readonly pieces: Pieces } | undefined

  constructor(place: ItemPlace) {
    super('message', place)
  }

  open(): string {
    return this.begin(printMessage(this.id, 'in_progress', []))
  }

  add(kind: 'text' | 'refusal', text: string): string {
    if (this.#atHand?.kind === kind) return this.#atHand.pieces.add(text)
    const ended = this.break()
    const where = `${this.mark},"content_index":${this.#parts.length}`
    const members = `${where},"part":${printPart(kind, '""')}`
    const begun = this.sequence.print('response.content_part.added', members)
    const pieces = new Pieces(kind, this, where)
    this.#atHand = { kind, pieces }
    return ended + begun + pieces.add(text)
  }

  /** What follows is another part. */
  break(): string {
    if (this.#atHand === undefined) return ''
    const { kind, pieces } = this.#atHand
    const text = JSON.stringify(pieces.text)
    const part = printPart(kind, text)
    const where = `${this.mark},"content_index":${this.#parts.length}`
    this.#atHand = undefined
    this.#parts.push(part)
    const done = pieces.end(text)
    return done + this.sequence.print('response.content_part.done', `${where},"part":${part}`)
  }

  close(status: Status): string {
    return this.break() + this.finish(printMessage(this.id, status, this.#parts))
  }
}

export class ThoughtItem extends Announced {
  readonly kind = 'thought'
  #summary: Pieces | undefined

  constructor(place: ItemPlace) {
    super('thought', place)
  }

  open(): string {
    return this.begin(printThought(this.id, ''))
  }

  add(text: string): string {
    if (this.#summary !== undefined) return this.#summary.add(text)
    const where = this.#where()
    const members = `${where},"part":${printSummary('""')}`
    const begun = this.sequence.print('response.reasoning_summary_part.added', members)
    this.#summary = new Pieces('summary', this, where)
    return begun + this.#summary.add(text)
  }

  close(seal: string): string {
    this.backlog.add(seal.length)
    const summary = this.#summary
    if (summary === undefined) return this.finish(printThought(this.id, '', seal))
    const text = JSON.stringify(summary.text)
    const part = printSummary(text)
    const done = summary.end(text)
    const members = `${this.#where()},"part":${part}`
    const ended = this.sequence.print('response.reasoning_summary_part.done', members)
    return done + ended + this.finish(printThought(this.id, part, seal))
  }

  #where(): string {
    return `${this.mark},"summary_index":0`
  }
}

export class CallItem extends Announced {
  readonly #call: CallName
  readonly #input: Pieces
  /** What is known of the input; undefined since something was added to it. */
  #isWhole: boolean | undefined = false

  constructor(place: ItemPlace, call: CallName) {
    super('call', place)
    place.backlog.add(call.id.length + call.name.length)
    this.#call = call
    this.#input = new Pieces('input', this, this.mark)
  }

  get isDone(): boolean {
    return this.printed !== ''
  }

  /** Nothing can be added to its input. */
  get isWhole(): boolean {
    this.#isWhole ??= isWhole(this.#input.text)
    return this.#isWhole
  }

  /** It was given something that has no end. */
  get isBroken(): boolean {
    return this.#input.text !== '' && !this.isWhole
  }

  open(): string {
    return this.begin(printCall(this.id, 'in_progress', this.#call, '""'))
  }

  add(text: string): string {
    this.#isWhole = undefined
    return this.#input.add(text)
  }

  close(status: Status): string {
    const filled = this.#input.text === '' ? this.add(NO_INPUT) : ''
    const input = JSON.stringify(this.#input.text)
    const done = this.#input.end(input, `,"name":${JSON.stringify(this.#call.name)}`)
    return filled + done + this.finish(printCall(this.id, status, this.#call, input))
  }
}

// The blocks of a stream in the order in which they began. Only the first is told as it comes: this language knows one
// block at a time, and what comes for the others waits for its turn.
import { Backlog, ENTRY } from '../../backlog.ts'
import { JsonEnd } from '../../json-end.ts'
import { printSeal } from '../../seal.ts'
import { printCall, printHidden } from './response-encode.ts'

export type BlockKind = 'text' | 'refusal' | 'thinking' | 'hidden' | 'call'

const TEXT = '"type":"text_delta","text":'
const DELTAS: Readonly<Record<BlockKind, string>> = {
  text: TEXT,
  refusal: TEXT,
  thinking: '"type":"thinking_delta","thinking":',
  hidden: '',
  call: '"type":"input_json_delta","partial_json":',
}
const DELTA_END = '}}\n\n'

export class Block {
  readonly kind: BlockKind
  #opening: string
  /** Of a call's input. */
  readonly #end: JsonEnd | undefined
  #index = 0
  /** What stands before the text of each delta; empty until the block is opened. */
  #prefix = ''
  /** What has come before its turn. */
  #waiting = ''
  /** Ends a thought: clients want to see one, whether its supplier has made it or not. */
  #signature: string | undefined
  /** Of the line that it stands in. */
  #backlog: Backlog | undefined
  #size = 0

  constructor(kind: BlockKind, opening: string, signature?: string) {
    this.kind = kind
    this.#opening = opening
    this.#signature = signature
    this.#end = kind === 'call' ? new JsonEnd() : undefined
  }

  /** Nothing that belongs to it can come once another block has begun. */
  get isOver(): boolean {
    return this.#end?.isComplete ?? true
  }

  seal(signature: string): void {
    this.#keep(signature.length)
    this.#signature = signature
  }

  /** Takes its place in a line: all that it has to tell is kept from now on until it is told. */
  wait(backlog: Backlog): void {
    this.#backlog = backlog
    this.#keep(ENTRY + this.#opening.length)
  }

  open(index: number): string {
    this.#index = index
    this.#prefix = deltaPrefix(index) + DELTAS[this.kind]
    const start = printEvent(
      'content_block_start',
      `"index":${index},"content_block":${this.#opening}`,
    )
    const waiting = this.#waiting
    this.#release()
    return waiting === '' ? start : start + this.#prefix + JSON.stringify(waiting) + DELTA_END
  }

  add(text: string): string {
    const added = this.#end === undefined ? text : this.#end.take(text)
    if (added === '') return ''
    if (this.#prefix !== '') return this.#prefix + JSON.stringify(added) + DELTA_END
    this.#keep(added.length)
    this.#waiting += added
    return ''
  }

  close(): string {
    this.#release()
    const stop = printEvent('content_block_stop', `"index":${this.#index}`)
    if (this.#signature === undefined) return stop
    const prefix = `${deltaPrefix(this.#index)}"type":"signature_delta","signature":`
    return prefix + JSON.stringify(this.#signature) + DELTA_END + stop
  }

  #keep(size: number): void {
    this.#backlog?.add(size)
    this.#size += size
  }

  #release(): void {
    this.#backlog?.release(this.#size)
    this.#size = 0
    this.#opening = ''
    this.#waiting = ''
  }
}

export class Lineup {
  /** The open one first. */
  readonly #blocks: Block[] = []
  readonly #backlog = new Backlog()
  #index = 0

  /** Puts a block behind all others; returns what can be told now. */
  push(block: Block): string {
    block.wait(this.#backlog)
    this.#blocks.push(block)
    return this.#blocks.length === 1 ? block.open(this.#index) : this.advance()
  }

  /** Goes on to the first block that is not over, or to the last. */
  advance(): string {
    let frames = ''
    while (this.#blocks.length > 1 && this.#blocks[0]!.isOver) frames += this.#step()
    return frames
  }

  /** Tells all that waits, and closes the last block too. */
  end(): string {
    let frames = ''
    while (this.#blocks.length > 0) frames += this.#step()
    return frames
  }

  #step(): string {
    const closed = this.#blocks.shift()?.close() ?? ''
    this.#index++
    return closed + (this.#blocks[0]?.open(this.#index) ?? '')
  }
}

export function textBlock(kind: 'text' | 'refusal'): Block {
  return new Block(kind, '{"type":"text","text":""}')
}

export function thinkingBlock(supplier: string): Block {
  const opening = '{"type":"thinking","thinking":"","signature":""}'
  return new Block('thinking', opening, printSeal(supplier, ''))
}

export function hiddenBlock(supplier: string, data: string): Block {
  return new Block('hidden', printHidden(supplier, data))
}

export function callBlock(id: string, name: string): Block {
  return new Block('call', printCall(id, name, '{}'))
}

function deltaPrefix(index: number): string {
  const type = 'content_block_delta'
  return `event: ${type}\ndata: {"type":"${type}","index":${index},"delta":{`
}

/** Clients go by the name of an event and pass over one without. `members` are those of its data, after the type. */
export function printEvent(type: string, members?: string): string {
  const rest = members === undefined ? '' : `,${members}`
  return `event: ${type}\ndata: {"type":"${type}"${rest}}\n\n`
}

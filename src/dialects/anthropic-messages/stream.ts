// Watches a relayed stream of messages: what each event is, whether the answer got its reason to stop, and what
// was used. The events themselves are never changed.
import { advise, type GatewayError } from '../../core/problem.ts'
import type { Usage } from '../../core/usage.ts'
import type { FrameKind, StreamWatcher } from '../dialect.ts'
import { asFields, isBlank, isFields, parseJson, type Fields } from '../json.ts'
import { TextShape } from '../shape.ts'
import { outline } from './outline.ts'
import { outputOfBlock, outputOfDelta } from './output.ts'
import { problem } from './problem.ts'
import { Thoughts } from './thoughts.ts'
import { UsageTally } from './usage.ts'

/** Making values of a longer event could keep the process busy for a second. */
const PARSED_BYTES_MAX = 1_048_576

const TEXT = new TextEncoder().encode('"text":"')

export function watch(): StreamWatcher {
  return new MessagesWatcher()
}

class MessagesWatcher implements StreamWatcher {
  /** Blocks that have begun and not ended. */
  readonly #open = new Set<number>()
  readonly #shape = new TextShape(TEXT)
  readonly #tally = new UsageTally()
  readonly #thoughts = new Thoughts()
  #hasStopped = false
  #outputBytes = 0
  /** How much had been put out and thought when an output was told last. */
  #toldAt = -1

  see(data: Uint8Array, from: number, to: number): FrameKind {
    if (from === to) return 'void'
    if (this.#shape.fits(data, from, to)) {
      this.#outputBytes += this.#shape.textBytes
      return 'content'
    }
    if (to - from > PARSED_BYTES_MAX) return this.#seeLong(data, from, to)
    return this.#seeEvent(data.subarray(from, to))
  }

  isFinished(): boolean {
    return this.#hasStopped
  }

  openChoices(): readonly number[] {
    return [...this.#open]
  }

  usage(): Usage | undefined {
    return this.#tally.usage
  }

  isUsageLast(): boolean {
    return this.#toldAt === this.#outputBytes + this.#thoughts.bytes
  }

  outputBytes(): number {
    return this.#outputBytes
  }

  unshownBytes(): number {
    return this.#thoughts.bytes
  }

  audioBytes(): number {
    return 0
  }

  hasUnreadUsage(): boolean {
    return this.#tally.isUnread
  }

  #seeEvent(data: Uint8Array): FrameKind {
    const event = readEvent(data)
    switch (event['type']) {
      case 'message_start':
        return this.#tell(asFields(event['message'])?.['usage'])
      case 'content_block_start':
        this.#open.add(indexOf(event))
        this.#thoughts.begin(event['content_block'])
        return this.#put(outputOfBlock(event['content_block']))
      case 'content_block_delta':
        return this.#add(event, data)
      case 'content_block_stop':
        this.#open.delete(indexOf(event))
        return 'preamble'
      case 'message_delta':
        this.#hasStopped ||= !isBlank(asFields(event['delta'])?.['stop_reason'])
        return this.#tell(event['usage'])
      case 'message_stop':
        return 'end'
      default:
        // A sign of life, or what was invented later: it goes where it stands among the others.
        return 'preamble'
    }
  }

  /** In text as it is written: no less than what it stands for. */
  #seeLong(data: Uint8Array, from: number, to: number): FrameKind {
    const event = outline(data, from, to)
    if (event === undefined) throw notJson()
    if (event.type === 'error') throw problem.decode(0, data.subarray(from, to))
    if (event.type === 'content_block_start') this.#open.add(event.index)
    return this.#put(to - from)
  }

  #tell(usage: unknown): FrameKind {
    if (this.#tally.tell(usage)) this.#toldAt = this.#outputBytes + this.#thoughts.bytes
    return 'preamble'
  }

  #add(event: Fields, data: Uint8Array): FrameKind {
    const delta = asFields(event['delta'])
    const bytes = outputOfDelta(delta)
    this.#thoughts.add(delta)
    if (delta?.['type'] === 'text_delta' && bytes > 0)
      this.#shape.learn(data, 0, data.length, bytes)
    return this.#put(bytes)
  }

  #put(bytes: number): FrameKind {
    this.#outputBytes += bytes
    return bytes > 0 ? 'content' : 'preamble'
  }
}

function indexOf({ index }: Fields): number {
  return typeof index === 'number' ? index : 0
}

/** The fields of an event; throws for what is none, and for what says that the supplier failed. */
function readEvent(data: Uint8Array): Fields {
  const event = parseJson(data)
  if (!isFields(event)) throw notJson()
  if (event['type'] === 'error' || !isBlank(event['error'])) throw problem.decode(0, data)
  return event
}

function notJson(): GatewayError {
  return advise('stream_error', 'The supplier sent an event that is not valid JSON.')
}

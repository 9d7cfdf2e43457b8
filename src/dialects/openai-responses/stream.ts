// Watches a relayed stream of responses: what each event is, whether the answer has come to its end, and what was
// used. The events themselves are never changed.
import { advise } from '../../core/problem.ts'
import type { Usage } from '../../core/usage.ts'
import type { StreamPlace } from '../codec.ts'
import type { FrameKind, StreamWatcher } from '../dialect.ts'
import { asFields, isBlank, isFields, parseJson, type Fields } from '../json.ts'
import { outline } from './outline.ts'
import { audioBytes, outputOfAll, outputOfItem, textBytes, unshownOf } from './output.ts'
import { failureOf } from './problem.ts'
import { DeltaShape } from './shape.ts'
import { NO_USAGE, readUsage, type UsageReading } from './usage.ts'

/** Making values of a longer event could keep the process busy for a second. */
const PARSED_BYTES_MAX = 1_048_576

const SOUND = 'response.audio.delta'

export function watch(): ResponsesWatcher {
  return new ResponsesWatcher()
}

export class ResponsesWatcher implements StreamWatcher {
  /** Items that have begun and not ended. */
  readonly #open = new Set<number>()
  /** Bytes of text that were put out so far, by item: in the end each is told again as a whole. */
  readonly #told = new Map<number, number>()
  readonly #shape = new DeltaShape()
  /** The item that the remembered shape belongs to. */
  #shapeIndex = 0
  #reading: UsageReading = NO_USAGE
  #hasEnded = false
  /** What was said last has been told to its end. */
  #isClosing = false
  #outputBytes = 0
  #unshownBytes = 0
  #audioBytes = 0
  /** How much had been put out when a usage was told last. */
  #toldAt = -1
  #id: string | undefined
  #sequence = 0

  see(data: Uint8Array, from: number, to: number): FrameKind {
    if (from === to) return 'void'
    if (this.#shape.fits(data, from, to)) {
      const { sequence, textBytes: bytes } = this.#shape
      this.#sequence = (sequence < 0 ? this.#sequence : sequence) + 1
      return this.#put(this.#shapeIndex, bytes)
    }
    if (isDone(data, from, to)) return 'end'
    return this.#seeEvent(data.subarray(from, to))
  }

  isFinished(): boolean {
    return this.#hasEnded
  }

  /** All that came is whole: the usage may come next, and a caller who leaves now has the answer. */
  isClosing(): boolean {
    return this.#isClosing
  }

  openChoices(): readonly number[] {
    return [...this.#open]
  }

  usage(): Usage | undefined {
    return this.#reading.usage
  }

  isUsageLast(): boolean {
    return this.#toldAt === this.#outputBytes
  }

  outputBytes(): number {
    return this.#outputBytes
  }

  unshownBytes(): number {
    return this.#unshownBytes
  }

  audioBytes(): number {
    return this.#audioBytes
  }

  hasUnreadUsage(): boolean {
    return this.#reading.isUnread
  }

  /** Where it has come to, for an event that has to end it in place of its supplier's. */
  place(): StreamPlace {
    return { id: this.#id, sequence: this.#sequence }
  }

  #seeEvent(data: Uint8Array): FrameKind {
    const event = readEvent(data)
    const kind = this.#judge(event, data)
    if (typeof event['type'] === 'string' && event['type'].endsWith('.done'))
      this.#isClosing = this.#outputBytes > 0
    return kind
  }

  #judge(event: Fields, data: Uint8Array): FrameKind {
    const { type, sequence_number: number } = event
    // Some do not count on where they fail, and no number may come twice.
    if (typeof number === 'number') this.#sequence = Math.max(this.#sequence, number)
    // It is passed to nobody: what stands for it has its number.
    if (type === 'response.failed' || type === 'error') return this.#fail(event)
    this.#sequence++
    switch (type) {
      case 'response.created':
      case 'response.queued':
      case 'response.in_progress':
        this.#name(event)
        return 'preamble'
      case 'response.output_item.added':
        this.#open.add(indexOf(event))
        return this.#complete(event)
      case 'response.output_item.done':
        this.#open.delete(indexOf(event))
        this.#unshownBytes += unshownOf(event['item'])
        return this.#complete(event)
      case 'response.completed':
      case 'response.incomplete':
        return this.#end(event)
      default:
        return this.#add(event, data)
    }
  }

  #name({ response }: Fields): void {
    const id = asFields(response)?.['id']
    if (typeof id === 'string') this.#id = id
  }

  #end(event: Fields): FrameKind {
    const response = asFields(event['response'])
    this.#name(event)
    if (response?.['status'] === 'failed' || !isBlank(response?.['error'])) return this.#fail(event)
    // Some tell an answer in one piece, at its end.
    if (this.#outputBytes === 0) this.#put(0, outputOfAll(response?.['output']) ?? 0)
    this.#tell(response?.['usage'])
    this.#hasEnded = true
    return 'end'
  }

  #fail(event: Fields): never {
    this.#tell(asFields(event['response'])?.['usage'])
    throw failureOf(event)
  }

  #tell(usage: unknown): void {
    if (isBlank(usage)) return
    this.#reading = readUsage(usage)
    if (this.#reading.usage !== undefined) this.#toldAt = this.#outputBytes
  }

  /** Of an item what is not told in pieces, and was not told before. */
  #complete(event: Fields): FrameKind {
    const index = indexOf(event)
    const more = outputOfItem(event['item']) - (this.#told.get(index) ?? 0)
    return more > 0 ? this.#put(index, more) : 'preamble'
  }

  /** A piece of something, or an event that tells what is told elsewhere, too. */
  #add(event: Fields, data: Uint8Array): FrameKind {
    const { type, delta } = event
    if (type === SOUND) {
      this.#audioBytes += audioBytes(delta)
      return 'content'
    }
    const bytes = textBytes(delta)
    if (bytes === 0) return 'preamble'
    const index = indexOf(event)
    if (data.length <= PARSED_BYTES_MAX && this.#shape.learn(data, bytes)) this.#shapeIndex = index
    return this.#put(index, bytes)
  }

  #put(index: number, bytes: number): FrameKind {
    this.#outputBytes += bytes
    if (bytes > 0) this.#isClosing = false
    this.#told.set(index, (this.#told.get(index) ?? 0) + bytes)
    return bytes > 0 ? 'content' : 'preamble'
  }
}

function indexOf({ output_index: index }: Fields): number {
  return typeof index === 'number' ? index : 0
}

/** The fields of an event; throws for what is none. */
function readEvent(data: Uint8Array): Fields {
  const event = data.length > PARSED_BYTES_MAX ? outline(data) : parseJson(data)
  if (isFields(event)) return event
  throw advise('stream_error', 'The supplier sent an event that is not valid JSON.')
}

const DONE = new TextEncoder().encode('[DONE]')

/** Not of this language, and sent by some who speak another besides: no end where none was told. */
function isDone(data: Uint8Array, from: number, to: number): boolean {
  if (to - from < DONE.length) return false
  for (let index = 0; index < DONE.length; index++)
    if (data[from + index] !== DONE[index]) return false
  return true
}

// Watches a relayed chat stream: what each event is, whether every choice got its reason to stop, and
// what was used. The events themselves are never changed.
import { advise } from '../../core/problem.ts'
import type { Usage } from '../../core/usage.ts'
import type { FrameKind, StreamWatcher } from '../dialect.ts'
import { isBlank, isFields, parseJson, type Fields } from '../json.ts'
import { outline } from './outline.ts'
import { audioOf, outputOf, saysSomething } from './output.ts'
import { problem } from './problem.ts'
import { TextShape } from '../shape.ts'
import { largerUsage, NO_USAGE, readUsage, type UsageReading } from './usage.ts'

/** Making values of a longer event could keep the process busy for a second. */
const PARSED_BYTES_MAX = 1_048_576

const FIRST = [0]
const TEXT = new TextEncoder().encode('"content":"')

export function watch(): StreamWatcher {
  return new ChatWatcher()
}

class ChatWatcher implements StreamWatcher {
  /** Choices that have begun and not stopped. */
  readonly #open = new Set<number>()
  readonly #stopped = new Set<number>()
  readonly #shape = new TextShape(TEXT)
  #usage: Usage | undefined
  #reading: UsageReading = NO_USAGE
  #outputBytes = 0
  #audioBytes = 0
  /** How much had been put out when a usage was told last. */
  #toldAt = -1

  see(data: Uint8Array, from: number, to: number): FrameKind {
    if (from === to) return 'void'
    if (isDone(data, from, to)) return 'end'
    if (this.#shape.fits(data, from, to)) {
      this.#outputBytes += this.#shape.textBytes
      return 'content'
    }
    const chunk = readChunk(data, from, to)
    const { choices, usage } = chunk
    const hasUsage = isFields(usage)
    const hasChoices = Array.isArray(choices) && choices.length > 0
    const outputBytes = this.#outputBytes
    const audioBytes = this.#audioBytes
    const hasContent = hasChoices && this.#seeChoices(choices)
    // A usage is told of what stands beside it, too.
    this.#seeUsage(usage)
    if (!hasChoices) return hasUsage ? 'usage' : 'preamble'
    if (!hasContent) return 'preamble'
    if (isBlank(usage) && audioBytes === this.#audioBytes && !choices.some(isStopped))
      this.#shape.learn(data, from, to, this.#outputBytes - outputBytes)
    return 'content'
  }

  isFinished(choices: number): boolean {
    return this.#open.size === 0 && this.#stopped.size >= choices
  }

  openChoices(): readonly number[] {
    return this.#open.size === 0 && this.#stopped.size === 0 ? FIRST : [...this.#open]
  }

  usage(): Usage | undefined {
    return this.#usage
  }

  isUsageLast(): boolean {
    return this.#toldAt === this.#outputBytes
  }

  outputBytes(): number {
    return this.#outputBytes
  }

  /** Suppliers of this language give no sign of what they do not show. */
  unshownBytes(): number {
    return 0
  }

  audioBytes(): number {
    return this.#audioBytes
  }

  hasUnreadUsage(): boolean {
    return this.#reading.isUnread
  }

  #seeUsage(usage: unknown): void {
    if (isBlank(usage)) return
    this.#reading = readUsage(usage)
    const told = this.#reading.usage
    if (told === undefined) return
    this.#usage = this.#usage === undefined ? told : largerUsage(this.#usage, told)
    this.#toldAt = this.#outputBytes
  }

  /** True when any of them says something. */
  #seeChoices(choices: readonly unknown[]): boolean {
    let hasContent = false
    for (const [position, choice] of choices.entries()) {
      if (!isFields(choice)) continue
      const { delta } = choice
      const index = typeof choice['index'] === 'number' ? choice['index'] : position
      if (isStopped(choice)) this.#stopped.add(index)
      // Some suppliers add usage or filter results to a choice that already has its reason.
      if (this.#stopped.has(index)) this.#open.delete(index)
      else this.#open.add(index)
      if (!isFields(delta) || !saysSomething(delta)) continue
      hasContent = true
      this.#outputBytes += outputOf(delta)
      this.#audioBytes += audioOf(delta)
    }
    return hasContent
  }
}

/** The chunk of an event; throws for what is none, and for what says that the supplier failed. */
function readChunk(data: Uint8Array, from: number, to: number): Fields {
  const chunk =
    to - from > PARSED_BYTES_MAX ? outline(data, from, to) : parseJson(data.subarray(from, to))
  if (!isFields(chunk))
    throw advise('stream_error', 'The supplier sent an event that is not valid JSON.')
  // Some suppliers send an error flat, without an object around it.
  if (!isBlank(chunk['error']) || chunk['object'] === 'error')
    throw problem.decode(0, data.subarray(from, to))
  return chunk
}

function isStopped(choice: unknown): boolean {
  return isFields(choice) && !isBlank(choice['finish_reason'])
}

const DONE = new TextEncoder().encode('[DONE]')

function isDone(data: Uint8Array, from: number, to: number): boolean {
  if (to - from < DONE.length) return false
  for (let index = 0; index < DONE.length; index++)
    if (data[from + index] !== DONE[index]) return false
  return true
}

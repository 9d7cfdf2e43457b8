// Watches a relayed chat stream: what each event is, whether every choice got its reason to stop, and
// what was used. The events themselves are never changed.
import { advise } from '../../core/problem.ts'
import type { Usage } from '../../core/usage.ts'
import type { FrameKind, StreamWatcher } from '../dialect.ts'
import { isBlank, isFields, parseJson, type Fields } from './json.ts'
import { outline } from './outline.ts'
import { problem } from './problem.ts'
import { TextShape } from './shape.ts'
import { NO_USAGE, readUsage, type UsageReading } from './usage.ts'

/** Making values of a longer event could keep the process busy for a second. */
const PARSED_BYTES_MAX = 1_048_576

export function watch(): StreamWatcher {
  return new ChatWatcher()
}

class ChatWatcher implements StreamWatcher {
  /** Choices that have begun and not stopped. */
  readonly #open = new Set<number>()
  readonly #stopped = new Set<number>()
  readonly #shape = new TextShape()
  #usage: Usage | undefined
  #reading: UsageReading = NO_USAGE

  see(data: Uint8Array, from: number, to: number): FrameKind {
    if (from === to) return 'void'
    if (isDone(data, from, to)) return 'end'
    if (this.#shape.fits(data, from, to)) return 'content'
    const chunk = readChunk(data, from, to)
    const { choices, usage } = chunk
    const hasUsage = isFields(usage)
    if (!isBlank(usage)) this.#seeUsage(usage)
    if (!Array.isArray(choices) || choices.length === 0) return hasUsage ? 'usage' : 'preamble'
    if (!this.#seeChoices(choices)) return 'preamble'
    if (isBlank(usage) && !choices.some(isStopped)) this.#shape.learn(data, from, to)
    return 'content'
  }

  isFinished(choices: number): boolean {
    return this.#open.size === 0 && this.#stopped.size >= choices
  }

  usage(): Usage | undefined {
    return this.#usage
  }

  hasUnreadUsage(): boolean {
    return this.#reading.isUnread
  }

  #seeUsage(usage: unknown): void {
    this.#reading = readUsage(usage)
    this.#usage = this.#reading.usage ?? this.#usage
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
      if (isFields(delta) && saysSomething(delta)) hasContent = true
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

/** Output is whatever stands beside the role: text, a tool call, reasoning, audio. */
function saysSomething(delta: Fields): boolean {
  for (const name in delta) if (name !== 'role' && !isBlank(delta[name])) return true
  return false
}

const DONE = new TextEncoder().encode('[DONE]')

function isDone(data: Uint8Array, from: number, to: number): boolean {
  if (to - from < DONE.length) return false
  for (let index = 0; index < DONE.length; index++)
    if (data[from + index] !== DONE[index]) return false
  return true
}

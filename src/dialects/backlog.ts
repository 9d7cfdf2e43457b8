// What one stream makes the gateway keep for later. A supplier that begins without end and finishes nothing would
// otherwise have as much of the memory as it likes: beyond a bound its stream has failed.
import { advise } from '../core/problem.ts'

/** In characters. Whole answers are shorter; what waits within one is next to nothing. */
export const BACKLOG_MAX = 4_194_304

/** What anything that is kept takes beside its text. */
export const ENTRY = 512

export class Backlog {
  readonly #max: number
  #size = 0

  /** `max`: for what is bounded already, because it came at once. */
  constructor(max: number = BACKLOG_MAX) {
    this.#max = max
  }

  add(size: number): void {
    this.#size += size
    if (this.#size <= this.#max) return
    throw advise(
      'provider_response_too_large',
      'The supplier began more in one stream than can be kept until it is finished.',
    )
  }

  /** Of what was added before. */
  release(size: number): void {
    this.#size -= size
  }
}

const LEVELS_MAX = 64
/** Nobody goes down there to find out. */
const DEEP = 1_048_576
const VALUE = 32

/** About what a value takes that was parsed, in characters. */
export function sizeOf(value: unknown, levels: number = LEVELS_MAX): number {
  if (typeof value === 'string') return VALUE + value.length
  if (typeof value !== 'object' || value === null) return VALUE
  if (levels === 0) return DEEP
  let size = VALUE
  for (const [name, each] of Object.entries(value)) size += name.length + sizeOf(each, levels - 1)
  return size
}

// Usage as messages suppliers report it: what a cache answered and what was written to one stand beside the
// input, and a stream tells it twice. What cannot be read is said to be so, and is never zero.
import type { Usage } from '../../core/usage.ts'
import { Told } from '../figures.ts'
import { asFields, isBlank, isFields, parseJson, type Fields } from '../json.ts'

/** A usage is a few hundred bytes; making values of millions would keep the process busy. */
const USAGE_BYTES_MAX = 65_536

/** What a supplier says of the input; undefined where it does not. */
interface Input {
  readonly plain: number | undefined
  readonly cached: number | undefined
  /** Writes that live an hour cost more than the others, and a price has one rate for both. */
  readonly cacheWrite: number | undefined
}

/** Work beside the answer, which the figures of the answer leave out. */
interface Beside {
  readonly input: number
  readonly output: number
}

const NOTHING: Beside = { input: 0, output: 0 }
/** A summary of the conversation, and the advice of another model (seen in the maker's client, 2026-11). */
const BESIDE = new Set<unknown>(['compaction', 'advisor_message'])

/** All that is told of one answer. */
export class UsageTally {
  #input: Input | undefined
  #output: number | undefined
  #thinking = 0
  #beside = NOTHING
  /** The last that was told could not be read, in whole or in part. */
  isUnread = false

  /** True where an output was told: a figure of the input alone says nothing of what was put out. */
  tell(value: unknown): boolean {
    if (isBlank(value)) return false
    const told = new Told()
    const fields = asFields(value)
    const output = told.count(fields, 'output_tokens')
    const input: Input = {
      plain: told.count(fields, 'input_tokens'),
      cached: told.count(fields, 'cache_read_input_tokens'),
      cacheWrite: told.count(fields, 'cache_creation_input_tokens'),
    }
    this.#input = laterOf(this.#input, input)
    // It is counted from the beginning each time, so what is told again and smaller takes nothing back.
    if (output !== undefined) this.#output = Math.max(output, this.#output ?? 0)
    const details = asFields(fields?.['output_tokens_details'])
    this.#thinking = Math.max(this.#thinking, told.count(details, 'thinking_tokens') ?? 0)
    this.#beside = readBeside(fields?.['iterations'], told) ?? this.#beside
    this.isUnread = told.isUnread || fields === undefined
    return output !== undefined
  }

  /** Reads the usage whose text stands between two offsets. */
  tellText(bytes: Uint8Array, from: number, to: number): void {
    if (to - from > USAGE_BYTES_MAX) this.isUnread = true
    else this.tell(parseJson(bytes.subarray(from, to)))
  }

  /** Undefined until both input and output were told. */
  get usage(): Usage | undefined {
    if (this.#input?.plain === undefined || this.#output === undefined) return undefined
    const { plain, cached = 0, cacheWrite = 0 } = this.#input
    return {
      inputTokens: plain + cached + cacheWrite + this.#beside.input,
      cachedTokens: cached,
      cacheWriteTokens: cacheWrite,
      audioInputTokens: 0,
      outputTokens: this.#output + this.#beside.output,
      reasoningTokens: Math.min(this.#thinking, this.#output),
      audioOutputTokens: 0,
    }
  }
}

/**
 * What is told last counts, because some begin with a guess; but zeros at the end are how others leave it out, who
 * have told it at the beginning.
 */
function laterOf(before: Input | undefined, later: Input): Input {
  if (before === undefined) return later
  const { plain, cached, cacheWrite } = later
  if (sumOf(later) === 0) return { ...before, plain: before.plain ?? plain }
  if (cached === undefined && cacheWrite === undefined)
    return { ...before, plain: plainOf(before, plain) }
  return {
    plain: plain ?? before.plain,
    cached: cached ?? before.cached,
    cacheWrite: cacheWrite ?? before.cacheWrite,
  }
}

/**
 * A single figure at the end is all of the input where it can be: some tell the parts at the beginning and the sum at
 * the end. One that is smaller takes nothing back.
 */
function plainOf({ plain = 0, cached = 0, cacheWrite = 0 }: Input, later = 0): number {
  const parts = cached + cacheWrite
  return later >= plain + parts ? later - parts : Math.max(later, plain)
}

function sumOf({ plain = 0, cached = 0, cacheWrite = 0 }: Input): number {
  return plain + cached + cacheWrite
}

function readBeside(iterations: unknown, told: Told): Beside | undefined {
  if (!Array.isArray(iterations)) return undefined
  let { input, output } = NOTHING
  for (const each of iterations) {
    if (!isFields(each) || !BESIDE.has(each['type'])) continue
    input += inputOf(each, told)
    output += told.count(each, 'output_tokens') ?? 0
  }
  return { input, output }
}

function inputOf(fields: Fields, told: Told): number {
  return (
    (told.count(fields, 'input_tokens') ?? 0) +
    (told.count(fields, 'cache_read_input_tokens') ?? 0) +
    (told.count(fields, 'cache_creation_input_tokens') ?? 0)
  )
}

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
  readonly cacheWrite: number | undefined
  /** The part of the writes that is kept for an hour, which costs more. */
  readonly cacheWriteLong: number | undefined
}

/** Work beside the answer, which the figures of the answer leave out. */
interface Beside {
  readonly plain: number
  readonly cached: number
  readonly cacheWrite: number
  readonly cacheWriteLong: number
  readonly output: number
  /** Of the answer itself, round by round: a stream tells it nowhere else once there are several. */
  readonly roundsLong: number
}

const NOTHING: Beside = {
  plain: 0,
  cached: 0,
  cacheWrite: 0,
  cacheWriteLong: 0,
  output: 0,
  roundsLong: 0,
}
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
    const input = readInput(fields, told)
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
    const { plain, cached = 0, cacheWrite = 0, cacheWriteLong = 0 } = this.#input
    const beside = this.#beside
    const cachedTokens = cached + beside.cached
    const cacheWriteTokens = cacheWrite + beside.cacheWrite
    const long = Math.min(Math.max(cacheWriteLong, beside.roundsLong), cacheWrite)
    return {
      inputTokens: plain + beside.plain + cachedTokens + cacheWriteTokens,
      cachedTokens,
      cacheWriteTokens,
      cacheWriteLongTokens: long + beside.cacheWriteLong,
      audioInputTokens: 0,
      outputTokens: this.#output + beside.output,
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
    cacheWriteLong: later.cacheWriteLong ?? longOf(before, cacheWrite),
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

/** The end of a stream tells only the sum. What it has more than the beginning is taken for the dearer, if that had any. */
function longOf({ cacheWrite: before = 0, cacheWriteLong = 0 }: Input, later = before): number {
  return cacheWriteLong === 0 ? 0 : cacheWriteLong + Math.max(0, later - before)
}

/** The sum and its two parts are the same twice; where they are not, the larger counts. */
function readInput(fields: Fields | undefined, told: Told): Input {
  const parts = asFields(fields?.['cache_creation'])
  const short = told.count(parts, 'ephemeral_5m_input_tokens')
  const long = told.count(parts, 'ephemeral_1h_input_tokens')
  const sum = told.count(fields, 'cache_creation_input_tokens')
  const isSplit = short !== undefined || long !== undefined
  return {
    plain: told.count(fields, 'input_tokens'),
    cached: told.count(fields, 'cache_read_input_tokens'),
    cacheWrite: isSplit ? Math.max(sum ?? 0, (short ?? 0) + (long ?? 0)) : sum,
    cacheWriteLong: long,
  }
}

function readBeside(iterations: unknown, told: Told): Beside | undefined {
  if (!Array.isArray(iterations)) return undefined
  let sum = NOTHING
  for (const each of iterations) {
    if (!isFields(each)) continue
    const input = readInput(each, told)
    sum = BESIDE.has(each['type'])
      ? addBeside(sum, input, told.count(each, 'output_tokens'))
      : { ...sum, roundsLong: sum.roundsLong + (input.cacheWriteLong ?? 0) }
  }
  return sum
}

function addBeside(sum: Beside, input: Input, output = 0): Beside {
  const { plain = 0, cached = 0, cacheWrite = 0, cacheWriteLong = 0 } = input
  return {
    plain: sum.plain + plain,
    cached: sum.cached + cached,
    cacheWrite: sum.cacheWrite + cacheWrite,
    cacheWriteLong: sum.cacheWriteLong + cacheWriteLong,
    output: sum.output + output,
    roundsLong: sum.roundsLong,
  }
}

// The main thread's side of counting tokens: an upper bound where a call's bytes would not fit, and a fair count for
// whoever only asks. The Worker and its vocabulary exist from the first question until nobody has asked for a while,
// and what cannot be told in time is not told. Money goes before curiosity, and keys take turns.
import { Worker } from 'node:worker_threads'
// The merge tables as their maker publishes them, embedded in a compiled program: only this form of
// import yields the paths of the copies there. No code of the package is ever run.
// @ts-expect-error -- `file` exports the path of a file that has no types
import cl100kPath from 'vocabularies/data/cl100k_base.tiktoken' with { type: 'file' }
// @ts-expect-error -- the same
import o200kPath from 'vocabularies/data/o200k_base.tiktoken' with { type: 'file' }
import type { Place } from '../../core/chain.ts'
import type { Clock } from '../../core/clock.ts'
import type { Load, Span, TokenizerName } from '../../core/load.ts'
// @ts-expect-error -- the same, and plain JavaScript
// oxlint-disable-next-line import/default -- `file` exports the path, whatever the file itself exports
import workerPath from './count-worker.js' with { type: 'file' }

/** Why there is no count: `final` where asking again would not help, `late` where it could not be had in time. */
export type Uncounted = 'final' | 'late'

export interface Counter {
  /** Tokens of the body's text without its inline stretches. An upper bound. */
  count(
    body: Uint8Array,
    load: Load,
    tokenizer: TokenizerName | undefined,
    keyId: string,
  ): Promise<number | Uncounted>
  /**
   * The same as a fair count, by one of the vocabularies that we have; of a long text by samples of it. It has more
   * time, and waits for whoever needs a bound.
   */
  measure(
    body: Uint8Array,
    load: Load,
    tokenizer: TokenizerName | undefined,
    keyId: string,
  ): Promise<number | 'late'>
  /**
   * Which of these strings of the body, with their quotes and in order, is the first with more than so many tokens; -1
   * where none is. Exact for those of up to 32,768 bytes. It waits as a measure does, and no longer than a bound.
   */
  findLonger(
    body: Uint8Array,
    strings: readonly Span[],
    tokensMax: number,
    asker: Asker,
  ): Promise<number | 'late'>
  /** Nobody waits for anything. */
  isIdle(): boolean
  /** Everything that is still open is late, and everything that is asked from now on. */
  close(): void
}

export interface Asker {
  readonly tokenizer: TokenizerName
  readonly keyId: string
}

export interface CounterOptions {
  readonly clock: Clock
  readonly start?: () => Worker
}

/** What the Worker is sent; its answer is the number alone. */
interface CountRequest {
  readonly text: Uint8Array<ArrayBuffer>
  readonly tokenizer: Measure
  /**
   * `most`: no reading has more tokens. `fair`: as it is most likely read. `flat`: pieces of JSON, and no JSON. `longer`:
   * strings one after the other, of which the first is wanted that has more than `tokensMax`.
   */
  readonly reading: Reading
  readonly tokensMax: number
}

type Reading = 'most' | 'fair' | 'flat' | 'longer'

/** `other` stands for every vocabulary that we do not have. */
type Measure = TokenizerName | 'other'

interface Question {
  readonly body: Uint8Array
  /** What is left out of it. */
  readonly gaps: readonly Span[]
  readonly tokenizer: Measure
  readonly reading: Reading
  readonly tokensMax?: number
  readonly keyId: string
}

interface Job extends Question {
  readonly answer: PromiseWithResolvers<number | 'late'>
  readonly due: number
  deadline: Place | undefined
}

/** More text than this is beyond every model's window, which then is the bound. */
const TEXT_BYTES_MAX = 8 * 1024 * 1024
/** What is only measured must not keep the Worker for long from whoever needs a bound. */
const MEASURED_BYTES_MAX = 1024 * 1024
const SAMPLES = 32
const DEADLINE_MS = 1000
const MEASURE_DEADLINE_MS = 3000
/** How many wait for a bound at once, of all keys and of one; and how many to have something measured. */
const BOUNDS: LineLimits = { all: 32, key: 4 }
const MEASURES: LineLimits = { all: 256, key: 64 }
/** A Worker that has to start first answers nothing in less than this, so it is not started. */
const START_MS = 250
const IDLE_MS = 60_000

export function startCounting(): Worker {
  const paths: Record<TokenizerName, string> = {
    o200k: String(o200kPath),
    cl100k: String(cl100kPath),
  }
  return new Worker(String(workerPath), { workerData: paths })
}

export function createCounter({ clock, start = startCounting }: CounterOptions): Counter {
  const queue = new Queue(clock, start)
  return {
    async count(body, { inline: gaps }, tokenizer, keyId) {
      const bytes = textBytes(body, gaps)
      if (bytes > TEXT_BYTES_MAX) return 'final'
      const question = { body, gaps, tokenizer: tokenizer ?? 'other', keyId } as const
      const tokens = await queue.ask({ ...question, reading: 'most' })
      // A token stands for one byte at least, whatever the vocabulary.
      return tokens === 'late' ? tokens : Math.min(bytes, tokens)
    },
    async measure(body, { inline }, tokenizer, keyId) {
      const bytes = textBytes(body, inline)
      const isLong = bytes > MEASURED_BYTES_MAX
      const gaps = isLong ? gapsBetween(samplesOf(body, inline), body.length) : inline
      const reading = isLong ? 'flat' : 'fair'
      const tokens = await queue.ask({
        body,
        gaps,
        tokenizer: tokenizer ?? 'o200k',
        reading,
        keyId,
      })
      if (tokens === 'late' || !isLong) return tokens
      return Math.round((tokens * bytes) / textBytes(body, gaps))
    },
    findLonger(body, strings, tokensMax, asker) {
      const gaps = gapsBetween(strings, body.length)
      return queue.ask({ body, gaps, reading: 'longer', tokensMax, ...asker })
    },
    isIdle: () => queue.isIdle,
    close: () => queue.close(),
  }
}

interface LineLimits {
  readonly all: number
  readonly key: number
}

/** Jobs that wait: keys in the order of their turns, and each key's in its own. */
class Line {
  readonly #jobs = new Map<string, Job[]>()
  readonly #limits: LineLimits
  #size = 0

  constructor(limits: LineLimits) {
    this.#limits = limits
  }

  isFullFor(keyId: string): boolean {
    const { all, key } = this.#limits
    return this.#size >= all || (this.#jobs.get(keyId)?.length ?? 0) >= key
  }

  add(job: Job): void {
    const own = this.#jobs.get(job.keyId) ?? []
    own.push(job)
    this.#jobs.set(job.keyId, own)
    this.#size += 1
  }

  /** Takes the oldest of the key whose turn it is. */
  next(): Job | undefined {
    const turn = this.#jobs.entries().next().value
    if (turn === undefined) return undefined
    const [keyId, own] = turn
    const job = own.shift()
    this.#size -= 1
    this.#jobs.delete(keyId)
    if (own.length > 0) this.#jobs.set(keyId, own)
    return job
  }

  remove(job: Job): void {
    const own = this.#jobs.get(job.keyId) ?? []
    const at = own.indexOf(job)
    if (at < 0) return
    own.splice(at, 1)
    if (own.length === 0) this.#jobs.delete(job.keyId)
    this.#size -= 1
  }
}

/** One job is in the Worker's hands. The others wait here. */
class Queue {
  readonly #clock: Clock
  readonly #start: () => Worker
  readonly #bounds = new Line(BOUNDS)
  readonly #measures = new Line(MEASURES)
  #running: Job | undefined
  #worker: Worker | undefined
  #rest: Place | undefined
  #isClosed = false

  constructor(clock: Clock, start: () => Worker) {
    this.#clock = clock
    this.#start = start
  }

  get isIdle(): boolean {
    return this.#running === undefined && !this.#isClosed
  }

  ask(question: Question): Promise<number | 'late'> {
    const line = this.#lineOf(question)
    if (this.#isClosed || line.isFullFor(question.keyId)) return Promise.resolve('late')
    const answer = Promise.withResolvers<number | 'late'>()
    const waitMs = isCall(question) ? DEADLINE_MS : MEASURE_DEADLINE_MS
    const due = this.#clock.elapsed() + waitMs
    const job: Job = { ...question, answer, due, deadline: undefined }
    job.deadline = this.#clock.after(waitMs, { tick: () => this.#expire(job) })
    line.add(job)
    if (this.#running === undefined) this.#begin()
    return answer.promise
  }

  #lineOf({ reading }: Question): Line {
    return reading === 'most' ? this.#bounds : this.#measures
  }

  close(): void {
    this.#isClosed = true
    this.#dismiss()
    for (let job = this.#running; job !== undefined; job = this.#next()) finish(job, 'late')
    this.#running = undefined
  }

  /** Hands the next job to the Worker; without a job the Worker may rest. */
  #begin(): void {
    this.#rest?.leave()
    this.#rest = undefined
    let job = this.#next()
    while (job !== undefined && !this.#hand(job)) {
      finish(job, 'late')
      job = this.#next()
    }
    this.#running = job
    if (job === undefined && this.#worker !== undefined)
      this.#rest = this.#clock.after(IDLE_MS, { tick: () => this.#dismiss() })
  }

  /** A measure waits until nobody needs a bound. */
  #next(): Job | undefined {
    return this.#bounds.next() ?? this.#measures.next()
  }

  #hand(job: Job): boolean {
    if (this.#worker === undefined && job.due - this.#clock.elapsed() < START_MS) return false
    try {
      this.#worker ??= this.#open()
      const { tokenizer, reading, tokensMax = Infinity } = job
      const request: CountRequest = { text: textOf(job), tokenizer, reading, tokensMax }
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      this.#worker.postMessage(request, [request.text.buffer])
      // It may have waited for nearly all of its time, and a Worker that is at work is not ended for that.
      if (reading !== 'most') this.#allow(job)
      return true
    } catch {
      // A machine without room for a thread, for now.
      return false
    }
  }

  /** From now on as much time as a bound gets. */
  #allow(job: Job): void {
    job.deadline?.leave()
    job.deadline = this.#clock.after(DEADLINE_MS, { tick: () => this.#expire(job) })
  }

  /** A Worker that has not answered by now may never do so, and would keep a core until then. */
  #expire(job: Job): void {
    if (job === this.#running) {
      this.#dismiss()
      this.#go('late')
      return
    }
    this.#lineOf(job).remove(job)
    finish(job, 'late')
  }

  #open(): Worker {
    const worker = this.#start()
    worker.on('message', (tokens: unknown) => {
      if (worker === this.#worker) this.#go(typeof tokens === 'number' ? tokens : 'late')
    })
    // Listened to because nobody else would catch it: the end follows, and is what counts.
    worker.on('error', () => undefined)
    worker.on('exit', () => {
      if (worker !== this.#worker) return
      this.#worker = undefined
      this.#go('late')
    })
    // It keeps no process alive. Last, because a listener for messages takes that back (Bun 1.4).
    worker.unref()
    return worker
  }

  /** The Worker is done with its job, or gone. */
  #go(tokens: number | 'late'): void {
    if (this.#running !== undefined) finish(this.#running, tokens)
    this.#begin()
  }

  /** Its memory goes back with it. */
  #dismiss(): void {
    this.#rest?.leave()
    this.#rest = undefined
    const worker = this.#worker
    this.#worker = undefined
    void worker?.terminate()
  }
}

/** A call waits for it. */
function isCall({ reading }: Question): boolean {
  return reading === 'most' || reading === 'longer'
}

function finish({ deadline, answer }: Job, tokens: number | 'late'): void {
  deadline?.leave()
  answer.resolve(tokens)
}

function textBytes(body: Uint8Array, gaps: readonly Span[]): number {
  return gaps.reduce((bytes, { from, to }) => bytes - (to - from), body.length)
}

/** A copy, made when its turn has come: it is given away to the Worker, and so many could be waiting. */
function textOf({ body, gaps }: Job): Uint8Array<ArrayBuffer> {
  const text = new Uint8Array(textBytes(body, gaps))
  let end = 0
  for (const { from, to } of gapsBetween(gaps, body.length)) {
    text.set(body.subarray(from, to), end)
    end += to - from
  }
  return text
}

/** What lies between the spans, which are in order. */
function gapsBetween(spans: readonly Span[], length: number): readonly Span[] {
  const gaps: Span[] = []
  let from = 0
  for (const span of [...spans, { from: length, to: length }]) {
    if (span.from > from) gaps.push({ from, to: span.from })
    from = span.to
  }
  return gaps
}

/** Pieces of the text at equal distances, so long together as may be measured. */
function samplesOf(body: Uint8Array, inline: readonly Span[]): readonly Span[] {
  const stride = textBytes(body, inline) / SAMPLES
  const length = Math.floor(MEASURED_BYTES_MAX / SAMPLES)
  const samples: Span[] = []
  // Where this stretch begins in the text alone.
  let before = 0
  let taken = 0
  for (const { from, to } of gapsBetween(inline, body.length)) {
    while (taken < SAMPLES && taken * stride < before + to - from) {
      const start = from + Math.floor(taken * stride) - before
      samples.push({ from: start, to: Math.min(start + length, to) })
      taken += 1
    }
    before += to - from
  }
  return samples
}

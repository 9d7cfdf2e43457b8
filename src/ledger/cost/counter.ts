// The main thread's side of counting tokens. It is asked only where a call's bytes would not fit, so the
// Worker and its vocabulary exist from the first question until nobody has asked for a while, and no
// question takes longer than it is worth: what cannot be told in time is not told. Keys take turns, so that
// none of them can keep the others from being counted.
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
  /** Everything that is still open is late, and everything that is asked from now on. */
  close(): void
}

export interface CounterOptions {
  readonly clock: Clock
  readonly start?: () => Worker
}

/** What the Worker is sent; its answer is the number alone. */
interface CountRequest {
  readonly text: Uint8Array<ArrayBuffer>
  readonly tokenizer: Measure
}

/** `other` stands for every vocabulary that we do not have. */
type Measure = TokenizerName | 'other'

interface Question {
  readonly body: Uint8Array
  readonly inline: readonly Span[]
  readonly tokenizer: Measure
  readonly keyId: string
}

interface Job extends Question {
  readonly answer: PromiseWithResolvers<number | 'late'>
  readonly due: number
  deadline: Place | undefined
}

/** More text than this is beyond every model's window, which then is the bound. */
const TEXT_BYTES_MAX = 8 * 1024 * 1024
const WAITING_MAX = 32
const WAITING_KEY_MAX = 4
const DEADLINE_MS = 1000
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
    async count(body, { inline }, tokenizer, keyId) {
      const bytes = textBytes(body, inline)
      if (bytes > TEXT_BYTES_MAX) return 'final'
      const tokens = await queue.ask({ body, inline, tokenizer: tokenizer ?? 'other', keyId })
      // A token stands for one byte at least, whatever the vocabulary.
      return tokens === 'late' ? tokens : Math.min(bytes, tokens)
    },
    close: () => queue.close(),
  }
}

/** One job is in the Worker's hands. The others wait here: keys in the order of their turns, and each in its own. */
class Queue {
  readonly #clock: Clock
  readonly #start: () => Worker
  readonly #waiting = new Map<string, Job[]>()
  #waitingCount = 0
  #running: Job | undefined
  #worker: Worker | undefined
  #rest: Place | undefined
  #isClosed = false

  constructor(clock: Clock, start: () => Worker) {
    this.#clock = clock
    this.#start = start
  }

  ask(question: Question): Promise<number | 'late'> {
    const line = this.#waiting.get(question.keyId) ?? []
    const isFull = this.#waitingCount >= WAITING_MAX || line.length >= WAITING_KEY_MAX
    if (this.#isClosed || isFull) return Promise.resolve('late')
    const answer = Promise.withResolvers<number | 'late'>()
    const due = this.#clock.elapsed() + DEADLINE_MS
    const job: Job = { ...question, answer, due, deadline: undefined }
    job.deadline = this.#clock.after(DEADLINE_MS, { tick: () => this.#expire(job) })
    line.push(job)
    this.#waiting.set(job.keyId, line)
    this.#waitingCount += 1
    if (this.#running === undefined) this.#begin()
    return answer.promise
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

  /** Takes the oldest of the key whose turn it is. */
  #next(): Job | undefined {
    const turn = this.#waiting.entries().next().value
    if (turn === undefined) return undefined
    const [keyId, line] = turn
    const job = line.shift()
    this.#waitingCount -= 1
    this.#waiting.delete(keyId)
    if (line.length > 0) this.#waiting.set(keyId, line)
    return job
  }

  #hand(job: Job): boolean {
    if (this.#worker === undefined && job.due - this.#clock.elapsed() < START_MS) return false
    try {
      this.#worker ??= this.#open()
      const request: CountRequest = { text: textOf(job), tokenizer: job.tokenizer }
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      this.#worker.postMessage(request, [request.text.buffer])
      return true
    } catch {
      // A machine without room for a thread, for now.
      return false
    }
  }

  /** A Worker that has not answered by now may never do so, and would keep a core until then. */
  #expire(job: Job): void {
    if (job === this.#running) {
      this.#dismiss()
      this.#go('late')
      return
    }
    const line = this.#waiting.get(job.keyId) ?? []
    line.splice(line.indexOf(job), 1)
    if (line.length === 0) this.#waiting.delete(job.keyId)
    this.#waitingCount -= 1
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

function finish({ deadline, answer }: Job, tokens: number | 'late'): void {
  deadline?.leave()
  answer.resolve(tokens)
}

function textBytes(body: Uint8Array, inline: readonly Span[]): number {
  return inline.reduce((bytes, { from, to }) => bytes - (to - from), body.length)
}

/** A copy, made when its turn has come: it is given away to the Worker, and so many could be waiting. */
function textOf({ body, inline }: Job): Uint8Array<ArrayBuffer> {
  const text = new Uint8Array(textBytes(body, inline))
  let end = 0
  let from = 0
  for (const span of [...inline, { from: body.length, to: body.length }]) {
    text.set(body.subarray(from, span.from), end)
    end += span.from - from
    from = span.to
  }
  return text
}

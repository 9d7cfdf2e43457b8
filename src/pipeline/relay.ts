// One supplier's stream on its way to a caller. Events pass as the very bytes that came, or converted where the caller
// speaks another language; the end is kept back until the books are closed, and a cut is never passed off as one.
import { advise, asLate, GatewayError } from '../core/problem.ts'
import type { Load } from '../core/load.ts'
import type { Usage } from '../core/usage.ts'
import type { StreamPlace } from '../dialects/codec.ts'
import type { Basics, FrameKind, FrameNormalizer, StreamWatcher } from '../dialects/dialect.ts'
import { estimateUsage, isSpent } from '../ledger/cost/estimate.ts'
import { asFailure } from '../upstream/client.ts'
import { CallerGone, type Lifeline } from '../upstream/lifeline.ts'
import { FrameTooLarge, SseSplitter, type FrameData, type FrameSink } from '../wire/sse.ts'
import type { Attempt } from '../routing/routes.ts'
import type { Held, Plant } from './call.ts'
import { StreamConverter } from './convert.ts'
import { isRelayed } from './request.ts'
import { isDrained } from './drain.ts'
import { inBand, scrub } from './refusal.ts'

/** How much of an answer without content is kept before the supplier is given up. */
const PREAMBLE_BYTES_MAX = 1_048_576
/** How long a supplier may take to end a stream that it has already closed by its marker. */
const CLOSING_MS = 2_000

const encoder = new TextEncoder()
const LF = 0x0a
const CR = 0x0d
const BLANK_LINE = new Uint8Array([LF, LF])

/** The runtime's reader; its two declared types disagree on everything but this. */
interface Reader {
  read(): Promise<Chunk>
}

interface Chunk {
  readonly done: boolean
  readonly value?: Uint8Array | undefined
}

export class RelayStream implements FrameSink {
  readonly #attempt: Attempt
  readonly #watcher: StreamWatcher
  /** Prints an event anew with what its supplier leaves out; undefined where events pass as they came. */
  readonly #normalizer: FrameNormalizer | undefined
  /** Undefined where caller and supplier speak the same language. */
  readonly #converter: StreamConverter | undefined
  readonly #splitter: SseSplitter
  readonly #reader: Reader
  readonly #lifeline: Lifeline
  readonly #keepsUsage: boolean
  readonly #choices: number
  /** The most output tokens that were held for; `ENDLESS_TOKENS` where nothing bounds them. */
  readonly #tokensMax: number
  readonly #basics: Basics
  readonly #load: Load
  /** Bytes that are ready to go out. */
  readonly #ready: Uint8Array[] = []
  /** The run of passed events in the buffer at hand. */
  #buffer: Uint8Array | undefined
  #from = 0
  #to = 0
  /** Any event has come before the one at hand. */
  #hasSpoken = false
  #hasContent = false
  #isDone = false
  /** The supplier's closing marker has come. */
  #isMarked = false
  #hasEnded = false
  #isCutOff = false
  #failure: GatewayError | CallerGone | undefined
  #marker: Uint8Array | undefined
  /** Converted events that are not bytes yet. */
  #text = ''

  constructor(call: Held, body: ReadableStream<Uint8Array>, lifeline: Lifeline, plant: Plant) {
    const tried = call.tries.at(-1)!
    const { attempt, index } = tried
    const { dialect, modelId, rewrite } = attempt
    const isSame = isRelayed(call, attempt)
    this.#attempt = attempt
    this.#load = call.facts.load
    this.#watcher = dialect.relay.watch()
    this.#basics = basicsOf(call, modelId)
    this.#converter = isSame ? undefined : new StreamConverter(call, tried)
    this.#normalizer =
      rewrite.normalize === true ? dialect.relay.normalize?.frames(this.#basics) : undefined
    this.#keepsUsage = call.facts.asksUsage
    this.#choices = call.facts.choices
    this.#tokensMax = call.bound.outputTokensAt(index, call.fit)
    this.#splitter = new SseSplitter(this, plant.limits.frameBytesMax)
    this.#reader = body.getReader()
    this.#lifeline = lifeline
    if (!isDrained(call, plant)) this.lingerForUsage()
  }

  /**
   * Many clients hang up at the reason to stop; what the whole answer used comes right after it, and what was
   * told of it before may be anything. Nothing else is worth waiting for once the caller has gone.
   */
  lingerForUsage(): void {
    this.#lifeline.lingerWhile(
      () => !this.#hasEnded && (this.#isFinished() || this.#watcher.isClosing?.() === true),
    )
  }

  /** Reads up to the first content. Until then nothing was passed on, and another supplier may be asked. */
  async open(): Promise<void> {
    while (!this.#hasContent && !this.#isDone) {
      await this.#read()
      const held = this.#ready.reduce((sum, piece) => sum + piece.length, 0)
      // Content in one large event is no preamble.
      if (held > PREAMBLE_BYTES_MAX && !this.#hasContent)
        this.#fail(new GatewayError('provider_response_too_large'))
    }
    if (this.#failure instanceof CallerGone) throw this.#failure
    if (this.#failure !== undefined && !this.#hasContent) throw this.#asAttempt(this.#failure)
    if (!this.#isDone) this.#lifeline.expect('further data', this.#attempt.timeouts.idleMs)
  }

  /**
   * Hands on whatever comes until the end, and waits wherever the writer asks for it. One loop with one
   * wait a chunk: a layer more would cost each chunk as much as reading it.
   */
  async pump(write: (piece: Uint8Array) => Promise<void> | undefined): Promise<void> {
    for (;;) {
      for (const piece of this.#ready) {
        const unread = write(piece)
        if (unread !== undefined) await unread
      }
      this.#ready.length = 0
      if (this.#isDone) return
      try {
        this.#take(await this.#reader.read())
      } catch (thrown) {
        this.#fail(this.#asReason(thrown))
      }
      this.#flush()
    }
  }

  /** Why the stream broke; undefined when it ended as it should. */
  get failure(): GatewayError | CallerGone | undefined {
    return this.#failure
  }

  /** What ends the answer: the supplier's closing marker as it was sent, or what stands for it. */
  get marker(): Uint8Array | undefined {
    return this.#marker
  }

  get usage(): Usage | undefined {
    return this.#watcher.usage()
  }

  get hasUnreadUsage(): boolean {
    return this.#watcher.hasUnreadUsage()
  }

  /** What was told of the usage is the whole of it: every choice has stopped, and nothing was put out since. */
  get isUsageWhole(): boolean {
    return !this.#isCutOff && this.#isFinished() && this.#watcher.isUsageLast()
  }

  /** The supplier has closed it, by its marker or by its end: nothing more will be told. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Bytes of text that came so far, and what was thought beside them unseen: a guess at the model's work. */
  get outputBytes(): number {
    return this.#watcher.outputBytes() + this.#watcher.unshownBytes()
  }

  /** Bytes of sound that came so far. */
  get audioBytes(): number {
    return this.#watcher.audioBytes()
  }

  /** For an event that has to end it, where the caller's language says it there. */
  get place(): StreamPlace | undefined {
    return this.#converter === undefined ? this.#watcher.place?.() : this.#converter.place
  }

  /** The caller has gone: ends the stream from this side, and the supplier's work with it. */
  leave(): void {
    if (!this.#isDone && this.#lifeline.leave()) this.#fail(new CallerGone())
  }

  frame(buffer: Uint8Array, from: number, to: number, data: FrameData): void {
    // What follows the closing marker or a failure is nobody's business.
    if (this.#isDone) return
    const kind = this.#see(data)
    if (kind === 'end') return this.#mark(buffer.subarray(from, to), data)
    if (kind === 'content') {
      this.#hasContent = true
      if (this.#isOverLimit()) return this.#cutOff()
    }
    if (this.#converter !== undefined) return this.#convert(this.#converter, kind, data)
    if (!this.#isPassed(kind)) return
    if (this.#normalizer !== undefined && kind !== 'void') return this.#print(data)
    if (this.#buffer === buffer && this.#to === from) this.#to = to
    else {
      this.#flush()
      this.#buffer = buffer
      this.#from = from
      this.#to = to
    }
  }

  /** The closing marker waits for the books; in some languages it alone says why the answer ends. */
  #mark(frame: Uint8Array, { bytes, from, to }: FrameData): void {
    this.#isMarked = true
    this.#complete()
    if (this.#converter === undefined) this.#marker = frame.slice()
    else if (this.#isFinished()) this.#text += this.#converter.finish(bytes.subarray(from, to))
    this.#end()
  }

  /** Usage is told with the end, in whatever way the caller's language tells it. */
  #convert(converter: StreamConverter, kind: FrameKind, { bytes, from, to }: FrameData): void {
    if (kind === 'void') return
    const data = bytes.subarray(from, to)
    this.#text += converter.convert(data)
    // It has to have seen an answer to know what ends it.
    this.#normalizer?.fill(data)
  }

  #isPassed(kind: FrameKind): boolean {
    if (kind === 'usage') return this.#keepsUsage
    // A supplier's own comments while it thinks would be taken for its answer having begun.
    return kind !== 'void' || this.#hasContent
  }

  #isOverLimit(): boolean {
    return isSpent(this.#watcher.outputBytes(), this.#tokensMax)
  }

  /** The supplier goes on past the limit that it was given, and with this event past what was held. */
  #cutOff(): void {
    this.#isDone = true
    this.#isCutOff = true
    const open = this.#watcher.openChoices()
    // Who stops with this very event has not been heard: it is not passed on.
    const unstopped = open.length > 0 ? open : undefined
    const basics = { ...this.#basics, outputTokens: this.#tokensMax, place: this.place }
    this.#marker =
      this.#converter?.cutOff({ ...this.#likelyUsage(), outputTokens: this.#tokensMax }) ??
      this.#attempt.dialect.relay.cutOff(basics, unstopped)
    this.#lifeline.abort(new Error('the output exceeds its limit'))
  }

  /** What was told, else a guess: a caller of another language has to be told something. */
  #likelyUsage(): Usage {
    return this.usage ?? estimateUsage(this.#load, this.outputBytes, this.audioBytes)
  }

  #print({ bytes, from, to }: FrameData): void {
    this.#flush()
    this.#ready.push(this.#normalizer!.fill(bytes.subarray(from, to)))
  }

  /** The marker closes an answer whose supplier never gives a reason to stop: the caller gets one. */
  #complete(): void {
    const bytes = this.#hasContent ? this.#normalizer?.ending() : undefined
    if (bytes === undefined) return
    const ending = { bytes, from: 0, to: bytes.length }
    this.#see(ending)
    if (this.#converter === undefined) this.#print(ending)
    else this.#text += this.#converter.convert(bytes)
  }

  #see({ bytes, from, to }: FrameData): FrameKind {
    try {
      const kind = this.#watcher.see(bytes, from, to)
      this.#hasSpoken = true
      return kind
    } catch (thrown) {
      if (!(thrown instanceof GatewayError)) throw thrown
      const told = scrub(thrown, this.#attempt)
      throw this.#hasSpoken && told.origin !== undefined ? asLate(told) : told
    }
  }

  async #read(): Promise<void> {
    try {
      this.#take(await this.#reader.read())
    } catch (thrown) {
      this.#fail(this.#asReason(thrown))
    }
    this.#flush()
  }

  #take({ done, value }: Chunk): void {
    if (this.#hasContent) this.#lifeline.renew()
    if (value !== undefined) this.#splitter.push(value)
    if (!done) return
    this.#finish()
    if (!this.#isDone) this.#end()
  }

  /** A last event without its blank line gets one: what is written after it must not run into it. */
  #finish(): void {
    this.#splitter.finish()
    this.#flush()
    const last = this.#ready.at(-1)?.at(-1)
    if (last !== undefined && last !== LF && last !== CR) this.#ready.push(BLANK_LINE)
  }

  #flush(): void {
    if (this.#text !== '') {
      this.#ready.push(encoder.encode(this.#text))
      this.#text = ''
    }
    const buffer = this.#buffer
    if (buffer === undefined) return
    this.#buffer = undefined
    const isWhole = this.#from === 0 && this.#to === buffer.length
    this.#ready.push(isWhole ? buffer : buffer.subarray(this.#from, this.#to))
  }

  #end(): void {
    this.#isDone = true
    this.#hasEnded = true
    if (!this.#isFinished()) return this.#fail(this.#cut())
    if (this.#converter !== undefined) this.#marker = this.#converter.end(this.#likelyUsage())
    void this.#close()
  }

  /** A closing marker vouches for an answer with fewer choices than were asked for; a mere end does not. */
  #isFinished(): boolean {
    return this.#watcher.isFinished(
      this.#isMarked || this.#converter !== undefined ? 1 : this.#choices,
    )
  }

  #cut(): GatewayError {
    if (this.#hasContent)
      return new GatewayError(
        'stream_interrupted',
        'The supplier ended the stream before the answer was complete. Treat the output as incomplete.',
      )
    return advise('empty_stream', 'The supplier ended the stream without an answer.')
  }

  #fail(reason: GatewayError | CallerGone): void {
    this.#isDone = true
    this.#failure ??= reason
    // A reason of its own: what is wrong with this stream must not look like an end of the whole call.
    this.#lifeline.abort(new Error('the stream was given up'))
  }

  /** Lets the supplier end its side, so that the connection can be used again. */
  async #close(): Promise<void> {
    this.#lifeline.lingerWhile(isNever)
    this.#lifeline.expect('end of the stream', CLOSING_MS)
    try {
      while (!(await this.#reader.read()).done);
    } catch {
      // The answer is complete; how the connection ends no longer matters to anyone.
    }
    this.#lifeline.release()
  }

  /** Before any content: what the supplier said itself may be a refusal. */
  #asAttempt(problem: GatewayError): Error {
    if (problem.origin !== undefined) return inBand(problem, this.#attempt)
    return asFailure(problem, this.#lifeline.signal, true)
  }

  #asReason(thrown: unknown): GatewayError | CallerGone {
    const { signal } = this.#lifeline
    if (thrown instanceof GatewayError && !signal.aborted)
      return this.#hasContent ? asStreamError(thrown) : thrown
    if (thrown instanceof FrameTooLarge)
      return advise(
        'provider_response_too_large',
        'The supplier sent an event that is too large to read.',
      )
    const failure = asFailure(thrown, signal, true)
    if (failure instanceof CallerGone) return failure
    return this.#hasContent ? asInterruption(failure.problem) : failure.problem
  }
}

const isNever = (): boolean => false

/** What an answer gets where its supplier has left it out. */
export function basicsOf({ id, at }: Held, model: string): Basics {
  return { id, model, created: Math.floor(at / 1000) }
}

/** After content the caller hears that the stream broke, whether the line did or a limit of ours ended it. */
function asInterruption(problem: GatewayError): GatewayError {
  const isOurs = problem.code === 'provider_timeout' || problem.code === 'pod_draining'
  const what = isOurs ? problem.message : 'The connection to the supplier broke.'
  const text = `${what} Treat the output as incomplete.`
  return new GatewayError('stream_interrupted', text, { cause: problem })
}

/** After content the caller hears that the stream broke; what the supplier said stands inside. */
function asStreamError(error: GatewayError): GatewayError {
  if (error.origin === undefined) return error
  return new GatewayError('stream_error', error.message, { origin: { raw: error.origin.raw } })
}

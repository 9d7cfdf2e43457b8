// Hands the answer to the caller. The last byte goes out only when the call's record is durable, and
// what the caller cannot see in time as headers follows as comment lines.
import { rateHeaders } from '../access/rate.ts'
import type { Ticker } from '../core/clock.ts'
import { printUsd } from '../core/money.ts'
import { asGatewayError, GatewayError, type ProblemCode } from '../core/problem.ts'
import { estimateUsage } from '../ledger/cost/estimate.ts'
import { CallerGone } from '../upstream/lifeline.ts'
import type { Held, Outcome, Plant } from './call.ts'
import { keepAnswer, keepStream, keepStreamFailure, leaveClaim } from './claim.ts'
import type { UnaryAnswer } from './dispatch.ts'
import { isDrained } from './drain.ts'
import { sentMaximum } from './hold.ts'
import { leavingOutcome, streamOutcome, unaryOutcome } from './outcome.ts'
import { printLosses } from './losses.ts'
import type { RelayStream } from './relay.ts'
import { isEstimate, price, settle, settleFailed, type Settled, type Settlement } from './settle.ts'
import { countAsked } from './tour.ts'

const encoder = new TextEncoder()
const KEEP_ALIVE = encoder.encode(': keep-alive\n\n')
/** How often a long stream writes down how far it has come. */
const PROGRESS_MS = 10_000
/** A supplier that was held back for so long may give up, and what it had sent until then is soon read. */
const HELD_BACK_MS = 1_000
const CATCH_UP_MS = 5_000
const SETTLEMENT_HEADER = 'x-svc-settlement'
const CODE_HEADER = 'x-svc-settlement-code'
const MAXIMUM_HEADER = 'x-svc-max-tokens'
const SESSION_HEADER = 'x-svc-session'
const MODEL_HEADER = 'x-svc-model'
const LOSSES_HEADER = 'x-svc-losses'

export async function deliverUnary(
  call: Held,
  answer: UnaryAnswer,
  plant: Plant,
): Promise<Response> {
  if (answer.hasUnreadUsage) warnOfUsage(call, plant)
  const outcome = unaryOutcome(call, answer, hasLeft(call, plant))
  const settled = price(call, outcome, plant)
  const settling = settle(call, outcome, settled, plant)
  if (call.claim !== undefined)
    keepAnswer(call, answer.bytes, {
      ...unaryHeaders(call, settled, durably(outcome)),
      ...(answer.contentType !== undefined && { 'content-type': answer.contentType }),
    })
  const settlement = await settling
  const headers = unaryHeaders(call, settled, settlement)
  if (answer.contentType !== undefined) headers['content-type'] = answer.contentType
  if (settlement === 'pending') headers[CODE_HEADER] = pendingCode(call, settled, plant)
  if (call.rate !== undefined) Object.assign(headers, rateHeaders(call.rate))
  return new Response(answer.bytes, { headers })
}

/** Only where answers are read on for callers who have gone; to ask costs too much of every call. */
function hasLeft(call: Held, plant: Plant): boolean {
  return isDrained(call, plant) && call.caller.signal.aborted
}

/** What is kept is kept in one commit with the end of the books, so there they are closed. */
export function durably({ evidence }: Outcome): Settlement {
  return isEstimate(evidence) ? 'estimated' : 'settled'
}

/** The answer is out and its books are not closed yet. They will be: nobody is to ask again. */
export function pendingCode({ facts }: Held, { cost }: Settled, { ledger }: Plant): ProblemCode {
  if (cost === 0) return 'settlement_pending'
  if (facts.stream) return 'streaming_settlement_failed'
  return ledger.downSince === undefined
    ? 'supplier_settlement_failed'
    : 'supplier_settlement_unavailable'
}

/** One literal, because this is made for every call. */
export function unaryHeaders(
  call: Held,
  settled: Settled,
  settlement: Settlement,
): Record<string, string> {
  const { supplier } = call.tries.at(-1)!.attempt
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'x-request-id': call.id,
    'request-id': call.id,
    'x-svc-supplier': supplier.id,
    'x-svc-region': supplier.region,
    'x-svc-failover': hasMoved(call) ? 'true' : 'false',
    'x-svc-latency-ms': String(settled.latencyMs),
    'x-svc-input-tokens': String(settled.inputTokens),
    'x-svc-output-tokens': String(settled.outputTokens),
    'x-svc-cost-usd': printUsd(settled.cost),
    [SETTLEMENT_HEADER]: settlement,
  }
  addRouting(headers, call)
  return headers
}

/** Somebody else was really asked before. */
function hasMoved({ tries }: Held): boolean {
  return tries.length > 1 && countAsked(tries) > 1
}

function routeHeaders(call: Held, latencyMs: number): Record<string, string> {
  const { supplier } = call.tries.at(-1)!.attempt
  const headers: Record<string, string> = {
    'x-svc-supplier': supplier.id,
    'x-svc-region': supplier.region,
    'x-svc-failover': hasMoved(call) ? 'true' : 'false',
    'x-svc-latency-ms': String(latencyMs),
  }
  addRouting(headers, call)
  return headers
}

/**
 * What only some calls have to tell: of their maximum, their session, a model that they did not ask for by name, and what
 * was lost on the way into another language.
 */
function addRouting(headers: Record<string, string>, call: Held): void {
  const { session, tries, route } = call
  const maxTokens = sentMaximum(call)
  if (maxTokens !== undefined) headers[MAXIMUM_HEADER] = String(maxTokens)
  if (session !== undefined) headers[SESSION_HEADER] = session.state
  const { attempt, losses } = tries.at(-1)!
  if (route.isAuto || attempt.candidate.rank > 0) headers[MODEL_HEADER] = attempt.modelId
  if (losses !== undefined && losses.length > 0) headers[LOSSES_HEADER] = printLosses(losses)
}

function costHeaders(settled: Settled, settlement: Settlement): Record<string, string> {
  return {
    'x-svc-input-tokens': String(settled.inputTokens),
    'x-svc-output-tokens': String(settled.outputTokens),
    'x-svc-cost-usd': printUsd(settled.cost),
    [SETTLEMENT_HEADER]: settlement,
  }
}

/**
 * Answers with a stream as soon as there is content, or when the caller has waited long enough to need
 * a sign of life. A failure before either is thrown, and becomes a plain error answer.
 */
export async function deliverStream(
  call: Held,
  answering: Promise<RelayStream>,
  plant: Plant,
): Promise<Response> {
  const stream = await within(answering, plant)
  const latencyMs = Math.round(plant.clock.elapsed() - call.startedMs)
  const headers = streamHeaders(call, stream === undefined ? undefined : latencyMs)
  const delivery = new Delivery(call, plant, {
    firstTokenMs: stream === undefined ? undefined : latencyMs,
    headers,
  })
  const source: Bun.DirectUnderlyingSource = {
    type: 'direct',
    pull: (controller) => delivery.run(controller, stream ?? answering),
    cancel: () => delivery.leave(stream ?? answering),
  }
  return new Response(new ReadableStream(source), {
    headers: {
      ...headers,
      'x-request-id': call.id,
      'request-id': call.id,
      ...(call.rate === undefined ? {} : rateHeaders(call.rate)),
    },
  })
}

/** Those that a twin gets as well. */
function streamHeaders(call: Held, latencyMs: number | undefined): Record<string, string> {
  return {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    // Proxies in between collect a stream into one lump unless they are told not to.
    'x-accel-buffering': 'no',
    ...(latencyMs === undefined ? {} : routeHeaders(call, latencyMs)),
  }
}

/** The stream, or undefined when it is not there within the time that a caller waits in silence. */
function within(answering: Promise<RelayStream>, plant: Plant): Promise<RelayStream | undefined> {
  const { clock, limits } = plant
  const start = clock.elapsed()
  return new Promise((resolve, reject) => {
    const ticking = clock.everySecond({
      tick() {
        if (clock.elapsed() - start < limits.keepAliveMs) return
        ticking.leave()
        resolve(undefined)
      },
    })
    answering.then(resolve, reject).finally(() => ticking.leave())
  })
}

interface DeliveryStart {
  readonly firstTokenMs: number | undefined
  readonly headers: Readonly<Record<string, string>>
}

class Delivery implements Ticker {
  readonly #call: Held
  /** What was lost on the way to the supplier: the headers have told it. */
  readonly #losses: readonly string[] | undefined
  readonly #plant: Plant
  readonly #headers: DeliveryStart['headers']
  /** Undefined while the route headers are still owed to the caller. */
  readonly #firstTokenMs: number | undefined
  #controller: ReadableStreamDirectController | undefined
  #stream: RelayStream | undefined
  #wroteAt: number
  #tickedAt: number
  #notedAt: number
  #notedTokens = 0
  /** Set by every write and timed by the next tick: asking the clock each time costs more than writing. */
  #hasWritten = false
  #isWaiting = false
  /** When a reader last ended a long wait for it. */
  #heldBackAt = Number.NEGATIVE_INFINITY
  #isGone = false
  #hasBegun = false
  /** Wakes a delivery that waits for a reader who has gone. */
  #wake = (): void => {}

  constructor(call: Held, plant: Plant, { firstTokenMs, headers }: DeliveryStart) {
    this.#call = call
    this.#plant = plant
    this.#headers = headers
    this.#firstTokenMs = firstTokenMs
    this.#losses = firstTokenMs === undefined ? undefined : call.tries.at(-1)?.losses
    this.#wroteAt = plant.clock.elapsed()
    this.#tickedAt = this.#wroteAt
    this.#notedAt = this.#wroteAt
  }

  async run(
    controller: ReadableStreamDirectController | undefined,
    source: RelayStream | Promise<RelayStream>,
  ): Promise<void> {
    this.#hasBegun = true
    this.#controller = controller
    const ticking = this.#plant.clock.everySecond(this)
    try {
      // A sign of life takes the headers with it: they leave with the first bytes.
      if (source instanceof Promise) void this.#write(KEEP_ALIVE)
      await this.#pump(source instanceof Promise ? await source : source)
    } catch (thrown) {
      await this.#fail(thrown)
    } finally {
      ticking.leave()
      this.#call.claim?.release()
      if (!this.#isGone) controller?.close()
    }
  }

  /** The caller's side is closed: nothing can be written any more. */
  leave(source: RelayStream | Promise<RelayStream>): void {
    this.#hangUp()
    // Who has gone before the answer began is never asked for, and still has books to close.
    if (!this.#hasBegun) void this.run(undefined, source)
  }

  #hangUp(): void {
    this.#isGone = true
    this.#wake()
    this.#stream?.leave()
  }

  async #pump(stream: RelayStream): Promise<void> {
    this.#stream = stream
    if (this.#isGone) stream.leave()
    const firstTokenMs =
      this.#firstTokenMs ?? Math.round(this.#plant.clock.elapsed() - this.#call.startedMs)
    await stream.pump((piece) => {
      if (this.#call.claim !== undefined) this.#gather(piece, stream)
      return this.#write(piece)
    })
    await this.#finish(stream, firstTokenMs)
  }

  async #finish(stream: RelayStream, firstTokenMs: number): Promise<void> {
    if (stream.hasUnreadUsage) warnOfUsage(this.#call, this.#plant)
    // Who left while the last words were on their way, and were waited for, has still left.
    const failure = this.#isGone ? new CallerGone() : stream.failure
    const outcome = streamOutcome(this.#call, stream, failure, firstTokenMs)
    const settled = price(this.#call, outcome, this.#plant)
    if (failure !== undefined && this.#wasHeldBack()) leaveEarly(this.#call)
    const settling = settle(this.#call, outcome, settled, this.#plant)
    if (this.#call.claim !== undefined)
      this.#keep(stream, this.#comments(settled, durably(outcome)))
    const settlement = await settling
    if (failure instanceof CallerGone) return
    void this.#write(encoder.encode(this.#comments(settled, settlement)))
    const ending = this.#endingOf(stream)
    if (ending !== undefined) void this.#write(ending)
  }

  /** What was being kept and is too long for it is worth no more than any other answer. */
  #gather(piece: Uint8Array, stream: RelayStream): void {
    const { claim } = this.#call
    if (claim?.isKeeping !== true) return
    claim.add(piece)
    if (isDrained(this.#call, this.#plant)) return
    stream.lingerForUsage()
    if (this.#isGone) stream.leave()
  }

  /** Whole, or as broken as it was delivered; but not what ended because nobody read it. */
  #keep(stream: RelayStream, comments: string): void {
    if (stream.failure instanceof CallerGone) return leaveClaim(this.#call)
    const ending = this.#endingOf(stream)
    const last = [encoder.encode(comments), ...(ending === undefined ? [] : [ending])]
    keepStream(this.#call, last, this.#headers)
  }

  #endingOf({ failure, marker }: RelayStream): Uint8Array | undefined {
    return failure instanceof GatewayError ? this.#problem(failure) : marker
  }

  /** A failure that no other stage has put into the books: before the first content, or our own. */
  async #fail(thrown: unknown): Promise<void> {
    const { isEnding } = this.#call.operation
    if (thrown instanceof CallerGone) {
      if (isEnding) return
      const leaving = recordLeaving(this.#call, this.#plant)
      leaveClaim(this.#call)
      await leaving
      return
    }
    const error = asGatewayError(thrown)
    if (isEnding) return void this.#write(this.#problem(error))
    // The headers have left: what the caller sees is a 200 that ends in an error.
    const settling = settleFailed(this.#call, error, this.#plant, 200)
    const told = keepStreamFailure(this.#call, error, this.#headers)
    await settling
    void this.#write(this.#problem(told))
  }

  #problem(error: GatewayError): Uint8Array {
    const { dialect, id } = this.#call
    return encoder.encode(dialect.problem.frame(error, id, this.#stream?.place))
  }

  #comments(settled: Settled, settlement: Settlement): string {
    const early =
      this.#firstTokenMs === undefined ? routeHeaders(this.#call, settled.latencyMs) : {}
    const pending =
      settlement === 'pending'
        ? { [CODE_HEADER]: pendingCode(this.#call, settled, this.#plant) }
        : {}
    const all = { ...early, ...this.#lateLosses(), ...costHeaders(settled, settlement), ...pending }
    const lines = Object.entries(all)
    return `${lines.map(([name, value]) => `: ${name}: ${value}\n`).join('')}\n`
  }

  /** Of the answer itself something may get lost, too. */
  #lateLosses(): Record<string, string> {
    const losses = this.#call.tries.at(-1)?.losses ?? []
    const isTold = this.#firstTokenMs === undefined || losses.length === (this.#losses?.length ?? 0)
    return isTold ? {} : { [LOSSES_HEADER]: printLosses(losses) }
  }

  /** Sends bytes; returns what to wait for when the caller reads more slowly than they come. */
  #write(bytes: Uint8Array): Promise<void> | undefined {
    if (this.#isGone || this.#controller === undefined) return undefined
    const written = this.#controller.write(bytes)
    void this.#controller.flush()
    this.#hasWritten = true
    // A reader that is behind holds the supplier back; nothing piles up here.
    return typeof written === 'number' ? undefined : this.#untilRead(written)
  }

  async #untilRead(unread: Promise<number>): Promise<void> {
    // The runtime never settles its promise once the caller has gone.
    const gone = new Promise<void>((resolve) => (this.#wake = resolve))
    const { clock } = this.#plant
    const start = clock.elapsed()
    this.#isWaiting = true
    await Promise.race([unread, gone])
    this.#isWaiting = false
    this.#wroteAt = clock.elapsed()
    if (this.#wroteAt - start >= HELD_BACK_MS) this.#heldBackAt = this.#wroteAt
  }

  /** Until a moment ago the supplier could not send, because the caller did not read. */
  #wasHeldBack(): boolean {
    return this.#plant.clock.elapsed() - this.#heldBackAt < CATCH_UP_MS
  }

  /** Without the error the runtime would end the stream properly, and half an answer would look whole. */
  #drop(): void {
    this.#hangUp()
    this.#controller?.close(new Error('the caller does not read'))
  }

  /** Once a second: a waiting caller gets a sign of life, one that does not read counts as gone. */
  tick(): void {
    const now = this.#plant.clock.elapsed()
    // Somewhen since the last tick: taken for the earliest, so that a sign of life is never late.
    if (this.#hasWritten) this.#wroteAt = this.#tickedAt
    this.#hasWritten = false
    this.#tickedAt = now
    const silence = now - this.#wroteAt
    if (this.#isWaiting) {
      if (silence >= this.#plant.limits.stallMs) this.#drop()
    } else if (silence >= this.#plant.limits.keepAliveMs) void this.#write(KEEP_ALIVE)
    this.#noteProgress(now)
  }

  /** Should the process not see the end, this is what is known to have been delivered. */
  #noteProgress(now: number): void {
    if (this.#stream === undefined || now - this.#notedAt < PROGRESS_MS) return
    this.#notedAt = now
    const { outputBytes, audioBytes } = this.#stream
    const { outputTokens } = estimateUsage(this.#call.facts.load, outputBytes, audioBytes)
    if (outputTokens > this.#notedTokens)
      this.#plant.ledger.noteProgress(this.#call.operation, outputTokens)
    this.#notedTokens = outputTokens
  }
}

/** Whoever breaks off because nobody reads has not failed: its lane hears no more of it. */
function leaveEarly({ tries }: Held): void {
  tries.at(-1)?.visit.leave()
}

function warnOfUsage(call: Held, { trouble }: Plant): void {
  const { supplier, modelId } = call.tries.at(-1)!.attempt
  trouble.unread(supplier.id, modelId)
}

/** The caller left before anything reached it. */
export async function recordLeaving(call: Held, plant: Plant): Promise<void> {
  const outcome = leavingOutcome(call)
  await settle(call, outcome, price(call, outcome, plant), plant)
}

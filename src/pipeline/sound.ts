// Sound on its way to a caller: bytes pass as they come, another supplier is asked until the first of them has come, and
// the last goes out when the books are closed. A sound that breaks off is cut off for its caller, too: nothing inside of
// it could say so.
import { rateHeaders } from '../access/rate.ts'
import type { Ticker } from '../core/clock.ts'
import { advise, GatewayError } from '../core/problem.ts'
import type { Price, Usage } from '../core/usage.ts'
import { asSoundDetail } from '../dialects/sound.ts'
import { estimateUsage } from '../ledger/cost/estimate.ts'
import type { Attempt } from '../routing/routes.ts'
import { readBody } from '../upstream/body.ts'
import { asFailure } from '../upstream/client.ts'
import { CALLER_LEFT, CallerGone, type Lifeline } from '../upstream/lifeline.ts'
import type { Held, Outcome, Plant } from './call.ts'
import { leaveClaim } from './claim.ts'
import { durably, unaryHeaders } from './deliver.ts'
import { firstOf, hear, openLifeline, send, sendAgain } from './dispatch.ts'
import { inBand, scrub } from './refusal.ts'
import { price, settle } from './settle.ts'

/** The runtime's reader; its two declared types disagree on everything but this. */
interface Reader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>
}

/** A sound whose first bytes have come. */
export interface Sound {
  readonly first: Uint8Array
  readonly reader: Reader
  readonly lifeline: Lifeline
  readonly contentType: string
}

const ERROR_BYTES_MAX = 65_536
const NOTHING: Uint8Array = new Uint8Array(0)
/** Of what both formats begin with. */
const MARK_BYTES = 4
/** A supplier that was held back for so long may give up, and what it had sent until then is soon read. */
const HELD_BACK_MS = 1_000
const CATCH_UP_MS = 5_000
/**
 * Of a sound that does not end: 256 MiB, or what the longest that the text can take would be on a compact disc where that
 * is more. Nobody pays by the byte, so nothing else would end it.
 */
const SOUND_BYTES_MAX = 268_435_456
const BYTES_A_TOKEN = 5_512.5

export function dispatchSound(call: Held, plant: Plant): Promise<Sound> {
  return firstOf(call, plant, (attempt) => askSound(call, attempt, plant))
}

async function askSound(call: Held, attempt: Attempt, plant: Plant): Promise<Sound> {
  const lifeline = openLifeline(call, plant)
  let response: Response | undefined
  try {
    response = await send(call, lifeline, plant)
    lifeline.heard()
    hear(response, attempt, plant)
    if (!response.ok) response = await sendAgain(response, call, lifeline, plant)
    lifeline.expect('content', attempt.timeouts.firstContentMs)
    if (!isSound(response)) throw await notSound(response, attempt)
    const reader: Reader | undefined = response.body?.getReader()
    if (reader === undefined) throw nothing()
    const first = await readFirst(reader)
    lifeline.expect('further data', attempt.timeouts.idleMs)
    return { first, reader, lifeline, contentType: typeOf(first, call) }
  } catch (thrown) {
    const failure = asFailure(thrown, lifeline.signal, response !== undefined)
    if (!lifeline.signal.aborted) lifeline.abort(failure)
    lifeline.release()
    throw failure
  }
}

/** As many as tell what it is: the runtime ends what nothing was written of as if it were whole. */
async function readFirst(reader: Reader): Promise<Uint8Array> {
  let first = NOTHING
  while (first.length < MARK_BYTES) {
    // oxlint-disable-next-line no-await-in-loop -- one chunk after the other
    const next = await readSome(reader)
    if (next === undefined) throw nothing()
    first = first.length === 0 ? next : Buffer.concat([first, next])
  }
  return asSound(first)
}

/** Undefined at the end. */
async function readSome(reader: Reader): Promise<Uint8Array | undefined> {
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- one chunk after the other
    const { done, value } = await reader.read()
    if (value !== undefined && value.length > 0) return value
    if (done) return undefined
  }
}

/** As many tokens as the text can take stand for its longest time, at 32 a second. */
function mostBytes({ facts: { maxTokens = 0 } }: Held): number {
  return Math.max(SOUND_BYTES_MAX, maxTokens * BYTES_A_TOKEN)
}

function endless(): GatewayError {
  return advise('provider_response_too_large', 'The supplier sent a sound that does not end.')
}

function nothing(): GatewayError {
  return advise('empty_response', 'The supplier sent no sound.')
}

/** Some suppliers call all of it octets, and some call it nothing at all. */
function isSound({ headers }: Response): boolean {
  const type = headers.get('content-type') ?? ''
  return type === '' || /^(?:audio\/|application\/octet-stream)/i.test(type)
}

/** The marks of formats that begin with letters, and then what only a text begins with. */
const MARKS = /^(?:RIFF|RF64|BW64|OggS|fLaC|FORM|ID3)/
const TEXT = /^[{<]|^[\t\n\r\x20-\x7e]{4}/

/** No format begins with what JSON, a page or a sentence does, whatever it is called. */
function asSound(first: Uint8Array): Uint8Array {
  const start = markOf(first)
  if (MARKS.test(start) || !TEXT.test(start)) return first
  throw advise('upstream_invalid_response', 'The supplier sent something that is no sound.')
}

function markOf(first: Uint8Array): string {
  return Buffer.from(first.subarray(0, MARK_BYTES)).toString('latin1')
}

/** As the bytes have it: not every supplier heeds the format, or tells its own right. Else as it was asked for. */
function typeOf(first: Uint8Array, { facts }: Held): string {
  const mark = markOf(first)
  if (mark === 'RIFF' || mark === 'RF64') return 'audio/wav'
  // A tag, or the eleven set bits that every frame begins with.
  if (mark.startsWith('ID3') || /^\xff[\xe0-\xff]/.test(mark)) return 'audio/mpeg'
  return asSoundDetail(facts.detail).contentType
}

/** An error in the place of a sound may say more than that this is none. */
async function notSound(response: Response, attempt: Attempt): Promise<Error> {
  const bytes = await readBody(response, ERROR_BYTES_MAX)
  try {
    attempt.dialect.relay.read(bytes)
  } catch (thrown) {
    // The supplier's own words, which may repeat our credential to us.
    if (thrown instanceof GatewayError) return inBand(scrub(thrown, attempt), attempt)
  }
  return advise('upstream_invalid_response', 'The supplier sent something that is no sound.')
}

export function deliverSound(call: Held, sound: Sound, plant: Plant): Response {
  const delivery = new SoundDelivery(call, sound, plant)
  const source: Bun.DirectUnderlyingSource = {
    type: 'direct',
    pull: (controller) => delivery.run(controller),
    cancel: () => delivery.leave(),
  }
  return new Response(new ReadableStream(source), {
    headers: { ...delivery.headers, ...(call.rate !== undefined && rateHeaders(call.rate)) },
  })
}

class SoundDelivery implements Ticker {
  /** Those that a twin gets as well. */
  readonly headers: Record<string, string>
  readonly #call: Held
  readonly #sound: Sound
  readonly #plant: Plant
  readonly #outcome: Outcome
  #controller: ReadableStreamDirectController | undefined
  #isGone = false
  #hasBegun = false
  /** Since when the caller has not read; undefined while it does. */
  #waitingSince: number | undefined
  /** When a reader last ended a long wait for it. */
  #heldBackAt = Number.NEGATIVE_INFINITY
  /** Wakes a delivery that waits for a reader who has gone. */
  #wake = (): void => {}

  constructor(call: Held, sound: Sound, plant: Plant) {
    this.#call = call
    this.#sound = sound
    this.#plant = plant
    this.#outcome = wholeOutcome(call, Math.round(plant.clock.elapsed() - call.startedMs))
    const settled = price(call, this.#outcome, plant)
    this.headers = {
      ...unaryHeaders(call, settled, durably(this.#outcome)),
      'content-type': sound.contentType,
    }
  }

  async run(controller: ReadableStreamDirectController | undefined): Promise<void> {
    this.#hasBegun = true
    this.#controller = controller
    const ticking = this.#plant.clock.everySecond(this)
    try {
      await this.#finish(await this.#pump())
      if (!this.#isGone) controller?.close()
    } catch (thrown) {
      await this.#fail(thrown)
      // Without the error the runtime would end it properly, and half a sound would look whole.
      if (!this.#isGone) controller?.close(new Error('the sound broke off'))
    } finally {
      ticking.leave()
      this.#sound.lifeline.release()
      this.#call.claim?.release()
    }
  }

  /** The caller's side is closed: nothing can be written any more. */
  leave(): void {
    if (this.#isGone) return
    this.#isGone = true
    this.#wake()
    const { lifeline } = this.#sound
    // For the retry that an Idempotency-Key announces it is read to its end, for a while.
    if (this.#call.claim?.isKeeping === true) lifeline.leave()
    else lifeline.abort(new CallerGone())
    // Who has gone before the answer began is never asked for, and still has books to close.
    if (!this.#hasBegun) void this.run(undefined)
  }

  /** Who does not read for too long counts as gone; until then the supplier is not to blame for the silence. */
  tick(): void {
    if (this.#waitingSince === undefined || this.#isGone) return
    const { clock, limits } = this.#plant
    this.#sound.lifeline.renew()
    if (clock.elapsed() - this.#waitingSince < limits.stallMs) return
    this.leave()
    this.#controller?.close(new Error('the caller does not read'))
  }

  /** Resolves with the last byte, which is kept back; all before it is not, or a first sound would wait for a second. */
  async #pump(): Promise<Uint8Array> {
    const { reader, lifeline } = this.#sound
    let piece = this.#sound.first
    let kept = NOTHING
    let bytesLeft = mostBytes(this.#call)
    for (;;) {
      bytesLeft -= piece.length
      if (bytesLeft < 0) throw endless()
      // oxlint-disable-next-line no-await-in-loop -- a reader that is behind holds the supplier back
      await this.#write(kept, piece.subarray(0, -1))
      kept = piece.subarray(-1)
      // oxlint-disable-next-line no-await-in-loop -- one piece after the other
      const next = await readSome(reader)
      if (this.#isGone) this.#checkWorth()
      if (next === undefined) return kept
      lifeline.renew()
      piece = next
    }
  }

  /** Nobody reads: what cannot be kept either is not worth its supplier's work. */
  #checkWorth(): void {
    if (this.#call.claim?.isKeeping !== true || this.#sound.lifeline.signal.aborted)
      throw new CallerGone()
  }

  async #write(...pieces: readonly Uint8Array[]): Promise<void> {
    let written: number | Promise<number> = 0
    for (const piece of pieces) {
      if (piece.length === 0) continue
      this.#call.claim?.add(piece)
      if (!this.#isGone) written = this.#controller?.write(piece) ?? 0
    }
    if (!this.#isGone) void this.#controller?.flush()
    if (typeof written === 'number') return
    const { clock } = this.#plant
    const since = clock.elapsed()
    this.#waitingSince = since
    // The runtime never settles its promise once the caller has gone.
    await Promise.race([written, new Promise<void>((resolve) => (this.#wake = resolve))])
    this.#waitingSince = undefined
    this.#sound.lifeline.renew()
    if (clock.elapsed() - since >= HELD_BACK_MS) this.#heldBackAt = clock.elapsed()
  }

  async #finish(last: Uint8Array): Promise<void> {
    // Who left while the rest was on its way, and was waited for, has still left.
    const outcome = this.#isGone ? leftOutcome(this.#outcome) : this.#outcome
    const settled = price(this.#call, outcome, this.#plant)
    const settling = settle(this.#call, outcome, settled, this.#plant)
    this.#call.claim?.add(last)
    void this.#call.claim?.keep({ status: 200, headers: this.headers })
    // Should that be late, there is nowhere left to say so: the headers are out.
    await settling
    if (this.#isGone || this.#controller === undefined) return
    void this.#controller.write(last)
    void this.#controller.flush()
  }

  /** Whoever leaves pays for what was asked; what a supplier does not deliver is free. */
  async #fail(thrown: unknown): Promise<void> {
    const { operation, tries } = this.#call
    if (operation.isEnding) return
    const { lifeline } = this.#sound
    const failure = this.#isGone ? new CallerGone() : asFailure(thrown, lifeline.signal, true)
    if (!lifeline.signal.aborted) lifeline.abort(failure)
    const hasLeft = failure instanceof CallerGone
    const outcome = hasLeft ? leftOutcome(this.#outcome) : brokenOutcome(this.#outcome)
    // Whoever breaks off because nobody reads has not failed: its lane hears no more of it.
    if (!hasLeft && this.#wasHeldBack()) tries.at(-1)?.visit.leave()
    const settled = price(this.#call, outcome, this.#plant)
    const settling = settle(this.#call, outcome, settled, this.#plant)
    leaveClaim(this.#call)
    await settling
  }

  #wasHeldBack(): boolean {
    return this.#plant.clock.elapsed() - this.#heldBackAt < CATCH_UP_MS
  }
}

/** What is asked for is what is charged: no supplier tells with a sound what it has used. */
function wholeOutcome({ facts, tries }: Held, firstTokenMs: number): Outcome {
  const counted = estimateUsage(facts.load, 0)
  const { audioTokens } = asSoundDetail(facts.detail)
  const isCounted = hasTokens(tries.at(-1)!.price)
  const usage: Usage = isCounted
    ? { ...counted, outputTokens: audioTokens, audioOutputTokens: audioTokens }
    : { ...counted, inputTokens: 0, outputTokens: 0 }
  return {
    status: 200,
    code: undefined,
    evidence: isCounted ? 'counted' : 'reported',
    usage,
    firstTokenMs,
  }
}

/** Else the characters are all that is counted, and those are known exactly. */
function hasTokens({ input, output, audioOutput = output }: Price): boolean {
  return input > 0 || output > 0 || audioOutput > 0
}

function leftOutcome(whole: Outcome): Outcome {
  const code = 'streaming_settlement_cancelled'
  return { ...whole, status: CALLER_LEFT, code, evidence: 'broken' }
}

function brokenOutcome(whole: Outcome): Outcome {
  return { ...whole, code: 'stream_interrupted', evidence: 'broken', usage: undefined }
}

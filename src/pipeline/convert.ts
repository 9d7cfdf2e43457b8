// A call on its way to a supplier of another language and back: decoded by the one codec, encoded by the other. What
// got lost is kept with the try.
import type { AnswerHead, AssistantPart } from '../core/chat.ts'
import type { ChatEvent } from '../core/chat-event.ts'
import { asGatewayError, GatewayError } from '../core/problem.ts'
import type { Usage } from '../core/usage.ts'
import type { ChatDecoder, ChatEncoder, StreamPlace } from '../dialects/codec.ts'
import type { AnswerFacts } from '../dialects/dialect.ts'
import { estimateUsage } from '../ledger/cost/estimate.ts'
import type { Attempt } from '../routing/routes.ts'
import { AttemptFailure } from '../upstream/failure.ts'
import type { Held, Plant, Try } from './call.ts'
import { sentMaximum } from './hold.ts'
import { mergeLosses } from './losses.ts'
import { codecOf, refuseLosses, type Converted } from './request.ts'

const encoder = new TextEncoder()

/** The request as it is sent to whom is asked last. */
export function convertRequest(call: Held, tried: Try, { refusesLosses }: Plant): Converted {
  return say(() => {
    const converted = encodeFor(call, tried)
    checkSize(call.body, converted.body)
    if (refusesLosses) checkLosses(converted.losses, call)
    tried.names = converted.names
    return converted
  })
}

/** Who cannot be told something has done nothing wrong, and was not asked. A fault of our own ends the call. */
function say<Said>(work: () => Said): Said {
  try {
    return work()
  } catch (thrown) {
    const isOurs = !(thrown instanceof GatewayError)
    const why = isOurs ? { isFinal: true } : { isUnsayable: true }
    throw new AttemptFailure(asGatewayError(thrown), 'unsent', why)
  }
}

function encodeFor(call: Held, { attempt, index, dropsThoughts }: Try): Converted {
  const { bound, fit, request } = call
  if (request === undefined) throw new RangeError('nobody of another language was on the list')
  return request.encode(attempt, {
    maxTokens: sentMaximum(call),
    maxTokensDefault: bound.demandedMaxAt(index, fit),
    dropsThoughts: dropsThoughts === true,
  })
}

/** What is held is reckoned by the size of what the caller sent: no language needs several times as much. */
const GROWTH_MAX = 3
const GROWTH_BYTES = 65_536

function checkSize(asked: Uint8Array, sent: Uint8Array): void {
  if (sent.length <= GROWTH_MAX * asked.length + GROWTH_BYTES) return
  throw new GatewayError(
    'request_too_large',
    'In the language of the supplier this request is several times as long. Shorten names and ids that it repeats, or ask for another model.',
  )
}

/** Some of it only comes out once the limit is known. */
function checkLosses(losses: readonly string[], { path }: Held): void {
  if (losses.length > 0) throw refuseLosses(losses, path)
}

/** What a relay leaves out of what was thought before: seals for a supplier of another language, or all there is. */
export function dropThoughts(call: Held, tried: Try, { refusesLosses }: Plant): readonly string[] {
  const losses = lostThoughts(call, tried.dropsThoughts === true)
  if (refusesLosses) say(() => checkLosses(losses, call))
  return losses
}

function lostThoughts({ dialect, facts, body }: Held, isAll: boolean): readonly string[] {
  const left = facts.thoughts.filter(({ isMarked }) => isAll || isMarked)
  if (left.length === 0) return []
  const { thinking, seal, reasoning } = codecOf(dialect).traits
  const places = [...thinking.pointers, ...seal.pointers].filter((pointer) => {
    const name = `"${pointer.slice(pointer.lastIndexOf('/') + 1)}"`
    return left.some(({ from, to }) => viewOf(body, from, to).includes(name))
  })
  // Who thinks by a budget is not asked to any more: it would have to be shown what it has thought.
  const asked = isAll && facts.load.thinkingTokens > 0 ? reasoning.pointers.slice(0, 1) : []
  return mergeLosses(places, asked)
}

/** Without a copy. */
function viewOf({ buffer, byteOffset }: Uint8Array, from: number, to: number): Buffer {
  return Buffer.from(buffer, byteOffset + from, to - from)
}

/** A unary answer in the caller's language. */
export function convertAnswer(
  call: Held,
  tried: Try,
  bytes: Uint8Array,
  facts: AnswerFacts,
): Uint8Array {
  try {
    return express(call, tried, bytes, facts)
  } catch (thrown) {
    if (thrown instanceof GatewayError) throw thrown
    // A fault of our own is nothing that another supplier could make up for.
    throw new AttemptFailure(asGatewayError(thrown), 'unknown', { isFinal: true })
  }
}

function express(call: Held, tried: Try, bytes: Uint8Array, facts: AnswerFacts): Uint8Array {
  const response = codecOf(tried.attempt.dialect).response.decode(bytes)
  addLosses(tried, response.lost)
  const usage = facts.usage ?? estimateUsage(call.facts.load, facts.outputBytes, facts.audioBytes)
  const parts = response.parts.map((part) => nameAsAsked(part, tried))
  const head = headOf(call, tried.attempt)
  return codecOf(call.dialect).response.encode({ ...response, parts, usage }, head)
}

/** A call of a tool that the supplier was told by another name has the caller's own. */
function nameAsAsked<Told extends AssistantPart | ChatEvent>(told: Told, { names }: Try): Told {
  if (told.kind !== 'call') return told
  const own = names?.get(told.name)
  return own === undefined ? told : { ...told, name: own }
}

/** What of an answer did not survive, told by where it stood there. */
function addLosses(tried: Try, lost: readonly string[]): void {
  if (lost.length === 0) return
  const told = lost.map((place) => `answer:${place}`)
  tried.losses = mergeLosses(tried.losses ?? [], told)
}

function headOf({ id, at, facts }: Held, { modelId, supplier }: Attempt): AnswerHead {
  return {
    id,
    model: modelId,
    created: Math.floor(at / 1000),
    supplier: supplier.id,
    inputTokens: estimateUsage(facts.load, 0).inputTokens,
    asksUsage: facts.asksUsage,
  }
}

/** One supplier's stream in the caller's language, frame by frame. */
export class StreamConverter {
  readonly #tried: Try
  readonly #decoder: ChatDecoder
  readonly #encoder: ChatEncoder
  #hasFinished = false

  constructor(call: Held, tried: Try) {
    this.#tried = tried
    this.#decoder = codecOf(tried.attempt.dialect).stream.decoder()
    this.#encoder = codecOf(call.dialect).stream.encoder(headOf(call, tried.attempt))
  }

  /** The frames that tell what the supplier's told; empty where they are to come later. */
  convert(data: Uint8Array): string {
    try {
      return this.#convert(data)
    } catch (thrown) {
      // A fault of our own is not to look like a broken line.
      throw asGatewayError(thrown)
    }
  }

  #convert(data: Uint8Array): string {
    let text = ''
    for (const event of this.#decoder.decode(data)) {
      if (event.kind === 'finish') this.#hasFinished = true
      text += this.#encoder.encode(nameAsAsked(event, this.#tried))
    }
    return text
  }

  /** Where the caller's stream has come to, if its language says it. */
  get place(): StreamPlace | undefined {
    return this.#encoder.place?.()
  }

  /** The same for the closing marker of an answer that is whole, if nothing before it has said why it ends. */
  finish(data: Uint8Array): string {
    return this.#hasFinished ? '' : this.convert(data)
  }

  /** Ends an answer that is whole. */
  end(usage: Usage): Uint8Array {
    addLosses(this.#tried, this.#decoder.lost)
    return encoder.encode(this.#encoder.end(usage))
  }

  /** Ends an answer that has reached its limit, whatever its supplier thinks. */
  cutOff(usage: Usage): Uint8Array {
    addLosses(this.#tried, this.#decoder.lost)
    const text = this.#hasFinished ? '' : this.#encoder.encode(AT_LIMIT)
    return encoder.encode(text + this.#encoder.end(usage))
  }
}

const AT_LIMIT: ChatEvent = { kind: 'finish', finish: { reason: 'length', raw: undefined } }

// The languages that can be converted, as the roster has them, in all ordered pairs; and how a conversion is run as the
// pipeline runs it: watched, frame by frame. Nothing in here knows a language by name.
import type { AnswerHead, ChatRequest } from '../../src/core/chat.ts'
import type { ChatEvent } from '../../src/core/chat-event.ts'
import type { Usage } from '../../src/core/usage.ts'
import type { Codec, Target } from '../../src/dialects/codec.ts'
import type { Dialect, FrameKind } from '../../src/dialects/dialect.ts'
import { dialects } from '../../src/dialects/index.ts'
import { collect, type Collected } from '../fakes/conversations.ts'

export interface Language extends Dialect {
  readonly codec: Codec
}

export const languages: readonly Language[] = dialects.flatMap((dialect) =>
  dialect.codec === undefined ? [] : [{ ...dialect, codec: dialect.codec }],
)

export interface Pair {
  readonly caller: Language
  readonly supplier: Language
}

/** A language with itself, too: it must be able to say what it has understood. */
export const pairs: readonly Pair[] = languages.flatMap((caller) =>
  languages.map((supplier) => ({ caller, supplier })),
)

export function titleOf({ caller, supplier }: Pair): string {
  return `${caller.id} → ${supplier.id}`
}

export const SUPPLIER = 'maker'

export const TARGET: Target = {
  model: 'their-model',
  supplier: SUPPLIER,
  maxTokens: undefined,
  maxTokensDefault: 4_096,
  reasoning: 'effort',
  samples: undefined,
  quirks: { usage: 'ask', thoughts: 'reasoning_content' },
}

export const HEAD: AnswerHead = {
  id: 'a1',
  model: 'our-model',
  created: 1_800_000_000,
  supplier: SUPPLIER,
  inputTokens: 9,
  asksUsage: true,
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

export function toBytes(value: unknown): Uint8Array {
  return encoder.encode(typeof value === 'string' ? value : JSON.stringify(value))
}

export function fromBytes(bytes: Uint8Array): unknown {
  return JSON.parse(decoder.decode(bytes))
}

/** There and back: what a request has become once it was said and understood. */
export function hear(
  { codec }: Language,
  request: ChatRequest,
  target: Target = TARGET,
): {
  readonly heard: ChatRequest
  readonly lost: readonly string[]
  readonly misheard: readonly string[]
  readonly sent: unknown
} {
  const { body, lost } = codec.request.encode(request, target)
  const { request: heard, lost: misheard } = codec.request.decode(body)
  return { heard, lost, misheard, sent: fromBytes(body) }
}

/** The data of each frame of a stream. Comments are not frames. */
export function framesOf(text: string): readonly string[] {
  return text.split(/\r?\n\r?\n/).flatMap((frame) => {
    const lines = frame.split(/\r?\n/).filter((line) => line.startsWith('data:'))
    if (lines.length === 0) return []
    return [lines.map((line) => line.slice('data:'.length).replace(/^ /, '')).join('\n')]
  })
}

export interface Heard extends Collected {
  readonly events: readonly ChatEvent[]
  readonly usage: Usage | undefined
  readonly isFinished: boolean
  readonly kinds: readonly FrameKind[]
  readonly lost: readonly string[]
}

/**
 * Reads a stream as the pipeline does: the watcher first, its closing marker kept from the decoder, unless that alone
 * says why the answer ends.
 */
export function listen({ codec, relay }: Language, text: string): Heard {
  const watcher = relay.watch()
  const reader = codec.stream.decoder()
  const events: ChatEvent[] = []
  const kinds: FrameKind[] = []
  for (const frame of framesOf(text)) {
    const data = toBytes(frame)
    const kind = watcher.see(data, 0, data.length)
    kinds.push(kind)
    const isToldBefore = events.some((event) => event.kind === 'finish')
    const isMute = kind === 'end' && (isToldBefore || !watcher.isFinished(1))
    if (kind !== 'void' && !isMute) events.push(...reader.decode(data))
  }
  return {
    ...collect(events),
    events,
    usage: watcher.usage(),
    isFinished: watcher.isFinished(1),
    kinds,
    lost: reader.lost,
  }
}

/** Tells a stream to the end where a usage is given, and breaks off where none is. */
export function tell(
  { codec }: Language,
  events: readonly ChatEvent[],
  usage: Usage | undefined,
  head: AnswerHead = HEAD,
): string {
  const writer = codec.stream.encoder(head)
  const text = events.map((event) => writer.encode(event)).join('')
  return usage === undefined ? text : text + writer.end(usage)
}

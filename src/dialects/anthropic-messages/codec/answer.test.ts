// Answers there and back: what is written can be read again, and a stream comes to the same as a whole answer, in
// whatever pieces and whatever order its calls arrive.
import { describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import { checkMessageStream } from '../../../../test/fakes/message-grammar.ts'
import type {
  AnswerHead,
  AssistantPart,
  CallPart,
  ChatResponse,
  Finish,
} from '../../../core/chat.ts'
import type { ChatEvent } from '../../../core/chat-event.ts'
import type { Usage } from '../../../core/usage.ts'
import { readSeal } from '../../seal.ts'
import { readAnswer } from '../answer.ts'
import { watch } from '../stream.ts'
import { decodeResponse } from './response-decode.ts'
import { encodeResponse } from './response-encode.ts'
import { createDecoder } from './stream-decode.ts'
import { createEncoder } from './stream-encode.ts'

const RUNS = 300

const HEAD: AnswerHead = {
  id: 'abc',
  model: 'maker/model',
  created: 1,
  supplier: 'shop',
  inputTokens: 12,
  asksUsage: true,
}

const count = fc.nat(1_000_000)
const usage: fc.Arbitrary<Usage> = fc
  .tuple(count, count, count, count, count)
  .map(([plain, cached, written, said, thought]) => ({
    inputTokens: plain + cached + written,
    cachedTokens: cached,
    cacheWriteTokens: written,
    cacheWriteLongTokens: 0,
    audioInputTokens: 0,
    outputTokens: said + thought,
    reasoningTokens: thought,
    audioOutputTokens: 0,
  }))

const words = fc.string({ unit: 'binary', minLength: 1, maxLength: 12 })
const seal = words.map((data) => ({ data, supplier: undefined }))
const number = fc.constantFrom(
  '0',
  '-1.50',
  '1e400',
  '12345678901234567890',
  '0.1000000000000000055',
)
const inputText = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.dictionary(words, fc.jsonValue()).map((value) => JSON.stringify(value)),
  },
  fc
    .tuple(words, number)
    .map(([name, value]) => `{ ${JSON.stringify(name)}:\n[${value}], "1": {} }`),
  fc.constantFrom('{}', '{"__proto__":{"a":"}{\\""}}', '{"a":1,"a":2}', '{"b":1,"1":"\\\\"}'),
)
const call: fc.Arbitrary<CallPart> = fc.record({
  kind: fc.constant('call'),
  id: words,
  name: words,
  input: inputText,
})
const part: fc.Arbitrary<AssistantPart> = fc.oneof(
  fc.record({ kind: fc.constant('text'), text: words }),
  fc.record({ kind: fc.constant('thinking'), text: words, seal }),
  fc.record({
    kind: fc.constant('thinking'),
    text: fc.constant(''),
    seal,
    isHidden: fc.constant(true),
  }),
  { weight: 3, arbitrary: call },
)
const finish: fc.Arbitrary<Finish> = fc.oneof(
  fc.constantFrom<Finish>(
    { reason: 'length', raw: 'max_tokens' },
    { reason: 'window', raw: 'model_context_window_exceeded' },
    { reason: 'tools', raw: 'tool_use' },
    { reason: 'refusal', raw: 'refusal' },
    { reason: 'pause', raw: 'pause_turn' },
    { reason: 'stop', raw: 'stop_sequence' },
  ),
  words.map((stopText): Finish => ({ reason: 'stop', raw: 'stop_sequence', stopText })),
)
const answer = fc.record({ parts: fc.array(part, { maxLength: 8 }), finish })
/** Numbers to decide by. */
const dice = fc.infiniteStream(fc.nat(5))

/** As a supplier's seal comes back: in the gateway's own wrapping. */
function unwrap({ parts, ...rest }: ChatResponse): ChatResponse {
  return { ...rest, parts: parts.map(unwrapPart) }
}

function unwrapPart(each: AssistantPart): AssistantPart {
  if (each.kind !== 'thinking' || each.seal === undefined) return each
  const { data, supplier } = readSeal(each.seal.data)
  expect(supplier).toBe(HEAD.supplier)
  return { ...each, seal: { data, supplier: undefined } }
}

function* piecesOf(text: string, roll: () => number): Generator<string> {
  for (let at = 0; at < text.length;) {
    const length = 1 + roll()
    yield text.slice(at, at + length)
    at += length
  }
}

/** Events of an answer: texts in pieces, and pieces of calls held back until any later time. */
function eventsOf({ parts, finish }: Omit<ChatResponse, 'lost'>, roll: () => number): ChatEvent[] {
  const events: ChatEvent[] = [{ kind: 'start' }]
  const held: ChatEvent[][] = []
  const release = (): void => {
    while (held.length > 0 && roll() > 2) {
      const place = roll() % held.length
      events.push(held[place]!.shift()!)
      if (held[place]!.length === 0) held.splice(place, 1)
    }
  }
  for (const [place, each] of parts.entries()) {
    if (each.kind === parts[place - 1]?.kind) events.push({ kind: 'break' })
    if (each.kind === 'call') {
      events.push({ kind: 'call', place, id: each.id, name: each.name })
      held.push([...piecesOf(each.input, roll)].map((text) => ({ kind: 'input', place, text })))
      release()
      continue
    }
    if (each.kind === 'thinking' && each.isHidden === true)
      events.push({ kind: 'hidden', data: each.seal?.data ?? '' })
    else
      for (const text of piecesOf(each.text, roll)) {
        events.push({ kind: each.kind, text })
        release()
      }
    if (each.kind === 'thinking' && each.isHidden !== true && each.seal !== undefined)
      events.push({ kind: 'seal', data: each.seal.data })
  }
  return [...events, ...held.flat(), { kind: 'finish', finish }]
}

function printStream(events: readonly ChatEvent[], used: Usage): string {
  const encoder = createEncoder(HEAD)
  return events.map((event) => encoder.encode(event)).join('') + encoder.end(used)
}

function dataOf(stream: string): readonly string[] {
  const frames = stream.split('\n\n').slice(0, -1)
  return frames.map((frame) => frame.slice(frame.indexOf('\ndata: ') + '\ndata: '.length))
}

/** Reads frames as the pipeline does: the watcher first, and the closing marker is none. */
function readStream(frames: readonly string[]): { events: ChatEvent[]; lost: readonly string[] } {
  const decoder = createDecoder()
  const watcher = watch()
  const events = frames.flatMap((frame) => {
    const bytes = new TextEncoder().encode(frame)
    return watcher.see(bytes, 0, bytes.length) === 'end' ? [] : decoder.decode(bytes)
  })
  return { events, lost: decoder.lost }
}

interface Draft {
  readonly kind: AssistantPart['kind']
  readonly id?: string
  readonly name?: string
  readonly isHidden?: true
  text?: string
  input?: string
  seal?: object
}

/** What a client would make of the events. */
function collect(events: readonly ChatEvent[]): Omit<ChatResponse, 'lost'> {
  const parts: Draft[] = []
  const calls = new Map<number, Draft>()
  let atHand: Draft | undefined
  let finish: Finish | undefined
  const begin = (draft: Draft): Draft => {
    parts.push(draft)
    atHand = draft
    return draft
  }
  for (const event of events) {
    expect(finish).toBeUndefined()
    if (event.kind === 'break') atHand = undefined
    else if (event.kind === 'finish') finish = event.finish
    else if (event.kind === 'call') {
      const { id, name } = event
      calls.set(event.place, begin({ kind: 'call', id, name, input: '' }))
    } else if (event.kind === 'input') calls.get(event.place)!.input += event.text
    else if (event.kind === 'hidden') {
      const hidden = { data: event.data, supplier: undefined }
      begin({ kind: 'thinking', text: '', seal: hidden, isHidden: true })
      atHand = undefined
    } else if (event.kind === 'seal') {
      const thought = atHand?.kind === 'thinking' ? atHand : begin({ kind: 'thinking', text: '' })
      thought.seal = { data: event.data, supplier: undefined }
    } else if (event.kind !== 'start') {
      const draft = atHand?.kind === event.kind ? atHand : begin({ kind: event.kind, text: '' })
      draft.text += event.text
    }
  }
  return { parts: parts as AssistantPart[], finish: finish! }
}

describe('an answer', () => {
  it('is read again as it was written', () => {
    fc.assert(
      fc.property(answer, usage, (said, used) => {
        const bytes = encodeResponse({ ...said, lost: [], usage: used }, HEAD)
        expect(unwrap(decodeResponse(bytes))).toEqual({ ...said, lost: [] })
        expect(readAnswer(bytes).usage).toEqual(used)
      }),
      { numRuns: RUNS },
    )
  })

  it('comes to the same as a stream, in any pieces and however calls are mixed', () => {
    fc.assert(
      fc.property(answer, usage, dice, (said, used, rolls) => {
        const roll = (): number => rolls.next().value ?? 0
        const stream = printStream(eventsOf(said, roll), used)
        checkMessageStream(stream)
        const { events, lost } = readStream(dataOf(stream))
        const whole = encodeResponse({ ...said, lost: [], usage: used }, HEAD)
        const { parts, finish } = decodeResponse(whole)
        expect([collect(events), lost]).toEqual([{ parts, finish }, []])
      }),
      { numRuns: RUNS },
    )
  })

  it('that is cut off before its end has no reason to stop', () => {
    fc.assert(
      fc.property(answer, usage, dice, fc.nat(), (said, used, rolls, cut) => {
        const roll = (): number => rolls.next().value ?? 0
        const frames = dataOf(printStream(eventsOf(said, roll), used)).slice(0, -2)
        const { events } = readStream(frames.slice(0, cut % (frames.length + 1)))
        expect(events.map(({ kind }) => kind)).not.toContain('finish')
      }),
      { numRuns: RUNS },
    )
  })

  it('that is cut off is not ended by the one who writes it', () => {
    fc.assert(
      fc.property(answer, dice, (said, rolls) => {
        const roll = (): number => rolls.next().value ?? 0
        const encoder = createEncoder(HEAD)
        const stream = eventsOf(said, roll)
          .map((event) => encoder.encode(event))
          .join('')
        expect(stream).not.toMatch(/^event: message_(?!start)/m)
      }),
      { numRuns: RUNS },
    )
  })

  it('of any shape below its first level can be read, whole and as a stream', () => {
    const junk = fc.oneof(
      fc.jsonValue({ maxDepth: 3 }),
      fc.record(
        {
          type: fc.constantFrom('text', 'thinking', 'redacted_thinking', 'tool_use', 'x', 7),
          text: fc.jsonValue({ maxDepth: 1 }),
          thinking: fc.jsonValue({ maxDepth: 1 }),
          signature: fc.jsonValue({ maxDepth: 1 }),
          data: fc.jsonValue({ maxDepth: 1 }),
          name: fc.jsonValue({ maxDepth: 1 }),
          input: fc.jsonValue({ maxDepth: 2 }),
        },
        { requiredKeys: [] },
      ),
    )
    fc.assert(
      fc.property(fc.array(junk), fc.jsonValue(), fc.jsonValue(), (content, reason, delta) => {
        const message = { type: 'message', content, stop_reason: reason, stop_sequence: delta }
        const { parts } = decodeResponse(new TextEncoder().encode(JSON.stringify(message)))
        const events = content.flatMap((block, index) => [
          { type: 'content_block_start', index, content_block: block },
          { type: 'content_block_delta', index, delta },
          { type: 'content_block_stop', index },
        ])
        const decoder = createDecoder()
        const told = events.flatMap((event) =>
          decoder.decode(new TextEncoder().encode(JSON.stringify(event))),
        )
        expect(collect(told).parts).toEqual([...parts])
      }),
      { numRuns: RUNS },
    )
  })
})

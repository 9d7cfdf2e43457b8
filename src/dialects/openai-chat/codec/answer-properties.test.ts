// What holds for every answer: nothing that the language can say is lost on the way there and back, a stream says what
// the whole answer says however it is cut into pieces, and nothing that a supplier sends makes reading fail.
import fc from 'fast-check'
import { describe, expect, it } from 'bun:test'
import type {
  Answered,
  AnswerHead,
  AssistantPart,
  CallPart,
  ChatResponse,
  Finish,
} from '../../../core/chat.ts'
import type { ChatEvent } from '../../../core/chat-event.ts'
import { collect } from './answer-collect.ts'
import { decodeResponse } from './response-decode.ts'
import { encodeResponse } from './response-encode.ts'
import { createDecoder } from './stream-decode.ts'
import { createEncoder } from './stream-encode.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()

const HEAD: AnswerHead = {
  id: 'abc',
  model: 'model',
  created: 1,
  supplier: 'maker',
  inputTokens: 1,
  asksUsage: true,
}
const USAGE = {
  inputTokens: 3,
  cachedTokens: 1,
  cacheWriteTokens: 0,
  cacheWriteLongTokens: 0,
  audioInputTokens: 0,
  outputTokens: 2,
  reasoningTokens: 0,
  audioOutputTokens: 0,
}

const words = fc.oneof(
  fc.string({ minLength: 1, maxLength: 20 }),
  fc.string({ minLength: 1, maxLength: 20, unit: 'binary' }),
  fc.constantFrom('\ud800', '\u2028', 'data: [DONE]\n\n', '\r\n', '</think>'),
)
const someOf = <T>(part: fc.Arbitrary<T>) => fc.array(part, { maxLength: 1 })
const calls: fc.Arbitrary<CallPart[]> = fc.uniqueArray(
  fc.record({
    kind: fc.constant('call' as const),
    id: words,
    name: words,
    input: fc
      .dictionary(fc.string(), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 2 })
      .map((value) => JSON.stringify(value)),
  }),
  { selector: ({ id }) => id, maxLength: 4 },
)

function endings(parts: readonly AssistantPart[]): fc.Arbitrary<Finish> {
  const has = (kind: AssistantPart['kind']) => parts.some((part) => part.kind === kind)
  const of = (reason: Finish['reason'], raw: string) => fc.constant<Finish>({ reason, raw })
  const cut = of('length', 'length')
  if (has('refusal')) return fc.oneof(of('refusal', 'stop'), cut)
  const filtered = of('refusal', 'content_filter')
  if (has('call')) return fc.oneof(of('tools', 'tool_calls'), cut, filtered)
  const stopped = words.map<Finish>((stopText) => ({ reason: 'stop', raw: 'stop', stopText }))
  return fc.oneof(of('end', 'stop'), cut, filtered, stopped)
}

/** All that the language can say, in the order in which it does. */
const answers: fc.Arbitrary<ChatResponse> = fc
  .tuple(
    someOf(fc.record({ kind: fc.constant('thinking' as const), text: words })),
    someOf(fc.record({ kind: fc.constant('text' as const), text: words })),
    someOf(fc.record({ kind: fc.constant('refusal' as const), text: words })),
    calls,
  )
  .map<AssistantPart[]>((kinds) => kinds.flat())
  .chain((parts) => endings(parts).map((finish) => ({ parts, finish, lost: [] })))

/** Any answer of another language: thoughts sealed, hidden or neither, between texts and calls. */
const others: fc.Arbitrary<AssistantPart[]> = fc.array(
  fc.oneof(
    words.map<AssistantPart>((text) => ({ kind: 'text', text })),
    words.map<AssistantPart>((text) => ({ kind: 'thinking', text })),
    fc.tuple(fc.string(), words).map<AssistantPart>(([text, data]) => ({
      kind: 'thinking',
      text,
      seal: { data, supplier: undefined },
    })),
    words.map<AssistantPart>((data) => ({
      kind: 'thinking',
      text: '',
      isHidden: true,
      seal: { data, supplier: undefined },
    })),
    fc.tuple(words, fc.constantFrom('', '{}', '{"a":1}')).map<AssistantPart>(([id, input]) => ({
      kind: 'call',
      id,
      name: 'f',
      input,
    })),
  ),
  { maxLength: 8 },
)

/** Draws numbers that decide where something is cut and what comes next. */
type Draw = (below: number) => number
const draws: fc.Arbitrary<Draw> = fc
  .array(fc.nat(1000), { minLength: 1, maxLength: 60 })
  .map((list) => {
    let at = 0
    return (below) => list[at++ % list.length]! % below
  })

function cut(text: string, draw: Draw): string[] {
  const pieces: string[] = []
  for (let at = 0; at < text.length;) {
    const length = 1 + draw(12)
    pieces.push(text.slice(at, at + length))
    at += length
  }
  return pieces
}

/** Calls begin in their order; what they are given comes mixed. */
function mix(parts: readonly CallPart[], draw: Draw): ChatEvent[] {
  const queues = parts.map(({ id, name, input }, place): ChatEvent[] => [
    { kind: 'call', place, id, name },
    ...cut(input, draw).map((text): ChatEvent => ({ kind: 'input', place, text })),
  ])
  const events: ChatEvent[] = []
  let begun = 0
  while (queues.some((queue) => queue.length > 0)) {
    const open = queues.slice(0, begun + 1).filter((queue) => queue.length > 0)
    const queue = open[draw(open.length)]!
    if (queue === queues[begun]) begun++
    events.push(queue.shift()!)
  }
  return events
}

function tell(parts: readonly AssistantPart[], draw: Draw): ChatEvent[] {
  const said = parts.flatMap((part): ChatEvent[] => {
    if (part.kind === 'call') return []
    if (part.kind !== 'thinking' || part.seal === undefined)
      return [{ kind: 'break' }, ...cut(part.text, draw).map((text) => ({ kind: part.kind, text }))]
    const { data } = part.seal
    if (part.isHidden === true) return [{ kind: 'hidden', data }]
    const pieces = cut(part.text, draw).map((text) => ({ kind: part.kind, text }))
    return [{ kind: 'break' }, ...pieces, { kind: 'seal', data }]
  })
  const called = parts.filter((part) => part.kind === 'call')
  return [{ kind: 'start' }, ...said, ...mix(called, draw)]
}

/** The data of all frames but the closing marker's. */
function stream(events: readonly ChatEvent[]): { sent: string[]; ended: string[] } {
  const encoding = createEncoder(HEAD)
  const split = (text: string) =>
    text
      .split('\n\n')
      .slice(0, -1)
      .map((frame) => frame.slice(6))
  const sent = split(events.map((event) => encoding.encode(event)).join(''))
  return { sent, ended: split(encoding.end(USAGE)).slice(0, -1) }
}

function decodeStream(frames: readonly string[]): {
  events: ChatEvent[]
  lost: readonly string[]
} {
  const decoding = createDecoder()
  const events = frames.flatMap((frame) => [...decoding.decode(encoder.encode(frame))])
  return { events, lost: decoding.lost }
}

function encodeWhole({ parts, finish }: Pick<Answered, 'parts' | 'finish'>): Uint8Array {
  return encodeResponse({ parts, finish, lost: [], usage: USAGE }, HEAD)
}

describe('every answer that the language can say', () => {
  it('comes back as it was', () => {
    fc.assert(
      fc.property(answers, (answer) => {
        expect(decodeResponse(encodeWhole(answer))).toEqual(answer)
      }),
      { numRuns: 300 },
    )
  })

  it('is the same answer on a stream, however it is cut and mixed', () => {
    fc.assert(
      fc.property(answers, draws, ({ parts, finish }, draw) => {
        const { sent, ended } = stream([...tell(parts, draw), { kind: 'finish', finish }])
        const { events, lost } = decodeStream([...sent, ...ended])
        expect(events.filter(({ kind }) => kind === 'start')).toHaveLength(1)
        expect(collect(events)).toMatchObject({ parts: [...parts], finish })
        expect(lost).toEqual([])
      }),
      { numRuns: 300 },
    )
  })

  it('does not end where its stream was cut', () => {
    fc.assert(
      fc.property(answers, draws, ({ parts, finish }, draw) => {
        const { sent, ended } = stream([...tell(parts, draw), { kind: 'finish', finish }])
        const reason = ended.findIndex((frame) => !frame.includes('"finish_reason":null'))
        const whole = [...sent, ...ended.slice(0, reason)]
        const { events } = decodeStream(whole.slice(0, draw(whole.length + 1)))
        expect(events.some(({ kind }) => kind === 'finish')).toBe(false)
      }),
      { numRuns: 300 },
    )
  })
})

describe('every answer of another language', () => {
  interface Message {
    content: string | null
    reasoning_content?: string
    reasoning_details?: unknown[]
    tool_calls?: { id: string; function: { name: string; arguments: string } }[]
  }

  /** As clients put the deltas of a stream together. */
  function gather(frames: readonly string[]): Message {
    const message: Message = { content: null }
    for (const frame of frames) {
      const { choices } = JSON.parse(frame) as { choices: { delta: Record<string, never> }[] }
      const delta: Record<string, never> = choices[0]?.delta ?? {}
      if (delta['content']) message.content = (message.content ?? '') + delta['content']
      if (delta['reasoning_content'])
        message.reasoning_content = (message.reasoning_content ?? '') + delta['reasoning_content']
      if (delta['reasoning_details'])
        message.reasoning_details = [
          ...(message.reasoning_details ?? []),
          ...(delta['reasoning_details'] as unknown[]),
        ]
      for (const piece of (delta['tool_calls'] ?? []) as ({ index: number } & NonNullable<
        Message['tool_calls']
      >[number])[]) {
        const { index, ...call } = piece
        message.tool_calls ??= []
        const known = message.tool_calls[index]
        if (known === undefined) message.tool_calls[index] = call
        else known.function.arguments += call.function.arguments
      }
    }
    return message
  }

  it('says on a stream what it says at once, seals included', () => {
    fc.assert(
      fc.property(others, draws, (parts, draw) => {
        const finish: Finish = { reason: 'end', raw: undefined }
        const { sent, ended } = stream([...tell(parts, draw), { kind: 'finish', finish }])
        const whole = JSON.parse(decoder.decode(encodeWhole({ parts, finish }))) as {
          choices: [{ message: Record<string, unknown> }]
        }
        const { role, refusal, content, ...others } = whole.choices[0].message
        expect({ role, refusal }).toEqual({ role: 'assistant', refusal: null })
        const gathered: unknown = gather([...sent, ...ended])
        expect(gathered).toEqual({ content: content === '' ? null : content, ...others })
      }),
      { numRuns: 300 },
    )
  })
})

describe('whatever a supplier sends', () => {
  const NAMES = (
    'index message delta finish_reason stop_reason role content type text thinking refusal reasoning reasoning_content ' +
    'reasoning_details tool_calls function_call id function name arguments extra_content custom data signature summary ' +
    '__proto__ constructor logprobs'
  ).split(' ')
  const junk = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'medium', withCrossShrink: true },
      fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)),
      fc.constantFrom('text', 'thinking', 'stop', 'tool_calls', '{}', 0),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...NAMES), tie('value'), { maxKeys: 6 }),
    ),
  })).value
  const message = fc.dictionary(fc.constantFrom(...NAMES), junk, { maxKeys: 8 })
  const choice = fc.oneof(
    junk,
    fc.record({ index: fc.constantFrom(0, 1, null), message, finish_reason: junk }),
  )
  const body = fc.record({ id: junk, choices: fc.array(choice, { maxLength: 3 }) })

  it('reads as an answer that can be told again', () => {
    fc.assert(
      fc.property(body, (value) => {
        const answer = decodeResponse(encoder.encode(JSON.stringify(value)))
        for (const part of answer.parts)
          if (part.kind === 'call') expect(part.id !== '' && part.name !== '').toBe(true)
          else expect(typeof part.text).toBe('string')
        expect(answer.finish.reason).toBeString()
        const again = decodeResponse(encodeWhole(answer))
        // What is no JSON stays none, and is told each time.
        const broken = '/choices/*/message/tool_calls/*/function/arguments'
        expect(again.lost.filter((place) => place !== broken)).toEqual([])
      }),
      { numRuns: 1000 },
    )
  })

  it('ends at most once on a stream, with nothing behind it', () => {
    fc.assert(
      fc.property(fc.array(body, { maxLength: 6 }), (bodies) => {
        const frames = bodies.map((value) =>
          JSON.stringify(value).replaceAll('"message":', '"delta":'),
        )
        const { events } = decodeStream(frames)
        const end = events.findIndex(({ kind }) => kind === 'finish')
        expect(end === -1 || end === events.length - 1).toBe(true)
        const began = new Set<number>()
        for (const event of events) {
          if (event.kind === 'call') began.add(event.place)
          if (event.kind === 'input') expect(began.has(event.place)).toBe(true)
        }
      }),
      { numRuns: 300 },
    )
  })
})

// Answers there and back: what is written can be read again, and a stream comes to the same as a whole answer, in
// whatever pieces and whatever order its calls arrive.
import { describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import { collect, streamOf } from '../../../../test/fakes/conversations.ts'
import { checkResponseStream } from '../../../../test/fakes/response-grammar.ts'
import type { AnswerHead, AssistantPart, ChatResponse, Finish } from '../../../core/chat.ts'
import type { ChatEvent } from '../../../core/chat-event.ts'
import type { Usage } from '../../../core/usage.ts'
import { isInput } from './answer-items.ts'
import { readSealing } from './reasoning-seal.ts'
import { decodeResponse } from './response-decode.ts'
import { encodeResponse } from './response-encode.ts'
import { createDecoder } from './stream-decode.ts'
import { createEncoder } from './stream-encode.ts'

const RUNS = 200

const HEAD: AnswerHead = {
  id: 'abc',
  model: 'maker/"model"',
  created: 1,
  supplier: 'shop',
  inputTokens: 12,
  asksUsage: true,
}
const USAGE: Usage = {
  inputTokens: 30,
  cachedTokens: 10,
  cacheWriteTokens: 5,
  cacheWriteLongTokens: 0,
  audioInputTokens: 0,
  outputTokens: 20,
  reasoningTokens: 7,
  audioOutputTokens: 0,
}

const words = fc.oneof(
  fc.string({ minLength: 1, maxLength: 12 }),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }),
  fc.constantFrom('\ud800', '\u2028', 'data: {}\n\n', '\r\n', '\n\n', '"\\'),
)
const seal = words.map((data) => ({ data, supplier: undefined }))
const inputs = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.dictionary(words, fc.jsonValue()).map((value) => JSON.stringify(value)),
  },
  fc.constantFrom(
    '{}',
    '{"a":12345678901234567890}',
    '{ "a":\n[1e400], "1": {} }',
    '{"a":"}{\\""}',
  ),
  // What a model has got wrong, or could not finish.
  fc.constantFrom('[1]', '7', 'null', '{"cut":', '}'),
)
const part: fc.Arbitrary<AssistantPart> = fc.oneof(
  fc.record({ kind: fc.constant('text'), text: words }),
  fc.record({ kind: fc.constant('refusal'), text: words }),
  fc.record({ kind: fc.constant('thinking'), text: words }),
  fc.record({ kind: fc.constant('thinking'), text: fc.oneof(words, fc.constant('')), seal }),
  fc.record({
    kind: fc.constant('thinking'),
    text: fc.constant(''),
    seal,
    isHidden: fc.constant(true),
  }),
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('call'), id: words, name: words, input: inputs }),
  },
)

/** What this language can say of why such an answer ends. */
function finishesOf(parts: readonly AssistantPart[]): fc.Arbitrary<Finish> {
  const has = (kind: AssistantPart['kind']): boolean => parts.some((each) => each.kind === kind)
  const whole = { raw: 'completed', reason: has('call') ? 'tools' : 'end' } as const
  const filtered = { raw: 'content_filter', reason: 'refusal' } as const
  return fc.constantFrom<Finish>(
    has('refusal') ? { raw: 'completed', reason: 'refusal' } : whole,
    ...(has('refusal') ? [] : [filtered]),
    { raw: 'max_output_tokens', reason: 'length' },
  )
}

const answers: fc.Arbitrary<ChatResponse> = fc
  .array(part, { maxLength: 8 })
  .map((parts) => parts.map((each, place) => nameApart(each, place)))
  .chain((parts) => finishesOf(parts).map((finish) => ({ parts, finish, lost: [] })))
/** Sizes of pieces, and in which order calls go on. */
const dice = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 20 })

/** No two calls of an answer have one id. */
function nameApart(each: AssistantPart, place: number): AssistantPart {
  return each.kind === 'call' ? { ...each, id: `${each.id}${place}` } : each
}

/** As a supplier's seal comes back: in the gateway's own wrapping, on every thought. */
function unwrap(parts: readonly AssistantPart[]): readonly AssistantPart[] {
  return parts.map((each) => {
    if (each.kind !== 'thinking') return each
    const { text } = each
    const { seal, isHidden } = readSealing(each.seal?.data ?? '')
    expect(seal.supplier).toBe(HEAD.supplier)
    if (seal.data === '') return { kind: 'thinking', text }
    const bare = { data: seal.data, supplier: undefined }
    return { kind: 'thinking', text, seal: bare, ...(isHidden && { isHidden }) }
  })
}

function write(answer: ChatResponse): Uint8Array {
  return encodeResponse({ ...answer, usage: USAGE }, HEAD)
}

function print(events: readonly ChatEvent[], isEnded = true): string {
  const encoder = createEncoder(HEAD)
  const told = events.map((event) => encoder.encode(event)).join('')
  return isEnded ? told + encoder.end(USAGE) : told
}

function dataOf(stream: string): readonly string[] {
  const frames = stream.split('\n\n').slice(0, -1)
  return frames.map((frame) => frame.slice(frame.indexOf('\ndata: ') + '\ndata: '.length))
}

function read(frames: readonly string[]): { events: ChatEvent[]; lost: readonly string[] } {
  const decoder = createDecoder()
  const events = frames.flatMap((frame) => [...decoder.decode(new TextEncoder().encode(frame))])
  return { events, lost: decoder.lost }
}

/** Calls come last on a stream that mixes them. */
function ordered(answer: ChatResponse): ChatResponse {
  const isCall = ({ kind }: AssistantPart): boolean => kind === 'call'
  const others = answer.parts.filter((each) => !isCall(each))
  return { ...answer, parts: [...others, ...answer.parts.filter(isCall)] }
}

/** A call whose input is no object: whoever is told of it in another language is told of none. */
function lostOf({ parts }: ChatResponse): readonly string[] {
  const isBroken = parts.some((each) => each.kind === 'call' && !isInput(each.input))
  return isBroken ? ['/output/*/arguments'] : []
}

/** The items of the last event. */
function endOf(stream: string): { status: string; output: unknown[]; usage: unknown } {
  const last = JSON.parse(dataOf(stream).at(-1)!) as { response: never }
  return last.response
}

describe('an answer', () => {
  it('is read again as it was written', () => {
    fc.assert(
      fc.property(answers, (answer) => {
        const { parts, finish, lost } = decodeResponse(write(answer))
        expect(unwrap(parts)).toEqual([...answer.parts])
        expect([finish, lost]).toEqual([answer.finish, lostOf(answer)])
      }),
      { numRuns: RUNS },
    )
  })

  it('comes to the same as a stream, in any pieces and however calls are mixed', () => {
    fc.assert(
      fc.property(answers, dice, dice, (some, sizes, order) => {
        const answer = ordered(some)
        const stream = print(streamOf(answer, sizes, order))
        checkResponseStream(stream)
        const { events, lost } = read(dataOf(stream))
        const { parts, finish } = collect(events)
        expect(unwrap(parts)).toEqual([...answer.parts])
        const isCut = answer.finish.reason === 'length'
        expect([finish, lost]).toEqual([answer.finish, isCut ? [] : lostOf(answer)])
        const whole = JSON.parse(new TextDecoder().decode(write(answer))) as object
        expect(endOf(stream)).toEqual(whole as never)
      }),
      { numRuns: RUNS },
    )
  })

  it('has no reason to stop where its stream was cut', () => {
    fc.assert(
      fc.property(answers, dice, fc.nat(), (answer, sizes, cut) => {
        const frames = dataOf(print(streamOf(answer, sizes, sizes))).slice(0, -1)
        const { events } = read(frames.slice(0, cut % (frames.length + 1)))
        expect(events.map(({ kind }) => kind)).not.toContain('finish')
      }),
      { numRuns: RUNS },
    )
  })

  it('is not ended by the one who writes it where nobody says that it ended well', () => {
    fc.assert(
      fc.property(answers, dice, (answer, sizes) => {
        const stream = print(streamOf(answer, sizes, sizes), false)
        expect(stream).not.toMatch(/^event: response\.(completed|incomplete|failed)$/m)
        expect(stream).not.toContain('"status":"incomplete"')
      }),
      { numRuns: RUNS },
    )
  })

  it('of any shape below its first level can be read, and told again', () => {
    fc.assert(
      fc.property(fc.array(junk), value, value, (output, status, details) => {
        const answer = { id: 'resp_1', output, status, incomplete_details: details }
        const whole = decodeResponse(new TextEncoder().encode(JSON.stringify(answer)))
        for (const each of whole.parts)
          if (each.kind === 'call') expect(each.id !== '' && each.name !== '').toBe(true)
          else expect(each.text !== '' || 'seal' in each).toBe(true)
        expect(decodeResponse(write(whole)).lost).toEqual(lostOf(whole))
      }),
      { numRuns: 1000 },
    )
  })

  it('ends at most once on a stream of any shape, and nothing comes behind it', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 12 }), (all) => {
        const { events } = read(all.map((each) => JSON.stringify(each)))
        const kinds = events.map(({ kind }) => kind)
        expect(kinds.lastIndexOf('start')).toBe(all.length === 0 ? -1 : 0)
        const end = kinds.indexOf('finish')
        expect(end === -1 || end === kinds.length - 1).toBe(true)
        // Throws for input of a call that has not begun.
        collect(events)
        checkResponseStream(print(uniqueCalls(events)))
      }),
      { numRuns: 1000 },
    )
  })
})

/** What suppliers of anything could send in place of an item, or of an event. */
const value = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom('completed', 'incomplete', { reason: 'content_filter' }, 'text', '{}', 0),
)
const partJunk = fc.oneof(
  value,
  fc.record(
    {
      type: fc.constantFrom('output_text', 'refusal', 'summary_text', 'reasoning_text', 'x'),
      text: value,
      refusal: value,
      annotations: value,
      ['__proto__']: value,
    },
    { requiredKeys: [] },
  ),
)
const junk = fc.oneof(
  value,
  fc.record(
    {
      type: fc.constantFrom('message', 'reasoning', 'function_call', 'web_search_call', 7),
      id: fc.constantFrom('a', 'b', '', 1),
      content: fc.oneof(value, fc.array(partJunk, { maxLength: 3 })),
      summary: fc.oneof(value, fc.array(partJunk, { maxLength: 3 })),
      encrypted_content: value,
      call_id: fc.oneof(value, fc.constantFrom('c', 'd')),
      name: fc.oneof(value, fc.constant('f')),
      arguments: fc.oneof(value, fc.constant('{"a":1}')),
    },
    { requiredKeys: [] },
  ),
)
const NAMES = (
  'created output_item.added output_item.done output_item.done completed output_text.delta output_text.done ' +
  'refusal.delta refusal.done reasoning_text.delta reasoning_summary_text.delta reasoning_summary_text.done ' +
  'function_call_arguments.delta function_call_arguments.done nonsense'
).split(' ')
const event = fc.record(
  {
    type: fc.constantFrom(...NAMES).map((name) => `response.${name}`),
    item_id: fc.constantFrom('a', 'b', null),
    output_index: fc.constantFrom(0, 1, null),
    content_index: fc.constantFrom(0, 1),
    summary_index: fc.constantFrom(0, 1),
    delta: fc.oneof(fc.constantFrom('a', '{'), value),
    text: fc.oneof(fc.constantFrom('a', 'ab'), value),
    refusal: value,
    arguments: value,
    item: junk,
    response: fc.record({ output: fc.array(junk, { maxLength: 3 }), status: value }),
  },
  { requiredKeys: ['type'] },
)

function uniqueCalls(events: readonly ChatEvent[]): readonly ChatEvent[] {
  return events.map((each) =>
    each.kind === 'call' ? { ...each, id: `${each.id} ${each.place}` } : each,
  )
}

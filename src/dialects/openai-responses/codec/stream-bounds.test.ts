// What a supplier that never finishes anything can make the gateway keep, and what honest ones can do all the same.
import { describe, expect, it } from 'bun:test'
import type { AnswerHead } from '../../../core/chat.ts'
import type { ChatEvent } from '../../../core/chat-event.ts'
import { GatewayError } from '../../../core/problem.ts'
import { createDecoder } from './stream-decode.ts'
import { createEncoder } from './stream-encode.ts'

const HEAD: AnswerHead = {
  id: 'abc',
  model: 'model',
  created: 1,
  supplier: 'maker',
  inputTokens: 1,
  asksUsage: true,
}
const encoder = new TextEncoder()
const LARGE = 'z'.repeat(500_000)
/** More than enough of what is large, and of what is small. */
const MANY = 20
const VERY_MANY = 20_000

/** How many are taken before the stream is given up; all that there are if it is not. */
function taken(count: number, take: (at: number) => unknown): number {
  for (let at = 0; at < count; at++)
    try {
      take(at)
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(GatewayError)
      expect(thrown).toHaveProperty('code', 'provider_response_too_large')
      return at
    }
  return count
}

function read(frames: number, eventOf: (at: number) => object): number {
  const decoder = createDecoder()
  return taken(frames, (at) => decoder.decode(encoder.encode(JSON.stringify(eventOf(at)))))
}

function write(events: number, eventOf: (at: number) => ChatEvent): number {
  const written = createEncoder(HEAD)
  return taken(events, (at) => written.encode(eventOf(at)))
}

function added(at: number, item: object): object {
  return { type: 'response.output_item.added', output_index: at, item }
}

describe('a supplier is given up', () => {
  it.each<[string, number, (at: number) => object]>([
    [
      'whose one text has no end',
      MANY,
      () => ({ type: 'response.output_text.delta', item_id: 'm', output_index: 0, delta: LARGE }),
    ],
    [
      'whose one thought has no end',
      MANY,
      () => ({
        type: 'response.reasoning_text.delta',
        item_id: 'r',
        output_index: 0,
        delta: LARGE,
      }),
    ],
    [
      'whose calls have no name, and much input',
      MANY,
      () => ({
        type: 'response.function_call_arguments.delta',
        item_id: 'f',
        output_index: 0,
        delta: LARGE,
      }),
    ],
    [
      'whose calls have endless ids',
      MANY,
      (at) => added(at, { type: 'function_call', call_id: `${LARGE}${at}`, name: 'n' }),
    ],
    ['whose items have endless ids', MANY, (at) => added(at, { type: 'message', id: LARGE + at })],
    [
      'that only ever begins',
      VERY_MANY,
      (at) => added(at, { type: 'message', id: `m${at}`, content: [] }),
    ],
    [
      'whose one text has ever new parts',
      VERY_MANY,
      (at) => ({
        type: 'response.output_text.delta',
        item_id: 'm',
        output_index: 0,
        content_index: at,
        delta: 'a',
      }),
    ],
  ])('%s', (_title, frames, eventOf) => {
    expect(read(frames, eventOf)).toBeLessThan(frames / 2)
  })
})

describe('a supplier may', () => {
  it('say a great deal in a great many pieces', () => {
    const delta = { type: 'response.output_text.delta', item_id: 'm', output_index: 0 }
    expect(read(VERY_MANY, () => ({ ...delta, delta: 'word '.repeat(10) }))).toBe(VERY_MANY)
  })

  it('hide thoughts of any length', () => {
    const item = (at: number): object => ({
      type: 'response.output_item.done',
      output_index: at,
      item: { type: 'reasoning', id: `rs_${at}`, summary: [], encrypted_content: LARGE },
    })
    expect(read(100, item)).toBe(100)
  })
})

describe('what is written in this language', () => {
  it('is given up where it grows without end, because its end repeats all of it', () => {
    expect(write(MANY, () => ({ kind: 'text', text: LARGE }))).toBeLessThan(MANY / 2)
    expect(write(MANY, () => ({ kind: 'thinking', text: LARGE }))).toBeLessThan(MANY / 2)
    expect(write(MANY, () => ({ kind: 'hidden', data: LARGE }))).toBeLessThan(MANY / 2)
    const call = (place: number): ChatEvent => ({ kind: 'call', place, id: 'c', name: 'n' })
    expect(write(VERY_MANY, call)).toBeLessThan(VERY_MANY / 2)
    const named = (place: number): ChatEvent => ({ kind: 'call', place, id: 'c', name: LARGE })
    expect(write(MANY, named)).toBeLessThan(MANY / 2)
    const input = (at: number): ChatEvent =>
      at === 0 ? call(0) : { kind: 'input', place: 0, text: LARGE }
    expect(write(MANY, input)).toBeLessThan(MANY / 2)
  })

  it('may be a long answer', () => {
    expect(write(VERY_MANY, () => ({ kind: 'text', text: 'word '.repeat(20) }))).toBe(VERY_MANY)
  })
})

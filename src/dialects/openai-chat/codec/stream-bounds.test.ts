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

type Delta = (at: number) => object

/** How many frames are taken before the stream is given up; all that there are if it is not. */
function taken(frames: number, deltaOf: Delta): number {
  const decoder = createDecoder()
  for (let at = 0; at < frames; at++)
    try {
      const choices = [{ index: 0, delta: deltaOf(at), finish_reason: null }]
      decoder.decode(encoder.encode(JSON.stringify({ id: 'a', choices })))
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(GatewayError)
      expect(thrown).toHaveProperty('code', 'provider_response_too_large')
      return at
    }
  return frames
}

const callOf = (fields: object): object => ({ tool_calls: [fields] })

describe('a supplier is given up', () => {
  it.each<[string, number, Delta]>([
    [
      'that thinks in secret without end',
      MANY,
      (index) => ({ reasoning_details: [{ type: 'reasoning.encrypted', data: LARGE, index }] }),
    ],
    [
      'that thinks in ever new names',
      VERY_MANY,
      (at) => ({ reasoning_details: [{ type: 'reasoning.text', [`name-${at}`.repeat(50)]: 1 }] }),
    ],
    [
      'whose one thought has no end',
      MANY,
      () => ({ reasoning_details: [{ type: 'reasoning.text', text: LARGE }] }),
    ],
    [
      'whose calls have no name, and much beside it',
      MANY,
      (index) => callOf({ index, id: `c${index}`, extra_content: { z: LARGE } }),
    ],
    [
      'whose calls have no name, and much input',
      MANY,
      () => callOf({ index: 0, id: 'c', function: { arguments: LARGE } }),
    ],
    ['whose calls have endless ids', MANY, (at) => named(at, `${LARGE}${at}`, '{}')],
    ['whose calls share one endless id', MANY, (at) => named(at, LARGE, '{}')],
    ['whose calls all stay open', MANY, (at) => named(at, `c${at}`, `{"a":"${LARGE}`)],
    ['that only ever calls', VERY_MANY, (at) => named(at, `c${at}`, '{}')],
  ])('%s', (_title, frames, deltaOf) => {
    expect(taken(frames, deltaOf)).toBeLessThan(frames / 2)
  })
})

function named(index: number, id: string, input: string): object {
  return callOf({ index, id, function: { name: 'n', arguments: input } })
}

describe('a supplier may', () => {
  it.each<[string, number, Delta]>([
    [
      'think in a great many pieces',
      VERY_MANY,
      () => ({
        reasoning_details: [{ type: 'reasoning.text', text: 'word ', format: 'some-v1', index: 0 }],
      }),
    ],
    [
      'think in secret a little at a time',
      100,
      (index) => ({
        content: 'a',
        reasoning_details: [{ type: 'reasoning.encrypted', data: LARGE, index }],
      }),
    ],
    [
      'make up an id for every piece of a call',
      VERY_MANY,
      (at) =>
        callOf({
          index: 0,
          id: `call_${at}`.repeat(5),
          function: { ...(at === 0 && { name: 'n' }), arguments: at === 0 ? '{"a":"' : 'word ' },
        }),
    ],
    [
      'name a call with every piece of it',
      VERY_MANY,
      (at) => callOf({ function: { name: 'n', arguments: at === 0 ? '{"a":"' : '}' } }),
    ],
    ['give calls long names', 100, (at) => callOf({ index: at, function: { name: LARGE } })],
    [
      'give a call an input of many megabytes',
      100,
      (at) =>
        callOf({
          index: 0,
          function: { ...(at === 0 && { name: 'n' }), arguments: at === 0 ? '{"a":"' : LARGE },
        }),
    ],
  ])('%s', (_title, frames, deltaOf) => {
    expect(taken(frames, deltaOf)).toBe(frames)
  })
})

describe('what is written in this language', () => {
  const fill = (events: number, eventOf: (at: number) => ChatEvent): number => {
    const written = createEncoder(HEAD)
    for (let at = 0; at < events; at++)
      try {
        written.encode(eventOf(at))
      } catch (thrown) {
        expect(thrown).toHaveProperty('code', 'provider_response_too_large')
        return at
      }
    return events
  }

  it('is given up where a thought, or the number of calls, has no end', () => {
    expect(fill(MANY, () => ({ kind: 'thinking', text: LARGE }))).toBeLessThan(MANY / 2)
    const call = (place: number): ChatEvent => ({ kind: 'call', place, id: 'c', name: 'n' })
    expect(fill(VERY_MANY, call)).toBeLessThan(VERY_MANY / 2)
  })

  it('goes on with any number of thoughts and texts', () => {
    const thought: ChatEvent = { kind: 'thinking', text: LARGE }
    const text: ChatEvent = { kind: 'text', text: 'a' }
    expect(fill(100, (at) => (at % 2 === 0 ? thought : text))).toBe(100)
    expect(fill(100, (at) => (at % 2 === 0 ? thought : { kind: 'seal', data: 's' }))).toBe(100)
    expect(fill(100, () => ({ kind: 'text', text: LARGE }))).toBe(100)
  })
})

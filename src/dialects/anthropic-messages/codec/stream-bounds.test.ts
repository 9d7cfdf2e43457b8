// What waits for its turn is bounded, in either direction; what is told is not.
import { describe, expect, it } from 'bun:test'
import type { AnswerHead } from '../../../core/chat.ts'
import type { ChatEvent } from '../../../core/chat-event.ts'
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
const MANY = 20
const VERY_MANY = 20_000

/** How many times it could be done before the stream was given up. */
function times(most: number, act: (at: number) => void): number {
  for (let at = 0; at < most; at++)
    try {
      act(at)
    } catch (thrown) {
      expect(thrown).toHaveProperty('code', 'provider_response_too_large')
      return at
    }
  return most
}

function decoded(most: number, eventsOf: (at: number) => readonly object[]): number {
  const decoder = createDecoder()
  return times(most, (at) => {
    for (const event of eventsOf(at)) decoder.decode(encoder.encode(JSON.stringify(event)))
  })
}

const start = (index: number, block: object): object => ({
  type: 'content_block_start',
  index,
  content_block: block,
})
const add = (index: number, delta: object): object => ({
  type: 'content_block_delta',
  index,
  delta,
})
const call = (index: number, input: object = {}): object =>
  start(index, { type: 'tool_use', id: `t${index}`, name: 'n', input })

describe('what is read', () => {
  it('is given up where calls begin and never end', () => {
    expect(decoded(VERY_MANY, (at) => [call(at)])).toBeLessThan(VERY_MANY / 2)
    expect(decoded(MANY, (at) => [call(at, { z: LARGE })])).toBeLessThan(MANY / 2)
  })

  it('goes on where they end', () => {
    const stop = (index: number): object => ({ type: 'content_block_stop', index })
    expect(decoded(VERY_MANY, (at) => [call(at), stop(at)])).toBe(VERY_MANY)
    expect(decoded(100, (at) => [call(at, { z: LARGE }), stop(at)])).toBe(100)
  })

  it('keeps one thought at a time, whether they are announced or not', () => {
    const signature = { type: 'signature_delta', signature: LARGE }
    const thinking = { type: 'thinking_delta', thinking: 'a' }
    expect(decoded(100, (at) => [add(at, thinking), add(at, signature)])).toBe(100)
    const block = { type: 'thinking', thinking: '', signature: LARGE }
    expect(decoded(100, (at) => [start(at, block)])).toBe(100)
    expect(decoded(100, () => [add(0, thinking), add(0, signature)])).toBe(100)
  })

  it('leaves an input that is nested without end, and says so', () => {
    const decoder = createDecoder()
    const deep = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`
    const block = `{"type":"tool_use","id":"t","name":"n","input":${deep}}`
    decoder.decode(
      encoder.encode(`{"type":"content_block_start","index":0,"content_block":${block}}`),
    )
    expect(decoder.decode(encoder.encode('{"type":"content_block_stop","index":0}'))).toEqual([
      { kind: 'input', place: 0, text: '{}' },
    ])
    expect(decoder.lost).toEqual(['/content/*/input'])
  })
})

describe('what is written', () => {
  const begin = (place: number, id = `c${place}`): ChatEvent => ({
    kind: 'call',
    place,
    id,
    name: 'n',
  })
  const input = (place: number, text: string): ChatEvent => ({ kind: 'input', place, text })
  const encoded = (most: number, eventsOf: (at: number) => readonly ChatEvent[]): number => {
    const written = createEncoder(HEAD)
    return times(most, (at) => {
      for (const event of eventsOf(at)) written.encode(event)
    })
  }

  it.each<[string, number, (at: number) => readonly ChatEvent[]]>([
    ['calls', VERY_MANY, (at) => [begin(at), input(at, '{')]],
    ['long ids', MANY, (at) => [begin(at, LARGE)]],
    ['input', MANY, (at) => [begin(at), input(at, `{"a":"${LARGE}`)]],
    [
      'thoughts under seal',
      MANY,
      (at) =>
        at === 0
          ? [begin(0), input(0, '{')]
          : [
              { kind: 'thinking', text: 'a' },
              { kind: 'seal', data: LARGE },
            ],
    ],
    ['text', MANY, (at) => (at === 0 ? [begin(0)] : [{ kind: 'text', text: LARGE }])],
  ])('is given up where too much waits for a call to end: %s', (_title, most, eventsOf) => {
    expect(encoded(most, eventsOf)).toBeLessThan(most / 2)
  })

  it('goes on with any number of blocks that take their turn', () => {
    expect(encoded(VERY_MANY, (at) => [begin(at), input(at, '{"a":'), input(at, '1}')])).toBe(
      VERY_MANY,
    )
    expect(encoded(100, (at) => [begin(at, LARGE), input(at, `{"a":"${LARGE}"}`)])).toBe(100)
    expect(encoded(100, () => [{ kind: 'text', text: LARGE }])).toBe(100)
    expect(
      encoded(100, () => [
        { kind: 'thinking', text: LARGE },
        { kind: 'seal', data: LARGE },
      ]),
    ).toBe(100)
  })

  it('goes on where calls are mixed for long, and one after the other ends', () => {
    const mixed = (at: number): readonly ChatEvent[] => [
      begin(2 * at),
      begin(2 * at + 1),
      input(2 * at + 1, `{"a":"${LARGE}"}`),
      input(2 * at, '{}'),
    ]
    expect(encoded(100, mixed)).toBe(100)
  })
})

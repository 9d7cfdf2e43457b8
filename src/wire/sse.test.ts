// However a stream is sliced and whatever ends its lines, the same events must come out, and the raw
// slices put together must be the stream.
import { describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import { FrameTooLarge, SseSplitter } from './sse.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()

interface Seen {
  readonly data: readonly string[]
  readonly raw: string
}

function split(bytes: Uint8Array, cuts: readonly number[], limit = 1 << 20): Seen {
  const data: string[] = []
  const raw: Uint8Array[] = []
  const splitter = new SseSplitter(
    {
      frame(buffer, from, to, payload) {
        data.push(decoder.decode(payload.bytes.subarray(payload.from, payload.to)))
        raw.push(buffer.subarray(from, to))
      },
    },
    limit,
  )
  const places = [...new Set([0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])]
  places.sort((left, right) => left - right)
  for (const [index, from] of places.entries())
    if (index + 1 < places.length) splitter.push(bytes.slice(from, places[index + 1]))
  splitter.finish()
  return { data, raw: decoder.decode(Buffer.concat(raw)) }
}

const line = fc.oneof(
  fc.string({ unit: 'grapheme' }).map((text) => `data: ${text.replaceAll(/[\r\n\uFEFF]/g, ' ')}`),
  fc.constantFrom(
    'data',
    'data:',
    'data:{"a":1}',
    ': comment',
    'event: ping',
    'id: 7',
    'datax: no',
  ),
)
const event = fc.array(line, { minLength: 1, maxLength: 4 })

function expected(events: readonly (readonly string[])[]): string[] {
  return events.map((lines) =>
    lines
      .filter((text) => text === 'data' || text.startsWith('data:'))
      .map((text) => text.slice(5).replace(/^ /, ''))
      .join('\n'),
  )
}

describe('sse splitter', () => {
  it('gives the same events for any slicing and any line ending', () => {
    fc.assert(
      fc.property(
        fc.array(event, { maxLength: 6 }),
        fc.constantFrom('\n', '\r\n', '\r'),
        fc.boolean(),
        fc.array(fc.nat(), { maxLength: 40 }),
        (events, ending, hasMark, cuts) => {
          const text = events.map((lines) => lines.join(ending) + ending + ending).join('')
          const bytes = encoder.encode((hasMark ? '\uFEFF' : '') + text)
          const seen = split(bytes, cuts)
          expect(seen.data).toEqual(expected(events))
          expect(seen.raw).toBe(text)
        },
      ),
      { numRuns: 2000 },
    )
  })

  it('survives one byte at a time, also inside a character', () => {
    const text = 'data: {"text":"žluťoučký 🐎"}\r\n\r\ndata: [DONE]\n\n'
    const bytes = encoder.encode(text)
    const seen = split(bytes, [...bytes.keys()])
    expect(seen.data).toEqual(['{"text":"žluťoučký 🐎"}', '[DONE]'])
    expect(seen.raw).toBe(text)
  })

  it('counts a last event whose blank line is missing', () => {
    expect(split(encoder.encode('data: a\n\ndata: [DONE]'), [3]).data).toEqual(['a', '[DONE]'])
    expect(split(encoder.encode('data: a\n\ndata: b\r'), []).data).toEqual(['a', 'b'])
  })

  it('leaves handed-out slices alone while it reads on', () => {
    const kept: Uint8Array[] = []
    const splitter = new SseSplitter(
      { frame: (buffer, from, to) => void kept.push(buffer.subarray(from, to)) },
      1 << 20,
    )
    for (const part of ['data: fir', 'st\n\ndata: sec', 'ond\n\ndata: third\n', '\n'])
      splitter.push(encoder.encode(part))
    expect(kept.map((slice) => decoder.decode(slice))).toEqual([
      'data: first\n\n',
      'data: second\n\n',
      'data: third\n\n',
    ])
  })

  it('gives up on an event that never ends', () => {
    const endless = encoder.encode('data: ' + 'x'.repeat(2000))
    expect(() => split(endless, [500, 1000, 1500], 1000)).toThrow(FrameTooLarge)
  })

  it('joins thousands of data lines, in whatever slices they come', () => {
    const lines = Array.from({ length: 10_000 }, (_, index) => String(index))
    const bytes = encoder.encode(`${lines.map((text) => `data: ${text}\n`).join('')}\ndata: x\n\n`)
    const cuts = Array.from({ length: 2000 }, (_, index) => index * 71)
    for (const places of [[], cuts])
      expect(split(bytes, places).data).toEqual([lines.join('\n'), 'x'])
  })

  it('gives up on an event with more data lines than any payload is written in', () => {
    const filled = (count: number) => encoder.encode(`${'data:\n'.repeat(count)}\n`)
    expect(() => split(filled(10_001), [100, 30_000])).toThrow(FrameTooLarge)
    expect(split(Buffer.concat([filled(10_000), filled(10_000)]), [100]).data).toHaveLength(2)
  })
})

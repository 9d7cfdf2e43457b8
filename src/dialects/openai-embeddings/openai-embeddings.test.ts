// What becomes of an embeddings request on its way: what is changed in it, how it is cut, and that nobody can tell.
import { describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import type { Rewrite } from '../dialect.ts'
import type { Quirks } from '../quirk.ts'
import { openaiEmbeddings } from './index.ts'
import { peek } from './peek.ts'

const { relay } = openaiEmbeddings
const encoder = new TextEncoder()
const decoder = new TextDecoder()

function rewriteOf(quirks: Partial<Quirks> = {}): Rewrite {
  return { model: 'theirs', usage: 'always', ...quirks }
}

function patch(text: string, quirks?: Partial<Quirks>): string {
  const body = encoder.encode(text)
  return decoder.decode(relay.patch(body, peek(body), rewriteOf(quirks)))
}

describe('a request', () => {
  it('is sent on with its model renamed, and nothing of the gateway’s left in it', () => {
    expect(
      patch(
        '{ "region":"EU","model" : "m", "input":["\\u0061", "b"],"metadata":{"session_id":"s"},"user":"u", "encoding_format":"base64"}',
      ),
    ).toBe('{ "model" : "theirs", "input":["\\u0061", "b"],"user":"u", "encoding_format":"base64"}')
    expect(patch('{"model":"m","input":"a","metadata":{"sticky_key":"s","x":1}}')).toBe(
      '{"model":"theirs","input":"a","metadata":{"x":1}}',
    )
  })

  it('is not asked for a form that its caller has not asked for', () => {
    expect(patch('{"model":"theirs","input":"a"}')).toBe('{"model":"theirs","input":"a"}')
  })

  it('is put into the words of its supplier', () => {
    const quirks = { drop: ['encoding_format'], rename: { dimensions: 'output_dimension' } }
    const text = '{"encoding_format":"float","input":"a","model":"m","dimensions":8}'
    expect(relay.findFault!(rewriteOf(quirks))).toBeUndefined()
    expect(patch(text, quirks)).toBe('{"input":"a","model":"theirs","output_dimension":8}')
    expect(relay.findFault!(rewriteOf({ drop: ['input'] }))?.path).toEqual(['drop', 0])
    expect(relay.findFault!(rewriteOf({ rename: { model: 'x' } }))?.path).toEqual([
      'rename',
      'model',
    ])
  })
})

type Fields = Readonly<Record<string, unknown>>

/** Answers as a supplier would, each input by a vector that tells it from the others. */
function answerTo(body: Uint8Array, isShuffled: boolean): Uint8Array {
  const { input, model } = JSON.parse(decoder.decode(body)) as Fields & { input: unknown[] }
  const data = input.map((each, index) => {
    const text = JSON.stringify(each)
    return { object: 'embedding', index, embedding: [text.length, Bun.hash.crc32(text) % 1000] }
  })
  const tokens = JSON.stringify(input).length
  return encoder.encode(
    JSON.stringify({
      object: 'list',
      data: isShuffled ? data.toReversed() : data,
      model,
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    }),
  )
}

const input = fc.oneof(
  fc.array(fc.string({ minLength: 1, unit: 'grapheme' }), { minLength: 2, maxLength: 40 }),
  fc.array(fc.array(fc.nat(200_000), { minLength: 1 }), { minLength: 2, maxLength: 40 }),
)

describe('a request in pieces', () => {
  const ask = (body: Uint8Array, most: number, isShuffled: boolean) => {
    const facts = peek(body)
    const pieces = relay.batch!.split(body, facts, rewriteOf(), most)
    const joined = relay.batch!.join(
      pieces.map((piece) => answerTo(piece, isShuffled)),
      facts,
    )
    return { facts, pieces, joined }
  }

  it('holds all inputs in their order, none of them in a piece that is too large', () => {
    fc.assert(
      fc.property(input, fc.integer({ min: 1, max: 39 }), fc.nat(2), (inputs, most, space) => {
        const fields = { region: 'EU', model: 'm', input: inputs, user: 'u' }
        const body = encoder.encode(JSON.stringify(fields, null, space))
        const { pieces } = ask(body, most, false)
        const read = pieces.map((piece) => JSON.parse(decoder.decode(piece)) as Fields)
        expect(read.flatMap((each) => each['input'])).toEqual(inputs)
        expect(pieces.length).toBe(Math.ceil(inputs.length / most))
        for (const { input: own, ...others } of read) {
          expect((own as unknown[]).length).toBeLessThanOrEqual(most)
          expect(others).toEqual({ model: 'theirs', user: 'u' })
        }
      }),
    )
  })

  it('is answered as if it had been sent in one', () => {
    fc.assert(
      fc.property(
        input,
        fc.integer({ min: 1, max: 39 }),
        fc.boolean(),
        fc.constantFrom('float', 'base64'),
        (inputs, most, isShuffled, format) => {
          const fields = { model: 'm', input: inputs, encoding_format: format }
          const body = encoder.encode(JSON.stringify(fields))
          const { facts, joined, pieces } = ask(body, most, isShuffled)
          const whole = answerTo(relay.patch(body, facts, rewriteOf()), isShuffled)
          const basics = { id: '1', model: 'm', created: 1 }
          const shown = (bytes: Uint8Array) => {
            relay.read(bytes, facts)
            const { bytes: expressed } = relay.express!(bytes, facts, basics)
            return JSON.parse(decoder.decode(expressed)) as Fields
          }
          const { usage, ...one } = shown(whole)
          const { usage: sum, ...other } = shown(joined)
          expect(other).toEqual(one)
          // Each piece has brackets of its own, and one comma less than there would be.
          const { total_tokens: tokens } = usage as { readonly total_tokens: number }
          const told = tokens + pieces.length - 1
          expect(sum).toEqual({ prompt_tokens: told, total_tokens: told })
        },
      ),
    )
  })

  const FOUR = encoder.encode('{"model":"m","input":["a","b","c","d"]}')

  it('has no usage where one of the answers has none', () => {
    const facts = peek(FOUR)
    const data = [0, 1].map((index) => ({ object: 'embedding', index, embedding: [index] }))
    const told = encoder.encode(JSON.stringify({ data, usage: { total_tokens: 4 } }))
    const untold = encoder.encode(JSON.stringify({ data }))
    const usage = (...answers: readonly Uint8Array[]) =>
      relay.read(relay.batch!.join(answers, facts), facts).usage?.inputTokens
    expect(usage(told, told.slice())).toBe(8)
    expect(usage(told, untold)).toBeUndefined()
    expect(usage(untold, told)).toBeUndefined()
  })

  it('is broken where one of the answers is', () => {
    const facts = peek(FOUR)
    const [first, second] = relay.batch!.split(FOUR, facts, rewriteOf(), 2)
    const one = answerTo(first!, false)
    const short = encoder.encode('{"data":[{"index":0,"embedding":[1,2]}]}')
    expect(() => relay.batch!.join([one, short], facts)).toThrow('fewer embeddings')
    expect(() => relay.batch!.join([answerTo(second!, false), one], facts)).not.toThrow()
  })
})

// What admission reads of an embeddings request, what bounds its cost, and everything that it refuses.
import { describe, expect, it } from 'bun:test'
import { GatewayError } from '../../core/problem.ts'
import { askedOf } from './asked.ts'
import { REQUEST_FIELDS } from './fields.ts'
import { peek } from './peek.ts'

const encoder = new TextEncoder()
const BASE = { model: 'm', input: 'Hi' }

function peekText(text: string) {
  return peek(encoder.encode(text))
}

function facts(changes: object = {}) {
  return peekText(JSON.stringify({ ...BASE, ...changes }))
}

function problemOf(work: () => unknown): GatewayError {
  try {
    work()
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown
    throw thrown
  }
  throw new Error('nothing was thrown')
}

function refusal(changes: object): readonly unknown[] {
  const { status, code, param } = problemOf(() => facts(changes))
  return [status, code, param]
}

function textBytes(changes: object): number {
  const { bytes, inline } = facts(changes).load
  return inline.reduce((rest, { from, to }) => rest - (to - from), bytes)
}

function tokens(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => 100_000 + index)
}

/** Text in which no byte repeats the one before it. */
function prose(bytes: number): string {
  return 'the quick brown fox '.repeat(Math.ceil(bytes / 20)).slice(0, bytes)
}

describe('peek', () => {
  it('reads what admission needs', () => {
    const read = facts({ region: 'eu', metadata: { session_id: 's', more: 'x' }, user: 'u' })
    expect(read).toMatchObject({
      model: 'm',
      stream: false,
      maxTokens: 0,
      region: 'EU',
      sessionId: 's',
      inputs: 1,
    })
    expect(askedOf(read)).toMatchObject({ format: 'float', dimensions: undefined })
  })

  it('knows in which form and size vectors are wanted', () => {
    const read = facts({ encoding_format: 'base64', dimensions: 256 })
    expect(askedOf(read)).toMatchObject({ format: 'base64', dimensions: 256, isQuantized: false })
    expect(askedOf(facts({ output_dtype: 'int8' })).isQuantized).toBe(true)
    expect(askedOf(facts({ output_dtype: 'float' })).isQuantized).toBe(false)
  })

  it('takes null for absence', () => {
    const read = facts({ encoding_format: null, dimensions: null, stream: null, region: null })
    expect(askedOf(read)).toMatchObject({ format: 'float', dimensions: undefined })
  })

  it('counts the inputs of every kind', () => {
    expect(facts({ input: ['a', 'b', 'c'] }).inputs).toBe(3)
    expect(facts({ input: [1, 2, 3] }).inputs).toBe(1)
    expect(facts({ input: [[1, 2], [3]] }).inputs).toBe(2)
    expect(peekText('{"model":"m","input":[ [ 1 , 2 ]\n,[\t0 ] ]}').inputs).toBe(2)
    expect(facts({ input: Array.from({ length: 10_000 }, () => 'x') }).inputs).toBe(10_000)
  })

  it('lets false, a long list of tokens and fields that nobody knows pass', () => {
    expect(facts({ stream: false, truncate: 'END', input: tokens(2048) }).inputs).toBe(1)
    // More of them than a document may have items elsewhere.
    expect(facts({ input: Array.from({ length: 200 }, () => tokens(2000)) }).inputs).toBe(200)
  })
})

describe('the load', () => {
  it('bounds texts by their bytes, and adds something for each', () => {
    const body = JSON.stringify({ ...BASE, input: ['one', 'two'] })
    expect(facts({ input: ['one', 'two'] }).load).toMatchObject({
      bytes: body.length,
      inline: [],
      messages: 2,
      maxTokens: 0,
    })
  })

  it('counts tokens as themselves and not as text', () => {
    const input = Array.from({ length: 3 }, () => tokens(500))
    for (const changes of [{ input }, { encoding_format: 'base64', input, dimensions: 8 }]) {
      expect(facts(changes).load).toMatchObject({ tokens: 1500, messages: 0 })
      expect(textBytes(changes)).toBe(0)
    }
    expect(facts({ input: tokens(7) }).load).toMatchObject({ tokens: 7, messages: 0 })
    expect(facts({ input: 'seven' }).load.tokens).toBeUndefined()
  })

  it('bounds by their bytes fields beside tokens that a model might be made to read', () => {
    expect(textBytes({ input: [1], instruction: 'Be brief' })).toBe(
      '"instruction":"Be brief"'.length,
    )
    expect(textBytes({ a: 1, input: [1], extra_body: { b: 2 } })).toBe(
      '"a":1'.length + '"extra_body":{"b":2}'.length,
    )
  })
})

describe('what is refused', () => {
  it.each<[string, object, string, string]>([
    ['no input', { input: undefined }, 'missing_prompt', 'input'],
    ['null', { input: null }, 'missing_prompt', 'input'],
    ['an empty text', { input: '' }, 'missing_prompt', 'input'],
    ['an empty list', { input: [] }, 'missing_prompt', 'input'],
    ['a number', { input: 5 }, 'validation_error', 'input'],
    ['true', { input: true }, 'validation_error', 'input'],
    ['an object', { input: {} }, 'validation_error', 'input'],
    ['texts in a list of lists', { input: [['a']] }, 'validation_error', 'input[0]'],
    ['a number beside a text', { input: ['a', 1] }, 'validation_error', 'input[1]'],
    ['a text beside a number', { input: [1, 'a'] }, 'validation_error', 'input[0]'],
    ['a list beside a text', { input: ['a', [1]] }, 'validation_error', 'input[1]'],
    ['a text beside a list', { input: [[1], 'a'] }, 'validation_error', 'input[1]'],
    ['null among texts', { input: ['a', null] }, 'validation_error', 'input[1]'],
    ['an object among texts', { input: [{ text: 'a' }] }, 'validation_error', 'input[0]'],
    ['an empty text among others', { input: ['a', ''] }, 'validation_error', 'input[1]'],
    ['an empty list among others', { input: [[1], []] }, 'validation_error', 'input[1]'],
    ['half a token', { input: [1.5] }, 'validation_error', 'input[0]'],
    ['a token below zero', { input: [[1], [-1]] }, 'validation_error', 'input[1]'],
    ['a token of any size', { input: [[1e12]] }, 'validation_error', 'input[0]'],
    ['a format of its own', { encoding_format: 'hex' }, 'validation_error', 'encoding_format'],
    ['a format that is a number', { encoding_format: 1 }, 'validation_error', 'encoding_format'],
    ['no dimensions', { dimensions: 0 }, 'validation_error', 'dimensions'],
    ['half a dimension', { dimensions: 1.5 }, 'validation_error', 'dimensions'],
    ['dimensions as text', { dimensions: '5' }, 'validation_error', 'dimensions'],
    ['a stream', { stream: true }, 'unsupported_parameter', 'stream'],
    ['a stream as text', { stream: 'true' }, 'validation_error', 'stream'],
    ['a region that is a number', { region: 7 }, 'validation_error', 'region'],
    ['a secret', { api_key: 'x' }, 'raw_secret_field_rejected', 'api_key'],
    ['other models', { models: ['x'] }, 'unsupported_parameter', 'models'],
    ['no model', { model: '' }, 'missing_model', 'model'],
  ])('%s', (_, changes, code, param) => {
    expect(refusal(changes)).toEqual([400, code, param])
  })

  it('an input that is too long for certain, by its place', () => {
    const long = [400, 'context_length_exceeded', 'input']
    expect(refusal({ input: tokens(2049) })).toEqual(long)
    expect(refusal({ input: [[1], tokens(2049)] })).toEqual([...long.slice(0, 2), 'input[1]'])
    expect(refusal({ input: prose(33_000) })).toEqual(long)
    expect(refusal({ input: ['a', prose(33_000)] })).toEqual([...long.slice(0, 2), 'input[1]'])
  })

  it('and not one that may fit all the same', () => {
    expect(facts({ input: prose(32_768) }).inputs).toBe(1)
    expect(facts({ input: ' '.repeat(100_000) }).inputs).toBe(1)
    // Six bytes for a character.
    const text = JSON.stringify({ ...BASE, input: '@'.repeat(10_000) })
    expect(peekText(text.replaceAll('@', '\\u4e2d')).inputs).toBe(1)
  })

  it('and keeps for the counter what has more bytes than an input may have tokens', () => {
    expect(facts({ input: [prose(2048), 'a'] }).limited).toBeUndefined()
    expect(facts({ input: tokens(2048) }).limited).toBeUndefined()
    const body = JSON.stringify({ ...BASE, input: ['a', prose(2049), prose(2048), prose(32_768)] })
    const { limited } = peekText(body)
    expect(limited?.tokensMax).toBe(2048)
    expect(limited?.texts.map(({ param }) => param)).toEqual(['input[1]', 'input[3]'])
    const { from, to } = limited!.texts[0]!
    expect(body.slice(from, to)).toBe(JSON.stringify(prose(2049)))
    expect(facts({ input: prose(2049) }).limited?.texts[0]?.param).toBe('input')
    // Six bytes for a character, which are three once they are read.
    const escaped = JSON.stringify({ ...BASE, input: '@'.repeat(10_000) })
    expect(peekText(escaped.replaceAll('@', '\\u4e2d')).limited?.texts.length).toBe(1)
    // Nobody could count these exactly.
    expect(facts({ input: ' '.repeat(100_000) }).limited).toBeUndefined()
  })

  it('more inputs or tokens than a call takes', () => {
    const large = [400, 'operation_too_large', 'input']
    expect(refusal({ input: Array.from({ length: 10_001 }, () => 'x') })).toEqual(large)
    expect(refusal({ input: Array.from({ length: 10_001 }, () => [1]) })).toEqual(large)
    expect(refusal({ input: Array.from({ length: 1000 }, () => tokens(2001)) })).toEqual(large)
  })

  it.each([
    '{"model":"m","input":[1,2',
    '{"model":"m","input":[1,]}',
    '{"model":"m","input":[01]}',
    '{"model":"m","input":[1\u00012]}',
    '{"model":"m","input":[[1,2],[3}',
    '{"model":"m","input":[',
    '{"model":"m","input":[1 2]}',
  ])('broken JSON before anything else: %p', (text) => {
    expect(problemOf(() => peekText(text)).code).toBe('invalid_json')
  })

  it('a second and another spelling of every field that is read', () => {
    for (const name of REQUEST_FIELDS) {
      const disguised = JSON.stringify({ ...BASE, [name.toUpperCase()]: 1 })
      expect([name, problemOf(() => peekText(disguised)).param]).toEqual([name, name])
    }
  })
})

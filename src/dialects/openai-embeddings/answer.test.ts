// What is proved of an answer before its caller sees it, and what the caller sees of it.
import { describe, expect, it } from 'bun:test'
import { GatewayError } from '../../core/problem.ts'
import { openaiEmbeddings } from './index.ts'
import { peek } from './peek.ts'

const { relay } = openaiEmbeddings
const encoder = new TextEncoder()
const decoder = new TextDecoder()
const BASICS = { id: '1', model: 'asked-model', created: 1 }
const USAGE = { prompt_tokens: 5, total_tokens: 5 }

type Fields = Readonly<Record<string, unknown>>

function factsOf(changes: object = {}) {
  return peek(encoder.encode(JSON.stringify({ model: 'm', input: ['a', 'b'], ...changes })))
}

function entry(index: number, embedding: unknown, changes: object = {}): object {
  return { object: 'embedding', index, embedding, ...changes }
}

function answer(data: unknown, changes: object = {}): Fields {
  return { object: 'list', data, model: 'upstream-model', usage: USAGE, ...changes }
}

const SOUND = [entry(0, [0.5, -1]), entry(1, [0.25, 2])]

function bytesOf(value: unknown): Uint8Array {
  return encoder.encode(typeof value === 'string' ? value : JSON.stringify(value))
}

function read(value: unknown, changes: object = {}) {
  return relay.read(bytesOf(value), factsOf(changes))
}

function codeOf(value: unknown, changes: object = {}): string {
  try {
    read(value, changes)
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown.code
    throw thrown
  }
  return 'none'
}

function express(value: unknown, changes: object = {}) {
  return relay.express!(bytesOf(value), factsOf(changes), BASICS)
}

function shown(value: unknown, changes: object = {}): Fields {
  return JSON.parse(decoder.decode(express(value, changes).bytes)) as Fields
}

function base64(...numbers: readonly number[]): string {
  return new Uint8Array(new Float32Array(numbers).buffer).toBase64()
}

describe('an answer', () => {
  it('is one embedding for each input, in either form and any order', () => {
    expect(read(answer(SOUND)).usage).toMatchObject({ inputTokens: 5, outputTokens: 0 })
    expect(codeOf(answer(SOUND.toReversed()))).toBe('none')
    expect(codeOf(answer([entry(0, base64(1, 2)), entry(1, [1, 2])]))).toBe('none')
    expect(codeOf(answer([entry(0, [1])]), { input: 'one' })).toBe('none')
    expect(codeOf(answer([entry(0, [1])]), { input: [1, 2, 3] })).toBe('none')
  })

  it.each<[string, unknown]>([
    ['one too few', answer([entry(0, [1])])],
    ['one too many', answer([...SOUND, entry(2, [1, 2])])],
    ['none', answer([])],
    ['two for one input', answer([entry(0, [1]), entry(0, [1])])],
    ['one for an input that does not exist', answer([entry(0, [1]), entry(2, [1])])],
    ['one for an input below the first', answer([entry(0, [1]), entry(-1, [1])])],
    ['half an index', answer([entry(0, [1]), entry(0.5, [1])])],
    ['an index as text', answer([entry(0, [1]), { index: '1', embedding: [1] }])],
    ['several lengths', answer([entry(0, [1]), entry(1, [1, 2])])],
    ['an empty vector', answer([entry(0, []), entry(1, [])])],
    ['an empty text', answer([entry(0, ''), entry(1, '')])],
    ['null among numbers', answer([entry(0, [1, null]), entry(1, [1, 2])])],
    ['a text among numbers', answer([entry(0, [1, '2']), entry(1, [1, 2])])],
    ['lists in a list', answer([entry(0, [[1]]), entry(1, [[1]])])],
    ['no number at all', answer([entry(0, [1]), { index: 1 }])],
    ['NaN', JSON.stringify(answer(SOUND)).replace('-1', 'NaN')],
    ['more than a number holds', JSON.stringify(answer(SOUND)).replace('-1', '1e999')],
    ['NaN in base64', answer([entry(0, base64(1)), entry(1, base64(Number.NaN))])],
    ['Infinity in base64', answer([entry(0, base64(1)), entry(1, base64(Infinity))])],
    ['no base64', answer([entry(0, '?'), entry(1, '?')])],
    ['half a number in base64', answer([entry(0, 'AAAA'), entry(1, 'AAAA')])],
    ['something else in its list', answer([SOUND[0], 5])],
    ['no list', answer({})],
    ['no data', { object: 'list', usage: USAGE }],
    ['two lists', JSON.stringify(answer(SOUND)).replace('"data"', '"data":[],"data"')],
    ['two vectors', JSON.stringify(answer(SOUND)).replace('"emb', '"embedding":[1,1],"emb')],
    ['half an answer', JSON.stringify(answer(SOUND)).slice(0, 80)],
  ])('is not one with %s', (_, value) => {
    expect(codeOf(value)).toBe('upstream_invalid_response')
  })

  it('is not nothing, nor something else', () => {
    expect(codeOf('')).toBe('empty_response')
    expect(codeOf('{}')).toBe('empty_response')
    expect(codeOf('<html>')).toBe('non_json_provider_response')
  })

  it('is not what says that it is an error', () => {
    expect(codeOf({ error: { message: 'No', code: 'rate_limit_exceeded' } })).toBe(
      'rate_limit_exceeded',
    )
    expect(codeOf(answer(SOUND, { error: null }))).toBe('none')
  })
})

describe('usage', () => {
  it.each<[string, unknown, number]>([
    ['by both names', USAGE, 5],
    ['in total', { total_tokens: 7 }, 7],
    ['of the prompt', { prompt_tokens: 6 }, 6],
    ['with an output of nothing', { ...USAGE, completion_tokens: 0 }, 5],
    ['whichever is more', { prompt_tokens: 5, total_tokens: 9 }, 9],
  ])('is told %s', (_, usage, tokens) => {
    expect(read(answer(SOUND, { usage })).usage?.inputTokens).toBe(tokens)
    expect(shown(answer(SOUND, { usage }))['usage']).toMatchObject({
      prompt_tokens: tokens,
      total_tokens: tokens,
    })
  })

  it.each<[string, unknown, boolean]>([
    ['absent', undefined, false],
    ['null', null, false],
    ['zero', { prompt_tokens: 0, total_tokens: 0 }, false],
    ['no number', { prompt_tokens: 'x', total_tokens: 'x' }, true],
    ['a list', [1], true],
  ])('that is %s is not told, and the caller is shown a count', (_, usage, isUnread) => {
    const told = read(answer(SOUND, { usage }))
    expect(told).toMatchObject({ usage: undefined, hasUnreadUsage: isUnread })
    const { prompt_tokens: prompt, total_tokens: total } = shown(answer(SOUND, { usage }))[
      'usage'
    ] as Fields
    expect(prompt).toBeGreaterThan(0)
    expect(total).toBe(prompt)
  })
})

describe('what the caller gets', () => {
  it('is the very bytes that came where nothing is wrong with them', () => {
    const text = JSON.stringify(answer(SOUND, { extra: 'x' }), null, 2)
    const bytes = bytesOf(text)
    expect(relay.express!(bytes, factsOf(), BASICS)).toEqual({ bytes })
  })

  it('is in the order of the inputs', () => {
    expect(shown(answer(SOUND.toReversed()))).toEqual(answer(SOUND))
  })

  it('is in the form that it has asked for', () => {
    const lists = answer([entry(0, [0.5, -1]), entry(1, [0.1, 2])])
    const texts = answer([entry(0, base64(0.5, -1)), entry(1, base64(0.1, 2))])
    const mixed = answer([entry(0, [0.5, -1]), entry(1, base64(0.1, 2))])
    for (const came of [lists, texts, mixed]) {
      expect(shown(came, { encoding_format: 'base64' })).toEqual(texts)
      expect(shown(came, { encoding_format: 'float' })).toEqual(lists)
      expect(shown(came)).toEqual(lists)
    }
  })

  it('has everything that its supplier has left out', () => {
    const data = [{ embedding: [1] }, { index: 1, object: 'embedding', embedding: [2] }]
    expect(shown({ data, usage: { total_tokens: 3 } })).toEqual({
      object: 'list',
      model: 'asked-model',
      data: [entry(0, [1]), entry(1, [2])],
      usage: { prompt_tokens: 3, total_tokens: 3 },
    })
    const nulls = data.map((each) => ({ index: null, ...each }))
    const bare = { usage: null, model: null, object: null, data: nulls }
    expect(shown(bare)).toMatchObject({
      object: 'list',
      model: 'asked-model',
      data: [entry(0, [1]), entry(1, [2])],
    })
  })

  it('keeps what nobody here knows', () => {
    const data = [entry(1, [1], { extra: [null] }), entry(0, [2], { more: { a: '}' } })]
    expect(shown(answer(data, { id: 'x', extra: '"' }))).toEqual(
      answer([data[1], data[0]], { id: 'x', extra: '"' }),
    )
  })

  it('may be of another size than it has asked for, and then is told so', () => {
    expect(express(answer(SOUND), { dimensions: 2 }).losses).toBeUndefined()
    expect(express(answer(SOUND), { dimensions: 3 }).losses).toEqual(['/dimensions'])
  })

  it('is left alone where its numbers are no floats', () => {
    const bits = answer([entry(0, 'AAA='), entry(1, '/wA=')])
    const asked = { output_dtype: 'binary', encoding_format: 'base64', dimensions: 16 }
    expect(express(bits, asked)).toEqual({ bytes: bytesOf(bits) })
    expect(express(bits, { output_dtype: 'binary' })).toEqual({
      bytes: bytesOf(bits),
      losses: ['/encoding_format'],
    })
  })
})

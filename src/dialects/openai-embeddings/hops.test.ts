// Answers that are too long to be read number by number: what is proved of them all the same, and that being quick
// refuses nothing that is sound.
import { describe, expect, it } from 'bun:test'
import { GatewayError } from '../../core/problem.ts'
import { PROVED_BYTES } from './hops.ts'
import { openaiEmbeddings } from './index.ts'
import { peek } from './peek.ts'

const { relay } = openaiEmbeddings
const INPUTS = 12
const SIZE = 1500
const BASICS = { id: '1', model: 'asked-model', created: 1 }

function factsOf(changes: object = {}) {
  const input = Array.from({ length: INPUTS }, (_, index) => `text ${index}`)
  return peek(Buffer.from(JSON.stringify({ model: 'm', input, ...changes })))
}

function numbersOf(index: number): readonly number[] {
  return Array.from({ length: SIZE }, (_, at) => Math.fround(Math.sin(index * SIZE + at)))
}

function base64Of(numbers: readonly number[]): string {
  return Buffer.from(new Float32Array(numbers).buffer).toString('base64')
}

type Print = (numbers: readonly number[]) => unknown

/** One whose vectors are all sound, but for the last. */
function answer(print: Print, last: unknown = print(numbersOf(INPUTS - 1))): string {
  const data = Array.from({ length: INPUTS }, (_, index) => ({
    object: 'embedding',
    index,
    embedding: index === INPUTS - 1 ? last : print(numbersOf(index)),
  }))
  const usage = { prompt_tokens: 5, total_tokens: 5 }
  return JSON.stringify({ object: 'list', data, model: 'm', usage })
}

const asList: Print = (numbers) => numbers
const LISTS = answer(asList)
const TEXTS = answer(base64Of)
const BASE64 = { encoding_format: 'base64' }

function codeOf(text: string, changes: object = {}): string {
  try {
    relay.read(Buffer.from(text), factsOf(changes))
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown.code
    throw thrown
  }
  return 'none'
}

function shown(text: string, changes: object = {}): string {
  const bytes = Buffer.from(text)
  const facts = factsOf(changes)
  relay.read(bytes, facts)
  return Buffer.from(relay.express!(bytes, facts, BASICS).bytes).toString()
}

/** With something in the place of the numbers at the end of the last vector. */
function ending(what: string): string {
  const close = LISTS.lastIndexOf(']', LISTS.lastIndexOf(']') - 1)
  return LISTS.slice(0, LISTS.lastIndexOf(',', close) + 1) + what + LISTS.slice(close)
}

describe('a long answer', () => {
  it('passes as it came', () => {
    expect(LISTS.length).toBeGreaterThan(4 * PROVED_BYTES)
    expect(TEXTS.length).toBeGreaterThan(2 * PROVED_BYTES)
    expect(shown(LISTS)).toBe(LISTS)
    expect(shown(TEXTS, BASE64)).toBe(TEXTS)
    const spaced = JSON.stringify(JSON.parse(LISTS), null, 1)
    expect(shown(spaced)).toBe(spaced)
    // As some printers of JSON have it.
    const escaped = TEXTS.replaceAll('/', String.raw`\/`)
    expect(shown(escaped, BASE64)).toBe(escaped)
  })

  it('is put into the form that was asked for', () => {
    const numbers = (text: string) =>
      (JSON.parse(text) as { data: { embedding: number[] }[] }).data.map(({ embedding }) =>
        embedding.map(Math.fround),
      )
    expect(numbers(shown(TEXTS))).toEqual(numbers(LISTS))
    expect(shown(LISTS, BASE64)).toBe(TEXTS)
    const mixed = answer(asList, base64Of(numbersOf(INPUTS - 1)))
    expect(numbers(shown(mixed))).toEqual(numbers(LISTS))
    expect(shown(mixed, BASE64)).toBe(TEXTS)
  })

  it.each([
    'NaN',
    'nan',
    'null',
    'Infinity',
    '-Infinity',
    '-inf',
    '"1"',
    '[1]',
    '[1],2',
    '',
    '{}',
    'true',
    '{"a":1},2',
  ])('is not one with %p behind its numbers', (what) => {
    expect(codeOf(ending('1'))).toBe('none')
    expect(codeOf(ending(what))).toBe('upstream_invalid_response')
  })

  it.each(['NaN', 'nan', 'null', 'Infinity', '-inf', '"1"', '[1]'])(
    'is not one with %p among its numbers',
    (what) => {
      expect(codeOf(ending(`1,${what},1`))).toBe('upstream_invalid_response')
    },
  )

  it.each<[string, unknown]>([
    ['nothing', []],
    ['far fewer numbers', [1, 2, 3]],
    ['no list', 5],
    ['null', null],
    ['nothing but null', Array.from({ length: SIZE }, () => null)],
    ['lists', [numbersOf(1)]],
  ])('is not one with %s for a vector', (_, last) => {
    expect(codeOf(answer(asList, last))).toBe('upstream_invalid_response')
  })

  it.each<[string, unknown]>([
    ['another length', base64Of(numbersOf(1).slice(1))],
    ['nothing', ''],
    ['no numbers', base64Of(Array.from({ length: SIZE }, () => Number.NaN))],
    ['endless numbers', base64Of(Array.from({ length: SIZE }, () => Infinity))],
    ['half of one', base64Of(numbersOf(1)).slice(0, -2)],
  ])('is not one with %s in base64', (_, last) => {
    expect(codeOf(TEXTS, BASE64)).toBe('none')
    expect(codeOf(answer(base64Of, last), BASE64)).toBe('upstream_invalid_response')
  })

  it('has one vector for each input, and an end', () => {
    const last = `"index":${INPUTS - 1}`
    for (const [text, changes] of [
      [LISTS, {}],
      [TEXTS, BASE64],
    ] as const) {
      const code = (broken: string) => codeOf(broken, changes)
      expect(code(text.replace(last, '"index":0'))).toBe('upstream_invalid_response')
      expect(code(text.replace(last, `"index":${INPUTS}`))).toBe('upstream_invalid_response')
      const from = text.lastIndexOf(',{"object"')
      const to = text.lastIndexOf('],"model"')
      const entry = text.slice(from, to)
      expect(code(text.slice(0, from) + text.slice(to))).toBe('upstream_invalid_response')
      expect(code(text.slice(0, to) + entry + text.slice(to))).toBe('upstream_invalid_response')
      expect(code(text.slice(0, -1))).toBe('upstream_invalid_response')
      expect(code(text.slice(0, from + 5000))).toBe('upstream_invalid_response')
      expect(code(`${text}]`)).toBe('upstream_invalid_response')
    }
  })
})

// Rankings in the shapes of all suppliers, as one caller reads them; and what is no ranking.
import { describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import { GatewayError } from '../../core/problem.ts'
import type { AnswerFacts, Facts } from '../dialect.ts'
import { rerank } from './index.ts'

const BASICS = { id: 'req_1', model: 'ranker', created: 1 }
const DOCUMENTS = ['a rose', { text: 'the "sea"', id: 7 }, 'a brick']

function bytesOf(value: unknown): Uint8Array {
  return new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value))
}

function asked(changes: object = {}): Facts {
  const request = { model: 'ranker', query: 'What is red?', documents: DOCUMENTS, ...changes }
  return rerank.peek(bytesOf(request))
}

function read(answer: unknown, facts = asked()): AnswerFacts {
  return rerank.relay.read(bytesOf(answer), facts)
}

function expressed(answer: unknown, changes: object = {}): Record<string, unknown> {
  const { bytes } = rerank.relay.express!(bytesOf(answer), asked(changes), BASICS)
  return JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>
}

const RESULTS = [
  { index: 2, relevance_score: 0.5 },
  { index: 0, relevance_score: 0.9 },
  { index: 1, relevance_score: 0.5 },
]
const BEST_FIRST = [
  { index: 0, relevance_score: 0.9 },
  { index: 1, relevance_score: 0.5 },
  { index: 2, relevance_score: 0.5 },
]

describe('a ranking is the same to its caller', () => {
  it('from Cohere, with what it has billed', () => {
    const meta = { api_version: { version: '2' }, billed_units: { search_units: 3 } }
    const answer = { id: 'abc', results: RESULTS, meta }
    expect(expressed(answer)).toEqual({ id: 'abc', model: 'ranker', results: BEST_FIRST, meta })
    expect(read(answer).usage).toMatchObject({ inputTokens: 0, units: { searches: 3 } })
  })

  it('from Jina, without the documents that nobody asked for', () => {
    const results = RESULTS.map((each) => ({ ...each, document: { text: 'x' } }))
    const usage = { total_tokens: 50, prompt_tokens: 50 }
    expect(expressed({ model: 'jina-x', object: 'list', usage, results })).toEqual({
      id: 'rerank-req_1',
      model: 'jina-x',
      results: BEST_FIRST,
      meta: { billed_units: { total_tokens: 50 } },
      usage,
    })
  })

  it('from Voyage, whose results are called otherwise', () => {
    const data = RESULTS.map((each) => ({ ...each, document: 'x' }))
    const answer = { object: 'list', data, model: 'rerank-3', usage: { total_tokens: 26 } }
    expect(expressed(answer)).toMatchObject({ model: 'rerank-3', results: BEST_FIRST })
    const { usage } = read(answer)
    expect([usage?.inputTokens, usage?.units]).toEqual([26, undefined])
  })

  it('from a server that sends the bare list and tells no usage', () => {
    const answer = RESULTS.map(({ index, relevance_score: score }) => ({ index, score }))
    expect(expressed(answer)).toEqual({
      id: 'rerank-req_1',
      model: 'ranker',
      results: BEST_FIRST,
      meta: {},
    })
    expect(read(answer).usage).toBeUndefined()
  })

  it('cut to what was asked for, where a supplier sends more', () => {
    expect(expressed({ results: RESULTS }, { top_n: 1 })['results']).toEqual([BEST_FIRST[0]])
    expect(expressed({ results: RESULTS }, { top_n: 99 })['results']).toEqual(BEST_FIRST)
  })

  it('with the documents as they were sent, where they are wanted', () => {
    expect(expressed({ results: RESULTS }, { return_documents: true })['results']).toEqual([
      { ...BEST_FIRST[0], document: { text: 'a rose' } },
      { ...BEST_FIRST[1], document: { text: 'the "sea"', id: 7 } },
      { ...BEST_FIRST[2], document: { text: 'a brick' } },
    ])
  })

  it('with every digit of a score', () => {
    const answer = '{"results":[{"relevance_score":0.12345678901234567890,"index":0}]}'
    const { bytes } = rerank.relay.express!(bytesOf(answer), asked(), BASICS)
    expect(new TextDecoder().decode(bytes)).toContain('"relevance_score":0.12345678901234567890}')
  })

  it('and says that other fields than the text were not ranked', () => {
    const lossesOf = (changes: object): unknown =>
      rerank.relay.express!(bytesOf({ results: RESULTS }), asked(changes), BASICS).losses
    expect(lossesOf({ rank_fields: ['title', 'text'] })).toEqual(['/rank_fields'])
    expect(lossesOf({ rank_fields: ['text'] })).toBeUndefined()
  })

  it('in the order of a plain sort, equals as they were sent', () => {
    const scores = fc.array(fc.constantFrom(-2, -1e-9, -0, 0, 0.25, 0.5, 1), {
      minLength: 1,
      maxLength: 30,
    })
    fc.assert(
      fc.property(scores, fc.infiniteStream(fc.nat()), fc.nat(40), (list, draws, limit) => {
        const results = list.map((relevance_score, index) => ({ index, relevance_score }))
        const shuffled = results
          .map((result) => ({ result, draw: draws.next().value ?? 0 }))
          .toSorted((left, right) => left.draw - right.draw)
          .map(({ result }) => result)
        const facts = { documents: list.map(String), top_n: limit + 1 }
        const naive = results.slice()
        for (let pass = 0; pass < naive.length; pass++)
          for (let at = 1; at < naive.length; at++)
            if (naive[at]!.relevance_score > naive[at - 1]!.relevance_score)
              [naive[at - 1], naive[at]] = [naive[at]!, naive[at - 1]!]
        const places = (expressed({ results: shuffled }, facts)['results'] as typeof results).map(
          ({ index }) => index,
        )
        expect(places).toEqual(naive.slice(0, limit + 1).map(({ index }) => index))
      }),
    )
  })
})

describe('what is no ranking is the supplier’s failure', () => {
  const one = { index: 0, relevance_score: 1 }
  it.each([
    ['a document that was not sent', { results: [{ ...one, index: 3 }] }],
    ['a place below nothing', { results: [{ ...one, index: -1 }] }],
    ['half a place', { results: [{ ...one, index: 0.5 }] }],
    ['no place', { results: [{ relevance_score: 1 }] }],
    ['one document twice', { results: [one, one] }],
    ['no score', { results: [{ index: 0 }] }],
    ['a score of null', { results: [{ index: 0, relevance_score: null }] }],
    ['a word for a score', { results: [{ index: 0, relevance_score: 'NaN' }] }],
    ['a score that is no number', '{"results":[{"index":0,"relevance_score":NaN}]}'],
    ['a score without an end', '{"results":[{"index":0,"relevance_score":1e999}]}'],
    ['nothing at all', { results: [] }],
    ['no results', { id: 'x', meta: {} }],
    ['a result that is none', { results: [1] }],
    ['an answer that is cut', '{"results":[{"index":0,"relev'],
  ])('%s', (_, answer) => {
    expect(() => read(answer)).toThrow(
      expect.objectContaining({ code: 'upstream_invalid_response' }),
    )
  })

  it('an error inside of an answer, in its own words', () => {
    const answer = { error: { message: 'out of luck', code: 'luckless' } }
    try {
      read(answer)
      expect.unreachable()
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(GatewayError)
      expect(thrown).toMatchObject({ origin: { code: 'luckless' } })
    }
  })

  it('a usage that cannot be read is said to be so', () => {
    const { usage, hasUnreadUsage } = read({ results: RESULTS, usage: { total_tokens: 'many' } })
    expect([usage, hasUnreadUsage]).toEqual([undefined, true])
  })
})

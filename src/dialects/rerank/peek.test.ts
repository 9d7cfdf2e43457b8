// What is read of a reranking request, what it is bounded by, and what is refused.
import { describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import { GatewayError } from '../../core/problem.ts'
import { Bound } from '../../ledger/cost/bound.ts'
import { toPicoUsd } from '../../core/money.ts'
import { rerank } from './index.ts'
import { notesOf } from './notes.ts'

const SOUND = { model: 'ranker', query: 'What is red?', documents: ['a rose', 'the sea'] }

function bytesOf(value: unknown): Uint8Array {
  return new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value))
}

function refusalOf(value: unknown): readonly [string, unknown] {
  try {
    rerank.peek(bytesOf(value))
  } catch (thrown) {
    if (thrown instanceof GatewayError) return [thrown.code, thrown.param]
    throw thrown
  }
  return ['taken', undefined]
}

describe('a reranking request', () => {
  it('is read for its model, its region and its session', () => {
    const facts = rerank.peek(
      bytesOf({ ...SOUND, region: 'eu', metadata: { session_id: 's1' }, stream: false }),
    )
    expect(facts).toMatchObject({ model: 'ranker', region: 'EU', sessionId: 's1', stream: false })
  })

  it('holds documents as texts and as objects with one', () => {
    const documents = ['plain', { text: 'in an object', id: 7 }, { title: 'x', text: 'escaped \n' }]
    const body = bytesOf({ ...SOUND, documents })
    const { papers } = notesOf(rerank.peek(body))
    const texts = papers.map(({ text: { from, to } }) =>
      JSON.parse(new TextDecoder().decode(body.subarray(from, to))),
    )
    expect(texts).toEqual(['plain', 'in an object', 'escaped \n'])
  })

  it.each([
    ['no query', { query: undefined }, 'missing_prompt', 'query'],
    ['an empty query', { query: '' }, 'missing_prompt', 'query'],
    ['a number for a query', { query: 5 }, 'validation_error', 'query'],
    ['no documents', { documents: undefined }, 'missing_fields', 'documents'],
    ['documents of null', { documents: null }, 'missing_fields', 'documents'],
    ['an empty list', { documents: [] }, 'missing_fields', 'documents'],
    ['one text for a list', { documents: 'a' }, 'validation_error', 'documents'],
    ['a document of null', { documents: ['a', null] }, 'validation_error', 'documents[1]'],
    ['a document without text', { documents: [{ id: 1 }] }, 'validation_error', 'documents[0]'],
    ['a text of a number', { documents: [{ text: 1 }] }, 'validation_error', 'documents[0].text'],
    ['a limit of nothing', { top_n: 0 }, 'validation_error', 'top_n'],
    ['a limit and a half', { top_n: 1.5 }, 'validation_error', 'top_n'],
    ['a limit in quotes', { top_n: '5' }, 'validation_error', 'top_n'],
    ['two limits', { top_n: 1, top_k: 2 }, 'validation_error', 'top_k'],
    ['a word for yes', { return_documents: 'yes' }, 'validation_error', 'return_documents'],
    ['a stream', { stream: true }, 'unsupported_parameter', 'stream'],
    ['documents by another name', { texts: ['a'] }, 'validation_error', 'texts'],
    ['a credential', { api_key: 'x' }, 'raw_secret_field_rejected', 'api_key'],
    ['no model', { model: '' }, 'missing_model', 'model'],
  ])('is refused with %s', (_, changes, code, param) => {
    expect(refusalOf({ ...SOUND, ...changes })).toEqual([code, param])
  })

  it('holds ten thousand documents and no more', () => {
    const documents = Array.from({ length: 10_000 }, () => 'a')
    expect(refusalOf({ ...SOUND, documents })[0]).toBe('taken')
    expect(refusalOf({ ...SOUND, documents: [...documents, 'a'] })).toEqual([
      'operation_too_large',
      'documents',
    ])
  })

  it('is refused with a second spelling of what is ranked', () => {
    const [code] = refusalOf(
      String.raw`{"model":"m","query":"q","documents":["a"],"quer\u0079":"p"}`,
    )
    expect(code).toBe('validation_error')
    const inside = '{"model":"m","query":"q","documents":[{"text":"a","text":"b"}]}'
    expect(refusalOf(inside)[0]).toBe('validation_error')
  })
})

describe('what a reranking can cost', () => {
  const searchesOf = (query: string, documents: readonly string[]): number | undefined =>
    rerank.peek(bytesOf({ model: 'm', query, documents })).load.units?.searches

  it('is a search for each hundred documents that has begun', () => {
    const documents = Array.from({ length: 100 }, () => 'short')
    expect(searchesOf('q', documents)).toBe(1)
    expect(searchesOf('q', [...documents, 'one more'])).toBe(2)
  })

  it('is a document for each piece of a long one, the question included', () => {
    const long = (bytes: number): string[] => Array.from({ length: 100 }, () => 'x'.repeat(bytes))
    expect(searchesOf('q'.repeat(100), long(400))).toBe(1)
    expect(searchesOf('q'.repeat(100), long(401))).toBe(2)
    // A question takes at most half of a piece.
    expect(searchesOf('q'.repeat(5000), long(1000))).toBe(4)
  })

  it('is never less than a token for each byte, the question once with each document', () => {
    const terms = [{ price: { input: toPicoUsd(1000), output: toPicoUsd(0) }, limits: undefined }]
    fc.assert(
      fc.property(
        fc.string({ minLength: 40, maxLength: 400 }),
        fc.array(fc.string(), { minLength: 1, maxLength: 40 }),
        (query, documents) => {
          const { load } = rerank.peek(bytesOf({ model: 'm', query, documents }))
          const sent = documents.reduce((sum, each) => sum + Buffer.byteLength(each), 0)
          const most = Buffer.byteLength(query) * documents.length + sent
          expect(new Bound(load, terms).inputTokens).toBeGreaterThanOrEqual(most)
          // Also where the body, which holds the question once, was counted at its least.
          const repeated = Buffer.byteLength(query) * (documents.length - 1)
          const counted = new Bound(load, terms, () => 0).inputTokens
          expect(counted).toBeGreaterThanOrEqual(repeated)
        },
      ),
    )
  })
})

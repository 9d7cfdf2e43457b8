// What a supplier is sent of a reranking request, by the shape that it wants.
import { describe, expect, it } from 'bun:test'
import type { Rewrite } from '../dialect.ts'
import type { RerankShape } from '../quirk.ts'
import { rerank } from './index.ts'

const SOUND = {
  model: 'ranker',
  query: 'What is red?',
  documents: ['a rose', 'the sea', 'a brick'],
}

function patched(value: object | string, rewrite: Partial<Rewrite> = {}): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const body = new TextEncoder().encode(text)
  const bytes = rerank.relay.patch(body, rerank.peek(body), {
    usage: 'always',
    model: 'ranker',
    ...rewrite,
  })
  return new TextDecoder().decode(bytes)
}

function sent(value: object, rerankShape: RerankShape, model = 'ranker'): unknown {
  return JSON.parse(patched(value, { rerankShape, model }))
}

describe('a reranking request goes out', () => {
  it('byte for byte where there is nothing to change', () => {
    const text = '{ "model":"ranker", "query":"q\\n", "documents":[ "a","b" ],"top_n":1, "x":1e2 }'
    expect(patched(text)).toBe(text)
  })

  it('with its documents as texts, whatever else they were sent with', () => {
    const documents = [{ id: 1, text: 'a "rose"' }, 'the sea', { text: 'Ziegel äöü', tags: ['x'] }]
    expect(sent({ ...SOUND, documents }, 'cohere', 'other')).toEqual({
      model: 'other',
      query: SOUND.query,
      documents: ['a "rose"', 'the sea', 'Ziegel äöü'],
    })
  })

  it('without what is for the gateway alone', () => {
    const own = {
      region: 'EU',
      stream: false,
      return_documents: true,
      rank_fields: ['text'],
      metadata: { session_id: 's' },
    }
    expect(sent({ ...own, ...SOUND, max_tokens_per_doc: 9 }, 'cohere')).toEqual({
      ...SOUND,
      max_tokens_per_doc: 9,
    })
    expect(sent({ ...SOUND, metadata: { session_id: 's', mine: 1 } }, 'cohere')).toEqual({
      ...SOUND,
      metadata: { mine: 1 },
    })
  })

  it.each([
    ['cohere', { top_n: 2 }, { top_n: 2 }],
    ['cohere', { top_k: 2 }, { top_n: 2 }],
    ['cohere', { top_n: null, top_k: 2 }, { top_n: 2 }],
    ['cohere', { top_n: 2, top_k: 2 }, { top_n: 2 }],
    ['cohere', { top_n: 3 }, {}],
    ['cohere', { top_n: null }, {}],
    ['voyage', { top_n: 2 }, { top_k: 2 }],
    ['voyage', { top_k: 2 }, { top_k: 2 }],
    ['voyage', { top_n: 99 }, {}],
    ['jina', { top_n: 2, return_documents: true }, { top_n: 2, return_documents: false }],
    ['jina', {}, { return_documents: false }],
  ] as const)('to %s with %j as %j', (shape, asked, expected) => {
    expect(sent({ ...SOUND, ...asked }, shape)).toEqual({ ...SOUND, ...expected })
  })

  it('with its documents by another name to whoever calls them so', () => {
    const { documents, ...rest } = SOUND
    expect(sent({ top_n: 1, ...SOUND }, 'tei')).toEqual({ ...rest, texts: documents })
  })

  it('with the quirks of its supplier, none of which touches what is ranked', () => {
    const text = patched(
      { ...SOUND, truncation: true },
      { drop: ['truncation'], default: { p: 1 } },
    )
    expect(JSON.parse(text)).toEqual({ ...SOUND, p: 1 })
    expect(rerank.relay.findFault?.({ usage: 'always', drop: ['documents'] })?.path).toEqual([
      'drop',
      0,
    ])
    expect(rerank.relay.findFault?.({ usage: 'always', rename: { a: 'texts' } })).toBeDefined()
  })
})

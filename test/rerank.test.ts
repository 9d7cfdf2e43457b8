// Reranking through the whole gateway: suppliers of several shapes behind one answer, one after the other where one
// fails, paid by the search or by the token and never above what was set aside.
import { afterEach, describe, expect, it } from 'bun:test'
import { toPicoUsd } from '../src/core/money.ts'
import type { Price } from '../src/core/usage.ts'
import type { RerankShape } from '../src/dialects/quirk.ts'
import { rerank } from '../src/dialects/rerank/index.ts'
import type { Supplier } from '../src/suppliers/supplier.ts'
import { ROOT_KEY, startGateway, supplierAt, type Gateway } from './fakes/gateway.ts'
import { startFakeSupplier, type FakeSupplier, type Script } from './fakes/supplier.ts'

const ASKED = {
  model: 'ranker',
  query: 'What is red?',
  documents: ['the sea', { text: 'a rose', id: 7 }, 'a brick'],
}
/** Two dollars for a thousand searches; five cents for a million tokens. */
const BY_SEARCH: Price = {
  input: toPicoUsd(0),
  output: toPicoUsd(0),
  search: toPicoUsd(2_000_000_000),
}
const BY_TOKEN: Price = { input: toPicoUsd(50_000), output: toPicoUsd(0) }
const SEARCH_COST = 2_000_000

const open: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.stop()
})

interface Party {
  readonly shape: RerankShape
  readonly price: Price
  readonly script: Script
}

const PATHS: Readonly<Record<RerankShape, string>> = {
  cohere: '/v2/rerank',
  jina: '/v1/rerank',
  voyage: '/v1/rerank',
  tei: '/rerank',
}

function rankerAt(origin: string, { shape, price }: Party): Supplier {
  const route = {
    as: `${shape}-ranker`,
    prices: [{ from: 0, price }],
    ownedBy: 'maker',
    task: 'rerank',
  } as const
  const quirks = { usage: 'always', rerankShape: shape } as const
  return supplierAt(origin, {
    id: shape,
    services: [{ dialect: rerank, path: PATHS[shape], quirks }],
    models: new Map([['ranker', route]]),
  })
}

interface House {
  readonly gateway: Gateway
  readonly suppliers: readonly FakeSupplier[]
}

async function house(...parties: readonly Party[]): Promise<House> {
  const suppliers = await Promise.all(parties.map(({ script }) => startFakeSupplier(script)))
  open.push(...suppliers)
  const gateway = await startGateway({
    suppliers: parties.map((party, index) => rankerAt(suppliers[index]!.origin, party)),
  })
  open.push(gateway)
  return { gateway, suppliers }
}

interface Sending {
  readonly path?: string
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
}

function ask({ url }: Gateway, body: unknown, sending: Sending = {}): Promise<Response> {
  const { path = '/v1/rerank', key = ROOT_KEY, headers = {} } = sending
  return fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...headers },
    body: JSON.stringify(body),
  })
}

const SCORES = [0.1, 0.9, 0.7]
const BEST_FIRST = [
  { index: 1, relevance_score: 0.9 },
  { index: 2, relevance_score: 0.7 },
  { index: 0, relevance_score: 0.1 },
]

function cohere(searches: number): Script {
  return (_, reply) =>
    reply.json(200, {
      id: 'abc',
      results: BEST_FIRST,
      meta: { api_version: { version: '2' }, billed_units: { search_units: searches } },
    })
}

const voyage: Script = (_, reply) => {
  const data = SCORES.map((relevance_score, index) => ({ index, relevance_score }))
  reply.json(200, { object: 'list', data, model: 'rerank-3', usage: { total_tokens: 40 } })
}

/** Sends every document back unless it is told not to. */
const jina: Script = ({ body }, reply) => {
  const asked = JSON.parse(body.toString()) as { documents: string[]; return_documents?: boolean }
  const results = asked.documents.map((text, index) => ({
    index,
    relevance_score: SCORES[index],
    ...(asked.return_documents !== false && { document: { text } }),
  }))
  reply.json(200, { model: 'jina-x', results, usage: { total_tokens: 30 } })
}

const tei: Script = (_, reply) =>
  reply.json(
    200,
    SCORES.map((score, index) => ({ index, score })),
  )

function failing(status: number): Script {
  return (_, reply) => reply.json(status, { message: 'not today' })
}

function sentTo({ requests }: FakeSupplier): unknown {
  return JSON.parse(requests[0]!.body.toString())
}

interface Answer {
  readonly model: string
  readonly results: unknown
  readonly meta: unknown
}

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text()
  expect([response.status, text]).toEqual([200, expect.stringContaining('"results"')])
  return JSON.parse(text) as Answer
}

describe('a reranking', () => {
  it('is answered best first, with every header that an answer has', async () => {
    const { gateway, suppliers } = await house({
      shape: 'cohere',
      price: BY_SEARCH,
      script: cohere(1),
    })
    const response = await ask(gateway, ASKED)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': expect.stringContaining('application/json'),
      'x-svc-supplier': 'cohere',
      'x-svc-region': 'EU',
      'x-svc-failover': 'false',
      'x-svc-latency-ms': expect.stringMatching(/^\d+$/),
      'x-svc-input-tokens': '0',
      'x-svc-output-tokens': '0',
      'x-svc-cost-usd': '0.002',
    })
    expect(await answerOf(response)).toEqual({
      id: 'abc',
      model: 'ranker',
      results: BEST_FIRST,
      meta: { api_version: { version: '2' }, billed_units: { search_units: 1 } },
    } as Answer)
    expect(suppliers[0]!.requests[0]!.head).toStartWith('POST /v2/rerank ')
    expect(sentTo(suppliers[0]!)).toEqual({
      model: 'cohere-ranker',
      query: ASKED.query,
      documents: ['the sea', 'a rose', 'a brick'],
    })
  })

  it('is the same at the address of newer clients', async () => {
    const { gateway } = await house({ shape: 'cohere', price: BY_SEARCH, script: cohere(1) })
    const { results } = await answerOf(await ask(gateway, ASKED, { path: '/v2/rerank' }))
    expect(results).toEqual(BEST_FIRST)
  })

  it.each([
    ['voyage', voyage, { top_k: 2 }],
    ['jina', jina, { top_n: 2, return_documents: false }],
    ['tei', tei, {}],
  ] as const)('looks the same from a supplier of the shape %s', async (shape, script, expected) => {
    const { gateway, suppliers } = await house({ shape, price: BY_TOKEN, script })
    const response = await ask(gateway, { ...ASKED, top_n: 2, return_documents: true })
    const { results, meta } = await answerOf(response)
    expect(results).toEqual([
      { ...BEST_FIRST[0], document: { text: 'a rose', id: 7 } },
      { ...BEST_FIRST[1], document: { text: 'a brick' } },
    ])
    expect(meta).toBeObject()
    const texts = ['the sea', 'a rose', 'a brick']
    expect(sentTo(suppliers[0]!)).toEqual({
      model: `${shape}-ranker`,
      query: ASKED.query,
      [shape === 'tei' ? 'texts' : 'documents']: texts,
      ...expected,
    })
  })

  it('goes on to a supplier of another shape where one fails', async () => {
    const { gateway, suppliers } = await house(
      { shape: 'cohere', price: BY_SEARCH, script: failing(503) },
      { shape: 'voyage', price: BY_TOKEN, script: voyage },
    )
    const response = await ask(gateway, { ...ASKED, top_n: 1 })
    expect(response.headers.get('x-svc-supplier')).toBe('voyage')
    expect(response.headers.get('x-svc-failover')).toBe('true')
    expect(response.headers.get('x-svc-input-tokens')).toBe('40')
    expect((await answerOf(response)).results).toEqual([BEST_FIRST[0]])
    expect(sentTo(suppliers[0]!)).toMatchObject({ model: 'cohere-ranker', top_n: 1 })
    expect(sentTo(suppliers[1]!)).toMatchObject({ model: 'voyage-ranker', top_k: 1 })
  })

  it.each([
    ['a document that was not sent', [{ index: 3, relevance_score: 1 }]],
    ['one document twice', [BEST_FIRST[0], BEST_FIRST[0]]],
    ['no score', [{ index: 0, relevance_score: null }]],
  ])('is asked of the next where an answer ranks %s', async (_, results) => {
    const { gateway } = await house(
      { shape: 'jina', price: BY_TOKEN, script: (__, reply) => reply.json(200, { results }) },
      { shape: 'cohere', price: BY_SEARCH, script: cohere(1) },
    )
    const response = await ask(gateway, ASKED)
    expect(response.headers.get('x-svc-supplier')).toBe('cohere')
    expect((await answerOf(response)).results).toEqual(BEST_FIRST)
  })

  it('is 502 where nobody has a sound answer, and costs nothing', async () => {
    const script: Script = (_, reply) =>
      reply.json(200, '{"results":[{"index":0,"relevance_score":NaN}]}')
    const { gateway } = await house({ shape: 'cohere', price: BY_SEARCH, script })
    const response = await ask(gateway, ASKED)
    expect(response.status).toBe(502)
    expect(await response.json()).toMatchObject({ error: { code: 'upstream_invalid_response' } })
    expect(gateway.audit().map(({ cost }) => cost)).toEqual([0])
  })

  it('says which field of the request nobody has ranked by', async () => {
    const { gateway } = await house({ shape: 'cohere', price: BY_SEARCH, script: cohere(1) })
    const response = await ask(gateway, { ...ASKED, rank_fields: ['title'] })
    expect(response.headers.get('x-svc-losses')).toBe('/rank_fields')
    await answerOf(response)
  })

  it('is done once under one Idempotency-Key', async () => {
    const { gateway, suppliers } = await house({
      shape: 'cohere',
      price: BY_SEARCH,
      script: cohere(1),
    })
    const headers = { 'idempotency-key': 'once' }
    const first = await answerOf(await ask(gateway, ASKED, { headers }))
    expect(await answerOf(await ask(gateway, ASKED, { headers }))).toEqual(first)
    expect(suppliers[0]!.requests).toHaveLength(1)
  })
})

describe('a reranking is paid', () => {
  it('by the searches that its supplier tells, and not by those that were held', async () => {
    const { gateway } = await house({ shape: 'cohere', price: BY_SEARCH, script: cohere(1) })
    const long = 'x'.repeat(20_000)
    await answerOf(await ask(gateway, { ...ASKED, documents: [long, long, long] }))
    expect(gateway.audit().map(({ cost }) => cost)).toEqual([SEARCH_COST])
  })

  it('by the tokens that its supplier tells', async () => {
    const { gateway } = await house({ shape: 'voyage', price: BY_TOKEN, script: voyage })
    await answerOf(await ask(gateway, ASKED))
    expect(gateway.audit().map(({ cost }) => cost)).toEqual([40 * 50])
  })

  it('by a count where nobody tells anything, with the question once for each document', async () => {
    const { gateway } = await house({ shape: 'tei', price: BY_TOKEN, script: tei })
    const query = 'red '.repeat(1000)
    await answerOf(await ask(gateway, { ...ASKED, query }))
    const [row] = gateway.audit()
    expect(row?.input_tokens).toBeGreaterThan(2900)
    expect(row?.input_tokens).toBeLessThan(3200)
  })

  it('within a budget, or not begun', async () => {
    const { gateway, suppliers } = await house({
      shape: 'cohere',
      price: BY_SEARCH,
      script: cohere(1),
    })
    const { key } = await gateway.createKey({ name: 'small', budget_limit: 0.003 })
    await answerOf(await ask(gateway, ASKED, { key }))
    const refused = await ask(gateway, ASKED, { key })
    expect([refused.status, await refused.json()]).toEqual([
      402,
      { error: expect.objectContaining({ code: 'budget_exceeded' }) },
    ])
    expect(suppliers[0]!.requests).toHaveLength(1)
  })

  it('with as much held as its longest documents can come to', async () => {
    const { gateway, suppliers } = await house({
      shape: 'cohere',
      price: BY_SEARCH,
      script: cohere(1),
    })
    const documents = Array.from({ length: 100 }, () => 'x'.repeat(1000))
    const { key } = await gateway.createKey({ name: 'two', budget_limit: 0.005 })
    // Three pieces each: three searches, of which the key can pay two.
    expect((await ask(gateway, { ...ASKED, documents }, { key })).status).toBe(402)
    expect(suppliers[0]!.requests).toHaveLength(0)
  })
})

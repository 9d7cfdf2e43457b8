// The clients by which people rank documents, through the gateway as at the maker's: the older and the newer way of its
// own library, and the AI SDK's adapter, which wants more of an answer than it uses.
import { afterEach, describe, expect, it } from 'bun:test'
import { createCohere } from '@ai-sdk/cohere'
import { APICallError, rerank } from 'ai'
import { CohereClient, CohereClientV2, CohereError, Cohere } from 'cohere-ai'
import { ROOT_KEY, startGateway, supplierAt, type Gateway } from '../fakes/gateway.ts'
import { closeStreet, tidy } from '../fakes/street.ts'
import { startFakeSupplier } from '../fakes/supplier.ts'
import { bodyOf, openWorkshop, scoreOf, tasksAt } from '../fakes/tasks.ts'
import { rejection } from './house.ts'

const MODEL = 'test-rank'
const QUERY = 'what is red'
const DOCUMENTS = ['the sea is wide', 'a rose is red', 'red is what a brick is', 'nothing']
/** Best first, the first of equals first. */
const ORDER = DOCUMENTS.map((text, index) => ({
  index,
  relevanceScore: scoreOf(QUERY, text),
})).toSorted((left, right) => right.relevanceScore - left.relevanceScore)
const POOR = { name: 'poor', budget_limit: 0.000_000_001 }

afterEach(closeStreet)

interface Ranked {
  readonly index: number
  readonly relevanceScore: number
}

interface Wish {
  readonly documents?: readonly string[]
  readonly topN?: number
}

interface Options {
  readonly maxRetries?: number
  readonly abortSignal?: AbortSignal
}

type Rank = (wish: Wish, options?: Options) => Promise<readonly Ranked[]>

const CLIENTS: readonly (readonly [string, string, (gateway: Gateway, token?: string) => Rank])[] =
  [
    [
      'cohere-ai, version 1 of its interface',
      '/v1/rerank',
      ({ url }, token = ROOT_KEY) => {
        const client = new CohereClient({ environment: url, token })
        return async ({ documents = DOCUMENTS, topN }, options) => {
          const asked = { model: MODEL, query: QUERY, documents: [...documents] }
          const wish = topN === undefined ? asked : { ...asked, topN }
          return (await client.rerank(wish, options)).results
        }
      },
    ],
    [
      'cohere-ai, version 2 of its interface',
      '/v2/rerank',
      ({ url }, token = ROOT_KEY) => {
        const client = new CohereClientV2({ environment: url, token })
        return async ({ documents = DOCUMENTS, topN }, options) => {
          const asked = { model: MODEL, query: QUERY, documents: [...documents] }
          const wish = topN === undefined ? asked : { ...asked, topN }
          return (await client.rerank(wish, options)).results
        }
      },
    ],
  ]

describe.each(CLIENTS)('%s', (_, path, clientAt) => {
  it('gets the documents in their order, all or the best', async () => {
    const { gateway, supplier } = await openWorkshop()
    const rank = clientAt(gateway)
    expect(await rank({})).toEqual(ORDER)
    expect(await rank({ topN: 2 })).toEqual(ORDER.slice(0, 2))
    expect(await rank({ topN: 99 })).toEqual(ORDER)
    expect(
      supplier.requests.map((request) => (bodyOf(request) as { model: string }).model),
    ).toEqual(Array.from({ length: 3 }, () => 'their-test-rank'))
    expect(gateway.audit().map(({ status }) => status)).toEqual([200, 200, 200])
  })

  it('is told by class, status and body what is wrong', async () => {
    const { gateway, supplier } = await openWorkshop()
    const refusalOf = async (token: string, wish: Wish): Promise<CohereError> =>
      (await rejection(clientAt(gateway, token)(wish, { maxRetries: 0 }))) as CohereError
    const bad = await refusalOf(ROOT_KEY, { topN: 0 })
    expect(bad).toBeInstanceOf(Cohere.BadRequestError)
    expect(bad.body).toMatchObject({ error: { code: 'validation_error', param: 'top_n' } })
    const none = await refusalOf(ROOT_KEY, { documents: [] })
    expect(none.body).toMatchObject({ error: { code: 'missing_fields' } })
    const unknown = await refusalOf(`svc_${'x'.repeat(40)}`, {})
    expect(unknown).toBeInstanceOf(Cohere.UnauthorizedError)
    const poor = await refusalOf((await gateway.createKey(POOR)).key, {})
    expect(poor).toBeInstanceOf(CohereError)
    expect(poor.statusCode).toBe(402)
    expect(poor.body).toMatchObject({ error: { code: 'budget_exceeded' } })
    expect(supplier.requests).toEqual([])
    const { key } = await gateway.createKey({ name: 'slow', rate_limit_rpm: 1 })
    await clientAt(gateway, key)({})
    const limited = await refusalOf(key, {})
    expect(limited).toBeInstanceOf(Cohere.TooManyRequestsError)
    expect(limited.body).toMatchObject({ error: { code: 'rate_limit_exceeded' } })
  })

  it('is refused too much at once', async () => {
    const { gateway } = await openWorkshop()
    const many = Array.from({ length: 10_001 }, () => 'x')
    const thrown = await rejection(clientAt(gateway)({ documents: many }))
    expect(thrown).toBeInstanceOf(Cohere.BadRequestError)
    expect((thrown as CohereError).body).toMatchObject({ error: { code: 'operation_too_large' } })
    const large = ['x'.repeat(33 * 1_048_576)]
    expect(await rejection(clientAt(gateway)({ documents: large }))).toMatchObject({
      statusCode: 413,
    })
  })

  it('ends the call at the supplier when it is aborted', async () => {
    const { gateway, supplier } = await openWorkshop(() => {})
    const control = new AbortController()
    const answer = rejection(clientAt(gateway)({}, { abortSignal: control.signal, maxRetries: 0 }))
    const { closed } = await supplier.request(0)
    control.abort()
    expect(await answer).toBeInstanceOf(CohereError)
    await closed
  })

  it('asks at its own address', async () => {
    const { gateway } = await openWorkshop()
    const asked: string[] = []
    const door = Bun.serve({
      port: 0,
      fetch: (request) => {
        asked.push(new URL(request.url).pathname)
        return fetch(gateway.url + new URL(request.url).pathname, request)
      },
    })
    tidy({ stop: () => door.stop(true) })
    expect(await clientAt({ ...gateway, url: door.url.origin })({})).toEqual(ORDER)
    expect(asked).toEqual([path])
  })
})

describe('cohere-ai', () => {
  it('gets the documents back where it asks for them, whoever answers', async () => {
    const { gateway } = await openWorkshop()
    const client = new CohereClient({ environment: gateway.url, token: ROOT_KEY })
    const documents = DOCUMENTS.map((text, index) => (index === 0 ? text : { text }))
    const { results, meta } = await client.rerank({
      model: MODEL,
      query: QUERY,
      documents,
      topN: 1,
      returnDocuments: true,
    })
    const best = ORDER[0]!
    expect(results).toEqual([{ ...best, document: { text: DOCUMENTS[best.index]! } }])
    expect(meta?.billedUnits?.searchUnits).toBe(1)
  })

  it('does not notice that a supplier is down', async () => {
    const down = tidy(
      await startFakeSupplier((_request, reply) => reply.json(500, { message: 'out of order' })),
    )
    const { supplier } = await openWorkshop()
    const gateway = tidy(
      await startGateway({
        suppliers: [tasksAt(down.origin, { id: 'down' }), tasksAt(supplier.origin)],
      }),
    )
    const client = new CohereClientV2({ environment: gateway.url, token: ROOT_KEY })
    const asked = { model: MODEL, query: QUERY, documents: DOCUMENTS }
    const { results } = await client.rerank(asked, { maxRetries: 0 })
    expect(results).toEqual(ORDER)
    expect([down.requests.length, supplier.requests.length]).toEqual([1, 1])
  })

  it('is told that a model for chats ranks nothing', async () => {
    const supplier = tidy(await startFakeSupplier(() => {}))
    const gateway = tidy(await startGateway({ suppliers: [supplierAt(supplier.origin)] }))
    const client = new CohereClient({ environment: gateway.url, token: ROOT_KEY })
    const asked = { model: 'test-model', query: QUERY, documents: DOCUMENTS }
    const thrown = (await rejection(client.rerank(asked))) as CohereError
    expect(thrown.body).toMatchObject({ error: { code: 'capability_unsupported' } })
  })
})

describe('the AI SDK with @ai-sdk/cohere', () => {
  const modelAt = ({ url }: Gateway, apiKey = ROOT_KEY) =>
    createCohere({ baseURL: `${url}/v1`, apiKey }).reranking(MODEL)

  it('gets the documents in their order, all or the best', async () => {
    const { gateway } = await openWorkshop()
    const model = modelAt(gateway)
    const documents = [...DOCUMENTS]
    const all = await rerank({ model, query: QUERY, documents })
    expect(all.ranking.map(({ originalIndex, score }) => [originalIndex, score])).toEqual(
      ORDER.map(({ index, relevanceScore }) => [index, relevanceScore]),
    )
    const { rerankedDocuments } = await rerank({ model, query: QUERY, documents, topN: 2 })
    expect(rerankedDocuments).toEqual(ORDER.slice(0, 2).map(({ index }) => DOCUMENTS[index]!))
  })

  it('ranks objects by all that stands in them', async () => {
    const { gateway, supplier } = await openWorkshop()
    const documents = DOCUMENTS.map((text, id) => ({ id, text }))
    const { ranking } = await rerank({ model: modelAt(gateway), query: QUERY, documents })
    expect(ranking[0]!.document).toEqual(documents[ORDER[0]!.index]!)
    expect((bodyOf(supplier.requests[0]!) as { documents: string[] }).documents).toEqual(
      documents.map((document) => JSON.stringify(document)),
    )
  })

  it('throws an error with the status and the body, once', async () => {
    const { gateway, supplier } = await openWorkshop()
    const { key } = await gateway.createKey(POOR)
    const asked = { model: modelAt(gateway, key), query: QUERY, documents: [...DOCUMENTS] }
    const thrown = await rejection(rerank({ ...asked, maxRetries: 2 }))
    expect(APICallError.isInstance(thrown)).toBe(true)
    const { statusCode, isRetryable, responseBody } = thrown as APICallError
    expect([statusCode, isRetryable]).toEqual([402, false])
    expect(responseBody).toContain('"budget_exceeded"')
    expect(supplier.requests).toEqual([])
  })
})

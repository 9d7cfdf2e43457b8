// Real clients embed texts through the gateway as they do at the maker's: they ask for the numbers in the one way or the
// other without saying so, in batches of their own, and read errors by their own classes.
import { afterEach, describe, expect, it } from 'bun:test'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { OpenAIEmbeddings } from '@langchain/openai'
import { APICallError, embed as embedOne, embedMany, type EmbeddingModel } from 'ai'
import type OpenAI from 'openai'
import { ROOT_KEY, type Gateway } from '../fakes/gateway.ts'
import { closeStreet } from '../fakes/street.ts'
import { bodyOf, embed, openWorkshop, vectorOf, type EmbedRequest } from '../fakes/tasks.ts'
import type { FakeSupplier } from '../fakes/supplier.ts'
import { connect, rejection, SDKS } from './house.ts'

const MODEL = 'test-embed'
const TEXTS = Array.from({ length: 10 }, (_, index) => `text ${index}`)
const PATIENCE_MS = 30_000

afterEach(closeStreet)

function askedOf(supplier: FakeSupplier): readonly EmbedRequest[] {
  return supplier.requests.map((request) => bodyOf(request) as EmbedRequest)
}

function vectorsOf({ data }: OpenAI.CreateEmbeddingResponse): readonly (readonly number[])[] {
  return data.map(({ embedding }) => embedding)
}

/** What a program reads of an error. */
interface Problem {
  readonly status: number
  readonly code: string
  readonly message: string
}

async function problemOf(work: PromiseLike<unknown>): Promise<Problem> {
  const { status, code, message } = (await rejection(work)) as Problem
  return { status, code, message }
}

describe.each(SDKS)('%s', (_, Client) => {
  it('gets the numbers of a text, asked for as it asks by itself', async () => {
    const { gateway, supplier } = await openWorkshop()
    const { client } = connect(Client, gateway.url)
    const answer = await client.embeddings.create({ model: MODEL, input: 'Grüße' })
    expect(vectorsOf(answer)).toEqual([[...vectorOf('Grüße')]])
    expect(answer.usage).toEqual({ prompt_tokens: 2, total_tokens: 2 })
    // It decodes them by itself, for speed.
    expect(askedOf(supplier)).toEqual([
      { model: 'their-test-embed', input: 'Grüße', encoding_format: 'base64' },
    ])
  })

  it.each([
    ['floats', 'float'],
    ['base64', 'base64'],
  ] as const)('gets the same numbers from a supplier that knows %s alone', async (_name, knows) => {
    const { gateway } = await openWorkshop((request, reply) => embed(request, reply, knows))
    const { client } = connect(Client, gateway.url)
    const input = ['one', 'two']
    const expected = input.map((text) => [...vectorOf(text)])
    const plain = await client.embeddings.create({ model: MODEL, input })
    const floats = await client.embeddings.create({
      model: MODEL,
      input,
      encoding_format: 'float',
    })
    expect(vectorsOf(plain)).toEqual(expected)
    expect(vectorsOf(floats)).toEqual(expected)
  })

  it('gets texts as base64 where it asks for them in so many words', async () => {
    const { gateway } = await openWorkshop((request, reply) => embed(request, reply, 'float'))
    const { client } = connect(Client, gateway.url)
    const answer = await client.embeddings.create({
      model: MODEL,
      input: 'one',
      encoding_format: 'base64',
    })
    const text = answer.data[0]!.embedding
    expect([...new Float32Array(Buffer.from(text, 'base64').buffer.slice(0))].slice(0, 8)).toEqual([
      ...vectorOf('one'),
    ])
  })

  it('gets many texts in their order from a supplier that takes three at once', async () => {
    const { gateway, supplier } = await openWorkshop(undefined, { inputsMax: 3 })
    const { client } = connect(Client, gateway.url)
    const answer = await client.embeddings.create({ model: MODEL, input: TEXTS })
    expect(answer.data.map(({ index }) => index)).toEqual(TEXTS.map((_text, index) => index))
    expect(vectorsOf(answer)).toEqual(TEXTS.map((text) => [...vectorOf(text)]))
    expect(answer.usage.prompt_tokens).toBe(20)
    const sizes = askedOf(supplier).map(({ input }) => input.length)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(3)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(TEXTS.length)
  })

  it('sends tokens, a number of dimensions and a user as they are', async () => {
    const { gateway, supplier } = await openWorkshop()
    const { client } = connect(Client, gateway.url)
    const input = [[1, 2, 3], [4]]
    const rest = { input, dimensions: 8, user: 'someone' }
    const answer = await client.embeddings.create({ model: MODEL, ...rest })
    expect(vectorsOf(answer)).toEqual(input.map((tokens) => [...vectorOf(tokens)]))
    expect(askedOf(supplier)[0]).toMatchObject(rest)
  })

  it('is told by class, status and code what is wrong', async () => {
    const { gateway, supplier } = await openWorkshop()
    const create = async (changes: object, settings?: object): Promise<Problem> => {
      const key = settings === undefined ? ROOT_KEY : (await gateway.createKey(settings)).key
      const { client } = connect(Client, gateway.url, { apiKey: key, maxRetries: 0 })
      return problemOf(client.embeddings.create({ model: MODEL, input: 'one', ...changes }))
    }
    const large = 'x'.repeat(33 * 1_048_576)
    expect(await create({ input: [] })).toMatchObject({ status: 400, code: 'missing_prompt' })
    expect(await create({ dimensions: 1.5 })).toMatchObject({
      status: 400,
      code: 'validation_error',
    })
    expect(await create({ model: 'test-model' })).toMatchObject({
      status: 400,
      code: 'capability_unsupported',
    })
    expect(await create({ model: 'nobody' })).toMatchObject({
      status: 404,
      code: 'model_not_found',
    })
    expect(await create({ input: large })).toMatchObject({
      status: 413,
      code: 'request_too_large',
    })
    const poor = { name: 'poor', budget_limit: 0.000_000_001 }
    expect(await create({}, poor)).toMatchObject({ status: 402, code: 'budget_exceeded' })
    const confined = { name: 'confined', allowed_models: ['test-model'] }
    expect(await create({}, confined)).toMatchObject({ status: 403, code: 'model_not_allowed' })
    expect(supplier.requests).toEqual([])
  })

  it('is told to wait where waiting helps, and does not ask again where only money does', async () => {
    const { gateway } = await openWorkshop()
    const { key } = await gateway.createKey({ name: 'slow', rate_limit_rpm: 1 })
    const work = (apiKey: string, maxRetries: number) => {
      const { client, tries } = connect(Client, gateway.url, { apiKey, maxRetries })
      return { tries, answer: client.embeddings.create({ model: MODEL, input: 'one' }) }
    }
    await work(key, 0).answer
    expect(await problemOf(work(key, 0).answer)).toMatchObject({
      status: 429,
      code: 'rate_limit_exceeded',
    })
    const poor = await gateway.createKey({ name: 'poor', budget_limit: 0.000_000_001 })
    const refused = work(poor.key, 2)
    expect(await problemOf(refused.answer)).toMatchObject({ status: 402 })
    expect(refused.tries).toEqual(['0'])
  })

  it('ends the call at the supplier when it is aborted', async () => {
    const { gateway, supplier } = await openWorkshop(() => {})
    const { client } = connect(Client, gateway.url, { maxRetries: 0 })
    const control = new AbortController()
    const { signal } = control
    const answer = rejection(client.embeddings.create({ model: MODEL, input: 'one' }, { signal }))
    const { closed } = await supplier.request(0)
    control.abort()
    expect(((await answer) as Error).constructor.name).toBe('APIUserAbortError')
    await closed
  })
})

const ADAPTERS: readonly (readonly [string, (gateway: Gateway, key: string) => EmbeddingModel])[] =
  [
    [
      '@ai-sdk/openai',
      ({ url }, apiKey) => createOpenAI({ baseURL: `${url}/v1`, apiKey }).embedding(MODEL),
    ],
    [
      '@ai-sdk/openai-compatible',
      ({ url }, apiKey) =>
        createOpenAICompatible({ name: 'gateway', baseURL: `${url}/v1`, apiKey }).embeddingModel(
          MODEL,
        ),
    ],
  ]

describe.each(ADAPTERS)('the AI SDK with %s', (_, modelAt) => {
  it('embeds one text and many', async () => {
    const { gateway } = await openWorkshop()
    const model = modelAt(gateway, ROOT_KEY)
    const one = await embedOne({ model, value: 'one' })
    expect(one.embedding).toEqual([...vectorOf('one')])
    expect(one.usage.tokens).toBe(1)
    const many = await embedMany({ model, values: TEXTS, maxParallelCalls: 2 })
    expect(many.embeddings).toEqual(TEXTS.map((text) => [...vectorOf(text)]))
    expect(many.usage.tokens).toBe(20)
  })

  it('throws an error with the status and the code, once', async () => {
    const { gateway, supplier } = await openWorkshop()
    const poor = await gateway.createKey({ name: 'poor', budget_limit: 0.000_000_001 })
    const model = modelAt(gateway, poor.key)
    const thrown = await rejection(embedOne({ model, value: 'one', maxRetries: 2 }))
    expect(APICallError.isInstance(thrown)).toBe(true)
    const { statusCode, message, isRetryable } = thrown as APICallError
    expect([statusCode, isRetryable]).toEqual([402, false])
    expect(message).toStartWith('budget_exceeded - ')
    expect(supplier.requests).toEqual([])
  })

  it('ends the call at the supplier when it is aborted', async () => {
    const { gateway, supplier } = await openWorkshop(() => {})
    const control = new AbortController()
    const model = modelAt(gateway, ROOT_KEY)
    const { signal: abortSignal } = control
    const answer = rejection(embedOne({ model, value: 'one', maxRetries: 0, abortSignal }))
    const { closed } = await supplier.request(0)
    control.abort()
    expect(((await answer) as Error).name).toBe('AbortError')
    await closed
  })
})

describe('LangChain', () => {
  const embedderAt = ({ url }: Gateway, apiKey = ROOT_KEY) =>
    new OpenAIEmbeddings({
      model: MODEL,
      apiKey,
      maxRetries: 0,
      batchSize: 4,
      configuration: { baseURL: `${url}/v1` },
    })

  it('embeds a question and documents, in batches of its own', async () => {
    const { gateway, supplier } = await openWorkshop()
    const embedder = embedderAt(gateway)
    expect(await embedder.embedQuery('one')).toEqual([...vectorOf('one')])
    expect(await embedder.embedDocuments([...TEXTS])).toEqual(
      TEXTS.map((text) => [...vectorOf(text)]),
    )
    expect(askedOf(supplier)).toHaveLength(4)
  })

  it(
    'throws an error with the status and the message',
    async () => {
      const { gateway } = await openWorkshop()
      const poor = await gateway.createKey({ name: 'poor', budget_limit: 0.000_000_001 })
      const thrown = await rejection(embedderAt(gateway, poor.key).embedQuery('one'))
      expect(thrown).toMatchObject({ status: 402 })
      expect((thrown as Error).message).toContain('budget_exceeded - ')
    },
    PATIENCE_MS,
  )
})

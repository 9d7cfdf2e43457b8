// Texts to be embedded that are too long, through the whole gateway: refused by their exact number of tokens where the
// vocabulary is known, before anybody is asked, and left to the supplier everywhere else.
import { afterAll, beforeAll, describe, expect, it } from 'bun:test'
import { countTokens } from 'vocabularies/encoding/cl100k_base'
import { embedderAt, EMBEDDINGS_PATH, goodEmbeddings } from './fakes/embedder.ts'
import { ROOT_KEY, startGateway, type Gateway } from './fakes/gateway.ts'
import { startFakeSupplier, type FakeSupplier } from './fakes/supplier.ts'

let gateway: Gateway
let supplier: FakeSupplier
beforeAll(async () => {
  supplier = await startFakeSupplier(goodEmbeddings)
  const { models, ...embedder } = embedderAt(supplier.origin)
  const route = models.get('test-model')!
  const limits = { contextWindow: 8192, tokenizer: 'cl100k' } as const
  gateway = await startGateway({
    suppliers: [
      {
        ...embedder,
        models: new Map([
          ['known', { ...route, limits }],
          ['unknown', route],
        ]),
      },
    ],
  })
})
afterAll(async () => {
  await gateway.stop()
  await supplier.stop()
})

async function ask(input: unknown, model = 'known'): Promise<readonly unknown[]> {
  const answer = await fetch(gateway.url + EMBEDDINGS_PATH, {
    method: 'POST',
    headers: { authorization: `Bearer ${ROOT_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, input }),
  })
  const { error } = (await answer.json()) as { readonly error?: Readonly<Record<string, unknown>> }
  return error === undefined ? [answer.status] : [answer.status, error['code'], error['param']]
}

/** A word and a blank before it are one token. */
function words(tokens: number): string {
  const text = `a${' hello'.repeat(tokens - 1)}`
  expect(countTokens(text)).toBe(tokens)
  return text
}

describe('a text of more than 2048 tokens', () => {
  it('is refused by its place, and nobody is asked', async () => {
    const asked = supplier.requests.length
    const refused = [400, 'context_length_exceeded']
    expect(await ask(words(2049))).toEqual([...refused, 'input'])
    expect(await ask(['short', words(2048), words(2049)])).toEqual([...refused, 'input[2]'])
    expect(await ask(['\u4e2d\n'.repeat(2000)])).toEqual([...refused, 'input[0]'])
    expect(supplier.requests.length).toBe(asked)
  })

  it('is one token longer than what passes', async () => {
    expect(await ask(words(2048))).toEqual([200])
    expect(await ask([words(2048), words(400), 'x'.repeat(2048)])).toEqual([200])
  })

  it('is left to the supplier where nobody knows the vocabulary', async () => {
    expect(await ask(words(2049), 'unknown')).toEqual([200])
  })

  it('is left to the supplier where so much comes before it that it is not counted', async () => {
    const before = Array.from({ length: 90 }, () => words(2000))
    expect(await ask([...before, words(2049)])).toEqual([200])
  })
})

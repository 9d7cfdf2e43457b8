// The main road of embeddings: a request through the whole gateway to a supplier and back, what it costs, and what
// happens where a supplier is odd, broken or takes only so many inputs at once.
import { afterEach, describe, expect, it } from 'bun:test'
import type { Quirks } from '../src/dialects/quirk.ts'
import {
  EMBEDDED_TOKEN_COST as TOKEN_COST,
  EMBEDDINGS_PATH as PATH,
  embed,
  embedderAt,
  goodEmbeddings as good,
  inputsOf,
  vectorOf,
  type EmbedderHabits,
} from './fakes/embedder.ts'
import { ROOT_KEY, startGateway, type Gateway } from './fakes/gateway.ts'
import { startFakeSupplier, type FakeSupplier, type Script } from './fakes/supplier.ts'

const open: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.stop()
})

type Fields = Readonly<Record<string, unknown>>

interface House {
  readonly gateway: Gateway
  readonly suppliers: readonly FakeSupplier[]
  readonly ask: (changes?: object, key?: string) => Promise<Response>
}

async function house(scripts: readonly Script[], habits: EmbedderHabits = {}): Promise<House> {
  const suppliers = await Promise.all(scripts.map((script) => startFakeSupplier(script)))
  const gateway = await startGateway({
    suppliers: suppliers.map(({ origin }, index) =>
      embedderAt(origin, index === 0 ? {} : { id: `fake-${index + 1}` }, habits),
    ),
  })
  open.push(...suppliers, gateway)
  return {
    gateway,
    suppliers,
    ask: (changes = {}, key = ROOT_KEY) =>
      fetch(gateway.url + PATH, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'test-model', input: ['one', 'two'], ...changes }),
      }),
  }
}

async function vectorsIn(answer: Response): Promise<readonly unknown[]> {
  const { data } = (await answer.json()) as { readonly data: readonly Fields[] }
  expect(data.map(({ index }) => index)).toEqual(data.map((_, index) => index))
  return data.map(({ embedding }) => embedding)
}

function base64Of(numbers: readonly number[]): string {
  return new Uint8Array(new Float32Array(numbers).buffer).toBase64()
}

describe('embeddings', () => {
  it('pass as they came, with all headers and their price', async () => {
    const text = JSON.stringify(embed(Buffer.from('{"input":["one","two"]}')), null, 1)
    const { ask, gateway } = await house([(_, reply) => reply.json(200, text)])
    const answer = await ask()
    expect(await answer.text()).toBe(text)
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'application/json',
      'x-svc-supplier': 'fake',
      'x-svc-region': 'EU',
      'x-svc-failover': 'false',
      'x-svc-input-tokens': '4',
      'x-svc-output-tokens': '0',
      'x-svc-cost-usd': '0.00000008',
    })
    expect(answer.headers.get('x-svc-latency-ms')).toMatch(/^\d+$/)
    expect(gateway.audit().at(-1)).toMatchObject({
      status: 200,
      input_tokens: 4,
      output_tokens: 0,
      cost: 4 * TOKEN_COST,
    })
  })

  it('are asked for in the caller’s own words, without what is the gateway’s', async () => {
    const { ask, suppliers } = await house([good])
    const input = [[1, 2], [3]]
    const metadata = { session_id: 's' }
    await ask({ input, region: 'EU', metadata, encoding_format: 'base64', user: 'u' })
    const [sent] = suppliers[0]!.requests
    expect(JSON.parse(sent!.body.toString())).toEqual({
      model: 'upstream-model',
      input,
      encoding_format: 'base64',
      user: 'u',
    })
  })

  it('come in the form that was asked for, whatever the supplier sends', async () => {
    const { ask } = await house([good])
    const lists = [vectorOf('one'), vectorOf('two')]
    expect(await vectorsIn(await ask())).toEqual(lists)
    expect(await vectorsIn(await ask({ encoding_format: 'float' }))).toEqual(lists)
    expect(await vectorsIn(await ask({ encoding_format: 'base64' }))).toEqual(lists.map(base64Of))
  })

  it('are put into the words of a supplier that has others', async () => {
    const quirks: Quirks = {
      usage: 'always',
      drop: ['encoding_format'],
      rename: { dimensions: 'output_dimension' },
    }
    const { ask, suppliers } = await house([good], { quirks })
    const answer = await ask({ encoding_format: 'base64', dimensions: 256 })
    expect(answer.headers.get('x-svc-losses')).toBe('/dimensions')
    expect(await vectorsIn(answer)).toEqual([vectorOf('one'), vectorOf('two')].map(base64Of))
    const sent = JSON.parse(suppliers[0]!.requests[0]!.body.toString()) as Fields
    expect(sent).toEqual({ model: 'upstream-model', input: ['one', 'two'], output_dimension: 256 })
  })

  it('are counted where nobody tells their usage, and shown as they are charged', async () => {
    const { ask, gateway } = await house([
      ({ body }, reply) => reply.json(200, embed(body, { usage: undefined })),
    ])
    for (const input of [['one', 'two'], Array.from({ length: 900 }, (_, index) => index)]) {
      const answer = await ask({ input })
      const { usage } = (await answer.json()) as { readonly usage: Fields }
      const told = Number(answer.headers.get('x-svc-input-tokens'))
      expect(usage).toEqual({ prompt_tokens: told, total_tokens: told })
      expect(gateway.audit().at(-1)).toMatchObject({ input_tokens: told, cost: told * TOKEN_COST })
      if (input.length === 900) expect(told).toBeWithin(900, 930)
    }
  })
})

/** Each of these is no answer to two inputs. */
const BROKEN: Readonly<Record<string, (sound: Fields) => unknown>> = {
  NaN: (sound) => JSON.stringify(sound).replace('"embedding":[', '"embedding":[NaN,'),
  'an answer too few': (sound) => ({ ...sound, data: (sound['data'] as unknown[]).slice(1) }),
  'two answers for one': ({ data, ...others }) => ({
    ...others,
    data: [(data as unknown[])[0], (data as unknown[])[0]],
  }),
  'an empty vector': ({ data, ...others }) => ({
    ...others,
    data: (data as Fields[]).map((each) => ({ ...each, embedding: [] })),
  }),
}

describe('a supplier that sends', () => {
  for (const [what, damage] of Object.entries(BROKEN))
    it(`${what} is one that fails, and the next one is asked`, async () => {
      const broken: Script = ({ body }, reply) => reply.json(200, damage(embed(body)))
      const two = await house([broken, good])
      const answer = await two.ask()
      expect(answer.headers.get('x-svc-supplier')).toBe('fake-2')
      expect(answer.headers.get('x-svc-failover')).toBe('true')
      expect(await vectorsIn(answer)).toEqual([vectorOf('one'), vectorOf('two')])
    })

  it('NaN and is the only one there is leaves the caller with an error and nothing to pay', async () => {
    const { ask, gateway } = await house([
      ({ body }, reply) => reply.json(200, BROKEN['NaN']!(embed(body))),
    ])
    const answer = await ask()
    const { error } = (await answer.json()) as { readonly error: Fields }
    expect([answer.status, error['code']]).toEqual([502, 'upstream_invalid_response'])
    expect(gateway.audit().at(-1)).toMatchObject({ status: 502, cost: 0 })
  })
})

describe('more inputs than a supplier takes at once', () => {
  const INPUTS = Array.from({ length: 11 }, (_, index) => `text ${index}`)

  it('are asked for in pieces and answered in one, in their order', async () => {
    const { ask, suppliers, gateway } = await house([good], { inputsMax: 3 })
    const answer = await ask({ input: INPUTS, region: 'EU' })
    expect(answer.headers.get('x-svc-input-tokens')).toBe('22')
    expect(await vectorsIn(answer)).toEqual(INPUTS.map(vectorOf))
    const sent = suppliers[0]!.requests.map(({ body }) => JSON.parse(body.toString()) as Fields)
    const sizes = sent.map(({ input }) => inputsOf(input).length)
    expect(sizes.toSorted((one, other) => one - other)).toEqual([2, 3, 3, 3])
    for (const each of sent) expect(Object.keys(each)).toEqual(['model', 'input'])
    expect(gateway.audit().at(-1)).toMatchObject({ status: 200, cost: 22 * TOKEN_COST })
  })

  it('go to the next supplier as a whole where one piece fails', async () => {
    const failing: Script = ({ body }, reply) =>
      body.includes('text 7') ? reply.json(500, {}) : reply.json(200, embed(body))
    const { ask, suppliers } = await house([failing, good], { inputsMax: 3 })
    const answer = await ask({ input: INPUTS, encoding_format: 'base64' })
    expect(answer.headers.get('x-svc-supplier')).toBe('fake-2')
    expect(await vectorsIn(answer)).toEqual(INPUTS.map((each) => base64Of(vectorOf(each))))
    expect(suppliers[1]!.requests).toHaveLength(4)
  })

  it('are answered by the next supplier where one piece comes back short', async () => {
    const short: Script = ({ body }, reply) => {
      const answer = embed(body)
      const data = answer['data'] as readonly unknown[]
      reply.json(200, body.includes('text 7') ? { ...answer, data: data.slice(1) } : answer)
    }
    const { ask } = await house([short, good], { inputsMax: 3 })
    const answer = await ask({ input: INPUTS })
    expect(answer.headers.get('x-svc-supplier')).toBe('fake-2')
    expect(await vectorsIn(answer)).toEqual(INPUTS.map(vectorOf))
  })
})

describe('a budget', () => {
  it('pays for what embeddings cost and stops them where it is used up', async () => {
    const { ask, gateway } = await house([good])
    const { id, key } = await gateway.createKey({ name: 'k', budget_limit: 0.00001 })
    expect((await ask({}, key)).status).toBe(200)
    const left = await gateway.manage('GET', `/keys/${id}`)
    expect(await left.json()).toMatchObject({ budget_used: 0.00000008 })
    const dear = await ask(
      { input: Array.from({ length: 600 }, (_, index) => `text ${index}`) },
      key,
    )
    expect(dear.status).toBe(402)
    expect((await ask({}, key)).status).toBe(200)
  })
})

it('stands in the list of models with what it does', async () => {
  const gateway = await startGateway()
  open.push(gateway)
  const response = await fetch(`${gateway.url}/v1/models`, {
    headers: { authorization: `Bearer ${ROOT_KEY}` },
  })
  const models = (await response.json()) as readonly {
    readonly id: string
    readonly task: string
  }[]
  const tasks = new Map(models.map(({ id, task }) => [id, task]))
  const wanted = ['chat', 'embed', 'rerank', 'transcribe', 'speak', 'messages']
  expect(wanted.map((name) => tasks.get(`demo/${name}`))).toEqual([
    'chat',
    'embedding',
    'rerank',
    'transcription',
    'speech',
    'chat',
  ])
})

// Several accounts of one supplier, and several suppliers under names that resemble each other: who is
// asked, in which order, and what a key that names one of them may reach.
import { afterEach, describe, expect, it } from 'bun:test'
import { SUPPLIER_CANARY } from './fakes/canary.ts'
import { startGateway, type Gateway } from './fakes/gateway.ts'
import { closeStreet, good, refuse, tidy } from './fakes/street.ts'
import { startFakeSupplier, type FakeSupplier, type Script } from './fakes/supplier.ts'

afterEach(closeStreet)

const MESSAGES = [{ role: 'user', content: 'Hello' }]

function supplier(
  id: string,
  at: FakeSupplier,
  keys: number,
  models: Record<string, number>,
): string {
  const credentials = Array.from({ length: keys }, (_, index) => `"\${KEY}-${index}"`).join(', ')
  const lines = Object.entries(models).map(
    ([model, price]) => `      ${model}: { price: { input: ${price}, output: ${price} } }`,
  )
  return [
    `  ${id}:`,
    '    kind: openai-compatible',
    `    origin: ${at.origin}/v1`,
    '    allow_private: true',
    `    credentials: [${credentials}]`,
    '    models:',
    ...lines,
    '',
  ].join('\n')
}

async function open(...suppliers: readonly string[]): Promise<Gateway> {
  const config = `suppliers:\n${suppliers.join('')}`
  return tidy(await startGateway({ config, environment: { KEY: SUPPLIER_CANARY } }))
}

async function fake(script: Script): Promise<FakeSupplier> {
  return tidy(await startFakeSupplier(script))
}

const credentialsOf = ({ requests }: FakeSupplier): readonly (string | undefined)[] =>
  requests.map(({ headers }) => headers.get('authorization')?.slice(-1))

describe('a supplier with several credentials', () => {
  it('is asked with the next one when it refuses one, in the order of the file', async () => {
    for (const status of [401, 403, 429]) {
      const first = await fake((request, reply, index) =>
        index < 2 ? reply.json(status, { error: {} }) : good(request, reply, index),
      )
      const gateway = await open(supplier('one', first, 3, { m: 1 }))
      const response = await gateway.chat({ model: 'm', messages: MESSAGES })
      expect([response.status, credentialsOf(first)]).toEqual([200, ['0', '1', '2']])
    }
  })

  it('is asked once when it is down, and the next supplier answers', async () => {
    for (const script of [
      refuse(500, {}),
      refuse(503, {}),
      ((_, reply) => reply.reset()) as Script,
    ]) {
      const down = await fake(script)
      const well = await fake(good)
      const gateway = await open(
        supplier('down', down, 3, { m: 1 }),
        supplier('well', well, 1, { m: 1 }),
      )
      const response = await gateway.chat({ model: 'm', messages: MESSAGES })
      expect(response.headers.get('x-svc-supplier')).toBe('well')
      expect([down.requests.length, well.requests.length]).toEqual([1, 1])
    }
  })

  it('leaves the last try to another supplier', async () => {
    const busy = await fake(refuse(429, {}))
    const other = await fake(good)
    const gateway = await open(
      supplier('one', busy, 4, { m: 1 }),
      supplier('two', other, 1, { m: 1 }),
    )
    const response = await gateway.chat({ model: 'm', messages: MESSAGES })
    expect([response.status, response.headers.get('x-svc-supplier')]).toEqual([200, 'two'])
    expect(credentialsOf(busy)).toEqual(['0', '1'])
  })

  it('takes no more attempts in all than are allowed', async () => {
    const first = await fake(refuse(429, {}))
    const gateway = await open(supplier('one', first, 5, { m: 1 }))
    expect((await gateway.chat({ model: 'm', messages: MESSAGES })).status).toBe(429)
    expect(first.requests).toHaveLength(3)
  })
})

describe('a model whose id looks like one at a supplier', () => {
  it('is the model of that id, whoever else is called like its first half', async () => {
    const dear = await fake(good)
    const own = await fake(good)
    const gateway = await open(
      supplier('dear', dear, 1, { gpt: 100 }),
      supplier('own', own, 1, { 'dear/gpt': 1 }),
    )
    const { key } = await gateway.createKey({ name: 'k', allowed_models: ['dear/gpt'] })
    const init = { headers: { authorization: `Bearer ${key}` } }
    const response = await gateway.chat({ model: 'dear/gpt', messages: MESSAGES }, init)
    expect(response.headers.get('x-svc-supplier')).toBe('own')
    expect((await gateway.chat({ model: 'gpt', messages: MESSAGES }, init)).status).toBe(403)
    expect(dear.requests).toHaveLength(0)
  })
})

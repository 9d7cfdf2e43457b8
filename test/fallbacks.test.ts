// Models that stand in for others and other names for models: who answers, who may, what it costs and what is told.
import { afterEach, describe, expect, it } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { SUPPLIER_CANARY } from './fakes/canary.ts'
import { ROOT_KEY, startGateway, type Gateway } from './fakes/gateway.ts'
import { closeStreet, good, refuse, tidy } from './fakes/street.ts'
import { startFakeSupplier, type FakeSupplier, type Script } from './fakes/supplier.ts'

afterEach(closeStreet)

const MESSAGES = [{ role: 'user', content: 'Hello' }]
const down = refuse(503, { message: 'down' })

async function fake(script: Script): Promise<FakeSupplier> {
  return tidy(await startFakeSupplier(script))
}

/** By the id of a model what a million tokens of it cost. */
function supplier(
  id: string,
  at: FakeSupplier,
  models: Readonly<Record<string, number>>,
  region = 'EU',
): string {
  const lines = Object.entries(models).map(
    ([model, price]) => `      ${model}: { price: { input: ${price}, output: ${price} } }\n`,
  )
  return `  ${id}:
    kind: openai-compatible
    origin: ${at.origin}/v1
    region: ${region}
    allow_private: true
    credential: \${KEY}
    models:\n${lines.join('')}`
}

function configOf(suppliers: readonly string[], rest: string): string {
  return `suppliers:\n${suppliers.join('')}${rest}`
}

async function open(config: string): Promise<Gateway> {
  return tidy(await startGateway({ config, environment: { KEY: SUPPLIER_CANARY } }))
}

const modelsAsked = ({ requests }: FakeSupplier): readonly unknown[] =>
  requests.map(({ body }) => (JSON.parse(body.toString()) as { model: unknown }).model)

const STAND_IN = 'models:\n  large: { fallbacks: [small] }\n'

describe('a model that stands in', () => {
  it('answers where nobody who serves the asked one does, and the caller is told which it was', async () => {
    const [one, two] = [await fake(down), await fake(good)]
    const gateway = await open(
      configOf([supplier('one', one, { large: 2 }), supplier('two', two, { small: 1 })], STAND_IN),
    )
    const response = await gateway.chat({ model: 'large', messages: MESSAGES })
    expect(response.status).toBe(200)
    expect(response.headers.get('x-svc-model')).toBe('small')
    expect(response.headers.get('x-svc-supplier')).toBe('two')
    expect(response.headers.get('x-svc-failover')).toBe('true')
    expect([modelsAsked(one), modelsAsked(two)]).toEqual([['large'], ['small']])
    const id = response.headers.get('x-request-id')
    const call = (await (await gateway.manage('GET', `/calls/${id}`)).json()) as object
    expect(call).toMatchObject({ model: 'small', supplier: 'two', attempts: 2 })
  })

  it('also stands in at the very supplier whose other model is down', async () => {
    const only = await fake((request, reply, index) =>
      request.body.includes('"large"') ? down(request, reply, index) : good(request, reply, index),
    )
    const gateway = await open(configOf([supplier('only', only, { large: 2, small: 1 })], STAND_IN))
    const response = await gateway.chat({ model: 'large', messages: MESSAGES })
    expect([response.status, response.headers.get('x-svc-model')]).toEqual([200, 'small'])
  })

  it('is not named where the asked model answered', async () => {
    const only = await fake(good)
    const gateway = await open(configOf([supplier('only', only, { large: 2, small: 1 })], STAND_IN))
    const response = await gateway.chat({ model: 'large', messages: MESSAGES })
    expect(response.headers.has('x-svc-model')).toBe(false)
    expect(modelsAsked(only)).toEqual(['large'])
  })

  it('is told of in a stream, too', async () => {
    const [one, two] = [await fake(down), await fake(good)]
    const gateway = await open(
      configOf([supplier('one', one, { large: 2 }), supplier('two', two, { small: 1 })], STAND_IN),
    )
    const response = await gateway.chat({ model: 'large', messages: MESSAGES, stream: true })
    expect(response.headers.get('x-svc-model')).toBe('small')
    expect(await response.text()).toContain('[DONE]')
  })

  it('is nobody for a key that may not use it, nor outside of its region', async () => {
    const [one, two] = [await fake(down), await fake(good)]
    const gateway = await open(
      configOf(
        [supplier('one', one, { large: 2 }), supplier('two', two, { small: 1 }, 'US')],
        STAND_IN,
      ),
    )
    for (const limits of [{ allowed_models: ['large'] }, { allowed_regions: ['EU'] }]) {
      const { key } = await gateway.createKey({ name: 'k', ...limits })
      const headers = { authorization: `Bearer ${key}` }
      const response = await gateway.chat({ model: 'large', messages: MESSAGES }, { headers })
      expect(response.status).toBe(503)
      await response.body?.cancel()
    }
    expect(two.requests).toBeEmpty()
  })

  it('does not have others stand in for it in turn', async () => {
    const [one, two] = [await fake(down), await fake(good)]
    const gateway = await open(
      configOf(
        [supplier('one', one, { large: 2, small: 1 }), supplier('two', two, { tiny: 1 })],
        'models:\n  large: { fallbacks: [small] }\n  small: { fallbacks: [tiny] }\n',
      ),
    )
    const response = await gateway.chat({ model: 'large', messages: MESSAGES })
    expect(response.status).toBe(503)
    expect(two.requests).toBeEmpty()
  })

  it('is not asked for a model at one supplier alone', async () => {
    const [one, two] = [await fake(down), await fake(good)]
    const gateway = await open(
      configOf([supplier('one', one, { large: 2 }), supplier('two', two, { small: 1 })], STAND_IN),
    )
    const response = await gateway.chat({ model: 'one/large', messages: MESSAGES })
    expect(response.status).toBe(503)
    expect(two.requests).toBeEmpty()
  })

  it('is held for when it is the dearest, and charged what it costs', async () => {
    const [one, two] = [await fake(down), await fake(good)]
    const suppliers = [supplier('one', one, { large: 1 }), supplier('two', two, { small: 100 })]
    const gateway = await open(configOf(suppliers, STAND_IN))
    const alone = await open(configOf(suppliers, ''))
    const ask = { model: 'large', messages: MESSAGES, max_tokens: 1000 }
    const held = async (at: Gateway, model: string): Promise<number> => {
      const response = await at.chat({ ...ask, model })
      const id = response.headers.get('x-request-id')
      const call = await (await at.manage('GET', `/calls/${id}`)).json()
      return Number((call as { held_usd: unknown }).held_usd)
    }
    const dearest = await held(alone, 'small')
    expect(dearest).toBeGreaterThan(50 * (await held(alone, 'large')))
    expect(await held(gateway, 'large')).toBe(dearest)
    const costs = [gateway, alone].map((each) => each.audit().at(-1)?.cost ?? 0)
    expect(costs[0]).toBeGreaterThan(0)
    expect(alone.audit()[0]?.cost).toBe(costs[0])
  })

  it('reads what is too long for the asked one, which its supplier said', async () => {
    const error = {
      message: "This model's maximum context length is 8192 tokens.",
      type: 'invalid_request_error',
      code: 'context_length_exceeded',
    }
    const [one, two] = [await fake(refuse(400, error)), await fake(good)]
    const suppliers = [supplier('one', one, { large: 1 }), supplier('two', two, { small: 1 })]
    const windows = (large: number, small: number): string =>
      `models:\n  large: { fallbacks: [small], context_window: ${large} }\n  small: { context_window: ${small} }\n`
    const larger = await open(configOf(suppliers, windows(8192, 100_000)))
    const response = await larger.chat({ model: 'large', messages: MESSAGES })
    expect([response.status, response.headers.get('x-svc-model')]).toEqual([200, 'small'])
    const smaller = await open(configOf(suppliers, windows(8192, 4096)))
    const refused = await smaller.chat({ model: 'large', messages: MESSAGES })
    expect(refused.status).toBe(400)
    expect(await refused.text()).toContain('context_length_exceeded')
    expect(two.requests).toHaveLength(1)
  })

  it('answers what the asked model is known to be unable to', async () => {
    const [one, two] = [await fake(good), await fake(good)]
    const able = '  small: { capabilities: [tools] }\n'
    const gateway = await open(
      configOf(
        [supplier('one', one, { large: 1, lone: 1 }), supplier('two', two, { small: 1 })],
        `models:\n  large: { fallbacks: [small], capabilities: [] }\n  lone: { capabilities: [] }\n${able}`,
      ),
    )
    const tools = [{ type: 'function', function: { name: 'look' } }]
    const response = await gateway.chat({ model: 'large', messages: MESSAGES, tools })
    expect([response.status, response.headers.get('x-svc-model')]).toEqual([200, 'small'])
    const refused = await gateway.chat({ model: 'lone', messages: MESSAGES, tools })
    expect(refused.status).toBe(400)
    expect(await refused.json()).toMatchObject({ error: { code: 'model_does_not_support_tools' } })
    expect(one.requests).toBeEmpty()
  })
})

describe('another name for a model', () => {
  const NAMES = 'aliases:\n  quick: large\n  abroad: two/large\n'

  async function town(): Promise<{ gateway: Gateway; suppliers: readonly FakeSupplier[] }> {
    const suppliers = [await fake(good), await fake(good)]
    const gateway = await open(
      configOf(
        suppliers.map((each, index) =>
          supplier(['one', 'two'][index]!, each, { large: 1 }, ['EU', 'US'][index]),
        ),
        NAMES,
      ),
    )
    return { gateway, suppliers }
  }

  const idsOf = async ({ url }: Gateway, key: string): Promise<readonly string[]> => {
    const headers = { authorization: `Bearer ${key}` }
    const response = await fetch(`${url}/v1/models?limit=9`, { headers })
    return ((await response.json()) as { data: { id: string }[] }).data.map(({ id }) => id)
  }

  it('is answered by the model, whose own name the supplier is sent', async () => {
    const { gateway, suppliers } = await town()
    const quick = await gateway.chat({ model: 'quick', messages: MESSAGES })
    const abroad = await gateway.chat({ model: 'abroad', messages: MESSAGES })
    expect(quick.headers.get('x-svc-supplier')).toBe('one')
    expect(abroad.headers.get('x-svc-supplier')).toBe('two')
    expect(quick.headers.has('x-svc-model')).toBe(false)
    expect(suppliers.map(modelsAsked)).toEqual([['large'], ['large']])
  })

  it('is listed beside the model', async () => {
    const { gateway } = await town()
    expect(await idsOf(gateway, ROOT_KEY)).toEqual(['large', 'quick', 'abroad'])
  })

  it.each([
    [['quick'], [200, 403, 403]],
    [['large'], [200, 200, 200]],
    [['two/large'], [403, 200, 403]],
    [['abroad'], [403, 200, 403]],
  ])('is open to keys that list it or what it means: %j', async (allowed, statuses) => {
    const { gateway } = await town()
    const { key } = await gateway.createKey({ name: 'k', allowed_models: allowed })
    const headers = { authorization: `Bearer ${key}` }
    const ask = async (model: string): Promise<number> => {
      const response = await gateway.chat({ model, messages: MESSAGES }, { headers })
      await response.body?.cancel()
      return response.status
    }
    expect([await ask('quick'), await ask('abroad'), await ask('large')]).toEqual(statuses)
    const names = ['quick', 'abroad', 'large']
    const open = names.filter((_, index) => statuses[index] === 200)
    expect((await idsOf(gateway, key)).toSorted()).toEqual(open.toSorted())
  })

  it('is missed by a reload that would take it away, and not by one that gives it another meaning', async () => {
    const { gateway, suppliers } = await town()
    await gateway.createKey({ name: 'k', allowed_models: ['abroad'] })
    await gateway.chat({ model: 'quick', messages: MESSAGES })
    const reload = async (aliases: string): Promise<[number, string]> => {
      const lines = suppliers.map((each, index) =>
        supplier(['one', 'two'][index]!, each, { large: 1 }, ['EU', 'US'][index]),
      )
      writeFileSync(gateway.file, configOf(lines, aliases))
      const response = await gateway.manage('POST', '/reload')
      return [response.status, await response.text()]
    }
    const [status, text] = await reload('')
    expect(status).toBe(400)
    expect(text).toContain('The model quick is no longer served: it was called')
    expect(text).toContain('The model abroad is no longer served: it is on the list of')
    expect(text).not.toContain('The model large')
    const [moved] = await reload('aliases:\n  quick: two/large\n  abroad: large\n')
    expect(moved).toBe(200)
    const response = await gateway.chat({ model: 'quick', messages: MESSAGES })
    expect(response.headers.get('x-svc-supplier')).toBe('two')
  })
})

describe('a name that leads nowhere', () => {
  it('stops a start with its line and what may be meant', async () => {
    const one = await fake(good)
    const config = configOf(
      [supplier('one', one, { large: 1 })],
      'models:\n  large: { fallbacks: [larg] }\naliases:\n  quick: lagre\n',
    )
    const started = startGateway({ config, environment: { KEY: SUPPLIER_CANARY } })
    const told = await started.then(
      () => '',
      (thrown: unknown) => String(thrown),
    )
    expect(told).toContain('gateway.yaml:11:24  models.large.fallbacks[0]  is no model')
    expect(told).toContain('gateway.yaml:13:10  aliases.quick  leads to no model')
    expect(told.match(/did you mean large\?/g)).toHaveLength(2)
  })
})

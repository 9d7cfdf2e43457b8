// What is held covers whatever anybody on the list may be asked for, also where those on it differ in what they can
// put out, how they count and how much they can read.
import { afterEach, describe, expect, it } from 'bun:test'
import { toPicoUsd } from '../src/core/money.ts'
import type { ModelLimits } from '../src/core/load.ts'
import { SUPPLIER_CANARY } from './fakes/canary.ts'
import { createFakeClock, type FakeClock } from './fakes/clock.ts'
import { startGateway, supplierAt, type Gateway } from './fakes/gateway.ts'
import { closeStreet, createGate, good, refuse, sendEvents, tidy } from './fakes/street.ts'
import {
  chunk,
  completion,
  DONE,
  startFakeSupplier,
  type FakeSupplier,
  type Script,
} from './fakes/supplier.ts'

afterEach(closeStreet)

const MESSAGES = [{ role: 'user', content: 'Hello' }]
const down = refuse(503, { message: 'down' })

interface Sent {
  readonly max_tokens?: number
}

const sentTo = ({ requests }: FakeSupplier): readonly (number | undefined)[] =>
  requests.map(({ body }) => (JSON.parse(body.toString()) as Sent).max_tokens)

/** Puts out as much as it is allowed to, whatever its model is said to be able to. */
const greedy: Script = ({ body }, reply) => {
  const { max_tokens: most = 0 } = JSON.parse(body.toString()) as Sent
  reply.json(200, completion('Hi', usage(10, most)))
}

function usage(input: number, output: number): object {
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
}

/** Reads so many tokens, and says one word. */
function reads(tokens: number): Script {
  return (_, reply) => reply.json(200, completion('Hi', usage(tokens, 1)))
}

interface Party {
  readonly script: Script
  /** Dollars for a million tokens. */
  readonly price: number
  readonly limits?: ModelLimits
}

interface Scene {
  readonly gateway: Gateway
  readonly suppliers: readonly FakeSupplier[]
}

/** Each serves a model of its own; those behind the first stand in for it. */
async function openModels(parties: Readonly<Record<string, Party>>): Promise<Scene> {
  const ids = Object.keys(parties)
  const suppliers: FakeSupplier[] = []
  let services = ''
  let models = ''
  for (const [id, { script, price, limits = {} }] of Object.entries(parties)) {
    // oxlint-disable-next-line no-await-in-loop -- in the order of the list
    const each = tidy(await startFakeSupplier(script))
    suppliers.push(each)
    services += `  at-${suppliers.length}:
    kind: openai-compatible
    origin: ${each.origin}/v1
    allow_private: true
    credential: \${KEY}
    models: { ${id}: { price: { input: ${price}, output: ${price} } } }\n`
    const fields = {
      ...(limits.contextWindow !== undefined && { context_window: limits.contextWindow }),
      ...(limits.outputCeiling !== undefined && { output_ceiling: limits.outputCeiling }),
      ...(id === ids[0] && { fallbacks: ids.slice(1) }),
    }
    models += `  ${id}: ${JSON.stringify(fields)}\n`
  }
  const config = `suppliers:\n${services}models:\n${models}`
  const environment = { KEY: SUPPLIER_CANARY }
  return { gateway: tidy(await startGateway({ config, environment })), suppliers }
}

/** All of them serve one model. */
async function openSuppliers(parties: readonly Party[], clock?: FakeClock): Promise<Scene> {
  const suppliers = await Promise.all(
    parties.map(async ({ script }) => tidy(await startFakeSupplier(script))),
  )
  const described = parties.map(({ price, limits }, index) => {
    const rate = toPicoUsd(price * 1_000_000)
    const prices = [{ from: 0, price: { input: rate, output: rate } }] as const
    const route = { as: 'm', ownedBy: 'maker', prices, ...(limits !== undefined && { limits }) }
    return supplierAt(suppliers[index]!.origin, {
      id: `fake-${index + 1}`,
      models: new Map([['m', route]]),
    })
  })
  const options = { suppliers: described, ...(clock !== undefined && { clock }) }
  return { gateway: tidy(await startGateway(options)), suppliers }
}

interface Told {
  readonly status: number
  /** In place of the caller's. */
  readonly maximum: string | null
  readonly text: string
  readonly call: Readonly<Record<string, unknown>>
}

async function ask(gateway: Gateway, body: object, key?: string): Promise<Told> {
  const init = key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } }
  const response = await gateway.chat({ messages: MESSAGES, ...body }, init)
  const text = await response.text()
  const id = response.headers.get('x-request-id')
  const call = await (await gateway.manage('GET', `/calls/${id}`)).json()
  return {
    status: response.status,
    maximum: response.headers.get('x-svc-max-tokens'),
    text,
    call: call as Told['call'],
  }
}

async function keyWith(gateway: Gateway, budget: number): Promise<string> {
  return (await gateway.createKey({ name: 'k', budget_limit: budget })).key
}

const WINDOW = { contextWindow: 200_000 }

describe('a maximum that only some on the list can put out', () => {
  const dear = { price: 100, limits: { ...WINDOW, outputCeiling: 8000 } }
  const cheap = { script: good, price: 1, limits: { ...WINDOW, outputCeiling: 128_000 } }
  const BODY = { model: 'dear', max_tokens: 100_000 }

  it('is lowered for those who cannot, so that what is held covers them', async () => {
    const { gateway, suppliers } = await openModels({ dear: { ...dear, script: greedy }, cheap })
    const { maximum, call } = await ask(gateway, BODY)
    expect(sentTo(suppliers[0]!)).toEqual([8000])
    expect(maximum).toBe('8000')
    expect(call).toMatchObject({ overrun_usd: 0, max_tokens: 8000 })
    expect(call['held_usd']).toBeGreaterThanOrEqual(0.8)
  })

  it('is the caller’s own for those who can, and only then nothing is told', async () => {
    const { gateway, suppliers } = await openModels({ dear: { ...dear, script: down }, cheap })
    const { maximum, call } = await ask(gateway, BODY)
    expect(suppliers.map(sentTo)).toEqual([[8000], [100_000]])
    expect(maximum).toBeNull()
    expect(call).toMatchObject({ model: 'cheap', max_tokens: null })
  })

  it('is told as it was sent to whoever answers', async () => {
    const { gateway, suppliers } = await openModels({ dear: { ...dear, script: down }, cheap })
    const body = { ...BODY, max_tokens: 500_000 }
    const { maximum, call } = await ask(gateway, { ...body, stream: true })
    expect(suppliers.map(sentTo)).toEqual([[8000], [128_000]])
    expect(maximum).toBe('128000')
    expect(call['max_tokens']).toBe(128_000)
    const request = { ...body, messages: MESSAGES }
    const explained = await gateway.manage('POST', '/explain', { request })
    expect(await explained.json()).toMatchObject({ money: { max_tokens: 8000 } })
  })

  it('is lowered by what one supplier of the model can put out, too', async () => {
    const { gateway, suppliers } = await openSuppliers([
      { ...dear, script: greedy },
      // Nobody knows what the model puts out there.
      { ...cheap, limits: WINDOW },
    ])
    const { maximum, call } = await ask(gateway, { ...BODY, model: 'm' })
    expect(suppliers.map(sentTo)).toEqual([[8000], []])
    expect(maximum).toBe('8000')
    expect(call['overrun_usd']).toBe(0)
  })

  it('is lowered by a budget for those alone who could put out more', async () => {
    const limits = { ...WINDOW, outputCeiling: 2000 }
    const short = { script: down, price: 1, limits }
    const { gateway, suppliers } = await openModels({ short, cheap })
    const key = await keyWith(gateway, 0.04)
    const { maximum } = await ask(gateway, { model: 'short' }, key)
    const [first, second] = suppliers.map((each) => sentTo(each)[0])
    expect(first).toBeUndefined()
    expect(second).toBeGreaterThan(2000)
    expect(second).toBeLessThan(10_001)
    expect(maximum).toBe(String(second))
  })

  it('is nothing that is added for who sent none and needs none', async () => {
    const { gateway, suppliers } = await openModels({ dear: { ...dear, script: down }, cheap })
    const { maximum } = await ask(gateway, { model: 'dear' })
    expect(suppliers.map(sentTo)).toEqual([[undefined], [undefined]])
    expect(maximum).toBeNull()
  })

  it('is told at the end of a stream whose headers had to leave before anybody answered', async () => {
    const clock = createFakeClock()
    const gate = createGate()
    const late: Script = async (request, reply, index) => {
      await gate.opened
      await good(request, reply, index)
    }
    const parties = [
      { ...dear, script: late },
      { ...cheap, script: good },
    ]
    const { gateway, suppliers } = await openSuppliers(parties, clock)
    const answering = gateway.chat({ ...BODY, model: 'm', messages: MESSAGES, stream: true })
    await suppliers[0]!.request(0)
    clock.advance(15_000)
    const response = await answering
    expect(response.headers.has('x-svc-max-tokens')).toBe(false)
    gate.open()
    expect(await response.text()).toContain(': x-svc-max-tokens: 8000\n')
  })

  it('cuts off a stream at what its own supplier was sent', async () => {
    const words = Array.from({ length: 40 }, () => chunk({ content: 'ten bytes.' }))
    const endless: Script = (_, reply) => sendEvents(reply, [...words, chunk({}, 'stop'), DONE])
    const limits = { ...WINDOW, outputCeiling: 10 }
    const small = { ...dear, limits }
    const body = { model: 'small', max_tokens: 1000, stream: true }
    const first = await openModels({ small: { ...small, script: endless }, cheap })
    const cut = await ask(first.gateway, body)
    expect(cut.text.split('ten bytes.').length - 1).toBe(16)
    expect(cut.text).toContain('"length"')
    const second = await openModels({
      small: { ...small, script: down },
      cheap: { ...cheap, script: endless },
    })
    const whole = await ask(second.gateway, body)
    expect(whole.text.split('ten bytes.').length - 1).toBe(40)
  })
})

describe('a small window on the list', () => {
  it('shortens the answers of its own model alone', async () => {
    const large = { price: 1, limits: { contextWindow: 400_000, outputCeiling: 100_000 } }
    const small = { script: good, price: 1, limits: { contextWindow: 22_000 } }
    // Ten thousand tokens, as a guess.
    const messages = [{ role: 'user', content: 'word'.repeat(10_000) }]
    const sent = async (script: Script): Promise<readonly (number | undefined)[]> => {
      const { gateway, suppliers } = await openModels({ large: { ...large, script }, small })
      await ask(gateway, { model: 'large', messages }, await keyWith(gateway, 0.12))
      return suppliers.flatMap(sentTo)
    }
    const [first] = await sent(good)
    expect(first).toBeGreaterThan(15_000)
    const [, second] = await sent(down)
    expect(second).toBeGreaterThan(11_500)
    expect(second).toBeLessThan(12_000)
  })
})

describe('a text that not everybody on the list counts alike', () => {
  /** About 7,200 tokens of the first vocabulary, and three times as many bytes as characters. */
  const TEXT = '한국어 문장을 여러 번 반복합니다. '.repeat(800)
  const messages = [{ role: 'user', content: TEXT }]
  const KNOWN = 'gpt-5.5'
  const limits = { ...WINDOW, outputCeiling: 1000 }

  it('is held for as whoever stands in may count it', async () => {
    const { gateway, suppliers } = await openModels({
      [KNOWN]: { script: down, price: 1, limits },
      elsewhere: { script: reads(30_000), price: 10, limits },
    })
    const body = { model: KNOWN, max_tokens: 10, messages }
    const refused = await ask(gateway, body, await keyWith(gateway, 0.1))
    expect(refused.status).toBe(402)
    expect(suppliers.flatMap((each) => each.requests)).toBeEmpty()
    const served = await ask(gateway, body, await keyWith(gateway, 0.4))
    expect([served.status, served.call['model']]).toEqual([200, 'elsewhere'])
    expect(served.call).toMatchObject({ overrun_usd: 0, cost_usd: 0.30001 })
  })

  it('is held for by its own count where it was counted closely', async () => {
    const { gateway } = await openModels({
      [KNOWN]: { script: reads(7000), price: 10, limits },
      elsewhere: { script: good, price: 1, limits },
    })
    // Its bytes at the dear one would cost 0.38, and the count for the other one at most 0.04.
    const body = { model: KNOWN, max_tokens: 10, messages }
    const served = await ask(gateway, body, await keyWith(gateway, 0.2))
    expect(served.status).toBe(200)
    expect(served.call).toMatchObject({ model: KNOWN, overrun_usd: 0 })
    expect(served.call['held_usd']).toBeLessThan(0.2)
  })
})

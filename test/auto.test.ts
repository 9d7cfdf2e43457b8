// The model `auto` at the real gateway: where it may be asked for, what it chooses, what the answer and the record
// say of it, and that a session stays with what was chosen.
import { afterEach, describe, expect, it } from 'bun:test'
import { renameSync, writeFileSync } from 'node:fs'
import type { Capability } from '../src/catalog/model.ts'
import { toPicoUsd } from '../src/core/money.ts'
import type { ModelRoute } from '../src/suppliers/supplier.ts'
import { createFakeClock, type FakeClock } from './fakes/clock.ts'
import { ROOT_KEY, startGateway, supplierAt, type Gateway } from './fakes/gateway.ts'
import { goodMessages, HELLO_MESSAGES, messagesAt, postMessages } from './fakes/messages.ts'
import { closeStreet, good, tidy, until } from './fakes/street.ts'
import { startFakeSupplier, type FakeSupplier, type Script } from './fakes/supplier.ts'
import { openAccount, tenantAt, type Json } from './fakes/tenants.ts'

afterEach(closeStreet)

/** Dollars a million tokens, in and out. */
function model(as: string, dollars: number, capabilities: readonly Capability[]): ModelRoute {
  const rate = toPicoUsd(dollars * 1_000_000)
  const price = { input: rate, output: rate }
  return { as, prices: [{ from: 0, price }], ownedBy: 'maker', capabilities }
}

interface Town {
  readonly gateway: Gateway
  readonly clock: FakeClock
  /** Messages, in the EU: `small`, and `large`, which has tools and reads images. */
  readonly east: FakeSupplier
  /** Messages, in the US: `cheap`, which has tools. */
  readonly west: FakeSupplier
  readonly scripts: { east: Script; west: Script }
}

async function openTown(config = ''): Promise<Town> {
  const scripts: Town['scripts'] = { east: goodMessages, west: goodMessages }
  const clock = createFakeClock()
  const [east, west] = await Promise.all([
    startFakeSupplier((...asked) => scripts.east(...asked)),
    startFakeSupplier((...asked) => scripts.west(...asked)),
  ])
  for (const each of [east, west]) tidy(each)
  const gateway = await startGateway({
    clock,
    config,
    suppliers: [
      messagesAt(east.origin, {
        id: 'east',
        models: new Map([
          ['small', model('their-small', 2, [])],
          ['large', model('their-large', 9, ['tools', 'images', 'reasoning'])],
        ]),
      }),
      messagesAt(west.origin, {
        id: 'west',
        region: 'US',
        models: new Map([['cheap', model('their-cheap', 1, ['tools'])]]),
      }),
    ],
  })
  tidy(gateway)
  return { gateway, clock, east, west, scripts }
}

const HELLO_AUTO = { ...HELLO_MESSAGES, model: 'auto' }
const TOOLS = { tools: [{ name: 'look', input_schema: { type: 'object' } }] }
const IMAGE = {
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' },
}

type Headers = Readonly<Record<string, string>>

function asModel({ body }: { readonly body: Buffer }): unknown {
  return (JSON.parse(body.toString()) as { model: unknown }).model
}

/** Which supplier was asked for which of its models. */
async function ask(town: Town, body: object = {}, headers: Headers = {}): Promise<string> {
  const { gateway, east, west } = town
  const before = [east.requests.length, west.requests.length]
  const response = await postMessages(gateway, { ...HELLO_AUTO, ...body }, { headers })
  expect(response.status, await response.clone().text()).toBe(200)
  await response.text()
  const asked = [...east.requests.slice(before[0]), ...west.requests.slice(before[1])].at(-1)!
  const { headers: told } = response
  expect(String(asModel(asked))).toBe(`their-${told.get('x-svc-model')}`)
  return `${told.get('x-svc-supplier')} ${String(asModel(asked))}`
}

async function problemOf(response: Response): Promise<Json> {
  const { error } = (await response.json()) as { error: Json }
  return { status: response.status, ...error }
}

/** Its record, once there is one. */
async function recordOf(gateway: Gateway, { headers }: Response): Promise<Json> {
  const id = headers.get('x-request-id')
  await until(() => gateway.audit().some((line) => line.request_id === id))
  return tenantAt(gateway.url).get(`/calls/${id}`)
}

describe('auto', () => {
  it('is answered by the cheapest model that can do what the call needs', async () => {
    const town = await openTown()
    expect(await ask(town)).toBe('west their-cheap')
    expect(await ask(town, TOOLS)).toBe('west their-cheap')
    const messages = [{ role: 'user', content: [IMAGE] }]
    expect(await ask(town, { messages })).toBe('east their-large')
    const thinking = { type: 'enabled', budget_tokens: 1024 }
    expect(await ask(town, { thinking, max_tokens: 2048 })).toBe('east their-large')
  })

  it('streams as any other model does', async () => {
    const town = await openTown()
    expect(await ask(town, { stream: true })).toBe('west their-cheap')
  })

  it('stays inside of the regions of call and key', async () => {
    const town = await openTown()
    expect(await ask(town, { region: 'EU' })).toBe('east their-small')
    const { key } = await town.gateway.createKey({ name: 'eu', allowed_regions: ['EU'] })
    expect(await ask(town, {}, { 'x-api-key': key })).toBe('east their-small')
  })

  it('chooses among the models of the key', async () => {
    const town = await openTown()
    const { key } = await town.gateway.createKey({
      name: 'one',
      allowed_models: ['large', 'small'],
    })
    expect(await ask(town, {}, { 'x-api-key': key })).toBe('east their-small')
    expect(await ask(town, TOOLS, { 'x-api-key': key })).toBe('east their-large')
  })

  it('is refused where no model fits, with the reason and without a supplier being asked', async () => {
    const town = await openTown()
    const { key } = await town.gateway.createKey({ name: 'one', allowed_models: ['small'] })
    const response = await postMessages(
      town.gateway,
      { ...HELLO_AUTO, ...TOOLS },
      { headers: { 'x-api-key': key } },
    )
    const problem = await problemOf(response)
    expect(problem).toMatchObject({
      status: 400,
      code: 'autorouter_no_candidate',
      param: 'model',
      ruled_out: { tools: 1 },
    })
    expect(problem['human_message']).toContain('tools rule out small.')
    expect([...town.east.requests, ...town.west.requests]).toHaveLength(0)
    expect(await recordOf(town.gateway, response)).toMatchObject({
      model: 'auto',
      status: 400,
      code: 'autorouter_no_candidate',
    })
  })

  it('is not offered at the other endpoint unless the operator says so', async () => {
    const { gateway } = await openTown()
    const chat = { model: 'auto', messages: HELLO_MESSAGES.messages }
    const problem = await problemOf(await gateway.chat(chat))
    expect(problem).toMatchObject({ status: 400, code: 'unsupported_auto_mode', param: 'model' })
    expect(problem['human_message']).toContain('POST /v1/messages')
  })

  it('is nothing but a name where it is switched off', async () => {
    const { gateway } = await openTown('auto: { endpoints: [] }\n')
    const problem = await problemOf(await postMessages(gateway, HELLO_AUTO))
    expect(problem).toMatchObject({ status: 400, code: 'unsupported_auto_mode' })
  })

  it('is what the operator calls so, where something is', async () => {
    const { gateway, east } = await openTown('aliases: { auto: large }\n')
    const response = await gateway.chat({ model: 'auto', messages: HELLO_MESSAGES.messages })
    expect(response.status, await response.text()).toBe(200)
    expect(response.headers.has('x-svc-model')).toBe(false)
    expect(east.requests.map(asModel)).toEqual(['their-large'])
  })

  it('at a supplier is a model of that supplier, which is none', async () => {
    const { gateway } = await openTown()
    const response = await postMessages(gateway, { ...HELLO_AUTO, model: 'east/auto' })
    expect(await problemOf(response)).toMatchObject({ status: 404, code: 'model_not_found' })
  })

  it('follows the policy and the list of the operator, also when these change', async () => {
    const town = await openTown('auto: { policy: best }\n')
    const { gateway } = town
    expect(await ask(town)).toBe('east their-large')
    const reload = async (text: string): Promise<Json> => {
      writeFileSync(`${gateway.file}.new`, text, { mode: 0o600 })
      renameSync(`${gateway.file}.new`, gateway.file)
      const response = await gateway.manage('POST', '/reload')
      expect(response.status).toBe(200)
      return (await response.json()) as Json
    }
    const told = await reload('auto: { policy: best, models: [small, large, cheap] }\n')
    expect(JSON.stringify(told)).toContain('"auto"')
    expect(await ask(town)).toBe('east their-small')
    await reload('auto: { policy: best, price_max: { input: 1.5 } }\n')
    expect(await ask(town)).toBe('west their-cheap')
  })

  it('refuses to start with a model to choose from that nobody serves', async () => {
    const thrown = await openTown('auto: { models: [smal] }\n').catch((fault: unknown) => fault)
    expect(String(thrown)).toContain('is no model that is served (did you mean small?)')
  })
})

describe('the record', () => {
  it('tells the model that was chosen, and that it was left to the gateway', async () => {
    const { gateway } = await openTown()
    const response = await postMessages(gateway, HELLO_AUTO)
    await response.text()
    expect(await recordOf(gateway, response)).toMatchObject({
      model: 'cheap',
      asked: 'auto',
      supplier: 'west',
      status: 200,
    })
  })

  it('tells the same of a call that was refused once a model was chosen', async () => {
    const { gateway } = await openTown()
    const { key } = await gateway.createKey({ name: 'poor', budget_limit: 0.000001, fit: 'off' })
    const response = await postMessages(gateway, HELLO_AUTO, { headers: { 'x-api-key': key } })
    expect(response.status).toBe(402)
    await response.text()
    expect(await recordOf(gateway, response)).toMatchObject({
      model: 'cheap',
      asked: 'auto',
      status: 402,
      route: { listed: ['west'] },
    })
  })

  it('tells why nobody could be asked for the model that was chosen', async () => {
    const town = await openTown()
    const error = { type: 'error', error: { type: 'rate_limit_error', message: 'slow down' } }
    town.scripts.east = (_, reply) => reply.json(429, error, { 'retry-after': '30' })
    town.scripts.west = town.scripts.east
    let response: Response | undefined
    // The cheapest, then each that is left while the others pause, then nobody.
    for (let turn = 0; turn < 4; turn++) {
      response = await postMessages(town.gateway, HELLO_AUTO)
      expect(response.status).toBe(429)
      await response.text()
    }
    expect(town.west.requests.map(asModel)).toEqual(['their-cheap'])
    expect(town.east.requests.map(asModel)).toEqual(['their-small', 'their-large'])
    const record = await recordOf(town.gateway, response!)
    expect(record).toMatchObject({ model: 'cheap', asked: 'auto', status: 429 })
    expect(record['explanation']).toContain('west')
  })
})

describe('a session', () => {
  const SESSION = { 'x-session-id': 's' }

  it('stays with the model that was chosen for its first call', async () => {
    const town = await openTown()
    expect(await ask(town, { ...TOOLS, region: 'EU' }, SESSION)).toBe('east their-large')
    for (let turn = 0; turn < 3; turn++)
      expect(await ask(town, {}, SESSION)).toBe('east their-large')
    expect(await ask(town, {}, { 'x-session-id': 'other' })).toBe('west their-cheap')
    expect(await ask(town)).toBe('west their-cheap')
  })

  it('that names itself nowhere is known by how the conversation begins', async () => {
    const town = await openTown()
    const messages = [
      { role: 'user', content: 'Look at this' },
      { role: 'assistant', content: 'Yes?' },
      { role: 'user', content: [IMAGE] },
    ]
    expect(await ask(town, { messages: messages.slice(0, 1) })).toBe('west their-cheap')
    expect(await ask(town, { messages })).toBe('east their-large')
    const later = [
      ...messages,
      { role: 'assistant', content: 'A dot.' },
      { role: 'user', content: 'Sure?' },
    ]
    expect(await ask(town, { messages: later })).toBe('east their-large')
    // Without the image it stays all the same.
    expect(
      await ask(town, { messages: later.toSpliced(2, 1, { role: 'user', content: 'This' }) }),
    ).toBe('east their-large')
  })

  it('moves when its model cannot do what is needed, and stays there from then on', async () => {
    const town = await openTown()
    expect(await ask(town, {}, SESSION)).toBe('west their-cheap')
    const messages = [{ role: 'user', content: [IMAGE] }]
    expect(await ask(town, { messages }, SESSION)).toBe('east their-large')
    expect(await ask(town, {}, SESSION)).toBe('east their-large')
  })

  it('is forgotten after it was idle for long', async () => {
    const town = await openTown('routing: { session_idle: 60 }\n')
    expect(await ask(town, { region: 'EU' }, SESSION)).toBe('east their-small')
    town.clock.advance(59_000)
    expect(await ask(town, {}, SESSION)).toBe('east their-small')
    town.clock.advance(60_000)
    expect(await ask(town, {}, SESSION)).toBe('west their-cheap')
  })

  it('of one account is none of another', async () => {
    const town = await openTown()
    expect(await ask(town, { region: 'EU' }, SESSION)).toBe('east their-small')
    const { secret } = await openAccount(town.gateway.url)
    expect(await ask(town, {}, { ...SESSION, 'x-api-key': secret })).toBe('west their-cheap')
  })

  it('is not touched by a question what would become of a call', async () => {
    const town = await openTown()
    const explain = async (region?: string): Promise<Json> => {
      const request = { ...HELLO_AUTO, ...(region !== undefined && { region }) }
      const question = { endpoint: '/v1/messages', request, session_id: 's' }
      const response = await town.gateway.manage('POST', '/explain', question)
      expect(response.status, await response.clone().text()).toBe(200)
      return (await response.json()) as Json
    }
    expect((await explain('EU'))['model']).toMatchObject({ asked: 'auto', resolved: 'small' })
    expect(await ask(town, {}, SESSION)).toBe('west their-cheap')
  })
})

describe('a model that is down', () => {
  it('is passed over as soon as that is known, and the session with it', async () => {
    const town = await openTown()
    const headers = { 'x-session-id': 's' }
    expect(await ask(town, {}, headers)).toBe('west their-cheap')
    town.scripts.west = (_, reply) =>
      reply.json(401, { type: 'error', error: { type: 'authentication_error', message: 'no' } })
    const response = await postMessages(town.gateway, HELLO_AUTO, { headers })
    expect(response.status).not.toBe(200)
    await response.text()
    expect(await ask(town, {}, headers)).toBe('east their-small')
    expect(await ask(town)).toBe('east their-small')
  })
})

describe('out of the box', () => {
  it('is answered by a demo model that does nothing odd, which thinks where that is asked for', async () => {
    const gateway = tidy(await startGateway())
    const send = async (body: object): Promise<string> => {
      const response = await postMessages(gateway, { ...HELLO_AUTO, ...body })
      expect(response.status, await response.clone().text()).toBe(200)
      await response.text()
      return String((await recordOf(gateway, response))['model'])
    }
    expect(await send({})).toBe('demo/messages')
    const thinking = { type: 'enabled', budget_tokens: 1024 }
    expect(await send({ thinking, max_tokens: 2048 })).toBe('demo/messages-reason')
    const odd = ['demo/messages-failover', 'demo/messages-cut-stream', 'demo/slow', 'demo/maximal']
    const { key } = await gateway.createKey({ name: 'odd', allowed_models: odd })
    const response = await postMessages(gateway, HELLO_AUTO, { headers: { 'x-api-key': key } })
    expect(await problemOf(response)).toMatchObject({ code: 'autorouter_no_candidate' })
  })
})

describe('where both endpoints offer it', () => {
  async function openBoth(): Promise<{ readonly gateway: Gateway; readonly chat: FakeSupplier }> {
    const chat = tidy(await startFakeSupplier(good))
    const models = new Map([['talker', model('their-talker', 1, ['tools'])]])
    const gateway = tidy(
      await startGateway({
        config: 'auto: { endpoints: [messages, chat] }\n',
        suppliers: [supplierAt(chat.origin, { models })],
      }),
    )
    return { gateway, chat }
  }

  it('is answered for either, whatever the language of the model', async () => {
    const { gateway, chat } = await openBoth()
    const first = await gateway.chat({ model: 'auto', messages: HELLO_MESSAGES.messages })
    expect(first.status, await first.clone().text()).toBe(200)
    await first.text()
    const second = await postMessages(gateway, HELLO_AUTO)
    expect(second.status, await second.clone().text()).toBe(200)
    expect(await second.json()).toMatchObject({ type: 'message', role: 'assistant' })
    expect(chat.requests.map(asModel)).toEqual(['their-talker', 'their-talker'])
  })

  it('is listed behind the models, and only there', async () => {
    const { gateway } = await openBoth()
    const list = async (url: string, secret = ROOT_KEY): Promise<readonly string[]> => {
      const headers = { authorization: `Bearer ${secret}` }
      const response = await fetch(`${url}/v1/models`, { headers })
      return ((await response.json()) as { id: string }[]).map(({ id }) => id)
    }
    expect(await list(gateway.url)).toEqual(['talker', 'auto'])
    const { key } = await gateway.createKey({ name: 'none', allowed_regions: ['US'] })
    expect(await list(gateway.url, key)).toEqual([])
    const one = await fetch(`${gateway.url}/v1/models/auto`, {
      headers: { authorization: `Bearer ${ROOT_KEY}` },
    })
    expect(one.status).toBe(200)
    await one.text()
    const town = await openTown()
    expect(await list(town.gateway.url)).toEqual(['small', 'large', 'cheap'])
  })
})

// One call by its request id, whoever asks about it and whenever: under way, answered by the third supplier, or
// refused before anything was sent.
import { Database } from 'bun:sqlite'
import { afterEach, describe, expect, it } from 'bun:test'
import { join } from 'node:path'
import { HELLO, ROOT_KEY, type Gateway } from './fakes/gateway.ts'
import { dataOf } from './fakes/records.ts'
import { closeStreet, createGate, good, openStreet, refuse, until } from './fakes/street.ts'
import { completion, type Script } from './fakes/supplier.ts'
import { openWorkshop, PATHS } from './fakes/tasks.ts'
import { tell } from './fakes/terminal.ts'

afterEach(closeStreet)

type Json = Readonly<Record<string, unknown>>

interface Reply {
  readonly status: number
  readonly body: Json
}

async function ask(gateway: Gateway, path: string, body?: unknown): Promise<Reply> {
  const response = await gateway.manage(body === undefined ? 'GET' : 'POST', path, body)
  return { status: response.status, body: (await response.json()) as Json }
}

function expectConflict({ status, body }: Reply): void {
  expect([status, (body['error'] as Json)['code']]).toEqual([409, 'conflict'])
}

describe('a call under way', () => {
  /** Answers when it is told to. */
  function createLate(): { readonly script: Script; readonly open: () => void } {
    const gate = createGate()
    return {
      open: gate.open,
      async script(_, reply) {
        await gate.opened
        reply.json(200, completion('Hi'))
      },
    }
  }

  it('is found by its id, with what is held for it and at which prices', async () => {
    const late = createLate()
    const { gateway, suppliers } = await openStreet([late.script])
    const { id, key } = await gateway.createKey({ name: 'a', budget_limit: 1 })
    const calling = gateway.chat(
      { ...HELLO, max_tokens: 100 },
      { headers: { authorization: `Bearer ${key}` } },
    )
    await suppliers[0]!.request(0)
    const database = new Database(join(dataOf(gateway), 'gateway.db'), { readonly: true })
    const request = database
      .query<{ id: string }, []>('SELECT request_id AS id FROM holds')
      .get()!.id
    database.close()
    const { body } = await ask(gateway, `/calls/${request}`)
    expect(body).toMatchObject({
      request_id: request,
      key_id: id,
      state: 'held',
      settling: false,
      since: '2026-01-15T12:00:00.000Z',
      budget_limit: 1,
      max_tokens: 100,
      delivered_tokens: 0,
      terms: [{ supplier: 'fake', region: 'EU', price: { input: 0.15, output: 0.6 } }],
      review: null,
    })
    expect((await ask(gateway, `/keys/${id}`)).body['budget_held']).toBe(body['held_usd'])
    expectConflict(await ask(gateway, `/reviews/${request}`))
    const decision = { action: 'void', reason: 'x' }
    expectConflict(await ask(gateway, `/reviews/${request}`, decision))
    late.open()
    const answer = await calling
    await answer.text()
    const ended = (await ask(gateway, `/calls/${request}`)).body
    expect(ended).toMatchObject({
      state: 'settled',
      held_usd: body['held_usd'],
      settlement: { evidence: 'reported', estimated: false, hour: '2026-01-15T12:00:00.000Z' },
      tries: [
        {
          supplier: 'fake',
          region: 'EU',
          evidence: 'reported',
          status: null,
          code: null,
          suspense_usd: null,
        },
      ],
      max_tokens: null,
      usage: {
        cached_tokens: 0,
        cache_write_tokens: 0,
        cache_write_long_tokens: 0,
        reasoning_tokens: 0,
      },
      resolved: null,
    })
    expect((await ask(gateway, `/keys/${id}`)).body['budget_held']).toBe(0)
  })
})

describe('a call that has ended', () => {
  it('tells of every supplier that was asked, and of what may yet be billed', async () => {
    const { gateway } = await openStreet([
      (_, reply) => reply.reset(),
      refuse(500, { message: 'down' }),
      good,
    ])
    const answer = await gateway.chat({ ...HELLO, max_tokens: 10 })
    await answer.text()
    const { body } = await ask(gateway, `/calls/${answer.headers.get('x-request-id')}`)
    const tries = body['tries'] as readonly Json[]
    expect(tries).toMatchObject([
      { supplier: 'fake', region: 'EU', evidence: 'unknown' },
      { supplier: 'fake-2', region: 'US', evidence: 'refused', status: 500, suspense_usd: null },
      { supplier: 'fake-3', region: 'US', evidence: 'reported', code: null, suspense_usd: null },
    ])
    expect(Number(tries[0]!['suspense_usd'])).toBeGreaterThan(0)
    expect(body).toMatchObject({ state: 'settled', supplier: 'fake-3', attempts: 3 })
  })

  it('tells what was counted in something else than tokens, also at the terminal', async () => {
    const { gateway } = await openWorkshop()
    const spoken = await fetch(`${gateway.url}${PATHS.speak}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ROOT_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'test-speak', input: 'Hello there.' }),
    })
    await spoken.arrayBuffer()
    const id = spoken.headers.get('x-request-id') ?? ''
    const { body } = await ask(gateway, `/calls/${id}`)
    expect(body).toMatchObject({ cost_usd: 0.00018, usage: { units: { characters: 12 } } })
    const environment = { GATEWAY_KEY: ROOT_KEY, GATEWAY_URL: gateway.url }
    const { out } = await tell(['calls', 'show', id], { environment })
    expect(out).toMatch(/Units +characters 12\n/)
    const chat = await gateway.chat({ ...HELLO, max_tokens: 10 })
    const other = await ask(gateway, `/calls/${chat.headers.get('x-request-id')}`)
    expect(other.body).toMatchObject({ usage: { reasoning_tokens: 0, units: null } })
  })

  it('tells of a refusal that nothing was held or sent', async () => {
    const { gateway } = await openStreet([good])
    const { key } = await gateway.createKey({ name: 'a', budget_limit: 0 })
    const answer = await gateway.chat(HELLO, { headers: { authorization: `Bearer ${key}` } })
    await answer.text()
    expect(answer.status).toBe(402)
    await until(() => gateway.audit().length > 0)
    const { body } = await ask(gateway, `/calls/${answer.headers.get('x-request-id')}`)
    expect(body).toMatchObject({
      status: 402,
      code: 'budget_exceeded',
      model: 'test-model',
      supplier: null,
      state: 'refused',
      evidence: null,
      estimated: false,
      held_usd: null,
      cost_usd: 0,
      count: 1,
      settlement: { state: 'refused', hour: null, held_ms: null },
      tries: [],
      usage: { cached_tokens: null },
    })
  })
})

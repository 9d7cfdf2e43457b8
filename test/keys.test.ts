// A key as its owner reads it: whatever is shown of its budget is what calls are held to, so a read before a
// call tells what the call will meet.
import { afterEach, describe, expect, it } from 'bun:test'
import { toPicoUsd } from '../src/core/money.ts'
import { createFakeClock } from './fakes/clock.ts'
import { ROOT_KEY, HELLO, startGateway, supplierAt, type Gateway } from './fakes/gateway.ts'
import { pricedAt, readKey, toUsd, TOKEN_COST } from './fakes/prices.ts'
import { closeStreet, createGate, good, openStreet, tidy, until } from './fakes/street.ts'
import { completion, startFakeSupplier } from './fakes/supplier.ts'

afterEach(closeStreet)

type Json = Readonly<Record<string, unknown>>

async function read(gateway: Gateway, id: string): Promise<Json> {
  return (await (await gateway.manage('GET', `/keys/${id}`)).json()) as Json
}

async function patch(gateway: Gateway, id: string, body: object): Promise<Json> {
  return (await (await gateway.manage('PATCH', `/keys/${id}`, body)).json()) as Json
}

/** The status of a new key. */
async function statusOf(gateway: Gateway, settings: object): Promise<unknown> {
  const { id } = await gateway.createKey({ name: 'a', ...settings })
  return (await read(gateway, id))['status']
}

function ask(gateway: Gateway, key: string, maxTokens: number): Promise<Response> {
  const init = { headers: { authorization: `Bearer ${key}` } }
  return gateway.chat({ ...HELLO, max_tokens: maxTokens }, init)
}

describe('a budget is exhausted', () => {
  // One message is held at 17 tokens: those and one of output, at the prices of the demo.
  const [cheap, dear] = [17 * 150 + 600, 17 * 1100 + 4400]

  it('when what is left pays for no call of any model that the key may use', async () => {
    const gateway = tidy(await startGateway())
    const status = (nano: number, more: object = {}): Promise<unknown> =>
      statusOf(gateway, { budget_limit: toUsd(nano), ...more })
    const chats = { allowed_models: ['demo/chat', 'demo/reason'] }
    expect(await status(cheap, chats)).toBe('active')
    expect(await status(cheap - 1, chats)).toBe('budget_exhausted')
    // Other models have cheaper calls, by whatever they are counted.
    expect(await status(1)).toBe('budget_exhausted')
    expect(await status(cheap - 1)).toBe('active')
    const only = { allowed_models: ['demo/reason'] }
    expect(await status(dear, only)).toBe('active')
    expect(await status(dear - 1, only)).toBe('budget_exhausted')
    const pinned = { allowed_models: ['demo-backup/demo/reason'] }
    expect(await status(dear - 1, pinned)).toBe('budget_exhausted')
    expect(await status(cheap, { allowed_models: ['demo/reason', 'demo/chat'] })).toBe('active')
  })

  it('where there is nothing to call, only when nothing is left', async () => {
    const gateway = tidy(await startGateway())
    for (const nowhere of [{ allowed_models: ['nope'] }, { allowed_regions: 'MARS' }]) {
      // oxlint-disable-next-line no-await-in-loop -- two ways to the same end
      expect(await statusOf(gateway, { budget_limit: 1e-9, ...nowhere })).toBe('active')
      // oxlint-disable-next-line no-await-in-loop -- two ways to the same end
      expect(await statusOf(gateway, { budget_limit: 0, ...nowhere })).toBe('budget_exhausted')
    }
  })

  it('never by a model that is free, which then answers', async () => {
    const supplier = tidy(await startFakeSupplier(good))
    const suppliers = [pricedAt(supplier.origin, { input: 0, output: 0 })]
    const gateway = tidy(await startGateway({ suppliers }))
    const { id, key } = await gateway.createKey({ name: 'a', budget_limit: 0 })
    expect((await read(gateway, id))['status']).toBe('active')
    expect((await ask(gateway, key, 10)).status).toBe(200)
  })

  it('by the suppliers of its regions alone', async () => {
    const { origin } = tidy(await startFakeSupplier(good))
    const suppliers = [
      pricedAt(origin, { input: 0, output: 600_000 }, { id: 'dear', region: 'EU' }),
      pricedAt(origin, { input: 0, output: 1000 }, { id: 'cheap', region: 'US' }),
    ]
    const gateway = tidy(await startGateway({ suppliers }))
    const limit = { budget_limit: toUsd(TOKEN_COST - 1) }
    expect(await statusOf(gateway, limit)).toBe('active')
    expect(await statusOf(gateway, { ...limit, allowed_regions: 'EU' })).toBe('budget_exhausted')
  })
})

describe('what is shown of a budget', () => {
  it('is what is held and spent at this moment, and adds up', async () => {
    const gate = createGate()
    const supplier = tidy(
      await startFakeSupplier(async (_, reply) => {
        await gate.opened
        reply.json(200, completion('Hi', { prompt_tokens: 5, completion_tokens: 40 }))
      }),
    )
    const gateway = tidy(await startGateway({ suppliers: [pricedAt(supplier.origin)] }))
    const limit = 100 * TOKEN_COST
    const { id, key } = await gateway.createKey({ name: 'a', budget_limit: toUsd(limit) })
    const calling = ask(gateway, key, 100)
    await supplier.request(0)
    expect(await readKey(gateway, id)).toMatchObject({ limit, used: 0, held: limit })
    expect(await read(gateway, id)).toMatchObject({
      status: 'active',
      budget_remaining: toUsd(limit),
    })
    gate.open()
    await (await calling).text()
    const used = 40 * TOKEN_COST
    expect(await readKey(gateway, id)).toMatchObject({ limit, used, held: 0 })
    const lowered = await patch(gateway, id, { budget_limit: toUsd(used - 1) })
    expect(lowered).toMatchObject({ status: 'budget_exhausted', budget_remaining: -1e-9 })
    expect((await ask(gateway, key, 1)).status).toBe(402)
    const freed = await patch(gateway, id, { budget_limit: null })
    expect(freed).toMatchObject({
      status: 'active',
      budget_limit: null,
      budget_used: toUsd(used),
      budget_remaining: null,
      budget_held: null,
      budget_in_review: null,
      budget_period: null,
      resets_at: null,
    })
  })

  it('obeys a change from the moment it is answered', async () => {
    const { gateway, suppliers } = await openStreet([good])
    const { id, key } = await gateway.createKey({ name: 'a', budget_limit: 1 })
    expect((await ask(gateway, key, 10)).status).toBe(200)
    await patch(gateway, id, { budget_limit: 0 })
    expect((await ask(gateway, key, 10)).status).toBe(402)
    await patch(gateway, id, { budget_limit: 1 })
    expect((await ask(gateway, key, 10)).status).toBe(200)
    expect(suppliers[0]!.requests).toHaveLength(2)
  })
})

describe('the key of the guide to budgets', () => {
  const BODY_BYTES = 400
  const LIMIT = 0.0095
  /** Half a dollar for a million input tokens, two for a million of output. */
  const price = { input: toPicoUsd(500_000), output: toPicoUsd(2_000_000) }
  const route = {
    as: 'upstream-model',
    prices: [{ from: 0, price }],
    ownedBy: 'maker',
    limits: { tokenizer: 'o200k' },
  } as const
  const models = new Map([['test-model', route]])

  function bodyOf(maxTokens: number): string {
    const print = (content: string): string =>
      JSON.stringify({
        model: 'test-model',
        messages: [{ role: 'user', content }],
        max_tokens: maxTokens,
      })
    const words = 'word '.repeat(62)
    return print(words + 'x'.repeat(BODY_BYTES - print(words).length))
  }

  it('spends what the guide says and never a nano-dollar more', async () => {
    const gates = Array.from({ length: 7 }, createGate)
    const outputs = [600, 600, 600, 600, 600, 975, 475]
    const supplier = tidy(
      await startFakeSupplier(async (_, reply, index) => {
        await gates[index]!.opened
        const usage = { prompt_tokens: 100, completion_tokens: outputs[index] }
        reply.json(200, completion('Hi', usage))
      }),
    )
    const clock = createFakeClock()
    const gateway = tidy(
      await startGateway({ clock, suppliers: [supplierAt(supplier.origin, { models })] }),
    )
    const { id, key } = await gateway.createKey({ name: 'a', budget_limit: LIMIT })
    const call = (maxTokens = 1000): Promise<Response> =>
      gateway.chat(bodyOf(maxTokens), { headers: { authorization: `Bearer ${key}` } })
    const expectBudget = async (used: number, held: number): Promise<void> => {
      const shown = { budget_used: used, budget_held: held }
      expect(await read(gateway, id)).toMatchObject(shown)
      expect(used + held).toBeLessThanOrEqual(LIMIT)
    }
    const finish = async (index: number, calling: Promise<Response>): Promise<void> => {
      gates[index]!.open()
      const answer = await calling
      expect(answer.status).toBe(200)
      await answer.text()
    }

    // One after the other, since each gate stands for a place in the order of arrival.
    const calls: Promise<Response>[] = []
    for (let index = 0; index < 4; index++) {
      calls.push(call())
      // oxlint-disable-next-line no-await-in-loop -- see above
      await supplier.request(index)
    }
    const [first, second, third, fourth] = calls as [
      Promise<Response>,
      Promise<Response>,
      Promise<Response>,
      Promise<Response>,
    ]
    await expectBudget(0, 0.008832)
    const before = clock.listeners()
    const fifth = call()
    await until(() => clock.listeners() > before)
    await finish(0, first)
    await expectBudget(0.00125, 0.006624)
    expect(supplier.requests).toHaveLength(4)
    await finish(1, second)
    await supplier.request(4)
    await expectBudget(0.0025, 0.006468)
    await Promise.all([finish(2, third), finish(3, fourth), finish(4, fifth)])
    await expectBudget(0.00625, 0)
    await finish(5, call())
    await expectBudget(0.00825, 0)
    const refused = await call()
    expect(refused.status).toBe(402)
    expect(await refused.json()).toMatchObject({
      error: {
        code: 'budget_exceeded',
        limit_usd: LIMIT,
        used_usd: 0.00825,
        held_usd: 0,
        estimate_usd: 0.002208,
        resets_at: '2026-02-01T00:00:00.000Z',
      },
    })
    await finish(6, call(500))
    await expectBudget(0.00925, 0)
    expect((await call(500)).status).toBe(402)
    expect(supplier.requests).toHaveLength(7)
  })
})

describe('fit', () => {
  it('is on until it is switched off, and null switches it on again', async () => {
    const gateway = tidy(await startGateway())
    const { id } = await gateway.createKey({ name: 'a', fit: 'off' })
    expect((await read(gateway, id))['fit']).toBe('off')
    expect((await patch(gateway, id, { fit: true }))['fit']).toBe('on')
    expect((await patch(gateway, id, { fit: false }))['fit']).toBe('off')
    expect((await patch(gateway, id, { fit: null }))['fit']).toBe('on')
    expect(await read(gateway, (await gateway.createKey({ name: 'b' })).id)).toMatchObject({
      fit: 'on',
    })
  })

  it('decides whether a call that the budget cannot pay whole is shortened or refused', async () => {
    const supplier = tidy(await startFakeSupplier(good))
    const gateway = tidy(await startGateway({ suppliers: [pricedAt(supplier.origin)] }))
    const limit = toUsd(8000 * TOKEN_COST)
    const { id, key } = await gateway.createKey({ name: 'a', budget_limit: limit })
    const shortened = await ask(gateway, key, 10_000)
    expect(shortened.status).toBe(200)
    const sent = Number(shortened.headers.get('x-svc-max-tokens'))
    expect(sent).toBeGreaterThanOrEqual(1024)
    expect(sent).toBeLessThan(8000)
    expect(supplier.requests[0]!.body.toString()).toContain(`"max_tokens":${sent}`)
    await patch(gateway, id, { fit: 'off' })
    const refused = await ask(gateway, key, 10_000)
    expect(refused.status).toBe(402)
    expect(supplier.requests).toHaveLength(1)
  })
})

describe('the management of the books', () => {
  const places = [
    ['GET', '/calls/req_x'],
    ['GET', '/reviews'],
    ['GET', '/reviews/req_x'],
    ['POST', '/reviews/req_x'],
  ] as const

  it.each<readonly [string, Readonly<Record<string, string>>, number, string]>([
    ['nobody without a key', { authorization: '' }, 401, 'missing_api_key'],
    ['no page of another origin', { origin: 'https://evil.test' }, 403, 'csrf_rejected'],
    ['no managed key', { authorization: 'managed' }, 403, 'permission_denied'],
  ])('is open to %s', async (_, headers, status, code) => {
    const gateway = tidy(await startGateway({ suppliers: [supplierAt('http://127.0.0.1:9')] }))
    const { key } = await gateway.createKey({ name: 'a' })
    const own =
      headers['authorization'] === 'managed' ? { authorization: `Bearer ${key}` } : headers
    for (const [method, path] of places) {
      // oxlint-disable-next-line no-await-in-loop -- one rule for every place
      const reply = await fetch(`${gateway.url}/v1/manage${path}`, {
        method,
        headers: { authorization: `Bearer ${ROOT_KEY}`, ...own },
      })
      // oxlint-disable-next-line no-await-in-loop -- one rule for every place
      expect([reply.status, await reply.text()]).toEqual([status, expect.stringContaining(code)])
    }
  })
})

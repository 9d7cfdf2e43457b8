// Budgets as callers and owners meet them, through the real server: no number of callers, no change of a limit
// and no clock gets one nano-dollar past a cap, and what is left of it can be spent.
import { afterEach, describe, expect, it } from 'bun:test'
import { createFakeClock } from './fakes/clock.ts'
import { ask, askUntilDecided, errorOf, untilInLine, type Said } from './fakes/crowd.ts'
import { HELLO, startGateway, type Gateway } from './fakes/gateway.ts'
import {
  answerWith,
  createMaximal,
  pricedAt,
  readAsked,
  readKey,
  TOKEN_COST,
  toUsd,
} from './fakes/prices.ts'
import { dataOf, expectSoundBooks, openHolds, readRecords } from './fakes/records.ts'
import { openShop, PRICE, TOKENS } from './fakes/shop.ts'
import { closeStreet, createGate, tidy, until } from './fakes/street.ts'
import { startFakeSupplier, type Script } from './fakes/supplier.ts'

afterEach(closeStreet)

const SECONDS = 1000
const LONG_TEST_MS = 30_000

/** A call that costs `PRICE`, under a name that the supplier sees. */
function call(name = 'Hello', changes: object = {}): object {
  return { ...HELLO, messages: [{ role: 'user', content: name }], max_tokens: TOKENS, ...changes }
}

/** A supplier whose first answer waits until it is told to come, and may cost less than it could. */
function createGuarded(firstTokens = TOKENS) {
  const gate = createGate()
  const { script: rest } = createMaximal()
  const script: Script = async (request, reply, index) => {
    if (index > 0) return rest(request, reply, index)
    await gate.opened
    const usage = { prompt_tokens: 1, completion_tokens: firstTokens }
    return answerWith(reply, readAsked(request.body), usage)
  }
  return { script, open: gate.open }
}

describe('a cap with five hundred callers at once', () => {
  it.each([0, 1, 37, 499])(
    'lets exactly %p of them through',
    async (passing) => {
      const { gateway, supplier } = await openShop(createMaximal().script)
      // All but a nano-dollar of the price of one more.
      const limit = (passing + 1) * PRICE - 1
      const key = await gateway.createKey({ name: 'cap', budget_limit: toUsd(limit), fit: 'off' })
      const answers = await Promise.all(
        Array.from({ length: 500 }, (_, index) =>
          askUntilDecided(gateway.url, key.key, call('Hello', { stream: index % 2 === 0 })),
        ),
      )
      expect(answers.filter(({ isWhole }) => isWhole)).toHaveLength(passing)
      const refused = answers.filter(({ isWhole }) => !isWhole)
      expect(new Set(refused.map(({ status, code }) => `${status} ${code}`))).toEqual(
        new Set(['402 budget_exceeded']),
      )
      expect(supplier.requests).toHaveLength(passing)
      expect(await readKey(gateway, key.id)).toMatchObject({ used: passing * PRICE, held: 0 })
      await gateway.drain()
      expect(openHolds(readRecords(dataOf(gateway)))).toEqual([])
      await expectSoundBooks(dataOf(gateway))
    },
    LONG_TEST_MS,
  )

  it(
    'is kept by the demo too, whose input is not free',
    async () => {
      const gateway = tidy(await startGateway())
      const settings = { budget_limit: 0.0005, allowed_models: ['demo/maximal'], fit: 'off' }
      const key = await gateway.createKey({ name: 'demo', ...settings })
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, index) => {
          const body = call('Hello', { model: 'demo/maximal', stream: index % 2 === 0 })
          return askUntilDecided(gateway.url, key.key, body)
        }),
      )
      const { used, held, limit } = await readKey(gateway, key.id)
      expect(used).toBeLessThanOrEqual(limit)
      expect(held).toBe(0)
      const { ends } = readRecords(dataOf(gateway))
      const costs = ends.filter(({ state }) => state === 'settled').map(({ cost }) => cost)
      expect(costs.reduce((sum, cost) => sum + cost, 0)).toBe(used)
      expect(costs).toHaveLength(answers.filter(({ isWhole }) => isWhole).length)
      expect(costs.length).toBeGreaterThan(1)
      expect(costs.length).toBeLessThan(100)
      await expectSoundBooks(dataOf(gateway))
    },
    LONG_TEST_MS,
  )
})

describe('a key whose calls are fitted into what is left', () => {
  const CALLERS = 200
  const WANTED = 4096
  const LIMIT = 60 * WANTED * TOKEN_COST

  async function storm(gateway: Gateway, key: { id: string; key: string }) {
    const state = { isOver: false }
    const names = Array.from({ length: CALLERS }, (_, index) => `call ${1000 + index}`)
    const answers = Promise.all(
      names.map(async (name, index) => {
        const changes = { max_tokens: WANTED, stream: index % 2 === 0 }
        const said = await askUntilDecided(gateway.url, key.key, call(name, changes))
        return { name, said }
      }),
    ).finally(() => void (state.isOver = true))
    const reads: number[] = []
    while (!state.isOver) {
      const { used, held, limit } = await readKey(gateway, key.id)
      expect(limit).toBe(LIMIT)
      reads.push(used + held)
    }
    return { answers: await answers, reads }
  }

  it(
    'is never past its limit, whoever looks and however often',
    async () => {
      const maximal = createMaximal()
      const { gateway } = await openShop(maximal.script)
      const key = await gateway.createKey({ name: 'fit', budget_limit: toUsd(LIMIT) })
      const { answers, reads } = await storm(gateway, key)
      expect(reads.length).toBeGreaterThan(0)
      expect(Math.max(...reads)).toBeLessThanOrEqual(LIMIT)
      expect(Math.max(...reads)).toBeGreaterThan(0)
      const served = answers.filter(({ said }) => said.isWhole)
      // Each gets what a share of the rest pays, so more are served than could have had all they wanted.
      expect(served.length).toBeGreaterThan(60)
      const fitted = served.filter(({ said }) => said.headers.has('x-svc-max-tokens'))
      expect(fitted.length).toBeGreaterThan(0)
      for (const { name, said } of served)
        expect(maximal.seen.get(name)).toBe(Number(said.headers.get('x-svc-max-tokens') ?? WANTED))
      const given = served.reduce((sum, { name }) => sum + (maximal.seen.get(name) ?? 0), 0)
      expect(await readKey(gateway, key.id)).toMatchObject({ used: given * TOKEN_COST, held: 0 })
      await expectSoundBooks(dataOf(gateway))
    },
    LONG_TEST_MS,
  )

  /** One after another, until money refuses. */
  async function spend(gateway: Gateway, key: string, maxTokens: number): Promise<Said> {
    for (;;) {
      const said = await ask(gateway.url, key, call('Hello', { max_tokens: maxTokens }))
      if (said.status !== 200) return said
    }
  }

  it('can be spent down to what the least output costs', async () => {
    const { gateway } = await openShop(createMaximal().script)
    const limit = 9_999 * TOKEN_COST + 7
    const key = await gateway.createKey({ name: 'last cents', budget_limit: toUsd(limit) })
    for (const [wanted, least] of [
      [WANTED, 1024],
      [64, 64],
      [1, 1],
    ] as const) {
      expect(await spend(gateway, key.key, wanted)).toMatchObject({ code: 'budget_exceeded' })
      const { used } = await readKey(gateway, key.id)
      expect(limit - used).toBeLessThan(least * TOKEN_COST)
      expect(limit - used).toBeGreaterThanOrEqual(0)
    }
    expect(await readKey(gateway, key.id)).toMatchObject({
      used: limit - 7,
      status: 'budget_exhausted',
    })
  })

  it('refuses what even the least would not fit, and nothing is sent', async () => {
    const { gateway, supplier } = await openShop(createMaximal().script)
    const key = await gateway.createKey({ name: 'poor', budget_limit: toUsd(1023 * TOKEN_COST) })
    const said = await ask(gateway.url, key.key, call('Hello', { max_tokens: 1024 }))
    expect(said).toMatchObject({ status: 402, code: 'budget_exceeded' })
    expect(supplier.connections()).toBe(0)
    expect(await ask(gateway.url, key.key, call('Hello', { max_tokens: 1023 }))).toMatchObject({
      isWhole: true,
    })
  })
})

/** A key that can pay for one call at a time, while that one runs; `tokens` is what it will have used. */
async function openLine(limit: number, tokens?: number) {
  const clock = createFakeClock()
  const guarded = createGuarded(tokens)
  const { gateway, supplier } = await openShop(guarded.script, clock)
  const settings = { budget_limit: toUsd(limit), fit: 'off' }
  const key = await gateway.createKey({ name: 'line', ...settings })
  const first = ask(gateway.url, key.key, call())
  await supplier.request(0)
  return { clock, guarded, gateway, supplier, key, first, before: clock.listeners() }
}

describe('a refusal of money', () => {
  it('says what is left, what was asked and who can help, when the budget is spent', async () => {
    const { gateway } = await openShop(createMaximal().script)
    const settings = { budget_limit: toUsd(PRICE + 1), budget_period: 'daily', fit: 'off' }
    const key = await gateway.createKey({ name: 'spent', ...settings })
    expect(await ask(gateway.url, key.key, call())).toMatchObject({ isWhole: true })
    const said = await ask(gateway.url, key.key, call())
    expect(said.status).toBe(402)
    expect(said.headers.get('x-should-retry')).toBe('false')
    expect(said.headers.has('retry-after')).toBe(false)
    const midnight = new Date(Math.floor(Date.now() / 86_400_000 + 1) * 86_400_000).toISOString()
    expect(errorOf(said)).toMatchObject({
      code: 'budget_exceeded',
      type: 'permission_error',
      retryable: false,
      limit_usd: 0.000060001,
      used_usd: 0.00006,
      held_usd: 0,
      estimate_usd: 0.00006,
      resets_at: midnight,
      raise: expect.stringContaining(`PATCH /v1/manage/keys/${key.id}`),
    })
    expect(await readKey(gateway, key.id)).toMatchObject({ resetsAt: midnight })
  })

  it('says to come back when only running calls stand in the way', async () => {
    const { clock, guarded, gateway, supplier, key, first, before } = await openLine(PRICE + 1)
    const second = ask(gateway.url, key.key, call())
    await untilInLine(gateway, clock, before + 1)
    clock.advance(1 * SECONDS)
    const said = await second
    expect(said.status).toBe(429)
    expect(said.headers.get('retry-after')).toBe('1')
    expect(said.headers.get('x-should-retry')).toBe('true')
    expect(errorOf(said)).toMatchObject({
      code: 'capacity_exceeded',
      retryable: true,
      retry_after: 1,
      limit_usd: 0.000060001,
      used_usd: 0,
      held_usd: 0.00006,
      estimate_usd: 0.00006,
      resets_at: '2026-02-01T00:00:00.000Z',
    })
    expect(supplier.requests).toHaveLength(1)
    guarded.open()
    expect(await first).toMatchObject({ isWhole: true })
  })

  it('leaves one row a second for each key and code, with how many it stands for', async () => {
    const clock = createFakeClock()
    const { gateway } = await openShop(createMaximal().script, clock)
    const key = await gateway.createKey({ name: 'none', budget_limit: 0 })
    const other = await gateway.createKey({ name: 'other', budget_limit: 0 })
    const refuse = (secret: string, count: number) =>
      Promise.all(Array.from({ length: count }, () => ask(gateway.url, secret, call())))
    await refuse(key.key, 5)
    await refuse(other.key, 1)
    await ask(gateway.url, key.key, call('Hello', { model: 'none' }))
    clock.advance(1 * SECONDS)
    await refuse(key.key, 2)
    clock.advance(1 * SECONDS)
    await gateway.drain()
    const { holds, ends } = readRecords(dataOf(gateway))
    expect(holds).toEqual([])
    const rows = ends.map(({ key_id, code, state, count, cost }) => [
      key_id === key.id ? 'key' : 'other',
      code,
      state,
      count,
      cost,
    ])
    expect(rows).toEqual([
      ['key', 'budget_exceeded', 'refused', 1, 0],
      ['other', 'budget_exceeded', 'refused', 1, 0],
      ['key', 'model_not_found', 'refused', 1, 0],
      ['key', 'budget_exceeded', 'refused', 4, 0],
      ['key', 'budget_exceeded', 'refused', 2, 0],
    ])
    await expectSoundBooks(dataOf(gateway))
  })
})

describe('a call that only a running one keeps out', () => {
  it('waits in line and is served when that one ends', async () => {
    const { clock, guarded, gateway, supplier, key, first, before } = await openLine(
      1.5 * PRICE,
      TOKENS / 2,
    )
    const second = ask(gateway.url, key.key, call())
    await untilInLine(gateway, clock, before + 1)
    expect(supplier.requests).toHaveLength(1)
    guarded.open()
    expect(await Promise.all([first, second])).toMatchObject([{ isWhole: true }, { isWhole: true }])
    expect(await readKey(gateway, key.id)).toMatchObject({ used: 1.5 * PRICE, held: 0 })
  })

  it('is refused for good when that one leaves too little', async () => {
    const { clock, guarded, gateway, key, first, before } = await openLine(PRICE)
    const second = ask(gateway.url, key.key, call())
    await untilInLine(gateway, clock, before + 1)
    guarded.open()
    expect(await first).toMatchObject({ isWhole: true })
    expect(await second).toMatchObject({ status: 402, code: 'budget_exceeded' })
  })

  it('is not sent any more when its key is revoked meanwhile', async () => {
    const { clock, guarded, gateway, supplier, key, first, before } = await openLine(
      1.5 * PRICE,
      TOKENS / 2,
    )
    const second = ask(gateway.url, key.key, call())
    await untilInLine(gateway, clock, before + 1)
    expect((await gateway.manage('DELETE', `/keys/${key.id}`)).status).toBe(200)
    guarded.open()
    expect(await first).toMatchObject({ isWhole: true })
    expect(await second).toMatchObject({ status: 401, code: 'invalid_api_key' })
    expect(supplier.requests).toHaveLength(1)
  })

  it('is not sent any more when its caller has left the line', async () => {
    const { clock, guarded, gateway, supplier, key, first, before } = await openLine(
      1.5 * PRICE,
      TOKENS / 2,
    )
    const leaving = new AbortController()
    const headers = { authorization: `Bearer ${key.key}` }
    const second = gateway.chat(call(), { headers, signal: leaving.signal })
    await untilInLine(gateway, clock, before + 1)
    clock.advance(SECONDS / 2)
    leaving.abort()
    expect(await second.catch((thrown: unknown) => thrown)).toBeInstanceOf(Error)
    await until(() => gateway.app.pending() === 1)
    guarded.open()
    await first
    await until(() => readRecords(dataOf(gateway)).ends.length > 1)
    expect(supplier.requests).toHaveLength(1)
    const [, end] = readRecords(dataOf(gateway)).ends
    expect(end).toMatchObject({ status: 499, state: 'voided', evidence: 'unsent', cost: 0 })
    expect(await readKey(gateway, key.id)).toMatchObject({ used: PRICE / 2, held: 0 })
  })
})

describe('figures that no bill can have', () => {
  const MILLION_USD = 1_000_000_000_000_000
  const THOUSAND_USD = 1_000_000_000_000

  async function openWild(script: Script, config = '', price = 600_000) {
    const supplier = tidy(await startFakeSupplier(script))
    const halts: Error[] = []
    const options = {
      suppliers: [pricedAt(supplier.origin, { input: 0, output: price })],
      halt: (fault: Error) => void halts.push(fault),
      ...(config !== '' && { config }),
    }
    return { gateway: tidy(await startGateway(options)), supplier, halts }
  }

  /** A thousand million tokens, as many as are believed. */
  const boastful: Script = (request, reply) =>
    answerWith(reply, readAsked(request.body), { prompt_tokens: 1, completion_tokens: 1e9 })

  it('of callers without a budget hold a thousand dollars each, side by side', async () => {
    const gate = createGate()
    const { gateway, supplier, halts } = await openWild(async (request, reply) => {
      await gate.opened
      return answerWith(reply, readAsked(request.body), { prompt_tokens: 1, completion_tokens: 1 })
    })
    const key = await gateway.createKey({ name: 'giant' })
    const giant = call('Hello', { max_tokens: 12_000_000_000_000 })
    const answers = [1, 2, 3].map(() => ask(gateway.url, key.key, giant))
    await supplier.request(2)
    gate.open()
    for (const said of await Promise.all(answers)) expect(said).toMatchObject({ isWhole: true })
    const { holds, ends } = readRecords(dataOf(gateway))
    expect(holds.map(({ amount }) => amount)).toEqual([1, 2, 3].map(() => THOUSAND_USD))
    expect(ends.map(({ cost }) => cost)).toEqual([1, 2, 3].map(() => TOKEN_COST))
    expect(halts).toEqual([])
    await expectSoundBooks(dataOf(gateway))
  })

  it.each([{ max_tokens: 15_000_000_000_000 }, { max_tokens: undefined }])(
    'are in doubt for no more than was held, where nothing came of the call: %p',
    async (changes) => {
      const { gateway } = await openWild((_, reply) => reply.reset())
      const key = await gateway.createKey({ name: 'doubt' })
      expect(await ask(gateway.url, key.key, call('Hello', changes))).toMatchObject({ status: 503 })
      const [end] = readRecords(dataOf(gateway)).ends
      expect(end).toMatchObject({ state: 'voided', held: THOUSAND_USD })
      expect(JSON.parse(String(end!.details))).toMatchObject({
        tries: [{ evidence: 'unknown', suspense: THOUSAND_USD }],
      })
      await expectSoundBooks(dataOf(gateway))
    },
  )

  it.each([
    ['the operator', '', [0, MILLION_USD]],
    ['the key', 'ledger: { overrun: charge }\n', [MILLION_USD, 0]],
  ] as const)('of a supplier cost %s a million dollars at most', async (_, config, beyond) => {
    const { gateway, halts } = await openWild(boastful, config, 999_000_000_000)
    const price = TOKENS * 999_000_000
    const key = await gateway.createKey({ name: 'boast', budget_limit: toUsd(price) })
    const said = await ask(gateway.url, key.key, call())
    expect(said).toMatchObject({ isWhole: true })
    const [end] = readRecords(dataOf(gateway)).ends
    expect(end).toMatchObject({ held: price, cost: price + beyond[0], overrun: beyond[1] })
    expect(halts).toEqual([])
    await expectSoundBooks(dataOf(gateway))
  })

  it('add up past all that can be counted, and the gateway goes on', async () => {
    const config = 'ledger: { overrun: charge }\n'
    const { gateway, halts } = await openWild(boastful, config, 999_000_000_000)
    const key = await gateway.createKey({ name: 'boast' })
    for (let index = 0; index < 12; index++)
      expect(await ask(gateway.url, key.key, call())).toMatchObject({ isWhole: true })
    expect(
      await gateway.manage('PATCH', `/keys/${key.id}`, { budget_limit: 9_000_000 }),
    ).toMatchObject({ status: 200 })
    const { used, status } = await readKey(gateway, key.id)
    expect(used).toBeWithin(9e15, Number.MAX_SAFE_INTEGER + 1)
    expect(status).toBe('budget_exhausted')
    expect(await ask(gateway.url, key.key, call())).toMatchObject({ code: 'budget_exceeded' })
    expect(halts).toEqual([])
    await expectSoundBooks(dataOf(gateway))
  })
})

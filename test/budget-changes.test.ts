// Budgets that change while calls run: a limit is raised or lowered, a period turns, a clock is set. What was
// granted stays granted and is charged where it was held; what comes after goes by the new rule at once.
import { afterEach, describe, expect, it } from 'bun:test'
import type { Supplier } from '../src/suppliers/supplier.ts'
import { createFakeClock, type FakeClock } from './fakes/clock.ts'
import { ask, untilInLine } from './fakes/crowd.ts'
import { HELLO, startGateway, type Gateway } from './fakes/gateway.ts'
import { answerWith, createMaximal, pricedAt, readAsked, readKey, toUsd } from './fakes/prices.ts'
import { dataOf, endsOf, expectSoundBooks, readRecords, type Records } from './fakes/records.ts'
import { openShop, PRICE, TOKENS } from './fakes/shop.ts'
import { closeStreet, createGate, readText, tidy } from './fakes/street.ts'
import { chunk, startFakeSupplier, type Script } from './fakes/supplier.ts'

afterEach(closeStreet)

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const MINUTE_MS = 60_000
const LONG_TEST_MS = 30_000
const CALL = { ...HELLO, max_tokens: TOKENS }

/** Its first answer begins at once and ends when it is told to; all others come whole. */
function createSlow() {
  const gate = createGate()
  const script: Script = async (request, reply, index) => {
    const asked = readAsked(request.body)
    const usage = { prompt_tokens: 1, completion_tokens: asked.max_tokens }
    if (index > 0) return answerWith(reply, asked, usage)
    const stream = reply.stream()
    stream.send(chunk({ content: 'Hi' }))
    await gate.opened
    stream.send(chunk({}, 'stop'))
    stream.send(`data: ${JSON.stringify({ choices: [], usage })}\n\n`)
    stream.send('data: [DONE]\n\n')
    return stream.end()
  }
  return { script, end: gate.open }
}

function renamed(supplier: Supplier, model: string): Supplier {
  return {
    ...supplier,
    models: new Map([...supplier.models.values()].map((route) => [model, route])),
  }
}

async function patch(gateway: Gateway, id: string, nano: number): Promise<void> {
  const response = await gateway.manage('PATCH', `/keys/${id}`, { budget_limit: toUsd(nano) })
  expect(response.status).toBe(200)
}

/** A stream of this key that has begun and goes on until it is told to end. */
async function beginStream(gateway: Gateway, key: string) {
  const reader = readText(
    await gateway.chat({ ...CALL, stream: true }, { headers: { authorization: `Bearer ${key}` } }),
  )
  await reader.until('Hi')
  return reader
}

describe('a limit that is changed', () => {
  it('stops the key at once when it falls below what was used', async () => {
    const { gateway, supplier } = await openShop(createMaximal().script)
    const key = await gateway.createKey({ name: 'lower', budget_limit: 1, fit: 'off' })
    expect(await ask(gateway.url, key.key, CALL)).toMatchObject({ isWhole: true })
    await patch(gateway, key.id, PRICE - 1)
    expect(await ask(gateway.url, key.key, CALL)).toMatchObject({ code: 'budget_exceeded' })
    expect(supplier.requests).toHaveLength(1)
    expect(await readKey(gateway, key.id)).toMatchObject({
      limit: PRICE - 1,
      used: PRICE,
      status: 'budget_exhausted',
    })
    await patch(gateway, key.id, 2 * PRICE)
    expect(await ask(gateway.url, key.key, CALL)).toMatchObject({ isWhole: true })
  })

  it('stops free models as well when it falls below what was used, and not when all is used', async () => {
    const supplier = tidy(await startFakeSupplier(createMaximal().script))
    const free = { input: 0, output: 0 }
    const suppliers = [
      pricedAt(supplier.origin),
      renamed(pricedAt(supplier.origin, free, { id: 'generous' }), 'free-model'),
    ]
    const gateway = tidy(await startGateway({ suppliers }))
    const key = await gateway.createKey({ name: 'free', budget_limit: toUsd(PRICE), fit: 'off' })
    const gift = { ...CALL, model: 'free-model' }
    expect(await ask(gateway.url, key.key, CALL)).toMatchObject({ isWhole: true })
    expect(await ask(gateway.url, key.key, gift)).toMatchObject({ isWhole: true })
    await patch(gateway, key.id, PRICE - 1)
    expect(await ask(gateway.url, key.key, gift)).toMatchObject({ code: 'budget_exceeded' })
  })

  it('leaves a call that runs alone, which ends under its old hold', async () => {
    const slow = createSlow()
    const { gateway } = await openShop(slow.script)
    const key = await gateway.createKey({ name: 'runs', budget_limit: toUsd(PRICE), fit: 'off' })
    const reader = await beginStream(gateway, key.key)
    await patch(gateway, key.id, 1)
    slow.end()
    expect(await reader.rest()).toEndWith('data: [DONE]\n\n')
    expect(await readKey(gateway, key.id)).toMatchObject({ limit: 1, used: PRICE, held: 0 })
    await expectSoundBooks(dataOf(gateway))
  })

  it('serves those in line when it is raised, while the other call runs on', async () => {
    const slow = createSlow()
    const clock = createFakeClock()
    const { gateway, supplier } = await openShop(slow.script, clock)
    const key = await gateway.createKey({ name: 'raised', budget_limit: toUsd(PRICE), fit: 'off' })
    const reader = await beginStream(gateway, key.key)
    const before = clock.listeners()
    // Time stands still, so nobody is sent away.
    const waiting = Array.from({ length: 5 }, () => ask(gateway.url, key.key, CALL))
    await untilInLine(gateway, clock, before + 5)
    expect(supplier.requests).toHaveLength(1)
    await patch(gateway, key.id, 6 * PRICE)
    for (const said of await Promise.all(waiting)) expect(said).toMatchObject({ isWhole: true })
    expect(await readKey(gateway, key.id)).toMatchObject({ used: 5 * PRICE, held: PRICE })
    slow.end()
    await reader.rest()
  })
})

interface Change {
  readonly limit: number
  /** The last place of the chain when the change was asked for, and when it was answered. */
  readonly askedAt: number
  readonly answeredAt: number
}

function lastNumber(folder: string): number {
  const { holds, ends, notes } = readRecords(folder)
  return Math.max(0, ...[holds, ends, notes].map((lines) => lines.at(-1)?.number ?? 0))
}

/** Follows the chain: what was spent and held whenever a hold was granted, with that hold. */
function takenAtGrants({ holds, ends }: Records): ReadonlyMap<number, number> {
  const amounts = new Map(holds.map(({ number, amount }) => [number, amount]))
  const events = [
    ...holds.map(({ number, amount }) => ({ number, change: amount, isGrant: true })),
    ...ends.map(({ number, hold, cost }) => ({
      number,
      change: hold === null ? 0 : cost - amounts.get(hold)!,
      isGrant: false,
    })),
  ].toSorted((one, other) => one.number - other.number)
  const found = new Map<number, number>()
  let taken = 0
  for (const { number, change, isGrant } of events) {
    taken += change
    if (isGrant) found.set(number, taken)
  }
  return found
}

describe('a limit that is changed again and again while forty callers press', () => {
  it(
    'grants nothing above it from the moment that the change is answered',
    async () => {
      const { gateway } = await openShop(createMaximal().script)
      const folder = dataOf(gateway)
      const key = await gateway.createKey({ name: 'storm', budget_limit: 0, fit: 'off' })
      const state = { isOver: false }
      const callers = Array.from({ length: 40 }, async () => {
        while (!state.isOver) await ask(gateway.url, key.key, CALL)
      })
      const changes: Change[] = []
      for (let index = 1; index <= 40; index++) {
        const { used } = await readKey(gateway, key.id)
        // Up and down, each of them another number: above what is used, and below it.
        const limit = Math.max(1, used + (index % 2 === 0 ? -2 : 12) * PRICE + index)
        const askedAt = lastNumber(folder)
        await patch(gateway, key.id, limit)
        changes.push({ limit, askedAt, answeredAt: lastNumber(folder) })
        // The management interface answers in turn with the calls, so these are some rounds of them.
        for (let round = 0; round < 5; round++) await gateway.manage('GET', '/keys')
      }
      state.isOver = true
      await patch(gateway, key.id, 1_000_000_000)
      await Promise.all(callers)
      await gateway.drain()
      const records = readRecords(folder)
      const taken = takenAtGrants(records)
      expect(records.holds.length).toBeGreaterThan(40)
      for (const { number, budget_limit } of records.holds) {
        expect(taken.get(number)).toBeLessThanOrEqual(budget_limit!)
        const answered = changes.filter(({ answeredAt }) => answeredAt < number)
        const asked = changes.filter(({ askedAt }) => askedAt < number)
        const allowed = changes.slice(Math.max(0, answered.length - 1), asked.length)
        const limits = allowed.map(({ limit }) => limit)
        expect([...limits, 1_000_000_000]).toContain(budget_limit!)
      }
      await expectSoundBooks(folder)
    },
    LONG_TEST_MS,
  )
})

describe('a call that runs over the end of its period', () => {
  it.each(['daily', 'monthly'])(
    'is charged to the one in which it was held (%s)',
    async (period) => {
      const clock = createFakeClock(Date.UTC(2026, 0, 31, 23, 59, 50))
      const hour = Math.floor(clock.now() / HOUR_MS)
      const slow = createSlow()
      const { gateway } = await openShop(slow.script, clock)
      const settings = { budget_limit: toUsd(PRICE), budget_period: period, fit: 'off' }
      const key = await gateway.createKey({ name: 'midnight', ...settings })
      const reader = await beginStream(gateway, key.key)
      expect(await readKey(gateway, key.id)).toMatchObject({
        held: PRICE,
        resetsAt: '2026-02-01T00:00:00.000Z',
      })
      clock.advance(20_000)
      expect(await readKey(gateway, key.id)).toMatchObject({
        used: 0,
        held: 0,
        resetsAt: period === 'daily' ? '2026-02-02T00:00:00.000Z' : '2026-03-01T00:00:00.000Z',
      })
      // The new period has its whole budget, although the old call still holds all of the old one's.
      expect(await ask(gateway.url, key.key, CALL)).toMatchObject({ isWhole: true })
      slow.end()
      expect(await reader.rest()).toEndWith('data: [DONE]\n\n')
      expect(await readKey(gateway, key.id)).toMatchObject({ used: PRICE, held: 0 })
      const ends = endsOf(readRecords(dataOf(gateway)))
      expect(ends.map((each) => each.hour)).toEqual([hour + 1, hour])
      expect(ends.map(({ cost }) => cost)).toEqual([PRICE, PRICE])
      await expectSoundBooks(dataOf(gateway))
    },
  )

  it('comes back to a rolling budget thirty days after it was spent', async () => {
    const clock = createFakeClock()
    const { gateway } = await openShop(createMaximal().script, clock)
    const settings = { budget_limit: toUsd(PRICE), budget_period: 'rolling', fit: 'off' }
    const key = await gateway.createKey({ name: 'rolling', ...settings })
    expect(await ask(gateway.url, key.key, CALL)).toMatchObject({ isWhole: true })
    clock.sleep(29 * DAY_MS)
    expect(await ask(gateway.url, key.key, CALL)).toMatchObject({ code: 'budget_exceeded' })
    clock.sleep(DAY_MS + HOUR_MS)
    expect(await ask(gateway.url, key.key, CALL)).toMatchObject({ isWhole: true })
  })
})

describe('a clock that is set wrong', () => {
  async function openSpent(clock: FakeClock) {
    const shop = await openShop(createMaximal().script, clock)
    const settings = { budget_limit: toUsd(PRICE), budget_period: 'daily', fit: 'off' }
    const key = await shop.gateway.createKey({ name: 'clock', ...settings })
    expect(await ask(shop.gateway.url, key.key, CALL)).toMatchObject({ isWhole: true })
    return { ...shop, key }
  }

  it('by a day ahead does not start the budget over, unless it stays so', async () => {
    const clock = createFakeClock()
    const { gateway, key } = await openSpent(clock)
    clock.jump(DAY_MS)
    expect(await ask(gateway.url, key.key, CALL)).toMatchObject({ code: 'budget_exceeded' })
    clock.advance(9 * MINUTE_MS)
    expect(await ask(gateway.url, key.key, CALL)).toMatchObject({ code: 'budget_exceeded' })
    expect(await readKey(gateway, key.id)).toMatchObject({ resetsAt: '2026-01-16T00:00:00.000Z' })
    clock.advance(2 * MINUTE_MS)
    expect(await ask(gateway.url, key.key, CALL)).toMatchObject({ isWhole: true })
    expect(await readKey(gateway, key.id)).toMatchObject({ resetsAt: '2026-01-17T00:00:00.000Z' })
    await expectSoundBooks(dataOf(gateway))
  })

  it('by a day ahead and back again leaves no trace in the budget', async () => {
    const clock = createFakeClock()
    const { gateway, key } = await openSpent(clock)
    clock.jump(DAY_MS)
    clock.advance(5 * MINUTE_MS)
    clock.jump(-DAY_MS)
    clock.advance(11 * MINUTE_MS)
    expect(await ask(gateway.url, key.key, CALL)).toMatchObject({ code: 'budget_exceeded' })
    expect(await readKey(gateway, key.id)).toMatchObject({
      used: PRICE,
      resetsAt: '2026-01-16T00:00:00.000Z',
    })
  })

  it('by a day back opens no period again, however long it stays so', async () => {
    const clock = createFakeClock()
    const { gateway, key } = await openSpent(clock)
    clock.jump(-DAY_MS)
    for (const minutes of [0, 9, 2, 60]) {
      clock.advance(minutes * MINUTE_MS)
      expect(await ask(gateway.url, key.key, CALL)).toMatchObject({ code: 'budget_exceeded' })
      expect(await readKey(gateway, key.id)).toMatchObject({
        used: PRICE,
        resetsAt: '2026-01-16T00:00:00.000Z',
      })
    }
    clock.sleep(2 * DAY_MS)
    expect(await ask(gateway.url, key.key, CALL)).toMatchObject({ isWhole: true })
    const [first, second] = readRecords(dataOf(gateway)).holds
    expect(second!.hour).toBeGreaterThan(first!.hour)
    await expectSoundBooks(dataOf(gateway))
  })
})

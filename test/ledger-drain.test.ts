// The end of a process while money is waited for and written: what was not sent stays unsent, and what is
// under way reaches the books before they are closed.
import { afterEach, describe, expect, it } from 'bun:test'
import { Drain, type Running } from '../src/drain.ts'
import { createFakeClock } from './fakes/clock.ts'
import { ask, untilInLine } from './fakes/crowd.ts'
import { HELLO, startGateway } from './fakes/gateway.ts'
import { askOf, boundOf, endOf, keyOf, openRoom, turns } from './fakes/ledger.ts'
import { pricedAt, TOKEN_COST, toUsd } from './fakes/prices.ts'
import { dataOf, expectSoundBooks, readRecords } from './fakes/records.ts'
import { closeStreet, tidy } from './fakes/street.ts'
import { startFakeSupplier } from './fakes/supplier.ts'

afterEach(closeStreet)

const TOKENS = 100
const CALL = { ...HELLO, max_tokens: TOKENS }

describe('a call that waits in line when the rest is cut', () => {
  it.each([false, true])('is refused and never sent (stream: %p)', async (stream) => {
    const clock = createFakeClock()
    const supplier = tidy(await startFakeSupplier(() => {}))
    const gateway = tidy(await startGateway({ clock, suppliers: [pricedAt(supplier.origin)] }))
    const budget_limit = toUsd(TOKENS * TOKEN_COST)
    const { key } = await gateway.createKey({ name: 'k', budget_limit, fit: 'off' })
    const running = ask(gateway.url, key, CALL)
    await supplier.request(0)
    const before = clock.listeners()
    const waiting = Array.from({ length: 3 }, () => ask(gateway.url, key, { ...CALL, stream }))
    await untilInLine(gateway, clock, before + 3)
    await gateway.drain()
    for (const said of await Promise.all([running, ...waiting])) {
      expect(said).toMatchObject({ status: 503, code: 'pod_draining' })
      expect(said.headers.get('retry-after')).toBe('1')
    }
    expect(supplier.requests).toHaveLength(1)
    const { holds, ends } = readRecords(dataOf(gateway))
    expect(holds).toHaveLength(1)
    const drained = ends.filter(({ code }) => code === 'pod_draining')
    const refused = drained.filter(({ state }) => state === 'refused')
    expect(refused.reduce((sum, { count }) => sum + count, 0)).toBe(3)
    expect(drained.filter(({ state }) => state === 'voided')).toHaveLength(1)
    await expectSoundBooks(dataOf(gateway))
  })
})

describe('a ledger that is stopped', () => {
  it('refuses whoever waits, is being counted or comes later, and still takes ends', async () => {
    const key = keyOf(100)
    const { ledger, store, clock } = await openRoom({ keys: [key] })
    const { operation } = await ledger.hold(askOf(key, 80))
    const counted = Promise.withResolvers<'late'>()
    const asks = [
      askOf(key, 60),
      askOf(key, 60, { tighten: () => counted.promise }),
      askOf(key, 60, {
        bound: boundOf(200),
        tighten: () => counted.promise.then(() => boundOf(1)),
      }),
    ]
    const answers = asks.map((each) => ledger.hold(each).catch((thrown: unknown) => thrown))
    await turns()
    ledger.stop()
    counted.resolve('late')
    answers.push(ledger.hold(askOf(key, 1)).catch((thrown: unknown) => thrown))
    for (const answer of await Promise.all(answers))
      expect(answer).toMatchObject({ code: 'pod_draining', status: 503 })
    expect(await ledger.end(operation, endOf(operation, 25))).toBe(true)
    expect(store.records.map(({ type }) => type)).toEqual(['hold', 'audit'])
    // Nobody is left in line to be told a second time.
    await ledger.close()
    expect(clock.listeners()).toBe(0)
  })

  it('is closed when all ends are written, also those that failed while earlier ones were', async () => {
    const key = keyOf(100)
    const { ledger, store, clock } = await openRoom({ keys: [key] })
    const [one, two] = [await ledger.hold(askOf(key, 40)), await ledger.hold(askOf(key, 40))]
    store.fail()
    await ledger.end(one.operation, endOf(one.operation, 25))
    store.recover()
    store.stall()
    clock.advance(1000)
    const late = ledger.end(two.operation, endOf(two.operation, 30))
    let isClosed = false
    const closed = ledger.close().then(() => (isClosed = true))
    await turns()
    expect(isClosed).toBe(false)
    store.fail()
    store.recover()
    await closed
    expect(await late).toBe(false)
    const costs = store.records.flatMap((each) => (each.type === 'audit' ? [each.row.cost] : []))
    expect(costs.map(Number)).toEqual([25, 30])
    expect(ledger.budgetOf(key.id)).toMatchObject({ used: 55, held: 0 })
  })
})

describe('the books of a process that ends', () => {
  it('are closed only when what was cut in the last moment is written', async () => {
    const steps: string[] = []
    const step = (name: string) => (): void => void steps.push(name)
    const ledger = { isIdle: true, stop: step('stop'), close: step('ledger') }
    const plant = {
      clock: createFakeClock(),
      lifelines: new Set(),
      ledger,
      counter: { close: step('counter') },
      claims: { close: step('claims') },
      store: { close: step('store') },
      log: { flush() {} },
    }
    const looked = Promise.withResolvers<void>()
    const running: unknown = {
      house: { plant, state: { phase: 'ready' } },
      listener: {
        pending: () => 0,
        // What this cuts has no caller and no attempt any more, and an end that is on its way.
        stop() {
          ledger.isIdle = false
          setImmediate(() => looked.resolve())
        },
      },
      reload: { close() {}, snapshot: { upstreams: new Map() } },
      closing: [],
      uses: { flush: step('uses') },
      rollUps: { stop: step('roll-ups') },
      renewals: { settle: () => Promise.resolve() },
      demo: () => undefined,
    }
    const closed = new Drain(running as Running).run({ noticeMs: 0, limitMs: 0 })
    await looked.promise
    expect(steps).toEqual(['stop', 'counter'])
    ledger.isIdle = true
    await closed
    expect(steps).toEqual(['stop', 'counter', 'claims', 'ledger', 'uses', 'roll-ups', 'store'])
  })
})

// Where money could get lost between two steps: a key that changes while its body comes, a price that changes
// between two calls, a process that dies in the middle, a supplier that takes back what it told.
import { Database } from 'bun:sqlite'
import { afterEach, describe, expect, it } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toPicoUsd } from '../src/core/money.ts'
import type { PriceList } from '../src/core/usage.ts'
import { createFakeClock, type FakeClock } from './fakes/clock.ts'
import { untilInLine } from './fakes/crowd.ts'
import { HELLO, startGateway, supplierAt, type Gateway } from './fakes/gateway.ts'
import { askOf, boundOf, endOf, keyOf, openRoom, turns } from './fakes/ledger.ts'
import { answerWith, pricedAt, readAsked, TOKEN_COST, toUsd } from './fakes/prices.ts'
import { connectRaw, formatRequest } from './fakes/raw.ts'
import {
  dataOf,
  endsOf,
  expectSoundBooks,
  readRecords,
  type EndLine,
  type Records,
} from './fakes/records.ts'
import {
  closeStreet,
  createGate,
  good,
  readText,
  refuse,
  tidy,
  until,
  type ErrorBody,
} from './fakes/street.ts'
import { chunk, DONE, startFakeSupplier, USAGE, type Script } from './fakes/supplier.ts'

afterEach(closeStreet)

const IN = 150
const OUT = 600
const PRICES = { input: IN * 1000, output: OUT * 1000 }
const DEAR = { input: 10 * PRICES.input, output: 10 * PRICES.output }
const CALL = { ...HELLO, max_tokens: 100 }
const STREAM = { ...CALL, stream: true }
/** What the gateway takes the input for, for want of a supplier's word: four bytes a token, four a message. */
const INPUT_TOKENS = Math.ceil(JSON.stringify(STREAM).length / 4) + 4
/** Forty tokens by the gateway's own count. */
const LONG = 'word'.repeat(40)
const MINUTE_MS = 60_000

/** Suppliers `fake` and `fake-2`; the second is ten times as dear. */
async function openShop(scripts: readonly Script[], clock?: FakeClock): Promise<Gateway> {
  const fakes = await Promise.all(scripts.map((script) => startFakeSupplier(script)))
  const suppliers = fakes.map(({ origin }, index) =>
    index === 0 ? pricedAt(origin, PRICES) : pricedAt(origin, DEAR, { id: `fake-${index + 1}` }),
  )
  for (const fake of fakes) tidy(fake)
  return tidy(await startGateway(clock === undefined ? { suppliers } : { suppliers, clock }))
}

async function onlyEnd(gateway: Gateway): Promise<EndLine> {
  const folder = dataOf(gateway)
  await until(() => endsOf(readRecords(folder)).length > 0)
  await expectSoundBooks(folder)
  const ends = endsOf(readRecords(folder))
  expect(ends).toHaveLength(1)
  return ends[0]!
}

function triesOf({ details }: EndLine): unknown {
  return (JSON.parse(details!) as { tries: unknown }).tries
}

describe('a call that money refuses', () => {
  it('leaves its place to the next', async () => {
    const fake = tidy(await startFakeSupplier(good))
    const limits = { inFlightKeyMax: 2 }
    const gateway = tidy(await startGateway({ suppliers: [pricedAt(fake.origin)], limits }))
    const { key } = await gateway.createKey({ name: 'k', budget_limit: toUsd(1), fit: 'off' })
    const headers = { authorization: `Bearer ${key}` }
    for (let time = 0; time < 4; time++) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const { error } = (await (await gateway.chat(CALL, { headers })).json()) as ErrorBody
      expect(error.code).toBe('budget_exceeded')
    }
  })
})

describe('a key that changes while the body of its call is coming', () => {
  const revoke = (gateway: Gateway, id: string) => gateway.manage('DELETE', `/keys/${id}`)
  const limit = (gateway: Gateway, id: string) =>
    gateway.manage('PATCH', `/keys/${id}`, { budget_limit: 1 })
  const expire = (_gateway: Gateway, _id: string, clock: FakeClock) => clock.advance(2000)

  it.each([
    ['is revoked', revoke, 401, 'invalid_api_key'],
    ['expires', expire, 401, 'expired_api_key'],
    ['gets a budget', limit, 400, 'unsupported_parameter'],
  ] as const)('and %s sends nothing by its old rights', async (_, change, status, code) => {
    const clock = createFakeClock()
    const fake = tidy(await startFakeSupplier(good))
    const gateway = tidy(await startGateway({ clock, suppliers: [supplierAt(fake.origin)] }))
    const expires_at = new Date(clock.now() + 1000).toISOString()
    const settings = { name: 'k', ...(code === 'expired_api_key' && { expires_at }) }
    const { id, key } = await gateway.createKey(settings)
    const caller = await connectRaw(gateway.url)
    tidy({ stop: async () => caller.close() })
    const request = formatRequest({
      method: 'POST',
      target: '/v1/chat/completions',
      headers: [
        ['authorization', `Bearer ${key}`],
        ['content-type', 'application/json'],
      ],
      // Nothing bounds what a search costs.
      body: JSON.stringify({ ...CALL, web_search_options: {} }),
    })
    await caller.send(request.subarray(0, -10))
    // A body that is waited for has a limit of time, and with it a listener.
    await until(() => clock.listeners() > 0)
    await change(gateway, id, clock)
    await caller.send(request.subarray(-10))
    const response = await caller.response()
    expect(response.status).toBe(status)
    expect(JSON.parse(response.body.toString())).toMatchObject({ error: { code } })
    expect(fake.connections()).toBe(0)
    expect(readRecords(dataOf(gateway)).holds).toEqual([])
  })
})

describe('a key that changes while its call is in line', () => {
  it('and may no longer be fitted is not, whatever it was when it came', async () => {
    const key = keyOf(100, { fitsBudget: true })
    const { ledger } = await openRoom({ keys: [key] })
    const { operation } = await ledger.hold(askOf(key, 80))
    let now = key
    const change = { bound: boundOf(60, 30), current: () => now }
    const waiting = ledger.hold(askOf(key, 60, change)).catch((thrown: unknown) => thrown)
    await turns()
    now = keyOf(100, { fitsBudget: false })
    ledger.put(now)
    // Leaves fifty: enough for a part of it, and not for the whole.
    await ledger.end(operation, endOf(operation, 50))
    expect(await waiting).toMatchObject({ code: 'budget_exceeded' })
    expect(ledger.budgetOf(key.id)).toMatchObject({ used: 50, held: 0 })
  })
})

describe('the oldest hour without an end', () => {
  it('is that of the oldest call, whatever came after it', async () => {
    const key = keyOf(undefined)
    const { ledger, clock } = await openRoom({ keys: [key] })
    expect(ledger.oldestOpenHour()).toBeUndefined()
    const first = await ledger.hold(askOf(key, 1))
    const { hour } = first.operation.hold
    clock.advance(3 * 60 * MINUTE_MS)
    const second = await ledger.hold(askOf(key, 1))
    expect(second.operation.hold.hour).toBe(hour + 3)
    expect(ledger.oldestOpenHour()).toBe(hour)
    await ledger.end(first.operation, endOf(first.operation, 1))
    expect(ledger.oldestOpenHour()).toBe(hour + 3)
  })
})

describe('a price that has a date', () => {
  it('is that of every call from then on, in what is held as in what is paid', async () => {
    const clock = createFakeClock()
    const from = clock.now() + MINUTE_MS
    const price = { input: toPicoUsd(0), output: toPicoUsd(TOKEN_COST * 1000) }
    const later = { ...price, output: toPicoUsd(TOKEN_COST * 3000) }
    const prices = [
      { from: 0, price },
      { from, price: later },
    ] as const
    const fake = tidy(
      await startFakeSupplier((request, reply) =>
        answerWith(reply, readAsked(request.body), { prompt_tokens: 1, completion_tokens: 7 }),
      ),
    )
    const models = new Map([['test-model', { as: 'upstream-model', prices, ownedBy: 'maker' }]])
    const gateway = tidy(
      await startGateway({ clock, suppliers: [supplierAt(fake.origin, { models })] }),
    )
    await (await gateway.chat(CALL)).text()
    clock.advance(MINUTE_MS)
    await (await gateway.chat(CALL)).text()
    const { holds, ends } = readRecords(dataOf(gateway))
    expect(holds.map(({ amount }) => amount)).toEqual([100 * TOKEN_COST, 300 * TOKEN_COST])
    expect(ends.map(({ cost }) => cost)).toEqual([7 * TOKEN_COST, 21 * TOKEN_COST])
  })
})

interface Survivor {
  readonly gateway: Gateway
  readonly folder: string
}

/** Another process on what this one has on its disk at this moment, as if it had died. */
async function startOver(from: Gateway, clock: FakeClock, config?: string): Promise<Survivor> {
  const folder = mkdtempSync(join(tmpdir(), 'gaps-'))
  tidy({ stop: async () => rmSync(folder, { recursive: true }) })
  const database = new Database(join(dataOf(from), 'gateway.db'), { readonly: true })
  writeFileSync(join(folder, 'gateway.db'), database.serialize())
  database.close(true)
  const gateway = await startGateway({
    clock,
    suppliers: [supplierAt('http://127.0.0.1:1')],
    environment: { GATEWAY_DATA: folder },
    ...(config !== undefined && { config }),
  })
  return { gateway: tidy(gateway), folder }
}

/** A stream that its second supplier has taken over, and is in the middle of. */
async function beginLongStream(clock: FakeClock): Promise<Gateway> {
  const failing: Script = (_, reply) => reply.json(500, { error: { message: 'sorry' } })
  const talking: Script = (_, reply) => reply.stream().send(chunk({ content: LONG }))
  const gateway = await openShop([failing, talking], clock)
  await readText(await gateway.chat(STREAM)).until(LONG)
  return gateway
}

const hasNote =
  (kind: string) =>
  ({ notes }: Records): boolean =>
    notes.some((note) => note.kind === kind)

describe('a process that dies in a long stream after another supplier has failed', () => {
  it('is known to have asked the other, and for how much it has delivered', async () => {
    const clock = createFakeClock()
    const first = await beginLongStream(clock)
    clock.advance(11_000)
    await until(() => hasNote('progress')(readRecords(dataOf(first))))
    const { gateway, folder } = await startOver(first, clock)
    clock.advance(10 * MINUTE_MS)
    await until(() => endsOf(readRecords(folder)).length > 0)
    expect(endsOf(readRecords(folder))).toMatchObject([
      {
        supplier: 'fake-2',
        evidence: 'crashed',
        state: 'settled',
        attempts: 2,
        output_tokens: 40,
        cost: 10 * (INPUT_TOKENS * IN + 40 * OUT),
      },
    ])
    await gateway.drain()
    await expectSoundBooks(folder)
  })

  it('is charged by the rule that is in force when its time is up', async () => {
    const clock = createFakeClock()
    const first = await beginLongStream(clock)
    await until(() => hasNote('attempt')(readRecords(dataOf(first))))
    const { gateway, folder } = await startOver(first, clock, 'ledger: { recovery: keep }\n')
    clock.advance(20 * MINUTE_MS)
    expect((await gateway.manage('GET', '/reviews')).status).toBe(200)
    expect(endsOf(readRecords(folder))).toEqual([])
    writeFileSync(gateway.file, 'ledger: { recovery: charge_hold }\n')
    expect((await gateway.manage('POST', '/reload', {})).status).toBe(200)
    clock.advance(1000)
    await until(() => endsOf(readRecords(folder)).length > 0)
    const [end] = endsOf(readRecords(folder)) as [EndLine]
    expect(end.cost).toBe(end.held!)
  })
})

describe('a process that dies', () => {
  const talking: Script = (_, reply) => reply.stream().send(chunk({ content: LONG }))
  const busy = refuse(429, { message: 'slow' }, { 'retry-after': '60' })

  /** The one call without an end, once another process has resolved it. */
  const resolve = async (first: Gateway, clock: FakeClock): Promise<EndLine> => {
    const { gateway, folder } = await startOver(first, clock)
    const endedBefore = endsOf(readRecords(folder)).length
    clock.advance(10 * MINUTE_MS)
    await until(() => endsOf(readRecords(folder)).length > endedBefore)
    await gateway.drain()
    await expectSoundBooks(folder)
    return endsOf(readRecords(folder)).at(-1)!
  }

  it('after a model has failed is known to have asked what the same supplier has in its place', async () => {
    const clock = createFakeClock()
    const fake = tidy(
      await startFakeSupplier((request, reply, index) =>
        (index === 0 ? busy : talking)(request, reply, index),
      ),
    )
    const price = ({ input, output }: typeof PRICES): PriceList => [
      { from: 0, price: { input: toPicoUsd(input), output: toPicoUsd(output) } },
    ]
    const models = new Map([
      ['test-model', { as: 'upstream-model', prices: price(PRICES), ownedBy: 'maker' }],
      ['spare', { as: 'upstream-spare', prices: price(DEAR), ownedBy: 'maker' }],
    ])
    const gateway = tidy(
      await startGateway({
        clock,
        suppliers: [supplierAt(fake.origin, { models })],
        config: 'models: { test-model: { fallbacks: [spare] } }\n',
      }),
    )
    await readText(await gateway.chat(STREAM)).until(LONG)
    await until(() => hasNote('attempt')(readRecords(dataOf(gateway))))
    expect(await resolve(gateway, clock)).toMatchObject({
      supplier: 'fake',
      attempts: 2,
      cost: 10 * INPUT_TOKENS * IN,
      details: expect.stringContaining('"asked":"test-model"'),
    })
  })

  it('is known to have asked the second first, where the first asked for a pause meanwhile', async () => {
    const clock = createFakeClock()
    const [reached, gate] = [createGate(), createGate()]
    const gateway = await openShop(
      [
        async (...told) => {
          reached.open()
          await gate.opened
          await busy(...told)
        },
        (request, reply, index) => (index === 0 ? good : talking)(request, reply, index),
      ],
      clock,
    )
    // Enough for one at a time.
    const key = await gateway.createKey({ name: 'narrow', budget_limit: 0.001, fit: 'off' })
    const init = { headers: { authorization: `Bearer ${key.key}` } }
    const first = gateway.chat(STREAM, init)
    await reached.opened
    const before = clock.listeners()
    const second = gateway.chat(STREAM, init)
    await untilInLine(gateway, clock, before + 1)
    gate.open()
    await (await first).text()
    await readText(await second).until(LONG)
    const asked = (): number =>
      readRecords(dataOf(gateway)).notes.filter(({ kind }) => kind === 'attempt').length
    await until(() => asked() === 2)
    expect(await resolve(gateway, clock)).toMatchObject({
      supplier: 'fake-2',
      attempts: 1,
      cost: 10 * INPUT_TOKENS * IN,
    })
  })
})

describe('a usage that is told too early', () => {
  const EARLY = { prompt_tokens: 11, completion_tokens: 1 }

  it('is no less than what was delivered when the supplier breaks the stream', async () => {
    const gate = createGate()
    const gateway = await openShop([
      async (_, reply) => {
        reply.stream().send(chunk({ content: LONG }, null, { usage: EARLY }))
        await gate.opened
        reply.reset()
      },
    ])
    const reader = readText(await gateway.chat(STREAM))
    await reader.until(LONG)
    gate.open()
    expect(await reader.rest()).toContain('stream_interrupted')
    const cost = 11 * IN + 40 * OUT
    expect(await onlyEnd(gateway)).toMatchObject({ evidence: 'broken', cost })
  })

  it('is not believed of an answer that was ended because it went past its maximum', async () => {
    const endless = 'word'.repeat(20_000)
    const gateway = await openShop([
      (_, reply) => reply.stream().send(chunk({ content: endless }, 'stop', { usage: EARLY })),
    ])
    expect(await (await gateway.chat(STREAM)).text()).toEndWith(DONE)
    const end = await onlyEnd(gateway)
    expect(end).toMatchObject({ evidence: 'counted', cost: end.held, overrun: 0 })
  })
})

describe('the attempts of a call', () => {
  const failing: Script = (_, reply) => reply.json(500, { error: { message: 'sorry' } })
  const FAILED = { supplier: 'fake', evidence: 'refused', status: 500 }

  it.each([false, true])('tell who has answered in the end (stream: %p)', async (stream) => {
    const gateway = await openShop([
      failing,
      (request, reply) => answerWith(reply, readAsked(request.body), USAGE),
    ])
    await (await gateway.chat({ ...CALL, stream })).text()
    const end = await onlyEnd(gateway)
    expect(triesOf(end)).toMatchObject([FAILED, { evidence: 'reported', status: 200 }])
  })

  it('tell who had begun to answer when the caller left', async () => {
    const gateway = await openShop([
      failing,
      (_, reply) => reply.stream().send(chunk({ content: LONG })),
    ])
    const leaving = new AbortController()
    await readText(await gateway.chat(STREAM, { signal: leaving.signal })).until(LONG)
    leaving.abort()
    const end = await onlyEnd(gateway)
    expect(end.status).toBe(499)
    expect(triesOf(end)).toMatchObject([FAILED, { evidence: 'broken', status: 200 }])
  })

  it('tell nothing of who had not answered when the caller left', async () => {
    const asked = createGate()
    const gateway = await openShop([failing, () => asked.open()])
    const leaving = new AbortController()
    const answering = gateway.chat(STREAM, { signal: leaving.signal }).catch(() => undefined)
    await asked.opened
    leaving.abort()
    await answering
    const [, last] = triesOf(await onlyEnd(gateway)) as [unknown, object]
    expect(last).toMatchObject({ supplier: 'fake-2', evidence: 'broken' })
    expect(last).not.toHaveProperty('status')
  })
})

describe('an answer without a usage', () => {
  it.each([false, true])('counts as an answer all the same (stream: %p)', async (stream) => {
    const gateway = await openShop([
      (_, reply) => reply.reset(),
      (request, reply) => answerWith(reply, readAsked(request.body), undefined, LONG),
    ])
    await (await gateway.chat({ ...CALL, stream })).text()
    const end = await onlyEnd(gateway)
    expect(triesOf(end)).toMatchObject([
      { evidence: 'unknown' },
      { evidence: 'counted', status: 200 },
    ])
  })
})

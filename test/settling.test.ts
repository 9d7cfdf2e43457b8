// The books of a call at their worst moments: a caller that has gone before its early answer is built,
// and a database that takes no record while the supplier has already done the work.
import { afterEach, describe, expect, it } from 'bun:test'
import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import type { Clock } from '../src/core/clock.ts'
import { createLog } from '../src/observe/log.ts'
import { createFakeClock, type FakeClock } from './fakes/clock.ts'
import { HELLO, readAudit, startGateway, supplierAt, type Gateway } from './fakes/gateway.ts'
import { answerWith, readAsked, readKey, toUsd } from './fakes/prices.ts'
import { createFolder } from './fakes/process.ts'
import { endsOf, expectSoundBooks, readRecords } from './fakes/records.ts'
import {
  ANSWER,
  closeStreet,
  createGate,
  good,
  HI,
  readText,
  refuse,
  ROLE,
  sendEvents,
  STOP,
  tidy,
  until,
} from './fakes/street.ts'
import {
  completion,
  DONE,
  startFakeSupplier,
  USAGE,
  type FakeSupplier,
  type Script,
} from './fakes/supplier.ts'

afterEach(closeStreet)

const STREAM = { ...HELLO, stream: true }
const EARLY_MS = 15_000

interface House {
  readonly gateway: Gateway
  readonly suppliers: readonly FakeSupplier[]
  readonly folder: string
  /** What the operator can read. */
  readonly log: readonly string[]
}

async function openHouse(scripts: readonly Script[], clock: Clock): Promise<House> {
  const folder = createFolder()
  tidy({ stop: async () => folder[Symbol.dispose]() })
  const suppliers = await Promise.all(scripts.map((script) => startFakeSupplier(script)))
  const log: string[] = []
  const gateway = await startGateway({
    clock,
    log: createLog({
      write: (text) => void log.push(text),
      now: () => clock.now(),
      isTerminal: false,
    }),
    environment: { GATEWAY_DATA: folder.path },
    suppliers: suppliers.map(({ origin }, index) =>
      supplierAt(origin, index === 0 ? {} : { id: `fake-${index + 1}` }),
    ),
  })
  for (const each of [...suppliers, gateway]) tidy(each)
  return { gateway, suppliers, folder: folder.path, log }
}

/** A clock on which, once it is armed, time jumps in the very moment that someone stops listening. */
function createTrap(fake: FakeClock): { readonly clock: Clock; readonly arm: () => void } {
  let isArmed = false
  return {
    arm: () => void (isArmed = true),
    clock: {
      ...fake,
      everySecond(ticker) {
        const place = fake.everySecond(ticker)
        return {
          leave() {
            place.leave()
            if (!isArmed) return
            isArmed = false
            fake.advance(EARLY_MS)
          },
        }
      },
    },
  }
}

describe('a caller that has gone when its early answer is built', () => {
  it('leaves one row, and nothing under way at any supplier', async () => {
    const fake = createFakeClock()
    const { clock, arm } = createTrap(fake)
    const { gateway, suppliers, folder } = await openHouse([() => {}, good], clock)
    const leaving = new AbortController()
    const answering = gateway.chat(STREAM, { signal: leaving.signal })
    const { closed } = await suppliers[0]!.request(0)
    // The attempt that hears of the leaving stops its clock, and the early answer falls due just then.
    arm()
    leaving.abort()
    expect(await answering.catch((thrown: unknown) => thrown)).toBeInstanceOf(Error)
    await closed
    await until(() => readAudit(folder).length > 0)
    expect(fake.elapsed()).toBe(EARLY_MS)
    await gateway.drain()
    expect(readAudit(folder)).toMatchObject([
      { status: 499, code: 'streaming_settlement_cancelled', supplier: 'fake', attempts: 1 },
    ])
    expect(suppliers[1]!.connections()).toBe(0)
    expect(fake.listeners()).toBe(0)
  })
})

/** A clock that fails once, when it is asked for the time so many more times: a fault of the house. */
function createBroken(fake: FakeClock): {
  readonly clock: Clock
  readonly arm: (times: number) => void
} {
  let left = 0
  return {
    arm: (times) => void (left = times),
    clock: {
      ...fake,
      elapsed() {
        left -= 1
        if (left === 0) throw new TypeError('the clock has stopped')
        return fake.elapsed()
      },
    },
  }
}

describe('a fault of our own after the supplier has worked', () => {
  async function expectNoticed({ gateway, folder }: House): Promise<void> {
    await until(() => readRecords(folder).ends.length > 0)
    const { holds, ends } = readRecords(folder)
    expect(ends).toMatchObject([{ state: 'voided', evidence: 'unknown', cost: 0, attempts: 1 }])
    const page = await gateway.manage('GET', `/calls/${holds[0]!.request_id}`)
    expect(await page.json()).toMatchObject({
      tries: [{ supplier: 'fake', evidence: 'unknown', suspense_usd: toUsd(holds[0]!.amount) }],
    })
    await expectSoundBooks(folder)
  }

  it('leaves no call open and no bill unnoticed', async () => {
    const { clock, arm } = createBroken(createFakeClock())
    const answer: Script = (request, reply, index) => {
      arm(1)
      return good(request, reply, index)
    }
    const house = await openHouse([answer], clock)
    const response = await house.gateway.chat({ ...HELLO, max_tokens: 10 })
    expect(response.status).toBe(500)
    expect(await response.json()).toMatchObject({ error: { code: 'internal_error' } })
    await expectNoticed(house)
  })

  it('ends a stream with an error, and the same is true', async () => {
    const { clock, arm } = createBroken(createFakeClock())
    const gate = createGate()
    const begin: Script = async (_, reply) => {
      const stream = reply.stream()
      stream.send(ROLE + HI)
      await gate.opened
      stream.send(STOP + DONE)
    }
    const house = await openHouse([begin], clock)
    const reader = readText(await house.gateway.chat({ ...STREAM, max_tokens: 10 }))
    await reader.until('Hi')
    // The first question is what is left of the time to close, the second what is told of the call.
    arm(2)
    gate.open()
    const text = await reader.rest()
    expect(text).toContain('"code":"internal_error"')
    expect(text).not.toContain('[DONE]')
    await expectNoticed(house)
  })
})

/** What someone else does to the database while a supplier works, and how it is undone. */
interface Trouble {
  readonly name: string
  readonly begin: string
  readonly end: string
  /** The database's own word for it, which is the operator's alone. */
  readonly cause: string
}

const TROUBLES: readonly Trouble[] = [
  { name: 'is locked', begin: 'BEGIN IMMEDIATE', end: 'ROLLBACK', cause: 'database is locked' },
  {
    // Only the true record is refused: one with other figures in its place would be taken.
    name: 'refuses the record',
    begin: `CREATE TRIGGER refusal BEFORE INSERT ON audit WHEN new.state = 'settled'
      BEGIN SELECT RAISE(ABORT, 'no room'); END`,
    end: 'DROP TRIGGER refusal',
    cause: 'no room',
  },
]

/** What a key is told of its call, and what the books show of it at last. */
const LATE = { status: 200, cost: 5850, input_tokens: 11, output_tokens: 7, state: 'settled' }

describe.each(TROUBLES)(
  'a call whose record cannot be stored, as the database $name,',
  (trouble) => {
    async function callUnrecorded(stream: boolean, usage: object = USAGE) {
      let outsider: Database | undefined
      const clock = createFakeClock()
      const house = await openHouse(
        [
          (request, reply, index) => {
            if (index === 0) outsider?.run(trouble.begin)
            return answerWith(reply, readAsked(request.body), usage)
          },
          good,
        ],
        clock,
      )
      const database = new Database(join(house.folder, 'gateway.db'))
      outsider = database
      tidy({ stop: async () => database.close() })
      const key = await house.gateway.createKey({ name: 'payer', budget_limit: 1 })
      const headers = { authorization: `Bearer ${key.key}` }
      const body = { ...HELLO, max_tokens: 10, stream }
      const response = await house.gateway.chat(body, { headers })
      const text = await response.text()
      return {
        ...house,
        clock,
        key,
        response,
        text,
        again: () => house.gateway.chat(body, { headers }),
        mend: () => void database.run(trouble.end),
      }
    }

    it('is answered all the same, and told to be pending, when it is unary', async () => {
      const { response, text, suppliers, log } = await callUnrecorded(false)
      expect(response.status).toBe(200)
      expect(JSON.parse(text)).toMatchObject({ object: 'chat.completion' })
      expect(response.headers.get('x-svc-settlement')).toBe('pending')
      expect(response.headers.get('x-svc-settlement-code')).toBe('supplier_settlement_unavailable')
      expect(response.headers.get('x-svc-cost-usd')).toBe('0.00000585')
      expect(suppliers[1]!.connections()).toBe(0)
      expect(text).not.toContain(trouble.cause)
      await until(() => log.join('').includes(trouble.cause))
    })

    it('ends as it should, and is told to be pending before its marker, when it is a stream', async () => {
      const { response, text, suppliers } = await callUnrecorded(true)
      expect(response.status).toBe(200)
      expect(text).toContain('Hi')
      expect(text).toContain(': x-svc-settlement: pending\n')
      expect(text).toContain(': x-svc-settlement-code: streaming_settlement_failed\n')
      expect(text).toContain(': x-svc-cost-usd: 0.00000585\n')
      expect(text).not.toContain('"error"')
      expect(text.indexOf(': x-svc-settlement: ')).toBeLessThan(text.indexOf(DONE))
      expect(text).toEndWith(DONE)
      expect(suppliers[1]!.connections()).toBe(0)
    })

    it('has a code of its own when it costs nothing', async () => {
      const free = { prompt_tokens: 0, completion_tokens: 0 }
      const { response } = await callUnrecorded(false, free)
      expect(response.headers.get('x-svc-settlement-code')).toBe('settlement_pending')
    })

    it.each([false, true])(
      'holds its money until it is written, and then is written once (stream: %p)',
      async (stream) => {
        const { gateway, folder, key, clock, again, mend } = await callUnrecorded(stream)
        const [hold] = readRecords(folder).holds
        expect(await readKey(gateway, key.id)).toMatchObject({ used: 0, held: hold!.amount })
        const refused = await again()
        expect(refused.status).toBe(503)
        expect(refused.headers.get('retry-after')).toBe('1')
        expect(await refused.json()).toMatchObject({ error: { code: 'billing_unavailable' } })
        clock.advance(1000)
        expect(endsOf(readRecords(folder))).toEqual([])
        mend()
        clock.advance(1000)
        await until(() => endsOf(readRecords(folder)).length > 0)
        const code = stream ? 'streaming_settlement_failed' : 'supplier_settlement_failed'
        expect(await readKey(gateway, key.id)).toMatchObject({ used: 5850, held: 0 })
        const next = await again()
        expect(next.status).toBe(200)
        await next.text()
        await gateway.drain()
        expect(endsOf(readRecords(folder))).toMatchObject([
          { ...LATE, code },
          { ...LATE, code: null },
        ])
        expect(readRecords(folder).notes).toMatchObject([{ kind: 'resumed' }])
        await expectSoundBooks(folder)
      },
    )

    it('is written at the end of the process, if it can be', async () => {
      const { gateway, folder, mend } = await callUnrecorded(false)
      mend()
      await gateway.drain()
      expect(endsOf(readRecords(folder))).toMatchObject([LATE])
      await expectSoundBooks(folder)
    })

    it('is in review after the next start, if it cannot, and counts until then', async () => {
      const { gateway, folder, key, clock, mend } = await callUnrecorded(false)
      await gateway.drain()
      mend()
      expect(endsOf(readRecords(folder))).toEqual([])
      const next = tidy(await startGateway({ environment: { GATEWAY_DATA: folder }, clock }))
      const [hold] = readRecords(folder).holds
      expect(readRecords(folder).notes).toMatchObject([
        { kind: 'review', request_id: hold!.request_id },
      ])
      expect(await readKey(next, key.id)).toMatchObject({ used: 0, held: hold!.amount })
      await expectSoundBooks(folder)
    })
  },
)

describe('a usage that cannot be read', () => {
  it.each([false, true])('is told to the operator (stream: %p)', async (stream) => {
    const usage = { prompt_tokens: '10', completion_tokens: 5, total_tokens: 15 }
    const supplier = tidy(
      await startFakeSupplier((_, reply) => {
        if (!stream) return reply.json(200, completion('Hi', usage))
        const told = `data: ${JSON.stringify({ choices: [], usage })}\n\n`
        return sendEvents(reply, [...ANSWER, told, DONE])
      }),
    )
    let logged = ''
    const log = createLog({ write: (more) => (logged += more), now: () => 0, isTerminal: false })
    const gateway = tidy(await startGateway({ suppliers: [supplierAt(supplier.origin)], log }))
    const response = await gateway.chat({ ...HELLO, stream })
    expect([response.status, (await response.text()).includes('Hi')]).toEqual([200, true])
    await until(() =>
      logged.includes('supplier fake: it told a usage of test-model that cannot be read'),
    )
  })
})

describe('a failure that the next supplier makes good', () => {
  it('is told to the operator and not to the caller', async () => {
    const first = tidy(await startFakeSupplier(refuse(401, { message: 'wrong key' })))
    const second = tidy(await startFakeSupplier(good))
    let logged = ''
    const log = createLog({ write: (more) => (logged += more), now: () => 0, isTerminal: false })
    const suppliers = [supplierAt(first.origin), supplierAt(second.origin, { id: 'fake-2' })]
    const gateway = tidy(await startGateway({ suppliers, log }))
    expect((await gateway.chat(HELLO)).status).toBe(200)
    await until(() => logged.includes('supplier fake: it answered 401. Check its credential.'))
  })
})

// The books of a call at their worst moments: a caller that has gone before its early answer is built,
// and a database that takes no record while the supplier has already done the work.
import { afterEach, describe, expect, it } from 'bun:test'
import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import type { Clock } from '../src/core/clock.ts'
import { createLog } from '../src/observe/log.ts'
import { createFakeClock, type FakeClock } from './fakes/clock.ts'
import { HELLO, readAudit, startGateway, supplierAt, type Gateway } from './fakes/gateway.ts'
import { createFolder } from './fakes/process.ts'
import {
  ANSWER,
  closeStreet,
  good,
  refuse,
  sendEvents,
  tidy,
  until,
  type ErrorBody,
} from './fakes/street.ts'
import {
  completion,
  DONE,
  startFakeSupplier,
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
    begin: `CREATE TRIGGER refusal BEFORE INSERT ON audit WHEN new.code IS NULL
      BEGIN SELECT RAISE(ABORT, 'no room'); END`,
    end: 'DROP TRIGGER refusal',
    cause: 'no room',
  },
]

describe.each(TROUBLES)(
  'a call whose record cannot be stored, as the database $name,',
  (trouble) => {
    async function callUnrecorded(body: object) {
      let outsider: Database | undefined
      const { gateway, suppliers, folder, log } = await openHouse(
        [
          (request, reply, index) => {
            if (index === 0) outsider?.run(trouble.begin)
            return good(request, reply, index)
          },
          good,
        ],
        createFakeClock(),
      )
      const database = new Database(join(folder, 'gateway.db'))
      outsider = database
      tidy({ stop: async () => database.close() })
      const response = await gateway.chat(body)
      const text = await response.text()
      database.run(trouble.end)
      // Whatever is still to be written is written before this one.
      const next = await gateway.chat(body)
      await next.text()
      await gateway.drain()
      expect(suppliers[0]!.requests).toHaveLength(2)
      expect(suppliers[1]!.connections()).toBe(0)
      expect(readAudit(folder)).toMatchObject([
        { request_id: next.headers.get('x-request-id') ?? '', status: 200, code: null, cost: 5850 },
      ])
      return { response, text, log: log.join('') }
    }

    it('is refused when it is unary, in a way that nobody repeats', async () => {
      const { response, text, log } = await callUnrecorded(HELLO)
      expect(response.status).toBe(503)
      expect(response.headers.get('x-should-retry')).toBe('false')
      expect(response.headers.get('retry-after')).toBeNull()
      const { error } = JSON.parse(text) as ErrorBody
      expect(error).toMatchObject({ code: 'supplier_settlement_unavailable', retryable: false })
      expect(text).not.toContain(trouble.cause)
      expect(log).toContain('supplier_settlement_unavailable')
      expect(log).toContain(trouble.cause)
    })

    it('ends in an error and without its closing marker when it is a stream', async () => {
      const { response, text } = await callUnrecorded(STREAM)
      expect(response.status).toBe(200)
      const events = text.split('\n\n').filter((event) => event.startsWith('data: '))
      const { error } = JSON.parse(events.at(-1)!.slice('data: '.length)) as ErrorBody
      expect(error).toMatchObject({ code: 'streaming_settlement_failed', retryable: false })
      expect(text).toContain('Hi')
      expect(text).not.toContain('[DONE]')
      expect(text).not.toContain('x-svc-cost-usd')
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

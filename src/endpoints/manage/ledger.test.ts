// The books as the interface tells them, and the order to archive, given over HTTP and at the command line.
import { afterEach, beforeEach, describe, expect, it } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Clerk } from '../../../test/fakes/books.ts'
import { ROOT_CANARY } from '../../../test/fakes/canary.ts'
import { createFakeClock, type FakeClock } from '../../../test/fakes/clock.ts'
import { createFolder, type Folder } from '../../../test/fakes/process.ts'
import { createGate, until } from '../../../test/fakes/street.ts'
import { tell, type Told } from '../../../test/fakes/terminal.ts'
import type { KeyRecord } from '../../core/key.ts'
import { listen, type Exchange, type Listener } from '../../http/server.ts'
import { Archive } from '../../ledger/months/archive.ts'
import { closeMonth } from '../../ledger/months/month.ts'
import { createLog } from '../../observe/log.ts'
import type { House } from '../endpoint.ts'
import { health } from '../health.ts'
import { renderProblem } from '../index.ts'
import { ledgerEndpoints } from './ledger.ts'

type Json = Readonly<Record<string, unknown>>

const BUDGET = { limit: 3_000_000, period: 'monthly' } as const

let folder: Folder
let clerk: Clerk
let clock: FakeClock
let listener: Listener
/** The books' own time. */
let booksNow: number

beforeEach(async () => {
  folder = createFolder()
  clerk = new Clerk()
  clerk.settle(clerk.hold('key_a', 500_000, BUDGET)!, 5)
  clerk.at = Date.UTC(2026, 10, 1, 4)
  clerk.settle(clerk.hold('key_a', 500_000, BUDGET)!, 2000)
  clerk.hold('key_b', 500_000, BUDGET)
  await closeMonth(clerk.books, clerk.books.append, { month: '2026-10', at: clerk.at })
  clock = createFakeClock(clerk.at)
  booksNow = clerk.at
  listener = open()
})

afterEach(async () => {
  await listener.stop(true)
  folder[Symbol.dispose]()
})

/** The two endpoints, and what a command asks before it trusts them, over books in memory. */
function open(): Listener {
  const { books } = clerk
  const house = {
    plant: {
      clock,
      store: { ledger: books, append: books.append },
      ledger: { reviews: () => [{}], now: () => booksNow },
      log: createLog({ write: () => {}, now: () => 0, isTerminal: true }),
    },
    keyring: { current: (key: KeyRecord) => key },
    state: { phase: 'ready' },
    archive: new Archive({
      ledger: books,
      append: books.append,
      folder: folder.path,
      now: () => clock.now(),
      closeMonths: async () => {},
    }),
  } as unknown as House
  const root = {} as KeyRecord
  return listen({
    host: '127.0.0.1',
    port: 0,
    clock,
    routes: [
      { ...health, handler: (exchange) => health.answer(exchange, house) },
      ...ledgerEndpoints.map((endpoint) => ({
        method: endpoint.method,
        path: endpoint.path,
        handler: (exchange: Exchange) => endpoint.answer(exchange, root, house),
      })),
    ],
    render: (thrown, exchange) => renderProblem(thrown, exchange, house),
    observe: () => {},
  })
}

async function post(body: object): Promise<readonly [status: number, body: Json]> {
  const response = await fetch(`${listener.url}/v1/manage/ledger/archive`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return [response.status, (await response.json()) as Json]
}

function command(...words: readonly string[]): Promise<Told> {
  const line = ['ledger', 'archive', '--url', listener.url, ...words]
  return tell(line, { environment: { GATEWAY_KEY: ROOT_CANARY } })
}

describe('GET /v1/manage/ledger', () => {
  it('tells where the books stand and what this month has come to', async () => {
    const response = await fetch(`${listener.url}/v1/manage/ledger`)
    const text = await response.text()
    expect(JSON.parse(text)).toEqual({
      object: 'ledger',
      writer: 'wrt_fake',
      number: 6,
      hash: clerk.books.last.hash,
      archived: 0,
      open: 1,
      in_review: 1,
      month: '2026-11',
      accounts: [
        { account: 'key/key_a', amount_usd: 0.0005 },
        { account: 'supplier/first', amount_usd: -0.001215 },
        { account: 'overrun', amount_usd: 0.000715 },
      ],
    })
    expect(text).toContain('"amount_usd":0.0005}')
  })

  it('tells the month by the time of the books, whatever the clock says', async () => {
    booksNow = Date.UTC(2026, 9, 31, 23)
    const response = await fetch(`${listener.url}/v1/manage/ledger`)
    const { month, accounts } = (await response.json()) as Json
    expect(month).toBe('2026-10')
    expect(accounts).not.toEqual([])
  })

  it('is for the root key alone, as all of this is', () => {
    expect(ledgerEndpoints.map(({ role }) => role)).toEqual(['operate', 'operate'])
  })
})

describe('POST /v1/manage/ledger/archive', () => {
  it('moves closed months into files', async () => {
    const [status, body] = await post({ before: '2026-11' })
    expect(status).toBe(200)
    expect(body).toEqual({
      object: 'ledger.archive',
      status: 'done',
      months: [{ month: '2026-10', file: 'ledger-2026-10.jsonl.gz', first: 1, last: 2 }],
    })
    expect(existsSync(join(folder.path, 'ledger-2026-10.jsonl.gz'))).toBe(true)
    expect(clerk.books.base.number).toBe(2)
    expect((await post({ before: '2026-11' }))[1]).toMatchObject({ status: 'done', months: [] })
  })

  it('answers before the work is done where that takes long, and joins it when asked again', async () => {
    const { books } = clerk
    const gate = createGate()
    const records = books.records.bind(books)
    books.records = async (after, limit) => {
      await gate.opened
      return records(after, limit)
    }
    const waiting = post({ before: '2026-11' })
    await until(() => clock.listeners() > 0)
    clock.advance(20_000)
    expect((await waiting)[1]).toMatchObject({ status: 'running', months: [] })
    const again = post({ before: '2026-11' })
    gate.open()
    expect((await again)[1]).toMatchObject({ status: 'done', months: [{ month: '2026-10' }] })
    expect(clock.listeners()).toBe(0)
  })

  it.each([
    [{ before: '2026-12' }, 400, 'validation_error', 'before'],
    [{ before: 'October' }, 400, 'validation_error', 'before'],
    [{ before: 5 }, 400, 'validation_error', 'before'],
    [{}, 400, 'missing_fields', 'before'],
    [{ before: '2026-11', after: 3 }, 400, 'unsupported_parameter', 'after'],
  ])('refuses %j', async (body, status, code, param) => {
    const [got, { error }] = await post(body)
    expect([got, error]).toEqual([status, expect.objectContaining({ code, param })])
    expect(clerk.books.base.number).toBe(0)
  })
})

describe('gateway ledger archive', () => {
  it('says which records went where', async () => {
    expect(await command('--before', '2026-11')).toEqual({
      code: 0,
      out: '2026-10: records 1 to 2 are in ledger-2026-10.jsonl.gz.\n',
      err: '',
    })
    expect((await command('--before', '2026-11')).out).toBe(
      'There is nothing to archive: no record is older than 2026-11.\n',
    )
    expect(JSON.parse((await command('--before', '2026-11', '--json')).out)).toMatchObject({
      status: 'done',
    })
  })

  it('tells a month that cannot be', async () => {
    const { code, err } = await command('--before', '2031-01')
    expect(code).toBe(2)
    expect(err).toContain('[--before]')
  })
})

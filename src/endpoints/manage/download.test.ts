// Downloads as their readers meet them: pages in step with whoever takes them, one at a time for all, and
// a file that breaks off rather than look complete.
import { afterEach, beforeEach, describe, expect, it } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { asRecord, sampleKey, sampleRow } from '../../../test/contracts/samples.ts'
import { ROOT_KEY } from '../../../test/fakes/gateway.ts'
import { connectRaw, formatRequest, LAST_CHUNK, type RawRequest } from '../../../test/fakes/raw.ts'
import { createGate, until } from '../../../test/fakes/street.ts'
import { Directory } from '../../access/directory.ts'
import { Guesses } from '../../access/guesses.ts'
import type { Identities } from '../../access/identities.ts'
import { Keyring } from '../../access/keyring.ts'
import { Places } from '../../core/places.ts'
import type { AuditRow } from '../../core/audit.ts'
import { createSystemClock } from '../../core/clock.ts'
import { hashSecret } from '../../core/ids.ts'
import { listen, type Exchange, type Listener } from '../../http/server.ts'
import { createLog } from '../../observe/log.ts'
import type { Archive } from '../../ledger/months/archive.ts'
import type { Plant } from '../../pipeline/call.ts'
import { createAudit } from '../../store/sqlite/audit.ts'
import { openSqliteStore } from '../../store/sqlite/open.ts'
import { createReads, startReader } from '../../store/sqlite/reads.ts'
import type { AuditQuery, AuditRepository, Page, Store } from '../../store/store.ts'
import type { House } from '../endpoint.ts'
import { renderProblem, routesOf } from '../index.ts'

type Json = Readonly<Record<string, unknown>>
type List = AuditRepository['list']

const clock = createSystemClock()

interface Desk {
  readonly house: House
  readonly listener: Listener
  readonly noted: readonly string[]
}

const opened: Listener[] = []

/** A gateway over the lists of one repository. */
function openDesk(list: List): Desk {
  const noted: string[] = []
  const root = sampleKey('acc_a', { kind: 'root', hash: hashSecret(ROOT_KEY) })
  const directory = new Directory()
  const plant = {
    clock,
    store: { audit: { list } },
    log: createLog({ write: (text) => noted.push(text), now: () => 0, isTerminal: false }),
  } as unknown as Plant
  const house: House = {
    plant,
    keyring: new Keyring([root], clock, directory),
    directory,
    identities: {} as unknown as Identities,
    nativeSuppliers: () => [],
    formLimits: { bodyBytesMax: 0, fileBytesMax: 0, folder: '' },
    uploads: new Places(0),
    guesses: new Guesses(),
    state: { phase: 'ready' },
    archive: {} as unknown as Archive,
    reload: () => Promise.reject(new Error('not in this test')),
  }
  const listener = listen({
    host: '127.0.0.1',
    port: 0,
    clock,
    routes: routesOf(house),
    render: (thrown, exchange) => renderProblem(thrown, exchange, house),
    observe: () => {},
  })
  opened.push(listener)
  return { house, listener, noted }
}

/** A gateway over pages that a test makes up, and a count of those it has asked for. */
function openPages(
  makePage: (index: number, query: AuditQuery) => Page<AuditRow>,
): Desk & { readonly read: () => number } {
  let read = 0
  const desk = openDesk(async (_, query) => {
    const page = makePage(read++, query)
    // As from a thread of its own, a page comes in a later turn.
    await new Promise((resolve) => setImmediate(resolve))
    return page
  })
  return { ...desk, read: () => read }
}

const LARGE = sampleRow({ model: 'm'.repeat(4000) })
const fullPage = (index: number, { limit }: AuditQuery): Page<AuditRow> => ({
  items: Array.from({ length: limit }, () => LARGE),
  next: String(index),
})

const TARGET = '/v1/manage/audit?format=jsonl'

const ask = (listener: Listener, more = ''): Promise<Response> =>
  fetch(`${listener.url}${TARGET}${more}`, {
    headers: { authorization: `Bearer ${ROOT_KEY}` },
  })

const REQUEST: RawRequest = {
  target: TARGET,
  headers: [['Authorization', `Bearer ${ROOT_KEY}`]],
}

afterEach(async () => {
  for (const listener of opened.splice(0)) await listener.stop(true)
})

describe('a download', () => {
  it('reads one page for each that is taken, and none ahead', async () => {
    const { house, read } = openPages(fullPage)
    const { handler } = routesOf(house).find(({ path }) => path === '/v1/manage/audit')!
    const request = new Request('http://gateway.test/v1/manage/audit?format=csv', {
      headers: { authorization: `Bearer ${ROOT_KEY}` },
    })
    const { signal } = request
    const exchange = { id: 'req_x', request, signal, at: 0, keepOpen: () => {}, letGo: () => {} }
    const response = await handler(exchange as unknown as Exchange)
    const reader = response.body!.getReader()
    for (let taken = 1; taken <= 5; taken++) {
      // oxlint-disable-next-line no-await-in-loop -- one after another is what is tested
      await reader.read()
      expect(read()).toBe(taken)
    }
    await reader.cancel()
    expect(read()).toBe(5)
  })

  it('waits for a slow reader, and stops for one who has gone', async () => {
    // Every page is a megabyte: what lies in the buffers of two sockets is a dozen of them.
    const pagesMax = 500
    const { listener, read } = openPages((index, query) => ({
      ...fullPage(index, query),
      next: index < pagesMax ? String(index) : undefined,
    }))
    const response = await ask(listener)
    const reader = response.body!.getReader()
    await reader.read()
    await quiet(read)
    expect(read()).toBeLessThan(100)
    await reader.cancel()
    await until(() => listener.pending() === 0)
    const atLeaving = read()
    await quiet(read)
    expect(read()).toBe(atLeaving)
  })

  it('stops looking for someone who has gone while nothing was found', async () => {
    const { listener, read } = openPages((index) => ({
      items: index === 0 ? [LARGE] : [],
      next: String(index),
    }))
    const client = await connectRaw(listener.url)
    await client.send(formatRequest(REQUEST))
    await until(() => read() > 20 && client.rest.includes('mmmm'))
    client.reset()
    await until(() => listener.pending() === 0)
    const atLeaving = read()
    await quiet(read)
    expect(read()).toBeLessThanOrEqual(atLeaving + 1)
  })

  it('tells what is wrong while it still can', async () => {
    const { listener } = openPages(() => {
      throw new Error('no disk')
    })
    const response = await ask(listener)
    expect(response.status).toBe(500)
    expect(((await response.json()) as { error: Json }).error['code']).toBe('internal_error')
  })

  it('breaks off where it cannot go on, and never looks complete', async () => {
    const { listener, noted } = openPages((index, query) => {
      if (index === 3) throw new Error('no disk')
      return fullPage(index, query)
    })
    const client = await connectRaw(listener.url)
    await client.send(formatRequest(REQUEST))
    await client.closed
    const text = client.rest.toString('latin1')
    expect(text).toStartWith('HTTP/1.1 200')
    expect(text).not.toEndWith('0\r\n\r\n')
    expect((await ask(listener)).status).toBe(200)
    await until(() => noted.length > 0)
    expect(noted.join('')).toContain('no disk')
  })
})

describe('many downloads', () => {
  it('are read a page at a time, all of them together', async () => {
    let reading = 0
    let readingMost = 0
    const { listener } = openDesk(async (_, { cursor = '0' }) => {
      reading += 1
      readingMost = Math.max(readingMost, reading)
      await new Promise((resolve) => setImmediate(resolve))
      reading -= 1
      const next = Number(cursor) + 1
      return { items: [LARGE], next: next < 5 ? String(next) : undefined }
    })
    const texts = await Promise.all(
      Array.from({ length: 20 }, async () => (await ask(listener)).text()),
    )
    for (const text of texts) expect(text.trimEnd().split('\n')).toHaveLength(5)
    expect(readingMost).toBe(1)
  })

  it('go on when one of them fails', async () => {
    const { listener } = openPages((index) => {
      if (index === 0) throw new Error('no disk')
      return { items: [LARGE], next: undefined }
    })
    const statuses = await Promise.all(
      Array.from({ length: 5 }, async () => (await ask(listener)).status),
    )
    expect(statuses.filter((status) => status === 200)).toHaveLength(4)
    expect(statuses).toContain(500)
  })

  it('cost no page for someone who has left the queue', async () => {
    const gate = createGate()
    const asked: (string | undefined)[] = []
    const { listener } = openDesk(async (_, { model, cursor }) => {
      asked.push(model)
      // The second page of the one who stays keeps everyone waiting.
      if (model === 'stays' && cursor !== undefined) await gate.opened
      return { items: [LARGE], next: cursor === undefined ? 'more' : undefined }
    })
    const goes = await connectRaw(listener.url)
    const stays = ask(listener, '&model=stays')
    const text = (await stays).text()
    await until(() => asked.length === 2)
    await goes.send(formatRequest({ ...REQUEST, target: `${TARGET}&model=goes` }))
    await until(() => listener.pending() === 2)
    goes.reset()
    await quiet(() => asked.length)
    gate.open()
    expect((await text).trimEnd().split('\n')).toHaveLength(2)
    await until(() => listener.pending() === 0)
    await quiet(() => asked.length)
    expect(asked).toEqual(['stays', 'stays'])
  })
})

describe('a download from a store', () => {
  const COUNT = 2000
  let folder: string
  let store: Store

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'download-'))
    store = await openSqliteStore({ folder, clock })
    await store.append(Array.from({ length: COUNT }, () => asRecord(sampleRow())))
  })
  afterEach(async () => {
    await store.close()
    rmSync(folder, { recursive: true })
  })

  /** Everything that came until the connection was closed. */
  const take = async ({ url }: Listener): Promise<string> => {
    const client = await connectRaw(url)
    await client.send(formatRequest(REQUEST))
    await client.closed
    return client.rest.toString('latin1')
  }

  const expectBroken = (text: string): void => {
    expect(text).toStartWith('HTTP/1.1 200')
    expect(text).toContain('"request_id":"req_')
    expect(text).not.toEndWith(LAST_CHUNK)
    expect(text.split('"request_id"').length - 1).toBeLessThan(COUNT)
  }

  it('breaks off when the reader dies, and the next one is whole', async () => {
    let started = 0
    const reads = createReads(() => {
      const worker = startReader(join(folder, 'gateway.db'))
      started += 1
      if (started === 1) dieAt(worker, 8)
      return worker
    })
    const audit = createAudit(reads)
    const { listener, noted } = openDesk((accountId, query) => audit.list(accountId, query))
    expectBroken(await take(listener))
    expect(noted.join('')).toContain('download broken off')
    const lines = (await (await ask(listener)).text()).trimEnd().split('\n')
    expect(lines).toHaveLength(COUNT)
    expect(started).toBe(2)
    await reads.close()
  })

  it('breaks off when the store is closed, which waits for no more than a page', async () => {
    let pages = 0
    let closing: Promise<void> | undefined
    const { listener } = openDesk((accountId, query) => {
      const page = store.audit.list(accountId, query)
      pages += 1
      if (pages === 3) closing = store.close()
      return page
    })
    expectBroken(await take(listener))
    await closing
    expect(pages).toBeLessThanOrEqual(4)
    expect((await ask(listener)).status).toBe(503)
  })
})

/** Ends the reader in the place of the message with this number, which it never gets to see. */
function dieAt(worker: Worker, number: number): void {
  const post = worker.postMessage.bind(worker)
  let left = number
  worker.postMessage = (message: unknown) => {
    left -= 1
    if (left === 0) void worker.terminate()
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    else if (left > 0) post(message)
  }
}

/** Resolves when a count has stood still for many turns of the loop. */
async function quiet(count: () => number): Promise<void> {
  let last = count()
  for (let turns = 0; turns < 200; turns++) {
    // oxlint-disable-next-line no-await-in-loop -- turn by turn
    await new Promise((resolve) => setImmediate(resolve))
    if (count() !== last) turns = 0
    last = count()
  }
}

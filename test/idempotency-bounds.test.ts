// What answers under an Idempotency-Key may take: of the disk, where no account fills it for the others, and of the
// gateway's time, where an answer that is shown again counts as a call.
import { Database } from 'bun:sqlite'
import { afterEach, describe, expect, it } from 'bun:test'
import { join } from 'node:path'
import { createFakeClock } from './fakes/clock.ts'
import { HELLO, startGateway, supplierAt, type Gateway } from './fakes/gateway.ts'
import { dataOf } from './fakes/records.ts'
import { closeStreet, HI, readText, ROLE, STOP, tidy, until } from './fakes/street.ts'
import {
  chunk,
  completion,
  DONE,
  startFakeSupplier,
  USAGE_CHUNK,
  type FakeSupplier,
  type Script,
} from './fakes/supplier.ts'

afterEach(closeStreet)

const STREAM = { ...HELLO, stream: true }
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

interface Told {
  readonly status: number
  readonly code: string | undefined
  readonly isReplay: boolean
  readonly headers: Headers
}

async function ask(gateway: Gateway, key: string, secret?: string, body = HELLO): Promise<Told> {
  const own = secret === undefined ? {} : { authorization: `Bearer ${secret}` }
  const response = await gateway.chat(body, { headers: { 'idempotency-key': key, ...own } })
  const { status, headers } = response
  const code = /"code":"(\w+)"/.exec(await response.text())?.[1]
  return { status, code, isReplay: headers.get('idempotency-replayed') === 'true', headers }
}

async function open(script: Script, total = 1_000_000) {
  const supplier = tidy(await startFakeSupplier(script))
  const clock = createFakeClock()
  return { supplier, clock, ...(await start(supplier, { clock, total })) }
}

async function start(
  supplier: FakeSupplier,
  {
    clock,
    total,
    data,
  }: { clock: ReturnType<typeof createFakeClock>; total: number; data?: string },
): Promise<{ readonly gateway: Gateway }> {
  const gateway = await startGateway({
    suppliers: [supplierAt(supplier.origin)],
    config: `idempotency: { total_bytes: ${total} }\n`,
    clock,
    ...(data !== undefined && { environment: { GATEWAY_DATA: data } }),
  })
  return { gateway: tidy(gateway) }
}

/** Asks under new keys until an answer is not kept; the keys of those that were. */
async function fill(gateway: Gateway, name: string, secret?: string): Promise<readonly string[]> {
  const kept: string[] = []
  for (;;) {
    const key = `${name}-${kept.length}`
    /* oxlint-disable no-await-in-loop -- one after another */
    expect(await ask(gateway, key, secret)).toMatchObject({ status: 200, isReplay: false })
    const again = await ask(gateway, key, secret)
    /* oxlint-enable no-await-in-loop */
    if (!again.isReplay) {
      expect(again).toMatchObject({ status: 409, code: 'payload_not_durable' })
      return kept
    }
    kept.push(key)
  }
}

function countAnswers(data: string): number {
  const database = new Database(join(data, 'gateway.db'), { readonly: true })
  const sql = 'SELECT count(*) AS count FROM claims WHERE answer IS NOT NULL'
  const found = database.query<{ readonly count: number }, []>(sql).get()
  database.close(true)
  return found!.count
}

const long: Script = (_, reply) => reply.json(200, completion('x'.repeat(2000)))

describe('the disk', () => {
  it('is shared: who has filled a share leaves room for others, over starts and until they are old', async () => {
    const { gateway, supplier, clock } = await open(long, 40_000)
    const kept = await fill(gateway, 'first')
    expect(kept.length).toBeWithin(6, 10)
    const opened = await gateway.manage('POST', '/accounts', { name: 'other' })
    const { root_key: other } = (await opened.json()) as { root_key: string }
    expect((await fill(gateway, 'second', other)).length).toBeGreaterThan(2)
    await gateway.drain()

    const parts = { clock, total: 40_000, data: dataOf(gateway) }
    const { gateway: next } = await start(supplier, parts)
    expect(await ask(next, kept[0]!)).toMatchObject({ isReplay: true })
    expect(await fill(next, 'third')).toEqual([])

    clock.sleep(DAY_MS + 1)
    await until(() => countAnswers(parts.data) === 0)
    expect(await fill(next, 'fourth')).toHaveLength(kept.length)
  })

  it('is not touched at zero', async () => {
    const { gateway } = await open(long, 0)
    expect(await fill(gateway, 'none')).toEqual([])
  })

  it('has no room for more of a stream whose caller has gone: it is let go of', async () => {
    let isFull = false
    const { gateway, supplier } = await open((request, reply, index) => {
      if (!isFull) return long(request, reply, index)
      reply.stream().send(ROLE + chunk({ content: 'x'.repeat(3000) }) + HI)
    }, 20_000)
    const kept = await fill(gateway, 'full')
    expect(kept.length).toBeWithin(2, 6)
    isFull = true
    const leaving = new AbortController()
    const response = await gateway.chat(STREAM, {
      headers: { 'idempotency-key': 'gone' },
      signal: leaving.signal,
    })
    await readText(response).until('Hi')
    leaving.abort()
    await supplier.requests.at(-1)!.closed
    await until(() => gateway.audit().some(({ stream }) => stream === 1))
    expect(await ask(gateway, 'gone', undefined, STREAM)).toMatchObject({
      code: 'payload_not_durable',
    })
  })
})

describe('an answer that is shown again', () => {
  const both: Script = (request, reply) => {
    const { stream } = JSON.parse(request.body.toString()) as { stream?: boolean }
    if (stream !== true) return reply.json(200, completion('Hi'))
    const out = reply.stream()
    out.send(ROLE + chunk({ content: 'Hi' }) + STOP + USAGE_CHUNK + DONE)
    return out.end()
  }

  it.each([
    ['whole', HELLO],
    ['streamed', STREAM],
  ])('counts against the rate of its key, %s', async (_, body) => {
    const { gateway, clock, supplier } = await open(both)
    const { key } = await gateway.createKey({ name: 'slow', rate_limit_rpm: 2 })
    expect(await ask(gateway, 'once', key, body)).toMatchObject({ status: 200, isReplay: false })
    const again = await ask(gateway, 'once', key, body)
    expect(again).toMatchObject({ status: 200, isReplay: true })
    expect(again.headers.get('x-ratelimit-remaining-requests')).toBe('0')
    const refused = await ask(gateway, 'once', key, body)
    expect(refused).toMatchObject({ status: 429, code: 'rate_limit_exceeded', isReplay: false })
    expect(refused.headers.get('x-ratelimit-limit-requests')).toBe('2')
    expect(refused.headers.get('retry-after')).toBe('60')
    clock.advance(MINUTE_MS)
    expect(await ask(gateway, 'once', key, body)).toMatchObject({ isReplay: true })
    expect(supplier.requests).toHaveLength(1)
  })

  it('counts for each of many at once', async () => {
    const { gateway, clock } = await open(both)
    const { key } = await gateway.createKey({ name: 'slow', rate_limit_rpm: 5 })
    await ask(gateway, 'once', key)
    clock.advance(MINUTE_MS)
    const told = await Promise.all(Array.from({ length: 50 }, () => ask(gateway, 'once', key)))
    expect(told.filter(({ isReplay }) => isReplay)).toHaveLength(5)
    expect(told.filter(({ status }) => status === 429)).toHaveLength(45)
  })

  it('counts against nothing where the key has no rate', async () => {
    const { gateway } = await open(both)
    await ask(gateway, 'once')
    const again = await ask(gateway, 'once')
    expect(again.isReplay).toBe(true)
    expect(again.headers.get('x-ratelimit-limit-requests')).toBeNull()
  })
})

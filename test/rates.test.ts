// Rates and numbers of calls: what a key and an address may do in a time, and how many may do it at once.
import { afterEach, describe, expect, it } from 'bun:test'
import { createFakeClock } from './fakes/clock.ts'
import { HELLO, startGateway, supplierAt, type Gateway } from './fakes/gateway.ts'
import {
  closeStreet,
  createGate,
  good,
  openStreet,
  readText,
  refuse,
  tidy,
} from './fakes/street.ts'
import { chunk, startFakeSupplier } from './fakes/supplier.ts'

afterEach(closeStreet)

function asKey(key: string): RequestInit {
  return { headers: { authorization: `Bearer ${key}` } }
}

async function statusesOf(answers: readonly Promise<Response>[]): Promise<Record<number, number>> {
  const counts: Record<number, number> = {}
  for (const answer of answers) {
    const response = await answer
    await response.text()
    counts[response.status] = (counts[response.status] ?? 0) + 1
  }
  return counts
}

describe('a key with a rate', () => {
  it('makes exactly as many calls as it may, however many come at once', async () => {
    const { gateway, suppliers } = await openStreet([good])
    const { key } = await gateway.createKey({ name: 'k', rate_limit_rpm: 60 })
    const calls = Array.from({ length: 200 }, (_, index) =>
      gateway.chat({ ...HELLO, stream: index % 3 === 0 }, asKey(key)),
    )
    expect(await statusesOf(calls)).toEqual({ 200: 60, 429: 140 })
    expect(suppliers[0]!.requests).toHaveLength(60)
  })

  it('is told to the second when there is room again, and there is', async () => {
    const { gateway, clock } = await openStreet([good])
    const { key } = await gateway.createKey({ name: 'k', rate_limit_rpm: 2 })
    const ask = () => gateway.chat(HELLO, asKey(key))
    expect((await ask()).status).toBe(200)
    clock.advance(20_500)
    expect((await ask()).status).toBe(200)
    const refused = await ask()
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '40'])
    expect(refused.headers.get('x-should-retry')).toBe('true')
    const { error } = (await refused.json()) as { error: Record<string, unknown> }
    expect(error).toMatchObject({
      code: 'rate_limit_exceeded',
      type: 'rate_limit_error',
      retryable: true,
      retry_after: 40,
      limit_rpm: 2,
    })
    // What was refused does not count: the first call leaves the minute, and that alone matters.
    clock.advance(39_499)
    expect((await ask()).status).toBe(429)
    clock.advance(1)
    expect((await ask()).status).toBe(200)
    expect((await ask()).headers.get('retry-after')).toBe('21')
  })

  it('sees in the headers what it has left', async () => {
    const { gateway, clock } = await openStreet([good])
    const { key } = await gateway.createKey({ name: 'k', rate_limit_rpm: 3 })
    const seen: (string | null)[][] = []
    for (const stream of [false, true, false, false]) {
      const { headers } = await gateway.chat({ ...HELLO, stream }, asKey(key))
      seen.push(
        ['limit', 'remaining', 'reset'].map((name) => headers.get(`x-ratelimit-${name}-requests`)),
      )
      clock.advance(250)
    }
    expect(seen).toEqual([
      ['3', '2', '1m0s'],
      ['3', '1', '59.75s'],
      ['3', '0', '59.5s'],
      ['3', '0', '59.25s'],
    ])
  })

  it('follows a change at once, up and down', async () => {
    const { gateway, clock } = await openStreet([good])
    const { id, key } = await gateway.createKey({ name: 'k', rate_limit_rpm: 1 })
    const ask = async (): Promise<number> => (await gateway.chat(HELLO, asKey(key))).status
    const set = (rpm: number | null) =>
      gateway.manage('PATCH', `/keys/${id}`, { rate_limit_rpm: rpm })
    expect([await ask(), await ask()]).toEqual([200, 429])
    await set(3)
    expect([await ask(), await ask(), await ask()]).toEqual([200, 200, 429])
    await set(null)
    expect([await ask(), await ask()]).toEqual([200, 200])
    await set(2)
    expect(await ask()).toBe(429)
    clock.advance(60_000)
    expect([await ask(), await ask(), await ask()]).toEqual([200, 200, 429])
  })

  it('pays for calls that fail at a supplier, and not for those that are refused before', async () => {
    const { gateway } = await openStreet([refuse(400, { message: 'no', code: 'bad' })])
    const { key } = await gateway.createKey({ name: 'k', rate_limit_rpm: 1 })
    for (const body of ['{', { ...HELLO, model: 'nobody' }, { ...HELLO, temperature: 9 }])
      expect((await gateway.chat(body, asKey(key))).status).toBeLessThan(429)
    expect((await gateway.chat(HELLO, asKey(key))).status).toBe(400)
    expect((await gateway.chat(HELLO, asKey(key))).status).toBe(429)
  })

  it('leaves other keys, the list of models and a key without a rate alone', async () => {
    const { gateway } = await openStreet([good])
    const { key } = await gateway.createKey({ name: 'k', rate_limit_rpm: 1 })
    const { key: other } = await gateway.createKey({ name: 'o', rate_limit_rpm: 1 })
    const models = () => fetch(`${gateway.url}/v1/models`, asKey(key))
    expect((await models()).status).toBe(200)
    expect((await gateway.chat(HELLO, asKey(key))).status).toBe(200)
    expect((await gateway.chat(HELLO, asKey(key))).status).toBe(429)
    expect((await models()).status).toBe(200)
    expect((await gateway.chat(HELLO, asKey(other))).status).toBe(200)
    const free = await gateway.chat(HELLO)
    expect([free.status, free.headers.has('x-ratelimit-limit-requests')]).toEqual([200, false])
  })
})

/** A gateway whose supplier answers when the door is opened. */
async function openHall(limits: object): Promise<{ gateway: Gateway; open: () => void }> {
  const gate = createGate()
  const supplier = tidy(
    await startFakeSupplier(async (request, reply, index) => {
      const { stream } = JSON.parse(request.body.toString()) as { stream?: boolean }
      const events = stream === true ? reply.stream() : undefined
      events?.send(chunk({ content: 'Hi' }))
      await gate.opened
      if (events === undefined) return good(request, reply, index)
      events.send(chunk({}, 'stop'))
      return events.end()
    }),
  )
  const suppliers = [supplierAt(supplier.origin)]
  const gateway = tidy(await startGateway({ suppliers, limits, clock: createFakeClock() }))
  return { gateway, open: gate.open }
}

describe('calls under way', () => {
  it('of one key are limited, unary and streamed, and leave room for others', async () => {
    const { gateway, open } = await openHall({ inFlightKeyMax: 2 })
    const { key } = await gateway.createKey({ name: 'k' })
    const streamed = readText(await gateway.chat({ ...HELLO, stream: true }, asKey(key)))
    await streamed.until('Hi')
    const second = await gateway.chat({ ...HELLO, stream: true }, asKey(key))
    const refused = await gateway.chat(HELLO, asKey(key))
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    expect(await refused.json()).toMatchObject({
      error: { code: 'capacity_exceeded', limit_in_flight: 2 },
    })
    const neighbour = gateway.chat(HELLO)
    open()
    expect((await neighbour).status).toBe(200)
    expect(await streamed.rest()).toContain('stop')
    await second.text()
    expect((await gateway.chat(HELLO, asKey(key))).status).toBe(200)
  })

  it('give their place back when they fail and when their caller leaves', async () => {
    const { gateway, open } = await openHall({ inFlightKeyMax: 1 })
    const leaving = new AbortController()
    const response = await gateway.chat({ ...HELLO, stream: true }, { signal: leaving.signal })
    await readText(response).until('Hi')
    expect((await gateway.chat(HELLO)).status).toBe(429)
    leaving.abort()
    open()
    // The leaving is noticed as soon as the runtime tells of it.
    let status = 0
    while (status !== 200) ({ status } = await gateway.chat(HELLO))
    const broken = tidy(await startFakeSupplier(refuse(500, { message: 'no' })))
    const other = tidy(
      await startGateway({ suppliers: [supplierAt(broken.origin)], limits: { inFlightKeyMax: 1 } }),
    )
    for (let count = 0; count < 3; count++) expect((await other.chat(HELLO)).status).toBe(503)
  })

  it('of all keys are limited too, and health and management stay open', async () => {
    const { gateway, open } = await openHall({ inFlightMax: 1 })
    const running = await gateway.chat({ ...HELLO, stream: true })
    const refused = await gateway.chat(HELLO)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
    expect((await fetch(`${gateway.url}/health`)).status).toBe(200)
    expect((await gateway.manage('GET', '/keys')).status).toBe(200)
    open()
    await running.text()
    expect((await gateway.chat(HELLO)).status).toBe(200)
  })
})

describe('wrong keys from one address', () => {
  it('are soon told to wait, and a good key from there works all the same', async () => {
    const { gateway, clock } = await openStreet([good])
    const guess = (path: string) => fetch(gateway.url + path, asKey(`svc_${crypto.randomUUID()}`))
    const first = await Promise.all(Array.from({ length: 50 }, () => guess('/v1/models')))
    expect(new Set(first.map(({ status }) => status))).toEqual(new Set([401]))
    clock.advance(4_000)
    for (const path of ['/v1/models', '/v1/manage/keys', '/v1/errors']) {
      const refused = await guess(path)
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '6'])
      expect(await refused.json()).toMatchObject({ error: { code: 'rate_limit_exceeded' } })
    }
    expect((await gateway.chat(HELLO)).status).toBe(200)
    // Who sends no key at all has not guessed.
    expect((await fetch(`${gateway.url}/v1/models`)).status).toBe(401)
    clock.advance(6_000)
    expect((await guess('/v1/models')).status).toBe(401)
  })
})

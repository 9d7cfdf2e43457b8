// Calls under an Idempotency-Key: done once, answered as often as they are asked for. What a supplier may have
// worked for never runs again by itself, and what provably did not run is a clean retry.
import { afterEach, describe, expect, it } from 'bun:test'
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createFakeClock } from './fakes/clock.ts'
import { findSecrets, MARK } from './fakes/canary.ts'
import {
  HELLO,
  startGateway,
  supplierAt,
  type Gateway,
  type GatewayOptions,
} from './fakes/gateway.ts'
import { dataOf, expectSoundBooks } from './fakes/records.ts'
import {
  closeStreet,
  createGate,
  good,
  HI,
  openStreet,
  readText,
  ROLE,
  STOP,
  tidy,
  until,
} from './fakes/street.ts'
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
const DAY_MS = 86_400_000
const WORD = `${MARK}-word-of-an-answer`

interface Told {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Of a refusal. */
  readonly code: string | undefined
}

async function tell(response: Response): Promise<Told> {
  const { status, headers } = response
  const text = await response.text()
  return { status, headers, text, code: /"code":"(\w+)"/.exec(text)?.[1] }
}

function under(key: string, more: Readonly<Record<string, string>> = {}): RequestInit {
  return { headers: { 'idempotency-key': key, ...more } }
}

async function ask(gateway: Gateway, body: unknown, init = under('once')): Promise<Told> {
  return tell(await gateway.chat(body, init))
}

/** The gateway again, after an end, on the same data. */
async function restart(
  gateway: Gateway,
  suppliers: readonly FakeSupplier[],
  options: GatewayOptions = {},
): Promise<Gateway> {
  await gateway.drain()
  return tidy(
    await startGateway({
      suppliers: suppliers.map(({ origin }) => supplierAt(origin)),
      ...options,
      environment: { GATEWAY_DATA: dataOf(gateway), ...options.environment },
    }),
  )
}

function answering(word: string): Script {
  return (request, reply, index) => {
    const { stream } = JSON.parse(request.body.toString()) as { stream?: boolean }
    if (stream !== true) return reply.json(200, completion(`${word} ${index}`))
    const out = reply.stream()
    out.send(ROLE + chunk({ content: `${word} ${index}` }) + STOP + USAGE_CHUNK + DONE)
    return out.end()
  }
}

function expectReplay(first: Told, again: Told): void {
  expect(again.status).toBe(first.status)
  expect(again.text).toBe(first.text)
  expect(first.headers.get('idempotency-replayed')).toBeNull()
  expect(first.headers.get('x-svc-original-request-id')).toBeNull()
  expect(again.headers.get('idempotency-replayed')).toBe('true')
  const id = first.headers.get('x-request-id')
  expect(again.headers.get('x-svc-original-request-id')).toBe(id)
  expect(again.headers.get('x-request-id')).toMatch(/^req_/)
  expect(again.headers.get('x-request-id')).not.toBe(id)
  for (const name of ['content-type', 'x-svc-supplier', 'x-svc-cost-usd', 'x-svc-failover'])
    expect(again.headers.get(name)).toBe(first.headers.get(name))
}

describe.each([
  ['whole', HELLO],
  ['streamed', STREAM],
])('the same call again, %s', (_, body) => {
  it('gets the first answer, and nobody is asked or pays again', async () => {
    const { gateway, suppliers } = await openStreet([answering('Hi')])
    const first = await ask(gateway, body)
    expect(first.status).toBe(200)
    expectReplay(first, await ask(gateway, body))
    expectReplay(first, await ask(gateway, body))
    expect(suppliers[0]!.requests).toHaveLength(1)
    await gateway.drain()
    expect(gateway.audit()).toHaveLength(1)
    await expectSoundBooks(dataOf(gateway))
  })

  it('gets it from the next process, too', async () => {
    const { gateway, suppliers, clock } = await openStreet([answering('Hi')])
    const first = await ask(gateway, body)
    const next = await restart(gateway, suppliers, { clock })
    expectReplay(first, await ask(next, body))
    expect(suppliers[0]!.requests).toHaveLength(1)
  })

  it('is a new one without a key, under another, or by another caller', async () => {
    const { gateway, suppliers } = await openStreet([answering('Hi')])
    const { key } = await gateway.createKey({ name: 'other' })
    const first = await ask(gateway, body)
    const others = [
      await ask(gateway, body, {}),
      await ask(gateway, body, under('twice')),
      await ask(gateway, body, under('once', { authorization: `Bearer ${key}` })),
    ]
    for (const other of others) {
      expect(other.status).toBe(200)
      expect(other.text).not.toBe(first.text)
      expect(other.headers.get('idempotency-replayed')).toBeNull()
    }
    expect(suppliers[0]!.requests).toHaveLength(4)
  })

  it('of a hundred at once runs once', async () => {
    const gate = createGate()
    const { gateway, suppliers } = await openStreet([
      async (request, reply, index) => {
        await gate.opened
        return answering('Hi')(request, reply, index)
      },
    ])
    const crowd = Array.from({ length: 100 }, () => ask(gateway, body))
    await suppliers[0]!.request(0)
    await until(() => gateway.app.pending() === 1)
    gate.open()
    const told = await Promise.all(crowd)
    const [first, ...none] = told.filter(({ status }) => status === 200)
    expect(none).toEqual([])
    for (const twin of told.filter((each) => each !== first)) {
      expect(twin).toMatchObject({ status: 409, code: 'operation_in_progress' })
      expect(twin.headers.get('retry-after')).toBe('1')
      expect(twin.text).toContain(`"request_id":"${first!.headers.get('x-request-id')}"`)
    }
    const again = await Promise.all(Array.from({ length: 100 }, () => ask(gateway, body)))
    for (const twin of again) expectReplay(first!, twin)
    expect(suppliers[0]!.requests).toHaveLength(1)
  })

  it('is forgotten after a day', async () => {
    const { gateway, suppliers, clock } = await openStreet([answering('Hi')])
    const first = await ask(gateway, body)
    clock.sleep(DAY_MS - 1000)
    expectReplay(first, await ask(gateway, body))
    clock.sleep(1000)
    const second = await ask(gateway, body)
    expect(second.text).not.toBe(first.text)
    expectReplay(second, await ask(gateway, body))
    expect(suppliers[0]!.requests).toHaveLength(2)
  })

  it('is told to have run where its answer was too long to keep', async () => {
    const supplier = tidy(await startFakeSupplier(answering('x'.repeat(2000))))
    const config = 'idempotency: { answer_bytes: 2000 }\n'
    const gateway = tidy(await startGateway({ suppliers: [supplierAt(supplier.origin)], config }))
    const first = await ask(gateway, body)
    const again = await ask(gateway, body)
    expect(again).toMatchObject({ status: 409, code: 'payload_not_durable' })
    expect(again.headers.get('x-should-retry')).toBe('false')
    expect(again.text).toContain(`/v1/manage/calls/${first.headers.get('x-request-id')}`)
    expect(supplier.requests).toHaveLength(1)
  })
})

describe('another request under the same key', () => {
  it('is in conflict with one that has run, and with one that runs', async () => {
    const gate = createGate()
    const { gateway, suppliers } = await openStreet([
      async (request, reply, index) => {
        await gate.opened
        return good(request, reply, index)
      },
    ])
    const first = ask(gateway, HELLO)
    await suppliers[0]!.request(0)
    const during = await ask(gateway, STREAM)
    gate.open()
    expect((await first).status).toBe(200)
    const after = await ask(gateway, { ...HELLO, max_tokens: 5 })
    for (const { status, code, headers } of [during, after]) {
      expect({ status, code }).toEqual({ status: 422, code: 'idempotency_conflict' })
      expect(headers.get('x-should-retry')).toBe('false')
    }
    expect(suppliers[0]!.requests).toHaveLength(1)
  })

  it.each(['', 'a,b', 'x'.repeat(256)])('is refused where the key is none: %p', async (key) => {
    const { gateway, suppliers } = await openStreet([good])
    const told = await ask(gateway, HELLO, under(key))
    expect(told).toMatchObject({ status: 400, code: 'invalid_idempotency_key' })
    expect(suppliers[0]!.connections()).toBe(0)
  })
})

describe('what is kept', () => {
  it('is on no disk in clear, and not to be had without its key', async () => {
    const { gateway, suppliers, clock } = await openStreet([answering(WORD)])
    expect((await ask(gateway, HELLO, under('whole'))).text).toContain(WORD)
    expect((await ask(gateway, STREAM, under('streamed'))).text).toContain(WORD)
    await gateway.drain()
    expect(findSecrets(dataOf(gateway), [WORD])).toEqual([])
    const file = join(dirname(dataOf(gateway)), 'gateway.key')
    expect(readFileSync(file, 'utf8')).toMatch(/^[\w+/]{43}=\n$/)
    rmSync(file)
    const next = await restart(gateway, suppliers, { clock })
    const again = await ask(next, HELLO, under('whole'))
    expect(again).toMatchObject({ status: 409, code: 'payload_not_durable' })
    expect(suppliers[0]!.requests).toHaveLength(2)
  })

  it('is sealed with the operator’s key where there is one', async () => {
    const supplier = tidy(await startFakeSupplier(answering('Hi')))
    const environment = { GATEWAY_SECRET_KEY: `${MARK}-${'k'.repeat(32)}` }
    const options = { suppliers: [supplierAt(supplier.origin)], environment }
    const gateway = tidy(await startGateway(options))
    const first = await ask(gateway, HELLO)
    expect(readdirSync(dirname(dataOf(gateway)))).toEqual(['data'])
    const next = await restart(gateway, [supplier], { environment })
    expectReplay(first, await ask(next, HELLO))
    const GATEWAY_SECRET_KEY = `${MARK}-${'o'.repeat(32)}`
    const other = await restart(next, [supplier], {
      environment: { GATEWAY_DATA: dataOf(gateway), GATEWAY_SECRET_KEY },
    })
    expect(await ask(other, HELLO)).toMatchObject({ code: 'payload_not_durable' })
  })

  it('keeps a gateway from starting whose key file others can read', async () => {
    const { gateway, suppliers } = await openStreet([good])
    await ask(gateway, HELLO)
    chmodSync(join(dirname(dataOf(gateway)), 'gateway.key'), 0o644)
    const refused: unknown = await restart(gateway, suppliers).catch((thrown: unknown) => thrown)
    expect(String(refused)).toContain('chmod 600')
  })

  it('is nothing where no key can be made, and calls go on', async () => {
    const { gateway, suppliers, clock } = await openStreet([answering('Hi')])
    writeFileSync(join(dirname(dataOf(gateway)), 'gateway.key'), '', { mode: 0o600 })
    expect((await ask(gateway, HELLO)).status).toBe(200)
    expect(await ask(gateway, HELLO)).toMatchObject({ code: 'payload_not_durable' })
    rmSync(join(dirname(dataOf(gateway)), 'gateway.key'))
    const next = await restart(gateway, suppliers, { clock })
    expect((await ask(next, HELLO, under('next'))).status).toBe(200)
  })
})

/** Until its books are closed. A twin that was refused has a row of its own. */
const untilLeft = (gateway: Gateway): Promise<void> =>
  until(() => gateway.audit().some(({ status }) => status === 499))

describe('a caller that hangs up', () => {
  it.each([
    ['in the middle of a stream', STREAM],
    ['before a whole answer', HELLO],
  ])('%s gets all of it when it asks again', async (_, body) => {
    const gate = createGate()
    const { gateway, suppliers } = await openStreet([
      async (request, reply, index) => {
        if (body !== STREAM) {
          await gate.opened
          return good(request, reply, index)
        }
        const out = reply.stream()
        out.send(ROLE + HI)
        await gate.opened
        out.send(chunk({ content: ' there' }) + STOP + USAGE_CHUNK + DONE)
        return out.end()
      },
    ])
    const leaving = new AbortController()
    const answering = gateway.chat(body, { ...under('once'), signal: leaving.signal })
    await suppliers[0]!.request(0)
    if (body === STREAM) await readText(await answering).until('Hi')
    leaving.abort()
    await answering.catch(() => {})
    await until(() => gateway.app.pending() === 0)
    expect(await ask(gateway, body)).toMatchObject({ code: 'operation_in_progress' })
    gate.open()
    await untilLeft(gateway)
    const again = await ask(gateway, body)
    expect(again.status).toBe(200)
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    if (body === STREAM) {
      expect(again.text).toStartWith(ROLE + HI + chunk({ content: ' there' }) + STOP)
      expect(again.text).toContain(': x-svc-cost-usd: 0.00000585\n')
      expect(again.text).toEndWith(DONE)
    } else expect(again.headers.get('x-svc-cost-usd')).toBe('0.00000585')
    expect(suppliers[0]!.requests).toHaveLength(1)
    await gateway.drain()
    expect(gateway.audit().filter(({ status }) => status === 499)).toMatchObject([{ cost: 5850 }])
  })

  it('is let go of once the answer is too long to be kept', async () => {
    let talk = (_length: number): void => {}
    const supplier = tidy(
      await startFakeSupplier((_, reply) => {
        const out = reply.stream()
        out.send(ROLE + HI)
        talk = (length) => out.send(chunk({ content: 'x'.repeat(length) }))
      }),
    )
    const clock = createFakeClock()
    const config = 'idempotency: { answer_bytes: 2000 }\n'
    const gateway = tidy(
      await startGateway({
        suppliers: [supplierAt(supplier.origin)],
        config,
        clock,
      }),
    )
    const leaving = new AbortController()
    const response = await gateway.chat(STREAM, { ...under('once'), signal: leaving.signal })
    await readText(response).until('Hi')
    leaving.abort()
    await until(() => gateway.app.pending() === 0)
    // It is still read, although nobody hears it, and the runtime has said so by the time of the next word.
    for (let word = 0; word < 3; word++) {
      talk(1)
      await fetch(`${gateway.url}/health`)
    }
    clock.advance(1000)
    expect(gateway.audit()).toEqual([])
    talk(3000)
    await supplier.requests[0]!.closed
    await untilLeft(gateway)
    expect(await ask(gateway, STREAM)).toMatchObject({ code: 'payload_not_durable' })
  })

  it('is not read for longer than a minute', async () => {
    const { gateway, suppliers, clock } = await openStreet([
      (_, reply) => reply.stream().send(ROLE + HI),
    ])
    const leaving = new AbortController()
    const response = await gateway.chat(STREAM, { ...under('once'), signal: leaving.signal })
    await readText(response).until('Hi')
    leaving.abort()
    await until(() => gateway.app.pending() === 0)
    clock.advance(61_000)
    await suppliers[0]!.requests[0]!.closed
    await untilLeft(gateway)
    expect(await ask(gateway, STREAM)).toMatchObject({ code: 'payload_not_durable' })
  })
})

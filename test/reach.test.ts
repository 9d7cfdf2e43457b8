// A supplier to which no connection leads any more holds a call for seconds and not for minutes; one that only
// thinks for a long time is left to think. Silence alone never tells the two apart.
import { dlopen } from 'bun:ffi'
import { afterEach, describe, expect, it } from 'bun:test'
import { connect, createServer, type Socket } from 'node:net'
import type { Supplier } from '../src/suppliers/supplier.ts'
import { createFakeClock, type FakeClock } from './fakes/clock.ts'
import { HELLO, startGateway, supplierAt, type Gateway } from './fakes/gateway.ts'
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
  completion,
  DONE,
  startFakeSupplier,
  USAGE_CHUNK,
  type FakeSupplier,
} from './fakes/supplier.ts'
import { startPlain } from './fakes/tls.ts'

afterEach(closeStreet)

const SECOND = 1000
const STREAM = { ...HELLO, stream: true }

interface Scene {
  readonly gateway: Gateway
  readonly clock: FakeClock
  readonly second: FakeSupplier
}

/** The supplier in question comes first; a good one stands behind it. */
async function openScene(origin: string, changes: Partial<Supplier> = {}): Promise<Scene> {
  const clock = createFakeClock()
  const second = tidy(await startFakeSupplier(good))
  const suppliers = [supplierAt(origin, changes), supplierAt(second.origin, { id: 'fake-2' })]
  return { gateway: tidy(await startGateway({ clock, suppliers })), clock, second }
}

async function expectSecond(answering: Promise<Response>): Promise<void> {
  const response = await answering
  expect(response.status).toBe(200)
  expect(response.headers.get('x-svc-supplier')).toBe('fake-2')
  expect(response.headers.get('x-svc-failover')).toBe('true')
  expect(await response.text()).toContain('Hi')
}

/** Accepts requests, answers when it is told to, and can stop listening without hanging up on anybody. */
async function startEnding() {
  const sockets = new Set<Socket>()
  const heard = Promise.withResolvers<void>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('data', () => heard.resolve())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return tidy({
    origin: `http://127.0.0.1:${port}`,
    heard: heard.promise,
    close: () => void server.close(),
    finish() {
      const body = JSON.stringify(completion('Hi'))
      const head = `content-type: application/json\r\ncontent-length: ${body.length}`
      for (const socket of sockets) socket.write(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n${body}`)
    },
    async stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  })
}

describe('a supplier whose machine takes no connections', () => {
  // A queue that nobody empties and that is full: the system then drops whoever knocks.
  it.skipIf(process.platform !== 'linux').each([
    ['unary', HELLO],
    ['stream', STREAM],
  ])('is given up after six seconds (%s)', async (_, body) => {
    const { port } = tidy(await startFullQueue())
    const { gateway, clock, second } = await openScene(`http://127.0.0.1:${port}`)
    const answering = gateway.chat(body)
    await until(() => clock.listeners() > 0)
    clock.advance(5 * SECOND)
    expect(second.connections()).toBe(0)
    clock.advance(SECOND)
    await expectSecond(answering)
    expect(gateway.audit()).toMatchObject([{ status: 200, supplier: 'fake-2', attempts: 2 }])
    expect(clock.listeners()).toBe(0)
  })
})

describe('a supplier that accepts and never shakes hands', () => {
  it.each([
    ['unary', HELLO],
    ['stream', STREAM],
  ])('is given up after six seconds, and was looked for once (%s)', async (_, body) => {
    const stranger = tidy(await startPlain(() => {}))
    const { gateway, clock, second } = await openScene(`https://127.0.0.1:${stranger.port}`)
    const answering = gateway.chat(body)
    await stranger.connected(1)
    clock.advance(3 * SECOND)
    await stranger.connected(2)
    expect(second.connections()).toBe(0)
    clock.advance(3 * SECOND)
    await expectSecond(answering)
    expect(stranger.connections()).toBe(2)
    expect(clock.listeners()).toBe(0)
  })

  it('is looked for once for everybody who waits', async () => {
    const stranger = tidy(await startPlain(() => {}))
    const { gateway, clock } = await openScene(`https://127.0.0.1:${stranger.port}`)
    const answering = Array.from({ length: 8 }, () => gateway.chat(HELLO))
    await stranger.connected(8)
    clock.advance(3 * SECOND)
    await stranger.connected(9)
    clock.advance(3 * SECOND)
    for (const each of answering) await expectSecond(each)
    expect(stranger.connections()).toBe(9)
  })

  it('alone is a timeout for the caller, who need not wait any longer', async () => {
    const stranger = tidy(await startPlain(() => {}))
    const clock = createFakeClock()
    const suppliers = [supplierAt(`https://127.0.0.1:${stranger.port}`)]
    const gateway = tidy(await startGateway({ clock, suppliers }))
    const answering = gateway.chat(HELLO)
    await stranger.connected(1)
    clock.advance(3 * SECOND)
    await stranger.connected(2)
    clock.advance(3 * SECOND)
    const response = await answering
    expect(response.status).toBe(504)
    expect(await response.json()).toMatchObject({ error: { code: 'all_providers_exhausted' } })
    expect(gateway.audit()).toMatchObject([{ status: 504, attempts: 1, cost: 0 }])
  })
})

describe('a supplier that stops listening while it finishes its calls', () => {
  it('is waited for, as nobody hung up', async () => {
    const ending = await startEnding()
    const { gateway, clock, second } = await openScene(ending.origin)
    const answering = gateway.chat(HELLO)
    await ending.heard
    ending.close()
    clock.advance(100 * SECOND)
    ending.finish()
    const response = await answering
    expect(response.headers.get('x-svc-supplier')).toBe('fake')
    expect(await response.text()).toContain('Hi')
    expect(second.connections()).toBe(0)
  })
})

describe('a supplier that thinks', () => {
  it('is left to think, and was looked for without a word', async () => {
    const gate = createGate()
    const { gateway, suppliers, clock } = await openStreet([
      async (request, reply, index) => {
        await gate.opened
        await good(request, reply, index)
      },
      good,
    ])
    const [thinking, idle] = suppliers
    const answering = gateway.chat(HELLO)
    await thinking!.request(0)
    clock.advance(3 * SECOND)
    await until(() => thinking!.connections() === 2)
    clock.advance(17 * SECOND)
    gate.open()
    const response = await answering
    expect(response.headers.get('x-svc-supplier')).toBe('fake')
    expect(await response.text()).toContain('Hi')
    expect(thinking!.requests).toHaveLength(1)
    expect(thinking!.connections()).toBe(2)
    expect(idle!.connections()).toBe(0)
  })

  it('in the middle of its answer is not looked for', async () => {
    const gate = createGate()
    const { gateway, suppliers, clock } = await openStreet([
      async (_, reply) => {
        const stream = reply.stream()
        stream.send(ROLE + HI)
        await gate.opened
        for (const event of [STOP, USAGE_CHUNK, DONE]) stream.send(event)
        stream.end()
      },
    ])
    const reader = readText(await gateway.chat(STREAM))
    await reader.until('Hi')
    clock.advance(100 * SECOND)
    gate.open()
    expect(await reader.rest()).toContain('[DONE]')
    expect(suppliers[0]!.connections()).toBe(1)
  })

  it('behind a proxy is not looked for: it is none of our connections', async () => {
    const gate = createGate()
    const proxy = tidy(
      await startFakeSupplier(async (request, reply, index) => {
        await gate.opened
        await good(request, reply, index)
      }),
    )
    const clock = createFakeClock()
    const gateway = tidy(
      await startGateway({
        clock,
        suppliers: [supplierAt('http://gpu.example.com')],
        environment: { HTTP_PROXY: proxy.origin },
      }),
    )
    const answering = gateway.chat(HELLO)
    await proxy.request(0)
    clock.advance(60 * SECOND)
    gate.open()
    expect((await answering).status).toBe(200)
    expect(proxy.connections()).toBe(1)
  })
})

/** A port at which connections are queued and never taken, with a queue of one that is full. */
async function startFullQueue(): Promise<{ readonly port: number; stop(): Promise<void> }> {
  const system = dlopen(`libc.so.6`, {
    socket: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
    bind: { args: ['i32', 'ptr', 'u32'], returns: 'i32' },
    listen: { args: ['i32', 'i32'], returns: 'i32' },
    getsockname: { args: ['i32', 'ptr', 'ptr'], returns: 'i32' },
    close: { args: ['i32'], returns: 'i32' },
  })
  const { symbols } = system
  // AF_INET, then a port that the system picks and 127.0.0.1, in the order of the network.
  const address = Uint8Array.of(2, 0, 0, 0, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0)
  const listener = symbols.socket(2, 1, 0)
  const isListening =
    symbols.bind(listener, address, address.length) === 0 && symbols.listen(listener, 0) === 0
  if (!isListening) throw new Error('the system gives no port')
  symbols.getsockname(listener, address, Uint32Array.of(address.length))
  const port = address[2]! * 256 + address[3]!
  const first = connect(port, '127.0.0.1')
  await new Promise<void>((resolve) => first.once('connect', resolve))
  return {
    port,
    async stop() {
      first.destroy()
      symbols.close(listener)
      system.close()
    },
  }
}

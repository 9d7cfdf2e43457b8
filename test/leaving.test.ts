// Callers that leave, at any moment and many at once, and callers that do not read: the supplier's work
// ends with the caller, memory stays flat, and every call has exactly one row in the books.
import { afterEach, describe, expect, it } from 'bun:test'
import { connect, createServer, type Socket } from 'node:net'
import { toPicoUsd } from '../src/core/money.ts'
import { createFakeClock } from './fakes/clock.ts'
import { HELLO, ROOT_KEY, startGateway, supplierAt, type Gateway } from './fakes/gateway.ts'
import { dataOf, endsOf, readRecords } from './fakes/records.ts'
import {
  closeStreet,
  createGate,
  good,
  HI,
  openStreet,
  readText,
  ROLE,
  sendEvents,
  STOP,
  tidy,
  until,
  type Street,
} from './fakes/street.ts'
import {
  chunk,
  completion,
  DONE,
  startFakeSupplier,
  USAGE_CHUNK,
  type Script,
} from './fakes/supplier.ts'

afterEach(closeStreet)

const MEBIBYTE = 1_048_576
/** Hundreds of megabytes go by, on a machine that may have other things to do. */
const SLOW_MS = 30_000
const NEVER = Number.MAX_SAFE_INTEGER
const STREAM = { ...HELLO, stream: true }
const LEFT = { status: 499, code: 'streaming_settlement_cancelled' }

const silent: Script = () => {}
const begun: Script = (_, reply) => reply.stream().send(ROLE + HI)

/** A caller that speaks HTTP by hand, so that it can stop reading. */
async function callByHand(gateway: Gateway, body: object): Promise<Socket> {
  const { hostname, port } = new URL(gateway.url)
  const socket = connect(Number(port), hostname)
  tidy({
    async stop() {
      socket.destroy()
    },
  })
  socket.on('error', () => {})
  await new Promise((resolve) => socket.once('connect', resolve))
  const text = JSON.stringify(body)
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: test\r\nauthorization: Bearer ${ROOT_KEY}\r\n` +
      `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  )
  return socket
}

async function expectOneLeaving(gateway: Gateway, stream: boolean): Promise<void> {
  await until(() => gateway.audit().length > 0)
  await gateway.drain()
  expect(gateway.audit()).toMatchObject([
    { ...LEFT, supplier: 'fake', attempts: 1, stream: stream ? 1 : 0 },
  ])
}

/** Reads to the reason to stop and hangs up; goes on once the gateway has noticed. */
async function leaveAtTheStop(gateway: Gateway, proceed: () => void): Promise<void> {
  const socket = await callByHand(gateway, STREAM)
  let text = ''
  await new Promise<void>((resolve) => {
    socket.on('data', (chunk) => {
      text += chunk.toString()
      if (text.includes('"finish_reason":"stop"')) resolve()
    })
  })
  socket.destroy()
  await until(() => gateway.app.pending() === 0)
  proceed()
}

describe('a caller that leaves', () => {
  it.each([false, true])('before anything came ends the call (stream: %p)', async (stream) => {
    const { gateway, suppliers, clock } = await openStreet([silent, good])
    const leaving = new AbortController()
    const answering = gateway.chat({ ...HELLO, stream }, { signal: leaving.signal })
    const { closed } = await suppliers[0]!.request(0)
    leaving.abort()
    expect(await answering.catch((thrown: unknown) => thrown)).toBeInstanceOf(Error)
    await closed
    await expectOneLeaving(gateway, stream)
    expect(suppliers[1]!.connections()).toBe(0)
    expect(clock.listeners()).toBe(0)
  })

  it('while it waits for content, after its headers, ends the call', async () => {
    const { gateway, suppliers, clock } = await openStreet([silent, good])
    const leaving = new AbortController()
    const answering = gateway.chat(STREAM, { signal: leaving.signal })
    const { closed } = await suppliers[0]!.request(0)
    clock.advance(15_000)
    await readText(await answering).until(': keep-alive')
    leaving.abort()
    await closed
    await expectOneLeaving(gateway, true)
    expect(suppliers[1]!.connections()).toBe(0)
    expect(clock.listeners()).toBe(0)
  })

  it('in the middle of a stream ends the call', async () => {
    const { gateway, suppliers, clock } = await openStreet([begun, good])
    const leaving = new AbortController()
    const response = await gateway.chat(STREAM, { signal: leaving.signal })
    await readText(response).until('Hi')
    leaving.abort()
    await suppliers[0]!.requests[0]!.closed
    await expectOneLeaving(gateway, true)
    expect(clock.listeners()).toBe(0)
  })

  it('at the reason to stop still pays for what the supplier says it used', async () => {
    const gate = createGate()
    const { gateway, suppliers, clock } = await openStreet([
      async (_, reply) => {
        const stream = reply.stream()
        stream.send(ROLE + HI + STOP)
        await gate.opened
        stream.send(USAGE_CHUNK + DONE)
        stream.end()
      },
    ])
    await leaveAtTheStop(gateway, gate.open)
    await until(() => gateway.audit().length > 0)
    await gateway.drain()
    expect(gateway.audit()).toMatchObject([
      { ...LEFT, input_tokens: 11, output_tokens: 7, cost: 5850 },
    ])
    expect(suppliers[0]!.requests).toHaveLength(1)
    expect(clock.listeners()).toBe(0)
  })

  it('at the reason to stop is not waited for longer than a moment', async () => {
    const { gateway, suppliers, clock } = await openStreet([
      (_, reply) => reply.stream().send(ROLE + HI + STOP),
    ])
    await leaveAtTheStop(gateway, () => clock.advance(3000))
    await suppliers[0]!.requests[0]!.closed
    await expectOneLeaving(gateway, true)
    expect(clock.listeners()).toBe(0)
  })

  it('at the reason to stop is not kept by a supplier that talks on', async () => {
    let talk = (): void => {}
    const { gateway, suppliers, clock } = await openStreet([
      (_, reply) => {
        const stream = reply.stream()
        stream.send(ROLE + HI + STOP)
        talk = () => stream.send(HI)
      },
    ])
    await leaveAtTheStop(gateway, () => {})
    const closed = suppliers[0]!.requests[0]!.closed.then(() => true)
    for (let second = 0; second < 4; second++) {
      talk()
      // A round trip gives the words the time to arrive.
      await fetch(`${gateway.url}/health`)
      clock.advance(1000)
    }
    expect(await closed).toBe(true)
    await expectOneLeaving(gateway, true)
  })

  it('in the middle of a long answer ends the call', async () => {
    const { gateway, suppliers } = await openStreet([
      (_, reply) => reply.json(200, '{"choices":', { 'content-length': '400' }),
    ])
    const leaving = new AbortController()
    const answering = gateway.chat(HELLO, { signal: leaving.signal })
    const { closed } = await suppliers[0]!.request(0)
    leaving.abort()
    expect(await answering.catch((thrown: unknown) => thrown)).toBeInstanceOf(Error)
    await closed
    await expectOneLeaving(gateway, false)
  })

  it('leaves the calls of others alone, before and after', async () => {
    const gate = createGate()
    const { gateway } = await openStreet([
      async (request, reply, index) => {
        const { stream } = JSON.parse(request.body.toString()) as { stream?: boolean }
        if (stream !== true) return good(request, reply, index)
        const answer = reply.stream()
        answer.send(ROLE + HI)
        await gate.opened
        answer.send(STOP + DONE)
        return answer.end()
      },
    ])
    const callAll = (body: object, signal?: AbortSignal): Promise<Response[]> =>
      Promise.all(
        Array.from({ length: 20 }, () =>
          gateway.chat(body, signal === undefined ? {} : { signal }),
        ),
      )
    for (const { status } of await callAll(HELLO)) expect(status).toBe(200)
    const leaving = new AbortController()
    const [staying] = await Promise.all([callAll(STREAM), callAll(STREAM, leaving.signal)])
    const readers = staying.map((response) => readText(response))
    await Promise.all(readers.map((reader) => reader.until('Hi')))
    leaving.abort()
    await until(() => gateway.audit().filter(({ status }) => status === 499).length === 20)
    for (const { status } of await callAll(HELLO)) expect(status).toBe(200)
    gate.open()
    for (const reader of readers) expect(await reader.rest()).toEndWith(DONE)
    const codes = gateway.audit().map(({ code }) => code)
    expect(codes.filter((code) => code === null)).toHaveLength(60)
  })

  it('with two hundred others at once leaves nothing behind', async () => {
    const { gateway, suppliers, clock } = await openStreet([
      (request, reply, index) => (index % 2 === 0 ? silent : begun)(request, reply, index),
    ])
    const sockets = await Promise.all(
      Array.from({ length: 200 }, () => callByHand(gateway, STREAM)),
    )
    await suppliers[0]!.request(199)
    await Promise.race(
      sockets.map((socket) => new Promise((resolve) => socket.once('data', resolve))),
    )
    for (const socket of sockets) socket.resetAndDestroy()
    await Promise.all(suppliers[0]!.requests.map(({ closed }) => closed))
    await until(() => gateway.audit().length >= 200)
    await gateway.drain()
    const rows = gateway.audit()
    expect(rows).toHaveLength(200)
    expect(new Set(rows.map(({ request_id }) => request_id)).size).toBe(200)
    expect(new Set(rows.map(({ status }) => status))).toEqual(new Set([499]))
    expect(clock.listeners()).toBe(0)
  })

  it('the moment it has asked leaves nothing behind either', async () => {
    const { gateway, suppliers, clock } = await openStreet([begun])
    for (let count = 0; count < 50; count++) {
      const socket = await callByHand(gateway, STREAM)
      socket.destroySoon()
      socket.resetAndDestroy()
    }
    expect((await gateway.manage('GET', '/keys')).status).toBe(200)
    await Promise.all(suppliers[0]!.requests.map(({ closed }) => closed))
    await until(() => clock.listeners() === 0)
    await gateway.drain()
    expect(gateway.audit().length).toBeGreaterThanOrEqual(suppliers[0]!.requests.length)
  })
})

describe('a caller that leaves while the next supplier is about to be asked', () => {
  it.each([false, true])(
    'has nobody else asked, and pays nobody else (stream: %p)',
    async (stream) => {
      const leaving = new AbortController()
      const { gateway, suppliers } = await openStreet([
        async (_, reply) => {
          leaving.abort()
          await until(() => gateway.app.pending() === 0)
          reply.json(500, { error: { message: 'down' } })
        },
        good,
      ])
      const answering = gateway.chat({ ...HELLO, stream }, { signal: leaving.signal })
      expect(await answering.catch((thrown: unknown) => thrown)).toBeInstanceOf(Error)
      await expectOneLeaving(gateway, stream)
      expect(suppliers[1]!.connections()).toBe(0)
    },
  )
})

describe('a caller that leaves an answer to what is kept elsewhere', () => {
  const INPUT_COST = 3
  const WINDOW = 200_000
  const FILE = {
    ...HELLO,
    max_tokens: 1000,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'file', file: { file_id: 'file-1' } },
          { type: 'text', text: 'Hi' },
        ],
      },
    ],
  }

  /** A model with a window, and a price of three nano-dollars for what it reads and none for what it says. */
  async function openLibrary(script: Script): Promise<Street> {
    const clock = createFakeClock()
    const fake = tidy(await startFakeSupplier(script))
    const price = { input: toPicoUsd(INPUT_COST * 1000), output: toPicoUsd(0) }
    const route = {
      as: 'upstream-model',
      prices: [{ from: 0, price }],
      ownedBy: 'maker',
      limits: { contextWindow: WINDOW },
    } as const
    const suppliers = [supplierAt(fake.origin, { models: new Map([['test-model', route]]) })]
    return { gateway: tidy(await startGateway({ clock, suppliers })), suppliers: [fake], clock }
  }

  async function leaveOnce({ gateway, suppliers }: Street, stream: boolean): Promise<void> {
    const leaving = new AbortController()
    const answering = gateway.chat({ ...FILE, stream }, { signal: leaving.signal })
    if (stream) await readText(await answering).until('Hi')
    else await suppliers[0]!.request(0)
    leaving.abort()
    if (!stream) expect(await answering.catch((thrown: unknown) => thrown)).toBeInstanceOf(Error)
    await until(() => gateway.app.pending() === 0)
  }

  it.each([false, true])('pays what the supplier says in the end (stream: %p)', async (stream) => {
    const gate = createGate()
    const street = await openLibrary(async (_, reply) => {
      if (!stream) {
        await gate.opened
        return reply.json(200, completion('Hi'))
      }
      const answer = reply.stream()
      answer.send(ROLE + HI)
      await gate.opened
      answer.send(HI + STOP + USAGE_CHUNK + DONE)
      return answer.end()
    })
    await leaveOnce(street, stream)
    gate.open()
    await expectOneLeaving(street.gateway, stream)
    expect(endsOf(readRecords(dataOf(street.gateway)))).toMatchObject([
      { evidence: 'reported', input_tokens: 11, cost: 11 * INPUT_COST },
    ])
  })

  it.each([false, true])(
    'pays for all that the model can read where that is never said (stream: %p)',
    async (stream) => {
      const street = await openLibrary(stream ? begun : silent)
      await leaveOnce(street, stream)
      // The first second is when a caller's leaving is heard at the latest.
      street.clock.advance(1_000)
      street.clock.advance(59_000)
      expect(street.gateway.audit()).toEqual([])
      street.clock.advance(2_000)
      await street.suppliers[0]!.requests[0]!.closed
      await expectOneLeaving(street.gateway, stream)
      expect(endsOf(readRecords(dataOf(street.gateway)))).toMatchObject([
        { evidence: 'broken', input_tokens: WINDOW, cost: WINDOW * INPUT_COST },
      ])
      expect(street.clock.listeners()).toBe(0)
    },
  )

  it('before the stream begins is waited for just the same', async () => {
    const gate = createGate()
    const street = await openLibrary(async (_, reply) => {
      await gate.opened
      sendEvents(reply, [ROLE, HI, STOP, USAGE_CHUNK, DONE])
    })
    const { gateway, suppliers, clock } = street
    const leaving = new AbortController()
    const answering = gateway.chat({ ...FILE, stream: true }, { signal: leaving.signal })
    await suppliers[0]!.request(0)
    leaving.abort()
    expect(await answering.catch((thrown: unknown) => thrown)).toBeInstanceOf(Error)
    await until(() => gateway.app.pending() === 0)
    clock.advance(10_000)
    gate.open()
    await expectOneLeaving(gateway, true)
    expect(endsOf(readRecords(dataOf(gateway)))).toMatchObject([
      { evidence: 'reported', cost: 11 * INPUT_COST },
    ])
    expect(clock.listeners()).toBe(0)
  })
})

interface Flood {
  readonly origin: string
  /** Bytes that the gateway's side has taken. */
  taken(): number
  /** Resolves when a write had to wait for the first time. */
  readonly heldBack: Promise<void>
  readonly closed: Promise<void>
  stop(): Promise<void>
}

/** A supplier that sends this many bytes of events, as fast as they are taken. */
async function startFlood(bytes: number): Promise<Flood> {
  const held = createGate()
  const closed = createGate()
  const event = Buffer.from(chunk({ content: 'x'.repeat(65_536) }))
  let taken = 0
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('close', closed.open)
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n')
      const send = (): void => {
        while (taken < bytes) {
          taken += event.length
          if (socket.write(event)) continue
          held.open()
          socket.once('drain', send)
          return
        }
        socket.end(STOP + DONE)
      }
      send()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return tidy({
    origin: `http://127.0.0.1:${port}`,
    taken: () => taken,
    heldBack: held.opened,
    closed: closed.opened,
    stop: () => new Promise<void>((resolve) => server.close(() => resolve())),
  })
}

describe('a caller that does not read', () => {
  it(
    'holds the supplier back, costs no memory and is let go after a minute',
    async () => {
      const flood = await startFlood(200 * MEBIBYTE)
      const clock = createFakeClock()
      // Time runs far ahead of the bytes here, so no limit of the supplier's may end the call first.
      const limits = { firstByteMs: NEVER, firstContentMs: NEVER, idleMs: NEVER }
      const suppliers = [supplierAt(flood.origin)]
      const gateway = tidy(await startGateway({ clock, limits, suppliers }))
      Bun.gc(true)
      const before = process.memoryUsage.rss()
      const socket = await callByHand(gateway, STREAM)
      const hungUp = new Promise((resolve) => socket.once('close', resolve))
      let tail = ''
      socket.on('data', (data) => (tail = (tail + data.toString('latin1')).slice(-64)))
      socket.pause()
      await flood.heldBack
      let isClosed = false
      void flood.closed.then(() => (isClosed = true))
      let peak = 0
      await until(() => {
        clock.advance(1000)
        peak = Math.max(peak, process.memoryUsage.rss())
        return isClosed
      })
      expect(flood.taken()).toBeLessThan(64 * MEBIBYTE)
      socket.resume()
      await hungUp
      expect(tail).not.toEndWith('\r\n0\r\n\r\n')
      expect(peak - before).toBeLessThan(64 * MEBIBYTE)
      await until(() => clock.listeners() === 0)
      await gateway.drain()
      expect(gateway.audit()).toMatchObject([{ ...LEFT, supplier: 'fake', attempts: 1 }])
    },
    SLOW_MS,
  )

  it('gets every byte in order when it reads on', async () => {
    const flood = await startFlood(16 * MEBIBYTE)
    const clock = createFakeClock()
    const gateway = tidy(await startGateway({ clock, suppliers: [supplierAt(flood.origin)] }))
    const socket = await callByHand(gateway, STREAM)
    socket.pause()
    await flood.heldBack
    let text = ''
    const ended = new Promise<void>((resolve) => {
      socket.setEncoding('latin1')
      socket.on('data', (data: string) => {
        text += data
        if (text.endsWith('0\r\n\r\n')) resolve()
      })
    })
    socket.resume()
    await ended
    expect(text.match(/x{65536}/g)?.length).toBe(
      flood.taken() / chunk({ content: 'x'.repeat(65_536) }).length,
    )
    expect(text).toContain(DONE)
    expect(gateway.audit()).toMatchObject([{ status: 200, code: null }])
  })
})

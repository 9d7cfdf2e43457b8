// One caller must not close for others what works for them: by requests that a supplier chokes on, by names that it
// makes up, by answers that it has take long or does not read.
import { afterEach, describe, expect, it } from 'bun:test'
import { connect, createServer, type Socket } from 'node:net'
import { FREE } from '../src/catalog/price.ts'
import type { Limits } from '../src/pipeline/call.ts'
import type { Supplier } from '../src/suppliers/supplier.ts'
import { createFakeClock, type FakeClock } from './fakes/clock.ts'
import { HELLO, ROOT_KEY, startGateway, supplierAt, type Gateway } from './fakes/gateway.ts'
import { closeStreet, createGate, good, HI, ROLE, sendEvents, tidy, until } from './fakes/street.ts'
import { chunk, startFakeSupplier, type FakeSupplier, type Script } from './fakes/supplier.ts'

afterEach(closeStreet)

type Ask = (text: string, changes?: object) => Promise<string>

interface Town {
  readonly gateway: Gateway
  readonly clock: FakeClock
  readonly suppliers: readonly FakeSupplier[]
  /** Calls under one key each, and what becomes of them: the status, and who answered. */
  readonly culprit: Ask
  readonly other: Ask
}

let spoken = 0

/** Suppliers `fake`, `fake-2`, … of one model, and two keys. */
async function openTown(scripts: readonly Script[], first: Partial<Supplier> = {}): Promise<Town> {
  const clock = createFakeClock()
  const suppliers = await Promise.all(scripts.map((script) => startFakeSupplier(script)))
  for (const each of suppliers) tidy(each)
  const list = suppliers.map(({ origin }, index) =>
    supplierAt(origin, index === 0 ? first : { id: `fake-${index + 1}` }),
  )
  const gateway = tidy(await startGateway({ clock, suppliers: list }))
  const asks = ['culprit', 'other'].map((name) => openDoor(gateway, name))
  const [culprit, other] = await Promise.all(asks)
  return { gateway, clock, suppliers, culprit: culprit!, other: other! }
}

async function openDoor(gateway: Gateway, name: string): Promise<Ask> {
  const { key } = await gateway.createKey({ name })
  const headers = { authorization: `Bearer ${key}` }
  return async (text, changes) => {
    const messages = [{ role: 'user', content: `${text} ${++spoken}` }]
    const response = await gateway.chat({ ...HELLO, messages, ...changes }, { headers })
    await response.text()
    return `${response.status} ${response.headers.get('x-svc-supplier')}`
  }
}

async function askTimes(times: number, ask: Ask, text: string, changes?: object): Promise<void> {
  for (let index = 0; index < times; index++) await ask(text, changes)
}

/** Does as it is told where the text is said, and well otherwise. */
function unless(text: string, script: Script): Script {
  return (request, reply, index) =>
    (request.body.includes(text) ? script : good)(request, reply, index)
}

const refuse =
  (status: number): Script =>
  (_, reply) =>
    reply.json(status, { error: { message: 'no' } })

interface ShownRoute {
  readonly state: string
  readonly remote_failures: number
  readonly first_token_ms: number | null
}

async function show(gateway: Gateway): Promise<readonly ShownRoute[]> {
  const response = await gateway.manage('GET', '/suppliers')
  const { data } = (await response.json()) as { data: readonly { routes: readonly ShownRoute[] }[] }
  return data.flatMap(({ routes }) => routes)
}

const breakOff: Script = (_, reply) => sendEvents(reply, [ROLE, HI])

describe('requests that a supplier chokes on', () => {
  it.each([402, 403, 404, 429, 500])(
    'close no supplier by their %i for those whom it serves well',
    async (status) => {
      const { gateway, culprit, other } = await openTown([unless('poison', refuse(status)), good])
      expect(await other('hello')).toBe('200 fake')
      await askTimes(7, culprit, 'poison')
      expect(await show(gateway)).toMatchObject([{ state: 'ready' }, { state: 'ready' }])
      expect(await other('hello')).toBe('200 fake')
    },
  )

  it('close none of all the suppliers that they are taken to', async () => {
    const poisoned = unless('poison', refuse(500))
    const { gateway, culprit, other } = await openTown([poisoned, poisoned, poisoned])
    for (const id of ['fake', 'fake-2', 'fake-3'])
      await other('hello', { model: `${id}/test-model` })
    await askTimes(7, culprit, 'poison')
    expect((await show(gateway)).map(({ state }) => state)).toEqual(['ready', 'ready', 'ready'])
  })

  it('close none by streams that break off', async () => {
    const { gateway, culprit, other } = await openTown([unless('poison', breakOff), good])
    await other('hello')
    await askTimes(7, culprit, 'poison', { stream: true })
    expect(await show(gateway)).toMatchObject([{ state: 'ready', remote_failures: 7 }, {}])
  })

  it('close it where others fail of them, too', async () => {
    const { gateway, culprit, other } = await openTown([unless('poison', refuse(500)), good])
    await other('hello')
    await askTimes(4, culprit, 'poison')
    expect(await other('poison')).toBe('200 fake-2')
    expect(await show(gateway)).toMatchObject([{ state: 'resting' }, { state: 'ready' }])
  })

  it('close it where nobody else has been served well for a minute', async () => {
    const { gateway, clock, culprit, other } = await openTown([unless('poison', refuse(500)), good])
    await other('hello')
    clock.advance(60_000)
    await askTimes(5, culprit, 'poison')
    expect(await show(gateway)).toMatchObject([{ state: 'resting' }, { state: 'ready' }])
  })

  it('do not keep away others by asking on while it is left alone for being busy', async () => {
    const busy = unless('poison', refuse(429))
    const { clock, culprit, other } = await openTown([busy, good])
    const named = { model: 'fake/test-model' }
    await askTimes(8, culprit, 'poison', named)
    // Before half of the second, and after all of it, however chance has it.
    clock.advance(400)
    await culprit('poison', named)
    expect(await other('hello')).toBe('200 fake-2')
    clock.advance(600)
    expect(await other('hello')).toBe('200 fake')
  })
})

describe('a name that a caller makes up at an open supplier', () => {
  it('closes none of its other models by being refused with 401', async () => {
    const rack = unless('made-up', refuse(401))
    const { suppliers, culprit, other } = await openTown([rack, good], { anyModel: FREE })
    for (let index = 0; index < 5; index++)
      expect(await culprit('hello', { model: 'fake/made-up' })).toStartWith('503')
    expect(await other('hello')).toBe('200 fake')
    expect(suppliers[0]!.requests).toHaveLength(6)
  })
})

describe('answers that take long', () => {
  const slowly = (gate: Promise<void>): Script =>
    unless('long', async (...told) => {
      await gate
      await good(...told)
    })

  it('are no silence where they are awaited as a whole', async () => {
    const gate = createGate()
    const { clock, suppliers, culprit, other } = await openTown([slowly(gate.opened), good])
    await askTimes(10, culprit, 'short')
    const running = Array.from({ length: 5 }, () => culprit('long'))
    await suppliers[0]!.request(14)
    clock.advance(8000)
    expect(await other('hello')).toBe('200 fake')
    gate.open()
    expect(new Set(await Promise.all(running))).toEqual(new Set(['200 fake']))
  })

  it('make no supplier slow for others where they were to come from it alone', async () => {
    const gate = createGate()
    const { gateway, clock, suppliers, culprit, other } = await openTown([
      slowly(gate.opened),
      good,
    ])
    const stream = { stream: true }
    await askTimes(10, other, 'hello', stream)
    await askTimes(10, other, 'hello', { ...stream, model: 'fake-2/test-model' })
    const named = { ...stream, model: 'fake/test-model' }
    const running = Array.from({ length: 4 }, () => culprit('long', named))
    await suppliers[0]!.request(13)
    clock.advance(4000)
    gate.open()
    await Promise.all(running)
    expect(await show(gateway)).toMatchObject([{ first_token_ms: 0 }, { first_token_ms: null }])
    expect(await other('hello', stream)).toBe('200 fake')
  })

  it('leave the last attempt to others', async () => {
    const gate = createGate()
    const { suppliers, culprit, other } = await openTown([
      refuse(500),
      refuse(500),
      slowly(gate.opened),
    ])
    const running = [culprit('long'), culprit('long')]
    await suppliers[2]!.request(1)
    expect(await culprit('long')).toStartWith('503')
    expect(await other('hello')).toBe('200 fake-3')
    gate.open()
    expect(await Promise.all(running)).toEqual(['200 fake-3', '200 fake-3'])
    expect(await culprit('hello')).toBe('200 fake-3')
  })

  it('keep nobody for more than half a minute from finding out that a supplier is back', async () => {
    const gate = createGate()
    const back = slowly(gate.opened)
    const first: Script = (request, reply, index) =>
      (index < 5 ? refuse(500) : back)(request, reply, index)
    const { clock, suppliers, culprit, other } = await openTown([first, good])
    await askTimes(5, other, 'hello')
    clock.advance(30_000)
    const probe = culprit('long')
    await suppliers[0]!.request(5)
    clock.advance(29_000)
    expect(await other('hello')).toBe('200 fake-2')
    clock.advance(1000)
    expect([await other('hello'), await other('hello')]).toEqual(['200 fake', '200 fake'])
    gate.open()
    expect(await probe).toBe('200 fake')
  })
})

const NEVER = 1e9
/** Turns of the event loop in which nothing moves: everything that could be taken was. */
const STUCK_TURNS = 1000

interface Flood {
  readonly origin: string
  /** Resolves when it can send no more, with time passing. */
  stuck(clock: FakeClock): Promise<void>
  reset(): void
}

/** A supplier that sends without end, as fast as it is read. */
async function startFlood(): Promise<Flood> {
  const event = Buffer.from(chunk({ content: 'x'.repeat(65_536) }))
  let taken = 0
  let current: Socket | undefined
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => {
      current = socket
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n')
      const send = (): void => {
        do taken += event.length
        while (socket.write(event))
      }
      socket.on('drain', send)
      send()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  tidy({ stop: () => new Promise<void>((resolve) => server.close(() => resolve())) })
  const address = server.address()
  return {
    origin: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
    async stuck(clock) {
      let before = -1
      let turns = 0
      await until(() => {
        clock.advance(1000)
        turns = taken > 0 && taken === before ? turns + 1 : 0
        before = taken
        return turns >= STUCK_TURNS
      })
    },
    reset: () => void current?.resetAndDestroy(),
  }
}

/** Asks for a stream and reads none of it. */
async function askDeafly(gateway: Gateway): Promise<Socket> {
  const { hostname, port } = new URL(gateway.url)
  const socket = connect(Number(port), hostname)
  await new Promise((resolve) => socket.once('connect', resolve))
  const body = JSON.stringify({ ...HELLO, stream: true })
  socket.pause()
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${ROOT_KEY}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  return socket
}

describe('a stream that breaks off', () => {
  const limits: Partial<Limits> = {
    firstByteMs: NEVER,
    firstContentMs: NEVER,
    idleMs: NEVER,
    stallMs: NEVER,
  }

  it.each([
    ['while its caller does not read is no failure of its supplier', true, 0],
    ['while its caller reads is one', false, 1],
  ])('%s', async (_name, isDeaf, failures) => {
    const flood = await startFlood()
    const clock = createFakeClock()
    const suppliers = [supplierAt(flood.origin)]
    const gateway = tidy(await startGateway({ clock, limits, suppliers }))
    const socket = await askDeafly(gateway)
    if (isDeaf) await flood.stuck(clock)
    else await new Promise((resolve) => socket.once('data', resolve).resume())
    flood.reset()
    socket.resume()
    await until(() => gateway.audit().length === 1)
    socket.destroy()
    expect(gateway.audit()).toMatchObject([
      { status: 200, code: expect.stringMatching(/^stream_/) },
    ])
    expect(await show(gateway)).toMatchObject([{ remote_failures: failures }])
  })
})

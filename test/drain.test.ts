// The end of the service: it says so before it closes, lets running calls finish, and cuts what is left
// with an error that the caller can see.
import { afterEach, describe, expect, it } from 'bun:test'
import { HELLO, ROOT_KEY, type Gateway } from './fakes/gateway.ts'
import { connectRaw, formatRequest } from './fakes/raw.ts'
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
import { DONE, USAGE_CHUNK, type Script } from './fakes/supplier.ts'

afterEach(closeStreet)

const STREAM = { ...HELLO, stream: true }
const TIMES = { noticeMs: 5000, limitMs: 60_000 }

interface Ending {
  readonly closed: Promise<void>
  isClosed(): boolean
}

function beginDrain({ app }: Gateway, times = TIMES): Ending {
  let isClosed = false
  const closed = app.drain(times).then(() => void (isClosed = true))
  return { closed, isClosed: () => isClosed }
}

async function expectRefusal(response: Response): Promise<void> {
  expect(response.status).toBe(503)
  expect(response.headers.get('retry-after')).toBe('1')
  expect(await response.json()).toMatchObject({ error: { code: 'pod_draining' } })
}

const begun: Script = (_, reply) => reply.stream().send(ROLE + HI)

describe('a shutdown', () => {
  it('is announced for a while even when nothing runs', async () => {
    const { gateway, clock } = await openStreet([good])
    const ending = beginDrain(gateway)
    await expectRefusal(await fetch(`${gateway.url}/health`))
    clock.advance(4000)
    await expectRefusal(await gateway.chat(HELLO))
    await expectRefusal(await gateway.manage('GET', '/keys'))
    expect((await fetch(`${gateway.url}/health/live`)).status).toBe(200)
    expect(ending.isClosed()).toBe(false)
    clock.advance(1000)
    await ending.closed
    const late = await fetch(`${gateway.url}/health`).catch((thrown: unknown) => thrown)
    expect(late).toBeInstanceOf(Error)
  })

  it('is not announced any longer when someone insists', async () => {
    const { gateway } = await openStreet([good])
    const ending = beginDrain(gateway)
    await expectRefusal(await fetch(`${gateway.url}/health`))
    gateway.app.cut()
    await ending.closed
  })

  it('waits for a running stream', async () => {
    const gate = createGate()
    const { gateway, clock } = await openStreet([
      async (_, reply) => {
        const stream = reply.stream()
        stream.send(ROLE + HI)
        await gate.opened
        stream.send(STOP + USAGE_CHUNK + DONE)
        stream.end()
      },
    ])
    const reader = readText(await gateway.chat(STREAM))
    await reader.until('Hi')
    const ending = beginDrain(gateway)
    clock.advance(59_000)
    await expectRefusal(await fetch(`${gateway.url}/health`))
    expect(ending.isClosed()).toBe(false)
    gate.open()
    expect(await reader.rest()).toEndWith(DONE)
    await ending.closed
    expect(gateway.audit()).toMatchObject([{ status: 200, code: null, input_tokens: 11 }])
  })

  it.each([
    ['when the time is up', false],
    ['at once when someone insists', true],
  ])('cuts a running stream %s', async (_, insists) => {
    const { gateway, suppliers, clock } = await openStreet([begun, good])
    const reader = readText(await gateway.chat(STREAM))
    await reader.until('Hi')
    const ending = beginDrain(gateway)
    if (insists) gateway.app.cut()
    else clock.advance(60_000)
    const text = await reader.rest()
    expect(text).toContain('"code":"stream_interrupted"')
    expect(text).toContain('shutting down')
    expect(text).not.toContain('[DONE]')
    await suppliers[0]!.requests[0]!.closed
    await ending.closed
    expect(gateway.audit()).toMatchObject([{ status: 200, code: 'stream_interrupted' }])
  })

  it.each([false, true])(
    'cuts a call that waits, and asks no one else (stream: %p)',
    async (stream) => {
      const { gateway, suppliers } = await openStreet([() => {}, good])
      const answering = gateway.chat({ ...HELLO, stream })
      await suppliers[0]!.request(0)
      const ending = beginDrain(gateway)
      gateway.app.cut()
      const response = await answering
      expect(response.status).toBe(503)
      expect(response.headers.get('retry-after')).toBe('1')
      expect(await response.json()).toMatchObject({ error: { code: 'pod_draining' } })
      await ending.closed
      expect(suppliers[1]!.connections()).toBe(0)
      expect(gateway.audit()).toMatchObject([{ status: 503, code: 'pod_draining', attempts: 1 }])
    },
  )

  it.each([
    ['a small one', HELLO],
    ['a large one', { ...HELLO, user: 'x'.repeat(200_000) }],
  ])('refuses a body that is still coming, and asks no supplier: %s', async (_, content) => {
    const { gateway, suppliers, clock } = await openStreet([good])
    const caller = await connectRaw(gateway.url)
    tidy({ stop: async () => caller.close() })
    const request = formatRequest({
      method: 'POST',
      target: '/v1/chat/completions',
      headers: [
        ['authorization', `Bearer ${ROOT_KEY}`],
        ['content-type', 'application/json'],
      ],
      body: JSON.stringify(content),
    })
    await caller.send(request.subarray(0, -10))
    // A body that is waited for has a limit of time, and with it a listener.
    await until(() => clock.listeners() > 0)
    const ending = beginDrain(gateway)
    await caller.send(request.subarray(-10))
    const { status, headers, body } = await caller.response()
    expect(status).toBe(503)
    expect(headers.get('connection')).toBe('close')
    expect(headers.get('retry-after')).toBe('1')
    expect(JSON.parse(body.toString())).toMatchObject({ error: { code: 'pod_draining' } })
    clock.advance(5000)
    await ending.closed
    expect(suppliers[0]!.connections()).toBe(0)
    expect(gateway.audit()).toMatchObject([{ status: 503, code: 'pod_draining', attempts: 0 }])
  })

  it('writes down the calls whose callers left in the last moment', async () => {
    const { gateway, suppliers } = await openStreet([begun])
    const leaving = new AbortController()
    const calls = Array.from({ length: 20 }, () => gateway.chat(STREAM, { signal: leaving.signal }))
    const readers = (await Promise.all(calls)).map((response) => readText(response))
    await Promise.all(readers.map((reader) => reader.until('Hi')))
    leaving.abort()
    await gateway.drain()
    expect(gateway.audit()).toHaveLength(20)
    await Promise.all(suppliers[0]!.requests.map(({ closed }) => closed))
  })
})

// Hours in milliseconds: what survives a long wait, what the caller hears meanwhile, which limit ends
// what, and that no end of a call leaves anything ticking.
import { afterEach, describe, expect, it, spyOn } from 'bun:test'
import { HELLO } from './fakes/gateway.ts'
import {
  ANSWER,
  closeStreet,
  createGate,
  good,
  HI,
  openStreet,
  readText,
  refuse,
  ROLE,
  sendEvents,
  STOP,
  until,
  type ErrorBody,
  type Street,
  type TextReader,
} from './fakes/street.ts'
import { completion, DONE, USAGE_CHUNK, type Script } from './fakes/supplier.ts'

afterEach(closeStreet)

const SECOND = 1000
const MINUTE = 60 * SECOND
const STREAM = { ...HELLO, stream: true }
const KEEP_ALIVE = ': keep-alive\n\n'

const silent: Script = () => {}

/** Answers when the gate is opened, and not before. */
function createSlow(answer: Script): { readonly script: Script; readonly goOn: () => void } {
  const gate = createGate()
  return {
    goOn: gate.open,
    async script(request, reply, index) {
      await gate.opened
      await answer(request, reply, index)
    },
  }
}

/** Sends a stream's headers and these events, and the rest when it is told to. */
function createPausing(
  before: readonly string[],
  after: readonly string[],
): { readonly script: Script; readonly goOn: () => void } {
  const gate = createGate()
  return {
    goOn: gate.open,
    async script(_, reply) {
      const stream = reply.stream()
      for (const event of before) stream.send(event)
      await gate.opened
      for (const event of after) stream.send(event)
      stream.end()
    },
  }
}

/** Lets time pass in the steps in which a silent stream shows life, and reads each sign of it. */
async function waitWithSigns({ clock }: Street, reader: TextReader, ms: number): Promise<number> {
  let signs = (await reader.until('')).split(KEEP_ALIVE).length - 1
  const first = signs
  for (let passed = 0; passed < ms; passed += 15 * SECOND) {
    clock.advance(15 * SECOND)
    signs++
    await reader.count(KEEP_ALIVE, signs)
  }
  return signs - first
}

function lastError(text: string): ErrorBody['error'] {
  const events = text.split('\n\n').filter((event) => event.startsWith('data: '))
  return (JSON.parse(events.at(-1)!.slice(6)) as ErrorBody).error
}

describe('a unary call', () => {
  it.each([
    ['9 minutes and 50 seconds', 590 * SECOND, {}],
    ['12 minutes where 15 are allowed', 12 * MINUTE, { unaryMs: 15 * MINUTE }],
  ])('may take %s', async (_, ms, limits) => {
    const { script, goOn } = createSlow(good)
    const { gateway, suppliers, clock } = await openStreet([script], limits)
    const answering = gateway.chat(HELLO)
    await suppliers[0]!.request(0)
    clock.advance(ms)
    goOn()
    const response = await answering
    expect(await response.json()).toEqual(completion('Hi'))
    expect(response.headers.get('x-svc-latency-ms')).toBe(String(ms))
    expect(clock.listeners()).toBe(0)
  })

  it.each([
    [10 * MINUTE, {}],
    [15 * MINUTE, { unaryMs: 15 * MINUTE }],
  ])('ends after %p ms without an answer', async (ms, limits) => {
    const { gateway, suppliers, clock } = await openStreet([silent], limits)
    const answering = gateway.chat(HELLO)
    const { closed } = await suppliers[0]!.request(0)
    clock.advance(ms)
    const response = await answering
    expect(response.status).toBe(504)
    expect(response.headers.get('x-should-retry')).toBe('true')
    expect(await response.json()).toMatchObject({
      error: { code: 'all_providers_exhausted', type: 'timeout_error' },
    })
    await closed
    expect(gateway.audit()).toMatchObject([
      { status: 504, code: 'all_providers_exhausted', attempts: 1, cost: 0 },
    ])
    expect(clock.listeners()).toBe(0)
  })

  it('ends just as well when the supplier falls silent in the middle of its answer', async () => {
    const { gateway, suppliers, clock } = await openStreet([
      (_, reply) => reply.json(200, '{"choices":', { 'content-length': '400' }),
    ])
    const answering = gateway.chat(HELLO)
    const { closed } = await suppliers[0]!.request(0)
    clock.advance(10 * MINUTE)
    expect((await answering).status).toBe(504)
    await closed
    expect(clock.listeners()).toBe(0)
  })
})

describe('a unary call whose first supplier hangs', () => {
  it('is answered by the second, which has the whole time again', async () => {
    const { script, goOn } = createSlow(good)
    const { gateway, suppliers, clock } = await openStreet([silent, script])
    const answering = gateway.chat(HELLO)
    const { closed } = await suppliers[0]!.request(0)
    clock.advance(10 * MINUTE - SECOND)
    expect(suppliers[1]!.connections()).toBe(0)
    clock.advance(SECOND)
    await suppliers[1]!.request(0)
    await closed
    clock.advance(10 * MINUTE - SECOND)
    goOn()
    const response = await answering
    expect(await response.json()).toEqual(completion('Hi'))
    expect(response.headers.get('x-svc-supplier')).toBe('fake-2')
    expect(response.headers.get('x-svc-failover')).toBe('true')
    expect(response.headers.get('x-svc-latency-ms')).toBe(String(20 * MINUTE - SECOND))
    expect(gateway.audit()).toMatchObject([{ status: 200, supplier: 'fake-2', attempts: 2 }])
    expect(clock.listeners()).toBe(0)
  })

  it('ends as one that took too long when the second hangs as well', async () => {
    const { gateway, suppliers, clock } = await openStreet([silent, silent])
    const answering = gateway.chat(HELLO)
    for (const supplier of suppliers) {
      const { closed } = await supplier.request(0)
      clock.advance(10 * MINUTE)
      await closed
    }
    const response = await answering
    expect(response.status).toBe(504)
    expect(await response.json()).toMatchObject({ error: { code: 'all_providers_exhausted' } })
    expect(gateway.audit()).toMatchObject([{ status: 504, attempts: 2, cost: 0 }])
    expect(clock.listeners()).toBe(0)
  })
})

describe('a refusal whose reason never ends', () => {
  it.each([false, true])(
    'holds nobody up for more than two seconds (stream: %p)',
    async (stream) => {
      const gate = createGate()
      const { gateway, suppliers, clock } = await openStreet([
        async (_, reply) => {
          await gate.opened
          reply.json(503, '{"error":', { 'content-length': '400' })
        },
        good,
      ])
      const answering = gateway.chat({ ...HELLO, stream })
      const { closed } = await suppliers[0]!.request(0)
      // The two seconds begin with a look at the clock, once the refusal is there.
      const looks = spyOn(clock, 'elapsed')
      gate.open()
      await until(() => looks.mock.calls.length > 0)
      clock.advance(SECOND)
      expect((await gateway.manage('GET', '/keys')).status).toBe(200)
      expect(suppliers[1]!.connections()).toBe(0)
      clock.advance(SECOND)
      await closed
      const response = await answering
      expect(response.status).toBe(200)
      expect(response.headers.get('x-svc-supplier')).toBe('fake-2')
      expect(await response.text()).toContain('Hi')
      expect(gateway.audit()).toMatchObject([{ status: 200, supplier: 'fake-2', attempts: 2 }])
      await until(() => clock.listeners() === 0)
    },
  )
})

describe('a stream before its first content', () => {
  it('may be silent for four minutes, and shows life every fifteen seconds', async () => {
    const { script, goOn } = createPausing([ROLE], [HI, STOP, USAGE_CHUNK, DONE])
    const street = await openStreet([script], { firstByteMs: 60 * MINUTE })
    const { gateway, suppliers, clock } = street
    let hasHeaders = false
    const answering = gateway.chat(STREAM).then((response) => {
      hasHeaders = true
      return response
    })
    await suppliers[0]!.request(0)
    clock.advance(14 * SECOND)
    expect((await gateway.manage('GET', '/keys')).status).toBe(200)
    expect(hasHeaders).toBe(false)
    clock.advance(SECOND)
    const response = await answering
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(response.headers.get('x-svc-supplier')).toBeNull()
    const reader = readText(response)
    await reader.until(KEEP_ALIVE)
    expect(await waitWithSigns(street, reader, 225 * SECOND)).toBe(15)
    goOn()
    const text = await reader.rest()
    expect(text).toBe(
      `${KEEP_ALIVE.repeat(16)}${ANSWER.join('')}: x-svc-supplier: fake\n: x-svc-region: EU\n` +
        `: x-svc-failover: false\n: x-svc-latency-ms: 240000\n: x-svc-input-tokens: 11\n` +
        `: x-svc-output-tokens: 7\n: x-svc-cost-usd: 0.00000585\n` +
        `: x-svc-settlement: settled\n\n${DONE}`,
    )
    await until(() => clock.listeners() === 0)
  })

  it('must send something within 30 seconds', async () => {
    const { gateway, suppliers, clock } = await openStreet([silent], { keepAliveMs: MINUTE })
    const answering = gateway.chat(STREAM)
    const { closed } = await suppliers[0]!.request(0)
    clock.advance(30 * SECOND)
    const response = await answering
    expect(response.status).toBe(504)
    expect(await response.json()).toMatchObject({ error: { code: 'all_providers_exhausted' } })
    await closed
    expect(clock.listeners()).toBe(0)
  })

  it('must come to content within five minutes of its headers', async () => {
    const { gateway, suppliers, clock } = await openStreet(
      [createPausing([ROLE], []).script, good],
      { firstByteMs: 60 * MINUTE, keepAliveMs: 60 * MINUTE },
    )
    const answering = gateway.chat(STREAM)
    const { closed } = await suppliers[0]!.request(0)
    // The limit counts from the headers, whose arrival nothing here tells of.
    let isClosed = false
    void closed.then(() => (isClosed = true))
    clock.advance(299 * SECOND)
    expect(suppliers[1]!.connections()).toBe(0)
    await until(() => {
      clock.advance(SECOND)
      return isClosed
    })
    const response = await answering
    expect(response.headers.get('x-svc-supplier')).toBe('fake-2')
    expect(await response.text()).toContain('Hi')
    await until(() => clock.listeners() === 0)
  })

  it('tells an early answered caller of a failure in the stream', async () => {
    const { gateway, suppliers, clock } = await openStreet([silent])
    const answering = gateway.chat(STREAM)
    const { closed } = await suppliers[0]!.request(0)
    clock.advance(15 * SECOND)
    const response = await answering
    const reader = readText(response)
    await reader.until(KEEP_ALIVE)
    clock.advance(15 * SECOND)
    const text = await reader.rest()
    expect(lastError(text).code).toBe('all_providers_exhausted')
    expect(text).not.toContain('[DONE]')
    await closed
    expect(gateway.audit()).toMatchObject([{ code: 'all_providers_exhausted', attempts: 1 }])
    expect(clock.listeners()).toBe(0)
  })

  it('can still move to the next supplier after the headers went out', async () => {
    const { gateway, suppliers, clock } = await openStreet([silent, good])
    const answering = gateway.chat(STREAM)
    const { closed } = await suppliers[0]!.request(0)
    clock.advance(15 * SECOND)
    const response = await answering
    const reader = readText(response)
    await reader.until(KEEP_ALIVE)
    expect(suppliers[1]!.connections()).toBe(0)
    clock.advance(15 * SECOND)
    const text = await reader.rest()
    expect(text).toContain(ANSWER.join(''))
    expect(text).toContain(
      ': x-svc-supplier: fake-2\n: x-svc-region: US\n: x-svc-failover: true\n: x-svc-latency-ms: 30000\n',
    )
    expect(text).toEndWith(DONE)
    await closed
    expect(gateway.audit()).toMatchObject([
      { status: 200, code: null, supplier: 'fake-2', attempts: 2, cost: 5850 },
    ])
    await until(() => clock.listeners() === 0)
  })
})

describe('a stream after its first content', () => {
  it('may be silent for less than two minutes, and shows life meanwhile', async () => {
    const { script, goOn } = createPausing([ROLE, HI], [STOP, USAGE_CHUNK, DONE])
    const street = await openStreet([script])
    const { gateway, clock } = street
    const response = await gateway.chat(STREAM)
    expect(response.headers.get('x-svc-supplier')).toBe('fake')
    const reader = readText(response)
    await reader.until('Hi')
    expect(await waitWithSigns(street, reader, 105 * SECOND)).toBe(7)
    clock.advance(14 * SECOND)
    goOn()
    const text = await reader.rest()
    expect(text).toStartWith(ROLE + HI + KEEP_ALIVE.repeat(7) + STOP)
    expect(text).toEndWith(DONE)
    await until(() => clock.listeners() === 0)
    expect(gateway.audit()).toMatchObject([{ status: 200, code: null }])
  })

  it('ends with an error after two minutes of silence', async () => {
    const { gateway, suppliers, clock } = await openStreet([createPausing([ROLE, HI], []).script])
    const reader = readText(await gateway.chat(STREAM))
    await reader.until('Hi')
    clock.advance(120 * SECOND)
    const text = await reader.rest()
    expect(lastError(text).code).toBe('stream_interrupted')
    expect(lastError(text).human_message).toContain('120 seconds')
    expect(text).not.toContain('[DONE]')
    await suppliers[0]!.requests[0]!.closed
    expect(gateway.audit()).toMatchObject([{ status: 200, code: 'stream_interrupted' }])
    expect(clock.listeners()).toBe(0)
  })

  it('counts the silence anew with every sign of the supplier', async () => {
    const gates = [createGate(), createGate()]
    const { gateway, clock } = await openStreet([
      async (_, reply) => {
        const stream = reply.stream()
        stream.send(ROLE + HI)
        for (const [index, gate] of gates.entries()) {
          await gate.opened
          stream.send(HI.replace('Hi', `part ${index}`))
        }
        stream.send(STOP + DONE)
        stream.end()
      },
    ])
    const reader = readText(await gateway.chat(STREAM))
    await reader.until('Hi')
    for (const [index, gate] of gates.entries()) {
      clock.advance(119 * SECOND)
      gate.open()
      await reader.until(`part ${index}`)
    }
    expect(await reader.rest()).toEndWith(DONE)
  })
})

describe('nothing is left ticking', () => {
  it('after a good answer, a refusal and a failure', async () => {
    const { gateway, clock } = await openStreet([
      (request, reply, index) => {
        if (index === 0) return good(request, reply, index)
        if (index === 1) return refuse(400, { message: 'No.' })(request, reply, index)
        return reply.reset()
      },
    ])
    for (const status of [200, 400, 503]) {
      expect((await gateway.chat(HELLO)).status).toBe(status)
      expect(clock.listeners()).toBe(0)
    }
    expect((await gateway.chat({ model: 'none', messages: [] })).status).toBe(400)
    expect(clock.listeners()).toBe(0)
  })

  it('after a stream that broke', async () => {
    const { gateway, clock } = await openStreet([(_, reply) => sendEvents(reply, [ROLE, HI])])
    expect(await (await gateway.chat(STREAM)).text()).toContain('stream_interrupted')
    expect(clock.listeners()).toBe(0)
  })

  it('after a supplier that says it is done and does not hang up', async () => {
    const { gateway, suppliers, clock } = await openStreet([
      (_, reply) => reply.stream().send([...ANSWER, USAGE_CHUNK, DONE].join('')),
    ])
    expect(await (await gateway.chat(STREAM)).text()).toEndWith(DONE)
    clock.advance(2 * SECOND)
    await suppliers[0]!.requests[0]!.closed
    expect(clock.listeners()).toBe(0)
  })
})

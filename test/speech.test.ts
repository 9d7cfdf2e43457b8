// Speech through the whole gateway: bytes pass as they come, another supplier is asked until the first of them, and
// whatever breaks, whoever leaves, the books tell what is true.
import { afterEach, describe, expect, it } from 'bun:test'
import { connect, type Socket } from 'node:net'
import { createFakeClock } from './fakes/clock.ts'
import { ROOT_KEY, startGateway, type Gateway } from './fakes/gateway.ts'
import { dataOf, endsOf, expectSoundBooks, readRecords } from './fakes/records.ts'
import {
  begun,
  BY_TOKEN,
  MP3,
  MPEG,
  openStage,
  sendSound,
  speak,
  speakerAt,
  SPEECH,
  spoken,
  startFlood,
} from './fakes/speaker.ts'
import { closeStreet, createGate, refuse, tidy, until, type ErrorBody } from './fakes/street.ts'
import type { Script } from './fakes/supplier.ts'

afterEach(closeStreet)

const MEBIBYTE = 1_048_576
const SLOW_MS = 30_000
const NEVER = Number.MAX_SAFE_INTEGER
/** Twelve characters at fifteen dollars a million. */
const COST_NANO = 180_000
const LEFT = { status: 499, code: 'streaming_settlement_cancelled' }
/** Opened by a test when its supplier is to break off. */
let gone = createGate()
const down = refuse(500, { message: 'out of order' })

/** A caller that speaks HTTP by hand, so that it sees how a body ends. */
async function callByHand(gateway: Gateway): Promise<Socket> {
  const { hostname, port } = new URL(gateway.url)
  const socket = connect(Number(port), hostname)
  tidy({ stop: async () => void socket.destroy() })
  socket.on('error', () => {})
  await new Promise((resolve) => socket.once('connect', resolve))
  const text = JSON.stringify(SPEECH)
  socket.write(
    `POST /v1/audio/speech HTTP/1.1\r\nhost: test\r\nauthorization: Bearer ${ROOT_KEY}\r\n` +
      `content-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
  )
  return socket
}

async function collect(socket: Socket): Promise<string> {
  let text = ''
  socket.on('data', (data) => (text += data.toString('latin1')))
  await new Promise((resolve) => socket.once('close', resolve))
  return text
}

async function errorOf(response: Response): Promise<readonly [number, string]> {
  const { error } = (await response.json()) as ErrorBody
  return [response.status, error.code]
}

async function bytesOf(response: Response): Promise<Buffer> {
  return Buffer.from(await response.bytes())
}

/** Reads the beginning and no more. */
async function readSome(response: Response): Promise<void> {
  await response.body!.getReader().read()
}

describe('a text that is spoken', () => {
  it('comes as its supplier sent it, with everything known before the first byte', async () => {
    const { gateway, suppliers } = await openStage([spoken])
    const response = await speak(gateway, { region: 'EU', instructions: 'Whisper.' })
    expect(response.status).toBe(200)
    expect(await bytesOf(response)).toEqual(MP3)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'audio/mpeg',
      'x-svc-supplier': 'fake',
      'x-svc-region': 'EU',
      'x-svc-failover': 'false',
      'x-svc-latency-ms': '0',
      'x-svc-input-tokens': '0',
      'x-svc-output-tokens': '0',
      'x-svc-cost-usd': '0.00018',
      'x-svc-settlement': 'settled',
    })
    expect(response.headers.get('x-request-id')).toMatch(/^req_/)
    expect(JSON.parse(suppliers[0]!.requests[0]!.body.toString())).toEqual({
      ...SPEECH,
      model: 'upstream-voice',
      instructions: 'Whisper.',
    })
    const [end] = endsOf(readRecords(dataOf(gateway)))
    expect(end).toMatchObject({ status: 200, code: null, evidence: 'reported', cost: COST_NANO })
    expect(JSON.parse(end!.details ?? '')).toMatchObject({ units: { characters: 12 } })
    await expectSoundBooks(dataOf(gateway))
  })

  it('reaches its caller while the supplier still speaks', async () => {
    const gate = createGate()
    const { gateway } = await openStage([
      async (_, reply) => {
        const stream = reply.stream(MPEG)
        stream.send(MP3)
        await gate.opened
        stream.end()
      },
    ])
    const reader = (await speak(gateway)).body!.getReader()
    const { value } = await reader.read()
    // All but the last byte, which waits for the books.
    expect(Buffer.from(value ?? [])).toEqual(MP3.subarray(0, -1))
    expect(gateway.audit()).toHaveLength(0)
    gate.open()
    expect(Buffer.from((await reader.read()).value ?? [])).toEqual(MP3.subarray(-1))
    expect(gateway.audit()).toHaveLength(1)
    expect((await reader.read()).done).toBe(true)
  })

  const WAV = Buffer.from('RIFF....WAVEfmt ')
  it.each([
    ['octets', 'mp3', MP3, { 'content-type': 'application/octet-stream' }, 'audio/mpeg'],
    ['nothing', 'mp3', MP3, { 'content-type': '' }, 'audio/mpeg'],
    ['another name of it', 'wav', WAV, { 'content-type': 'audio/x-wav' }, 'audio/wav'],
    ['the wrong thing', 'wav', WAV, MPEG, 'audio/wav'],
    ['what it is instead', 'mp3', WAV, { 'content-type': 'audio/wav' }, 'audio/wav'],
    ['what was asked', 'wav', Buffer.alloc(9, 1), MPEG, 'audio/wav'],
  ])('is called what it is where its supplier calls it %s', async (...row) => {
    const [, format, bytes, headers, type] = row
    const { gateway } = await openStage([(_, reply) => sendSound(reply, bytes, headers)])
    const response = await speak(gateway, { response_format: format })
    expect(response.headers.get('content-type')).toBe(type)
    expect(await bytesOf(response)).toEqual(bytes)
  })

  it('is charged by what it is likely to be where only tokens have a price', async () => {
    const { gateway } = await openStage([spoken], {}, BY_TOKEN)
    const response = await speak(gateway)
    await response.bytes()
    // Three tokens of text and four around it; three quarters of a second.
    expect(response.headers.get('x-svc-input-tokens')).toBe('7')
    expect(response.headers.get('x-svc-output-tokens')).toBe('16')
    expect(response.headers.get('x-svc-settlement')).toBe('estimated')
    const cost = 7 * 600 + 16 * 12_000
    expect(response.headers.get('x-svc-cost-usd')).toBe((cost / 1e9).toString())
    const { holds, ends } = readRecords(dataOf(gateway))
    expect(ends).toMatchObject([{ evidence: 'counted', cost, output_tokens: 16 }])
    expect(holds[0]!.amount).toBeGreaterThan(cost)
    await expectSoundBooks(dataOf(gateway))
  })

  it('is refused before anybody is asked where the budget does not pay all of it', async () => {
    const { gateway, suppliers } = await openStage([spoken])
    const { key } = await gateway.createKey({ name: 'small', budget_limit: 0.0001 })
    const headers = { authorization: `Bearer ${key}` }
    expect(await errorOf(await speak(gateway, {}, { headers }))).toEqual([402, 'budget_exceeded'])
    expect(suppliers[0]!.connections()).toBe(0)
    const short = await speak(gateway, { input: 'Hello.' }, { headers })
    expect(short.headers.get('x-svc-cost-usd')).toBe('0.00009')
    await short.bytes()
  })

  it('is not spoken by a model that chats', async () => {
    const { gateway } = await openStage([spoken])
    expect(
      await errorOf(await gateway.chat({ ...SPEECH, messages: [{ role: 'user', content: 'Hi' }] })),
    ).toEqual([400, 'capability_unsupported'])
  })
})

describe('before the first byte', () => {
  it.each<readonly [string, Script]>([
    ['fails', down],
    ['is busy', refuse(429, { message: 'slow down' })],
    ['hangs up', (_, reply) => reply.reset()],
    ['sends JSON', (_, reply) => reply.json(200, { audio: 'UklGRg==' })],
    ['sends an error as a sound', (_, reply) => sendSound(reply, Buffer.from('{"error":{}}'))],
    [
      'sends a page',
      (_, reply) => sendSound(reply, Buffer.from('<html>'), { 'content-type': 'text/html' }),
    ],
    ['sends a list as a sound', (_, reply) => sendSound(reply, Buffer.from('[{"error":1}]'))],
    ['sends a sentence as a sound', (_, reply) => sendSound(reply, Buffer.from('\n Busy, sorry.'))],
    ['sends nothing', (_, reply) => reply.stream(MPEG).end()],
    [
      'hangs up after its first byte',
      async (_, reply) => {
        reply.stream(MPEG).send(MP3.subarray(0, 1))
        await new Promise(setImmediate)
        reply.reset()
      },
    ],
    [
      'hangs up after its headers',
      (_, reply) => {
        reply.stream(MPEG)
        reply.reset()
      },
    ],
  ])('another one is asked where a supplier %s', async (_, script) => {
    const { gateway, suppliers } = await openStage([script, spoken])
    const response = await speak(gateway)
    expect(await bytesOf(response)).toEqual(MP3)
    expect(response.headers.get('x-svc-supplier')).toBe('fake-2')
    expect(response.headers.get('x-svc-failover')).toBe('true')
    expect(suppliers[0]!.requests).toHaveLength(1)
    expect(gateway.audit()).toMatchObject([{ status: 200, attempts: 2, cost: COST_NANO }])
    await expectSoundBooks(dataOf(gateway))
  })

  it('another one is asked where a supplier says nothing in time', async () => {
    const { gateway, suppliers, clock } = await openStage(
      [(_, reply) => void reply.stream(MPEG), spoken],
      { firstContentMs: 5000 },
    )
    const answering = speak(gateway)
    await suppliers[0]!.request(0)
    let isClosed = false
    void suppliers[0]!.requests[0]!.closed.then(() => (isClosed = true))
    await until(() => {
      clock.advance(1000)
      return isClosed
    })
    expect(await bytesOf(await answering)).toEqual(MP3)
  })

  it.each<readonly [string, Script, number, string]>([
    ['JSON', (_, reply) => reply.json(200, {}), 502, 'upstream_invalid_response'],
    [
      'an error',
      (_, reply) => reply.json(200, { error: { message: 'no' } }),
      502,
      'upstream_invalid_response',
    ],
    ['nothing', (_, reply) => reply.stream(MPEG).end(), 502, 'empty_response'],
  ])('everybody who sends %s is told as that, and is free', async (_, script, status, code) => {
    const { gateway } = await openStage([script, script])
    const response = await speak(gateway)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(await errorOf(response)).toEqual([status, code])
    expect(gateway.audit()).toMatchObject([{ status, code, attempts: 2, cost: 0 }])
  })

  it('a refusal of the request itself is told in its supplier’s words, and nobody else is asked', async () => {
    const { gateway, suppliers } = await openStage([
      refuse(400, { message: 'no such voice', code: 'invalid_voice' }),
      spoken,
    ])
    const response = await speak(gateway)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      error: { code: 'invalid_voice', human_message: 'no such voice' },
    })
    expect(suppliers[1]!.connections()).toBe(0)
  })
})

describe('a supplier that breaks off', () => {
  it.each<readonly [string, Script]>([
    [
      'by a reset',
      async (_, reply) => {
        reply.stream(MPEG).send(MP3)
        await gone.opened
        reply.reset()
      },
    ],
    [
      'by a close before the length that it has told',
      async (_, reply) => {
        reply.raw(`HTTP/1.1 200 OK\r\ncontent-type: audio/mpeg\r\ncontent-length: 20000\r\n\r\n`)
        reply.raw(MP3)
        await gone.opened
        reply.raw(MP3)
        reply.close()
      },
    ],
  ])('is cut off for its caller, and is free (%s)', async (_, script) => {
    gone = createGate()
    const { gateway, suppliers } = await openStage([script, spoken])
    const socket = await callByHand(gateway)
    socket.once('data', () => gone.open())
    const text = await collect(socket)
    expect(text).toStartWith('HTTP/1.1 200')
    expect(text).not.toContain('\r\n0\r\n\r\n')
    expect(suppliers[1]!.connections()).toBe(0)
    expect(endsOf(readRecords(dataOf(gateway)))).toMatchObject([
      { status: 200, code: 'stream_interrupted', evidence: 'broken', cost: 0 },
    ])
    await expectSoundBooks(dataOf(gateway))
  })

  it('is cut off where it falls silent for too long', async () => {
    const { gateway, clock } = await openStage([begun], { idleMs: 5000 })
    const response = await speak(gateway)
    const reader = response.body!.getReader()
    await reader.read()
    clock.advance(7000)
    expect(await reader.read().catch((thrown: unknown) => thrown)).toBeInstanceOf(Error)
    expect(gateway.audit()).toMatchObject([{ status: 200, code: 'stream_interrupted', cost: 0 }])
    expect(clock.listeners()).toBe(0)
  })
})

describe('a caller that leaves', () => {
  it('before anything came ends the call', async () => {
    const { gateway, suppliers, clock } = await openStage([() => {}, spoken])
    const leaving = new AbortController()
    const answering = speak(gateway, {}, { signal: leaving.signal })
    const { closed } = await suppliers[0]!.request(0)
    leaving.abort()
    expect(await answering.catch((thrown: unknown) => thrown)).toBeInstanceOf(Error)
    await closed
    await until(() => gateway.audit().length > 0)
    await gateway.drain()
    expect(gateway.audit()).toMatchObject([{ ...LEFT, attempts: 1, cost: COST_NANO }])
    expect(suppliers[1]!.connections()).toBe(0)
    expect(clock.listeners()).toBe(0)
  })

  it('in the middle has its supplier ended at once, and pays for what it asked', async () => {
    const { gateway, suppliers, clock } = await openStage([begun])
    const leaving = new AbortController()
    await readSome(await speak(gateway, {}, { signal: leaving.signal }))
    leaving.abort()
    await suppliers[0]!.requests[0]!.closed
    await until(() => gateway.audit().length > 0)
    await gateway.drain()
    expect(gateway.audit()).toMatchObject([{ ...LEFT, cost: COST_NANO }])
    expect(clock.listeners()).toBe(0)
    await expectSoundBooks(dataOf(gateway))
  })

  it('with a hundred others at once leaves nothing behind', async () => {
    const { gateway, suppliers, clock } = await openStage([begun])
    const sockets = await Promise.all(Array.from({ length: 100 }, () => callByHand(gateway)))
    await suppliers[0]!.request(99)
    for (const socket of sockets) socket.resetAndDestroy()
    await Promise.all(suppliers[0]!.requests.map(({ closed }) => closed))
    await until(() => gateway.audit().length >= 100)
    await gateway.drain()
    expect(new Set(gateway.audit().map(({ status }) => status))).toEqual(new Set([499]))
    expect(gateway.audit()).toHaveLength(100)
    expect(clock.listeners()).toBe(0)
  })
})

describe('a caller that reads slowly', () => {
  it(
    'holds its supplier back, and counts as gone when it does not read at all',
    async () => {
      const flood = await startFlood(100 * MEBIBYTE)
      const clock = createFakeClock()
      const limits = { firstContentMs: NEVER, idleMs: 20_000 }
      const suppliers = [speakerAt(flood.origin)]
      const gateway = tidy(await startGateway({ clock, limits, suppliers }))
      Bun.gc(true)
      const before = process.memoryUsage.rss()
      const socket = await callByHand(gateway)
      const hungUp = new Promise((resolve) => socket.once('close', resolve))
      let tail = ''
      socket.on('data', (data) => (tail = (tail + data.toString('latin1')).slice(-64)))
      socket.pause()
      await flood.heldBack
      // It waits longer than a silent supplier may, which is not its supplier's silence.
      let isClosed = false
      void flood.closed.then(() => (isClosed = true))
      let peak = 0
      await until(() => {
        clock.advance(1000)
        peak = Math.max(peak, process.memoryUsage.rss())
        return isClosed
      })
      expect(flood.taken()).toBeLessThan(32 * MEBIBYTE)
      expect(peak - before).toBeLessThan(64 * MEBIBYTE)
      socket.resume()
      await hungUp
      expect(tail).not.toEndWith('\r\n0\r\n\r\n')
      await until(() => clock.listeners() === 0)
      await gateway.drain()
      expect(gateway.audit()).toMatchObject([{ ...LEFT, supplier: 'fake', cost: COST_NANO }])
    },
    SLOW_MS,
  )

  it(
    'gets every byte when it reads on',
    async () => {
      const flood = await startFlood(50 * MEBIBYTE)
      const suppliers = [speakerAt(flood.origin)]
      const gateway = tidy(await startGateway({ clock: createFakeClock(), suppliers }))
      const response = await speak(gateway)
      await flood.heldBack
      let bytes = 0
      for await (const piece of response.body!) bytes += piece.length
      expect(bytes).toBe(50 * MEBIBYTE)
      expect(gateway.audit()).toMatchObject([{ status: 200, code: null }])
    },
    SLOW_MS,
  )
})

describe('a sound that does not end', () => {
  it(
    'is cut off at a limit, and free',
    async () => {
      const flood = await startFlood(1024 * MEBIBYTE)
      const suppliers = [speakerAt(flood.origin)]
      const gateway = tidy(await startGateway({ clock: createFakeClock(), suppliers }))
      const response = await speak(gateway)
      let bytes = 0
      const read = async (): Promise<void> => {
        for await (const piece of response.body!) bytes += piece.length
      }
      expect(await read().catch(() => 'cut off')).toBe('cut off')
      expect(bytes).toBeLessThanOrEqual(256 * MEBIBYTE)
      await flood.closed
      await gateway.drain()
      expect(gateway.audit()).toMatchObject([{ code: 'stream_interrupted', cost: 0 }])
    },
    SLOW_MS,
  )
})

describe('a sound under an Idempotency-Key', () => {
  const ONCE = { headers: { 'idempotency-key': 'once' } }

  it('is shown again, byte for byte, and spoken once', async () => {
    const { gateway, suppliers } = await openStage([spoken])
    const first = await speak(gateway, {}, ONCE)
    expect(await bytesOf(first)).toEqual(MP3)
    const second = await speak(gateway, {}, ONCE)
    expect(await bytesOf(second)).toEqual(MP3)
    expect(second.headers.get('content-type')).toBe('audio/mpeg')
    expect(second.headers.get('x-svc-cost-usd')).toBe('0.00018')
    expect(suppliers[0]!.requests).toHaveLength(1)
    expect(gateway.audit()).toHaveLength(1)
    expect(await errorOf(await speak(gateway, { input: 'Other.' }, ONCE))).toEqual([
      422,
      'idempotency_conflict',
    ])
  })

  it('is read to its end for the retry of a caller who has gone', async () => {
    const gate = createGate()
    const { gateway, suppliers, clock } = await openStage([
      async (_, reply) => {
        const stream = reply.stream(MPEG)
        stream.send(MP3)
        await gate.opened
        stream.send(MP3)
        stream.end()
      },
    ])
    const leaving = new AbortController()
    await readSome(await speak(gateway, {}, { ...ONCE, signal: leaving.signal }))
    leaving.abort()
    await until(() => gateway.app.pending() === 0)
    gate.open()
    await until(() => gateway.audit().length > 0)
    expect(gateway.audit()).toMatchObject([{ ...LEFT, cost: COST_NANO }])
    const retry = await speak(gateway, {}, ONCE)
    expect(await bytesOf(retry)).toEqual(Buffer.concat([MP3, MP3]))
    expect(suppliers[0]!.requests).toHaveLength(1)
    expect(clock.listeners()).toBe(0)
  })

  it('is not kept where it broke off, and is not spoken again by itself', async () => {
    const { gateway, suppliers } = await openStage([
      async (_, reply) => {
        reply.stream(MPEG).send(MP3)
        await gone.opened
        reply.reset()
      },
    ])
    gone = createGate()
    const response = await speak(gateway, {}, ONCE)
    const reader = response.body!.getReader()
    await reader.read()
    gone.open()
    await until(() => gateway.audit().length > 0)
    const again = await speak(gateway, {}, ONCE)
    expect(again.status).toBe(409)
    expect(suppliers[0]!.requests).toHaveLength(1)
  })

  it('is delivered whole where it is too long to be kept', async () => {
    const flood = await startFlood(24 * MEBIBYTE)
    const suppliers = [speakerAt(flood.origin)]
    const gateway = tidy(await startGateway({ clock: createFakeClock(), suppliers }))
    const response = await speak(gateway, {}, ONCE)
    expect((await response.bytes()).length).toBe(24 * MEBIBYTE)
    expect((await speak(gateway, {}, ONCE)).status).toBe(409)
  })
})

describe('a shutdown', () => {
  it('waits for a sound that is being spoken', async () => {
    const gate = createGate()
    const { gateway } = await openStage([
      async (_, reply) => {
        const stream = reply.stream(MPEG)
        stream.send(MP3)
        await gate.opened
        stream.end()
      },
    ])
    const response = await speak(gateway)
    const ending = gateway.app.drain({ noticeMs: 0, limitMs: 60_000 })
    gate.open()
    expect(await bytesOf(response)).toEqual(MP3)
    await ending
    expect(gateway.audit()).toMatchObject([{ status: 200, code: null, cost: COST_NANO }])
  })

  it('cuts it when the time is up', async () => {
    const { gateway, suppliers } = await openStage([begun])
    const reader = (await speak(gateway)).body!.getReader()
    await reader.read()
    const ending = gateway.app.drain({ noticeMs: 0, limitMs: 60_000 })
    gateway.app.cut()
    expect(await reader.read().catch((thrown: unknown) => thrown)).toBeInstanceOf(Error)
    await suppliers[0]!.requests[0]!.closed
    await ending
    expect(gateway.audit()).toMatchObject([{ status: 200, code: 'stream_interrupted', cost: 0 }])
  })
})

describe('the demo', () => {
  async function openDemo(): Promise<Gateway> {
    return tidy(await startGateway({ clock: createFakeClock() }))
  }

  it.each([
    ['mp3', 'audio/mpeg', 'ID3'],
    ['wav', 'audio/wav', 'RIFF'],
  ])('speaks %s, for what it has a price for', async (format, type, mark) => {
    const gateway = await openDemo()
    const response = await speak(gateway, { model: 'demo/speak', response_format: format })
    expect(response.headers.get('content-type')).toBe(type)
    expect(response.headers.get('x-svc-cost-usd')).toBe('0.00018')
    expect((await bytesOf(response)).toString('latin1')).toStartWith(mark)
    await expectSoundBooks(dataOf(gateway))
  })

  it('shows how a failover looks, and how a sound that breaks off', async () => {
    const gateway = await openDemo()
    const moved = await speak(gateway, { model: 'demo/speak-failover' })
    expect(moved.headers.get('x-svc-failover')).toBe('true')
    expect(moved.headers.get('x-svc-supplier')).toBe('demo-backup')
    await moved.bytes()
    const cut = await speak(gateway, { model: 'demo/speak-cut' })
    expect(await cut.bytes().catch((thrown: unknown) => thrown)).toBeInstanceOf(Error)
    const garbage = await speak(gateway, { model: 'demo/speak-garbage' })
    expect(await errorOf(garbage)).toEqual([502, 'upstream_invalid_response'])
    expect(gateway.audit().map(({ code, cost }) => [code, cost])).toEqual([
      [null, COST_NANO],
      ['stream_interrupted', 0],
      ['upstream_invalid_response', 0],
    ])
  })
})

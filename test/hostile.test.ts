// Hostile callers against the real server: whatever they send, however slowly, and however they leave,
// the answer is right and the process goes on as if nothing had been.
import { afterEach, describe, expect, it } from 'bun:test'
import { brotliCompressSync, constants, deflateRawSync, gzipSync } from 'node:zlib'
import { createLog } from '../src/observe/log.ts'
import { createFakeClock, type FakeClock } from './fakes/clock.ts'
import {
  HELLO,
  ROOT_KEY,
  startGateway,
  supplierAt,
  type Gateway,
  type GatewayOptions,
} from './fakes/gateway.ts'
import {
  connectRaw,
  formatChunk,
  formatRequest,
  LAST_CHUNK,
  sendRaw,
  type RawClient,
  type RawResponse,
} from './fakes/raw.ts'
import { completion, startFakeSupplier, type FakeSupplier, type Script } from './fakes/supplier.ts'

const open: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.stop()
})

interface House {
  readonly gateway: Gateway
  readonly supplier: FakeSupplier
}

const answerWell: Script = (_, reply) => reply.json(200, completion('Hi'))

async function openHouse(options: GatewayOptions = {}, script = answerWell): Promise<House> {
  const supplier = await startFakeSupplier(script)
  const gateway = await startGateway({ suppliers: [supplierAt(supplier.origin)], ...options })
  open.push(supplier, gateway)
  return { gateway, supplier }
}

type Header = readonly [string, string]

const MEBIBYTE = 1_048_576
const BODY_BYTES_MAX = 32 * MEBIBYTE
const KEY: Header = ['Authorization', `Bearer ${ROOT_KEY}`]
const JSON_TYPE: Header = ['Content-Type', 'application/json']
const CHUNKED: Header = ['Transfer-Encoding', 'chunked']
const CHAT = '/v1/chat/completions'
const hello = JSON.stringify(HELLO)
const HEALTH = formatRequest({ target: '/health' })

function post(body: string | Uint8Array, ...headers: readonly Header[]): Buffer {
  return formatRequest({
    method: 'POST',
    target: CHAT,
    headers: [KEY, JSON_TYPE, ...headers],
    body,
  })
}

function lengthOf(bytes: number): Header {
  return ['Content-Length', String(bytes)]
}

function codeOf(response: RawResponse): unknown {
  const { error } = JSON.parse(response.body.toString()) as { error?: { code: unknown } }
  return error?.code
}

async function expectAlive({ gateway }: House): Promise<void> {
  expect((await sendRaw(gateway.url, HEALTH)).status).toBe(200)
  expect((await sendRaw(gateway.url, post(hello))).status).toBe(200)
}

/** Repeatable chance: the same seed breaks the same bodies. */
function createChance(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * below)
  }
}

const SOUND = JSON.stringify({
  ...HELLO,
  stream: false,
  temperature: 0.5,
  max_tokens: 100,
  metadata: { session_id: 'session', team: 'blue' },
  tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }],
})

const NUMBERS = ['1e400', '-1e400', '9'.repeat(1000), '1e-400', '-0', `0.${'1'.repeat(5000)}`]
const LONE_SURROGATES = ['\\ud800', '\\udfff', '\\ud800\\ud800', '\\udc00\\ud800']
const NO_UTF8 = ['ff', 'c0af', 'eda080', 'f5808080', 'e282', '80'].map((hex) =>
  Buffer.from(hex, 'hex'),
)

interface Malformed {
  readonly body: Buffer
  /** Deep or wide enough to be refused before its end is read. */
  readonly isExcessive?: boolean
}

function malform(chance: (below: number) => number): Malformed {
  const sound = Buffer.from(SOUND)
  const at = chance(sound.length)
  const splice = (cut: number, put: Uint8Array | string): Malformed => ({
    body: Buffer.concat([sound.subarray(0, at), Buffer.from(put), sound.subarray(at + cut)]),
  })
  const pick = <Item>(items: readonly Item[]): Item => items[chance(items.length)]!
  const ways: readonly (() => Malformed)[] = [
    () => splice(1, Buffer.from([chance(256)])),
    () => splice(0, Buffer.from([chance(256)])),
    () => splice(chance(20), ''),
    () => splice(0, sound.subarray(at, at + chance(60))),
    () => splice(0, pick(['"', '{', '}', '[', ']', ',', ':', '\\', '\0', '\u2028', ' ', 'null'])),
    () => ({ body: sound.subarray(0, at) }),
    () => ({ body: Buffer.from(Array.from({ length: chance(200) }, () => chance(256))) }),
    () => splice(0, pick(NO_UTF8)),
    () => ({ body: Buffer.from(SOUND.replace('Hello', pick(LONE_SURROGATES))) }),
    () => ({ body: Buffer.from(SOUND.replace(pick(['0.5', '100']), pick(NUMBERS))) }),
    () => ({
      body: Buffer.from(SOUND.replace(/"(\w+)":/, `"$1":${pick(['[]', '{}', '""', '1'])},$&`)),
    }),
    () => {
      const levels = 65 + chance(3000)
      const close = chance(2) === 0 ? ']'.repeat(levels) : ''
      return { body: Buffer.from(`{"x":${'['.repeat(levels)}${close}}`), isExcessive: true }
    },
  ]
  return pick(ways)()
}

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function isJson(body: Uint8Array): boolean {
  try {
    JSON.parse(strict.decode(body))
    return true
  } catch {
    return false
  }
}

describe('a thousand malformed bodies', () => {
  it('are each told apart, and what is refused goes nowhere', async () => {
    const house = await openHouse()
    const chance = createChance(20_260_115)
    const client = await connectRaw(house.gateway.url)
    let passed = 0
    for (let index = 0; index < 1000; index++) {
      const { body, isExcessive = false } = malform(chance)
      await client.send(post(body))
      const response = await client.response()
      const shown = `${response.status} ${response.body.toString()} for ${body.toString('latin1')}`
      if (response.status === 200) passed++
      else if (response.status !== 404) expect(response.status, shown).toBe(400)
      const isRefusedAsJson = response.status === 400 && codeOf(response) === 'invalid_json'
      expect(isRefusedAsJson, shown).toBe(!isExcessive && !isJson(body))
    }
    client.close()
    // Some are only odd: without any that pass, the rest would prove little.
    expect(passed).toBeGreaterThan(50)
    expect(passed).toBeLessThan(500)
    expect(house.supplier.requests).toHaveLength(passed)
    await expectAlive(house)
  })

  it('leave no memory behind', async () => {
    const house = await openHouse()
    const wide = `{${Array.from({ length: 100_000 }, (_, at) => `"k${at}":1`).join(',')}}`
    const bodies = [wide, '['.repeat(MEBIBYTE), `"${'x'.repeat(MEBIBYTE)}`, ' '.repeat(MEBIBYTE)]
    const round = async (): Promise<number> => {
      for (let index = 0; index < 25; index++)
        for (const body of bodies)
          expect((await sendRaw(house.gateway.url, post(body))).status).toBe(400)
      Bun.gc(true)
      return process.memoryUsage().rss
    }
    const before = await round()
    const after = await round()
    // Half of what came in between.
    expect(after - before).toBeLessThan(50 * MEBIBYTE)
    await expectAlive(house)
  })
})

describe('a compressed body', () => {
  for (const [encoding, compress] of [
    ['gzip', gzipSync],
    ['GZIP', gzipSync],
    ['br', brotliCompressSync],
  ] as const)
    it(`reaches the supplier in plain: ${encoding}`, async () => {
      const { gateway, supplier } = await openHouse()
      const request = post(compress(hello), ['Content-Encoding', encoding])
      expect((await sendRaw(gateway.url, request)).status).toBe(200)
      const { body, headers } = await supplier.request(0)
      expect(JSON.parse(body.toString())).toEqual({ ...HELLO, model: 'upstream-model' })
      expect(headers.has('content-encoding')).toBe(false)
    })

  it('is refused when a gigabyte comes out of a megabyte', async () => {
    const house = await openHouse()
    const zeros = deflateRawSync(Buffer.alloc(MEBIBYTE), { finishFlush: constants.Z_FULL_FLUSH })
    const head = Buffer.from('1f8b0800000000000003', 'hex')
    const bomb = Buffer.concat([head, ...Array.from({ length: 1024 }, () => zeros)])
    const response = await sendRaw(house.gateway.url, post(bomb, ['Content-Encoding', 'gzip']))
    expect([response.status, codeOf(response)]).toEqual([413, 'request_too_large'])
    expect(house.supplier.requests).toHaveLength(0)
    await expectAlive(house)
  })

  it('is refused when it is one byte too long after unpacking', async () => {
    const house = await openHouse()
    const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }
    const bomb = brotliCompressSync(Buffer.alloc(BODY_BYTES_MAX + 1), quality)
    const response = await sendRaw(house.gateway.url, post(bomb, ['Content-Encoding', 'br']))
    expect([response.status, codeOf(response)]).toEqual([413, 'request_too_large'])
    await expectAlive(house)
  })

  for (const [name, body, encoding] of [
    ['cut short', gzipSync(SOUND).subarray(0, 60), 'gzip'],
    ['damaged', Buffer.from(gzipSync(SOUND)).fill(0x55, 40, 60), 'gzip'],
    ['no data at all', Buffer.from(hello), 'br'],
    ['nothing', Buffer.alloc(0), 'gzip'],
  ] as const)
    it(`is refused when it is ${name}`, async () => {
      const house = await openHouse()
      const response = await sendRaw(house.gateway.url, post(body, ['Content-Encoding', encoding]))
      expect([response.status, codeOf(response)]).toEqual([400, 'invalid_request'])
      expect(house.supplier.requests).toHaveLength(0)
      await expectAlive(house)
    })
})

describe('a body in chunks', () => {
  it('needs no length, and may come byte by byte', async () => {
    const { gateway, supplier } = await openHouse()
    const client = await connectRaw(gateway.url)
    await client.send(post('', CHUNKED))
    for (const byte of Buffer.from(hello)) await client.send(formatChunk(Buffer.from([byte])))
    await client.send(LAST_CHUNK)
    expect((await client.response()).status).toBe(200)
    expect(supplier.requests).toHaveLength(1)
    client.close()
  })

  it('may be compressed as well', async () => {
    const { gateway } = await openHouse()
    const head = post('', CHUNKED, ['Content-Encoding', 'gzip'])
    const body = Buffer.concat([head, formatChunk(gzipSync(hello)), Buffer.from(LAST_CHUNK)])
    expect((await sendRaw(gateway.url, body)).status).toBe(200)
  })
})

describe('a body of 32 MiB and one byte', () => {
  it('is refused by its length before any of it has come', async () => {
    const house = await openHouse()
    const client = await connectRaw(house.gateway.url)
    await client.send(post('', lengthOf(BODY_BYTES_MAX + 1)))
    const response = await client.response()
    expect([response.status, codeOf(response)]).toEqual([413, 'request_too_large'])
    expect(response.headers.get('connection')).toBe('close')
    await client.closed
    await expectAlive(house)
  })

  it('is refused at the byte that is too many when it has no length', async () => {
    const house = await openHouse()
    const client = await connectRaw(house.gateway.url)
    await client.send(post('', CHUNKED))
    const piece = formatChunk(Buffer.alloc(MEBIBYTE, ' '))
    for (let sent = 0; sent < BODY_BYTES_MAX; sent += MEBIBYTE) await client.send(piece)
    await client.send(formatChunk(' '))
    const response = await client.response()
    expect([response.status, codeOf(response)]).toEqual([413, 'request_too_large'])
    await client.closed
    await expectAlive(house)
  })

  it('is refused to those without a credential for that reason alone', async () => {
    const { gateway } = await openHouse()
    const headers = [JSON_TYPE, lengthOf(BODY_BYTES_MAX + 1)]
    const response = await sendRaw(
      gateway.url,
      formatRequest({ method: 'POST', target: CHAT, headers, body: '' }),
    )
    expect(response.status).toBe(401)
  })
})

describe('a slow body', () => {
  interface Slow extends House {
    readonly clock: FakeClock
    readonly client: RawClient
  }

  /** A gateway that has read the head of a request and waits for its body. */
  async function begin(first: string | Uint8Array, ...headers: readonly Header[]): Promise<Slow> {
    const clock = createFakeClock()
    const house = await openHouse({ clock })
    const client = await connectRaw(house.gateway.url)
    await client.send(post(first, ...headers))
    while (clock.listeners() === 0) await new Promise(setImmediate)
    return { ...house, clock, client }
  }

  async function expectTimeout({ client, clock, supplier }: Slow): Promise<void> {
    const response = await client.response()
    expect([response.status, codeOf(response)]).toEqual([408, 'request_timeout'])
    expect(response.headers.get('x-should-retry')).toBe('true')
    expect(response.headers.get('connection')).toBe('close')
    await client.closed
    expect(client.rest).toHaveLength(0)
    expect(supplier.requests).toHaveLength(0)
    expect(clock.listeners()).toBe(0)
  }

  /** Whatever was sent before has been read when a later request has its answer. */
  async function settle({ gateway }: House): Promise<void> {
    for (let round = 0; round < 2; round++)
      expect((await sendRaw(gateway.url, HEALTH)).status).toBe(200)
  }

  for (const [name, header] of [
    ['of a hundred bytes', lengthOf(100)],
    ['of a hundred kilobytes', lengthOf(100_000)],
    ['of unknown length', CHUNKED],
  ] as const)
    it(`is given up when it falls silent: ${name}`, async () => {
      const first = header === CHUNKED ? '' : '{"model": '
      const slow = await begin(first, header)
      slow.clock.advance(9_000)
      await settle(slow)
      expect(slow.client.rest).toHaveLength(0)
      slow.clock.advance(3_000)
      await expectTimeout(slow)
    })

  it('is given up when it only trickles', async () => {
    const slow = await begin('', lengthOf(MEBIBYTE))
    for (let second = 0; second < 30 && slow.clock.listeners() > 0; second++) {
      await slow.client.send(' '.repeat(500))
      await settle(slow)
      slow.clock.advance(1_000)
    }
    await expectTimeout(slow)
  })

  it('is given up when it stops after a good start', async () => {
    const slow = await begin(' '.repeat(100_000), lengthOf(MEBIBYTE))
    await settle(slow)
    slow.clock.advance(60_000)
    await settle(slow)
    expect(slow.client.rest).toHaveLength(0)
    slow.clock.advance(60_000)
    await expectTimeout(slow)
  })

  for (const bytes of [60_000, 120_000])
    it(`has all the time it needs at two kilobytes a second: ${bytes} bytes`, async () => {
      const body = `${' '.repeat(bytes - hello.length)}${hello}`
      const slow = await begin(body.slice(0, 2048), lengthOf(bytes))
      for (let at = 2048; at < bytes; at += 2048) {
        await settle(slow)
        slow.clock.advance(1_000)
        await slow.client.send(body.slice(at, at + 2048))
      }
      expect((await slow.client.response()).status).toBe(200)
      slow.client.close()
    })

  it('does not keep others waiting, nor does a slow head', async () => {
    const slow = await begin('{', lengthOf(100))
    const head = await connectRaw(slow.gateway.url)
    await head.send('GET /health HTTP/1.1\r\nHost: gate')
    await expectAlive(slow)
    await head.send('way.test\r\n\r\n')
    expect((await head.response()).status).toBe(200)
    head.close()
    slow.client.close()
  })
})

describe('a connection', () => {
  it('carries a thousand requests', async () => {
    const { gateway } = await openHouse()
    const client = await connectRaw(gateway.url)
    for (let index = 0; index < 1000; index++) {
      await client.send(HEALTH)
      expect((await client.response()).status).toBe(200)
    }
    client.close()
  })

  // Behind a call that has to wait for a supplier the runtime hangs up instead.
  it('answers what was sent at once in its order', async () => {
    const { gateway } = await openHouse()
    const client = await connectRaw(gateway.url)
    const requests = [HEALTH, post('{'), formatRequest({ target: '/nope' })]
    const rounds = Array.from({ length: 50 }, () => requests).flat()
    await client.send(Buffer.concat(rounds))
    for (const request of rounds) {
      const expected = { 0: 200, 1: 400, 2: 404 }[requests.indexOf(request)]
      expect((await client.response()).status).toBe(expected!)
    }
    client.close()
  })

  it('tells who asks first to go on', async () => {
    const { gateway } = await openHouse()
    const client = await connectRaw(gateway.url)
    await client.send(post('', lengthOf(hello.length), ['Expect', '100-continue']))
    expect((await client.response()).status).toBe(100)
    await client.send(hello)
    expect((await client.response()).status).toBe(200)
    client.close()
  })

  it('stays in step after answers that have no body', async () => {
    const { gateway } = await openHouse()
    const client = await connectRaw(gateway.url)
    const targets = { '/health': 200, '/v1/models': 401, '/nope': 404, [CHAT]: 405, '/': 200 }
    for (const [target, status] of Object.entries(targets)) {
      await client.send(formatRequest({ method: 'HEAD', target }))
      expect((await client.response({ isHead: true })).status).toBe(status)
      expect(client.rest).toHaveLength(0)
    }
    client.close()
  })

  it('takes the body of a refused request for nothing else', async () => {
    const { gateway, supplier } = await openHouse()
    const hidden = post(hello)
    const refused = formatRequest({ method: 'POST', target: CHAT, body: hidden })
    const ignored = formatRequest({ target: '/health', body: hidden })
    const client = await connectRaw(gateway.url)
    await client.send(Buffer.concat([refused, ignored, formatRequest({ target: '/nope' })]))
    expect((await client.response()).status).toBe(401)
    expect((await client.response()).status).toBe(200)
    expect((await client.response()).status).toBe(404)
    expect(client.rest).toHaveLength(0)
    expect(supplier.requests).toHaveLength(0)
    client.close()
  })

  it('may be reset in the middle of a body, and that is nobody’s fault', async () => {
    const clock = createFakeClock()
    const statuses: number[] = []
    const log = createLog({
      write: (text) => {
        for (const line of text.trim().split('\n'))
          statuses.push((JSON.parse(line) as { status: number }).status)
      },
      now: () => 0,
      isTerminal: false,
    })
    const house = await openHouse({ clock, log })
    const clients: RawClient[] = []
    for (let index = 0; index < 50; index++) {
      const client = await connectRaw(house.gateway.url)
      await client.send(post('{"model"', index % 2 === 0 ? lengthOf(100) : lengthOf(100_000)))
      clients.push(client)
    }
    while (clock.listeners() < 50) await new Promise(setImmediate)
    for (const client of clients) client.reset()
    while (statuses.length < 50) await new Promise(setImmediate)
    expect(new Set(statuses)).toEqual(new Set([499]))
    expect(clock.listeners()).toBe(0)
    expect(house.supplier.requests).toHaveLength(0)
    await expectAlive(house)
  })

  it('may vanish, five hundred times', async () => {
    const house = await openHouse()
    const beginnings = [
      '',
      'GET',
      'GET /health HTTP/1.1\r\nHost: a',
      post('{', lengthOf(100)),
      HEALTH,
    ]
    const clients = await Promise.all(
      Array.from({ length: 500 }, () => connectRaw(house.gateway.url)),
    )
    for (const [index, client] of clients.entries()) {
      await client.send(beginnings[index % beginnings.length]!)
      if (index % 2 === 0) client.reset()
      else client.close()
    }
    await Promise.all(clients.map(({ closed }) => closed))
    expect(house.supplier.requests).toHaveLength(0)
    await expectAlive(house)
  })
})

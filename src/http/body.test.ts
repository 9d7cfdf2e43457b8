// Bodies at the edges of what is allowed: which types are JSON, where a limit begins, and that nothing is
// left waiting once a body has been read or given up.
import { describe, expect, it } from 'bun:test'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { Chain } from '../core/chain.ts'
import type { Clock, Ticker } from '../core/clock.ts'
import { GatewayError } from '../core/problem.ts'
import { readRequestBody, requireJson } from './body.ts'

const BYTES_MAX = 100_000

/** A clock that stands still and counts who waits for it. */
function createStill(): Clock & { readonly listeners: Chain<Ticker> } {
  const listeners = new Chain<Ticker>()
  return {
    listeners,
    now: () => 0,
    elapsed: () => 0,
    everySecond: (ticker) => listeners.join(ticker),
    after: () => ({ leave() {} }),
  }
}

type Body = string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null

function requestOf(body: Body, headers: Readonly<Record<string, string>> = {}): Request {
  return new Request('http://gateway.test/', { method: 'POST', body, headers: { ...headers } })
}

async function read(request: Request, clock: Clock = createStill()): Promise<string | object> {
  try {
    return new TextDecoder().decode(await readRequestBody(request, BYTES_MAX, clock))
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown
    return { status: thrown.status, code: thrown.code }
  }
}

/** A body without a length, in pieces. */
function streamOf(...pieces: readonly string[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece))
      controller.close()
    },
  })
}

describe('a type', () => {
  const json = [
    'application/json',
    'application/json;charset=utf-8',
    'application/json; charset="UTF-8"',
    'application/json ; charset=utf8',
    'application/json; profile=x',
  ]
  for (const type of json)
    it(`is JSON: ${type}`, () => {
      requireJson(requestOf('{}', { 'content-type': type }))
    })

  const other = [
    '',
    'json',
    'text/json',
    'application/jsonx',
    'application/json-patch+json',
    'application/json charset=utf-8',
    'multipart/form-data; boundary=application/json',
    'application/json; charset=utf-16',
  ]
  for (const type of other)
    it(`is something else: ${type === '' ? 'none' : type}`, () => {
      const call = () => requireJson(requestOf('{}', { 'content-type': type }))
      expect(call).toThrow(expect.objectContaining({ code: 'unsupported_media_type', status: 415 }))
    })
})

describe('a body', () => {
  const tooLarge = { status: 413, code: 'request_too_large' }

  it('may be absent', async () => {
    expect(await read(requestOf(null))).toBe('')
  })

  it('may be as long as the limit and no longer', async () => {
    const full = 'x'.repeat(BYTES_MAX)
    expect(await read(requestOf(full, { 'content-length': String(full.length) }))).toBe(full)
    expect(await read(requestOf(streamOf(full)))).toBe(full)
    expect(await read(requestOf(streamOf(full, 'x')))).toEqual(tooLarge)
    expect(await read(requestOf('', { 'content-length': String(full.length + 1) }))).toEqual(
      tooLarge,
    )
  })

  it('may be as long as the limit after unpacking and no longer', async () => {
    const gzip = { 'content-encoding': 'gzip' }
    const full = 'x'.repeat(BYTES_MAX)
    expect(await read(requestOf(gzipSync(full), gzip))).toBe(full)
    expect(await read(requestOf(gzipSync(`${full}x`), gzip))).toEqual(tooLarge)
  })

  it.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
  ] as const)('is unpacked from %s while others are served', async (encoding, pack) => {
    const packed = new Uint8Array(pack(new Uint8Array(16 * 1_048_576)))
    const headers = { 'content-encoding': encoding, 'content-length': String(packed.length) }
    // The packed bytes are there at once: all that the reading can wait for is the unpacking.
    const request = Object.assign(requestOf(packed, headers), {
      bytes: () => Promise.resolve(packed),
    })
    const order: string[] = []
    const served = new Promise<void>((resolve) => {
      setImmediate(() => {
        order.push('another call')
        resolve()
      })
    })
    const reading = readRequestBody(request, 8 * 1_048_576, createStill()).catch(
      (thrown: unknown) => {
        order.push(thrown instanceof GatewayError ? thrown.code : String(thrown))
      },
    )
    await Promise.all([served, reading])
    expect(order).toEqual(['another call', 'request_too_large'])
  })

  it('that is no packed data is refused', async () => {
    for (const encoding of ['gzip', 'br'])
      expect(await read(requestOf('nonsense', { 'content-encoding': encoding }))).toEqual({
        status: 400,
        code: 'invalid_request',
      })
  })

  it('is read from its pieces in their order', async () => {
    expect(await read(requestOf(streamOf('a', '', 'b', 'c')))).toBe('abc')
  })

  it('leaves nobody waiting for the clock', async () => {
    const clock = createStill()
    await read(requestOf('x', { 'content-length': '1' }), clock)
    await read(requestOf(streamOf('x')), clock)
    await read(requestOf(streamOf('x'.repeat(BYTES_MAX), 'x')), clock)
    expect(clock.listeners.size).toBe(0)
  })

  it('fails as it failed when its sender breaks it off', async () => {
    const clock = createStill()
    const broken = new ReadableStream<Uint8Array>({
      start: (controller) => controller.error(new Error('gone')),
    })
    const reading = Promise.resolve(readRequestBody(requestOf(broken), BYTES_MAX, clock))
    expect(await reading.catch((thrown: unknown) => thrown)).toMatchObject({ message: 'gone' })
    expect(clock.listeners.size).toBe(0)
  })
})

// Reads a request's body within limits of size, time and encoding, and refuses the moment one of them
// is passed. Nothing of a body is looked at before its caller is known.
import { promisify } from 'node:util'
import { brotliDecompress, gunzip } from 'node:zlib'
import type { Place } from '../core/chain.ts'
import type { Clock, Ticker } from '../core/clock.ts'
import { GatewayError } from '../core/problem.ts'

/** Bodies up to this size arrive in a few packets and need no watching of their progress. */
const SMALL_BYTES = 81_920
/** After this time a body must have come at `BYTES_A_SECOND` or faster. */
const GRACE_MS = 10_000
const BYTES_A_SECOND = 1024

export function readRequestBody(
  request: Request,
  bytesMax: number,
  clock: Clock,
): Promise<Uint8Array> {
  const length = lengthOf(request, bytesMax)
  const encoding = request.headers.get('content-encoding')
  const body =
    length !== undefined && length <= SMALL_BYTES
      ? readSmall(request, length, clock)
      : readLarge(request, bytesMax, clock)
  return encoding === null ? body : body.then((bytes) => decompress(bytes, encoding, bytesMax))
}

/** JSON and nothing else: other types are refused before their body is read. */
export function requireJson(request: Request): void {
  const type = request.headers.get('content-type')
  if (type === 'application/json') return
  if (type !== null && type.includes(','))
    throw new GatewayError('invalid_request', 'Send the Content-Type header once.')
  const [mime = '', ...rest] = (type ?? '').toLowerCase().split(';')
  const charset = rest.map((part) => part.trim()).find((part) => part.startsWith('charset='))
  const isUtf8 = charset === undefined || /^charset="?utf-?8"?$/.test(charset)
  if (mime.trim() === 'application/json' && isUtf8) return
  throw new GatewayError('unsupported_media_type', 'Send JSON as `Content-Type: application/json`.')
}

/** What the body is said to have; refused where that is too much. */
export function lengthOf(request: Request, bytesMax: number): number | undefined {
  const header = request.headers.get('content-length')
  if (header === null) return undefined
  const length = Number(header)
  if (length > bytesMax) throw tooLarge(bytesMax)
  return length
}

/** Reads under a watch: the body, or the moment in which it has become too slow. */
export function watched<Value>(
  clock: Clock,
  isLate: (waitedMs: number) => boolean,
  read: () => Promise<Value>,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const watch = new Watch(clock, isLate, reject)
    const settle = (value: Value): void => {
      watch.stop()
      resolve(value)
    }
    read().then(settle, (thrown: unknown) => {
      watch.stop()
      reject(thrown)
    })
  })
}

class Watch implements Ticker {
  readonly #clock: Clock
  readonly #startedMs: number
  readonly #isLate: (waitedMs: number) => boolean
  readonly #reject: (reason: Error) => void
  readonly #ticking: Place

  constructor(
    clock: Clock,
    isLate: (waitedMs: number) => boolean,
    reject: (reason: Error) => void,
  ) {
    this.#clock = clock
    this.#startedMs = clock.elapsed()
    this.#isLate = isLate
    this.#reject = reject
    this.#ticking = clock.everySecond(this)
  }

  tick(): void {
    if (!this.#isLate(this.#clock.elapsed() - this.#startedMs)) return
    this.stop()
    this.#reject(tooSlow())
  }

  stop(): void {
    this.#ticking.leave()
  }
}

/** Its progress is not seen, so it has the time that the whole of it may take. */
function readSmall(request: Request, length: number, clock: Clock): Promise<Uint8Array> {
  const limitMs = GRACE_MS + (length / BYTES_A_SECOND) * 1000
  return watched(
    clock,
    (waitedMs) => waitedMs >= limitMs,
    () => request.bytes(),
  )
}

function readLarge(request: Request, bytesMax: number, clock: Clock): Promise<Uint8Array> {
  if (request.body === null) return Promise.resolve(new Uint8Array(0))
  const pile = new Pile(request.body.getReader(), bytesMax)
  const isLate = (waitedMs: number): boolean => {
    const isOver = isBehind(pile.received, waitedMs)
    if (isOver) pile.giveUp()
    return isOver
  }
  return watched(clock, isLate, () => pile.read())
}

/** So little has come in so much time that its sender is given up. */
export function isBehind(received: number, waitedMs: number): boolean {
  const isSlow = received < ((waitedMs - GRACE_MS) / 1000) * BYTES_A_SECOND
  return waitedMs >= GRACE_MS && isSlow
}

/** The runtime's reader; its two declared types disagree on everything but this. */
export interface Reader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>
  cancel(): Promise<void>
}

const doNothing = (): void => {}

class Pile {
  readonly #reader: Reader
  readonly #bytesMax: number
  readonly #chunks: Uint8Array[] = []
  received = 0

  constructor(reader: Reader, bytesMax: number) {
    this.#reader = reader
    this.#bytesMax = bytesMax
  }

  async read(): Promise<Uint8Array> {
    for (;;) {
      const { done, value } = await this.#reader.read()
      if (value !== undefined) this.#add(value)
      if (done) return this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks)
    }
  }

  giveUp(): void {
    this.#chunks.length = 0
    void this.#reader.cancel().catch(doNothing)
  }

  #add(chunk: Uint8Array): void {
    this.received += chunk.length
    if (this.received > this.#bytesMax) {
      this.giveUp()
      throw tooLarge(this.#bytesMax)
    }
    this.#chunks.push(chunk)
  }
}

// On another thread: a few hundred bytes can unpack into the whole limit, and all other calls would wait.
// A map, because the caller names the entry: an object would also find what it inherits.
const DECODERS = new Map([
  ['gzip', promisify(gunzip)],
  ['br', promisify(brotliDecompress)],
])

/** One encoding at most, and never more output than a plain body could have had. */
async function decompress(
  bytes: Uint8Array,
  encoding: string,
  bytesMax: number,
): Promise<Uint8Array> {
  if (encoding === '' || encoding.toLowerCase() === 'identity') return bytes
  const inflate = DECODERS.get(encoding.toLowerCase())
  if (inflate === undefined)
    throw new GatewayError(
      'unsupported_media_type',
      'Send the body plain, or with one of gzip and br.',
    )
  try {
    return await inflate(bytes, { maxOutputLength: bytesMax })
  } catch (thrown) {
    if (thrown instanceof RangeError) throw tooLarge(bytesMax)
    throw new GatewayError('invalid_request', `The body is no valid ${encoding} data.`, {
      cause: thrown,
    })
  }
}

export function tooLarge(bytesMax: number): GatewayError {
  const size = `${Number((bytesMax / 1_048_576).toFixed(2))} MiB`
  return new GatewayError(
    'request_too_large',
    `The body exceeds the limit of ${size} on this path.`,
  )
}

function tooSlow(): GatewayError {
  return new GatewayError('request_timeout', 'The body came too slowly. Send it again.')
}

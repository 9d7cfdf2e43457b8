// Reads a request's body within limits of size, time and encoding, and refuses the moment one of them
// is passed. Nothing of a body is looked at before its caller is known.
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import type { Place } from '../core/chain.ts'
import type { Clock, Ticker } from '../core/clock.ts'
import { GatewayError } from '../core/problem.ts'

/** Bodies up to this size are read in one piece: watching their progress costs more than reading them. */
const SMALL_BYTES = 1_048_576
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
      : readWatched(request, bytesMax, clock)
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

function lengthOf(request: Request, bytesMax: number): number | undefined {
  const header = request.headers.get('content-length')
  if (header === null) return undefined
  const length = Number(header)
  if (length > bytesMax) throw tooLarge(bytesMax)
  return length
}

/** Its progress is not seen, so it has the time that the whole of it may take. */
function readSmall(request: Request, length: number, clock: Clock): Promise<Uint8Array> {
  const deadline = clock.elapsed() + GRACE_MS + (length / BYTES_A_SECOND) * 1000
  return new Promise((resolve, reject) => {
    const watch = new SmallWatch(clock, deadline, reject)
    const settle = (bytes: Uint8Array): void => {
      watch.stop()
      resolve(bytes)
    }
    request.bytes().then(settle, (thrown: unknown) => {
      watch.stop()
      reject(thrown)
    })
  })
}

class SmallWatch implements Ticker {
  readonly #clock: Clock
  readonly #deadline: number
  readonly #reject: (reason: Error) => void
  readonly #ticking: Place

  constructor(clock: Clock, deadline: number, reject: (reason: Error) => void) {
    this.#clock = clock
    this.#deadline = deadline
    this.#reject = reject
    this.#ticking = clock.everySecond(this)
  }

  tick(): void {
    if (this.#clock.elapsed() < this.#deadline) return
    this.stop()
    this.#reject(tooSlow())
  }

  stop(): void {
    this.#ticking.leave()
  }
}

const doNothing = (): void => {}

interface Watch {
  /** Rejects when the body takes too long. */
  readonly late: Promise<never>
  received: number
  stop(): void
}

function startWatch(clock: Clock): Watch {
  const started = clock.elapsed()
  let stop = doNothing
  const late = new Promise<never>((_, reject) => {
    const ticking = clock.everySecond({
      tick() {
        const waitedMs = clock.elapsed() - started
        const isSlow = watch.received < ((waitedMs - GRACE_MS) / 1000) * BYTES_A_SECOND
        if (waitedMs >= GRACE_MS && isSlow) reject(tooSlow())
      },
    })
    stop = () => ticking.leave()
  })
  // Nobody waits for it once the body is there.
  late.catch(doNothing)
  const watch: Watch = { late, received: 0, stop: () => stop() }
  return watch
}

async function readWatched(request: Request, bytesMax: number, clock: Clock): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array(0)
  const watch = startWatch(clock)
  const reader = request.body.getReader()
  const chunks: Uint8Array[] = []
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), watch.late])
      if (done) break
      watch.received += value.length
      if (watch.received > bytesMax) throw tooLarge(bytesMax)
      chunks.push(value)
    }
  } catch (thrown) {
    void reader.cancel().catch(doNothing)
    throw thrown
  } finally {
    watch.stop()
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
}

// A map, because the caller names the entry: an object would also find what it inherits.
const DECODERS = new Map([
  ['gzip', gunzipSync],
  ['br', brotliDecompressSync],
])

/** One encoding at most, and never more output than a plain body could have had. */
function decompress(bytes: Uint8Array, encoding: string, bytesMax: number): Uint8Array {
  if (encoding === '' || encoding.toLowerCase() === 'identity') return bytes
  const inflate = DECODERS.get(encoding.toLowerCase())
  if (inflate === undefined)
    throw new GatewayError(
      'unsupported_media_type',
      'Send the body plain, or with one of gzip and br.',
    )
  try {
    return inflate(bytes, { maxOutputLength: bytesMax })
  } catch (thrown) {
    if (thrown instanceof RangeError) throw tooLarge(bytesMax)
    throw new GatewayError('invalid_request', `The body is no valid ${encoding} data.`, {
      cause: thrown,
    })
  }
}

function tooLarge(bytesMax: number): GatewayError {
  const size = `${Number((bytesMax / 1_048_576).toFixed(2))} MiB`
  return new GatewayError(
    'request_too_large',
    `The body exceeds the limit of ${size} on this path.`,
  )
}

function tooSlow(): GatewayError {
  return new GatewayError('request_timeout', 'The body came too slowly. Send it again.')
}

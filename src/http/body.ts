// Reads a request's body within limits of size, time and encoding, and refuses the moment one of them
// is passed. Nothing of a body is looked at before its caller is known.
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import type { Clock } from '../core/clock.ts'
import { GatewayError } from '../core/problem.ts'

export interface BodyLimits {
  readonly bytesMax: number
}

/** Bodies up to this size arrive in one or two packets and need no watching of their progress. */
const SMALL_BYTES = 65_536
/** After this time a body must have come at `BYTES_A_SECOND` or faster. */
const GRACE_MS = 10_000
const BYTES_A_SECOND = 1024

export function readRequestBody(
  request: Request,
  limits: BodyLimits,
  clock: Clock,
): Promise<Uint8Array> {
  const length = lengthOf(request, limits)
  const encoding = request.headers.get('content-encoding')
  const body =
    length !== undefined && length <= SMALL_BYTES
      ? readSmall(request, length, clock)
      : readWatched(request, limits, clock)
  return encoding === null ? body : body.then((bytes) => decompress(bytes, encoding, limits))
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

function lengthOf(request: Request, limits: BodyLimits): number | undefined {
  const header = request.headers.get('content-length')
  if (header === null) return undefined
  const length = Number(header)
  if (length > limits.bytesMax) throw tooLarge(limits)
  return length
}

/** Its progress is not seen, so it has the time that the whole of it may take. */
function readSmall(request: Request, length: number, clock: Clock): Promise<Uint8Array> {
  const deadline = clock.elapsed() + GRACE_MS + (length / BYTES_A_SECOND) * 1000
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>()
  const stop = clock.everySecond(() => {
    if (clock.elapsed() < deadline) return
    stop()
    reject(tooSlow())
  })
  request.bytes().then(resolve, reject).finally(stop)
  return promise
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
    stop = clock.everySecond(() => {
      const waitedMs = clock.elapsed() - started
      const isSlow = watch.received < ((waitedMs - GRACE_MS) / 1000) * BYTES_A_SECOND
      if (waitedMs >= GRACE_MS && isSlow) reject(tooSlow())
    })
  })
  // Nobody waits for it once the body is there.
  late.catch(doNothing)
  const watch: Watch = { late, received: 0, stop: () => stop() }
  return watch
}

async function readWatched(
  request: Request,
  limits: BodyLimits,
  clock: Clock,
): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array(0)
  const watch = startWatch(clock)
  const reader = request.body.getReader()
  const chunks: Uint8Array[] = []
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), watch.late])
      if (done) break
      watch.received += value.length
      if (watch.received > limits.bytesMax) throw tooLarge(limits)
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
function decompress(bytes: Uint8Array, encoding: string, limits: BodyLimits): Uint8Array {
  if (encoding === '' || encoding.toLowerCase() === 'identity') return bytes
  const inflate = DECODERS.get(encoding.toLowerCase())
  if (inflate === undefined)
    throw new GatewayError(
      'unsupported_media_type',
      'Send the body plain, or with one of gzip and br.',
    )
  try {
    return inflate(bytes, { maxOutputLength: limits.bytesMax })
  } catch (thrown) {
    if (thrown instanceof RangeError) throw tooLarge(limits)
    throw new GatewayError('invalid_request', `The body is no valid ${encoding} data.`, {
      cause: thrown,
    })
  }
}

function tooLarge(limits: BodyLimits): GatewayError {
  const size = `${Math.round(limits.bytesMax / 1_048_576)} MiB`
  return new GatewayError(
    'request_too_large',
    `The body exceeds the limit of ${size} on this path.`,
  )
}

function tooSlow(): GatewayError {
  return new GatewayError('request_timeout', 'The body came too slowly. Send it again.')
}

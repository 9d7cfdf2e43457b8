// A client that speaks HTTP by hand over TCP, so that it can send what no HTTP library would: broken
// bytes, half a request, several at once, or a piece now and the rest later.
import { connect, type Socket } from 'node:net'

export interface RawResponse {
  readonly status: number
  /** Names in lower case; a repeated header has its values joined by a comma. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
}

export interface RawClient {
  /** Resolves when the bytes have left; a peer that has closed meanwhile is no error. */
  send(bytes: string | Uint8Array): Promise<void>
  /** The next answer. Rejects when the connection ends before it is complete. */
  response(options?: ResponseOptions): Promise<RawResponse>
  /** Everything that came and was not yet taken by `response`. */
  readonly rest: Buffer
  /** Resolves when the connection is closed, from whichever side. */
  readonly closed: Promise<void>
  /** Says that nothing more will be sent, and still listens. */
  end(): void
  /** Leaves without a goodbye. */
  reset(): void
  close(): void
}

export interface ResponseOptions {
  /** An answer to HEAD has the headers of a body and no body. */
  readonly isHead?: boolean
}

export async function connectRaw(url: string): Promise<RawClient> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  const inbox = new Inbox(socket)
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', () => resolve())
    socket.once('error', reject)
  })
  return {
    send: (bytes) =>
      new Promise((resolve) => {
        if (socket.destroyed) return resolve()
        socket.write(bytes, () => resolve())
        void inbox.closed.then(resolve)
      }),
    response: (options = {}) => inbox.take(options.isHead === true),
    get rest() {
      return inbox.bytes
    },
    closed: inbox.closed,
    end: () => void socket.end(),
    reset: () => void socket.resetAndDestroy(),
    close: () => void socket.destroy(),
  }
}

/** Sends one request on a connection of its own and returns its answer. */
export async function sendRaw(
  url: string,
  bytes: string | Uint8Array,
  options: ResponseOptions = {},
): Promise<RawResponse> {
  const client = await connectRaw(url)
  try {
    await client.send(bytes)
    return await client.response(options)
  } finally {
    client.close()
  }
}

export interface RawRequest {
  readonly method?: string
  readonly target?: string
  /** Sent in this order, as they are; `Host` comes by itself unless it is named here. */
  readonly headers?: readonly (readonly [string, string])[]
  readonly body?: string | Uint8Array
}

/** The bytes of a request. A body brings its length unless a header already frames it. */
export function formatRequest(request: RawRequest): Buffer {
  const { method = 'GET', target = '/health', headers = [], body } = request
  const names = new Set(headers.map(([name]) => name.toLowerCase()))
  const lines = headers.map(([name, value]) => `${name}: ${value}`)
  if (!names.has('host')) lines.unshift('Host: gateway.test')
  const isFramed = names.has('content-length') || names.has('transfer-encoding')
  const content = Buffer.from(body ?? '')
  if (body !== undefined && !isFramed) lines.push(`Content-Length: ${content.length}`)
  const head = `${method} ${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`
  return Buffer.concat([Buffer.from(head, 'latin1'), content])
}

/** Bytes as one HTTP chunk. */
export function formatChunk(bytes: string | Uint8Array): Buffer {
  const content = Buffer.from(bytes)
  const size = Buffer.from(`${content.length.toString(16)}\r\n`)
  return Buffer.concat([size, content, Buffer.from('\r\n')])
}

export const LAST_CHUNK = '0\r\n\r\n'

/** Collects what comes in and cuts it into answers. */
class Inbox {
  readonly closed: Promise<void>
  readonly #pieces: Buffer[] = []
  #isEnded = false
  #wake = (): void => {}

  constructor(socket: Socket) {
    socket.on('data', (piece) => {
      this.#pieces.push(Buffer.from(piece))
      this.#wake()
    })
    // The other side has said its last; whoever wants to go on listening for more would wait for ever.
    socket.on('end', () => {
      this.#isEnded = true
      socket.end()
      this.#wake()
    })
    socket.on('error', () => {})
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.#isEnded = true
        this.#wake()
        resolve()
      })
    })
  }

  get bytes(): Buffer {
    const all = Buffer.concat(this.#pieces)
    this.#pieces.splice(0, this.#pieces.length, all)
    return all
  }

  async take(isHead: boolean): Promise<RawResponse> {
    for (;;) {
      const found = cutResponse(this.bytes, isHead, this.#isEnded)
      if (found !== undefined) {
        this.#pieces.splice(0, this.#pieces.length, found.rest)
        return found.response
      }
      if (this.#isEnded)
        throw new Error(
          `the connection ended after ${JSON.stringify(this.bytes.toString('latin1'))}`,
        )
      // oxlint-disable-next-line no-await-in-loop -- an answer arrives in order
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }
}

interface Cut {
  readonly response: RawResponse
  readonly rest: Buffer
}

/** The first answer in these bytes, if all of it is there. */
function cutResponse(bytes: Buffer, isHead: boolean, isEnded: boolean): Cut | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n')
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(first)?.[1])
  const headers = new Map<string, string>()
  for (const line of lines) {
    const name = line.slice(0, line.indexOf(':')).toLowerCase()
    const value = line.slice(line.indexOf(':') + 1).trim()
    const known = headers.get(name)
    headers.set(name, known === undefined ? value : `${known}, ${value}`)
  }
  const content = bytes.subarray(end + 4)
  const isBodyless = isHead || status < 200 || status === 204 || status === 304
  const body = isBodyless
    ? { content: Buffer.alloc(0), rest: content }
    : cutBody(content, headers, isEnded)
  return body && { response: { status, headers, body: body.content }, rest: body.rest }
}

function cutBody(
  bytes: Buffer,
  headers: ReadonlyMap<string, string>,
  isEnded: boolean,
): { readonly content: Buffer; readonly rest: Buffer } | undefined {
  if (headers.get('transfer-encoding') === 'chunked') return cutChunks(bytes)
  const header = headers.get('content-length')
  // Without a length the body is whatever comes until the close.
  if (header === undefined) return isEnded ? { content: bytes, rest: Buffer.alloc(0) } : undefined
  const length = Number(header)
  if (bytes.length < length) return undefined
  return { content: bytes.subarray(0, length), rest: bytes.subarray(length) }
}

function cutChunks(bytes: Buffer): { readonly content: Buffer; readonly rest: Buffer } | undefined {
  const pieces: Buffer[] = []
  for (let at = 0; ;) {
    const line = bytes.indexOf('\r\n', at)
    if (line < 0) return undefined
    const size = Number.parseInt(bytes.subarray(at, line).toString('latin1'), 16)
    const from = line + 2
    if (bytes.length < from + size + 2) return undefined
    if (size === 0) return { content: Buffer.concat(pieces), rest: bytes.subarray(from + 2) }
    pieces.push(bytes.subarray(from, from + size))
    at = from + size + 2
  }
}

// A supplier that does as it is told, down to the byte: it speaks HTTP by hand over TCP, so that it can
// also stop in the middle of a character, reset the connection or never answer.
import { createServer, type Socket } from 'node:net'

export interface FakeRequest {
  /** Request line and headers as they came. */
  readonly head: string
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
  /** Resolves when the other side has closed the connection. */
  readonly closed: Promise<void>
}

export interface FakeReply {
  /** Sends a whole JSON answer; a string is sent as it is. */
  json(status: number, value: unknown, headers?: Readonly<Record<string, string>>): void
  /** Begins a chunked event stream. */
  stream(headers?: Readonly<Record<string, string>>): FakeStream
  /** Sends bytes as they are, without any framing. */
  raw(bytes: string | Uint8Array): void
  /** Resets the connection. */
  reset(): void
  /** Closes the connection in an orderly way. */
  close(): void
}

export interface FakeStream {
  /** Sends one HTTP chunk. */
  send(bytes: string | Uint8Array): void
  /** Ends the body properly. */
  end(): void
}

export type Script = (request: FakeRequest, reply: FakeReply, index: number) => void | Promise<void>

export interface FakeSupplier {
  readonly origin: string
  readonly requests: readonly FakeRequest[]
  /** Connections that were ever opened. */
  connections(): number
  /** Resolves with the request of this index once it has come. */
  request(index: number): Promise<FakeRequest>
  stop(): Promise<void>
}

export async function startFakeSupplier(script: Script): Promise<FakeSupplier> {
  const requests: FakeRequest[] = []
  const waiting: (() => void)[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  const server = createServer((socket) => {
    connections++
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    readRequests(socket, (request) => {
      requests.push(request)
      for (const wake of waiting.splice(0)) wake()
      void script(request, createReply(socket), requests.length - 1)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    origin: `http://127.0.0.1:${port}`,
    requests,
    connections: () => connections,
    async request(index) {
      while (requests.length <= index) await new Promise<void>((resolve) => waiting.push(resolve))
      return requests[index]!
    },
    async stop() {
      for (const socket of sockets) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

function readRequests(socket: Socket, onRequest: (request: FakeRequest) => void): void {
  let buffer = Buffer.alloc(0)
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  socket.on('data', (chunk) => {
    buffer = Buffer.concat([buffer, Buffer.from(chunk)])
    for (;;) {
      const end = buffer.indexOf('\r\n\r\n')
      if (end < 0) return
      const head = buffer.subarray(0, end).toString('latin1')
      const headers = new Map(
        head
          .split('\r\n')
          .slice(1)
          .map((line) => [
            line.slice(0, line.indexOf(':')).toLowerCase(),
            line.slice(line.indexOf(':') + 1).trim(),
          ]),
      )
      const length = Number(headers.get('content-length') ?? 0)
      if (buffer.length < end + 4 + length) return
      const body = Buffer.from(buffer.subarray(end + 4, end + 4 + length))
      buffer = buffer.subarray(end + 4 + length)
      onRequest({ head, headers, body, closed })
    }
  })
}

function createReply(socket: Socket): FakeReply {
  return {
    json(status, value, headers = {}) {
      const body = typeof value === 'string' ? value : JSON.stringify(value)
      const lines = Object.entries({
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(body)),
        ...headers,
      })
      socket.write(`HTTP/1.1 ${status} Status\r\n${toLines(lines)}\r\n${body}`)
    },
    stream(headers = {}) {
      const lines = Object.entries({
        'content-type': 'text/event-stream',
        'transfer-encoding': 'chunked',
        ...headers,
      })
      socket.write(`HTTP/1.1 200 OK\r\n${toLines(lines)}\r\n`)
      return {
        send(bytes) {
          const data = Buffer.from(bytes)
          socket.write(
            Buffer.concat([
              Buffer.from(`${data.length.toString(16)}\r\n`),
              data,
              Buffer.from('\r\n'),
            ]),
          )
        },
        end: () => void socket.write('0\r\n\r\n'),
      }
    },
    raw: (bytes) => void socket.write(bytes),
    reset: () => void socket.resetAndDestroy(),
    close: () => void socket.end(),
  }
}

function toLines(entries: readonly (readonly [string, string])[]): string {
  return entries.map(([name, value]) => `${name}: ${value}\r\n`).join('')
}

export function completion(content: string, usage: object = USAGE): object {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'upstream-model',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage,
  }
}

export const USAGE = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }

/** One chat chunk as an event. */
export function chunk(
  delta: object,
  finishReason: string | null = null,
  extra: object = {},
): string {
  return `data: ${JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'upstream-model',
    choices: [{ index: 0, delta, finish_reason: finishReason }],
    ...extra,
  })}\n\n`
}

export const USAGE_CHUNK = `data: ${JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'upstream-model',
  choices: [],
  usage: USAGE,
})}\n\n`

export const DONE = 'data: [DONE]\n\n'

// Suppliers that speak, each as it is told, and a gateway in front of them: the scene of the tests of sound.
import { createServer, type Socket } from 'node:net'
import { toPicoUsd } from '../../src/core/money.ts'
import type { Price } from '../../src/core/usage.ts'
import { openaiSpeech } from '../../src/dialects/openai-speech/index.ts'
import type { Limits } from '../../src/pipeline/call.ts'
import type { Supplier } from '../../src/suppliers/supplier.ts'
import { createFakeClock } from './clock.ts'
import { ROOT_KEY, startGateway, supplierAt, type Gateway } from './gateway.ts'
import { tidy, type Street } from './street.ts'
import { startFakeSupplier, type FakeReply, type Script } from './supplier.ts'

export const SPEECH = { model: 'test-voice', input: 'Hello there.', voice: 'alloy' }
/** Fifteen dollars a million. */
export const BY_CHARACTER: Price = {
  input: toPicoUsd(0),
  output: toPicoUsd(0),
  character: toPicoUsd(15_000_000),
}
export const BY_TOKEN: Price = {
  input: toPicoUsd(600_000),
  output: toPicoUsd(12_000_000),
  audioOutput: toPicoUsd(12_000_000),
}

/** The beginning of an mp3, and some of what follows. */
export const MP3 = Buffer.concat([Buffer.from('ID3\u0004'), Buffer.alloc(4000, 7)])
export const MPEG = { 'content-type': 'audio/mpeg' }

export function speakerAt(
  origin: string,
  changes: Partial<Supplier> = {},
  price = BY_CHARACTER,
): Supplier {
  const prices = [{ from: 0, price }] as const
  const route = { as: 'upstream-voice', prices, ownedBy: 'maker', task: 'speech' } as const
  return supplierAt(origin, {
    services: [{ dialect: openaiSpeech, path: '/v1/audio/speech' }],
    models: new Map([['test-voice', route]]),
    ...changes,
  })
}

/** Suppliers `fake`, `fake-2`, … speak with one voice in this order; time stands still. */
export async function openStage(
  scripts: readonly Script[],
  limits: Partial<Limits> = {},
  price = BY_CHARACTER,
): Promise<Street> {
  const clock = createFakeClock()
  const suppliers = await Promise.all(scripts.map((script) => startFakeSupplier(script)))
  const rest = (index: number): Partial<Supplier> =>
    index === 0 ? {} : { id: `fake-${index + 1}`, region: 'US' }
  const gateway = await startGateway({
    clock,
    limits,
    suppliers: suppliers.map(({ origin }, index) => speakerAt(origin, rest(index), price)),
  })
  for (const each of [...suppliers, gateway]) tidy(each)
  return { gateway, suppliers, clock }
}

export function speak(
  { url }: Gateway,
  changes: object = {},
  init: RequestInit = {},
): Promise<Response> {
  return fetch(`${url}/v1/audio/speech`, {
    method: 'POST',
    ...init,
    headers: {
      authorization: `Bearer ${ROOT_KEY}`,
      'content-type': 'application/json',
      ...(init.headers as Record<string, string> | undefined),
    },
    body: JSON.stringify({ ...SPEECH, ...changes }),
  })
}

/** Sends a whole sound, in two pieces. */
export function sendSound(reply: FakeReply, bytes: Uint8Array = MP3, headers: object = MPEG): void {
  const stream = reply.stream({ ...headers })
  stream.send(bytes.subarray(0, bytes.length / 2))
  stream.send(bytes.subarray(bytes.length / 2))
  stream.end()
}

export const spoken: Script = (_, reply) => sendSound(reply)
/** Begins, and falls silent. */
export const begun: Script = (_, reply) => reply.stream(MPEG).send(MP3)
export interface Flood {
  readonly origin: string
  /** Bytes of sound that somebody has taken. */
  taken(): number
  /** Resolves when nobody takes any more of it for now. */
  readonly heldBack: Promise<void>
  /** Resolves when the other side has closed the connection. */
  readonly closed: Promise<void>
  stop(): Promise<void>
}

/** A sound of so many bytes, sent as fast as it is taken. */
export async function startFlood(bytes: number): Promise<Flood> {
  const piece = Buffer.alloc(65_536, 0xff)
  const sockets = new Set<Socket>()
  const heldBack = Promise.withResolvers<void>()
  const closed = Promise.withResolvers<void>()
  let sent = 0
  const pour = (socket: Socket): void => {
    while (sent < bytes) {
      sent += piece.length
      const hasRoom = socket.write(piece)
      if (hasRoom) continue
      socket.once('drain', () => pour(socket))
      // What the kernel takes it takes at once.
      setTimeout(() => socket.writableNeedDrain && heldBack.resolve(), 300)
      return
    }
  }
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => closed.resolve())
    socket.once('data', () => {
      socket.write(
        `HTTP/1.1 200 OK\r\ncontent-type: audio/mpeg\r\ncontent-length: ${bytes}\r\n\r\n`,
      )
      pour(socket)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return tidy({
    origin: `http://127.0.0.1:${port}`,
    taken: () => sent,
    heldBack: heldBack.promise,
    closed: closed.promise,
    async stop() {
      for (const socket of sockets) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  })
}

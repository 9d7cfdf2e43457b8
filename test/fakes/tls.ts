// Suppliers behind TLS whose certificates are wrong in one way each. Certificates are made on the spot and vouch for
// themselves, so nothing secret and nothing that expires lies in the repository.
import { createSign, generateKeyPairSync } from 'node:crypto'
import { connect, createServer as createPlainServer, type Server, type Socket } from 'node:net'
import { createServer } from 'node:tls'

export interface Certificate {
  readonly certificate: string
  readonly key: string
}

export interface CertificateOptions {
  /** A DNS name; the address 127.0.0.1 is always meant as well unless `isElsewhere`. */
  readonly name: string
  /** Not for the address of this machine. */
  readonly isElsewhere?: boolean
  /** The years in which it begins and ends, as two digits. */
  readonly years?: readonly [from: string, to: string]
}

/** The smallest that a client can check a name and a time against. */
export function issueCertificate(options: CertificateOptions): Certificate {
  const { name, isElsewhere = false, years = ['20', '49'] } = options
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const subject = tag(0x30, tag(0x31, tag(0x30, oid(0x55, 4, 3), tag(0x0c, Buffer.from(name)))))
  const algorithm = tag(0x30, oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2))
  const address = isElsewhere ? [] : [tag(0x87, Buffer.of(127, 0, 0, 1))]
  const names = tag(0x30, tag(0x82, Buffer.from(name)), ...address)
  const isAuthority = tag(0x30, tag(0x01, Buffer.of(255)))
  const body = tag(
    0x30,
    tag(0xa0, tag(0x02, Buffer.of(2))),
    tag(0x02, Buffer.of(1)),
    algorithm,
    subject,
    tag(0x30, ...years.map((year) => tag(0x17, Buffer.from(`${year}0101000000Z`)))),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    tag(0xa3, tag(0x30, extension(0x11, names), extension(0x13, isAuthority))),
  )
  const signature = createSign('sha256').update(body).sign(privateKey)
  const whole = tag(0x30, body, algorithm, tag(0x03, Buffer.of(0), signature))
  const lines = whole.toString('base64').replaceAll(/.{64}/g, '$&\n')
  return {
    certificate: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  }
}

function extension(id: number, value: Buffer): Buffer {
  return tag(0x30, oid(0x55, 0x1d, id), tag(0x04, value))
}

function oid(...bytes: readonly number[]): Buffer {
  return tag(0x06, Buffer.from(bytes))
}

/** One element of DER: its kind, its length and what is in it. */
function tag(kind: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size =
    length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([kind, ...size]), content])
}

/** Somebody at a port who does not do what was expected there. */
export interface Stranger {
  readonly port: number
  connections(): number
  /** All that was ever sent to it and that it could read, encrypted or not. */
  readonly heard: () => string
  /** Resolves when somebody has connected so many times. */
  connected(times: number): Promise<void>
  stop(): Promise<void>
}

/** Speaks TLS with this certificate, and answers whatever comes through with these bytes. */
export function startEncrypted(
  { certificate, key }: Certificate,
  answer: string | Uint8Array,
): Promise<Stranger> {
  return start((onSocket) =>
    createServer({ cert: certificate, key }, (socket) => {
      socket.on('error', () => {})
      onSocket(socket)
      socket.on('data', () => void socket.write(answer))
    }),
  )
}

/** Speaks TLS up to the first bytes of an answer, and goes on with what is none. */
export async function startGarbled(
  { certificate, key }: Certificate,
  beginning: string,
): Promise<Stranger> {
  let hasAnswered = false
  // In this version nothing else is sent between the handshake and the answer.
  const inner = createServer({ cert: certificate, key, maxVersion: 'TLSv1.2' }, (socket) => {
    socket.on('error', () => {})
    socket.on('data', () => {
      hasAnswered = true
      socket.write(beginning)
    })
  })
  inner.on('tlsClientError', () => {})
  await new Promise<void>((resolve) => inner.listen(0, '127.0.0.1', resolve))
  const address = inner.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const front = await startPlain((socket) => {
    const line = connect(port, '127.0.0.1')
    line.on('error', () => {})
    socket.on('data', (chunk) => void line.write(chunk))
    socket.on('close', () => void line.destroy())
    line.on('data', (chunk) => {
      socket.write(chunk)
      if (hasAnswered) socket.write('this is no record of TLS at all')
    })
  })
  return {
    ...front,
    async stop() {
      await front.stop()
      await new Promise<void>((resolve) => inner.close(() => resolve()))
    },
  }
}

/** Takes connections without TLS and does as it is told with each. */
export function startPlain(greet: (socket: Socket) => void): Promise<Stranger> {
  return start((onSocket) =>
    createPlainServer((socket) => {
      onSocket(socket)
      greet(socket)
    }),
  )
}

async function start(open: (onSocket: (socket: Socket) => void) => Server): Promise<Stranger> {
  const sockets = new Set<Socket>()
  const waiting: (() => void)[] = []
  let connections = 0
  let heard = ''
  const server = open((socket) => {
    socket.on('data', (chunk) => (heard += chunk.toString('latin1')))
  })
  // Of the line itself, also where the handshake comes to nothing.
  server.on('connection', (socket: Socket) => {
    connections++
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    for (const wake of waiting.splice(0)) wake()
  })
  server.on('tlsClientError', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    connections: () => connections,
    heard: () => heard,
    async connected(times) {
      // oxlint-disable-next-line no-unmodified-loop-condition -- counted above as they come
      while (connections < times) await new Promise<void>((resolve) => waiting.push(resolve))
    },
    async stop() {
      for (const socket of sockets) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

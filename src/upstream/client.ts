// Sends one request to one supplier and nowhere else. All that is odd about the runtime's fetch is
// handled here: its own timeout is off, redirects are never followed, every supplier has its own pool, and
// names are called by addresses that were checked.
import { GatewayError } from '../core/problem.ts'
import { AttemptFailure, type FailureEvidence } from './failure.ts'
import { CallerGone, type Lifeline } from './lifeline.ts'
import type { Pin } from './pin.ts'
import type { Reach } from './reach.ts'

export interface UpstreamOptions {
  readonly origin: string
  /** The supplier's signature and whatever else every request to it carries. */
  readonly headers: Readonly<Record<string, string>>
  /** Holds the origin's name to checked addresses. Without it: an IP address, or a name that others look up. */
  readonly pin?: Pin
  /** The operator's proxy, which looks names up itself. Without it requests go straight to the origin. */
  readonly proxy?: string | undefined
  /** Finds out about a silent origin. Without it silence is waited out. */
  readonly reach?: Reach | undefined
}

/** What one call carries beside what all of them do. */
export type ExtraHeaders = Readonly<Record<string, string>>

/** What is sent. */
export type SentBody = Uint8Array | StreamedBody

/**
 * A body that is read while it is sent, as often as it is sent. On Bun 1.4.4 nothing else keeps a file out of memory:
 * a blob of a file and other parts leaves the file out, a form loads it, and so does a file itself over TLS.
 */
export interface StreamedBody {
  /** All that the stream will give: told beforehand, since many suppliers take no body without a length. */
  readonly bytes: number
  open(): ReadableStream<Uint8Array>
}

export interface Upstream {
  /** What it rejects with is the runtime's own; `asFailure` says what it means. */
  post(path: string, body: SentBody, lifeline: Lifeline, extra?: ExtraHeaders): Promise<Response>
  close(): void
}

// Below what common servers and load balancers allow an idle connection, so that we close it first: a
// connection that the other side closed surfaces as a reset of the next request.
const IDLE_SECONDS = 20
/** How many addresses of one supplier are tried for one request. */
const ADDRESSES_MAX = 4

interface Sending {
  readonly path: string
  readonly body: SentBody
  readonly lifeline: Lifeline
  readonly extra: ExtraHeaders | undefined
}

type Send = (origin: string, sending: Sending) => Promise<Response>

export function createUpstream(options: UpstreamOptions): Upstream {
  const { origin, headers, pin, proxy, reach } = options
  const session = new Bun.FetchSession({ keepAlive: { idleTimeout: IDLE_SECONDS } })
  const url = new URL(origin)
  const isPinned = pin !== undefined
  // Made once as what fetch wants: a plain object would be turned into it again for every call.
  const all = new Headers({
    'content-type': 'application/json',
    'accept-encoding': 'identity',
    'user-agent': 'inference-gateway',
    ...headers,
    ...(isPinned ? { host: url.host } : {}),
  })
  // The certificate is checked against the name although an address is called, and connections are kept
  // for both together: seen on Bun 1.4.4 and held by a test.
  const tls = isPinned && url.protocol === 'https:' ? { tls: { serverName: url.hostname } } : {}
  const send: Send = (origin, { path, body, lifeline, extra }) => {
    if (reach !== undefined) lifeline.sentTo(reach, origin)
    const isWhole = body instanceof Uint8Array
    return session.fetch(origin + path, {
      method: 'POST',
      headers: isWhole && extra === undefined ? all : withExtra(all, body, extra),
      body: isWhole ? body : body.open(),
      signal: lifeline.signal,
      redirect: 'manual',
      // The default ends a call that is silent for five minutes; reasoning models think longer.
      timeout: false,
      // Said either way: the runtime would else go by the environment, also to this machine itself.
      proxy: proxy ?? false,
      ...tls,
    })
  }
  return {
    post: isPinned
      ? sendPinned(pin, url, send)
      : (path, body, lifeline, extra) => send(origin, { path, body, lifeline, extra }),
    close: () => session.close(),
  }
}

function withExtra(all: Headers, body: SentBody, extra: ExtraHeaders = {}): Headers {
  const headers = new Headers(all)
  for (const name in extra) headers.set(name, extra[name]!)
  if (!(body instanceof Uint8Array)) headers.set('content-length', String(body.bytes))
  return headers
}

/** Sends to a checked address, and to the next one where nobody answers: nothing was sent until then. */
function sendPinned(pin: Pin, url: URL, send: Send): Upstream['post'] {
  const originAt = (address: string): string => {
    const host = address.includes(':') ? `[${address}]` : address
    return `${url.protocol}//${host}${url.port === '' ? '' : `:${url.port}`}`
  }
  return (path, body, lifeline, extra) => {
    const sending = { path, body, lifeline, extra }
    const tried: string[] = []
    const at = (address: string): Promise<Response> => {
      tried.push(address)
      return send(originAt(address), sending).catch(elsewhere)
    }
    const elsewhere = async (thrown?: unknown): Promise<Response> => {
      const last = tried.at(-1)
      if (last !== undefined) {
        const isOver = lifeline.signal.aborted || tried.length === ADDRESSES_MAX
        if (isOver || evidenceOf(codeOf(thrown)) !== 'unsent') throw thrown
        pin.demote(last)
      }
      const known = await unlessAborted(pin.ask(), lifeline.signal)
      const next = known.find((address) => !tried.includes(address))
      if (next === undefined) throw thrown
      return at(next)
    }
    const address = pin.address()
    return address === undefined ? elsewhere() : at(address)
  }
}

/** The caller's leaving and a deadline end the waiting for a name too. */
async function unlessAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise, reject } = Promise.withResolvers<never>()
  const give = (): void => reject(signal.reason)
  if (signal.aborted) give()
  signal.addEventListener('abort', give)
  try {
    return await Promise.race([work, promise])
  } finally {
    // The signal outlives this call and is used again for others.
    signal.removeEventListener('abort', give)
  }
}

const UNSENT = new Set([
  'ConnectionRefused',
  'ECONNREFUSED',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'FailedToOpenSocket',
  'EAI_AGAIN',
  'AddressRefused',
  // The handshake failed, as where no TLS is spoken at the port: seen on Bun 1.4.4.
  'EPROTO',
])
const CERTIFICATE = /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO|HOSTNAME/

/**
 * Wraps what fetch threw. A caller's own leaving passes as it is: it is no failure of the supplier. Once an answer has
 * begun the request was sent, whatever breaks then and whatever the runtime calls it.
 */
export function asFailure(
  thrown: unknown,
  signal: AbortSignal,
  hasBegun = false,
): AttemptFailure | CallerGone {
  if (thrown instanceof CallerGone) return thrown
  const reason: unknown = signal.aborted ? signal.reason : undefined
  if (reason instanceof CallerGone) return reason
  if (thrown instanceof AttemptFailure) return thrown
  // A timeout is the supplier's; any other reason of ours ends the call, not this attempt alone.
  if (reason instanceof GatewayError)
    return new AttemptFailure(reason, 'unknown', {
      isFinal: reason.code !== 'provider_timeout',
    })
  if (thrown instanceof GatewayError)
    return new AttemptFailure(thrown, isRefusal(thrown) ? 'refused' : 'unknown')
  const evidence = hasBegun ? 'unknown' : evidenceOf(codeOf(thrown))
  const problem = new GatewayError('upstream_unavailable', 'The supplier could not be reached.', {
    cause: thrown,
  })
  return new AttemptFailure(problem, evidence)
}

/** Its own words, and nothing before them. */
function isRefusal({ origin }: GatewayError): boolean {
  return origin !== undefined && origin.isLate !== true
}

function evidenceOf(code: string): FailureEvidence {
  return UNSENT.has(code) || CERTIFICATE.test(code) ? 'unsent' : 'unknown'
}

function codeOf(thrown: unknown): string {
  if (typeof thrown !== 'object' || thrown === null || !('code' in thrown)) return ''
  return typeof thrown.code === 'string' ? thrown.code : ''
}

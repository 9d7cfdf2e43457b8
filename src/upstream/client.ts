// Sends one request to one supplier and nowhere else. All that is odd about the runtime's fetch is
// handled here: its own timeout is off, redirects are never followed, every supplier has its own pool.
import { GatewayError } from '../core/problem.ts'
import { AttemptFailure, type Evidence } from './failure.ts'
import { CallerGone, type Lifeline } from './lifeline.ts'

export interface UpstreamOptions {
  readonly origin: string
  /** The supplier's signature and whatever else every request to it carries. */
  readonly headers: Readonly<Record<string, string>>
}

export interface Upstream {
  /** What it rejects with is the runtime's own; `asFailure` says what it means. */
  post(path: string, body: Uint8Array, lifeline: Lifeline): Promise<Response>
  close(): void
}

// Below what common servers and load balancers allow an idle connection, so that we close it first: a
// connection that the other side closed surfaces as a reset of the next request.
const IDLE_SECONDS = 20

export function createUpstream(options: UpstreamOptions): Upstream {
  const session = new Bun.FetchSession({ keepAlive: { idleTimeout: IDLE_SECONDS } })
  // Made once as what fetch wants: a plain object would be turned into it again for every call.
  const headers = new Headers({
    'content-type': 'application/json',
    'accept-encoding': 'identity',
    'user-agent': 'inference-gateway',
    ...options.headers,
  })
  return {
    post: (path, body, lifeline) =>
      session.fetch(options.origin + path, {
        method: 'POST',
        headers,
        body,
        signal: lifeline.signal,
        redirect: 'manual',
        // The default ends a call that is silent for five minutes; reasoning models think longer.
        timeout: false,
      }),
    close: () => session.close(),
  }
}

const UNSENT = new Set([
  'ConnectionRefused',
  'ECONNREFUSED',
  'ENOTFOUND',
  'FailedToOpenSocket',
  'EAI_AGAIN',
])
const CERTIFICATE = /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO|HOSTNAME/

/** Wraps what fetch threw. A caller's own leaving passes as it is: it is no failure of the supplier. */
export function asFailure(thrown: unknown, signal: AbortSignal): AttemptFailure | CallerGone {
  const reason: unknown = signal.aborted ? signal.reason : undefined
  if (reason instanceof CallerGone) return reason
  if (thrown instanceof AttemptFailure) return thrown
  // A timeout is the supplier's; any other reason of ours ends the call, not this attempt alone.
  if (reason instanceof GatewayError)
    return new AttemptFailure(reason, 'unknown', reason.code !== 'provider_timeout')
  if (thrown instanceof GatewayError)
    return new AttemptFailure(thrown, thrown.origin === undefined ? 'unknown' : 'refused')
  const code = codeOf(thrown)
  const problem = new GatewayError('upstream_unavailable', 'The supplier could not be reached.', {
    cause: thrown,
  })
  return new AttemptFailure(problem, evidenceOf(code))
}

function evidenceOf(code: string): Evidence {
  return UNSENT.has(code) || CERTIFICATE.test(code) ? 'unsent' : 'unknown'
}

function codeOf(thrown: unknown): string {
  if (typeof thrown !== 'object' || thrown === null || !('code' in thrown)) return ''
  return typeof thrown.code === 'string' ? thrown.code : ''
}

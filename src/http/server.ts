// The listening side: gives every request its id, finds its route and hands it over. It knows no
// endpoint and no dialect; whoever owns the routes also renders what goes wrong.
import type { ClaimRecord } from '../core/claim.ts'
import type { Clock } from '../core/clock.ts'
import { createRequestId } from '../core/ids.ts'
import { checkHeaders, checkPath } from './edge.ts'
import { pathOf, Router, type Route } from './router.ts'

/** One request while it is answered. */
export interface Exchange {
  readonly id: string
  readonly request: Request
  readonly path: string
  /** The Idempotency-Key that management is asked under, once it is known to be new. */
  readonly claim?: ClaimRecord | undefined
  readonly params: Readonly<Record<string, string>>
  readonly at: number
  readonly startedMs: number
  /** Fires when the caller has gone. */
  readonly signal: AbortSignal
  /** Where the request came from; empty when that is not known any more. */
  address(): string
  /** Lets the answer take its time: until this is called, a silent request is cut. */
  keepOpen(): void
  /** Gives the connection its usual limits back: they outlive the request otherwise. */
  letGo(): void
}

export type Handler = (exchange: Exchange) => Response | Promise<Response>

export interface ServerOptions {
  readonly host: string
  readonly port: number
  readonly clock: Clock
  readonly routes: readonly Route<Handler>[]
  /** Turns whatever was thrown into an answer. */
  readonly render: (thrown: unknown, exchange: Exchange) => Response
  /** Hears of every answer, for the log. */
  readonly observe: (exchange: Exchange, response: Response) => void
}

export interface Listener {
  readonly url: string
  /** Requests that have not been answered to the end. */
  pending(): number
  /** Takes no new connections; those that are open may finish. */
  stop(isForced: boolean): Promise<void>
}

// Longer than load balancers keep an idle connection, so that they close it and not we, in the moment
// they send the next request. Also what a slow header may take.
const IDLE_SECONDS = 75
// Above every limit of ours, so that our own refusal, with its envelope, is the one that is sent.
const BODY_BYTES_MAX = 256 * 1_048_576

export function listen(options: ServerOptions): Listener {
  const router = new Router(options.routes)
  const server = open(router, options)
  return {
    url: `http://${options.host.includes(':') ? `[${options.host}]` : options.host}:${server.port}`,
    pending: () => server.pendingRequests,
    stop: async (isForced) => server.stop(isForced),
  }
}

function open(router: Router<Handler>, options: ServerOptions): Bun.Server<undefined> {
  const { host, port } = options
  try {
    return serve(router, options)
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : ''
    const advice = LISTEN_ADVICE[code] ?? 'Set PORT and HOST to another place.'
    throw new Error(`Cannot listen on ${host}:${port}. ${advice}`, { cause: thrown })
  }
}

const LISTEN_ADVICE: Readonly<Record<string, string>> = {
  // The first stumble of many: the port's usual owner is another start of this very program.
  EADDRINUSE: 'Stop what listens there, or set PORT and HOST to another place.',
  EACCES: 'This user may not: set PORT to one above 1023.',
  EADDRNOTAVAIL:
    'This machine has no such address: set HOST to one that it has, or to 0.0.0.0 for all of them.',
}

function serve(router: Router<Handler>, options: ServerOptions): Bun.Server<undefined> {
  return Bun.serve({
    hostname: options.host,
    port: options.port,
    idleTimeout: IDLE_SECONDS,
    maxRequestBodySize: BODY_BYTES_MAX,
    reusePort: false,
    development: false,
    fetch: (request, server) => answer(request, server, router, options),
    error: () => new Response(null, { status: 500 }),
  })
}

function answer(
  request: Request,
  server: Bun.Server<undefined>,
  router: Router<Handler>,
  options: ServerOptions,
): Response | Promise<Response> {
  const path = pathOf(request.url)
  const exchange = new LiveExchange(request, server, path, options.clock)
  try {
    checkPath(path)
    checkHeaders(request.headers)
    const { handler, params } = router.match(request.method, path)
    exchange.params = params
    const response = handler(exchange)
    if (response instanceof Response) return observed(exchange, response, options)
    return response.then(
      (value) => observed(exchange, value, options),
      (thrown: unknown) => observed(exchange, options.render(thrown, exchange), options),
    )
  } catch (thrown) {
    return observed(exchange, options.render(thrown, exchange), options)
  }
}

function observed(exchange: Exchange, response: Response, options: ServerOptions): Response {
  options.observe(exchange, response)
  return response
}

class LiveExchange implements Exchange {
  readonly id = createRequestId()
  readonly request: Request
  readonly path: string
  readonly at: number
  readonly startedMs: number
  params: Readonly<Record<string, string>> = {}
  readonly #server: Bun.Server<undefined>

  constructor(request: Request, server: Bun.Server<undefined>, path: string, clock: Clock) {
    this.request = request
    this.path = path
    this.at = clock.now()
    this.startedMs = clock.elapsed()
    this.#server = server
  }

  get signal(): AbortSignal {
    return this.request.signal
  }

  address(): string {
    return this.#server.requestIP(this.request)?.address ?? ''
  }

  keepOpen(): void {
    this.#server.timeout(this.request, 0)
  }

  letGo(): void {
    this.#server.timeout(this.request, IDLE_SECONDS)
  }
}

// Where a browser comes back to with the code of a sign-in: a port of this machine, open for as long as somebody is
// waited for. Whoever does not know the state is turned away, and the waiting goes on.
import { timingSafeEqual } from 'node:crypto'
import { CliFailure } from './failure.ts'
import { toIssuerFailure } from './native-issuer.ts'

export interface Redirect extends Disposable {
  /** As the issuer is told it. */
  readonly url: string
  /** Rejects where the issuer has refused. */
  readonly code: Promise<string>
}

interface Expected {
  readonly path: string
  readonly state: string
  /** Who sends the browser back. */
  readonly issuer: string
}

const LINGER_MS = 250

const LOOPBACK: Readonly<Record<string, string>> = {
  localhost: '127.0.0.1',
  '127.0.0.1': '127.0.0.1',
  '[::1]': '::1',
}

/** Without a `wanted` address, or with one that names no port, any free port does (RFC 8252, 7.3). */
export function openRedirect(
  wanted: string | undefined,
  { state, issuer }: Omit<Expected, 'path'>,
): Redirect {
  const url = readWanted(wanted ?? 'http://127.0.0.1/callback')
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  // Nobody may be waiting any more.
  promise.catch(() => {})
  const expected = { path: url.pathname, state, issuer }
  const server = listen(url, (request) => {
    const answer = hear(request, expected)
    if (answer.code !== undefined) resolve(answer.code)
    if (answer.failure !== undefined) reject(answer.failure)
    return answer.response
  })
  if (url.port === '') url.port = String(server.port)
  return {
    url: url.href,
    code: promise,
    [Symbol.dispose]: () => close(server),
  }
}

/** The page that was just answered is still on its way; connections that a browser keeps in store are not waited for. */
function close(server: Bun.Server<undefined>): void {
  void server.stop()
  setTimeout(() => void server.stop(true), LINGER_MS)
}

function readWanted(text: string): URL {
  const url = URL.parse(text)
  if (url !== null && url.protocol === 'http:' && Object.hasOwn(LOOPBACK, url.hostname)) return url
  throw new CliFailure('refused', `A sign-in comes back to ${text}, and not to this machine.`, {
    advice:
      'Set `oauth.redirect_url` of the supplier to an address of http://127.0.0.1 or http://localhost, or bring the tokens with `gateway native import`.',
  })
}

function listen(url: URL, fetch: (request: Request) => Response): Bun.Server<undefined> {
  try {
    return Bun.serve({
      hostname: LOOPBACK[url.hostname] ?? '127.0.0.1',
      port: url.port === '' ? 0 : Number(url.port),
      fetch,
    })
  } catch (thrown) {
    throw new CliFailure('refused', `The port ${url.port} of this machine cannot be listened on.`, {
      advice:
        'The sign-in must come back to that port. Another sign-in may be waiting there: end it, and run the command again.',
      cause: thrown,
    })
  }
}

interface Heard {
  readonly response: Response
  readonly code?: string
  readonly failure?: CliFailure
}

function hear(request: Request, { path, state, issuer }: Expected): Heard {
  const { pathname, searchParams } = new URL(request.url)
  if (pathname !== path) return { response: page(404, 'There is nothing here.') }
  if (request.method !== 'GET') return { response: page(405, 'This takes GET alone.') }
  if (!isSame(searchParams.get('state') ?? '', state))
    return { response: page(400, 'This is not the sign-in that is waited for. Nothing was done.') }
  const [code, error] = [searchParams.get('code'), searchParams.get('error')]
  if (error === null && code)
    return { response: page(200, 'Go back to the terminal: it tells how the sign-in ended.'), code }
  const told = /^[\w.-]{1,48}$/.exec(error ?? '')?.[0] ?? ''
  return {
    response: page(200, 'Nobody was signed in. Go back to the terminal: it tells what to do.'),
    failure: toIssuerFailure(told, issuer),
  }
}

function isSame(left: string, right: string): boolean {
  const [one, other] = [Buffer.from(left), Buffer.from(right)]
  return one.length === other.length && timingSafeEqual(one, other)
}

/** Nothing of the address is repeated, and nothing is loaded: the address holds the code. */
function page(status: number, text: string): Response {
  return new Response(
    `<!doctype html><meta charset="utf-8"><title>gateway</title><p>${text}</p>\n`,
    {
      status,
      headers: {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': "default-src 'none'",
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
        connection: 'close',
      },
    },
  )
}

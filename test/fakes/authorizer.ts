// An OAuth issuer that people sign in at, on loopback: it sends a browser back at once, checks what PKCE promises, and
// answers the polls of a device by a script. Every token that it gives is another one.
import { createHash } from 'node:crypto'
import { MARK } from './canary.ts'

export interface Authorizer extends AsyncDisposable {
  readonly url: string
  /** What was asked at the token and device endpoints, in order. */
  readonly forms: readonly Readonly<Record<string, string>>[]
  /** All tokens that were given. */
  readonly tokens: readonly string[]
  /** What one signs in with, as the management interface tells it. */
  supplier(more?: object): Readonly<Record<string, unknown>>
}

export interface AuthorizerOptions {
  /** What the browser comes back with in place of a code. */
  readonly denial?: string
  /** What the polls of a device meet, one after the other; tokens after the last. */
  readonly polls?: readonly Answer[]
  /** What the token endpoint says to every code. */
  readonly refusal?: Answer
  /** What the device endpoint says beside its codes. */
  readonly device?: object
  readonly hasNoRefreshToken?: boolean
}

/** An error code, or the whole answer. */
export type Answer = string | (() => Response)

export function startAuthorizer(options: AuthorizerOptions = {}): Authorizer {
  const codes = new Map<string, URLSearchParams>()
  const forms: Record<string, string>[] = []
  const tokens: string[] = []
  const polls = [...(options.polls ?? [])]
  const issue = (): Response => {
    const [access, refresh] = ['access', 'refresh'].map(
      (kind) => `${MARK}-${kind}-${tokens.length}`,
    )
    tokens.push(access!, refresh!)
    const rest = options.hasNoRefreshToken === true ? {} : { refresh_token: refresh }
    return Response.json({ access_token: access, token_type: 'Bearer', expires_in: 300, ...rest })
  }
  const redeem = (form: Record<string, string>): Response => {
    const asked = codes.get(form['code'] ?? '')
    codes.delete(form['code'] ?? '')
    const challenge = createHash('sha256')
      .update(form['code_verifier'] ?? '')
      .digest('base64url')
    const isOurs =
      asked?.get('code_challenge') === challenge &&
      asked.get('redirect_uri') === form['redirect_uri'] &&
      asked.get('client_id') === form['client_id']
    return isOurs ? issue() : answerOf('invalid_grant')
  }
  const authorize = (asked: URLSearchParams): Response => {
    if (asked.get('code_challenge_method') !== 'S256' || asked.get('response_type') !== 'code')
      return answerOf('invalid_request')
    const back = new URL(asked.get('redirect_uri') ?? '')
    back.searchParams.set('state', asked.get('state') ?? '')
    const code = `code-${codes.size}`
    codes.set(code, asked)
    if (options.denial === undefined) back.searchParams.set('code', code)
    else back.searchParams.set('error', options.denial)
    return new Response(null, { status: 302, headers: { location: back.href } })
  }
  const exchange = (form: Record<string, string>): Response => {
    if (form['grant_type'] === 'authorization_code')
      return options.refusal === undefined ? redeem(form) : answerOf(options.refusal)
    const next = polls.shift()
    if (form['device_code'] !== 'device-code') return answerOf('invalid_grant')
    return next === undefined ? issue() : answerOf(next)
  }
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url)
      if (pathname === '/authorize') return authorize(searchParams)
      const form = Object.fromEntries(new URLSearchParams(await request.text()))
      forms.push(form)
      if (pathname === '/token') return exchange(form)
      return Response.json({
        device_code: 'device-code',
        user_code: 'WDJB-MJHT',
        verification_uri: 'https://sign-in.example/device',
        expires_in: 900,
        interval: 5,
        ...options.device,
      })
    },
  })
  const { origin: url } = server.url
  return {
    url,
    forms,
    tokens,
    supplier: (more = {}) => ({
      id: 'rack',
      host: server.url.host,
      region: 'EU',
      models: ['rack-1'],
      grant: 'refresh_token',
      client_id: 'gateway-cli',
      scope: 'models offline',
      authorize_url: `${url}/authorize`,
      authorize_parameters: { prompt: 'login' },
      redirect_url: null,
      device_url: `${url}/device`,
      token_url: `${url}/token`,
      ...more,
    }),
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}

function answerOf(answer: Answer): Response {
  return typeof answer === 'string' ? Response.json({ error: answer }, { status: 400 }) : answer()
}

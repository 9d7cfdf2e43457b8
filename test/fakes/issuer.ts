// An issuer of tokens that does as it is told: it counts who asks, turns refresh tokens over as good issuers do, and
// can refuse, talk nonsense, or keep everybody waiting until it is released.
import type { OAuth } from '../../src/suppliers/supplier.ts'
import { MARK } from './canary.ts'

export interface TokenRequest {
  /** Path and query. */
  readonly path: string
  readonly headers: Headers
  /** As it came. */
  readonly text: string
  /** The same, read as the content type says. */
  readonly fields: Readonly<Record<string, string>>
}

export interface IssuerOptions {
  /** Of every access token; null: nobody says. Default: an hour. */
  readonly expiresIn?: number | null
  /** Each renewal brings another refresh token. Default: true. */
  readonly rotates?: boolean
  /** Whoever says another is refused as `invalid_client`; absent: anybody may ask. */
  readonly clientSecret?: string
  /** In front of all tokens, so that those of several issuers differ. */
  readonly name?: string
}

/** An answer in place of its own. */
export interface TokenAnswer {
  readonly status?: number
  /** An object is sent as JSON. */
  readonly body?: string | object
  readonly headers?: Readonly<Record<string, string>>
}

export interface SignIn {
  readonly accessToken: string
  readonly refreshToken: string
}

export interface FakeIssuer {
  /** The token endpoint. */
  readonly url: string
  readonly origin: string
  readonly requests: readonly TokenRequest[]
  /** Resolves with the request of this index once it has come. */
  request(index: number): Promise<TokenRequest>
  /** Somebody signs in. */
  issue(): SignIn
  /** Whether an `authorization` header is one that a supplier should serve. */
  accepts(authorization: string | null | undefined): boolean
  /** An access token is served no more; a refresh token, and what came of it, is renewed no more. */
  revoke(token: string): void
  /** What the next requests get, one each, before anything else counts. */
  next(...answers: readonly TokenAnswer[]): void
  /** What every request gets from now on; undefined: its own again. */
  always(answer: TokenAnswer | undefined): void
  /** From now on nobody is answered, until what this returns is called. */
  hold(): () => void
  /** The same, but whoever asks is answered as far as the issuer knows: what it has given is on its way. */
  holdAnswers(): () => void
  /** How a supplier is told of it. */
  oauth(changes?: Partial<OAuth>): OAuth
  stop(): Promise<void>
}

/** How issuers refuse, and what stands in their place when they are not themselves. */
export const answers = {
  refusal: (error: string | object = 'invalid_grant', status = 400): TokenAnswer => ({
    status,
    body: { error, error_description: 'It says more than anybody should repeat.' },
  }),
  down: (headers: Readonly<Record<string, string>> = {}): TokenAnswer => ({
    status: 503,
    body: 'upstream connect error',
    headers,
  }),
  redirect: (to: string): TokenAnswer => ({ status: 307, body: '', headers: { location: to } }),
  html: (): TokenAnswer => ({
    body: '<!doctype html><title>Welcome to the hotel</title>',
    headers: { 'content-type': 'text/html' },
  }),
  garbage: (): TokenAnswer => ({ body: '{"access_token":"half of i' }),
  huge: (): TokenAnswer => ({ body: JSON.stringify({ access_token: 'x'.repeat(1_000_000) }) }),
} as const

/** One sign-in and all that comes of it. */
interface Family {
  current: string
  /** Works until its successor, or what came with that, is used: the answer that brought that may have been lost. */
  previous: string | undefined
  isRevoked: boolean
}

export function startIssuer(options: IssuerOptions = {}): FakeIssuer {
  const desk = new Desk(options)
  const requests: TokenRequest[] = []
  const waiting: (() => void)[] = []
  const scripted: TokenAnswer[] = []
  let standing: TokenAnswer | undefined
  const asking = createLatch()
  const answering = createLatch()
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const asked = await readRequest(request)
      requests.push(asked)
      for (const wake of waiting.splice(0)) wake()
      await asking.passed()
      const answer = scripted.shift() ?? standing ?? desk.answer(asked)
      await answering.passed()
      return toResponse(answer)
    },
  })
  const { origin } = server.url
  const url = `${origin}/oauth/token`
  return {
    url,
    origin,
    requests,
    async request(index) {
      while (requests.length <= index) await new Promise<void>((resolve) => waiting.push(resolve))
      return requests[index]!
    },
    issue: () => desk.issue(),
    accepts: (authorization) => desk.accepts(authorization),
    revoke: (token) => desk.revoke(token),
    next: (...answers) => void scripted.push(...answers),
    always(answer) {
      standing = answer
    },
    hold: () => asking.close(),
    holdAnswers: () => answering.close(),
    oauth: (changes = {}) => ({ ...OAUTH, tokenUrl: url, ...changes }),
    async stop() {
      for (const latch of [asking, answering]) latch.open()
      await server.stop(true)
    },
  }
}

/** A door that is open unless somebody has closed it, and who has can open it again. */
function createLatch() {
  let closed: PromiseWithResolvers<void> | undefined
  return {
    passed: (): Promise<void> | undefined => closed?.promise,
    open: (): void => closed?.resolve(),
    close(): () => void {
      const own = Promise.withResolvers<void>()
      closed = own
      return () => {
        if (closed === own) closed = undefined
        own.resolve()
      }
    },
  }
}

const OAUTH = {
  grant: 'refresh_token',
  clientId: 'program',
  clientSecret: undefined,
  clientAuth: 'body',
  format: 'form',
  scope: undefined,
  audience: undefined,
  authorizeUrl: undefined,
  authorizeParameters: {},
  redirectUrl: undefined,
  deviceUrl: undefined,
  subjectHeader: 'x-account-id',
} as const satisfies Omit<OAuth, 'tokenUrl'>

/** What it knows of whom it has signed in. */
class Desk {
  readonly #options: IssuerOptions
  readonly #families: Family[] = []
  /** With the refresh token that came with each. */
  readonly #accessTokens = new Map<string, string | undefined>()
  #count = 0

  constructor(options: IssuerOptions) {
    this.#options = options
  }

  issue(): SignIn {
    const family = { current: this.#make('refresh'), previous: undefined, isRevoked: false }
    this.#families.push(family)
    return { accessToken: this.#makeAccess(family.current), refreshToken: family.current }
  }

  accepts(authorization: string | null | undefined): boolean {
    const token = authorization?.replace(/^Bearer /, '') ?? ''
    this.#markUsed(this.#accessTokens.get(token))
    return this.#accessTokens.has(token)
  }

  revoke(token: string): void {
    this.#accessTokens.delete(token)
    const family = this.#find(token)
    if (family !== undefined) family.isRevoked = true
  }

  answer({ headers, fields }: TokenRequest): TokenAnswer {
    const { clientSecret } = this.#options
    if (clientSecret !== undefined && secretOf(headers, fields) !== clientSecret)
      return answers.refusal('invalid_client', 401)
    if (fields['grant_type'] === 'client_credentials') return this.#grant()
    if (fields['grant_type'] !== 'refresh_token') return answers.refusal('unsupported_grant_type')
    const family = this.#find(fields['refresh_token'])
    if (family === undefined || family.isRevoked) return answers.refusal()
    return this.#grant(this.#turnOver(family, fields['refresh_token']!))
  }

  /** Whoever uses what came with a refresh token has got that, and needs the one before it no more. */
  #markUsed(refreshToken: string | undefined): void {
    const family = this.#find(refreshToken)
    if (family !== undefined && family.current === refreshToken) family.previous = undefined
  }

  #find(token: string | undefined): Family | undefined {
    return this.#families.find(
      ({ current, previous }) => token !== undefined && (current === token || previous === token),
    )
  }

  /** The refresh token that follows the one that was used; undefined where that stays. */
  #turnOver(family: Family, used: string): string | undefined {
    if (this.#options.rotates === false) return undefined
    family.previous = used
    family.current = this.#make('refresh')
    return family.current
  }

  #grant(refreshToken?: string): TokenAnswer {
    const { expiresIn = 3600 } = this.#options
    return {
      body: {
        access_token: this.#makeAccess(refreshToken),
        token_type: 'Bearer',
        ...(expiresIn !== null && { expires_in: expiresIn }),
        ...(refreshToken !== undefined && { refresh_token: refreshToken }),
      },
    }
  }

  #makeAccess(refreshToken: string | undefined): string {
    const token = this.#make('access')
    this.#accessTokens.set(token, refreshToken)
    return token
  }

  #make(what: 'access' | 'refresh'): string {
    this.#count += 1
    return `${MARK}-${this.#options.name ?? 'issuer'}-${what}-${this.#count}`
  }
}

async function readRequest(request: Request): Promise<TokenRequest> {
  const text = await request.text()
  const { pathname, search } = new URL(request.url)
  const isJson = request.headers.get('content-type')?.includes('json') === true
  const fields = isJson
    ? (JSON.parse(text) as Record<string, string>)
    : Object.fromEntries(new URLSearchParams(text))
  return { path: pathname + search, headers: request.headers, text, fields }
}

/** From the body, or from the header as RFC 6749 §2.3.1 has it. */
function secretOf(headers: Headers, fields: TokenRequest['fields']): string | undefined {
  const basic = /^Basic (.+)$/.exec(headers.get('authorization') ?? '')?.[1]
  if (basic === undefined) return fields['client_secret']
  const pair = Buffer.from(basic, 'base64').toString()
  return [...new URLSearchParams(`=${pair.slice(pair.indexOf(':') + 1)}`).values()][0]
}

function toResponse({ status = 200, body = '', headers = {} }: TokenAnswer): Response {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return new Response(text, {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
  })
}

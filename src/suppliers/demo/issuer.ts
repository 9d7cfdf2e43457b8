// The demo's issuer of tokens, a real one in miniature: authorization codes with PKCE (RFC 6749, 7636), codes for
// devices (8628), renewal with rotation, and revocation (7009). Nobody is asked anything: whoever comes is let in.
import { createHash, randomBytes } from 'node:crypto'
import { getParameter, invalid, OAuthRefusal } from './form.ts'
import { readForm, readParameters, type Parameters } from './form.ts'
import { SignIns } from './sign-ins.ts'
import { readToken, writeToken, type Claims } from './tokens.ts'

export interface IssuerOptions {
  /** How long an access token lives. */
  readonly accessTokenMs?: number
  /** Wall time. */
  readonly now?: () => number
}

export const OAUTH_PATHS = {
  authorize: '/oauth/authorize',
  token: '/oauth/token',
  device: '/oauth/device',
  revoke: '/oauth/revoke',
} as const

export const CLIENT_ID = 'demo'
export const SCOPE = 'demo offline'

const MINUTE_MS = 60_000
const ACCESS_TOKEN_MS = 5 * MINUTE_MS
const CODE_MS = MINUTE_MS
const DEVICE_MS = 10 * MINUTE_MS
const POLL_SECONDS = 1
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
/** Letters that make no words and are not taken for one another (RFC 8628 §6.1). */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ'
const CHALLENGE = /^[\w-]{43}$/
const VERIFIER = /^[\w.~-]{43,128}$/
const REDIRECT_HOSTS: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost'])

export class DemoIssuer {
  readonly signIns = new SignIns()
  readonly #accessTokenMs: number
  readonly #now: () => number

  constructor({ accessTokenMs = ACCESS_TOKEN_MS, now = Date.now }: IssuerOptions = {}) {
    this.#accessTokenMs = accessTokenMs
    this.#now = now
  }

  /** Undefined where the address is none of an issuer's. */
  async respond(request: Request): Promise<Response | undefined> {
    try {
      return await this.#route(request)
    } catch (thrown) {
      if (thrown instanceof OAuthRefusal) return say(describe(thrown), thrown.status)
      throw thrown
    }
  }

  /** Whose token this is; a word for what is wrong with it otherwise. */
  admit(token: string): Claims | 'invalid_token' | 'token_expired' | 'token_revoked' {
    const claims = readToken('access', token)
    if (claims === undefined) return 'invalid_token'
    if (this.#hasEnded(claims)) return 'token_expired'
    return this.signIns.isGood(claims.signIn, claims.renewals) ? claims : 'token_revoked'
  }

  async #route(request: Request): Promise<Response | undefined> {
    const url = new URL(request.url)
    switch (`${request.method} ${url.pathname}`) {
      case `GET ${OAUTH_PATHS.authorize}`:
        return this.#authorize(readParameters(url.searchParams))
      case `POST ${OAUTH_PATHS.token}`:
        return this.#grant(await readForm(request))
      case `POST ${OAUTH_PATHS.device}`:
        return this.#beginDevice(await readForm(request), url.origin)
      case `GET ${OAUTH_PATHS.device}`:
        return new Response('Nothing is to be entered here: the demo approves every code.\n')
      case `POST ${OAUTH_PATHS.revoke}`:
        return this.#revoke(await readForm(request))
      default:
        return undefined
    }
  }

  /** Where to come back to is checked first: an error is sent nowhere else (RFC 6749 §4.1.2.1). */
  #authorize(parameters: Parameters): Response {
    checkClient(parameters)
    const redirectUri = getParameter(parameters, 'redirect_uri')
    const target = toRedirect(redirectUri)
    const state = parameters('state')
    if (state !== undefined) target.searchParams.set('state', state)
    try {
      target.searchParams.set('code', this.#writeCode(parameters, redirectUri))
    } catch (thrown) {
      if (!(thrown instanceof OAuthRefusal)) throw thrown
      for (const [name, value] of Object.entries(describe(thrown))) {
        target.searchParams.set(name, value)
      }
    }
    const headers = { location: target.href, 'cache-control': 'no-store' }
    return new Response(null, { status: 302, headers })
  }

  #writeCode(parameters: Parameters, redirectUri: string): string {
    if (getParameter(parameters, 'response_type') !== 'code') {
      throw new OAuthRefusal('unsupported_response_type', 'The response_type must be code.')
    }
    const challenge = getParameter(parameters, 'code_challenge')
    if (parameters('code_challenge_method') !== 'S256' || !CHALLENGE.test(challenge)) {
      throw invalid('A code_challenge by the method S256 is required.')
    }
    const begun = this.#begin(scopeOf(parameters, SCOPE), CODE_MS)
    return writeToken('code', { ...begun, redirectUri, challenge }, this.#now())
  }

  #begin(scope: string, durationMs: number): Claims {
    const signIn = randomBytes(12).toString('hex')
    return { signIn, scope, renewals: 0, endsAt: this.#now() + durationMs }
  }

  #grant(parameters: Parameters): Response {
    checkClient(parameters)
    switch (getParameter(parameters, 'grant_type')) {
      case 'authorization_code':
        return this.#give(this.#redeemCode(parameters))
      case 'refresh_token':
        return this.#give(this.#renew(parameters))
      case DEVICE_GRANT:
        return this.#give(this.#redeemDevice(parameters))
      default:
        throw new OAuthRefusal('unsupported_grant_type', 'This grant_type is not known here.')
    }
  }

  #redeemCode(parameters: Parameters): Claims {
    const claims = readToken('code', getParameter(parameters, 'code'))
    const verifier = getParameter(parameters, 'code_verifier')
    if (claims === undefined || this.#hasEnded(claims)) throw refused('The code is not valid.')
    const isSame = claims.redirectUri === parameters('redirect_uri')
    if (!isSame) throw refused('The redirect_uri is another than the one that the code went to.')
    const challenge = createHash('sha256').update(verifier).digest('base64url')
    if (!VERIFIER.test(verifier) || challenge !== claims.challenge) {
      throw refused('The code_verifier does not fit the code_challenge.')
    }
    if (this.signIns.spend(claims.signIn)) return claims
    // Somebody else had the code, and may have been the first to use it (RFC 6749 §4.1.2).
    this.signIns.end(claims.signIn)
    throw refused('The code was used before. All tokens that came of it have ended.')
  }

  #redeemDevice(parameters: Parameters): Claims {
    const claims = readToken('device', getParameter(parameters, 'device_code'))
    if (claims === undefined) throw refused('The device_code is not valid.')
    if (this.#hasEnded(claims)) {
      throw new OAuthRefusal('expired_token', 'The device_code has expired: ask for another.')
    }
    if (!this.signIns.isApproved(claims.signIn)) {
      throw new OAuthRefusal('authorization_pending', 'Nobody has entered the code yet.')
    }
    if (this.signIns.spend(claims.signIn)) return claims
    throw refused('The device_code was used before.')
  }

  #renew(parameters: Parameters): Claims {
    const claims = readToken('refresh', getParameter(parameters, 'refresh_token'))
    if (claims === undefined) throw refused('The refresh_token is not valid.')
    const scope = scopeOf(parameters, claims.scope)
    const outcome = this.signIns.renew(claims.signIn, claims.renewals)
    if (outcome === 'renewed') return { ...claims, scope, renewals: claims.renewals + 1 }
    throw refused(
      outcome === 'reused'
        ? 'The refresh_token was used before. All tokens of its sign-in have ended.'
        : 'The sign-in has ended.',
    )
  }

  #give({ signIn, scope, renewals }: Claims): Response {
    const now = this.#now()
    const endsAt = now + this.#accessTokenMs
    const claims = { signIn, scope, renewals }
    const isLasting = scope.split(' ').includes('offline')
    return say({
      access_token: writeToken('access', { ...claims, endsAt }, now),
      token_type: 'Bearer',
      expires_in: Math.ceil(this.#accessTokenMs / 1000),
      scope,
      ...(isLasting && {
        refresh_token: writeToken('refresh', { ...claims, endsAt: undefined }, now),
      }),
    })
  }

  #beginDevice(parameters: Parameters, origin: string): Response {
    checkClient(parameters)
    const begun = this.#begin(scopeOf(parameters, SCOPE), DEVICE_MS)
    const letters = [...randomBytes(8)].map((byte) => LETTERS[byte % LETTERS.length]).join('')
    const userCode = `${letters.slice(0, 4)}-${letters.slice(4)}`
    const address = `${origin}${OAUTH_PATHS.device}`
    return say({
      device_code: writeToken('device', begun, this.#now()),
      user_code: userCode,
      verification_uri: address,
      verification_uri_complete: `${address}?user_code=${userCode}`,
      expires_in: DEVICE_MS / 1000,
      interval: POLL_SECONDS,
    })
  }

  /** Either token ends its sign-in, and one that is unknown has ended already (RFC 7009 §2.2). */
  #revoke(parameters: Parameters): Response {
    checkClient(parameters)
    const token = getParameter(parameters, 'token')
    const claims = readToken('refresh', token) ?? readToken('access', token)
    if (claims !== undefined) this.signIns.end(claims.signIn)
    return new Response(null, { headers: { 'cache-control': 'no-store' } })
  }

  #hasEnded({ endsAt }: Claims): boolean {
    return endsAt !== undefined && this.#now() >= endsAt
  }
}

function checkClient(parameters: Parameters): void {
  if (getParameter(parameters, 'client_id') === CLIENT_ID) return
  throw new OAuthRefusal('invalid_client', `The client_id is not ${CLIENT_ID}.`, 401)
}

/** What is not asked for is granted whole; more than there is, not at all. */
function scopeOf(parameters: Parameters, most: string): string {
  const scope = parameters('scope') ?? most
  const granted = new Set(most.split(' '))
  if (scope.split(' ').every((word) => granted.has(word))) return scope
  throw new OAuthRefusal('invalid_scope', `The scope is at most: ${most}`)
}

/** A port of the machine that the browser runs on, so that no code leaves it. */
function toRedirect(text: string): URL {
  const url = URL.parse(text)
  const isLoopback = url?.protocol === 'http:' && REDIRECT_HOSTS.has(url.hostname)
  if (!isLoopback || url.username !== '' || url.password !== '' || text.includes('#')) {
    throw invalid('The redirect_uri must be http://127.0.0.1 or http://localhost, with any port.')
  }
  return url
}

function refused(description: string): OAuthRefusal {
  return new OAuthRefusal('invalid_grant', description)
}

function describe({ code, message }: OAuthRefusal): Readonly<Record<string, string>> {
  return { error: code, error_description: message }
}

function say(body: object, status = 200): Response {
  return Response.json(body, { status, headers: { 'cache-control': 'no-store' } })
}

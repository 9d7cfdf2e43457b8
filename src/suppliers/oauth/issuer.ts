// What is asked of the issuer of a native supplier's tokens, and how its answer is read. Each shape of a request is
// data of the supplier; what an issuer says is never repeated to anyone but the log, without secrets.
import type { IdentitySecrets } from '../../core/identity.ts'
import { asFields, parseJson, type Fields } from '../../dialects/json.ts'
import { readBody } from '../../upstream/body.ts'
import type { ExtraHeaders, Upstream } from '../../upstream/client.ts'
import type { Lifeline } from '../../upstream/lifeline.ts'
import { readWait } from '../rate-headers.ts'
import { isSendable } from '../sign.ts'
import type { OAuth, Supplier } from '../supplier.ts'
import { readClaims } from './claims.ts'

/** What came of asking for another token. */
export type Grant =
  | {
      readonly kind: 'granted'
      /** What was not told anew stays as it was. */
      readonly secrets: IdentitySecrets
      /** Milliseconds; undefined where nobody said. */
      readonly lifetimeMs: number | undefined
    }
  /** For good: somebody must sign in again. */
  | { readonly kind: 'refused'; readonly why: string }
  /** Not the identity's fault, and worth another try: out of reach, busy, or wrongly configured. */
  | { readonly kind: 'unavailable'; readonly why: string; readonly waitMs: number | undefined }

export interface Issuer {
  /** Never throws for what an issuer does or says. */
  renew(secrets: IdentitySecrets, lifeline: Lifeline): Promise<Grant>
}

const ANSWER_BYTES_MAX = 65_536
const TOKEN_LENGTH_MAX = 16_384
const WAIT_MIN_MS = 1000
/** Ten years: what is promised for longer is as good as for ever. */
const LIFETIME_MAX_SECONDS = 315_360_000
/** Who promises less would be asked for another token with every call. */
const LIFETIME_MIN_MS = 1000
const SECONDS = /^\d{1,12}(?:\.\d{1,9})?$/
const CODE = /^[\w.-]{1,48}$/

/** RFC 6749 §5.2, and what issuers say in its place (seen 2026-11). */
const REFUSALS = new Set([
  'invalid_grant',
  'invalid_token',
  'refresh_token_expired',
  'refresh_token_reused',
  'refresh_token_invalidated',
  'bad_refresh_token',
  'token_expired',
  'token_revoked',
])

/** `open`: the way to a supplier. Throws where the issuer's address may not be called at all. */
export function openIssuer(supplier: Supplier, open: (place: Supplier) => Upstream): Issuer {
  const { id, oauth } = supplier
  if (oauth === undefined) throw new Error(`supplier ${id}: nobody issues tokens for it`)
  const { origin, pathname, search } = new URL(oauth.tokenUrl)
  // The same way as to the supplier, with its checks, and without anything that tells who we are.
  const place = { ...supplier, id: `${id} (oauth.token_url)`, origin, credential: undefined }
  const upstream = open(place)
  return {
    async renew(secrets, lifeline) {
      if (oauth.grant === 'refresh_token' && secrets.refreshToken === undefined)
        return { kind: 'refused', why: 'no refresh token' }
      let response: Response | undefined
      try {
        const { body, headers } = requestOf(oauth, secrets)
        response = await upstream.post(pathname + search, body, lifeline, headers)
        lifeline.heard()
        const bytes = await readBody(response, ANSWER_BYTES_MAX)
        return readGrant({ response, bytes, secrets, oauth })
      } catch (thrown) {
        // The border to the issuer: whatever breaks on the way to it and back, it can be asked again.
        const why = describe(lifeline, response)
        // What it is still sending has no reader any more.
        lifeline.abort(thrown instanceof Error ? thrown : new Error(why))
        return unavailable(why)
      }
    },
  }
}

function describe({ signal }: Lifeline, response: Response | undefined): string {
  if (signal.aborted) return 'no answer in time'
  return response === undefined ? 'out of reach' : 'no answer that can be read'
}

interface TokenRequest {
  readonly body: Uint8Array
  readonly headers: ExtraHeaders
}

function requestOf(oauth: OAuth, secrets: IdentitySecrets): TokenRequest {
  const { grant, format, scope, audience } = oauth
  const refreshToken = grant === 'refresh_token' ? secrets.refreshToken : undefined
  const client = clientOf(oauth, secrets)
  // What is left out on a renewal is what was granted; some refuse to be asked for what they have not granted.
  const wanted = grant === 'client_credentials' ? { scope } : {}
  const told = {
    grant_type: grant,
    refresh_token: refreshToken,
    ...client.fields,
    ...wanted,
    audience,
  }
  const fields = Object.entries(told).filter(isTold)
  const isJson = format === 'json'
  const text = isJson
    ? JSON.stringify(Object.fromEntries(fields))
    : new URLSearchParams(fields).toString()
  return {
    body: new TextEncoder().encode(text),
    headers: {
      'content-type': isJson ? 'application/json' : 'application/x-www-form-urlencoded',
      accept: 'application/json',
      ...client.headers,
    },
  }
}

function isTold(field: [string, string | undefined]): field is [string, string] {
  return field[1] !== undefined
}

interface Client {
  readonly fields: Readonly<Record<string, string | undefined>>
  readonly headers: ExtraHeaders
}

/** A client without a secret has nothing to put into the header, and says who it is in the body. */
function clientOf(oauth: OAuth, secrets: IdentitySecrets): Client {
  // An id and a secret belong together: a program's own id is never sent with somebody else's secret.
  const id = secrets.clientId ?? oauth.clientId
  const isOwn = id !== oauth.clientId
  const secret = secrets.clientSecret ?? (isOwn ? undefined : oauth.clientSecret?.reveal())
  if (oauth.clientAuth === 'body' || id === undefined || secret === undefined)
    return { fields: { client_id: id, client_secret: secret }, headers: {} }
  const pair = `${encodeForm(id)}:${encodeForm(secret)}`
  return { fields: {}, headers: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` } }
}

/** RFC 6749 §2.3.1: both are encoded as in a form before they are joined. */
function encodeForm(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1)
}

interface Answered {
  readonly response: Response
  readonly bytes: Uint8Array
  /** Of the identity that asked. */
  readonly secrets: IdentitySecrets
  readonly oauth: OAuth
}

function readGrant({ response, bytes, secrets, oauth }: Answered): Grant {
  const { status, ok } = response
  const answer = asFields(parseJson(bytes))
  const code = answer === undefined ? undefined : codeOf(answer)
  const told = tellable(code, secrets, oauth) ?? `status ${status}`
  const isJudgement = ok || (status >= 400 && status < 500 && status !== 429)
  if (isJudgement && code !== undefined && REFUSALS.has(code)) return { kind: 'refused', why: told }
  if (!ok || code !== undefined) return unavailable(told, waitOf(response))
  if (answer === undefined) return unavailable('no JSON')
  return granted(response, answer, secrets)
}

function granted(response: Response, answer: Fields, secrets: IdentitySecrets): Grant {
  const { access_token: accessToken, refresh_token: next, expires_in: told } = answer
  if (!isText(accessToken) || !isSendable(accessToken))
    return unavailable('no access token that can be sent')
  return {
    kind: 'granted',
    secrets: { ...secrets, accessToken, ...(isText(next) && { refreshToken: next }) },
    lifetimeMs: toLifetime(told) ?? readLifetime(accessToken, response),
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= TOKEN_LENGTH_MAX
}

/** Some write the number as a text. What has ended already says nothing. */
function toLifetime(told: unknown): number | undefined {
  const seconds = typeof told === 'string' && SECONDS.test(told) ? Number(told) : told
  if (typeof seconds !== 'number' || !(seconds > 0)) return undefined
  const lifetimeMs = Math.floor(Math.min(seconds, LIFETIME_MAX_SECONDS) * 1000)
  return Math.max(LIFETIME_MIN_MS, lifetimeMs)
}

/** Until when the token says that it lives, by the issuer's own clock: ours may be another. */
function readLifetime(token: string, response: Response): number | undefined {
  const { expiresAt } = readClaims(token)
  const at = dateOf(response)
  return expiresAt === undefined || at === undefined
    ? undefined
    : toLifetime((expiresAt - at) / 1000)
}

/** A text, or an object that holds one: some issuers answer as their interface for models does. */
function codeOf(answer: Fields): string | undefined {
  const { error, code, access_token: token } = answer
  const nested = asFields(error)
  const told = [error, nested?.['code'], nested?.['type'], token === undefined ? code : undefined]
  return told.find((each): each is string => typeof each === 'string' && each !== '')
}

/** Of what an issuer calls its refusal only what looks like a code, and not what we have sent to it. */
function tellable(
  code: string | undefined,
  { accessToken, refreshToken, clientSecret }: IdentitySecrets,
  oauth: OAuth,
): string | undefined {
  if (code === undefined || !CODE.test(code)) return undefined
  const secrets = [accessToken, refreshToken, clientSecret, oauth.clientSecret?.reveal()]
  const isEcho = secrets.some(
    (secret) => secret !== undefined && (secret.includes(code) || code.includes(secret)),
  )
  return isEcho ? undefined : code
}

/** A date is meant by the issuer's own clock, too. */
function waitOf(response: Response): number | undefined {
  const waitMs = readWait(response, dateOf(response) ?? Number.NaN)
  return waitMs === undefined || Number.isNaN(waitMs) ? undefined : Math.max(WAIT_MIN_MS, waitMs)
}

function dateOf({ headers }: Response): number | undefined {
  const at = Date.parse(headers.get('date') ?? '')
  return Number.isNaN(at) ? undefined : at
}

function unavailable(why: string, waitMs?: number): Grant {
  return { kind: 'unavailable', why, waitMs }
}

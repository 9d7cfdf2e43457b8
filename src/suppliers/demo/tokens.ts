// The tokens of the demo's issuer. They are signed and not kept, so that a sign-in outlives the server that gave it;
// the key of the signatures is public and protects nothing, since there is nothing behind the demo.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { asNumber, isJson, type Json } from './json.ts'

/** What a token is for: none passes for another. */
export type TokenUse = 'code' | 'device' | 'access' | 'refresh'

export interface Claims {
  /** The sign-in that it belongs to. */
  readonly signIn: string
  readonly scope: string
  /** How often the sign-in had been renewed when it was given. */
  readonly renewals: number
  /** Wall time in milliseconds; undefined: it has no end of its own. */
  readonly endsAt: number | undefined
  /** Of a code alone: where it was sent to, and what its owner can prove. */
  readonly redirectUri?: string | undefined
  readonly challenge?: string | undefined
}

const KEY = 'public on purpose: the tokens of the demo protect nothing'
const TOKEN_MAX = 8192

/** The claim in which native agents look up the account of a sign-in (openai/codex, seen 2026-11). */
const ACCOUNT_CLAIM = 'https://api.openai.com/auth'

/** What the supplier calls whoever is behind a sign-in. */
export function accountOf(signIn: string): string {
  return `demo-account-${signIn.slice(0, 8)}`
}

export function writeToken(use: TokenUse, claims: Claims, now: number): string {
  const { signIn, scope, renewals, endsAt, redirectUri, challenge } = claims
  const account = accountOf(signIn)
  const payload: Json = {
    iss: 'demo',
    sub: account,
    sid: signIn,
    scope,
    renewals,
    iat: Math.floor(now / 1000),
    ...(endsAt === undefined ? {} : { exp: Math.ceil(endsAt / 1000) }),
    ...(use === 'access' ? { [ACCOUNT_CLAIM]: { chatgpt_account_id: account } } : {}),
    ...(redirectUri === undefined ? {} : { redirect_uri: redirectUri, challenge }),
  }
  const text = `${headOf(use)}.${encode(payload)}`
  return `${text}.${sign(text).toString('base64url')}`
}

/** Undefined for what is no token of ours for this use. Whether it is still good is for others to say. */
export function readToken(use: TokenUse, token: string): Claims | undefined {
  if (token.length > TOKEN_MAX) return undefined
  const [head, body, signature, ...more] = token.split('.')
  if (head !== headOf(use) || !body || !signature || more.length > 0) return undefined
  const given = Buffer.from(signature, 'base64url')
  const right = sign(`${head}.${body}`)
  if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined
  try {
    return toClaims(JSON.parse(Buffer.from(body, 'base64url').toString()))
  } catch {
    // Whoever knows the key, and that is everybody, can sign what is no JSON.
    return undefined
  }
}

function toClaims(payload: unknown): Claims | undefined {
  if (!isJson(payload)) return undefined
  const { sid, scope, redirect_uri: redirectUri, challenge } = payload
  const renewals = asNumber(payload['renewals'])
  const ends = asNumber(payload['exp'])
  if (typeof sid !== 'string' || typeof scope !== 'string' || renewals === undefined) {
    return undefined
  }
  return {
    signIn: sid,
    scope,
    renewals,
    endsAt: ends === undefined ? undefined : ends * 1000,
    redirectUri: typeof redirectUri === 'string' ? redirectUri : undefined,
    challenge: typeof challenge === 'string' ? challenge : undefined,
  }
}

function headOf(use: TokenUse): string {
  return encode({ alg: 'HS256', typ: use === 'access' ? 'at+jwt' : `demo-${use}` })
}

function encode(json: Json): string {
  return Buffer.from(JSON.stringify(json)).toString('base64url')
}

function sign(text: string): Buffer {
  return createHmac('sha256', KEY).update(text).digest()
}

// What a token says of itself, where it is a JWT. Nobody here can verify it, so that it is believed only in what does
// no harm: when it ends, and whom it stands for. Whoever is called with it judges the rest.
import type { TokenClaims } from '../../access/identity-fields.ts'

const LENGTH_MAX = 16_384
const TEXT_LENGTH_MAX = 256
/** The last second of the year 9999: nothing that is shown as a time can be later. */
const SECONDS_MAX = 253_402_300_799
const PRINTABLE = /^[\x21-\x7e]+$/
const NOTHING: TokenClaims = {}

/** An object of its own inside the token, as the issuer of ChatGPT sign-ins writes it (seen 2026-11). */
const OPENAI_CLAIM = 'https://api.openai.com/auth'

/** Empty for whatever is no JWT. Never throws. */
export function readClaims(token: string): TokenClaims {
  const payload = payloadOf(token)
  if (payload === undefined) return NOTHING
  const expiresAt = timeOf(payload['exp'])
  const person = textOf(payload['sub'])
  const accountId = textOf(asObject(payload[OPENAI_CLAIM])?.['chatgpt_account_id'])
  return {
    ...(expiresAt !== undefined && { expiresAt }),
    ...(person !== undefined && { person }),
    ...(accountId !== undefined && { accountId }),
  }
}

type Payload = Readonly<Record<string, unknown>>

function payloadOf(token: string): Payload | undefined {
  if (token.length > LENGTH_MAX) return undefined
  const [, payload, signature, ...rest] = token.split('.')
  if (payload === undefined || signature === undefined || rest.length > 0) return undefined
  try {
    return asObject(JSON.parse(Buffer.from(payload, 'base64url').toString()))
  } catch {
    // Most tokens are no JWT, and nothing is wrong with them.
    return undefined
  }
}

function asObject(value: unknown): Payload | undefined {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an object of JSON, read field by field
  return isObject ? (value as Payload) : undefined
}

function timeOf(seconds: unknown): number | undefined {
  if (typeof seconds !== 'number' || !(seconds > 0 && seconds <= SECONDS_MAX)) return undefined
  return Math.floor(seconds * 1000)
}

/** It may go into a header, so that nothing else passes. */
function textOf(value: unknown): string | undefined {
  const isText = typeof value === 'string' && value.length <= TEXT_LENGTH_MAX
  return isText && PRINTABLE.test(value) ? value : undefined
}

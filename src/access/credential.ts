// Finds the caller's credential in a request. Two headers may carry it, and some clients send both; the
// one that could be ours counts.
import { MANAGED_PREFIX, ROOT_PREFIX } from '../core/ids.ts'
import { GatewayError } from '../core/problem.ts'
import { singleHeader } from '../http/edge.ts'

const NOTHING = /^(bearer)?\s*$/i

/** The secret that a request presents; throws when it presents none or one of another kind. */
export function credentialOf(headers: Headers): string {
  const authorization = singleHeader(headers, 'authorization') ?? ''
  const bearer = bearerOf(authorization)
  if (bearer !== undefined && isOurs(bearer)) return bearer
  const apiKey = singleHeader(headers, 'x-api-key') ?? ''
  if (isOurs(apiKey)) return apiKey
  // Nothing at all, or what an unset variable leaves behind.
  if (apiKey === '' && NOTHING.test(authorization)) throw refusal('missing_api_key')
  // The form is wrong and not the key, which tells a guesser nothing.
  throw bearer === undefined && apiKey === '' ? refusal('invalid_api_key') : invalidKey()
}

function refusal(code: 'missing_api_key' | 'invalid_api_key'): GatewayError {
  return new GatewayError(code, 'Send a key as `Authorization: Bearer <key>`.', {
    retryable: false,
  })
}

function bearerOf(authorization: string): string | undefined {
  const isBearer = authorization.slice(0, 7).toLowerCase() === 'bearer '
  return isBearer ? authorization.slice(7) : undefined
}

function isOurs(secret: string): boolean {
  return secret.startsWith(ROOT_PREFIX) || secret.startsWith(MANAGED_PREFIX)
}

/** One answer for unknown, malformed and revoked: a guesser learns nothing. */
export function invalidKey(): GatewayError {
  return new GatewayError(
    'invalid_api_key',
    'This key is not valid. Check it, or ask for a new one.',
    {
      retryable: false,
    },
  )
}

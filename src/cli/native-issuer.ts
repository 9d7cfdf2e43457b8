// Speaks with whoever issues tokens, for a person who signs in. What it answers is bounded and believed only in the
// shape of RFC 6749; of what it refuses nothing is repeated but a code, because it may have been sent a secret.
import { CliFailure } from './failure.ts'
import { isRecord, parseJson, toRecord, type JsonRecord } from './json.ts'
import { isOwnHost } from './run-file.ts'

const TIMEOUT_MS = 30_000
const BYTES_MAX = 65_536
const CODE = /^[\w.-]{1,48}$/

export interface Issued {
  readonly status: number
  readonly body: JsonRecord
}

/** An address that a code or a token may be sent to. */
export function checkAddress(text: string, setting: string): URL {
  const url = URL.parse(text)
  const isSafe =
    url !== null &&
    (url.protocol === 'https:' || (url.protocol === 'http:' && isOwnHost(url.hostname)))
  if (isSafe && url.username === '' && url.password === '') return url
  throw new CliFailure('refused', `The address ${text || '(none)'} is none to sign in at.`, {
    advice: `Correct \`oauth.${setting}\` of the supplier in the configuration of the gateway: an https address.`,
  })
}

/** Redirects are not followed: what is sent here is for this address alone. */
export async function askIssuer(
  url: URL,
  fields: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): Promise<Issued> {
  const form = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) form.set(name, value)
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { accept: 'application/json', connection: 'close' },
      body: form,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      ...(isOwnHost(url.hostname) ? { proxy: false } : {}),
    })
    return { status: response.status, body: toRecord(parseJson(await readBriefly(response))) }
  } catch (thrown) {
    // Whoever has ended the waiting says why.
    signal.throwIfAborted()
    if (thrown instanceof CliFailure) throw thrown
    throw new CliFailure('refused', `${url.host} does not answer.`, {
      advice: 'Check that this machine reaches it, and try again.',
      cause: thrown,
    })
  }
}

async function readBriefly(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > BYTES_MAX)
      throw new CliFailure('refused', 'The answer to the sign-in is too long to be one.', {
        advice: 'Check `oauth.token_url` of the supplier in the configuration of the gateway.',
      })
  }
  return text
}

/** RFC 6749 has a text there; some issuers send an object. */
export function errorOf({ body }: Issued): string {
  const { error } = body
  const code = isRecord(error) ? (error['code'] ?? error['type']) : error
  return typeof code === 'string' && CODE.test(code) ? code : ''
}

/** The tokens as the gateway takes them; throws what the issuer says in their place. */
export function toTokens(issued: Issued, host: string): JsonRecord {
  const { access_token: access, refresh_token: refresh, expires_in: seconds } = issued.body
  if (issued.status !== 200 || typeof access !== 'string' || access === '')
    throw toIssuerFailure(errorOf(issued), host, issued.status)
  const lifetime = Math.floor(Number(seconds))
  return {
    access_token: access,
    ...(typeof refresh === 'string' && refresh !== '' ? { refresh_token: refresh } : {}),
    ...(lifetime > 0 && seconds !== null ? { expires_in: lifetime } : {}),
  }
}

const AGAIN = 'Run the command again.'
const LATER = 'Try again in a few minutes.'
const CLIENT =
  'Check `oauth.client_id` of the supplier in the configuration of the gateway. A client that needs a secret cannot sign in from here: bring its tokens with `gateway native import`.'
const SETTING = 'Check `oauth` of the supplier in the configuration of the gateway.'

/** What went wrong, and what to do about it. */
const ERRORS: Readonly<Record<string, readonly [text: string, advice: string]>> = {
  access_denied: ['The sign-in was turned down at', `${AGAIN} Allow it there.`],
  expired_token: ['The code was not entered in time at', AGAIN],
  invalid_grant: ['What the sign-in came back with has ended at', AGAIN],
  invalid_client: ['The client id is refused by', CLIENT],
  unauthorized_client: ['The client id may not sign in this way at', CLIENT],
  invalid_scope: [
    'The scope is refused by',
    'Check `oauth.scope` of the supplier in the configuration of the gateway.',
  ],
  unsupported_grant_type: ['This way to sign in is refused by', SETTING],
  server_error: ['The sign-in has failed at', LATER],
  temporarily_unavailable: ['Nobody can sign in at the moment at', LATER],
  slow_down: ['Too many tries at', LATER],
}

export function toIssuerFailure(code: string, host: string, status?: number): CliFailure {
  const known = Object.hasOwn(ERRORS, code) ? ERRORS[code] : undefined
  const isDown = status !== undefined && (status >= 500 || status === 429)
  const [text, advice] = known ?? ['The sign-in is refused by', isDown ? LATER : SETTING]
  const how = [...(status === undefined ? [] : [`HTTP ${status}`]), ...(code === '' ? [] : [code])]
  return new CliFailure('refused', `${text} ${host} (${how.join(' ') || 'without a reason'}).`, {
    advice,
  })
}

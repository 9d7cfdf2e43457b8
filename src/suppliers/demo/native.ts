// The demo supplier of native agents: a server of its own that issues tokens, and answers whoever calls with one in the
// responses language, always as a stream. It answers no page of another site.
import { DemoIssuer, OAUTH_PATHS, type IssuerOptions } from './issuer.ts'
import { listen, pathOf, type DemoServer, type Presence } from './presence.ts'
import { badRequest, DemoRefusal } from './refusal.ts'
import { getModel, sendAnswer, sendCanned, sendRefusal, wrongAddress } from './reply.ts'
import { parseBody, type DemoRequest } from './request.ts'
import { readResponsesRequest, responsesVoice } from './responses.ts'
import { accountOf, type Claims } from './tokens.ts'

export const NATIVE_PATH = '/native/responses'
export const ACCOUNT_HEADER = 'x-demo-account'

const ADDRESSES: ReadonlySet<string> = new Set([NATIVE_PATH, ...Object.values(OAUTH_PATHS)])
const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost'])
const BEARER = /^bearer +(\S+)$/i

const COMPLAINTS = {
  invalid_token: 'Could not validate your token. Please try signing in again.',
  token_expired: 'Provided authentication token is expired. Please try signing in again.',
  token_revoked: 'Your authentication token has been revoked. Please try signing in again.',
} as const

export function startNative(options: IssuerOptions = {}): DemoServer {
  const issuer = new DemoIssuer(options)
  return listen({
    async respond(request, presence) {
      checkOrigin(request)
      if (pathOf(request) === NATIVE_PATH && request.method === 'POST') {
        return respond(request, issuer, presence)
      }
      const issued = await issuer.respond(request)
      if (issued !== undefined) return issued
      const path = pathOf(request)
      throw wrongAddress(request, path, ADDRESSES.has(path))
    },
    refuse: (refusal) => sendRefusal(refusal, 'native'),
  })
}

async function respond(
  request: Request,
  issuer: DemoIssuer,
  presence: Presence,
): Promise<Response> {
  const claims = checkToken(request, issuer)
  const asked = readNativeRequest(await request.text())
  const { behaviour } = getModel(asked.model, 'native')
  if (behaviour.finds === 'expired' && claims.renewals % 2 === 0) throw unsigned('token_expired')
  if (behaviour.finds === 'revoked') {
    issuer.signIns.keep(claims.signIn)
    throw unsigned('token_revoked')
  }
  if (behaviour.canned) return sendCanned(behaviour.canned, asked.stream)
  return sendAnswer(asked, behaviour, responsesVoice, { signal: request.signal, presence })
}

/** A page in somebody's browser can reach this machine, by a name of its own, too. */
function checkOrigin({ url, headers }: Request): void {
  const origin = headers.get('origin')
  const names = [new URL(url).hostname, ...(origin === null ? [] : [URL.parse(origin)?.hostname])]
  if (names.every((name) => name !== undefined && LOOPBACK.has(name))) return
  throw new DemoRefusal(403, {
    message: 'The demo is for programs of this machine.',
    type: 'invalid_request_error',
    code: 'forbidden',
    param: null,
  })
}

function checkToken({ headers }: Request, issuer: DemoIssuer): Claims {
  const token = BEARER.exec(headers.get('authorization') ?? '')?.[1]
  const found = token === undefined ? 'invalid_token' : issuer.admit(token)
  if (typeof found === 'string') throw unsigned(found)
  const account = headers.get(ACCOUNT_HEADER)
  if (account === null || account === accountOf(found.signIn)) return found
  throw new DemoRefusal(403, {
    message: `The header ${ACCOUNT_HEADER} names another account than the token.`,
    type: 'invalid_request_error',
    code: 'account_mismatch',
    param: null,
  })
}

function unsigned(code: keyof typeof COMPLAINTS): DemoRefusal {
  const message = COMPLAINTS[code]
  return new DemoRefusal(401, { message, type: 'invalid_request_error', code, param: null })
}

function readNativeRequest(body: string): DemoRequest {
  const { stream, input } = parseBody(body)
  if (stream !== true) throw badRequest('Stream must be set to true', 'stream')
  if (!Array.isArray(input)) throw badRequest('Input must be a list', 'input')
  return readResponsesRequest(body)
}

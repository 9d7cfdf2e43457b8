// What clients are told that would rather speak over a WebSocket: that here it is plain HTTP. They then do so at once;
// with any other answer they would try several times first (seen with an agent's client, 2026-11).
import { GatewayError } from '../core/problem.ts'
import type { Exchange } from '../http/server.ts'
import { nativeResponsesEndpoint } from './native-responses.ts'
import { responses } from './responses.ts'

const PATHS = new Set([nativeResponsesEndpoint.path, responses.path])
const WEBSOCKET = /(?:^|,)\s*websocket\s*(?:[,/]|$)/i

/** The same problem, unless it is that of a client which asked for a WebSocket where some know one to be. */
export function orUpgrade(error: GatewayError, { request, path }: Exchange): GatewayError {
  if (error.code !== 'method_not_allowed' || request.method !== 'GET' || !PATHS.has(path))
    return error
  if (!WEBSOCKET.test(request.headers.get('upgrade') ?? '')) return error
  return new GatewayError(
    'invalid_request',
    'There is no WebSocket here. Send a POST over plain HTTP.',
    // What would do has to be named, and a header of the connection be declared as one (RFC 9110, 15.5.22 and 7.8).
    { status: 426, headers: { upgrade: 'HTTP/1.1', connection: 'upgrade' } },
  )
}

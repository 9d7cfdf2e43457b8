// What every request must get right before anyone looks at what it wants: headers that mean one thing,
// a path without tricks, expectations that can be met.
import { GatewayError } from '../core/problem.ts'

/** Reads a header that may be sent once: a second copy arrives joined to the first by a comma. */
export function singleHeader(headers: Headers, name: string): string | undefined {
  const value = headers.get(name)
  if (value === null) return undefined
  if (!value.includes(',')) return value
  throw new GatewayError('invalid_request', `Send the ${name} header once.`, { param: name })
}

const NOT_IN_HOST = /[^\w.~:[\]%!$&'()*+;=-]/

export function checkHeaders(headers: Headers): void {
  // The runtime builds the request's address from it and drops what it cannot read.
  if (NOT_IN_HOST.test(singleHeader(headers, 'host') ?? ''))
    throw new GatewayError('invalid_request', 'The host header names no host.', { param: 'host' })
  const expectation = headers.get('expect')
  if (expectation !== null && expectation.toLowerCase() !== '100-continue')
    throw new GatewayError('invalid_request', 'Only `Expect: 100-continue` is understood.', {
      status: 417,
    })
}

const BROKEN_ESCAPE = /%(?![0-9a-f]{2})/i

export function checkPath(path: string): void {
  if (!path.includes('%')) return
  if (BROKEN_ESCAPE.test(path) || path.includes('%00'))
    throw new GatewayError('invalid_request', 'The path holds a broken percent escape.')
}

// Answers that are not a supplier's: JSON bodies and empty ones, always with the request's id.

export function idHeaders(requestId: string): Record<string, string> {
  return { 'x-request-id': requestId, 'request-id': requestId }
}

export function json(requestId: string, body: unknown, status = 200): Response {
  return text(requestId, JSON.stringify(body), status)
}

/** A JSON body that is already text. */
export function text(
  requestId: string,
  body: string,
  status: number,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(body, {
    status,
    headers: { 'content-type': 'application/json', ...idHeaders(requestId), ...headers },
  })
}

export function empty(requestId: string, status: number): Response {
  return new Response(null, { status, headers: idHeaders(requestId) })
}

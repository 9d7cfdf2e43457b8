// The shape in which every problem reaches a caller: the code for machines, the text for people, and
// whether to try again. Dialects choose the type names and what stands around it.
import type { GatewayError } from './problem.ts'

export interface Envelope {
  readonly code: string
  readonly type: string
  readonly message: string
  readonly human_message: string
  readonly param: string | null
  readonly retryable: boolean
  readonly retry_after?: number
  /** A supplier's own error, as it was sent. */
  readonly provider?: unknown
  readonly [detail: string]: unknown
}

export function toEnvelope(error: GatewayError, typeOf: (status: number) => string): Envelope {
  const code = error.wireCode
  return {
    code,
    type: error.origin?.type ?? typeOf(error.status),
    message: `${code} - ${error.message}`,
    human_message: error.message,
    param: error.param ?? error.origin?.param ?? null,
    retryable: error.retryable,
    ...(error.retryAfter === undefined ? {} : { retry_after: error.retryAfter }),
    ...(error.origin?.raw === undefined ? {} : { provider: error.origin.raw }),
    ...error.details,
  }
}

/** The headers that steer a client's own retries; every answer with a problem carries them. */
export function retryHeaders(error: GatewayError): Record<string, string> {
  const headers: Record<string, string> = { 'x-should-retry': String(error.retryable) }
  if (error.retryable && error.retryAfter !== undefined)
    headers['retry-after'] = String(error.retryAfter)
  return headers
}

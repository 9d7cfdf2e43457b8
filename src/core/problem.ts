// Every refusal and every failure is one of the codes in `problems/`, raised as this one class. The
// table decides statuses, types and blame; the raise decides the text and whether waiting helps.
import { PROBLEMS, type ProblemCode } from './problems/index.ts'
import type { Problem } from './problems/problem.ts'

export type { ProblemCode }

export interface ProblemOptions extends ErrorOptions {
  /** One of the code's other allowed statuses; the table's default when absent. */
  readonly status?: number
  /** The request field at fault. */
  readonly param?: string
  /** Waiting cures it. Absent: only what the table's group B lists. */
  readonly retryable?: boolean
  /** Seconds to wait, sent as 1..60. Implies `retryable`. */
  readonly retryAfter?: number
  /** A supplier's own code, type and body, which clients match on. */
  readonly origin?: ProblemOrigin
  /** Headers that belong to the answer, such as `allow`. */
  readonly headers?: Readonly<Record<string, string>>
  /** Machine-readable extras beside the fixed fields, such as the limit that was hit. */
  readonly details?: Readonly<Record<string, unknown>>
}

/** What a supplier said in its own words. */
export interface ProblemOrigin {
  readonly code?: string
  readonly type?: string
  readonly param?: string
  readonly raw?: unknown
  /** It came after output or usage, or after nobody knows what: the supplier may have worked. */
  readonly isLate?: true
}

export class GatewayError extends Error {
  readonly code: ProblemCode
  readonly status: number
  readonly param: string | undefined
  readonly retryable: boolean
  readonly retryAfter: number | undefined
  readonly origin: ProblemOrigin | undefined
  readonly details: Readonly<Record<string, unknown>> | undefined
  readonly headers: Readonly<Record<string, string>> | undefined

  constructor(code: ProblemCode, text?: string, options: ProblemOptions = {}) {
    const entry: Problem = PROBLEMS[code]
    super(text ?? `${entry.explanation} ${entry.action}`, options)
    this.name = 'GatewayError'
    this.code = code
    this.status = options.status ?? entry.status
    this.param = options.param
    this.retryAfter = clampRetryAfter(options.retryAfter)
    this.retryable =
      options.retryable ?? (this.retryAfter !== undefined || isCurable(entry, this.status))
    this.origin = options.origin
    this.details = options.details
    this.headers = options.headers
  }

  /** The code that goes on the wire: a supplier's own where it sent one. */
  get wireCode(): string {
    return this.origin?.code ?? this.code
  }
}

/** A code that waiting cures may be raised with a status that says otherwise, such as a 403. */
function isCurable(entry: Problem, status: number): boolean {
  return entry.retryable === true && (status >= 500 || [408, 409, 429].includes(status))
}

/** SDKs sleep as long as they are told to, a day if need be, so the wire never says more than a minute. */
function clampRetryAfter(seconds: number | undefined): number | undefined {
  if (seconds === undefined || !Number.isFinite(seconds)) return undefined
  return Math.min(60, Math.max(1, Math.ceil(seconds)))
}

export function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(PROBLEMS, code)
}

export function findProblem(code: string): Problem | undefined {
  return isProblemCode(code) ? PROBLEMS[code] : undefined
}

/** A problem whose text says what happened in particular, and what to do about it as the table has it. */
export function advise(
  code: ProblemCode,
  happened: string,
  options: ProblemOptions = {},
): GatewayError {
  return new GatewayError(code, `${happened} ${PROBLEMS[code].action}`, options)
}

/** A field or parameter whose value will not do. */
export function invalid(param: string, text: string): GatewayError {
  return new GatewayError('validation_error', text, { param })
}

const QUOTED_LENGTH_MAX = 64

/** A name that a caller made up, as a refusal repeats it: not at any length, and whole characters. */
export function quoteName(name: string): string {
  return name.slice(0, QUOTED_LENGTH_MAX).toWellFormed()
}

/** Turns whatever was thrown into a problem; the foreign text stays in `cause` and out of the answer. */
export function asGatewayError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown
  return new GatewayError('internal_error', undefined, { cause: thrown })
}

/** The same problem, of a supplier that may have worked before it said so. */
export function asLate(error: GatewayError): GatewayError {
  const { code, message, status, retryable, origin, cause } = error
  return new GatewayError(code, message, {
    status,
    retryable,
    cause,
    origin: { ...origin, isLate: true },
  })
}

/** Splits `code - text` at the first separator, and only when what precedes it is a code. */
export function splitMessage(message: string): {
  readonly code?: ProblemCode
  readonly text: string
} {
  const at = message.indexOf(' - ')
  const prefix = at < 0 ? '' : message.slice(0, at)
  return isProblemCode(prefix) ? { code: prefix, text: message.slice(at + 3) } : { text: message }
}

export function chatType(status: number): string {
  if (status === 401) return 'authentication_error'
  if (status === 402 || status === 403) return 'permission_error'
  if (status === 408 || status === 504) return 'timeout_error'
  if (status === 429) return 'rate_limit_error'
  return status < 500 ? 'invalid_request_error' : 'api_error'
}

const MESSAGES_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'timeout_error',
  409: 'conflict_error',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

export function messagesType(status: number): string {
  return MESSAGES_TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error')
}

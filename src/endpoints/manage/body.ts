// What management asks of a request before anyone reads a field of it: no page of another origin sent
// it, and its body is one JSON object that can be read in one way only.
import { isUtf8 } from 'node:buffer'
import type { Clock } from '../../core/clock.ts'
import { GatewayError } from '../../core/problem.ts'
import { readRequestBody, requireJson } from '../../http/body.ts'
import { END, JsonCursor, JsonFault } from '../../wire/json-cursor.ts'
import { KeySet } from '../../wire/key-set.ts'
import { asBodyProblem, emptyBody, notAnObject, notUtf8 } from '../../wire/json-problem.ts'

export const MANAGEMENT_BYTES_MAX = 1_048_576

/**
 * Hosts are compared and not whole origins: behind a proxy that ends TLS the page's scheme is `https`
 * and the request's is `http`.
 */
export function checkOrigin(request: Request): void {
  const origin = request.headers.get('origin')
  if (origin === null) return
  // A Host header that makes no address belongs to no page, whatever its Origin says.
  const host = URL.parse(request.url)?.host
  if (host !== undefined && URL.parse(origin)?.host === host) return
  throw new GatewayError(
    'csrf_rejected',
    'A page of another origin sent this request. Use the console at its own address.',
  )
}

export async function readManagementBody(
  request: Request,
  clock: Clock,
): Promise<Readonly<Record<string, unknown>>> {
  requireJson(request)
  return parseDocument(await readRequestBody(request, MANAGEMENT_BYTES_MAX, clock))
}

export function parseDocument(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  checkDocument(bytes)
  const value: unknown = JSON.parse(new TextDecoder().decode(bytes))
  if (!isObject(value)) throw notAnObject()
  return value
}

/** A body, and one of its members as it was sent: what is counted in bytes must not be printed anew. */
export interface Enclosing {
  /** With an empty object in the place of the member. */
  readonly body: Readonly<Record<string, unknown>>
  /** Undefined where it is not there. */
  readonly member: Uint8Array | undefined
}

export function splitDocument(bytes: Uint8Array, name: string): Enclosing {
  checkDocument(bytes)
  cursor.open(bytes)
  cursor.enterObject()
  const wanted = new KeySet([name])
  for (let found = cursor.nextKey(wanted); found !== END; found = cursor.nextKey(wanted)) {
    const from = cursor.at
    cursor.skip()
    if (found < 0) continue
    const { at: to } = cursor
    const around = [bytes.subarray(0, from), EMPTY_OBJECT, bytes.subarray(to)]
    return { body: parseDocument(Buffer.concat(around)), member: bytes.slice(from, to) }
  }
  return { body: parseDocument(bytes), member: undefined }
}

const EMPTY_OBJECT = new TextEncoder().encode('{}')

// Checking never awaits, so one cursor serves all requests.
const cursor = new JsonCursor()
const NO_KEYS = new KeySet([])

/** Proves the body sound before a parser builds it: deep nesting is what parsers break on. */
function checkDocument(bytes: Uint8Array): void {
  if (bytes.length === 0) throw emptyBody()
  if (!isUtf8(bytes)) throw notUtf8()
  try {
    walk(bytes)
  } catch (thrown) {
    if (thrown instanceof JsonFault) throw asBodyProblem(thrown)
    throw thrown
  }
}

/** A broken document outranks a wrong one, so the walk ends before anything is refused. */
function walk(bytes: Uint8Array): void {
  cursor.open(bytes)
  if (!cursor.isObject()) {
    cursor.skip()
    cursor.close()
    throw notAnObject()
  }
  const seen = new Set<string>()
  let members = 0
  cursor.enterObject()
  while (cursor.nextKey(NO_KEYS) !== END) {
    members++
    seen.add(nameIn(bytes.subarray(cursor.keyAt, cursor.at)))
    cursor.skip()
  }
  cursor.close()
  if (seen.size < members)
    throw new GatewayError(
      'validation_error',
      'The body names a field twice. Send each field once.',
    )
}

/** The name of a member, from its opening quote to the first byte of its value. */
function nameIn(bytes: Uint8Array): string {
  const text = new TextDecoder().decode(bytes)
  const name: unknown = JSON.parse(text.slice(0, text.lastIndexOf(':')))
  return String(name)
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

// What is asked under an Idempotency-Key is done once: the same request again gets the answer of the first. A
// secret in it is shown once all the same.
import { readIdempotencyKey, Ticket, type ClaimedRequest, type Replay } from '../access/claims.ts'
import { rateHeaders, type RateState } from '../access/rate.ts'
import type { KeyRecord } from '../core/key.ts'
import { readRequestBody } from '../http/body.ts'
import { idHeaders } from '../http/reply.ts'
import type { Exchange } from '../http/server.ts'
import type { House, KeyedEndpoint } from './endpoint.ts'
import { checkOrigin, MANAGEMENT_BYTES_MAX } from './manage/body.ts'

const REPLAYED = { 'idempotency-replayed': 'true' }
const ORIGINAL_HEADER = 'x-svc-original-request-id'

/** Either the right to go on, or the answer of whoever has gone before. */
export async function claim(asked: ClaimedRequest, { plant }: House): Promise<Ticket | Response> {
  let rate: RateState | undefined
  // An answer shown again is a call to whoever counts calls; management has no rates.
  const meter = (): void => {
    if (asked.work === 'call') rate = plant.rates.take(asked.key, plant.clock.elapsed())
  }
  const begun = await plant.claims.begin({ ...asked, meter })
  if (begun instanceof Ticket) return begun
  return replay(begun, asked.requestId, rate === undefined ? {} : rateHeaders(rate))
}

function replay(
  { status, headers, body, requestId }: Replay,
  ownId: string,
  rates: Readonly<Record<string, string>>,
): Response {
  const own = { ...idHeaders(ownId), ...REPLAYED, [ORIGINAL_HEADER]: requestId }
  return new Response(body, { status, headers: { ...headers, ...rates, ...own } })
}

const ONCE_METHODS: ReadonlySet<string> = new Set(['POST', 'PATCH'])

/** A change by management. It writes its claim itself, with what it changes. */
export function answerOnce(
  endpoint: KeyedEndpoint,
  exchange: Exchange,
  key: KeyRecord,
  house: House,
): Response | Promise<Response> {
  const isOnce = ONCE_METHODS.has(endpoint.method) && endpoint.isQuestion !== true
  const header = isOnce ? readIdempotencyKey(exchange.request.headers) : undefined
  if (header === undefined) return endpoint.answer(exchange, key, house)
  return answerClaimed(endpoint, exchange, key, { house, header })
}

async function answerClaimed(
  endpoint: KeyedEndpoint,
  exchange: Exchange,
  key: KeyRecord,
  { house, header }: { readonly house: House; readonly header: string },
): Promise<Response> {
  const { request, id: requestId } = exchange
  const { clock, claims, ledger } = house.plant
  checkOrigin(request)
  const body = await readRequestBody(request, MANAGEMENT_BYTES_MAX, clock)
  // It may have taken its time, and what is kept is not for a secret that has ended.
  house.keyring.current(key)
  const ticket = await claim({ key, header, requestId, request, body, work: 'change' }, house)
  if (ticket instanceof Response) return ticket
  try {
    const { accountId } = key
    const record = { ...ticket.record, requestId, accountId, at: ledger.now() }
    const response = await endpoint.answer(again(exchange, body, record), key, house)
    const bytes = await response.bytes()
    if (response.ok) {
      // For what changes nothing that is stored, such as a reload: all others have written it by now.
      await claims.add(ticket)
      ticket.add(withoutSecret(bytes, endpoint.secretField))
      await ticket.keep({ status: response.status, headers: headersOf(response) })
    }
    return new Response(bytes, response)
  } finally {
    ticket.release()
  }
}

/** The same exchange with its body still to be read, plain by now. */
function again(exchange: Exchange, body: Uint8Array, claimed: Exchange['claim']): Exchange {
  const { id, request, path, params, at, startedMs, signal } = exchange
  const headers = new Headers(request.headers)
  headers.delete('content-encoding')
  headers.set('content-length', String(body.length))
  const { method, url } = request
  // Whoever names no host, as HTTP/1.0 allows, has an address without one.
  const address = URL.canParse(url) ? url : `http://localhost${url}`
  return {
    id,
    request: new Request(address, { method, headers, signal, body: body.length > 0 ? body : null }),
    path,
    claim: claimed,
    params,
    at,
    startedMs,
    signal,
    address: () => exchange.address(),
    keepOpen: () => exchange.keepOpen(),
    letGo: () => exchange.letGo(),
  }
}

function headersOf({ headers }: Response): Readonly<Record<string, string>> {
  return { 'content-type': headers.get('content-type') ?? 'application/json' }
}

function withoutSecret(bytes: Uint8Array, field: string | undefined): Uint8Array {
  if (field === undefined) return bytes
  const answer: unknown = JSON.parse(new TextDecoder().decode(bytes))
  return new TextEncoder().encode(JSON.stringify({ ...Object(answer), [field]: null }))
}

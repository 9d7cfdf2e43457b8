// Calls whose end nobody saw: listed, explained, and decided by a person before the rule of the configuration
// does it. A decision is one record; there is no second one.
import type { KeyRecord } from '../../core/key.ts'
import { printUsd, readUsd, toJsonUsd, ZERO_USD, type NanoUsd } from '../../core/money.ts'
import { GatewayError, invalid, quoteName } from '../../core/problem.ts'
import { json } from '../../http/reply.ts'
import type { Exchange } from '../../http/server.ts'
import type { Operation } from '../../ledger/book.ts'
import type { LedgerPolicy } from '../../ledger/policy.ts'
import { estimateOf, resolvedRow, type Resolution } from '../../ledger/review.ts'
import type { Plant } from '../../pipeline/call.ts'
import type { Page, PageRequest } from '../../store/store.ts'
import type { KeyedEndpoint } from '../endpoint.ts'
import { checkOrigin, readManagementBody } from './body.ts'
import { describeEnded, describeOpen, describePayer, describeReview } from './call-entry.ts'
import { describePage, readPage, type PageLimits } from './page.ts'
import { printTime } from './print.ts'

const PAGE_LIMITS: PageLimits = { standard: 100, most: 1000 }
const REASON_LENGTH_MAX = 500

type Answer = (exchange: Exchange, caller: KeyRecord, plant: Plant) => object | Promise<object>

const listReviews = manage('GET', '/v1/manage/reviews', (exchange, { accountId }, plant) => {
  const own = plant.ledger.reviews().filter(({ hold }) => hold.accountId === accountId)
  const page = pageOf(own, readPage(exchange.request, PAGE_LIMITS))
  return describePage(page, (operation) => describeEntry(operation, plant.policy))
})

const getReview = manage(
  'GET',
  '/v1/manage/reviews/{request_id}',
  async (exchange, { accountId }, plant) => {
    const operation = findReview(idOf(exchange), accountId, plant)
    if (operation === undefined) throw await whyNone(idOf(exchange), accountId, plant)
    return {
      ...describeOpen(operation, plant.policy),
      recovery: plant.policy.recovery,
      outcomes: {
        charge_estimate: toJsonUsd(estimateOf(operation)),
        charge_hold: toJsonUsd(operation.hold.amount),
        void: toJsonUsd(ZERO_USD),
      },
    }
  },
)

const resolveReview = manage(
  'POST',
  '/v1/manage/reviews/{request_id}',
  async (exchange, caller, plant) => {
    const body = await readManagementBody(exchange.request, plant.clock)
    const decision = readDecision(body)
    // A body may take its time, and whoever sent it may not decide any more.
    plant.keyring.current(caller)
    // From here to the ledger nothing waits: of two decisions at once, the second must find the first.
    const operation = findReview(idOf(exchange), caller.accountId, plant)
    if (operation === undefined) throw await whyNone(idOf(exchange), caller.accountId, plant)
    const cost = costOf(decision, operation)
    if (plant.ledger.downSince !== undefined) throw notWritten(true)
    const resolution: Resolution = { cost, by: caller.id, reason: decision.reason }
    const row = resolvedRow(operation, resolution)
    const resolving = plant.ledger.resolve(operation, resolution)
    if (decision.action === 'void') await freeClaim(operation, plant)
    if (!(await resolving)) throw notWritten(false)
    return describeEnded(row)
  },
)

export const reviewEndpoints: readonly KeyedEndpoint[] = [listReviews, getReview, resolveReview]

function manage(method: KeyedEndpoint['method'], path: string, answer: Answer): KeyedEndpoint {
  return {
    method,
    path,
    role: 'administer',
    async answer(exchange, caller, { plant }) {
      checkOrigin(exchange.request)
      return json(exchange.id, await answer(exchange, caller, plant))
    },
  }
}

/**
 * Somebody has found out that it never happened: whoever asked for it may do so again under the same key. Called in
 * the turn in which the decision is appended, so both are in one commit, or neither is.
 */
async function freeClaim({ hold: { claim } }: Operation, { claims }: Plant): Promise<void> {
  if (claim === undefined) return
  // Where it cannot be written the decision cannot either, and its answer says so.
  await claims.free(claim.id).catch(() => {})
}

function idOf({ params }: Exchange): string {
  return params['request_id'] ?? ''
}

function describeEntry(operation: Operation, policy: LedgerPolicy): object {
  const { hold } = operation
  return {
    request_id: hold.requestId,
    key_id: hold.keyId,
    model: hold.model,
    called_at: printTime(hold.at),
    held_usd: toJsonUsd(hold.amount),
    estimate_usd: toJsonUsd(estimateOf(operation)),
    payer: describePayer(hold),
    ...describeReview(operation, policy),
  }
}

/** Oldest first. A cursor names the last one that was shown, and need not be in review any more. */
function pageOf(operations: readonly Operation[], request: PageRequest): Page<Operation> {
  const { limit, cursor } = request
  const after = cursor === undefined ? '' : readCursor(cursor)
  const left = operations
    .map((operation) => ({ operation, place: placeOf(operation) }))
    .filter(({ place }) => place > after)
    .toSorted((one, other) => (one.place < other.place ? -1 : 1))
  const shown = left.slice(0, limit)
  const last = left.length > limit ? shown.at(-1) : undefined
  return {
    items: shown.map(({ operation }) => operation),
    next: last && Buffer.from(last.place).toString('base64url'),
  }
}

const TIME_DIGITS = 16
const PLACE = /^\d{16} req_[0-9a-f]{32}$/

function placeOf({ hold }: Operation): string {
  return `${String(hold.at).padStart(TIME_DIGITS, '0')} ${hold.requestId}`
}

function readCursor(cursor: string): string {
  const place = Buffer.from(cursor, 'base64url').toString()
  if (PLACE.test(place)) return place
  throw invalid('cursor', 'Send `cursor` as the `next_cursor` of the page before had it.')
}

/** An operation of this account that is still to be decided. */
function findReview(id: string, accountId: string, { ledger }: Plant): Operation | undefined {
  const operation = ledger.find(id)
  if (operation?.hold.accountId !== accountId) return undefined
  if (operation.state === 'held') throw underWay()
  if (operation.isEnding) throw resolved()
  return operation
}

async function whyNone(id: string, accountId: string, { store }: Plant): Promise<GatewayError> {
  const row = await store.audit.find(accountId, id)
  return row?.details?.resolved === undefined ? notFound() : resolved()
}

interface Decision {
  readonly action: 'settle' | 'void'
  /** Undefined: what it is thought to have cost. */
  readonly cost: NanoUsd | undefined
  readonly reason: string
}

function readDecision(body: Readonly<Record<string, unknown>>): Decision {
  const { action, cost_usd: cost, reason, ...others } = body
  const [unknown] = Object.keys(others)
  if (unknown !== undefined)
    throw new GatewayError(
      'unsupported_parameter',
      'Send only `action`, `cost_usd` and `reason`.',
      { param: quoteName(unknown) },
    )
  const read = readAction(action)
  return { action: read, cost: readCost(cost, read), reason: readReason(reason) }
}

function readAction(value: unknown): Decision['action'] {
  if (value === undefined || value === null)
    throw missing('action', 'Send `action` as "settle" or "void".')
  if (value === 'settle' || value === 'void') return value
  throw invalid('action', 'Send `action` as "settle" (the key pays) or "void" (it does not).')
}

function readCost(value: unknown, action: Decision['action']): NanoUsd | undefined {
  if (value === undefined || value === null) return undefined
  if (action === 'void')
    throw invalid('cost_usd', 'Send no `cost_usd` with "void", which costs nothing.')
  const cost = typeof value === 'number' ? readUsd(value) : undefined
  if (cost !== undefined) return cost
  throw invalid(
    'cost_usd',
    'Send `cost_usd` as a number of US dollars from 0 to 9000000 with at most nine decimals, or leave it out for the estimate.',
  )
}

/** Whoever checks the books later asks why. */
function readReason(value: unknown): string {
  if (value === undefined || value === null)
    throw missing('reason', 'Send `reason`: why the call is resolved like this, for the audit.')
  const isText = typeof value === 'string' && value.isWellFormed() && value.trim() !== ''
  if (isText && value.length <= REASON_LENGTH_MAX) return value
  throw invalid('reason', `Send \`reason\` as a text of 1 to ${REASON_LENGTH_MAX} characters.`)
}

/** A key never pays more than was set aside for it: that was its promise. */
function costOf({ action, cost }: Decision, operation: Operation): NanoUsd {
  if (action === 'void') return ZERO_USD
  const { amount } = operation.hold
  if (cost === undefined) return estimateOf(operation)
  if (cost <= amount) return cost
  throw new GatewayError(
    'validation_error',
    `Send \`cost_usd\` as at most ${printUsd(amount)}, which is what was held for this call.`,
    { param: 'cost_usd', details: { held_usd: toJsonUsd(amount) } },
  )
}

function notFound(): GatewayError {
  return new GatewayError(
    'not_found',
    'No call with this request id is in review. GET /v1/manage/reviews lists those that are.',
  )
}

function resolved(): GatewayError {
  return new GatewayError(
    'conflict',
    'This call is resolved already, and that is final. GET /v1/manage/calls/{request_id} shows how.',
    { retryable: false },
  )
}

function underWay(): GatewayError {
  return new GatewayError(
    'conflict',
    'This call is still under way and settles by itself. Only calls in review can be resolved.',
    { retryable: false },
  )
}

/** A decision that waits for the store may yet be lost with the process: nobody may take it for made. */
function notWritten(isUntouched: boolean): GatewayError {
  return isUntouched
    ? new GatewayError(
        'billing_unavailable',
        'The books cannot be written just now, so nothing was decided. Try again in a moment.',
        { retryAfter: 1 },
      )
    : new GatewayError(
        'billing_unavailable',
        'The decision could not be written yet and will be as soon as the books can. Read the call before you repeat it.',
        { retryable: false },
      )
}

function missing(param: string, text: string): GatewayError {
  return new GatewayError('missing_fields', text, { param })
}

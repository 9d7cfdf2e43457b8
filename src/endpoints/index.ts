// The roster of endpoints, and the one door they stand behind: draining, credential, body, and whatever
// goes wrong rendered in the endpoint's own language.
import type { Role } from '../access/keyring.ts'
import { retryHeaders, toEnvelope } from '../core/envelope.ts'
import type { KeyRecord } from '../core/key.ts'
import { asGatewayError, chatType, GatewayError } from '../core/problem.ts'
import { readRequestBody, requireJson } from '../http/body.ts'
import { singleHeader } from '../http/edge.ts'
import { empty, text } from '../http/reply.ts'
import type { Route } from '../http/router.ts'
import type { Exchange, Handler } from '../http/server.ts'
import type { Log } from '../observe/log.ts'
import { handle } from '../pipeline/handle.ts'
import { CALLER_LEFT, CallerGone } from '../upstream/lifeline.ts'
import { chatCompletions } from './chat-completions.ts'
import type { Endpoint, House, InferenceEndpoint } from './endpoint.ts'
import { getError, listErrors } from './errors.ts'
import { checkPhase, health, healthLive, healthReady, probes } from './health.ts'
import { auditEndpoints } from './manage/audit.ts'
import { getCall } from './manage/calls.ts'
import { keyEndpoints } from './manage/keys.ts'
import { reload } from './manage/reload.ts'
import { getModel, listModels } from './models.ts'

export const endpoints: readonly Endpoint[] = [
  health,
  healthLive,
  healthReady,
  ...probes,
  listErrors,
  getError,
  listModels,
  getModel,
  chatCompletions,
  ...keyEndpoints,
  ...auditEndpoints,
  getCall,
  reload,
]

export function routesOf(house: House): readonly Route<Handler>[] {
  return endpoints.map((endpoint) => ({
    method: endpoint.method,
    path: endpoint.path,
    handler: guarded(endpoint, house),
  }))
}

function guarded(endpoint: Endpoint, house: House): Handler {
  if (endpoint.role === 'open') return (exchange) => endpoint.answer(exchange, house)
  if ('dialect' in endpoint) return (exchange) => infer(endpoint, exchange, house)
  return (exchange) => {
    checkPhase(house.state)
    const key = authenticate(exchange, endpoint.role, house)
    return endpoint.answer(exchange, key, house)
  }
}

/** Who guesses keys is told to wait; only wrong ones are counted, and only they pay for it. */
function authenticate(exchange: Exchange, role: Exclude<Role, 'open'>, house: House): KeyRecord {
  try {
    return house.keyring.authenticate(exchange.request.headers, role)
  } catch (thrown) {
    if (thrown instanceof GatewayError && thrown.code === 'invalid_api_key')
      house.guesses.wrong(exchange.address(), house.plant.clock.elapsed())
    throw thrown
  }
}

async function infer(
  endpoint: InferenceEndpoint,
  exchange: Exchange,
  house: House,
): Promise<Response> {
  const { request } = exchange
  const { headers } = request
  try {
    checkPhase(house.state)
    const key = authenticate(exchange, endpoint.role, house)
    house.plant.gate.check(house.plant.limits)
    requireJson(request)
    const body = await readRequestBody(request, house.plant.limits.bodyBytesMax, house.plant.clock)
    // A body may take its time, and nothing may be sent once the end has begun.
    checkPhase(house.state)
    return await handle(
      {
        id: exchange.id,
        path: endpoint.path,
        dialect: endpoint.dialect,
        key,
        body,
        sessionHeader: singleHeader(headers, 'x-session-id'),
        caller: exchange,
        at: exchange.at,
        startedMs: exchange.startedMs,
      },
      house.plant,
    )
  } catch (thrown) {
    if (hasLeft(thrown, exchange)) return empty(exchange.id, CALLER_LEFT)
    const error = asGatewayError(thrown)
    noteBug(error, exchange, house.plant.log)
    return problemReply(error, exchange, endpoint.dialect.problem.encode(error, exchange.id))
  }
}

/** Who leaves in the middle of a body has no use for an answer, and nothing here is at fault. */
function hasLeft(thrown: unknown, { request }: Exchange): boolean {
  return thrown instanceof CallerGone || request.signal.aborted
}

/** For everything that has no dialect of its own. */
export function renderProblem(thrown: unknown, exchange: Exchange, { plant }: House): Response {
  if (hasLeft(thrown, exchange)) return empty(exchange.id, CALLER_LEFT)
  const error = asGatewayError(thrown)
  noteBug(error, exchange, plant.log)
  return problemReply(error, exchange, JSON.stringify({ error: toEnvelope(error, chatType) }))
}

const NOTED = new Set(['internal_error', 'billing_unavailable', 'supplier_settlement_unavailable'])

/** What nobody foresaw must leave a trace: the caller is told nothing of it. */
function noteBug(error: GatewayError, { id }: Exchange, log: Log): void {
  if (NOTED.has(error.code))
    log.note('error', error.code, { id, cause: describeCause(error.cause) })
}

function describeCause(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  return cause.cause === undefined
    ? (cause.stack ?? cause.message)
    : `${cause.message}: ${describeCause(cause.cause)}`
}

function problemReply(error: GatewayError, exchange: Exchange, body: string): Response {
  const headers = { ...error.headers, ...retryHeaders(error) }
  // What is left of a body that was refused half-way cannot be told from the next request.
  if (error.status === 408 || error.status === 413 || error.code === 'pod_draining')
    headers['connection'] = 'close'
  return text(exchange.id, body, error.status, headers)
}

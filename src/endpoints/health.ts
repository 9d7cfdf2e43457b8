// Whether the gateway works, for load balancers and people: also whether its books can be written, since no
// call is let in while they cannot. Answered from memory, never limited; only readiness asks the store, which
// bears that at any rate.
import { GatewayError } from '../core/problem.ts'
import { empty, json } from '../http/reply.ts'
import type { Plant } from '../pipeline/call.ts'
import type { OpenEndpoint, ServiceState } from './endpoint.ts'

export const health: OpenEndpoint = {
  method: 'GET',
  path: '/health',
  role: 'open',
  answer(exchange, { state, plant }) {
    checkPhase(state)
    checkBooks(plant)
    return json(exchange.id, { status: 'ok' })
  },
}

export const healthLive: OpenEndpoint = {
  method: 'GET',
  path: '/health/live',
  role: 'open',
  answer: (exchange) => json(exchange.id, { status: 'ok' }),
}

export const healthReady: OpenEndpoint = {
  method: 'GET',
  path: '/health/ready',
  role: 'open',
  async answer(exchange, { state, plant }) {
    checkPhase(state)
    checkBooks(plant)
    await plant.store.ping()
    return json(exchange.id, { status: 'ok' })
  },
}

/** Agent command lines look here for a sign of life before they send anything. */
export const probes: readonly OpenEndpoint[] = [
  {
    method: 'GET',
    path: '/',
    role: 'open',
    answer(exchange) {
      if (exchange.request.method === 'HEAD') return empty(exchange.id, 200)
      // A person with a browser, most often: there is no page, but a way on.
      throw new GatewayError(
        'not_found',
        'This is an inference gateway, and it has no page here. Paths begin with /v1, such as /v1/chat/completions; /health tells whether it works.',
      )
    },
  },
  {
    method: 'HEAD',
    path: '/api/hello',
    role: 'open',
    answer: (exchange) => empty(exchange.id, 200),
  },
]

/** Refuses while the instance cannot serve: before its keys are loaded, and once it is to stop. */
export function checkPhase({ phase }: ServiceState): void {
  if (phase === 'ready') return
  if (phase === 'draining')
    throw new GatewayError(
      'pod_draining',
      'This instance is shutting down. Send the request again.',
      {
        retryAfter: 1,
      },
    )
  throw new GatewayError(
    'service_unavailable',
    'This instance is starting. Try again in a moment.',
    {
      retryAfter: 1,
    },
  )
}

function checkBooks({ ledger }: Plant): void {
  if (ledger.downSince === undefined) return
  throw new GatewayError(
    'billing_unavailable',
    'The books cannot be written just now, so calls are refused. It is tried again every second; the log says why.',
    { retryAfter: 1 },
  )
}

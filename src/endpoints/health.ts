// Whether the gateway works, for load balancers and people. Answered from memory, never limited; only
// readiness asks the store.
import { GatewayError } from '../core/problem.ts'
import { empty, json } from '../http/reply.ts'
import type { OpenEndpoint, ServiceState } from './endpoint.ts'

export const health: OpenEndpoint = {
  method: 'GET',
  path: '/health',
  role: 'open',
  answer(exchange, { state }) {
    checkPhase(state)
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
    await plant.store.ping()
    return json(exchange.id, { status: 'ok' })
  },
}

/** Agent command lines look here for a sign of life before they send anything. */
export const probes: readonly OpenEndpoint[] = ['/', '/api/hello'].map((path) => ({
  method: 'HEAD',
  path,
  role: 'open',
  answer: (exchange) => empty(exchange.id, 200),
}))

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

// The trace of a call that was refused before anything was held: whoever pays for a key wants to know what its
// callers run into, and an operator why nothing arrives.
import type { KeyRecord } from '../core/key.ts'
import { ZERO_USD } from '../core/money.ts'
import type { GatewayError } from '../core/problem.ts'
import type { Asked, Plant } from './call.ts'

export interface RefusedCall {
  readonly id: string
  readonly path: string
  readonly key: KeyRecord
  readonly projectId: string | undefined
  readonly at: number
  readonly startedMs: number
  readonly asked: Asked
}

export function recordRefusal(call: RefusedCall, error: GatewayError, plant: Plant): void {
  plant.ledger.refuse({
    at: call.at,
    requestId: call.id,
    accountId: call.key.accountId,
    projectId: call.projectId,
    keyId: call.key.id,
    endpoint: call.path,
    model: call.asked.model,
    supplier: undefined,
    region: undefined,
    inputTokens: undefined,
    outputTokens: undefined,
    cost: ZERO_USD,
    latencyMs: Math.round(plant.clock.elapsed() - call.startedMs),
    firstTokenMs: undefined,
    status: error.status,
    code: error.wireCode,
    stream: call.asked.stream,
    attempts: 0,
    state: 'refused',
    evidence: undefined,
    held: undefined,
    hour: undefined,
    overrun: ZERO_USD,
    heldMs: undefined,
    count: 1,
    payer: undefined,
    details: undefined,
  })
}

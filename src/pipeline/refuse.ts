// The trace of a call that was refused before anything was held: whoever pays for a key wants to know what its
// callers run into, and an operator why nothing arrives.
import type { CallDetails } from '../core/audit.ts'
import type { KeyRecord } from '../core/key.ts'
import { ZERO_USD } from '../core/money.ts'
import type { GatewayError } from '../core/problem.ts'
import type { Route, Verdict } from '../routing/routes.ts'
import { tellVerdict, traceOf } from '../routing/trace.ts'
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
  const list = listOf(call, plant)
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
    route: list && traceOf(list.route, list.verdict, plant.snapshotId),
    details: list && explain(list, call, plant),
  })
}

/** The list that had been made when it was refused. */
interface List {
  readonly route: Route
  readonly verdict: Verdict
}

function listOf({ asked: { model, verdict } }: RefusedCall, { routes }: Plant): List | undefined {
  const route = verdict && routes.find(model)
  return verdict && route && { route, verdict }
}

/** Where it was refused for want of anybody to ask: why each of them could not be. */
function explain(list: List, { asked }: RefusedCall, plant: Plant): CallDetails | undefined {
  const { route, verdict } = list
  if (verdict.attempts.length > 0) return undefined
  const told = { regions: asked.regions, now: plant.clock.elapsed() }
  return { explanation: tellVerdict(route, verdict, told) }
}

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
  const list = listOf(call)
  plant.ledger.refuse({
    at: call.at,
    requestId: call.id,
    accountId: call.key.accountId,
    projectId: call.projectId,
    keyId: call.key.id,
    endpoint: call.path,
    model: modelOf(call.asked),
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
    details: detailsOf(call, list, plant),
  })
}

/** The list that had been made when it was refused. */
interface List {
  readonly route: Route
  readonly verdict: Verdict
}

function listOf({ asked: { route, verdict } }: RefusedCall): List | undefined {
  return route && verdict && { route, verdict }
}

/** As it was asked for; where the gateway had chosen one, the one that it had chosen. */
function modelOf({ model, route }: Asked): string {
  return route?.isAuto === true ? route.candidates[0]!.modelId : model
}

function detailsOf(
  call: RefusedCall,
  list: List | undefined,
  plant: Plant,
): CallDetails | undefined {
  const { model } = call.asked
  const told = list && explain(list, call, plant)
  return model === modelOf(call.asked) ? told : { asked: model, ...told }
}

/** Where it was refused for want of anybody to ask: why each of them could not be. */
function explain(list: List, { asked }: RefusedCall, plant: Plant): CallDetails | undefined {
  const { route, verdict } = list
  if (verdict.attempts.length > 0) return undefined
  const told = { regions: asked.regions, now: plant.clock.elapsed() }
  return { explanation: tellVerdict(route, verdict, told) }
}

// Closes the books of one call, exactly once and whatever became of it: what it cost, and the one audit
// row that tells of it, durable before the caller has the end of the answer.
import type { AuditRow } from '../core/audit.ts'
import { ZERO_USD, type NanoUsd } from '../core/money.ts'
import type { GatewayError } from '../core/problem.ts'
import type { Usage } from '../core/usage.ts'
import { costOf } from '../ledger/price.ts'
import type { Held, Outcome, Plant } from './call.ts'

export interface Settled {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cost: NanoUsd
  readonly latencyMs: number
}

/** Prices what was used. Pure, so that headers can be made before the record is durable. */
export function price(call: Held, usage: Usage | undefined, plant: Plant): Settled {
  const last = call.tries.at(-1)
  return {
    inputTokens: usage?.inputTokens ?? 0,
    outputTokens: usage?.outputTokens ?? 0,
    cost: last === undefined ? ZERO_USD : costOf(usage, last.price),
    latencyMs: Math.round(plant.clock.elapsed() - call.startedMs),
  }
}

/** Resolves when the call's row is durable. */
export function settle(
  call: Held,
  outcome: Outcome,
  settled: Settled,
  plant: Plant,
): Promise<void> {
  call.slot.leave()
  const last = call.tries.at(-1)?.attempt
  const { usage } = outcome
  const row: AuditRow = {
    at: call.at,
    requestId: call.id,
    accountId: call.key.accountId,
    projectId: call.key.projectId,
    keyId: call.key.id,
    endpoint: call.path,
    model: last?.modelId ?? call.facts.model,
    supplier: last?.supplier.id,
    region: last?.supplier.region,
    inputTokens: usage?.inputTokens,
    outputTokens: usage?.outputTokens,
    cost: settled.cost,
    latencyMs: settled.latencyMs,
    firstTokenMs: outcome.firstTokenMs,
    status: outcome.status,
    code: outcome.code,
    stream: call.facts.stream,
    attempts: call.tries.length,
  }
  return plant.store.append([{ type: 'audit', row }])
}

/** Closes the books of a call that failed before any content reached its caller. */
export function settleFailed(
  call: Held,
  error: GatewayError,
  plant: Plant,
  status = error.status,
): Promise<void> {
  const outcome = {
    status,
    code: error.wireCode,
    usage: undefined,
    firstTokenMs: undefined,
  }
  return settle(call, outcome, price(call, undefined, plant), plant)
}

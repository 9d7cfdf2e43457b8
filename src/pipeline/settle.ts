// Closes the books of one call, exactly once and whatever became of it: what it cost, and the one audit row that
// tells of it and ends its operation, durable before the caller has the end of the answer.
import type { AuditRow, CallDetails, Evidence, TryDetails } from '../core/audit.ts'
import { toNanoUsd, ZERO_USD, type NanoUsd } from '../core/money.ts'
import type { GatewayError } from '../core/problem.ts'
import { costOf, OVERRUN_MAX } from '../ledger/cost/price.ts'
import { labelOf, tellVerdict, traceOf } from '../routing/trace.ts'
import { CALLER_LEFT } from '../upstream/lifeline.ts'
import type { Held, Outcome, Plant, Try } from './call.ts'
import { sampleUsage } from './count.ts'
import { sentMaximum } from './hold.ts'
import { isAsked } from './tour.ts'

export interface Settled {
  readonly inputTokens: number
  readonly outputTokens: number
  /** What the key pays. */
  readonly cost: NanoUsd
  /** What the operator pays beyond it. */
  readonly overrun: NanoUsd
  readonly latencyMs: number
}

/** What a caller is told of its books. */
export type Settlement = 'settled' | 'estimated' | 'pending'

const FREE: Pick<Settled, 'cost' | 'overrun'> = { cost: ZERO_USD, overrun: ZERO_USD }

/** Prices what was used. Pure, so that headers can be made before the record is durable. */
export function price(call: Held, outcome: Outcome, plant: Plant): Settled {
  const { usage } = outcome
  return {
    inputTokens: usage?.inputTokens ?? 0,
    outputTokens: usage?.outputTokens ?? 0,
    ...shareCost(call, outcome, plant),
    latencyMs: Math.round(plant.clock.elapsed() - call.startedMs),
  }
}

/** A key never pays more than was held for it, unless the operator wants it so; a guess is nobody's overrun. */
function shareCost(
  { tries, operation }: Held,
  { usage, evidence }: Outcome,
  { policy }: Plant,
): Pick<Settled, 'cost' | 'overrun'> {
  const last = tries.at(-1)
  if (last === undefined || usage === undefined) return FREE
  const { amount } = operation.hold
  const actual = toNanoUsd(Math.min(costOf(usage, last.price), amount + OVERRUN_MAX))
  if (actual <= amount) return { cost: actual, overrun: ZERO_USD }
  if (evidence !== 'reported') return { cost: amount, overrun: ZERO_USD }
  if (policy.overrun === 'charge') return { cost: actual, overrun: ZERO_USD }
  return { cost: amount, overrun: toNanoUsd(actual - amount) }
}

/** Resolves when the call's row is durable, or when that is no longer worth waiting for. */
export async function settle(
  call: Held,
  outcome: Outcome,
  settled: Settled,
  plant: Plant,
): Promise<Settlement> {
  call.slot.leave()
  leaveLane(call, outcome, plant)
  noteOverrun(call, settled, plant)
  if (outcome.evidence === 'reported' && outcome.usage !== undefined)
    sampleUsage(call, outcome.usage, plant)
  const isDurable = await plant.ledger.end(call.operation, toRow(call, outcome, settled, plant))
  if (!isDurable) return 'pending'
  return isEstimate(outcome.evidence) ? 'estimated' : 'settled'
}

/**
 * Who began to answer and broke off has failed, whatever its words are worth, unless it was the caller who left. What
 * failed before it began was judged then, or is a fault of our own.
 */
function leaveLane({ tries }: Held, outcome: Outcome, { clock }: Plant): void {
  const { evidence, status, code, firstTokenMs } = outcome
  const visit = tries.at(-1)?.visit
  if (visit === undefined) return
  if (code !== undefined && status !== CALLER_LEFT) {
    if (firstTokenMs !== undefined) visit.broke(code, clock.elapsed())
  } else if (evidence === 'reported' || evidence === 'counted') visit.finished(clock.elapsed())
  visit.leave()
}

/**
 * Closes the books of a call that failed before any content reached its caller, or by a fault of our own. An
 * attempt that did not fail by itself may have cost something.
 */
export function settleFailed(
  call: Held,
  error: GatewayError,
  plant: Plant,
  status = error.status,
): Promise<Settlement> {
  const last = call.tries.findLast(isAsked)
  const outcome: Outcome = {
    status,
    code: error.wireCode,
    evidence: last === undefined ? 'unsent' : (last.failure?.evidence ?? 'unknown'),
    usage: undefined,
    firstTokenMs: undefined,
  }
  return settle(call, outcome, price(call, outcome, plant), plant)
}

export function isEstimate(evidence: Evidence): boolean {
  return evidence === 'broken' || evidence === 'counted' || evidence === 'crashed'
}

/** What a supplier has worked for is settled, also where that is free. */
function isPaid(evidence: Evidence): boolean {
  return evidence === 'reported' || isEstimate(evidence)
}

function toRow(call: Held, outcome: Outcome, settled: Settled, plant: Plant): AuditRow {
  const last = (call.tries.findLast(isAsked) ?? call.tries.at(-1))?.attempt
  const { usage, evidence } = outcome
  const { hold } = call.operation
  return {
    at: call.at,
    requestId: call.id,
    accountId: call.key.accountId,
    projectId: call.projectId,
    keyId: call.key.id,
    endpoint: call.path,
    model: modelOf(call, evidence),
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
    state: isPaid(evidence) ? 'settled' : 'voided',
    evidence,
    held: hold.amount,
    hour: hold.hour,
    overrun: settled.overrun,
    heldMs: Math.round((call.heldAtMs - call.startedMs) * 1000) / 1000,
    count: 1,
    payer: hold.payer,
    route: traceOf(call.route, call.verdict, plant.snapshotId),
    details: detailsOf(call, outcome, settled),
  }
}

/** The model that answered; of a call that came to nothing the one that its name means, whoever was asked last. */
function modelOf({ route, tries }: Held, evidence: Evidence): string {
  const answered = isPaid(evidence) ? tries.at(-1)?.attempt : undefined
  return (answered ?? route.candidates[0]!).modelId
}

/** Most calls simply go well, and then there is nothing to add. */
function detailsOf(call: Held, outcome: Outcome, settled: Settled): CallDetails | undefined {
  const notes = notesOf(call, outcome)
  const tries = triesOf(call, outcome, settled)
  const parts = partsOf(outcome)
  if (notes === undefined && tries === undefined && parts === undefined) return undefined
  return { ...notes, ...tries, ...parts }
}

/** What was asked for, and what became of it on the way. */
function notesOf(call: Held, { evidence }: Outcome): CallDetails | undefined {
  const { session, route } = call
  const isOther = route.name !== modelOf(call, evidence)
  const maxTokens = sentMaximum(call)
  const losses = lossesOf(call)
  const hasMoved = session?.state === 'moved'
  if (!isOther && maxTokens === undefined && losses === undefined && !hasMoved) return undefined
  return {
    ...(isOther && { asked: route.name }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(losses !== undefined && { losses }),
    ...(hasMoved && { session: 'moved' }),
  }
}

/** What whoever was asked last was not told; undefined where that is nothing. */
function lossesOf({ tries }: Held): readonly string[] | undefined {
  const losses = tries.at(-1)?.losses
  return losses === undefined || losses.length === 0 ? undefined : losses
}

/** Parts of the usage that have prices of their own. */
function partsOf({ usage }: Outcome): CallDetails | undefined {
  if (usage === undefined) return undefined
  const { cachedTokens, cacheWriteTokens, cacheWriteLongTokens, reasoningTokens, units } = usage
  const special = cachedTokens + cacheWriteTokens + reasoningTokens
  if (special === 0) return units && { units }
  return {
    ...(units !== undefined && { units }),
    cachedTokens,
    cacheWriteTokens,
    ...(cacheWriteLongTokens > 0 && { cacheWriteLongTokens }),
    reasoningTokens,
  }
}

/** Where not simply the first who was asked has answered, or its name does not tell exactly who that was. */
function triesOf(call: Held, outcome: Outcome, settled: Settled): CallDetails | undefined {
  const { tries } = call
  const hasFailed = tries.length > 1 || tries[0]?.failure !== undefined
  if (!hasFailed && outcome.evidence !== 'unknown' && isTold(tries[0])) return undefined
  // The clock may have gone on since: what the call took and what its last try took belong together.
  const endMs = call.startedMs + settled.latencyMs
  const described = tries.map((each) => describeTry(call, each, outcome, endMs))
  if (tries.length < 2) return { tries: described }
  return { tries: described, explanation: explain(call, described) }
}

/** Whether its supplier's name and the row's model say it all. */
function isTold(only: Try | undefined): boolean {
  if (only === undefined) return true
  const { credential, rank, supplier } = only.attempt.candidate
  return credential === undefined && rank === 0 && supplier.identity === undefined
}

/** Whoever wants to know why a call went elsewhere wants to know how the list came about, and what each said. */
function explain({ route, verdict, regions, tries }: Held, each: readonly TryDetails[]): string {
  const lines = each.map(({ status, code, ms }, index) => {
    const who = labelOf(tries[index]!.attempt.candidate)
    if (!isAsked(tries[index]!)) return `${who} could not be told this request (${status} ${code}).`
    const what = code === undefined ? 'answered' : `failed with ${status} ${code}`
    return `${who} was asked and ${what} after ${ms} ms.`
  })
  return tellVerdict(route, verdict, { regions, now: undefined }, lines)
}

/** A supplier that was asked and gave nothing may still send a bill: that is the operator's to find out. */
function describeTry(call: Held, tried: Try, outcome: Outcome, endMs: number): TryDetails {
  const { attempt, failure, index, askedMs, endedMs = endMs } = tried
  const { id: supplier, region, identity } = attempt.supplier
  const { credential, rank, modelId } = attempt.candidate
  const evidence = failure?.evidence ?? outcome.evidence
  return {
    supplier,
    ...(identity !== undefined && { identity: identity.id }),
    ...(credential !== undefined && identity === undefined && { credential }),
    ...(rank > 0 && { model: modelId }),
    region,
    evidence,
    ms: Math.max(0, Math.round(endedMs - askedMs)),
    ...(failure !== undefined && {
      status: failure.problem.status,
      code: failure.problem.wireCode,
    }),
    ...(failure === undefined && hasAnswered(outcome) && { status: 200 }),
    ...(evidence === 'unknown' && { suspense: suspenseOf(call, index) }),
  }
}

/** Whoever delivers something has accepted the call, also where the caller's own status is another. */
function hasAnswered({ evidence, firstTokenMs }: Outcome): boolean {
  return evidence === 'reported' || evidence === 'counted' || firstTokenMs !== undefined
}

function suspenseOf({ bound, fit, operation }: Held, index: number): NanoUsd {
  const worst = bound.costAt(index, fit.outputTokens)
  return toNanoUsd(Math.min(worst, operation.hold.amount))
}

function noteOverrun(
  { id, tries, operation }: Held,
  { cost, overrun }: Settled,
  { log }: Plant,
): void {
  const { amount } = operation.hold
  const beyond = cost + overrun - amount
  if (overrun === 0 && beyond < OVERRUN_MAX) return
  const extra = {
    id,
    supplier: tries.at(-1)?.attempt.supplier.id,
    held_nano_usd: amount,
    overrun_nano_usd: overrun,
  }
  if (beyond < OVERRUN_MAX)
    log.note('warn', 'a call cost more than was held for it; the operator pays the rest', extra)
  else
    log.note(
      'error',
      'a supplier told a usage that is worth more than a million dollars beyond what was held; no more than that is in the books',
      extra,
    )
}

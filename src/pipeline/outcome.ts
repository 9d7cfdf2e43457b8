// What the end of a call proves about money. What the supplier tells of a whole answer is believed; what broke or
// was not told is counted here, and said to be so. Zero is zero, and missing is missing.
import { GatewayError } from '../core/problem.ts'
import type { Usage } from '../core/usage.ts'
import { estimateUsage } from '../ledger/cost/estimate.ts'
import { CALLER_LEFT, CallerGone } from '../upstream/lifeline.ts'
import type { Held, Outcome } from './call.ts'
import type { UnaryAnswer } from './dispatch.ts'
import type { RelayStream } from './relay.ts'

export function unaryOutcome(
  call: Held,
  { usage: told, outputBytes, audioBytes }: UnaryAnswer,
  hasLeft: boolean,
): Outcome {
  const usage = told !== undefined && tellsPaid(told, call) ? told : undefined
  return {
    ...describeEnd(hasLeft ? new CallerGone() : undefined),
    evidence: usage === undefined ? 'counted' : 'reported',
    usage: withUnits(usage ?? countAll(call, outputBytes, audioBytes), call),
    firstTokenMs: undefined,
  }
}

/** Who tells units alone has told nothing of tokens, where these are what is paid. */
function tellsPaid({ units, inputTokens, outputTokens }: Usage, { tries }: Held): boolean {
  if (units === undefined || inputTokens + outputTokens > 0) return true
  const { input, output } = tries.at(-1)!.price
  return input + output === 0
}

/** Who tells tokens alone is paid for the rest as it was asked for. */
function withUnits(usage: Usage, { facts: { load } }: Held): Usage {
  return usage.units !== undefined || load.units === undefined
    ? usage
    : { ...usage, units: load.units }
}

export function streamOutcome(
  call: Held,
  stream: RelayStream,
  failure: GatewayError | CallerGone | undefined,
  firstTokenMs: number,
): Outcome {
  const told = stream.usage
  const end = { ...describeEnd(failure), firstTokenMs }
  const { outputBytes, audioBytes } = stream
  const hasLeft = failure instanceof CallerGone
  // Who leaves early must not choose by that which of several figures is the last.
  if (told !== undefined && stream.isUsageWhole && (stream.hasEnded || !hasLeft))
    return { ...end, evidence: 'reported', usage: told }
  if (failure === undefined || hasLeft) {
    const usage = larger(countAll(call, outputBytes, audioBytes), told)
    return { ...end, evidence: hasLeft ? 'broken' : 'counted', usage }
  }
  // Whoever broke it pays for it: what a supplier has not delivered is free.
  const counted = larger(estimateUsage(call.facts.load, outputBytes, audioBytes), told)
  return { ...end, evidence: 'broken', usage: outputBytes === 0 ? told : counted }
}

/**
 * The caller left before anything reached it. The supplier that was at work has read the input, and may have
 * thought; one that has failed by itself proves what it would have proved to a caller who stayed.
 */
export function leavingOutcome(call: Held): Outcome {
  const end = { ...describeEnd(new CallerGone()), firstTokenMs: undefined }
  const last = call.tries.at(-1)
  if (last === undefined) return { ...end, evidence: 'unsent', usage: undefined }
  const evidence = last.failure?.evidence ?? last.seen
  if (evidence !== undefined) return { ...end, evidence, usage: undefined }
  return { ...end, evidence: 'broken', usage: countAll(call, last.stream?.outputBytes ?? 0, 0) }
}

/** Of what is elsewhere nobody here knows the length: it counts for all that the model which was asked can read. */
function countAll({ facts, bound, tries }: Held, outputBytes: number, audioBytes: number): Usage {
  const counted = estimateUsage(facts.load, outputBytes, audioBytes)
  if (facts.load.elsewhere === undefined) return counted
  return { ...counted, inputTokens: bound.inputTokensAt(tries.at(-1)!.index) }
}

function describeEnd(
  failure: GatewayError | CallerGone | undefined,
): Pick<Outcome, 'status' | 'code'> {
  if (failure === undefined) return { status: 200, code: undefined }
  if (failure instanceof GatewayError) return { status: 200, code: failure.wireCode }
  return { status: CALLER_LEFT, code: 'streaming_settlement_cancelled' }
}

/** Some suppliers tell their usage as they go; what is told of a part is no less than that. */
function larger(counted: Usage, told: Usage | undefined): Usage {
  if (told === undefined) return counted
  return {
    ...told,
    inputTokens: told.inputTokens > 0 ? told.inputTokens : counted.inputTokens,
    outputTokens: Math.max(told.outputTokens, counted.outputTokens),
    audioOutputTokens: Math.max(told.audioOutputTokens, counted.audioOutputTokens),
  }
}

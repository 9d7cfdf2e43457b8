// An explanation as people and programs read it. Suppliers go by their names, credentials by their numbers; addresses
// and secrets are nobody's to see.
import { toJsonUsd, toNanoUsd, type NanoUsd } from '../../core/money.ts'
import type { GatewayError } from '../../core/problem.ts'
import { ENDLESS_TOKENS } from '../../ledger/cost/bound.ts'
import type { BudgetState } from '../../ledger/ledger.ts'
import type { Plant } from '../../pipeline/call.ts'
import { worstAt, type Explanation, type Foretold } from '../../pipeline/explain.ts'
import { LISTED, SPARE, wordOf } from '../../routing/reason.ts'
import type { Candidate } from '../../routing/routes.ts'
import { labelOf, whyNot } from '../../routing/trace.ts'
import { describePayer, describePrice } from './call-entry.ts'
import { printTime } from './print.ts'

export function describeExplanation(told: Explanation, plant: Plant): object {
  const { refusal, verdict, key } = told
  const order = verdict?.attempts.map(({ candidate }) => labelOf(candidate)) ?? []
  return {
    object: 'explanation',
    snapshot: plant.snapshotId,
    key_id: key.id,
    verdict: refusal === undefined ? 'would_be_sent' : 'would_be_refused',
    refusal: refusal === undefined ? null : describeRefusal(refusal),
    model: describeModel(told),
    region: describeRegion(told),
    session: describeSession(told),
    order,
    attempts_max: plant.limits.attemptsMax,
    last_resort: verdict?.isLastResort === true,
    candidates: describeCandidates(told),
    money: told.money === undefined ? null : describeMoney(told.money, told),
  }
}

function describeRefusal(error: GatewayError): object {
  const { wireCode: code, status, message, param, retryable, retryAfter, details } = error
  return {
    code,
    status,
    message,
    param: param ?? null,
    retryable,
    retry_after: retryAfter ?? null,
    details: details ?? null,
  }
}

function describeModel({ facts, route }: Explanation): object {
  const own = route?.candidates.find(({ rank }) => rank === 0)?.modelId
  return {
    asked: facts.model,
    resolved: own ?? null,
    is_alias: route !== undefined && route.aliasUse !== undefined,
    policy: route?.policy ?? null,
  }
}

function describeRegion(told: Explanation): object {
  const { key, facts, regions } = told
  return {
    key: key.allowedRegions ?? null,
    call: facts.region ?? null,
    effective: regions ?? null,
    verdict: judgeRegion(told),
  }
}

/** `any`: there is no wall. `disjoint`: key and call have nothing in common. */
type RegionVerdict = 'any' | 'served' | 'unserved' | 'disjoint'

function judgeRegion({ regions, refusal, verdict, route }: Explanation): RegionVerdict {
  if (verdict === undefined && refusal?.param === 'region') return 'disjoint'
  if (regions === undefined) return 'any'
  const isServed = route?.candidates.some((candidate) =>
    regions.some((region) => candidate.regions.has(region)),
  )
  return isServed === true ? 'served' : 'unserved'
}

/** Where it was before is told by its name, if there still is such a candidate. */
function describeSession({ session, verdict, route, source }: Explanation): object | null {
  if (session === undefined) return null
  const pinned = route?.candidates.find(({ lane }) => lane.id === session.pin)
  const isKept = verdict?.isPinned === true
  return {
    source,
    state: session.pin === undefined ? 'new' : isKept ? 'kept' : 'moved',
    pinned_to: pinned === undefined ? null : labelOf(pinned),
  }
}

function describeCandidates(told: Explanation): readonly object[] {
  const { route, verdict } = told
  const candidates = route?.candidates ?? []
  const places = new Map(verdict?.attempts.map(({ candidate }, at) => [candidate, at + 1]))
  const described = candidates.map((candidate, index) => {
    const reason = verdict?.reasons[index]
    return { candidate, reason, place: places.get(candidate) }
  })
  const listed = described
    .filter(({ place }) => place !== undefined)
    .toSorted((one, other) => (one.place ?? 0) - (other.place ?? 0))
  const others = described.filter(({ place }) => place === undefined)
  return [...listed, ...others].map((each) => describeCandidate(each, told))
}

interface Placed {
  readonly candidate: Candidate
  /** Undefined where nobody has judged it: the call would be refused before. */
  readonly reason: number | undefined
  readonly place: number | undefined
}

function describeCandidate({ candidate, reason, place }: Placed, told: Explanation): object {
  const { supplier, credential, modelId, lane } = candidate
  const { price, worst } = worstAt(candidate, told)
  const way = told.ways.get(candidate)
  const { state, remainingMs, why } = lane.view(told.now)
  return {
    candidate: labelOf(candidate),
    supplier: supplier.id,
    identity: supplier.identity?.id ?? null,
    credential: credential ?? null,
    model: modelId,
    region: supplier.region,
    state: stateOf(reason),
    why: reason === undefined ? null : whyOf({ candidate, reason, place }, told),
    place: place ?? null,
    chance: chanceOf(candidate, told) ?? null,
    relay: way === undefined ? null : way.isRelayed ? 'relay' : 'convert',
    losses: way?.losses ?? [],
    price: describePrice(price),
    worst_case_usd: printAmount(worst),
    circuit: { state, remaining_ms: Math.ceil(remainingMs), why: why ?? null },
  }
}

function stateOf(reason: number | undefined): string {
  return reason === undefined ? 'not_judged' : wordOf(reason)
}

function whyOf(
  { candidate, reason, place }: Placed & { readonly reason: number },
  { verdict, now }: Explanation,
): string {
  if (reason !== LISTED) return whyNot(candidate, reason, now)
  if (place === 1 && verdict?.isPinned === true) return 'it has answered the session before'
  return whyNot(candidate, reason, now)
}

/** The share of first calls that chance gives a supplier; undefined where chance has no say. */
function chanceOf(candidate: Candidate, { route, verdict }: Explanation): number | undefined {
  if (route?.policy !== 'weight' || verdict === undefined || verdict.isPinned) return undefined
  const drawn = route.candidates.filter((_, index) => {
    const reason = verdict.reasons[index]
    return reason === LISTED || reason === SPARE
  })
  const rank = Math.min(...drawn.map((each) => each.rank))
  const first = drawn.filter((each) => each.rank === rank)
  const suppliers = new Map(first.map(({ place, weight }) => [place, weight]))
  const total = suppliers.values().reduce((sum, weight) => sum + weight, 0)
  return total === 0 || !first.includes(candidate) ? undefined : candidate.weight / total
}

function describeMoney(money: Foretold, { key, refusal }: Explanation): object {
  const { worst, budget, payers } = money
  // Nothing is held for what is refused, whatever for.
  const foreseen = refusal === undefined ? money.foreseen : undefined
  const payer = foreseen === undefined ? null : describePayer(foreseen)
  const first = payers.findIndex(({ state }) => state === 'pays')
  const fit = foreseen?.fit
  return {
    worst_case_usd: printAmount(worst),
    held_usd: printAmount(fit?.amount),
    output_tokens_max:
      fit === undefined || fit.outputTokens >= ENDLESS_TOKENS ? null : fit.outputTokens,
    // Sent in place of the caller's own limit.
    max_tokens: fit?.maxTokens ?? null,
    budget: key.budgetLimit === undefined ? null : describeBudget(budget, fit?.amount),
    payer: {
      would_pay: payer,
      chain: payers.map(({ link, walletId, state }, at) => ({
        link,
        wallet_id: walletId ?? null,
        state: state === 'pays' && at > first ? 'ready' : state,
      })),
    },
  }
}

function describeBudget(budget: BudgetState, amount: NanoUsd | undefined): object {
  const { limit, period, used, held, resetsAt } = budget
  const left = limit === undefined ? undefined : limit - used - held
  return {
    limit_usd: printAmount(limit),
    period,
    used_usd: toJsonUsd(used),
    held_usd: toJsonUsd(held),
    left_usd: left === undefined ? null : toJsonUsd(toNanoUsd(left)),
    after_usd:
      left === undefined || amount === undefined ? null : toJsonUsd(toNanoUsd(left - amount)),
    resets_at: printTime(resetsAt),
  }
}

function printAmount(amount: NanoUsd | undefined): object | null {
  return amount === undefined ? null : toJsonUsd(amount)
}

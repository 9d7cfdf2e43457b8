// A key as people and programs read it. Its budget is what the books hold calls to at this very moment, so
// that whatever is refused can be explained from a read.
import type { KeyRecord } from '../../core/key.ts'
import { NO_LOAD, type Load } from '../../core/load.ts'
import { toJsonUsd, toNanoUsd, type NanoUsd } from '../../core/money.ts'
import type { Price } from '../../core/usage.ts'
import type { Task } from '../../core/task.ts'
import { Bound } from '../../ledger/cost/bound.ts'
import type { BudgetState } from '../../ledger/ledger.ts'
import { priceAt } from '../../ledger/cost/price.ts'
import type { Plant } from '../../pipeline/call.ts'
import type { Candidate } from '../../routing/routes.ts'
import { printTime } from './print.ts'

export type KeyStatus = 'active' | 'budget_exhausted' | 'revoked' | 'expired'

type Surroundings = Pick<Plant, 'ledger' | 'routes' | 'clock' | 'keyring'>

export function describeKey(key: KeyRecord, plant: Surroundings): object {
  const budget = plant.ledger.budgetOf(key.id)
  return {
    id: key.id,
    name: key.name,
    status: statusOf(key, budget, plant),
    ...describeBudget(budget),
    fit: key.fitsBudget ? 'on' : 'off',
    allowed_models: key.allowedModels ?? null,
    allowed_regions: key.allowedRegions ?? null,
    rate_limit_rpm: key.rateLimitRpm ?? null,
    metadata: key.metadata,
    created: printTime(key.createdAt),
    expires_at: printTime(key.expiresAt),
    revoked_at: printTime(key.revokedAt),
    ...describeTies(key),
    ...describeUse(key, plant),
    created_by: key.createdBy ?? null,
  }
}

/** What it belongs to, which never changes. */
function describeTies({ kind, projectId, teamId, userId, manages }: KeyRecord): object {
  return {
    kind,
    project_id: projectId ?? null,
    ...(kind === 'token' && { team_id: teamId ?? null, manage: manages }),
    user_id: userId ?? null,
  }
}

/** Told by the ring, which knows more than was written down yet. */
function describeUse({ id, lastUsedAt, previous }: KeyRecord, plant: Surroundings): object {
  const { keyring, clock } = plant
  const isOver = previous === undefined || previous.until <= clock.now()
  return {
    last_used_at: printTime(keyring.lastUsed(id) ?? lastUsedAt),
    previous_secret_until: isOver ? null : printTime(previous.until),
    previous_secret_used_at: isOver ? null : printTime(keyring.previousLastUsed(id)),
  }
}

/** Without a budget there is still a sum worth knowing, that of the calendar month. */
function describeBudget(budget: BudgetState): object {
  const { limit, used, held, inReview, period, resetsAt } = budget
  const hasBudget = limit !== undefined
  return {
    budget_limit: hasBudget ? toJsonUsd(limit) : null,
    budget_used: toJsonUsd(used),
    budget_remaining: hasBudget ? toJsonUsd(toNanoUsd(limit - used)) : null,
    budget_held: hasBudget ? toJsonUsd(held) : null,
    budget_in_review: hasBudget ? toJsonUsd(inReview) : null,
    budget_period: hasBudget ? period : null,
    resets_at: hasBudget ? printTime(resetsAt) : null,
  }
}

/** What ends a key for good is told before what a new period or a higher limit mends. */
function statusOf(key: KeyRecord, { limit, used }: BudgetState, plant: Surroundings): KeyStatus {
  const now = plant.clock.now()
  if (key.revokedAt !== undefined) return 'revoked'
  if (key.expiresAt !== undefined && key.expiresAt <= now) return 'expired'
  const isStopped = limit !== undefined && !canPay(limit - used, key, plant)
  return isStopped ? 'budget_exhausted' : 'active'
}

/** Whether there is one call that what is left would still pay. Running calls may yet give something back. */
function canPay(rest: number, key: KeyRecord, { routes, clock }: Surroundings): boolean {
  const now = clock.now()
  let isServed = false
  for (const model of key.allowedModels ?? routes.models.map(({ id }) => id))
    for (const candidate of routes.find(model)?.candidates ?? []) {
      if (!isOpenTo(key, candidate)) continue
      if (leastCost(candidate, now) <= rest) return true
      isServed = true
    }
  return !isServed && rest > 0
}

function isOpenTo({ allowedRegions, allowedModels }: KeyRecord, candidate: Candidate): boolean {
  const { regions, attempts, rank, modelId } = candidate
  const isInside = allowedRegions?.some((region) => regions.has(region)) !== false
  const isAllowed = rank === 0 || allowedModels?.includes(modelId) !== false
  return isInside && isAllowed && attempts.length > 0
}

const ONE: Load = { ...NO_LOAD, bytes: 1 }

/** One message, and one token in answer to it; of what is counted otherwise, one of it. */
const LEAST: Readonly<Record<Task, Load>> = {
  chat: { ...ONE, messages: 1, maxTokens: 1 },
  embedding: ONE,
  rerank: { ...ONE, units: { searches: 1 } },
  transcription: { ...ONE, units: { seconds: 1 } },
  speech: { ...ONE, units: { characters: 1 } },
}

const known = new WeakMap<Price, NanoUsd>()

/** Depends on the price alone: one message fits into every window. */
function leastCost({ route }: Candidate, now: number): NanoUsd {
  const price = priceAt(route.prices, now)
  const found = known.get(price)
  if (found !== undefined) return found
  const bound = new Bound(LEAST[route.task ?? 'chat'], [{ price, limits: undefined }])
  const cost = bound.costAt(0, 1)
  known.set(price, cost)
  return cost
}

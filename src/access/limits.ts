// No credential hands out more than it has. What somebody else is given is held against the limits of whoever
// gives it, field by field; the root key has none.
import { NO_LIMITS, type KeyRecord, type KeySettings } from '../core/key.ts'
import { printUsd } from '../core/money.ts'
import { GatewayError } from '../core/problem.ts'

/** What a credential may do at most. Undefined is no limit. */
export type Limits = Pick<
  KeySettings,
  'allowedModels' | 'allowedRegions' | 'budgetLimit' | 'budgetPeriod' | 'rateLimitRpm' | 'expiresAt'
>

type LimitName = keyof Limits

interface Rule {
  readonly param: string
  /** A change of any of them puts the rule to the test. */
  readonly names: readonly LimitName[]
  readonly isWithin: (given: Limits, own: Limits) => boolean
  /** What the giver may give. */
  readonly tell: (own: Limits) => string
}

const RULES: readonly Rule[] = [
  {
    param: 'allowed_models',
    names: ['allowedModels'],
    isWithin: (given, own) => isSubset(given.allowedModels, own.allowedModels),
    tell: ({ allowedModels = [] }) => `only models among ${listed(allowedModels)}`,
  },
  {
    param: 'allowed_regions',
    names: ['allowedRegions'],
    isWithin: (given, own) => isSubset(given.allowedRegions, own.allowedRegions),
    tell: ({ allowedRegions = [] }) => `only regions among ${listed(allowedRegions)}`,
  },
  {
    param: 'budget_limit',
    names: ['budgetLimit', 'budgetPeriod'],
    isWithin: isBudgetWithin,
    tell: tellBudget,
  },
  {
    param: 'rate_limit_rpm',
    names: ['rateLimitRpm'],
    isWithin: (given, own) => isAtMost(given.rateLimitRpm, own.rateLimitRpm),
    tell: ({ rateLimitRpm }) => `at most ${rateLimitRpm} requests a minute`,
  },
  {
    param: 'expires_at',
    names: ['expiresAt'],
    isWithin: (given, own) => isAtMost(given.expiresAt, own.expiresAt),
    tell: ({ expiresAt = 0 }) => `an end no later than ${new Date(expiresAt).toISOString()}`,
  },
]

/** What this credential may give to others. */
export function limitsOf(giver: KeyRecord): Limits {
  return giver.kind === 'root' ? NO_LIMITS : giver
}

/** What is not named for a new credential is what its giver has. How it is called and labelled is its own. */
export function startFrom(own: Limits): KeySettings {
  const { allowedModels, allowedRegions, budgetLimit, budgetPeriod, rateLimitRpm, expiresAt } = own
  const limits = {
    allowedModels,
    allowedRegions,
    budgetLimit,
    budgetPeriod,
    rateLimitRpm,
    expiresAt,
  }
  return { name: '', ...NO_LIMITS, ...limits }
}

/** Refuses what is beyond the giver's own limits; with `changed` only fields among them are looked at. */
export function checkWithin(given: Limits, own: Limits, changed?: object): void {
  for (const { param, names, isWithin, tell } of RULES) {
    const isAsked = changed === undefined || names.some((name) => Object.hasOwn(changed, name))
    if (isAsked && !isWithin(given, own))
      throw beyond(param, `This is beyond what the credential that asks has itself: ${tell(own)}.`)
  }
}

/** Whoever gets to see a secret can do all that it can, so all of it must be within. */
export function checkWhole(key: KeyRecord, giver: KeyRecord): void {
  if (giver.kind === 'root') return
  checkWithin(key, limitsOf(giver))
  if (key.manages && !giver.manages)
    throw beyond('manage', 'Only a credential that manages may have one that does.')
  if (key.userId !== giver.userId)
    throw beyond('user_id', 'This credential calls for another user, who may have to pay for it.')
}

function isSubset(
  given: readonly string[] | undefined,
  own: readonly string[] | undefined,
): boolean {
  if (own === undefined) return true
  const known = new Set(own)
  return given !== undefined && given.every((each) => known.has(each))
}

function isAtMost(given: number | undefined, own: number | undefined): boolean {
  return own === undefined || (given !== undefined && given <= own)
}

/**
 * What caps a month or thirty days also caps each of their days. Nothing else follows: of two months' worth
 * of money half of each may fall into the same thirty days, and the other way about.
 */
function isBudgetWithin(given: Limits, own: Limits): boolean {
  const isComparable = own.budgetPeriod === 'daily' || given.budgetPeriod === own.budgetPeriod
  return (
    own.budgetLimit === undefined || (isComparable && isAtMost(given.budgetLimit, own.budgetLimit))
  )
}

function tellBudget({ budgetLimit, budgetPeriod }: Limits): string {
  const limit = budgetLimit === undefined ? '' : printUsd(budgetLimit)
  const periods = budgetPeriod === 'daily' ? 'of any period' : `with the period ${budgetPeriod}`
  return `a budget of at most ${limit} USD ${periods}`
}

const LISTED_MAX = 10

function listed(names: readonly string[]): string {
  const more = names.length - LISTED_MAX
  return names.slice(0, LISTED_MAX).join(', ') + (more > 0 ? ` and ${more} more` : '')
}

function beyond(param: string, text: string): GatewayError {
  return new GatewayError('permission_denied', text, { param })
}

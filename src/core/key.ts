// A key as it is kept: who owns it, what it may do, and never its secret.
import type { NanoUsd } from './money.ts'

/** `root` manages and calls, `token` calls for a project or team, `managed` calls within its limits. */
export type KeyKind = 'root' | 'token' | 'managed'

export type BudgetPeriod = 'daily' | 'monthly' | 'rolling'

export const BUDGET_PERIODS: readonly BudgetPeriod[] = ['daily', 'monthly', 'rolling']

/** What an owner may set at creation and change later. Undefined is no limit. */
export interface KeySettings {
  readonly name: string
  readonly allowedModels: readonly string[] | undefined
  /** Folded to upper case. */
  readonly allowedRegions: readonly string[] | undefined
  readonly budgetLimit: NanoUsd | undefined
  readonly budgetPeriod: BudgetPeriod | undefined
  /** A call whose output the rest of the budget cannot pay is shortened, not refused. */
  readonly fitsBudget: boolean
  readonly rateLimitRpm: number | undefined
  readonly metadata: Readonly<Record<string, string>>
  readonly expiresAt: number | undefined
}

/** A key that may do everything its kind may. */
export const NO_LIMITS: Omit<KeySettings, 'name'> = {
  allowedModels: undefined,
  allowedRegions: undefined,
  budgetLimit: undefined,
  budgetPeriod: undefined,
  fitsBudget: true,
  rateLimitRpm: undefined,
  metadata: {},
  expiresAt: undefined,
}

export interface KeyRecord extends KeySettings {
  readonly id: string
  readonly accountId: string
  /** What it calls for; undefined where it belongs to a team, or to the account as a whole. */
  readonly projectId: string | undefined
  /** A team's token calls for the projects of the team. */
  readonly teamId: string | undefined
  /** Who calls with it, and pays where nobody else does. */
  readonly userId: string | undefined
  readonly kind: KeyKind
  /** A token that manages the credentials of its project or team, besides calling. */
  readonly manages: boolean
  /** SHA-256 of the secret. */
  readonly hash: string
  /** The secret before the last rotation, while it still works. */
  readonly previous: PreviousSecret | undefined
  readonly createdAt: number
  /** The credential that made it; undefined for what the gateway made itself. */
  readonly createdBy: string | undefined
  readonly revokedAt: number | undefined
  /** As far as it was written down: the ring knows it to the moment. */
  readonly lastUsedAt: number | undefined
}

export interface PreviousSecret {
  readonly hash: string
  /** The first moment at which it no longer works. */
  readonly until: number
}

/** A key that belongs to nobody in particular and has no past. */
export const NO_TIES: Pick<
  KeyRecord,
  | 'projectId'
  | 'teamId'
  | 'userId'
  | 'manages'
  | 'previous'
  | 'createdBy'
  | 'revokedAt'
  | 'lastUsedAt'
> = {
  projectId: undefined,
  teamId: undefined,
  userId: undefined,
  manages: false,
  previous: undefined,
  createdBy: undefined,
  revokedAt: undefined,
  lastUsedAt: undefined,
}

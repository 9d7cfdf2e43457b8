// A key as it is kept: who owns it, what it may do, and never its secret.
import type { NanoUsd } from './money.ts'

/** `root` manages and calls, `token` calls for a project or team, `managed` calls within its limits. */
export type KeyKind = 'root' | 'token' | 'managed'

export type BudgetPeriod = 'daily' | 'monthly' | 'rolling'

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
  readonly projectId: string | undefined
  readonly kind: KeyKind
  /** SHA-256 of the secret. */
  readonly hash: string
  readonly createdAt: number
  readonly revokedAt: number | undefined
}

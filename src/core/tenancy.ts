// Who belongs to whom. An account is the wall: nothing behind it is seen from another. Behind it are
// organisations, users, projects and teams, and the wallets that pay for calls. Ids are never used twice.
import type { BudgetPeriod } from './key.ts'
import type { NanoUsd } from './money.ts'
import type { PayerLink } from './payer.ts'

interface Owned {
  readonly id: string
  readonly accountId: string
  readonly name: string
  readonly createdAt: number
  /** When it was taken out of use, for good. */
  readonly endedAt: number | undefined
}

export interface AccountRecord {
  readonly id: string
  readonly name: string
  readonly createdAt: number
  /** When it was closed: its credentials are refused from then on. */
  readonly endedAt: number | undefined
}

export interface OrganisationRecord extends Owned {
  /** Whose wallet pays for its projects. */
  readonly billingUserId: string | undefined
  /** Whether its projects may call by native sign-ins. */
  readonly usesNative: boolean
}

export interface UserRecord extends Owned {
  readonly email: string | undefined
}

export interface ProjectRecord extends Owned {
  readonly organisationId: string | undefined
  /** The user whose wallet pays after the organisation's. */
  readonly delegateUserId: string | undefined
  /** The one place of the chain that pays; undefined where the chain is walked. */
  readonly pinnedPayer: PayerLink | undefined
  readonly metadata: Readonly<Record<string, string>>
}

/** A named set of projects. Its tokens call for the first of them unless they name another. */
export interface TeamRecord extends Owned {
  readonly projectIds: readonly string[]
}

export type WalletOwner = 'account' | 'project' | 'user'

/** What a wallet holds follows from its entries; this is only what it may. */
export interface WalletRecord extends Owned {
  readonly owner: WalletOwner
  /** The account, project or user whose wallet it is: each has at most one that is not ended. */
  readonly ownerId: string
  /** How far below zero its balance may go; undefined: as far as it comes. */
  readonly creditLine: NanoUsd | undefined
  /** What it may spend in a period, whatever is in it; the period is undefined where the limit is. */
  readonly spendingLimit: NanoUsd | undefined
  readonly spendingPeriod: BudgetPeriod | undefined
}

/** What is kept of an account beside its credentials and its books. */
export type TenancyRecord =
  | { readonly type: 'account'; readonly record: AccountRecord }
  | { readonly type: 'organisation'; readonly record: OrganisationRecord }
  | { readonly type: 'user'; readonly record: UserRecord }
  | { readonly type: 'project'; readonly record: ProjectRecord }
  | { readonly type: 'team'; readonly record: TeamRecord }
  | { readonly type: 'wallet'; readonly record: WalletRecord }

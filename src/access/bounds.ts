// How much an account may have. All of it is in memory and stays there, also when it is ended, so that no account
// takes what the others need.
import { GatewayError } from '../core/problem.ts'

/** Of users, projects, teams, organisations and wallets, each. */
export const RECORDS_MAX = 20_000
/** Keys and tokens together. */
export const CREDENTIALS_MAX = 100_000
export const ACCOUNTS_MAX = 10_000
/** Sign-ins at native suppliers. Fewer than of other records, because each is a way that a call may go. */
export const IDENTITIES_MAX = 2000

/** Refuses one more than `most`; `what` in the plural. */
export function checkCount(count: number, most: number, what: string): void {
  if (count < most) return
  throw new GatewayError(
    'conflict',
    `There are ${most} ${what} already, ended ones among them, and there may be no more. Use those that there are.`,
    { retryable: false, details: { limit: most } },
  )
}

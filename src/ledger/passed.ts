// Which places of a chain were passed over before somebody paid, as one figure: a digit for each place, so that the
// text of a payer can be found again without making anything.
import {
  PASSED_REASONS,
  type PassedPayer,
  type PassedReason,
  type PayerChain,
} from '../core/payer.ts'

/** A digit is the place of its reason in their list, and never 0. */
const BASE = PASSED_REASONS.length + 1

/** Nobody was passed over. */
export const NOBODY = 0

export function withPassed(code: number, why: PassedReason): number {
  return code * BASE + PASSED_REASONS.indexOf(why) + 1
}

/** The first `count` places of a chain, which this figure tells of. */
export function passedIn(chain: PayerChain, code: number, count: number): readonly PassedPayer[] {
  const passed: PassedPayer[] = []
  let left = code
  for (let index = count - 1; index >= 0; index--) {
    const { link, walletId = null } = chain[index]!
    passed.unshift({ link, wallet: walletId, why: PASSED_REASONS[(left % BASE) - 1]! })
    left = Math.floor(left / BASE)
  }
  return passed
}

// Who asks for a change, and the record that is written with it: what was before, what is after, and never a
// secret in either.
import type { ClaimRecord } from '../core/claim.ts'
import type { KeyRecord } from '../core/key.ts'
import type { ActionNote } from '../core/record.ts'
import type { Deed } from '../store/store.ts'

export interface Act {
  /** The credential that asks. */
  readonly caller: KeyRecord
  readonly requestId: string
  /** The books' own time. */
  readonly at: number
  /** The Idempotency-Key that it is asked under. */
  readonly claim: ClaimRecord | undefined
}

export type Change = Pick<ActionNote, 'action' | 'target' | 'before' | 'after'>

/** `accountId`: whose it is; the caller's own unless the operator acts on another's. */
export function deedOf(act: Act, change: Change, accountId = act.caller.accountId): Deed {
  const { action, target, before, after } = change
  const body: ActionNote = {
    account: accountId,
    by: act.caller.id,
    action,
    target,
    before,
    after,
  }
  return {
    note: { at: act.at, kind: 'action', requestId: act.requestId, body: JSON.stringify(body) },
    claim: act.claim,
  }
}

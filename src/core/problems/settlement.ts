// A supplier may have worked and the books do not show it yet. Repeating such a call may pay twice,
// so none of these is retryable, whatever its status.
import type { Problem } from './problem.ts'

export const SETTLEMENT = {
  supplier_settlement_failed: {
    status: 500,
    group: 'own',
    blame: 'gateway',
    raised: true,
    explanation: 'The supplier may have done the work, but booking its cost was not confirmed.',
    action: 'Do not send the call again; give the operator the request id.',
  },
  supplier_settlement_unavailable: {
    status: 503,
    group: 'own',
    blame: 'gateway',
    raised: true,
    explanation: 'The call ran, and then the ledger could not be reached to book it.',
    action: 'Leave the call alone until the operator has confirmed what was booked.',
  },
  streaming_settlement_failed: {
    status: 500,
    group: 'own',
    blame: 'gateway',
    raised: true,
    explanation: 'The stream ran, but booking its exact cost did not complete.',
    action:
      'Treat it as unconfirmed and have the operator look up the request id before any repeat.',
  },
  streaming_settlement_cancelled: {
    status: 499,
    also: [500],
    group: 'own',
    blame: 'caller',
    raised: true,
    explanation: 'The stream was cut off before its exact cost was known.',
    action: 'Expect a charge for what was delivered; ask the operator before you repeat the work.',
  },
  streaming_settlement_buffer_exceeded: {
    status: 502,
    group: 'own',
    blame: 'supplier',
    raised: false,
    explanation: 'An answer was too large to be held back until its cost was known.',
    action:
      'Let the operator reconcile the call, then ask for less output or raise the buffer limit.',
  },
  settlement_pending: {
    status: 409,
    also: [503],
    group: 'own',
    blame: 'gateway',
    raised: true,
    explanation: 'The work is done, and its zero-cost entry is still waiting to be booked.',
    action: 'Keep the same body and Idempotency-Key and ask again later; never use a new key.',
  },
  streaming_settlement_required: {
    status: 403,
    group: 'D',
    blame: 'caller',
    raised: false,
    explanation: 'Policy allows streams here only where their cost can be settled exactly.',
    action: 'Choose a route with exact settlement, or ask an administrator to relax the policy.',
  },
  stale_reconciliation_action: {
    status: 412,
    group: 'A',
    blame: 'caller',
    raised: false,
    explanation: 'Somebody resolved this entry since you loaded it.',
    action: 'Reload the entry and decide on its present state.',
  },
  secondary_only_evidence_cannot_stage: {
    status: 422,
    group: 'A',
    blame: 'caller',
    raised: false,
    explanation:
      'Only indirect evidence supports this correction, which is not enough to stage it.',
    action: "Attach the supplier's own usage record.",
  },
} as const satisfies Record<string, Problem>

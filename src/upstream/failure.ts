// Why one attempt at a supplier came to nothing, and what that proves about money.
import type { Evidence } from '../core/audit.ts'
import type { GatewayError } from '../core/problem.ts'

/** Before any content only these can be known. Only the last one can have cost anything. */
export type FailureEvidence = Extract<Evidence, 'unsent' | 'refused' | 'unknown'>

export class AttemptFailure extends Error {
  readonly problem: GatewayError
  readonly evidence: FailureEvidence
  /** No other supplier is asked: it would say the same, or the call is over. */
  readonly isFinal: boolean

  constructor(problem: GatewayError, evidence: FailureEvidence, isFinal = false) {
    super(problem.message, { cause: problem })
    this.name = 'AttemptFailure'
    this.problem = problem
    this.evidence = evidence
    this.isFinal = isFinal
  }
}

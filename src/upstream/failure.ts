// Why one attempt at a supplier came to nothing, what that proves about money, and what it says about the way.
import type { Evidence } from '../core/audit.ts'
import type { GatewayError } from '../core/problem.ts'

/** Before any content only these can be known. Only the last one can have cost anything. */
export type FailureEvidence = Extract<Evidence, 'unsent' | 'refused' | 'unknown'>

export interface FailureOptions {
  /** No other supplier is asked: it would say the same, or the call is over. */
  readonly isFinal?: boolean
  /** How long the supplier wants to be left alone, as it said itself. */
  readonly waitMs?: number | undefined
  /** The supplier's account has no money left. */
  readonly isSpent?: boolean
  /** Nothing was sent, for a reason that lies in the request: it says nothing about the supplier. */
  readonly isUnsayable?: boolean
}

export class AttemptFailure extends Error {
  readonly problem: GatewayError
  readonly evidence: FailureEvidence
  readonly isFinal: boolean
  readonly waitMs: number | undefined
  readonly isSpent: boolean
  readonly isUnsayable: boolean

  constructor(problem: GatewayError, evidence: FailureEvidence, options: FailureOptions = {}) {
    super(problem.message, { cause: problem })
    this.name = 'AttemptFailure'
    this.problem = problem
    this.evidence = evidence
    this.isFinal = options.isFinal === true
    this.waitMs = options.waitMs
    this.isSpent = options.isSpent === true
    this.isUnsayable = options.isUnsayable === true
  }
}

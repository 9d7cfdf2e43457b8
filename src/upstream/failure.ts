// Why one attempt at a supplier came to nothing, and what that proves about money.
import type { GatewayError } from '../core/problem.ts'

/**
 * `unsent` no byte left, `refused` a complete refusal before any output, `unknown` it was sent and the
 * supplier may have worked. Only the last one can have cost anything.
 */
export type Evidence = 'unsent' | 'refused' | 'unknown'

export class AttemptFailure extends Error {
  readonly problem: GatewayError
  readonly evidence: Evidence
  /** No other supplier is asked: it would say the same, or the call is over. */
  readonly isFinal: boolean

  constructor(problem: GatewayError, evidence: Evidence, isFinal = false) {
    super(problem.message, { cause: problem })
    this.name = 'AttemptFailure'
    this.problem = problem
    this.evidence = evidence
    this.isFinal = isFinal
  }
}

// The contract of one row of the error table.

/**
 * What the reader should do. A: correct the request or the resource. B: wait, then repeat. C: mend the
 * credential. D: have the access granted. P: see to the payer. `own`: as the code's own action says.
 */
export type ProblemGroup = 'own' | 'A' | 'B' | 'C' | 'D' | 'P'

export interface Problem {
  readonly status: number
  /** Further statuses that a raise may choose. */
  readonly also?: readonly number[]
  readonly group: ProblemGroup
  readonly blame: 'caller' | 'supplier' | 'gateway'
  /** Waiting cures it unless the raise says otherwise. */
  readonly retryable?: boolean
  /** False: part of the catalogue for clients that know it, never raised by this gateway. */
  readonly raised: boolean
  /** What happened, in one or two sentences. */
  readonly explanation: string
  /** What to do about it, in one or two sentences. */
  readonly action: string
}

// What the operator decides about money where there is no one right answer.

export interface LedgerPolicy {
  /** What becomes of a call whose process died, once it has been in review for so long. */
  readonly recovery: 'charge_estimate' | 'charge_hold' | 'keep'
  readonly recoveryAfterMs: number
  /** Who pays what a call cost beyond its hold: the operator, or the key past its limit. */
  readonly overrun: 'absorb' | 'charge'
  /** What becomes of the supplier's work when a caller hangs up: ended at once, or read to its end. */
  readonly onDisconnect: 'abort' | 'drain'
  /** A request that nothing bounds, on a key with a budget. */
  readonly unbounded: 'refuse' | 'allow'
}

export const DEFAULT_POLICY: LedgerPolicy = {
  recovery: 'charge_estimate',
  recoveryAfterMs: 600_000,
  overrun: 'absorb',
  onDisconnect: 'abort',
  unbounded: 'refuse',
}

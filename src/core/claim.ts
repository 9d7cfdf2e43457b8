// The promise behind an Idempotency-Key: what is asked under it is done once. A claim is written with the
// hold, or with the change, that it is for, so there is never one without the other.

export interface Claim {
  /** SHA-256 of the credential's id and the key that it sent: nobody finds another's. */
  readonly id: string
  /** SHA-256 of method, path and body. */
  readonly fingerprint: string
}

export interface ClaimRecord extends Claim {
  /** Of the request that was carried out. */
  readonly requestId: string
  /** Of the credential: its answers count against its share of what is kept. */
  readonly accountId: string
  /** Wall time. */
  readonly at: number
}

// A sign-in at a native supplier, which calls are made with in place of a credential of the configuration. It belongs
// to one account and is used for what its scope names and nothing else; its tokens are kept sealed.

export interface IdentityRecord extends IdentityScope {
  readonly id: string
  readonly accountId: string
  readonly name: string
  /** The native supplier that it is signed in at, by its id in the configuration. */
  readonly supplierId: string
  /** What the supplier calls the account behind it; undefined where it wants none named. */
  readonly subject: string | undefined
  /** How many calls may run at once by it; undefined: any number. */
  readonly parallelMax: number | undefined
  readonly requestsPerMinute: number | undefined
  readonly createdAt: number
  readonly createdBy: string | undefined
  /** Left alone until somebody takes it into use again. */
  readonly disabledAt: number | undefined
  /** Removed for good, and its tokens with it. */
  readonly endedAt: number | undefined
  readonly tokens: SealedTokens
}

/** What it may be used for. */
export interface IdentityScope {
  /** Calls for projects of this organisation alone; undefined: of the whole account. */
  readonly organisationId: string | undefined
  /** Calls for these projects alone; undefined: for any, and for none. */
  readonly projectIds: readonly string[] | undefined
}

/** What changes with every renewal. */
export interface SealedTokens {
  /** The JSON of `IdentitySecrets`; undefined once it is removed. */
  readonly sealed: Uint8Array | undefined
  /** When the access token ends; undefined where there is none, or nobody said. */
  readonly expiresAt: number | undefined
  /** When the access token was got; undefined for one that was brought along. */
  readonly renewedAt: number | undefined
  /** Its issuer has refused to renew it: somebody must sign in again. */
  readonly refusedAt: number | undefined
}

/** Never in a log, a record or an answer. */
export interface IdentitySecrets {
  readonly accessToken?: string | undefined
  readonly refreshToken?: string | undefined
  /** Of a program that signs itself in. */
  readonly clientId?: string | undefined
  readonly clientSecret?: string | undefined
  /** Whom all of these are for; undefined: whoever the supplier is. */
  readonly hosts?: string | undefined
}

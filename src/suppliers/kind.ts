// The contract of a kind of supplier: what all who have an account there share, as data. A configured
// supplier is its kind, an account and whatever the operator knows better.
import type { Quirks } from '../dialects/dialect.ts'
import type { Signature } from './supplier.ts'

export interface Kind {
  readonly id: string
  /** Undefined where every operator has another one. */
  readonly origin?: string
  /** Addresses that promise a place, by region. The plain origin promises none. */
  readonly regions?: Readonly<Record<string, string>>
  /** Where its chat service is; `{model}` stands for the supplier's own name of the model. */
  readonly path: string
  readonly signature: Signature
  /** Variables that usually hold the credential; the first that is set counts. */
  readonly environment: readonly string[]
  readonly quirks: Quirks
  /** One's own server: no credential, any model, free, and its address is the operator's business. */
  readonly isLocal?: true
  /** The one kind for servers that nobody has described: with or without a credential, anywhere. */
  readonly isGeneric?: true
  /** Which models it serves is set up by the operator there, so none is taken for granted. */
  readonly servesOwn?: true
  /** Its interface has versions, and the operator chooses one: what that changes, or why it cannot be. */
  readonly versionOf?: (version: string | undefined) => KindVersion | VersionFault
}

export interface KindVersion {
  readonly path: string
  readonly quirks: Quirks
}

/** What follows the name of the field. */
export interface VersionFault {
  readonly reason: string
}

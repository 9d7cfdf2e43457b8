// The contract of a kind of supplier: what all who have an account there share, as data. A configured
// supplier is its kind, an account and whatever the operator knows better.
import type { Dialect } from '../dialects/dialect.ts'
import type { Quirks } from '../dialects/quirk.ts'
import type { OAuth, Signature, Supplier } from './supplier.ts'

export interface Kind {
  readonly id: string
  /** Undefined where every operator has another one. */
  readonly origin?: string
  /** Addresses that promise a place, by region. The plain origin promises none. */
  readonly regions?: Readonly<Record<string, string>>
  /** What it speaks and where. */
  readonly services: readonly [KindService, ...KindService[]]
  /** Variables that usually hold the credential; the first that is set counts. */
  readonly environment: readonly string[]
  /** One's own server: no credential, any model, free, and its address is the operator's business. */
  readonly isLocal?: true
  /** The one kind for servers that nobody has described: with or without a credential, anywhere. */
  readonly isGeneric?: true
  /** Which models it serves is set up by the operator there, so none is taken for granted. */
  readonly servesOwn?: true
  /** It is called by sign-ins alone, never by a credential: what is known of these, before the file has its say. */
  readonly oauth?: Partial<OAuth>
  /** The kind by whose lines of the catalogue its models are known; absent: its own. */
  readonly listedAs?: string
  /** Its interface has versions, and the operator chooses one: what that changes, or why it cannot be. */
  readonly versionOf?: (version: string | undefined) => KindVersion | VersionFault
}

export interface KindService {
  readonly dialect: Dialect
  /** `{model}` stands for the supplier's own name of the model. */
  readonly path: string
  readonly signature: Signature
  readonly quirks: Quirks
  /** Where it counts the tokens of a request without answering it; absent: it does not. */
  readonly countPath?: string
  /** How many inputs it takes at once; absent: as many as anybody sends. */
  readonly inputsMax?: number
}

export type KindVersion = Pick<Kind, 'services'>

/** What follows the name of the field. */
export interface VersionFault {
  readonly reason: string
}

/** What a supplier of the kind says of its services: of the first for all of them, of the others what differs. */
export function toServices(
  [first, ...others]: Kind['services'],
  prefix = '',
): Pick<Supplier, 'signature' | 'quirks' | 'services'> {
  const { signature, quirks, dialect, inputsMax } = first
  const services = [
    { dialect, ...pathsOf(first, prefix), ...(inputsMax !== undefined && { inputsMax }) },
    ...others.map((service) => ({ ...service, ...pathsOf(service, prefix) })),
  ]
  return { signature, quirks, services }
}

function pathsOf(
  { path, countPath }: KindService,
  prefix: string,
): Pick<KindService, 'path' | 'countPath'> {
  const own = { path: prefix + path }
  return countPath === undefined ? own : { ...own, countPath: prefix + countPath }
}

// The sign-ins at native suppliers, in memory: whose each is, what it may be used for, and its tokens, which are
// opened when they are first needed. Whatever changes is durable first and used then.
import type { IdentityRecord, IdentitySecrets, SealedTokens } from '../core/identity.ts'
import { GatewayError } from '../core/problem.ts'
import type { Deed, IdentityRepository } from '../store/store.ts'
import type { Vault } from './vault.ts'

export interface IdentityParts {
  readonly repository: IdentityRepository
  readonly vault: Vault
}

/**
 * `refused`: its issuer renews it no more, so that it works as long as its token does. `sealed`: the key that opens its
 * tokens is gone.
 */
export type IdentityState = 'active' | 'disabled' | 'refused' | 'sealed' | 'removed'

/** Of each sign-in: more than are replaced while any call lasts, unless somebody refuses each of them. */
const FORMER_MAX = 16

/** What a renewal, or whoever signs in, brings. */
export interface NewTokens {
  readonly secrets: IdentitySecrets
  readonly expiresAt: number | undefined
  /** Undefined where it was brought along. */
  readonly renewedAt: number | undefined
}

/** One sign-in, as it is now: its record is replaced and it stays. */
export class Identity {
  readonly #parts: IdentityParts
  #record: IdentityRecord
  #secrets: IdentitySecrets | undefined
  #isOpened = false
  /** Access tokens that were replaced or wiped: a call that was sent with one may still be answered. */
  readonly #former: string[] = []

  constructor(record: IdentityRecord, parts: IdentityParts) {
    this.#record = record
    this.#parts = parts
  }

  get record(): IdentityRecord {
    return this.#record
  }

  set record(record: IdentityRecord) {
    if (record.tokens.sealed !== this.#record.tokens.sealed) this.#forget()
    this.#record = record
  }

  get id(): string {
    return this.#record.id
  }

  get name(): string {
    return this.#record.name
  }

  get organisationId(): string | undefined {
    return this.#record.organisationId
  }

  get projectIds(): readonly string[] | undefined {
    return this.#record.projectIds
  }

  get parallelMax(): number | undefined {
    return this.#record.parallelMax
  }

  get requestsPerMinute(): number | undefined {
    return this.#record.requestsPerMinute
  }

  get state(): IdentityState {
    const { endedAt, disabledAt, tokens } = this.#record
    if (endedAt !== undefined) return 'removed'
    if (disabledAt !== undefined) return 'disabled'
    if (this.tokens === undefined) return 'sealed'
    return tokens.refusedAt === undefined ? 'active' : 'refused'
  }

  /** Undefined where they cannot be opened, or are gone. */
  get tokens(): IdentitySecrets | undefined {
    if (!this.#isOpened) {
      this.#secrets = open(this.#record, this.#parts.vault)
      this.#isOpened = true
    }
    return this.#secrets
  }

  /** Whatever must not be seen in what a supplier or an issuer says. */
  secrets(): readonly string[] {
    const { accessToken, refreshToken, clientSecret } = this.tokens ?? {}
    const present = [accessToken, refreshToken, clientSecret].filter((text) => text !== undefined)
    return [...present, ...this.#former]
  }

  #forget(): void {
    if (this.#secrets?.accessToken !== undefined) this.#former.push(this.#secrets.accessToken)
    if (this.#former.length > FORMER_MAX) this.#former.shift()
    this.#secrets = undefined
    this.#isOpened = false
  }
}

export class Identities {
  readonly #parts: IdentityParts
  /** By account, then by id, oldest first. */
  readonly #identities = new Map<string, Map<string, Identity>>()
  /** How often anything of an account has changed that decides who may be asked. */
  readonly #versions = new Map<string, number>()

  constructor(parts: IdentityParts) {
    this.#parts = parts
  }

  /** As it is durable. */
  put(record: IdentityRecord): Identity {
    const { accountId, id } = record
    const own = this.#identities.get(accountId) ?? new Map<string, Identity>()
    this.#identities.set(accountId, own)
    const identity = own.get(id) ?? new Identity(record, this.#parts)
    identity.record = record
    own.set(id, identity)
    this.#versions.set(accountId, this.version(accountId) + 1)
    return identity
  }

  /** Undefined for what there is not, and for another account's. What was removed is still found. */
  find(accountId: string, id: string): Identity | undefined {
    return this.#identities.get(accountId)?.get(id)
  }

  /** Oldest first, removed ones among them. */
  list(accountId: string): Iterable<Identity> {
    return this.#identities.get(accountId)?.values() ?? []
  }

  countOf(accountId: string): number {
    return this.#identities.get(accountId)?.size ?? 0
  }

  /** Another number whenever another list of who may be asked could come of it. */
  version(accountId: string): number {
    return this.#versions.get(accountId) ?? 0
  }

  /** Throws where there is no key to seal with: nothing is kept in the clear. */
  seal(id: string, { secrets, expiresAt, renewedAt }: NewTokens): SealedTokens {
    const bytes = new TextEncoder().encode(JSON.stringify(secrets))
    const sealed = this.#parts.vault.seal(bytes, contextOf(id))
    if (sealed !== undefined) return { sealed, expiresAt, renewedAt, refusedAt: undefined }
    throw new GatewayError(
      'service_unavailable',
      'The tokens were not kept, because there is no key to encrypt them with. Set GATEWAY_SECRET_KEY, or let the gateway write the folder that its data folder is in, and start it again.',
    )
  }

  /** Of a renewal, or of somebody who signs in again. Resolves when they may be used. */
  async keep(identity: Identity, tokens: NewTokens, deed?: Deed): Promise<void> {
    await this.#keep(identity, this.seal(identity.id, tokens), deed)
  }

  /** Its issuer renews it no more. */
  async refuse(identity: Identity, at: number): Promise<void> {
    await this.#keep(identity, { ...identity.record.tokens, refusedAt: at })
  }

  async #keep(identity: Identity, tokens: SealedTokens, deed?: Deed): Promise<void> {
    const { accountId, id } = identity.record
    const before = identity.state
    const replaces = identity.record.tokens.sealed
    const how = { deed, replaces: deed === undefined ? replaces : undefined }
    const isThere = await this.#parts.repository.keepTokens(accountId, id, tokens, how)
    // Whatever was changed meanwhile counts: only the tokens are others.
    const { record } = identity
    if (!isThere || record.endedAt !== undefined) return
    identity.record = { ...record, tokens }
    // Most renewals change nothing for those who choose.
    if (identity.state !== before) this.put(identity.record)
  }
}

/** What was sealed for one identity opens for no other. */
function contextOf(id: string): string {
  return `identity ${id}`
}

function open({ id, tokens }: IdentityRecord, vault: Vault): IdentitySecrets | undefined {
  const bytes = tokens.sealed && vault.open(tokens.sealed, contextOf(id))
  if (bytes === undefined) return undefined
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- authenticated, so it is what was sealed above
  return JSON.parse(new TextDecoder().decode(bytes)) as IdentitySecrets
}

// A sign-in whose tokens are kept in memory as a store keeps them: sealed, durable when it says so, and slow or broken
// when it is told to be.
import { Identities, type Identity, type NewTokens } from '../../src/access/identities.ts'
import { NATIVE_TOKENS, Vault } from '../../src/access/vault.ts'
import type { IdentityRecord, IdentitySecrets, SealedTokens } from '../../src/core/identity.ts'
import { Secret } from '../../src/core/secret.ts'
import type { IdentityRepository } from '../../src/store/store.ts'
import { SEAL_CANARY } from './canary.ts'

/** What is durable of one sign-in. */
export class TokenStore implements IdentityRepository {
  record: IdentityRecord | undefined
  /** How often tokens were handed over. */
  writes = 0
  /** Set: nothing becomes durable. */
  failure: Error | undefined
  #gate: PromiseWithResolvers<void> | undefined
  readonly #waiting: (() => void)[] = []

  /** From now on nothing is answered, until what this returns is called. */
  hold(): () => void {
    const held = Promise.withResolvers<void>()
    this.#gate = held
    return () => {
      this.#gate = undefined
      held.resolve()
    }
  }

  /** Well again, for another process: what waits belongs to one that is dead. */
  mend(): void {
    this.#gate = undefined
    this.failure = undefined
  }

  /** Resolves when tokens have been handed over so often. */
  async written(times: number): Promise<void> {
    while (this.writes < times) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  async insert(record: IdentityRecord): Promise<void> {
    this.record = record
  }

  async update(record: IdentityRecord): Promise<void> {
    this.record = { ...record, tokens: this.record?.tokens ?? record.tokens }
  }

  async keepTokens(accountId: string, id: string, tokens: SealedTokens): Promise<boolean> {
    this.writes += 1
    for (const wake of this.#waiting.splice(0)) wake()
    await this.#gate?.promise
    if (this.failure !== undefined) throw this.failure
    const { record } = this
    if (record?.accountId !== accountId || record.id !== id || record.endedAt !== undefined)
      return false
    this.record = { ...record, tokens }
    return true
  }
}

export interface OpenedSignIn {
  readonly store: TokenStore
  readonly identities: Identities
  readonly identity: Identity
  /** Changes it as management does: durable, then in memory. */
  change(changes: Partial<IdentityRecord>): Promise<void>
  /** As another process would find it. */
  reopen(): OpenedSignIn
}

export function openSignIn(
  secrets: IdentitySecrets,
  times: Partial<Omit<NewTokens, 'secrets'>> = {},
): OpenedSignIn {
  const store = new TokenStore()
  const { expiresAt, renewedAt } = times
  const id = 'nid_1'
  const tokens = open(store).seal(id, { secrets, expiresAt, renewedAt })
  store.record = { ...RECORD, id, tokens }
  return reopen(store)
}

const RECORD = {
  accountId: 'acc_1',
  name: 'Ada',
  supplierId: 'fake',
  subject: 'subject-1',
  organisationId: undefined,
  projectIds: undefined,
  parallelMax: undefined,
  requestsPerMinute: undefined,
  createdAt: 0,
  createdBy: undefined,
  disabledAt: undefined,
  endedAt: undefined,
} as const satisfies Omit<IdentityRecord, 'id' | 'tokens'>

function open(repository: TokenStore): Identities {
  const secret = new Secret(SEAL_CANARY)
  const vault = new Vault({ purpose: NATIVE_TOKENS, secret, file: '', warn: () => {} })
  return new Identities({ repository, vault })
}

function reopen(store: TokenStore): OpenedSignIn {
  const identities = open(store)
  const identity = identities.put(store.record!)
  return {
    store,
    identities,
    identity,
    async change(changes) {
      const record = { ...identity.record, ...changes }
      await store.insert(record)
      identities.put(record)
    },
    reopen: () => reopen(store),
  }
}

// Sign-ins in memory: what is durable first is used then, what belongs to one opens for no other, and whatever must not
// be seen is known.
import { describe, expect, it } from 'bun:test'
import { sampleIdentity } from '../../test/contracts/identities.ts'
import { openSignIn } from '../../test/fakes/sign-ins.ts'
import { Secret } from '../core/secret.ts'
import type { TokenChange } from '../store/store.ts'
import { Identities } from './identities.ts'
import { NATIVE_TOKENS, Vault } from './vault.ts'

const SECRETS = { accessToken: 'access', refreshToken: 'refresh', clientSecret: 'secret' }
const TIMES = { expiresAt: undefined, renewedAt: undefined }

describe('the tokens of a sign-in', () => {
  it('are all kept from whoever is told what a supplier says', () => {
    const { identity } = openSignIn({ ...SECRETS, clientId: 'program' })
    expect(identity.secrets().toSorted()).toEqual(['access', 'refresh', 'secret'])
  })

  it('open for no other sign-in', () => {
    const { identities, identity } = openSignIn(SECRETS)
    const other = identities.put({ ...identity.record, id: 'nid_2' })
    expect([identity.state, other.state]).toEqual(['active', 'sealed'])
    expect(other.secrets()).toEqual([])
  })

  it('stay wiped where it is removed while others are being kept', async () => {
    const signIn = openSignIn(SECRETS)
    const { identities, identity, store } = signIn
    const release = store.hold()
    const keeping = identities.keep(identity, { secrets: { accessToken: 'next' }, ...TIMES })
    await store.written(1)
    const tokens = { ...identity.record.tokens, sealed: undefined }
    await signIn.change({ endedAt: 5, tokens })
    store.record = { ...store.record!, endedAt: undefined }
    release()
    await keeping
    expect([identity.state, identity.tokens]).toEqual(['removed', undefined])
  })

  it('that a renewal brings replace none but those that it began with', async () => {
    const changes: (TokenChange | undefined)[] = []
    const identities = new Identities({
      repository: {
        insert: () => Promise.resolve(),
        update: () => Promise.resolve(),
        keepTokens(_account, _id, _tokens, how) {
          changes.push(how)
          return Promise.resolve(true)
        },
      },
      vault: new Vault({
        purpose: NATIVE_TOKENS,
        secret: new Secret('s'.repeat(32)),
        file: '/nowhere/gateway.key',
        warn() {},
      }),
    })
    const identity = identities.put(sampleIdentity('acc_1'))
    const { sealed } = identity.record.tokens
    await identities.keep(identity, { secrets: SECRETS, ...TIMES })
    expect(changes).toMatchObject([{ replaces: sealed }])
  })
})

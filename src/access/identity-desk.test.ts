// What only a desk can show whose database and whose neighbours do as they are told: a renewal in between, a database
// that fails half-way, a key that is gone.
import { afterEach, beforeEach, expect, it } from 'bun:test'
import { createFakeClock } from '../../test/fakes/clock.ts'
import type { ClaimRecord } from '../core/claim.ts'
import type { SealedTokens } from '../core/identity.ts'
import { NO_LIMITS, NO_TIES, type KeyRecord } from '../core/key.ts'
import type { ActionNote } from '../core/record.ts'
import type { Deed, IdentityRepository } from '../store/store.ts'
import type { Act } from './act.ts'
import { IDENTITIES_MAX } from './bounds.ts'
import { Directory } from './directory.ts'
import { Identities, type Identity } from './identities.ts'
import {
  createIdentity,
  patchIdentity,
  removeIdentity,
  type IdentityDesk,
} from './identity-desk.ts'
import { Keyring } from './keyring.ts'
import type { Vault } from './vault.ts'

const ROOT: KeyRecord = {
  ...NO_LIMITS,
  ...NO_TIES,
  id: 'key_root',
  accountId: 'acc_1',
  kind: 'root',
  name: 'root',
  hash: 'hash',
  createdAt: 0,
}
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nobody looks into it
const CLAIM = { id: 'claim' } as unknown as ClaimRecord
const ACT: Act = { caller: ROOT, requestId: 'req_1', at: 5, claim: CLAIM }

let deeds: Deed[]
/** Done before the next change is durable. */
let meanwhile: () => Promise<void>
let isSealing: boolean
let desk: IdentityDesk

function write(deed: Deed | undefined): void {
  if (deed !== undefined) deeds.push(deed)
}

const REPOSITORY: IdentityRepository = {
  insert: (_record, deed) => Promise.resolve(write(deed)),
  async update(_record, deed) {
    const once = meanwhile
    meanwhile = () => Promise.resolve()
    await once()
    write(deed)
  },
  keepTokens(_accountId, _id, _tokens, { deed } = {}) {
    write(deed)
    return Promise.resolve(true)
  },
}

beforeEach(() => {
  deeds = []
  meanwhile = () => Promise.resolve()
  isSealing = true
  const clock = createFakeClock()
  const directory = new Directory()
  const vault: Pick<Vault, 'seal' | 'open' | 'canSeal'> = {
    canSeal: () => isSealing,
    seal: (bytes) => (isSealing ? bytes : undefined),
    open: (bytes) => bytes,
  }
  desk = {
    repository: REPOSITORY,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- all of it that is used
    identities: new Identities({ repository: REPOSITORY, vault: vault as Vault }),
    directory,
    keyring: new Keyring([ROOT], clock, directory),
    clock,
    places: [{ id: 'native', grant: 'refresh_token', clientId: 'program', hosts: 'here there' }],
    readClaims: () => ({}),
  }
})

afterEach(() => {
  expect(JSON.stringify(deeds)).not.toContain('secret-')
})

function signIn(changes: object = {}): Promise<Identity> {
  const body = { name: 'Jo', supplier: 'native', refresh_token: `secret-${crypto.randomUUID()}` }
  return createIdentity(desk, ACT, { ...body, ...changes })
}

function change(identity: Identity, body: object): Promise<Identity> {
  return patchIdentity(desk, ACT, { id: identity.id, body: { ...body } })
}

/** Undefined where nothing is refused. */
function refusalOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
}

function actions(): readonly string[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by the desk
  return deeds.map(({ note }) => (JSON.parse(note.body) as ActionNote).action)
}

const RENEWED: SealedTokens = {
  sealed: new TextEncoder().encode('{"accessToken":"secret-renewed"}'),
  expiresAt: 9,
  renewedAt: 8,
  refusedAt: undefined,
}

it('a change keeps the tokens that a renewal brings while it is written', async () => {
  const identity = await signIn()
  meanwhile = () => {
    desk.identities.put({ ...identity.record, tokens: RENEWED })
    return Promise.resolve()
  }
  await change(identity, { name: 'Kim' })
  expect(identity.name).toBe('Kim')
  expect(identity.tokens).toEqual({ accessToken: 'secret-renewed' })
  expect(identity.record.tokens).toEqual(RENEWED)
})

it('a removal wipes the tokens that a renewal brings while it is written', async () => {
  const identity = await signIn()
  meanwhile = () => {
    desk.identities.put({ ...identity.record, tokens: RENEWED })
    return Promise.resolve()
  }
  await removeIdentity(desk, ACT, identity.id)
  expect([identity.state, identity.tokens]).toEqual(['removed', undefined])
  expect(identity.record.tokens).toMatchObject({ sealed: undefined, expiresAt: undefined })
})

it('signing in again has a refusal forgotten', async () => {
  const identity = await signIn()
  await desk.identities.refuse(identity, 7)
  expect(identity.state).toBe('refused')
  await change(identity, { name: 'Kim' })
  expect(identity.state).toBe('refused')
  await change(identity, { refresh_token: 'secret-new' })
  expect(identity.state).toBe('active')
  expect(identity.tokens?.refreshToken).toBe('secret-new')
})

it('what is done under an Idempotency-Key counts as done with the last of it', async () => {
  const identity = await signIn()
  deeds = []
  await change(identity, { refresh_token: 'secret-new', name: 'Kim' })
  expect(actions()).toEqual(['identity.sign_in', 'identity.update'])
  expect(deeds.map(({ claim }) => claim)).toEqual([undefined, CLAIM])
  await change(identity, { refresh_token: 'secret-newer' })
  expect(deeds.at(-1)?.claim).toBe(CLAIM)
})

it('nothing is kept, and nothing changed, where tokens cannot be encrypted', async () => {
  const identity = await signIn()
  deeds = []
  isSealing = false
  const refused = { code: 'service_unavailable' }
  expect(await refusalOf(signIn())).toMatchObject(refused)
  expect(
    await refusalOf(change(identity, { refresh_token: 'secret-x', name: 'Kim' })),
  ).toMatchObject(refused)
  await change(identity, { parallel_max: 2 })
  expect([actions(), identity.name]).toEqual([['identity.update'], 'Jo'])
})

it('a change that is not durable is none', async () => {
  const identity = await signIn()
  meanwhile = () => Promise.reject(new Error('the disk is full'))
  expect(await refusalOf(change(identity, { name: 'Kim' }))).toMatchObject({
    message: 'the disk is full',
  })
  await change(identity, { parallel_max: 2 })
  expect([identity.name, identity.parallelMax]).toEqual(['Jo', 2])
})

it('where the supplier is gone, one can be changed and removed, and nobody signs in again', async () => {
  const identity = await signIn()
  desk = { ...desk, places: [] }
  expect(await refusalOf(change(identity, { refresh_token: 'secret-x' }))).toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('no native supplier native'),
  })
  await change(identity, { disabled: true })
  expect(identity.state).toBe('disabled')
  expect(() => signIn()).toThrow('There is none yet')
  await removeIdentity(desk, ACT, identity.id)
})

it('where the supplier has moved, nothing of what was there before is taken along', async () => {
  const program = { id: 'native', grant: 'client_credentials', clientId: undefined } as const
  desk = { ...desk, places: [{ ...program, hosts: 'old' }] }
  const client = { client_id: 'me', client_secret: 'secret-client' }
  const identity = await signIn({ ...client, refresh_token: null })
  await change(identity, { client_id: 'still me' })
  desk = { ...desk, places: [{ ...program, hosts: 'new' }] }
  expect(await refusalOf(change(identity, { client_id: 'me' }))).toMatchObject({
    code: 'missing_fields',
    param: 'client_secret',
  })
  await change(identity, client)
  expect(identity.tokens?.hosts).toBe('new')
})

it('there may be only so many of one account', async () => {
  const { record } = await signIn()
  for (let count = 1; count < IDENTITIES_MAX; count++)
    desk.identities.put({ ...record, id: `nid_${count}` })
  expect(await refusalOf(signIn())).toMatchObject({
    code: 'conflict',
    details: { limit: IDENTITIES_MAX },
  })
})

// The part of the store's contract that is about native sign-ins: what is kept of them, that settings and tokens are
// changed apart, and that what is removed keeps no token.
import { beforeEach, describe, expect, it } from 'bun:test'
import type { IdentityRecord, SealedTokens } from '../../src/core/identity.ts'
import { createId } from '../../src/core/ids.ts'
import type { LedgerRecord } from '../../src/core/record.ts'
import type { LedgerStore } from './ledger.ts'
import { NOW, sampleClaim, sampleDeed } from './samples.ts'
import { sampleOrganisation } from './tenancy.ts'

const TOKENS: SealedTokens = {
  sealed: Uint8Array.from({ length: 5000 }, (_, index) => index % 251),
  expiresAt: NOW + 3_600_000,
  renewedAt: undefined,
  refusedAt: undefined,
}

const RENEWED: SealedTokens = {
  sealed: Uint8Array.of(0, 255, 7),
  expiresAt: undefined,
  renewedAt: NOW + 5,
  refusedAt: NOW + 6,
}

export function sampleIdentity(
  accountId: string,
  change: Partial<IdentityRecord> = {},
): IdentityRecord {
  return {
    id: createId('nid'),
    accountId,
    name: 'plain',
    supplierId: 'a-supplier',
    subject: undefined,
    organisationId: undefined,
    projectIds: undefined,
    parallelMax: undefined,
    requestsPerMinute: undefined,
    createdAt: NOW,
    createdBy: undefined,
    disabledAt: undefined,
    endedAt: undefined,
    tokens: TOKENS,
    ...change,
  }
}

/** All that an update may write. */
const SETTINGS: Partial<IdentityRecord> = {
  name: "Zoë's \"sign-in\" 'x'; DROP TABLE identities --",
  subject: 'söme-subject',
  organisationId: 'org_a',
  projectIds: ['prj_a', 'prj,"b"'],
  parallelMax: 3,
  requestsPerMinute: 60,
  disabledAt: NOW + 1,
}

const thrownBy = (work: Promise<unknown>): Promise<unknown> =>
  work.then(() => undefined).catch((thrown: unknown) => thrown)

export function describeIdentities({ store, reopen }: LedgerStore): void {
  describe('identities', () => {
    let accountId: string

    beforeEach(async () => {
      accountId = (await store().load()).accountId
      const account = { id: 'acc_b', name: 'other', createdAt: NOW, endedAt: undefined }
      await store().tenancy.put(
        [
          { type: 'account', record: account },
          { type: 'organisation', record: sampleOrganisation({ accountId }) },
          {
            type: 'organisation',
            record: sampleOrganisation({ id: 'org_b', accountId: account.id }),
          },
        ],
        sampleDeed(),
      )
    })

    const insert = async (change: Partial<IdentityRecord> = {}): Promise<IdentityRecord> => {
      const record = sampleIdentity(accountId, change)
      await store().identities.insert(record, sampleDeed())
      return record
    }

    const load = async (): Promise<readonly IdentityRecord[]> => (await store().load()).identities

    const lastRecords = async (after: number): Promise<readonly LedgerRecord[]> =>
      (await store().ledger.records(after, 10)).map(({ record }) => record)

    const lastNumber = async (): Promise<number> => (await store().ledger.head()).last.number

    it('are as they were inserted, of every account, oldest first', async () => {
      const bare = await insert()
      const nobody = await insert({ projectIds: [] })
      const full = await insert({ ...SETTINGS, createdBy: 'key_a', tokens: RENEWED })
      const other = await insert({ accountId: 'acc_b', organisationId: 'org_b' })
      const none = { sealed: undefined, expiresAt: undefined }
      const ended = await insert({ endedAt: NOW + 9, tokens: { ...RENEWED, ...none } })
      const expected = [bare, nobody, full, other, ended]
      expect(await load()).toStrictEqual(expected)
      await reopen()
      expect(await load()).toStrictEqual(expected)
    })

    it('take new settings and lose old ones, and stay what they are', async () => {
      const [record, beside] = [await insert({ createdBy: 'key_a' }), await insert()]
      const strange = { supplierId: 'other', createdAt: 1, createdBy: 'key_b' }
      await store().identities.update({ ...record, ...SETTINGS, ...strange }, sampleDeed())
      await reopen()
      expect(await load()).toStrictEqual([{ ...record, ...SETTINGS }, beside])
      await store().identities.update(record, sampleDeed())
      expect(await load()).toStrictEqual([record, beside])
    })

    it('keep their tokens through a change, and a change through a renewal', async () => {
      const record = await insert()
      const keep = (tokens: SealedTokens): Promise<boolean> =>
        store().identities.keepTokens(accountId, record.id, tokens)
      expect(await keep(RENEWED)).toBe(true)
      // Whoever makes the change still has the tokens of before.
      await store().identities.update({ ...record, ...SETTINGS }, sampleDeed())
      expect(await load()).toStrictEqual([{ ...record, ...SETTINGS, tokens: RENEWED }])
      expect(await keep(TOKENS)).toBe(true)
      await reopen()
      expect(await load()).toStrictEqual([{ ...record, ...SETTINGS, tokens: TOKENS }])
    })

    it('keep what somebody has signed in with against a renewal of what was there before', async () => {
      const record = await insert()
      const keep = (tokens: SealedTokens, replaces: SealedTokens): Promise<boolean> =>
        store().identities.keepTokens(accountId, record.id, tokens, { replaces: replaces.sealed })
      expect(await keep(RENEWED, TOKENS)).toBe(true)
      expect(await keep(TOKENS, TOKENS)).toBe(false)
      expect(await load()).toStrictEqual([{ ...record, tokens: RENEWED }])
    })

    it('are removed for good, and their tokens with them', async () => {
      const [record, beside] = [await insert({ tokens: { ...RENEWED, ...TOKENS } }), await insert()]
      await store().identities.keepTokens(accountId, record.id, { ...RENEWED, expiresAt: NOW })
      await store().identities.update({ ...record, endedAt: NOW + 7 }, sampleDeed())
      const tokens = { ...RENEWED, sealed: undefined, expiresAt: undefined }
      const ended = { ...record, endedAt: NOW + 7, tokens }
      expect(await load()).toStrictEqual([ended, beside])
      expect(await store().identities.keepTokens(accountId, record.id, TOKENS)).toBe(false)
      // A change that began before, and one that removes it again.
      await store().identities.update({ ...record, name: 'late' }, sampleDeed())
      await store().identities.update({ ...record, endedAt: NOW + 8 }, sampleDeed())
      await reopen()
      expect(await load()).toStrictEqual([ended, beside])
    })

    it('of another account, or of nobody, are neither changed nor given tokens', async () => {
      const record = await insert()
      const { identities } = store()
      expect(await identities.keepTokens('acc_b', record.id, RENEWED)).toBe(false)
      expect(await identities.keepTokens(accountId, 'nid_none', RENEWED)).toBe(false)
      for (const wrong of [{ accountId: 'acc_b' }, { id: 'nid_none' }])
        // oxlint-disable-next-line no-await-in-loop -- cases of one sentence
        expect(
          await thrownBy(
            identities.update({ ...record, ...wrong, name: 'stolen', endedAt: NOW }, sampleDeed()),
          ),
        ).toMatchObject({ code: 'internal_error' })
      expect(await load()).toStrictEqual([record])
    })

    it('stand in no account or organisation that is not there or is another’s', async () => {
      const record = await insert()
      const wrongs: readonly Partial<IdentityRecord>[] = [
        { accountId: 'acc_none' },
        { organisationId: 'org_none' },
        { organisationId: 'org_b' },
      ]
      for (const wrong of wrongs) {
        const made = sampleIdentity(accountId, wrong)
        // oxlint-disable-next-line no-await-in-loop -- cases of one sentence
        expect(await thrownBy(store().identities.insert(made, sampleDeed()))).toBeDefined()
      }
      const moved = { ...record, organisationId: 'org_b' }
      expect(await thrownBy(store().identities.update(moved, sampleDeed()))).toBeDefined()
      expect(await load()).toStrictEqual([record])
    })

    it('are written together with the record of who did it and its claim', async () => {
      const before = await lastNumber()
      const record = sampleIdentity(accountId)
      const deeds = ['create', 'update', 'sign_in'].map((verb) =>
        sampleDeed({ action: `identity.${verb}`, target: record.id }, sampleClaim()),
      )
      const { identities, claims } = store()
      await identities.insert(record, deeds[0]!)
      await identities.update({ ...record, name: 'other' }, deeds[1]!)
      expect(await identities.keepTokens(accountId, record.id, RENEWED, { deed: deeds[2] })).toBe(
        true,
      )
      // A renewal is nobody's deed.
      await identities.keepTokens(accountId, record.id, TOKENS)
      const notes = deeds.map(({ note }) => ({ type: 'note', note }) as const)
      expect(await lastRecords(before)).toEqual(notes)
      for (const { claim } of deeds)
        // oxlint-disable-next-line no-await-in-loop -- one after another
        expect(await claims.find(claim!.id)).toMatchObject({ id: claim!.id })
    })

    it('leave no record and no claim of what was refused', async () => {
      const record = await insert()
      await store().identities.update({ ...record, endedAt: NOW }, sampleDeed())
      const [before, kept] = [await lastNumber(), await load()]
      const claim = sampleClaim()
      const { identities } = store()
      const again = identities.insert({ ...record, name: 'again' }, sampleDeed({}, claim))
      expect(await thrownBy(again)).toMatchObject({ code: 'conflict', retryable: false })
      const unknown = { ...record, id: 'nid_none' }
      expect(await thrownBy(identities.update(unknown, sampleDeed({}, claim)))).toBeDefined()
      const late = identities.keepTokens(accountId, record.id, TOKENS, {
        deed: sampleDeed({}, claim),
      })
      expect(await late).toBe(false)
      expect(await lastRecords(before)).toEqual([])
      expect(await store().claims.find(claim.id)).toBeUndefined()
      expect(await load()).toStrictEqual(kept)
    })

    it('may follow one another to the last tokens when many are kept at once', async () => {
      const record = await insert()
      const all = Array.from({ length: 50 }, (_, index) => ({ ...RENEWED, renewedAt: NOW + index }))
      const kept = all.map((tokens) => store().identities.keepTokens(accountId, record.id, tokens))
      expect(new Set(await Promise.all(kept))).toEqual(new Set([true]))
      await reopen()
      expect(await load()).toStrictEqual([{ ...record, tokens: all.at(-1)! }])
    })
  })
}

// The part of the store's contract that is about who belongs to whom, and who changed what.
import { describe, expect, it } from 'bun:test'
import { toNanoUsd } from '../../src/core/money.ts'
import type { NoteRecord } from '../../src/core/record.ts'
import type {
  AccountRecord,
  OrganisationRecord,
  ProjectRecord,
  TeamRecord,
  TenancyRecord,
  UserRecord,
  WalletRecord,
} from '../../src/core/tenancy.ts'
import type { ActionQuery } from '../../src/store/store.ts'
import type { LedgerStore } from './ledger.ts'
import { creditDeed, LARGEST, NOW, readAll, sampleDeed, sampleKey } from './samples.ts'

const OWNED = { accountId: 'acc_a', name: "a 'name'", createdAt: NOW, endedAt: undefined }

export function sampleUser(change: Partial<UserRecord> = {}): UserRecord {
  return { ...OWNED, id: 'usr_a', email: undefined, ...change }
}

export function sampleProject(change: Partial<ProjectRecord> = {}): ProjectRecord {
  const nobody = { organisationId: undefined, delegateUserId: undefined, pinnedPayer: undefined }
  return { ...OWNED, id: 'prj_a', ...nobody, metadata: {}, ...change }
}

export function sampleTeam(change: Partial<TeamRecord> = {}): TeamRecord {
  return { ...OWNED, id: 'team_a', projectIds: [], ...change }
}

export function sampleWallet(change: Partial<WalletRecord> = {}): WalletRecord {
  const open = { creditLine: undefined, spendingLimit: undefined, spendingPeriod: undefined }
  return { ...OWNED, id: 'wal_a', owner: 'account', ownerId: 'acc_a', ...open, ...change }
}

export function sampleOrganisation(change: Partial<OrganisationRecord> = {}): OrganisationRecord {
  return { ...OWNED, id: 'org_a', billingUserId: undefined, usesNative: true, ...change }
}

const ACCOUNT: AccountRecord = { id: 'acc_a', name: 'Zoë', createdAt: NOW, endedAt: undefined }

/** An account with one of each, every field of which is filled, in no order. */
const FULL: readonly TenancyRecord[] = [
  {
    type: 'wallet',
    record: sampleWallet({
      id: 'wal_p',
      owner: 'project',
      ownerId: 'prj_a',
      creditLine: toNanoUsd(0),
      spendingLimit: LARGEST,
      spendingPeriod: 'rolling',
    }),
  },
  { type: 'wallet', record: sampleWallet() },
  { type: 'team', record: sampleTeam({ projectIds: ['prj_a', 'prj_b'] }) },
  {
    type: 'project',
    record: sampleProject({
      organisationId: 'org_a',
      delegateUserId: 'usr_a',
      pinnedPayer: 'delegate',
      metadata: { '': 'ü' },
    }),
  },
  { type: 'project', record: sampleProject({ id: 'prj_b' }) },
  {
    type: 'organisation',
    record: sampleOrganisation({ billingUserId: 'usr_a', usesNative: false }),
  },
  { type: 'user', record: sampleUser({ email: 'a@b.example' }) },
  { type: 'account', record: ACCOUNT },
]

const TYPES = ['account', 'user', 'organisation', 'project', 'team', 'wallet']

export function describeTenancy({ store, reopen }: LedgerStore): void {
  const root = sampleKey('acc_a', { kind: 'root' })
  const openAccount = (): Promise<void> => store().tenancy.open(FULL, root, sampleDeed())
  /** What there is of the account that a test opened. */
  const load = async (): Promise<readonly TenancyRecord[]> => {
    const { accountId, tenancy } = await store().load()
    return tenancy.filter(
      ({ record }) => ('accountId' in record ? record.accountId : record.id) !== accountId,
    )
  }

  describe('tenancy', () => {
    it('begins with an account and a wallet of an open end, which stay', async () => {
      const { accountId, tenancy } = await store().load()
      expect(tenancy).toMatchObject([
        { type: 'account', record: { id: accountId, endedAt: undefined } },
        {
          type: 'wallet',
          record: {
            id: expect.stringMatching(/^wal_[\w-]{16,}$/),
            accountId,
            owner: 'account',
            ownerId: accountId,
            name: 'account',
            creditLine: undefined,
            spendingLimit: undefined,
            endedAt: undefined,
          },
        },
      ])
      await reopen()
      expect((await store().load()).tenancy).toStrictEqual(tenancy)
    })

    it('keeps every field, and tells each type after those that it refers to', async () => {
      await openAccount()
      const expected = FULL.toSorted((a, b) => TYPES.indexOf(a.type) - TYPES.indexOf(b.type))
      expect(await load()).toEqual([...expected])
      await reopen()
      expect(await load()).toEqual([...expected])
      expect((await store().load()).keys).toStrictEqual([root])
    })

    it('replaces what may change, and leaves it in its place', async () => {
      await openAccount()
      const ended = { name: 'other', endedAt: NOW + 5 }
      const strange = { createdAt: 1, ...ended }
      const changed: readonly TenancyRecord[] = [
        { type: 'account', record: { ...ACCOUNT, ...strange } },
        { type: 'user', record: sampleUser(strange) },
        { type: 'organisation', record: sampleOrganisation(strange) },
        { type: 'project', record: sampleProject(strange) },
        { type: 'team', record: sampleTeam(strange) },
        { type: 'wallet', record: sampleWallet({ ...strange, owner: 'user', ownerId: 'usr_a' }) },
      ]
      await store().tenancy.put(changed, sampleDeed())
      await reopen()
      const found = await load()
      for (const { type, record } of changed) {
        const entry = found.find((other) => other.type === type && other.record.id === record.id)
        const fixed = type === 'wallet' ? { owner: 'account', ownerId: 'acc_a' } : {}
        expect(entry).toEqual({ type, record: { ...record, createdAt: NOW, ...fixed } } as never)
      }
      expect(found.map(({ record }) => record.id)).toEqual(
        FULL.toSorted((a, b) => TYPES.indexOf(a.type) - TYPES.indexOf(b.type)).map(
          ({ record }) => record.id,
        ),
      )
    })

    it('takes all of a change or nothing, the record of it included', async () => {
      await openAccount()
      const before = await load()
      const cases: readonly (readonly [TenancyRecord, unknown])[] = [
        [
          { type: 'wallet', record: sampleWallet({ id: 'wal_second' }) },
          { code: 'conflict', retryable: false },
        ],
        [
          { type: 'project', record: sampleProject({ id: 'prj_c', organisationId: 'org_none' }) },
          {},
        ],
        [{ type: 'user', record: sampleUser({ id: 'usr_c', accountId: 'acc_none' }) }, {}],
      ]
      const { last } = await store().ledger.head()
      for (const [wrong, refusal] of cases) {
        const good: TenancyRecord = { type: 'user', record: sampleUser({ name: 'changed' }) }
        const put = store().tenancy.put([good, wrong], sampleDeed())
        // oxlint-disable-next-line no-await-in-loop -- cases of one sentence
        expect(await put.catch((thrown: unknown) => thrown)).toMatchObject(refusal as object)
      }
      const again = store().tenancy.open(FULL, root, sampleDeed())
      expect(await again.catch((thrown: unknown) => thrown)).toMatchObject({ code: 'conflict' })
      expect(await load()).toEqual([...before])
      expect((await store().ledger.head()).last).toEqual(last)
    })

    it('lets nothing stand in, or move to, another account', async () => {
      const { accountId } = await store().load()
      await openAccount()
      const before = await load()
      for (const wrong of [
        { type: 'user', record: sampleUser({ accountId, name: 'stolen' }) },
        { type: 'wallet', record: sampleWallet({ accountId, name: 'stolen' }) },
        {
          type: 'project',
          record: sampleProject({ id: 'prj_x', accountId, organisationId: 'org_a' }),
        },
      ] as const)
        // oxlint-disable-next-line no-await-in-loop -- cases of one sentence
        expect(
          await store()
            .tenancy.put([wrong], sampleDeed())
            .catch((thrown: unknown) => thrown),
        ).toMatchObject({ code: 'internal_error' })
      expect(await load()).toEqual([...before])
    })

    it('lets a wallet follow one that is closed, and opens none by itself in its place', async () => {
      await openAccount()
      const closed = sampleWallet({ endedAt: NOW + 1 })
      await store().tenancy.put([{ type: 'wallet', record: closed }], sampleDeed())
      await reopen()
      const wallets = async (): Promise<readonly string[]> =>
        (await load()).flatMap(({ type, record }) => (type === 'wallet' ? [record.id] : []))
      expect(await wallets()).toEqual(['wal_p', 'wal_a'])
      const next = sampleWallet({ id: 'wal_next' })
      await store().tenancy.put([{ type: 'wallet', record: next }], sampleDeed())
      expect(await wallets()).toEqual(['wal_p', 'wal_a', 'wal_next'])
    })
  })

  describe('actions', () => {
    const list = async (filter: Partial<ActionQuery> = {}): Promise<readonly NoteRecord[]> =>
      readAll((cursor) => store().actions.list('acc_a', { ...filter, limit: 2, cursor }))

    it('are listed newest first, a credit as what was done to its wallet', async () => {
      await openAccount()
      const [opening] = await list()
      const put = (target: string, by: string): ReturnType<typeof sampleDeed> =>
        sampleDeed({ action: 'user.update', target, by })
      const first = put('usr_a', 'key_a')
      const second = put('usr_b', 'key_b')
      const credit = creditDeed('wal_a', 5, { by: 'key_b' })
      const foreign = sampleDeed({ account: 'acc_other' })
      for (const deed of [first, second, foreign])
        // oxlint-disable-next-line no-await-in-loop -- one after another
        await store().tenancy.put([{ type: 'user', record: sampleUser() }], deed)
      await store().wallets.credit(credit)
      const late = sampleDeed({ action: 'user.delete', target: 'usr_a' })
      await store().tenancy.put([], { ...late, note: { ...late.note, at: NOW + 9 } })
      const lateNote = { ...late.note, at: NOW + 9 }
      const cases: readonly (readonly [Partial<ActionQuery>, readonly NoteRecord[]])[] = [
        [{}, [lateNote, credit.note, second.note, first.note, opening!]],
        [{ by: 'key_b' }, [credit.note, second.note]],
        [{ target: 'usr_a' }, [lateNote, first.note]],
        [{ target: 'wal_a' }, [credit.note]],
        [{ action: 'wallet.credit' }, [credit.note]],
        [{ action: 'user.update', by: 'key_a' }, [first.note]],
        [{ from: NOW + 1 }, [lateNote]],
        [{ to: NOW + 9, target: 'usr_a' }, [first.note]],
        [{ by: 'key_none' }, []],
      ]
      for (const [filter, expected] of cases)
        // oxlint-disable-next-line no-await-in-loop -- cases of one sentence
        expect([filter, await list(filter)]).toEqual([filter, [...expected]])
    })

    it('are looked through so many at a time: a page may be empty and have a next', async () => {
      const rare = sampleDeed({ by: 'key_rare' }).note
      const other = sampleDeed().note
      await store().append([
        { type: 'note', note: rare },
        ...Array.from({ length: 10_000 }, () => ({ type: 'note', note: other }) as const),
      ])
      const query = { by: 'key_rare', limit: 2 }
      const first = await store().actions.list('acc_a', { ...query, cursor: undefined })
      expect(first.items).toEqual([])
      expect(await list({ by: 'key_rare' })).toEqual([rare])
    })

    it('refuse a cursor that no page returned', async () => {
      for (const cursor of ['', '!', 'MS4x', 'a'.repeat(99)])
        // oxlint-disable-next-line no-await-in-loop -- cases of one sentence
        expect(
          await store()
            .actions.list('acc_a', { limit: 1, cursor })
            .catch((thrown: unknown) => thrown),
        ).toMatchObject({ code: 'validation_error', param: 'cursor' })
    })
  })
}

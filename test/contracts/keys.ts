// The part of the store's contract that is about the life of keys: finding them, giving them another secret,
// and when they were last used.
import { describe, expect, it } from 'bun:test'
import { hashSecret } from '../../src/core/ids.ts'
import type { KeyRecord } from '../../src/core/key.ts'
import type { KeyQuery } from '../../src/store/store.ts'
import type { LedgerStore } from './ledger.ts'
import { NOW, readAll, sampleDeed, sampleKey } from './samples.ts'
import { sampleProject, sampleTeam, sampleUser } from './tenancy.ts'

type Filter = Partial<Omit<KeyQuery, 'limit' | 'cursor'>>

export function describeKeys({ store, reopen }: LedgerStore): void {
  const insert = async (key: KeyRecord): Promise<KeyRecord> => {
    await store().keys.insert(key, sampleDeed())
    return key
  }

  describe('a list of keys', () => {
    /** The names of what is found, over pages of two. */
    const list = async (account: string, filter: Filter): Promise<readonly string[]> => {
      const query = { kind: 'managed', now: NOW, ...filter } as const
      const keys = await readAll((cursor) =>
        store().keys.list(account, { ...query, limit: 2, cursor }),
      )
      return keys.map(({ name }) => name)
    }

    const fill = async (): Promise<string> => {
      const { accountId } = await store().load()
      const owned = { accountId }
      await store().tenancy.put(
        [
          { type: 'user', record: sampleUser({ ...owned, id: 'usr_a' }) },
          { type: 'project', record: sampleProject({ ...owned, id: 'prj_a' }) },
          { type: 'project', record: sampleProject({ ...owned, id: 'prj_b' }) },
          { type: 'team', record: sampleTeam({ ...owned, id: 'team_a', projectIds: ['prj_a'] }) },
        ],
        sampleDeed(),
      )
      const label = { stage: 'live', 'a.b': '"quoted"' }
      const keys: readonly Partial<KeyRecord>[] = [
        { name: 'Plain' },
        { name: 'of a', projectId: 'prj_a', metadata: label },
        { name: 'of b', projectId: 'prj_b', userId: 'usr_a', metadata: { stage: 'live' } },
        { name: '100%_sure', revokedAt: NOW - 1, expiresAt: NOW - 2 },
        { name: 'Overdue', expiresAt: NOW },
        { name: 'later', expiresAt: NOW + 1, metadata: { stage: 'test', 'a.b': '"quoted"' } },
        { name: 'token', kind: 'token', projectId: 'prj_a' },
        { name: 'team token', kind: 'token', teamId: 'team_a', manages: true },
      ]
      for (const [index, change] of keys.entries())
        // oxlint-disable-next-line no-await-in-loop -- in the order of time
        await insert(sampleKey(accountId, { createdAt: NOW + index, ...change }))
      return accountId
    }

    it('has those that meet all that is asked for, newest first', async () => {
      const account = await fill()
      const cases: readonly (readonly [Filter, readonly string[]])[] = [
        [{}, ['later', 'Overdue', '100%_sure', 'of b', 'of a', 'Plain']],
        [{ kind: 'token' }, ['team token', 'token']],
        [{ kind: 'token', teamId: 'team_a' }, ['team token']],
        [{ projectId: 'prj_a' }, ['of a']],
        [{ userId: 'usr_a' }, ['of b']],
        [{ name: 'PL' }, ['Plain']],
        [{ name: '%_' }, ['100%_sure']],
        [{ name: '%' }, ['100%_sure']],
        [{ metadata: { stage: 'live' } }, ['of b', 'of a']],
        [{ metadata: { 'a.b': '"quoted"' } }, ['later', 'of a']],
        [{ metadata: { stage: 'live', 'a.b': '"quoted"' } }, ['of a']],
        [{ metadata: { stage: '' } }, []],
        [{ status: 'active' }, ['later', 'of b', 'of a', 'Plain']],
        [{ status: 'expired' }, ['Overdue']],
        [{ status: 'revoked' }, ['100%_sure']],
        [{ status: 'active', metadata: { stage: 'live' }, projectId: 'prj_b' }, ['of b']],
      ]
      for (const [filter, expected] of cases)
        // oxlint-disable-next-line no-await-in-loop -- cases of one sentence
        expect([filter, await list(account, filter)]).toEqual([filter, [...expected]])
    })

    it('shows nothing from beyond the projects and teams that are given', async () => {
      const account = await fill()
      const within = { projectIds: ['prj_a'], teamIds: [] }
      expect(await list(account, { within })).toEqual(['of a'])
      expect(await list(account, { within, projectId: 'prj_b' })).toEqual([])
      expect(await list(account, { within, kind: 'token' })).toEqual(['token'])
      const team = { projectIds: ['prj_a'], teamIds: ['team_a'] }
      expect(await list(account, { within: team, kind: 'token' })).toEqual(['team token', 'token'])
      expect(await list(account, { within: { projectIds: [], teamIds: [] } })).toEqual([])
      expect(await list('acc_other', { within })).toEqual([])
    })
  })

  describe('a key that is rotated', () => {
    it('has its new secret, and the old one as long as it is said to', async () => {
      const { accountId } = await store().load()
      const key = await insert(sampleKey(accountId))
      const previous = { hash: key.hash, until: NOW + 60_000 }
      const hash = hashSecret('second')
      const rotated = { ...key, hash, previous }
      expect(
        await store().keys.rotate(accountId, key.id, { hash, previous }, sampleDeed()),
      ).toStrictEqual(rotated)
      await reopen()
      expect((await store().load()).keys).toStrictEqual([rotated])
      const third = { hash: hashSecret('third'), previous: undefined }
      await store().keys.rotate(accountId, key.id, third, sampleDeed())
      expect((await store().load()).keys).toStrictEqual([{ ...key, ...third }])
    })

    it('is not found in another account, and takes no secret that is in use', async () => {
      const { accountId } = await store().load()
      const key = await insert(sampleKey(accountId))
      const other = await insert(sampleKey(accountId))
      const secrets = { hash: hashSecret('new'), previous: undefined }
      expect(await store().keys.rotate('acc_other', key.id, secrets, sampleDeed())).toBeUndefined()
      const taken = store().keys.rotate(
        accountId,
        key.id,
        { hash: other.hash, previous: undefined },
        sampleDeed(),
      )
      expect(await taken.catch((thrown: unknown) => thrown)).toMatchObject({ code: 'conflict' })
      expect((await store().load()).keys).toStrictEqual([key, other])
    })
  })

  it('remembers when a key was last used, and never an earlier moment', async () => {
    const { accountId } = await store().load()
    const [one, two] = [await insert(sampleKey(accountId)), await insert(sampleKey(accountId))]
    await store().keys.touch([
      { id: one.id, at: NOW + 5 },
      { id: two.id, at: NOW + 1 },
      { id: 'key_none', at: NOW },
    ])
    await store().keys.touch([{ id: one.id, at: NOW + 3 }])
    await reopen()
    const keys = (await store().load()).keys
    expect(keys.map(({ lastUsedAt }) => lastUsedAt)).toEqual([NOW + 5, NOW + 1])
  })

  it('writes a change of a key and the record of it together, or neither', async () => {
    const { accountId } = await store().load()
    const key = sampleKey(accountId)
    const deed = sampleDeed({ action: 'key.create', target: key.id })
    await store().keys.insert(key, deed)
    const again = sampleDeed({ action: 'key.create', target: 'key_b' })
    const refused = store().keys.insert({ ...key, id: 'key_b' }, again)
    expect(await refused.catch((thrown: unknown) => thrown)).toMatchObject({ code: 'conflict' })
    await reopen()
    const records = await store().ledger.records(0, 10)
    expect(records.map(({ record }) => record)).toEqual([{ type: 'note', note: deed.note }])
  })
}

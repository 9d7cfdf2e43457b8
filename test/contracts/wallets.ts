// The part of the store's contract that is about who pays: what is put into wallets, what calls are charged to
// them, and what of that stays when records go.
import { describe, expect, it } from 'bun:test'
import { toNanoUsd, type NanoUsd } from '../../src/core/money.ts'
import type { LedgerRecord } from '../../src/core/record.ts'
import type { WalletRecord } from '../../src/core/tenancy.ts'
import { SUM_MAX, type Deed, type WalletEntry } from '../../src/store/store.ts'
import type { LedgerStore } from './ledger.ts'
import {
  asHold,
  asRecord,
  creditDeed,
  endOf,
  HOUR,
  LARGEST,
  NOW,
  payerText,
  readAll,
  sampleCall,
  sampleDeed,
  sampleHold,
  sampleKey,
} from './samples.ts'
import { sampleProject, sampleUser, sampleWallet } from './tenancy.ts'

const HOUR_MS = 3_600_000
const nano = (amount: number): NanoUsd => toNanoUsd(amount)
const A = payerText('wal_a')
const B = payerText('wal_b')

export function describeWallets({ store, reopen }: LedgerStore): void {
  /** Two wallets of an account. */
  const fill = async (change: Partial<WalletRecord> = {}): Promise<void> => {
    const account = { id: 'acc_a', name: 'a', createdAt: NOW, endedAt: undefined }
    const ofProject = { id: 'wal_b', owner: 'project', ownerId: 'prj_a' } as const
    await store().tenancy.open(
      [
        { type: 'account', record: account },
        { type: 'user', record: sampleUser() },
        { type: 'project', record: sampleProject() },
        { type: 'wallet', record: sampleWallet() },
        { type: 'wallet', record: sampleWallet({ ...ofProject, ...change }) },
      ],
      sampleKey('acc_a', { kind: 'root' }),
      sampleDeed(),
    )
  }
  const balances = async (): Promise<unknown> =>
    (await store().load()).ledger.balances.map(({ walletId, credited, charged, before }) => [
      walletId,
      before + credited - charged,
    ])
  const sums = async (): Promise<unknown> =>
    (await store().ledger.spent()).balances.map(({ walletId, credited, charged, before }) => [
      walletId,
      credited,
      charged,
      before,
    ])
  const entries = (account: string, wallet: string): Promise<readonly WalletEntry[]> =>
    readAll((cursor) => store().wallets.entries(account, wallet, { limit: 2, cursor }))
  const refusalOf = (deed: Deed): Promise<unknown> =>
    store()
      .wallets.credit(deed)
      .catch((thrown: unknown) => thrown)

  describe('a credit', () => {
    it('is in the wallet, in its statement and in the chain, newest first', async () => {
      await fill()
      const deeds = [
        creditDeed('wal_a', 100, { reference: 'inv-1', reason: 'Zoë' }),
        creditDeed('wal_b', 7, { reference: 'inv-1' }),
        creditDeed('wal_a', -30),
        creditDeed('wal_a', 5, { by: 'key_b' }),
      ]
      for (const deed of deeds)
        // oxlint-disable-next-line no-await-in-loop -- one after another
        await store().wallets.credit(deed)
      await reopen()
      expect(await balances()).toEqual([
        ['wal_a', 75n],
        ['wal_b', 7n],
      ])
      const [first, , third, fourth] = deeds
      const entry = { at: NOW, by: 'key_a', reason: 'for once', reference: undefined }
      expect(await entries('acc_a', 'wal_a')).toEqual([
        { ...entry, requestId: fourth!.note.requestId!, amount: nano(5), by: 'key_b' },
        { ...entry, requestId: third!.note.requestId!, amount: nano(-30) },
        {
          ...entry,
          requestId: first!.note.requestId!,
          amount: nano(100),
          reason: 'Zoë',
          reference: 'inv-1',
        },
      ])
      const records = await store().ledger.records(1, 10)
      expect(records.map(({ record }) => record)).toEqual(
        deeds.map(({ note }) => ({ type: 'note', note })),
      )
    })

    it('is booked once under a reference', async () => {
      await fill()
      await store().wallets.credit(creditDeed('wal_a', 5, { reference: 'inv-1' }))
      await reopen()
      expect(await refusalOf(creditDeed('wal_a', 5, { reference: 'inv-1' }))).toMatchObject({
        code: 'conflict',
        retryable: false,
        message: expect.stringContaining('this reference before'),
      })
      expect(await balances()).toEqual([['wal_a', 5n]])
      expect(await store().ledger.records(2, 10)).toEqual([])
      // The next of the chain is as good as any.
      await store().wallets.credit(creditDeed('wal_a', 5, { reference: 'inv-2' }))
      await store().wallets.credit(creditDeed('wal_a', 5))
      await store().wallets.credit(creditDeed('wal_a', 5))
      expect(await balances()).toEqual([['wal_a', 20n]])
    })

    it('reaches no wallet of another account, and neither does a look at its statement', async () => {
      await fill()
      for (const account of ['acc_other', (await store().load()).accountId])
        // oxlint-disable-next-line no-await-in-loop -- cases of one sentence
        expect(await refusalOf(creditDeed('wal_a', 5, { account }))).toMatchObject({
          code: 'not_found',
        })
      expect(await refusalOf(creditDeed('wal_none', 5))).toMatchObject({ code: 'not_found' })
      await store().wallets.credit(creditDeed('wal_a', 5))
      expect(await entries('acc_other', 'wal_a')).toEqual([])
      expect(await entries('acc_a', 'wal_none')).toEqual([])
      expect(await entries('acc_a', 'wal_a')).toHaveLength(1)
      expect(await balances()).toEqual([['wal_a', 5n]])
    })
  })

  describe('what calls cost a wallet', () => {
    it('is taken from its balance and counted by the hour of the hold', async () => {
      const late = sampleHold({ at: NOW - HOUR_MS, payer: B })
      const voided = sampleHold({ payer: A })
      await store().append([
        ...sampleCall(5, { payer: A }),
        ...sampleCall(7, { payer: A, keyId: 'key_b' }),
        ...sampleCall(11, { payer: B }),
        ...sampleCall(100),
        asHold(late),
        asHold(voided),
        asRecord(endOf(voided, { state: 'voided' })),
      ])
      await store().append([asRecord(endOf(late, { cost: nano(13) }))])
      const check = async (): Promise<void> => {
        expect(await balances()).toEqual([
          ['wal_a', -12n],
          ['wal_b', -24n],
        ])
        const { spent } = (await store().load()).ledger
        expect(spent.filter(({ ownerId }) => ownerId.startsWith('wal_'))).toEqual([
          { ownerId: 'wal_b', hour: HOUR - 1, amount: nano(13) },
          { ownerId: 'wal_a', hour: HOUR, amount: nano(12) },
          { ownerId: 'wal_b', hour: HOUR, amount: nano(11) },
        ])
        expect(await sums()).toEqual([
          ['wal_a', 0n, 12n, 0n],
          ['wal_b', 0n, 24n, 0n],
        ])
      }
      await check()
      await reopen()
      await check()
    })

    it('stands in the totals of the books beside what was paid, and they sum to zero', async () => {
      await fill()
      await store().wallets.credit(creditDeed('wal_a', 1000))
      await store().append([...sampleCall(5, { payer: A }), ...sampleCall(7, { payer: B })])
      expect(await store().ledger.totals(HOUR, HOUR + 1)).toEqual([
        { account: 'key/key_a', amount: 12n },
        { account: 'payer/wal_a', amount: 5n },
        { account: 'payer/wal_b', amount: 7n },
        { account: 'payments', amount: -12n },
        { account: 'supplier/a-supplier', amount: -12n },
      ])
    })

    it('is told by the hour where its period is rolling, and else by the day after two', async () => {
      await fill({ spendingLimit: nano(9), spendingPeriod: 'rolling' })
      const midnight = HOUR - (HOUR % 24)
      const hours = [midnight - 48, midnight - 47, HOUR]
      for (const hour of hours)
        // oxlint-disable-next-line no-await-in-loop -- in the order of time
        await store().append([
          ...sampleCall(1, { payer: A, at: hour * HOUR_MS }),
          ...sampleCall(1, { payer: B, at: hour * HOUR_MS }),
        ])
      const spentOf = async (id: string): Promise<unknown> =>
        (await store().load()).ledger.spent.flatMap(({ ownerId, hour, amount }) =>
          ownerId === id ? [[hour, amount]] : [],
        )
      const exact = hours.map((hour) => [hour, nano(1)])
      const byDay = [
        [midnight - 25, nano(2)],
        [HOUR, nano(1)],
      ]
      expect(await spentOf('wal_b')).toEqual(exact)
      expect(await spentOf('wal_a')).toEqual(byDay)
      // The same after the records are gone.
      await store().ledger.forget((await store().ledger.head()).last)
      await reopen()
      expect(await spentOf('wal_b')).toEqual(exact)
      expect(await spentOf('wal_a')).toEqual(byDay)
    })

    it('is exact beyond what a number holds, and stands still before it outgrows the database', async () => {
      await fill()
      const dear = (): readonly LedgerRecord[] => sampleCall(LARGEST, { amount: LARGEST, payer: A })
      await store().append([...dear(), ...dear(), ...sampleCall(5, { payer: A })])
      expect(await balances()).toEqual([['wal_a', -2n * BigInt(LARGEST) - 5n]])
      for (let round = 0; round < 2; round += 1)
        // oxlint-disable-next-line no-await-in-loop -- one commit after another
        await store().append(Array.from({ length: 600 }, dear).flat())
      expect(await balances()).toEqual([['wal_a', -SUM_MAX]])
      await store().wallets.credit(creditDeed('wal_a', LARGEST))
      await store().ledger.forget((await store().ledger.head()).last)
      await store().append(sampleCall(5, { payer: A }))
      await store().wallets.credit(creditDeed('wal_a', 0 - LARGEST))
      await reopen()
      expect(await store().load()).toBeDefined()
    })

    it('is not there after a batch that was refused', async () => {
      const hold = sampleHold({ payer: A })
      await store().append([asHold(hold)])
      const impossible = asRecord(endOf(sampleHold()))
      const refused = store().append([asRecord(endOf(hold, { cost: nano(5) })), impossible])
      await refused.catch(() => {})
      expect(await balances()).toEqual([])
      await store().append([asRecord(endOf(hold, { cost: nano(3) }))])
      expect(await balances()).toEqual([['wal_a', -3n]])
    })

    it('stays in its balance when the records go, as what was before them', async () => {
      await fill()
      await store().wallets.credit(creditDeed('wal_a', 1000))
      await store().append([...sampleCall(5, { payer: A }), ...sampleCall(7, { payer: B })])
      await store().wallets.credit(creditDeed('wal_a', -100))
      const through = (await store().ledger.head()).last
      await store().append([...sampleCall(11, { payer: A }), ...sampleCall(1)])
      await store().wallets.credit(creditDeed('wal_b', 50))
      const expected = [
        ['wal_a', 884n],
        ['wal_b', 43n],
      ]
      expect(await balances()).toEqual(expected)
      await store().ledger.forget(through)
      await reopen()
      expect(await balances()).toEqual(expected)
      expect(await sums()).toEqual([
        ['wal_a', 0n, 11n, 895n],
        ['wal_b', 50n, 0n, -7n],
      ])
      // A statement outlives the records.
      expect(await entries('acc_a', 'wal_a')).toHaveLength(2)
      expect(await refusalOf(creditDeed('wal_a', 1, { reference: null }))).toBeUndefined()
    })

    it('can still be read of a call whose hold is gone', async () => {
      const slow = sampleHold({ payer: A })
      await store().append([asHold(slow)])
      await store().append([...sampleCall(1, { payer: B })])
      await store().append([asRecord(endOf(slow, { cost: nano(9) }))])
      const [, , third] = await store().ledger.records(0, 3)
      await store().ledger.forget({ number: third!.number, hash: third!.hash })
      await store().append(sampleCall(2, { payer: payerText('wal_c') }))
      await reopen()
      const records = await store().ledger.records(0, 10)
      expect(records[0]?.record).toEqual(asRecord(endOf(slow, { cost: nano(9) })))
      const { items } = await store().audit.list('acc_a', { limit: 10, cursor: undefined })
      expect(items.map(({ payer }) => payer)).toEqual([payerText('wal_c'), A])
    })
  })
}

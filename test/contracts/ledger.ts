// The part of the store's contract that is about the books: one chain of records, what is open, what was
// spent, and what may be forgotten.
import { describe, expect, it } from 'bun:test'
import { toNanoUsd, type NanoUsd } from '../../src/core/money.ts'
import type { LedgerRecord, SpentHour } from '../../src/core/record.ts'
import { link, textOf } from '../../src/store/chain.ts'
import {
  SUM_MAX,
  type ChainedRecord,
  type ChainPlace,
  type LedgerState,
  type SpentSum,
  type Store,
} from '../../src/store/store.ts'
import { describeForgetting } from './forgetting.ts'
import {
  asHold,
  asNote,
  asRecord,
  endOf,
  HOUR,
  LARGEST,
  noteAt,
  NOW,
  payerText,
  requestIdAt,
  sampleCall,
  sampleDeed,
  sampleHold,
  sampleKey,
  sampleRow,
} from './samples.ts'

export interface LedgerStore {
  /** The store of the test that runs. */
  readonly store: () => Store
  /** Another one over the same data takes its place. */
  readonly reopen: () => Promise<void>
}

const HOUR_MS = 3_600_000
const nano = (amount: number): NanoUsd => toNanoUsd(amount)
const asSum = ({ ownerId, hour, amount }: SpentHour): SpentSum => ({
  keyId: ownerId,
  hour,
  amount: BigInt(amount),
})

export function describeLedger({ store, reopen }: LedgerStore): void {
  const records = async (page = 1000): Promise<readonly ChainedRecord[]> => {
    const found: ChainedRecord[] = []
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- a page follows the one before
      const next = await store().ledger.records(found.at(-1)?.number ?? 0, page)
      found.push(...next)
      if (next.length < page) return found
    }
  }
  const loadLedger = async (): Promise<LedgerState> => (await store().load()).ledger

  /** The chain is whole, and this is what is in it. */
  const expectChain = async (expected: readonly LedgerRecord[]): Promise<void> => {
    const found = await records()
    expect(found.map(({ record }) => record)).toEqual([...expected])
    let place: ChainPlace = (await store().ledger.head()).base
    for (const { number, hash, record } of found) {
      expect(number).toBe(place.number + 1)
      expect(hash).toBe(link(place.hash, textOf(record)))
      place = { number, hash }
    }
    expect((await store().ledger.head()).last).toEqual(place)
  }

  describe('the chain', () => {
    it('is empty at first, and has a writer that stays', async () => {
      const { writer, ...head } = await store().ledger.head()
      const nowhere = { number: 0, hash: '' }
      expect(head).toEqual({ base: nowhere, last: nowhere, open: [] })
      expect(await store().ledger.spent()).toEqual({ ...head, writer, spent: [], balances: [] })
      expect(writer).toMatch(/^wrt_\w{16,}$/)
      await reopen()
      expect((await store().ledger.head()).writer).toBe(writer)
    })

    it('has every record once, in the order in which they were appended', async () => {
      const held = Array.from({ length: 40 }, (_, index) => sampleHold({ at: NOW + index }))
      const batches = [
        ...held.map((hold) => [asHold(hold)]),
        ...held.map((hold, index) => [
          asNote('progress', hold.requestId, { outputTokens: index }),
          asRecord(endOf(hold, { cost: nano(index) })),
        ]),
        [asRecord(sampleRow({ status: 402, code: 'budget_exceeded' }))],
      ]
      await Promise.all(batches.map((batch) => store().append(batch)))
      await expectChain(batches.flat())
      expect(await records(7)).toEqual(await records())
    })

    it('goes on after the store was opened again', async () => {
      const first = [...sampleCall(5), asNote('month', undefined, { month: '2026-01' })]
      await store().append(first)
      await reopen()
      const second = sampleCall(7)
      await store().append(second)
      await reopen()
      await expectChain([...first, ...second])
    })

    it('keeps every field as it was', async () => {
      const bare = sampleHold()
      const full = sampleHold({
        at: NOW + 1,
        hour: 5,
        projectId: 'prj_ü',
        model: 'a "model"\n\u0000',
        stream: false,
        amount: LARGEST,
        limit: LARGEST,
        period: 'rolling',
        inputTokens: 0,
        maxTokens: Number.MAX_SAFE_INTEGER,
        terms: '[]',
        payer: payerText('wal_ü'),
        claim: { id: 'a+b/c=', fingerprint: 'd' },
      })
      const appended = [
        asHold(bare),
        asHold(full),
        asNote('attempt', full.requestId, { supplier: 'Zoë\u2028' }),
        asNote('resumed', undefined, {}),
        asRecord(
          endOf(full, { latencyMs: 0.1 + 0.2, firstTokenMs: 1e-7, heldMs: 0, code: '\u0000' }),
        ),
        asRecord(endOf(bare, { route: '{"snapshot":"a","listed":["ü"]}' })),
      ]
      await store().append(appended)
      await expectChain(appended)
      await reopen()
      await expectChain(appended)
    })

    it('holds for texts that no database can keep', async () => {
      const torn = 'half \ud83d of a pair'
      const hold = sampleHold({ model: torn })
      await store().append([
        asHold(hold),
        asRecord(endOf(hold, { model: torn, code: torn })),
        asRecord(sampleRow({ model: torn })),
      ])
      const found = await records()
      let hash = ''
      for (const { record, ...place } of found) {
        hash = link(hash, textOf(record))
        expect(place.hash).toBe(hash)
      }
      expect(found[0]?.record).toMatchObject({ hold: { model: 'half \ufffd of a pair' } })
      await reopen()
      expect(await records()).toEqual(found)
    })
  })

  describe('a record that cannot be', () => {
    const hold = sampleHold()
    const end = endOf(hold, { cost: nano(1) })
    const unknown = { supplier: 'one', region: 'EU', evidence: 'unknown' } as const
    const QUOTED = { id: '"', fingerprint: 'a' }
    const CREDIT = {
      account: 'acc_a',
      wallet: 'wal_a',
      amount: 5,
      by: 'key_a',
      reason: 'why',
      reference: null,
    }
    const halfTry = { ...unknown, suspense: 0.5 as NanoUsd }

    it.each<readonly [string, LedgerRecord]>([
      ['the end of a call that is not held', asRecord(endOf(sampleHold()))],
      ['a second hold of one call', asHold(hold)],
      ['an end of another amount', asRecord({ ...end, held: nano(1) })],
      ['an end in another hour', asRecord({ ...end, hour: HOUR + 1 })],
      ['an end by another key', asRecord({ ...end, keyId: 'key_b' })],
      ['an end without its hold', asRecord({ ...end, held: undefined })],
      ['a refusal of what was held', asRecord({ ...end, state: 'refused', cost: nano(0) })],
      ['a refusal that costs something', asRecord(sampleRow({ cost: nano(1) }))],
      ['a void that costs something', asRecord({ ...end, state: 'voided' })],
      ['a cost below nothing', asRecord({ ...end, cost: nano(-1) })],
      ['an amount below nothing', asHold(sampleHold({ amount: nano(-1) }))],
      ['a time that is none', asRecord({ ...end, latencyMs: Number.NaN })],
      ['a moment that is none', asRecord({ ...end, at: NOW + 0.5 })],
      ['a status that is none', asRecord({ ...end, status: Number.NaN })],
      ['half an attempt', asRecord({ ...end, attempts: 1.5 })],
      ['half a refusal', asRecord(sampleRow({ count: 0.5 }))],
      ['endless input', asRecord({ ...end, inputTokens: Infinity })],
      ['more output than can be counted', asRecord({ ...end, outputTokens: 2 ** 53 })],
      ['half a nano-dollar', asRecord({ ...end, cost: 0.5 as NanoUsd })],
      ['half of one in suspense', asRecord({ ...end, details: { tries: [halfTry] } })],
      ['no model', asRecord({ ...end, model: undefined as never })],
      ['a hold of endless input', asHold(sampleHold({ inputTokens: Infinity }))],
      ['a hold of half a token', asHold(sampleHold({ maxTokens: 0.5 }))],
      ['a hold at no time', asHold(sampleHold({ at: Number.NaN }))],
      ['a hold under a limit that is none', asHold(sampleHold({ limit: Infinity as NanoUsd }))],
      ['a hold on no terms', asHold(sampleHold({ terms: undefined as never }))],
      ['a hold of a payer that is none', asHold(sampleHold({ payer: '{}' }))],
      ['a hold of a payer without terms', asHold(sampleHold({ payer: '{"wallet":"wal_a"}' }))],
      ['a hold of a payer that is no JSON', asHold(sampleHold({ payer: 'wal_a' }))],
      ['a hold of a payer that is no text', asHold(sampleHold({ payer: 5 as never }))],
      ['a hold under half a claim', asHold(sampleHold({ claim: { id: 'a' } as never }))],
      ['a hold under a claim of another form', asHold(sampleHold({ claim: QUOTED }))],
      ['an end paid by another', asRecord({ ...end, payer: payerText('wal_a') })],
      ['a refusal with a payer that is none', asRecord(sampleRow({ payer: '[]' }))],
      ['a note at no time', noteAt(Number.NaN)],
      ['a credit of nothing', asNote('credit', undefined, { ...CREDIT, amount: 0 })],
      ['a credit of half a nano-dollar', asNote('credit', undefined, { ...CREDIT, amount: 0.5 })],
      [
        'a credit without a word about its reference',
        asNote('credit', undefined, { ...CREDIT, reference: undefined }),
      ],
      ['a credit of no wallet', asNote('credit', undefined, { ...CREDIT, wallet: null })],
    ])('is refused with its batch and nothing else: %s', async (_, record) => {
      const other = sampleHold()
      await store().append([asHold(hold)])
      const before = store().append([asHold(other)])
      const refused = store().append([asNote('resumed', undefined, {}), record])
      const after = store().append([asRecord(endOf(other))])
      expect(await refused.catch((thrown: unknown) => thrown)).toMatchObject({
        code: 'internal_error',
        details: { fatal: true },
      })
      await Promise.all([before, after])
      await expectChain([asHold(hold), asHold(other), asRecord(endOf(other))])
      // What was held can still be ended, once.
      await store().append([asRecord(end)])
      expect(store().append([asRecord(end)])).rejects.toMatchObject({ code: 'internal_error' })
      await expectChain([asHold(hold), asHold(other), asRecord(endOf(other)), asRecord(end)])
    })

    it('is known as such after the store was opened again', async () => {
      await store().append([asHold(hold)])
      await reopen()
      expect(store().append([asHold(hold)])).rejects.toMatchObject({ code: 'internal_error' })
      await store().append([asRecord(end)])
      await reopen()
      expect(store().append([asRecord(end)])).rejects.toMatchObject({ code: 'internal_error' })
    })
  })

  describe('open operations', () => {
    it('are those that were held and have not ended, with all that is known of them', async () => {
      const [plain, noted, ended, reviewed] = [0, 1, 2, 3].map((index) =>
        sampleHold({ at: NOW + index }),
      ) as [ReturnType<typeof sampleHold>, ...ReturnType<typeof sampleHold>[]]
      await store().append([asHold(plain), asHold(noted!), asHold(ended!), asHold(reviewed!)])
      await store().append([
        asNote('attempt', noted!.requestId, { supplier: 'two' }),
        asNote('progress', noted!.requestId, { outputTokens: 100 }),
        asNote('attempt', noted!.requestId, { supplier: 'two', model: 'spare', number: 3 }),
        asNote('progress', noted!.requestId, { outputTokens: 250 }),
        asNote('review', reviewed!.requestId, { reason: 'why not' }),
        asRecord(endOf(ended!)),
        asRecord(sampleRow()),
      ])
      const nothing = { reviewAt: undefined, asked: [], outputTokens: 0 }
      const expected = [
        { hold: plain, ...nothing },
        {
          hold: noted!,
          ...nothing,
          // The first as notes once were, which told no more.
          asked: [{ supplier: 'two' }, { supplier: 'two', model: 'spare', number: 3 }],
          outputTokens: 250,
        },
        { hold: reviewed!, ...nothing, reviewAt: NOW },
      ]
      expect((await loadLedger()).open).toStrictEqual(expected)
      expect((await store().ledger.head()).open).toEqual(
        expected.map((operation) => operation.hold.requestId),
      )
      await reopen()
      const { at, open } = await loadLedger()
      expect(open).toStrictEqual(expected)
      expect(at).toBe(NOW + 3)
    })

    it('are found among many thousands of records, however long ago they were held', async () => {
      const old = sampleHold({ requestId: requestIdAt(NOW) })
      await store().append([asHold(old), asNote('attempt', old.requestId, { supplier: 'two' })])
      const middle = sampleHold({ at: NOW + 1 })
      const calls = Array.from({ length: 5000 }, (_, index) => sampleCall(1, { at: NOW + index }))
      for (const [index, call] of calls.entries())
        void store().append(index === 2500 ? [asHold(middle), ...call] : call)
      await store().append([asNote('review', middle.requestId, { reason: 'why not' })])
      await reopen()
      const { at, open, spent } = await loadLedger()
      expect(open).toMatchObject([
        { hold: old, asked: [{ supplier: 'two' }], reviewAt: undefined },
        { hold: middle, asked: [], reviewAt: NOW },
      ])
      expect(at).toBe(NOW + 4999)
      expect(spent).toEqual([{ ownerId: 'key_a', hour: HOUR, amount: nano(5000) }])
      await store().append([asRecord(endOf(old)), asRecord(endOf(middle))])
      expect((await store().ledger.head()).open).toEqual([])
      await reopen()
      expect((await loadLedger()).open).toEqual([])
    }, 30_000)
  })

  describe('what was spent', () => {
    it('is kept by key and by the hour of the hold', async () => {
      const late = sampleHold({ at: NOW - HOUR_MS })
      await store().append([
        ...sampleCall(5),
        ...sampleCall(7),
        ...sampleCall(11, { keyId: 'key_b' }),
        ...sampleCall(0, { keyId: 'key_c' }),
        asHold(late),
      ])
      // Ends in a later hour than it was held in.
      await store().append([asRecord(endOf(late, { at: NOW, cost: nano(13) }))])
      const expected = [
        { ownerId: 'key_a', hour: HOUR - 1, amount: nano(13) },
        { ownerId: 'key_a', hour: HOUR, amount: nano(12) },
        { ownerId: 'key_b', hour: HOUR, amount: nano(11) },
      ]
      expect((await loadLedger()).spent).toEqual(expected)
      expect(await store().ledger.spent()).toEqual({
        ...(await store().ledger.head()),
        spent: expected.map(asSum),
        balances: [],
      })
      await reopen()
      expect((await loadLedger()).spent).toEqual(expected)
    })

    it('adds exactly where dollars as fractions drift, and up to the largest amount', async () => {
      await store().append(Array.from({ length: 10 }, () => sampleCall(100_000_000)).flat())
      await store().append(
        sampleCall(Number.MAX_SAFE_INTEGER - 1, { keyId: 'key_b', amount: LARGEST }),
      )
      await store().append(sampleCall(1, { keyId: 'key_b' }))
      expect((await loadLedger()).spent.map(({ amount }) => amount)).toEqual([
        nano(1_000_000_000),
        LARGEST,
      ])
    })

    it('goes on beyond what a number holds, and counts as the largest number then', async () => {
      const dear = (): readonly LedgerRecord[] => sampleCall(LARGEST, { amount: LARGEST })
      await store().append([...dear(), ...dear(), ...sampleCall(5)])
      const expected = { ownerId: 'key_a', hour: HOUR }
      const exact = 2n * BigInt(LARGEST) + 5n
      expect((await loadLedger()).spent).toEqual([{ ...expected, amount: LARGEST }])
      expect((await store().ledger.spent()).spent).toEqual([
        { keyId: 'key_a', hour: HOUR, amount: exact },
      ])
      await reopen()
      expect((await loadLedger()).spent).toEqual([{ ...expected, amount: LARGEST }])
    })

    it('stands still before it outgrows the database, and nothing fails of it', async () => {
      const dear = (at: number): readonly LedgerRecord[] =>
        Array.from({ length: 600 }, () => sampleCall(LARGEST, { amount: LARGEST, at })).flat()
      for (const hours of [2, 1, 0])
        // oxlint-disable-next-line no-await-in-loop -- in the order of time
        for (const batch of [dear(NOW - hours * HOUR_MS), dear(NOW - hours * HOUR_MS)])
          // oxlint-disable-next-line no-await-in-loop -- one commit after another
          await store().append(batch)
      await reopen()
      const { spent, last } = await store().ledger.spent()
      expect(spent.map(({ amount }) => amount)).toEqual([SUM_MAX, SUM_MAX, SUM_MAX])
      expect((await loadLedger()).spent.map(({ amount }) => amount)).toEqual(
        spent.map(() => LARGEST),
      )
      const totals = await store().ledger.totals(HOUR - 2, HOUR + 1)
      expect(totals.map(({ amount }) => amount)).toEqual([3n * SUM_MAX, -3n * SUM_MAX])
      await store().ledger.forget({ number: last.number, hash: last.hash })
      await store().append(sampleCall(5))
      expect((await loadLedger()).spent.map(({ amount }) => amount)).toEqual(
        spent.map(() => LARGEST),
      )
    })

    it('reaches back as far as any period does, and no further', async () => {
      const days = [1, 31, 33]
      for (const day of days.toReversed())
        // oxlint-disable-next-line no-await-in-loop -- in the order of time
        await store().append(sampleCall(day, { at: NOW - day * 24 * HOUR_MS }))
      const { spent } = await loadLedger()
      expect(new Set(spent.map(({ amount }) => amount))).toEqual(new Set([nano(1), nano(31)]))
    })

    it('is told by the hour where a period is rolling, and of others by the day after two', async () => {
      const { accountId } = await store().load()
      const rolling = sampleKey(accountId, { budgetLimit: nano(9), budgetPeriod: 'rolling' })
      const monthly = sampleKey(accountId, { budgetLimit: nano(9), budgetPeriod: 'monthly' })
      for (const key of [rolling, monthly])
        // oxlint-disable-next-line no-await-in-loop -- one key after another
        await store().keys.insert(key, sampleDeed())
      const midnight = HOUR - (HOUR % 24)
      const hours = [
        midnight - 48,
        midnight - 47,
        midnight - 25,
        midnight - 24,
        midnight - 23,
        HOUR,
      ]
      for (const hour of hours)
        // oxlint-disable-next-line no-await-in-loop -- in the order of time
        await store().append([
          ...sampleCall(1, { keyId: rolling.id, at: hour * HOUR_MS }),
          ...sampleCall(1, { keyId: monthly.id, at: hour * HOUR_MS }),
        ])
      const spentOf = async ({ id }: { readonly id: string }): Promise<unknown> =>
        (await loadLedger()).spent.flatMap(({ ownerId, hour, amount }) =>
          ownerId === id ? [[hour, amount]] : [],
        )
      const exact = hours.map((hour) => [hour, nano(1)])
      const byDay = [[midnight - 25, nano(3)], ...exact.slice(3)]
      expect(await spentOf(rolling)).toEqual(exact)
      expect(await spentOf(monthly)).toEqual(byDay)
      // The same after the records are gone.
      const { last } = await store().ledger.head()
      await store().ledger.forget(last)
      await reopen()
      expect(await spentOf(rolling)).toEqual(exact)
      expect(await spentOf(monthly)).toEqual(byDay)
    })

    it('of a day is no more than a number holds', async () => {
      const yesterday = HOUR - (HOUR % 24) - 30
      for (const hour of [yesterday, yesterday + 1])
        // oxlint-disable-next-line no-await-in-loop -- in the order of time
        await store().append(sampleCall(LARGEST, { amount: LARGEST, at: hour * HOUR_MS }))
      expect((await loadLedger()).spent.map(({ amount }) => amount)).toEqual([LARGEST])
    })

    it('is not there after a batch that was refused', async () => {
      const hold = sampleHold()
      await store().append([asHold(hold)])
      const impossible = asRecord(endOf(sampleHold()))
      const refused = store().append([asRecord(endOf(hold, { cost: nano(5) })), impossible])
      expect(refused).rejects.toThrow()
      await refused.catch(() => {})
      await store().append([asRecord(endOf(hold, { cost: nano(3) }))])
      expect((await loadLedger()).spent).toEqual([
        { ownerId: 'key_a', hour: HOUR, amount: nano(3) },
      ])
    })
  })

  describe('totals', () => {
    const try1 = { supplier: 'one', region: 'EU', evidence: 'unknown', suspense: nano(40) } as const

    it('are debits less credits of the operations that were held in these hours', async () => {
      const over = sampleHold({ keyId: 'key_b' })
      const unknown = sampleHold({ keyId: 'key_b' })
      const lost = sampleHold()
      await store().append([
        ...sampleCall(1, { at: NOW - HOUR_MS }),
        ...sampleCall(100),
        ...sampleCall(20, {}, { tries: [try1, { ...try1, supplier: 'two' }] }),
        asHold(over),
        asRecord(endOf(over, { cost: over.amount, overrun: nano(9), supplier: 'two' })),
        asHold(unknown),
        asRecord(endOf(unknown, { cost: nano(3), supplier: undefined })),
        asHold(lost),
        asRecord(endOf(lost, { state: 'voided', details: { tries: [try1] } })),
        asRecord(sampleRow()),
        asHold(sampleHold()),
        ...sampleCall(1000, { at: NOW + HOUR_MS }),
      ])
      const totals = await store().ledger.totals(HOUR, HOUR + 1)
      expect(new Map(totals.map(({ account, amount }) => [account, amount]))).toEqual(
        new Map([
          ['key/key_a', 120n],
          ['key/key_b', 1_000_003n],
          ['overrun', 9n],
          ['suspense/one', 80n],
          ['suspense/two', 40n],
          ['supplier/', -3n],
          ['supplier/a-supplier', -120n],
          ['supplier/one', -80n],
          ['supplier/two', -1_000_049n],
        ]),
      )
      expect(totals.reduce((sum, { amount }) => sum + amount, 0n)).toBe(0n)
      expect(await store().ledger.totals(HOUR + 2, HOUR + 9)).toEqual([])
    })

    it('are exact beyond what a number holds', async () => {
      const keys = ['key_a', 'key_b', 'key_c']
      await store().append(keys.flatMap((keyId) => sampleCall(LARGEST, { amount: LARGEST, keyId })))
      const totals = await store().ledger.totals(HOUR, HOUR + 1)
      expect(totals.find(({ account }) => account.startsWith('supplier/'))?.amount).toBe(
        -3n * BigInt(LARGEST),
      )
    })
  })

  it('finds the notes of months and archives among the others', async () => {
    const notes = [
      asNote('month', undefined, { month: '2026-01' }),
      asNote('review', 'req_x', { reason: '' }),
      asNote('archive', undefined, { month: '2026-01' }),
      asNote('resumed', undefined, {}),
      asNote('month', undefined, { month: '2026-02' }),
    ]
    await store().append(notes)
    expect((await store().ledger.checkpoints()).map(({ kind, body }) => [kind, body])).toEqual([
      ['month', '{"month":"2026-01"}'],
      ['archive', '{"month":"2026-01"}'],
      ['month', '{"month":"2026-02"}'],
    ])
  })

  describeForgetting({ store, reopen, loadLedger, records, expectChain })
}

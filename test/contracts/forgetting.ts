// The part of the store's contract that is about what outlasts its records: the time of the books, and all that
// stays when records are forgotten.
import { describe, expect, it } from 'bun:test'
import { toNanoUsd, type NanoUsd } from '../../src/core/money.ts'
import type { LedgerRecord } from '../../src/core/record.ts'
import type { ChainedRecord, ChainPlace, LedgerState, Store } from '../../src/store/store.ts'
import {
  asCall,
  asHold,
  asRecord,
  endOf,
  HOUR,
  noteAt,
  NOW,
  sampleCall,
  sampleHold,
  sampleRow,
} from './samples.ts'

export interface ForgettingStore {
  /** The store of the test that runs. */
  readonly store: () => Store
  /** Another one over the same data takes its place. */
  readonly reopen: () => Promise<void>
  readonly loadLedger: () => Promise<LedgerState>
  readonly records: () => Promise<readonly ChainedRecord[]>
  /** The chain is whole, and this is what is in it. */
  readonly expectChain: (expected: readonly LedgerRecord[]) => Promise<void>
}

const HOUR_MS = 3_600_000
const nano = (amount: number): NanoUsd => toNanoUsd(amount)

export function describeForgetting(books: ForgettingStore): void {
  const { store, reopen, loadLedger, records, expectChain } = books

  describe('the time of the books', () => {
    it('is that of the latest hold or note, and of no row', async () => {
      await store().append([...sampleCall(1), noteAt(NOW + 7), asHold(sampleHold({ at: NOW + 5 }))])
      await store().append([asRecord(sampleRow({ at: NOW + 100 }))])
      expect((await loadLedger()).at).toBe(NOW + 7)
      await reopen()
      expect((await loadLedger()).at).toBe(NOW + 7)
    })

    it('does not go back when thousands of records follow', async () => {
      await store().append([noteAt(NOW + 9)])
      for (let index = 0; index < 25; index += 1)
        // oxlint-disable-next-line no-await-in-loop -- in groups, as they come
        await store().append(Array.from({ length: 100 }, () => sampleCall(1)).flat())
      await reopen()
      expect((await loadLedger()).at).toBe(NOW + 9)
    })

    it('does not go back when the records are gone', async () => {
      await store().append([...sampleCall(1), noteAt(NOW + 9)])
      const { last } = await store().ledger.head()
      await store().ledger.forget(last)
      await reopen()
      expect((await loadLedger()).at).toBe(NOW + 9)
    })
  })

  describe('forgetting', () => {
    const placeOf = async (number: number): Promise<ChainPlace> => {
      const [found] = await store().ledger.records(number - 1, 1)
      return { number, hash: found!.hash }
    }

    it('removes the records up to a place, and the chain goes on from there', async () => {
      const calls = Array.from({ length: 700 }, (_, index) => sampleCall(1, { at: NOW + index }))
      await store().append(calls.flat())
      const through = await placeOf(1201)
      const { spent } = await loadLedger()
      await store().ledger.forget(through)
      const rest = calls.flat().slice(1201)
      await expectChain(rest)
      expect((await store().ledger.head()).base).toEqual(through)
      // What counts for budgets stays; what is told beside the head is what the records say.
      expect((await loadLedger()).spent).toEqual(spent)
      expect((await store().ledger.spent()).spent).toEqual([
        { keyId: 'key_a', hour: HOUR, amount: 100n },
      ])
      await reopen()
      expect((await loadLedger()).spent).toEqual(spent)
      await store().append(sampleCall(5))
      expect((await loadLedger()).spent[0]?.amount).toBe(nano(705))
      const found = await store().audit.list('acc_a', { limit: 1000, cursor: undefined })
      expect(found.items).toHaveLength(101)
    })

    it('of everything leaves the time of the last hold, and the number', async () => {
      await store().append(sampleCall(5, { at: NOW + 5 }))
      const { last } = await store().ledger.head()
      await store().ledger.forget(last)
      await reopen()
      expect((await loadLedger()).at).toBe(NOW + 5)
      await store().append(sampleCall(5, { at: NOW + 6 }))
      expect((await records()).map(({ number }) => number)).toEqual([3, 4])
    })

    it('leaves the latest time of any hold, also where an older call ended last', async () => {
      const slow = sampleHold({ at: NOW + 1 })
      await store().append([asHold(slow), ...sampleCall(5, { at: NOW + 9 })])
      await store().append([asRecord(endOf(slow))])
      const { last } = await store().ledger.head()
      await store().ledger.forget(last)
      await reopen()
      expect((await loadLedger()).at).toBe(NOW + 9)
    })

    it('keeps the totals of hours whose records are here, however old they are', async () => {
      const days = [42, 41, 0]
      for (const day of days)
        // oxlint-disable-next-line no-await-in-loop -- in the order of time
        await store().append(sampleCall(5, { at: NOW - day * 24 * HOUR_MS }))
      const hour = HOUR - 41 * 24
      const totals = await store().ledger.totals(hour, hour + 1)
      expect(totals).toHaveLength(2)
      await store().ledger.forget(await placeOf(2))
      expect(await store().ledger.totals(hour, hour + 1)).toEqual(totals)
      await store().ledger.forget(await placeOf(4))
      expect(await store().ledger.totals(hour, hour + 1)).toEqual([])
    })

    it('is refused while a call is open that was held up to there, and beyond what there is', async () => {
      const open = sampleHold()
      const appended = [...sampleCall(1), asHold(open), ...sampleCall(1)]
      await store().append(appended)
      const { last } = await store().ledger.head()
      for (const through of [last, { number: 2, hash: last.hash }, { number: 9, hash: last.hash }])
        // oxlint-disable-next-line no-await-in-loop -- cases of one sentence
        expect(
          await store()
            .ledger.forget(through)
            .catch((thrown: unknown) => thrown),
        ).toMatchObject({ code: 'conflict' })
      await expectChain(appended)
      const [, , ...rest] = appended
      await store().ledger.forget(await placeOf(2))
      await expectChain(rest)
      await store().append([asRecord(endOf(open))])
      await store().ledger.forget(await placeOf(5))
      await expectChain([asRecord(endOf(open))])
    })

    it('lets calls in while it works', async () => {
      await store().append(Array.from({ length: 2000 }, () => sampleCall(1)).flat())
      const through = await placeOf(4000)
      const forgetting = store().ledger.forget(through)
      const appended = Array.from({ length: 20 }, () => asCall(sampleRow({ cost: nano(2) })))
      for (const call of appended)
        // oxlint-disable-next-line no-await-in-loop -- one turn after another
        await store().append(call)
      await forgetting
      await expectChain(appended.flat())
      expect((await loadLedger()).spent[0]?.amount).toBe(nano(2040))
    })
  })
}

// The part of the store's contract that is about what is done once: what an Idempotency-Key was used for.
import { describe, expect, it } from 'bun:test'
import { toNanoUsd } from '../../src/core/money.ts'
import type { HoldRecord, LedgerRecord } from '../../src/core/record.ts'
import type { LedgerStore } from './ledger.ts'
import {
  asHold,
  asNote,
  asRecord,
  endOf,
  NOW,
  sampleCall,
  sampleClaim,
  sampleDeed,
  sampleHold,
  sampleKey,
} from './samples.ts'

const refused = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'done',
    (thrown: unknown) => thrown,
  )

const TAKEN = { code: 'operation_in_progress', status: 409, retryable: true }

export function describeClaims({ store, reopen }: LedgerStore): void {
  const heldUnder = (id: string, change: Partial<HoldRecord> = {}): HoldRecord =>
    sampleHold({ claim: { id, fingerprint: 'print' }, ...change })
  const records = async (): Promise<readonly LedgerRecord[]> =>
    (await store().ledger.records(0, 1000)).map(({ record }) => record)

  describe('a claim', () => {
    it('is written with its hold, and found at once and later', async () => {
      const hold = heldUnder('one')
      await store().append([asHold(hold), asRecord(endOf(hold)), ...sampleCall(1)])
      const { requestId, accountId } = hold
      const named = { id: 'one', fingerprint: 'print', requestId, accountId, at: NOW }
      const claim = { ...named, hasAnswer: false }
      expect(await store().claims.find('one')).toEqual(claim)
      expect(await store().claims.find('two')).toBeUndefined()
      await reopen()
      expect(await store().claims.find('one')).toEqual(claim)
      expect((await records())[0]).toEqual(asHold(hold))
    })

    it('is written with a change, or not when the change is not', async () => {
      const { accountId } = await store().load()
      const key = sampleKey(accountId)
      const claim = sampleClaim()
      await store().keys.insert(key, sampleDeed({}, claim))
      const other = sampleClaim()
      await refused(store().keys.insert(key, sampleDeed({}, other)))
      await reopen()
      expect(await store().claims.find(claim.id)).toEqual({ ...claim, hasAnswer: false })
      expect(await store().claims.find(other.id)).toBeUndefined()
    })

    it('lets a change be made once', async () => {
      const { accountId } = await store().load()
      const claim = sampleClaim()
      const insert = (): Promise<unknown> =>
        refused(store().keys.insert(sampleKey(accountId), sampleDeed({}, claim)))
      expect(await insert()).toBe('done')
      expect(await insert()).toMatchObject(TAKEN)
      expect((await store().load()).keys).toHaveLength(1)
      expect(await records()).toHaveLength(1)
    })

    it('may stand alone, once', async () => {
      const claim = sampleClaim()
      expect(await refused(store().claims.add(claim))).toBe('done')
      expect(await refused(store().claims.add({ ...claim, fingerprint: 'other' }))).toBe('done')
      await reopen()
      expect(await store().claims.find(claim.id)).toEqual({ ...claim, hasAnswer: false })
    })

    it('that exists refuses a hold alone, and nothing is lost of what is written with it', async () => {
      const first = heldUnder('one')
      const appended = await Promise.all(
        [
          [asHold(first)],
          [...sampleCall(1)],
          // In the very turn of the first, and with an end of the first between them.
          [asRecord(endOf(first))],
          [asNote('resumed', undefined, {}), asHold(heldUnder('one'))],
          [...sampleCall(2)],
          [asHold(heldUnder('two')), asHold(heldUnder('two'))],
          [asHold(heldUnder('two'))],
        ].map((batch) => refused(store().append(batch))),
      )
      const taken = expect.objectContaining({ code: 'operation_in_progress' }) as unknown
      expect(appended).toEqual(['done', 'done', 'done', taken, 'done', taken, 'done'])
      const last = appended[3] as { readonly details?: { readonly fatal?: boolean } }
      expect(last.details?.fatal).toBeUndefined()
      expect(await records()).toHaveLength(7)
      // And later, from the table.
      expect(await refused(store().append([asHold(heldUnder('one'))]))).toMatchObject(TAKEN)
      await reopen()
      expect(await refused(store().append([asHold(heldUnder('two'))]))).toMatchObject(TAKEN)
      expect(await refused(store().append([asHold(heldUnder('three'))]))).toBe('done')
    })

    it('that is queued with a hold is not taken by a change in the same turn', async () => {
      const held = refused(store().append([asHold(heldUnder('one'))]))
      const added = refused(store().claims.add(sampleClaim({ id: 'one' })))
      expect([await held, await added]).toEqual(['done', 'done'])
      expect(await store().claims.find('one')).toMatchObject({ fingerprint: 'print' })
    })

    it('keeps the answer byte for byte, in the commit of the turn', async () => {
      const hold = heldUnder('one')
      await store().append([asHold(hold)])
      const answer = Uint8Array.from({ length: 70_000 }, (_, index) => index % 256)
      const kept = store().claims.keep('one', answer)
      await Promise.all([kept, store().append([asRecord(endOf(hold))])])
      await reopen()
      const { requestId } = hold
      expect(await kept).toBe(true)
      expect(await store().claims.find('one')).toMatchObject({ requestId, hasAnswer: true })
      expect(await store().claims.answer('one')).toEqual(answer)
      // There is nothing wrong with an answer to what is gone.
      expect(await store().claims.keep('none', answer)).toBe(false)
      expect(await store().claims.find('none')).toBeUndefined()
      expect(await store().claims.answer('none')).toBeUndefined()
    })

    it('is free again when it is dropped', async () => {
      const hold = heldUnder('one')
      await store().append([asHold(hold)])
      const end = asRecord(endOf(hold, { state: 'voided' }))
      await Promise.all([store().append([end]), store().claims.drop('one')])
      expect(await store().claims.find('one')).toBeUndefined()
      expect(await refused(store().append([asHold(heldUnder('one'))]))).toBe('done')
    })

    it('is removed when it is old, some at a time, but not while its call is open', async () => {
      const open = heldUnder('open', { at: NOW - 9 })
      const calls = Array.from({ length: 900 }, (_, index) =>
        heldUnder(`old${index}`, { at: NOW - 5 }),
      )
      await store().append([asHold(open), asNote('review', open.requestId, { reason: 'x' })])
      await store().append(calls.flatMap((hold) => [asHold(hold), asRecord(endOf(hold))]))
      await store().claims.add(sampleClaim({ id: 'young', at: NOW }))
      await reopen()
      let removed = 0
      const steps: number[] = []
      do {
        // oxlint-disable-next-line no-await-in-loop -- one step after another
        removed = (await store().claims.sweep(NOW)).count
        steps.push(removed)
      } while (removed > 0)
      expect(steps.length).toBeGreaterThan(2)
      expect(steps.reduce((sum, step) => sum + step, 0)).toBe(900)
      expect(await store().claims.find('old0')).toBeUndefined()
      expect(await store().claims.find('young')).toBeDefined()
      expect(await store().claims.find('open')).toBeDefined()
      await store().append([asRecord(endOf(open, { cost: toNanoUsd(1) }))])
      expect(await store().claims.sweep(NOW)).toEqual({ count: 1, freed: [] })
    })

    it('tells what its answer takes, and whose it is, while it is there and when it goes', async () => {
      const claims = [
        sampleClaim({ id: 'a', accountId: 'acc_a', at: NOW - 9 }),
        sampleClaim({ id: 'b', accountId: 'acc_b', at: NOW - 8 }),
        sampleClaim({ id: 'c', accountId: 'acc_a', at: NOW - 7 }),
        sampleClaim({ id: 'd', accountId: 'acc_a', at: NOW - 6 }),
      ]
      await Promise.all(claims.map((claim) => store().claims.add(claim)))
      const keep = (id: string, bytes: number): Promise<boolean> =>
        store().claims.keep(id, new Uint8Array(bytes))
      await Promise.all([keep('a', 5000), keep('b', 20), keep('c', 300)])
      await reopen()
      const sizes = await store().claims.sizes()
      expect(sizes.toSorted((one, two) => one.bytes - two.bytes)).toEqual([
        { accountId: 'acc_b', bytes: 20 },
        { accountId: 'acc_a', bytes: 5300 },
      ])
      expect(await store().claims.drop('c')).toEqual([{ accountId: 'acc_a', bytes: 300 }])
      expect(await store().claims.drop('c')).toEqual([])
      const freed = [
        { accountId: 'acc_a', bytes: 5000 },
        { accountId: 'acc_b', bytes: 20 },
      ]
      expect(await store().claims.sweep(NOW)).toEqual({ count: 3, freed })
      expect(await store().claims.sizes()).toEqual([])
    })

    it('is removed with few others where the answers are long', async () => {
      const claims = Array.from({ length: 5 }, (_, index) =>
        sampleClaim({ id: `long${index}`, at: NOW - 9 + index }),
      )
      await Promise.all(claims.map((claim) => store().claims.add(claim)))
      const answer = new Uint8Array(3 * 1_048_576)
      await Promise.all(claims.map(({ id }) => store().claims.keep(id, answer)))
      const sweep = async (): Promise<number> => (await store().claims.sweep(NOW)).count
      expect([await sweep(), await sweep(), await sweep(), await sweep()]).toEqual([2, 2, 1, 0])
    })
  })
}

// Honest books of payers pass, and each way of damaging them is told.
import { describe, expect, it } from 'bun:test'
import { Clerk, payerText, type FakeBooks } from '../../../test/fakes/books.ts'
import { toNanoUsd } from '../../core/money.ts'
import type { PayerTerms } from '../../core/payer.ts'
import { SUM_MAX, type ChainedRecord } from '../../store/store.ts'
import { archiveNote } from '../months/checkpoint.ts'
import type { ArchivedRecord } from '../months/export.ts'
import { verifyBooks } from './verify.ts'

const DAY_MS = 86_400_000
/** What `settle` with a hundred output tokens comes to. */
const COST = 75_000

/** A wallet with money in it, and calls that it paid for. */
function keepBooks(change: Partial<PayerTerms> = {}, credits = 1_000_000): Clerk {
  const clerk = new Clerk()
  clerk.settle(clerk.hold('key_old', 400_000)!, 100)
  clerk.payer = payerText(change)
  if (credits !== 0) clerk.credit('wal_a', credits)
  clerk.settle(clerk.hold('key_a', 400_000)!, 100)
  clerk.void(clerk.hold('key_a', 400_000)!)
  clerk.credit('wal_a', -25_000)
  return clerk
}

async function faultsOf(books: FakeBooks): Promise<readonly string[]> {
  const { faults } = await verifyBooks(books)
  return faults.map(({ what }) => what)
}

describe('books with payers', () => {
  it('are clean, with what wallets paid in their months and what was put into them in none', async () => {
    const { books } = keepBooks()
    const { faults, months, counts } = await verifyBooks(books)
    expect(faults).toEqual([])
    expect(counts.unchecked).toBe(0)
    expect(months[0]?.accounts).toEqual([
      ['key/key_a', BigInt(COST)],
      ['key/key_old', BigInt(COST)],
      ['payer/wal_a', BigInt(COST)],
      ['payments', -BigInt(COST)],
      ['supplier/first', -2n * BigInt(COST)],
    ])
  })

  it('are clean to the last nano-dollar of what is there', async () => {
    const clerk = keepBooks({ line: toNanoUsd(100) })
    clerk.payer = payerText({ line: toNanoUsd(100) })
    clerk.hold('key_a', 500_000)
    clerk.hold('key_b', 400_100)
    expect(await faultsOf(clerk.books)).toEqual([])
    clerk.hold('key_b', 0)
    expect(await faultsOf(clerk.books)).toEqual([])
    clerk.hold('key_b', 1)
    expect(await faultsOf(clerk.books)).toEqual([
      'was granted 1 nano-dollars beyond what wal_a had',
    ])
  })

  it('tell a grant above a spending limit, and excuse none of another period', async () => {
    const clerk = new Clerk()
    clerk.payer = payerText({ line: null, limit: toNanoUsd(500_000), period: 'daily' })
    clerk.settle(clerk.hold('key_a', 400_000)!, 100)
    clerk.hold('key_b', 425_000)
    clerk.at += DAY_MS
    clerk.hold('key_b', 500_000)
    expect(await faultsOf(clerk.books)).toEqual([])
    clerk.hold('key_b', 1)
    expect(await faultsOf(clerk.books)).toEqual([
      'was granted 1 nano-dollars above the spending limit of wal_a, 500000',
    ])
  })

  it('remark a grant that could not know of a charge beyond a hold', async () => {
    const clerk = new Clerk()
    clerk.payer = payerText()
    clerk.credit('wal_a', 100_000)
    const call = clerk.hold('key_a', 60_000)!
    clerk.settle(call, 100, { cost: toNanoUsd(COST), overrun: toNanoUsd(0) })
    clerk.hold('key_a', 40_000)
    const { faults, remarks } = await verifyBooks(clerk.books)
    expect(faults).toEqual([])
    expect(remarks.map(({ what }) => what)).toContain(
      'was granted 15000 nano-dollars beyond what wal_a had',
    )
  })

  it('tell an end that is paid by another than its hold', async () => {
    const { books } = keepBooks()
    const number = books.rowOf('req_000002')
    books.editRow(number, { payer: payerText({ wallet: 'wal_b' }) })
    books.rechain()
    expect(await faultsOf(books)).toEqual([
      'is paid by another than its hold says',
      `wal_a was charged ${COST} nano-dollars by the store, 0 by the records`,
      `wal_b was charged 0 nano-dollars by the store, ${COST} by the records`,
    ])
  })

  it('tell balances of the store that are off by one', async () => {
    const { books } = keepBooks()
    const known = books.balances.get('wal_a')!
    books.balances.set('wal_a', { ...known, credited: known.credited + 1n })
    expect(await faultsOf(books)).toEqual([
      'wal_a was credited 975001 nano-dollars by the store, 975000 by the records',
    ])
    books.balances.set('wal_a', { ...known, charged: known.charged - 1n })
    expect(await faultsOf(books)).toEqual([
      `wal_a was charged ${COST - 1} nano-dollars by the store, ${COST} by the records`,
    ])
    books.balances.delete('wal_a')
    expect(await faultsOf(books)).toHaveLength(2)
  })

  it('take the bound of a sum for that and more, and for no less', async () => {
    const { books } = keepBooks()
    const known = books.balances.get('wal_a')!
    const before = { ...known, charged: SUM_MAX }
    books.balances.set('wal_a', before)
    expect(await faultsOf(books)).toEqual([
      `wal_a was charged ${SUM_MAX} nano-dollars by the store, ${COST} by the records`,
    ])
    const clerk = keepBooks()
    clerk.payer = payerText({ line: null })
    for (let index = 0; index < 800; index++)
      clerk.settle(clerk.hold(`key_${index}`, Number.MAX_SAFE_INTEGER)!, 1e13)
    const sum = clerk.books.balances.get('wal_a')!
    expect(sum.charged).toBeGreaterThan(SUM_MAX)
    clerk.books.balances.set('wal_a', { ...sum, charged: SUM_MAX })
    expect(await faultsOf(clerk.books)).toEqual([])
    clerk.books.balances.set('wal_a', { ...sum, charged: SUM_MAX - 1n })
    expect(await faultsOf(clerk.books)).toHaveLength(1)
  })

  it('remark no more than such charges come to, and none that is long past', async () => {
    const clerk = new Clerk()
    clerk.payer = payerText()
    clerk.credit('wal_a', 200_000)
    const beyond = { cost: toNanoUsd(COST), overrun: toNanoUsd(0) }
    const calls = ['key_a', 'key_b'].map((key) => clerk.hold(key, COST - 15_000)!)
    for (const call of calls) clerk.settle(call, 100, beyond)
    clerk.void(clerk.hold('key_a', 80_000)!)
    expect(await faultsOf(clerk.books)).toEqual([])
    clerk.void(clerk.hold('key_a', 80_001)!)
    expect(await faultsOf(clerk.books)).toEqual([
      'was granted 30001 nano-dollars beyond what wal_a had',
    ])
    // A commit has no more records than these.
    for (let index = 0; index < 4096; index++) clerk.refuse('key_a')
    clerk.hold('key_a', 80_000)
    expect(await faultsOf(clerk.books)).toEqual([
      'was granted 30001 nano-dollars beyond what wal_a had',
      'was granted 30000 nano-dollars beyond what wal_a had',
    ])
  })

  it.each<readonly [what: string, change: object]>([
    ['nothing', { amount: 0 }],
    ['half a nano-dollar', { amount: 0.5 }],
    ['more than a number holds', { amount: 2 ** 53 }],
    ['an amount in words', { amount: '5' }],
    ['no wallet', { wallet: undefined }],
    ['nobody', { by: 7 }],
    ['no word about a reference', { reference: undefined }],
    ['a reference that is no text', { reference: 7 }],
  ])('tell a credit of %s', async (_, change) => {
    const clerk = keepBooks()
    const about = { account: 'acc_a', wallet: 'wal_a', by: 'key_root', reason: 'test' }
    clerk.note('credit', 'req_credit', { ...about, amount: 5, reference: null, ...change })
    expect(await faultsOf(clerk.books)).toEqual(['is a credit that cannot be read'])
  })

  it.each<readonly [what: string, change: object]>([
    ['no name', { wallet: '' }],
    ['a place that there is not', { link: 'bank' }],
    ['a line below nothing', { line: -1 }],
    ['a limit of half a nano-dollar', { limit: 0.5, period: 'daily' }],
    ['a limit without a period', { limit: 5 }],
    ['a period without a limit', { period: 'daily' }],
    ['a period that there is not', { limit: 5, period: 'yearly' }],
    ['no word about others', { passed: undefined }],
    ['another without a name', { passed: [{ link: 'caller', why: 'none' }] }],
    ['another passed for no reason', { passed: [{ link: 'caller', wallet: null, why: 'mood' }] }],
    ['another in no place', { passed: [{ link: 'bank', wallet: null, why: 'none' }] }],
  ])('tell a payer with %s', async (_, change) => {
    const clerk = keepBooks()
    clerk.payer = payerText(change)
    clerk.hold('key_a', 1)
    expect(await faultsOf(clerk.books)).toEqual(['is held for a payer that cannot be read'])
  })

  it('tell credits and payers that cannot be read', async () => {
    const clerk = keepBooks()
    clerk.note('credit', 'req_credit', { wallet: 'wal_a' })
    clerk.payer = '{"wallet":"wal_a"}'
    clerk.void(clerk.hold('key_a', 1)!)
    expect(await faultsOf(clerk.books)).toEqual([
      'is a credit that cannot be read',
      'is held for a payer that cannot be read',
      'is paid by a payer that cannot be read',
    ])
  })

  it('go on behind what was archived with what was held there', async () => {
    const clerk = keepBooks()
    const call = clerk.hold('key_a', 900_000)!
    const { number, hash } = clerk.books.last
    const place = { month: '2026-10', through: { number, hash }, file: 'f', open: [call] }
    clerk.books.put({ type: 'note', note: archiveNote(clerk.at, place) })
    await clerk.books.forget({ number, hash })
    clerk.hold('key_b', 1)
    expect(await faultsOf(clerk.books)).toEqual([
      'was granted 1 nano-dollars beyond what wal_a had',
    ])
    clerk.end(call, { payer: payerText({ line: null }) })
    expect(await faultsOf(clerk.books)).toContain('is paid by another than its hold says')
  })

  it('go on behind what was archived with what was in each wallet there', async () => {
    const clerk = keepBooks()
    const { number, hash } = clerk.books.last
    await clerk.books.forget({ number, hash })
    clerk.hold('key_a', 900_000)
    expect(await faultsOf(clerk.books)).toEqual([])
    clerk.hold('key_a', 1)
    expect(await faultsOf(clerk.books)).toEqual([
      'was granted 1 nano-dollars beyond what wal_a had',
    ])
    // Who has had nothing before and is given nothing now has nothing.
    clerk.payer = payerText({ wallet: 'wal_new' })
    clerk.hold('key_a', 2)
    expect(await faultsOf(clerk.books)).toContain(
      'was granted 2 nano-dollars beyond what wal_new had',
    )
  })

  it('tell where the store has another balance from before its records than the archive', async () => {
    const clerk = keepBooks()
    const chain = [...clerk.books.chain]
    const { number, hash } = clerk.books.last
    await clerk.books.forget({ number, hash })
    const known = clerk.books.balances.get('wal_a')!
    const told = async (before: bigint): Promise<readonly string[]> => {
      clerk.books.balances.set('wal_a', { ...known, before })
      const { faults } = await verifyBooks(clerk.books, { archived: archivedOf(chain) })
      return faults.map(({ what }) => what)
    }
    expect(await told(known.before)).toEqual([])
    expect(await told(known.before + 1n)).toEqual([
      'wal_a had 900001 nano-dollars before the records of the store by the store, 900000 by the archive',
    ])
  })

  it('do not tell of a period that began before them, and tell of the next', async () => {
    const clerk = keepBooks()
    const { number, hash } = clerk.books.last
    await clerk.books.forget({ number, hash })
    clerk.payer = payerText({ line: null, limit: toNanoUsd(5), period: 'daily' })
    const found = async (): Promise<readonly [unchecked: number, faults: number]> => {
      const { counts, faultCount } = await verifyBooks(clerk.books)
      return [counts.unchecked, faultCount]
    }
    clerk.void(clerk.hold('key_a', 6)!)
    expect(await found()).toEqual([1, 0])
    clerk.at += DAY_MS
    clerk.hold('key_a', 6)
    expect(await found()).toEqual([1, 1])
  })
})

async function* archivedOf(chain: readonly ChainedRecord[]): AsyncGenerator<ArchivedRecord> {
  for (const [index, each] of chain.entries())
    yield { ...each, previous: chain[index - 1]?.hash ?? '' }
}

// Honest books pass, and each way of damaging them is told by the record that it was done to.
import { describe, expect, it } from 'bun:test'
import { array, assert, asyncProperty, constantFrom, integer, record } from 'fast-check'
import { Clerk, FakeBooks, TERMS, type Budget } from '../../../test/fakes/books.ts'
import { toNanoUsd, type NanoUsd } from '../../core/money.ts'
import type { HoldRecord } from '../../core/record.ts'
import type { LedgerHead } from '../../store/store.ts'
import { monthNote } from '../months/checkpoint.ts'
import { OVERRUN_MAX } from '../cost/price.ts'
import { BooksMoved, verifyBooks } from './verify.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const BUDGET: Budget = { limit: 5_000_000, period: 'daily' }

/** A few days of everything that can happen to a call. */
function keepBooks(): Clerk {
  const clerk = new Clerk()
  const calls: HoldRecord[] = []
  for (let index = 0; index < 12; index += 1) {
    const call = clerk.hold(index % 3 === 0 ? 'key_a' : 'key_b', 700_000, BUDGET)
    if (call !== undefined) calls.push(call)
    if (call === undefined) clerk.refuse('key_b', 3)
    clerk.at += 5 * HOUR_MS
    const last = calls.at(-1)
    if (index % 4 === 3 || last === undefined) continue
    calls.pop()
    if (index % 4 === 0) clerk.settle(last, 400)
    // More than was held: the operator pays the rest.
    else if (index % 4 === 1) clerk.settle(last, 2000)
    else clerk.void(last, toNanoUsd(90_000))
  }
  for (const call of calls.slice(1)) {
    clerk.note('progress', call.requestId, { outputTokens: 12 })
    clerk.settle(call, 1, { evidence: 'broken' })
  }
  return clerk
}

async function faultsOf(books: FakeBooks): Promise<readonly string[]> {
  const { faults } = await verifyBooks(books)
  return faults.map(({ number, what }) => `${number ?? '-'}: ${what}`)
}

describe('honest books', () => {
  it('are clean, and told in figures', async () => {
    const { books } = keepBooks()
    const findings = await verifyBooks(books)
    expect(findings.faults).toEqual([])
    expect(findings.isClean).toBe(true)
    expect(findings.last).toEqual({ number: books.chain.length, hash: books.last.hash })
    const { counts } = findings
    expect(counts.records).toBe(books.chain.length)
    expect(counts.operations).toBe(counts.settled + counts.voided + counts.open)
    expect(counts.open).toBe(1)
    const [month] = findings.months
    expect(month?.month).toBe('2026-10')
    expect(month?.accounts.map(([account]) => account)).toEqual([
      'key/key_a',
      'key/key_b',
      'overrun',
      'supplier/first',
      'suspense/first',
    ])
    expect(month?.accounts.reduce((sum, [, amount]) => sum + amount, 0n)).toBe(0n)
  })

  it('may hold a usage that is too large to be believed, at the most that is booked', async () => {
    const clerk = new Clerk()
    const call = clerk.hold('key_a', 700_000, BUDGET)!
    const outputTokens = 1_000_000_000_000_000
    const booked = { cost: call.amount, outputTokens, inputTokens: 100 }
    const end = { state: 'settled', evidence: 'reported', supplier: 'first', region: 'EU' } as const
    clerk.end(call, { ...booked, ...end, overrun: toNanoUsd(OVERRUN_MAX) })
    const { faults, remarks } = await verifyBooks(clerk.books)
    expect(faults).toEqual([])
    expect(remarks).toMatchObject([{ number: 2, what: expect.stringContaining('at the most') }])
    const other = clerk.hold('key_a', 700_000, BUDGET)!
    clerk.end(other, { ...booked, ...end, overrun: toNanoUsd(OVERRUN_MAX - 1) })
    expect(await faultsOf(clerk.books)).toEqual([expect.stringContaining('4: books')])
  })

  it('are read in pages, and only as far as they went when the check began', async () => {
    const clerk = keepBooks()
    const { books } = clerk
    let pages = 0
    const length = books.chain.length
    books.onRead = () => {
      pages += 1
      clerk.hold('key_late', 1)
    }
    const findings = await verifyBooks(books, { pageRecords: 4 })
    expect(findings.faults).toEqual([])
    expect(findings.counts.records).toBe(length)
    expect(pages).toBe(Math.ceil(length / 4))
    expect(books.largestPage).toBe(4)
  })

  it('count what is in review, and what a refusal stands for', async () => {
    const clerk = new Clerk()
    const call = clerk.hold('key_a', 10)!
    clerk.hold('key_a', 10)
    clerk.note('review', call.requestId, { reason: 'gone' })
    clerk.refuse('key_a', 7)
    const { counts, isClean } = await verifyBooks(clerk.books)
    expect(isClean).toBe(true)
    expect(counts).toMatchObject({ open: 2, inReview: 1, refused: 7, operations: 2, settled: 0 })
  })

  it('that are empty are clean', async () => {
    expect(await verifyBooks(new FakeBooks())).toMatchObject({ isClean: true, months: [] })
  })

  it('may charge a key beyond its hold, and that is remarked', async () => {
    const clerk = new Clerk()
    const budget: Budget = { limit: 1_000_000, period: 'monthly' }
    const call = clerk.hold('key_a', 100_000, budget)!
    clerk.settle(call, 2000, { cost: toNanoUsd(1_215_000), overrun: toNanoUsd(0) })
    const findings = await verifyBooks(clerk.books)
    expect(findings.faults).toEqual([])
    expect(findings.remarks).toMatchObject([{ number: 2, requestId: call.requestId }])
  })

  it('of any kind are clean', async () => {
    const step = record({
      key: constantFrom('key_a', 'key_b'),
      what: constantFrom('hold', 'hold', 'settle', 'void', 'refuse', 'review', 'pass'),
      size: integer({ min: 0, max: 3000 }),
      period: constantFrom('daily', 'monthly', 'rolling', undefined),
    })
    await assert(
      asyncProperty(array(step, { maxLength: 80, size: 'max' }), async (steps) => {
        const clerk = new Clerk()
        const open: HoldRecord[] = []
        for (const { key, what, size, period } of steps) {
          const budget = period === undefined ? undefined : { limit: 2_000_000, period }
          const call =
            what === 'settle' || what === 'void' ? open.splice(size % 7, 1)[0] : undefined
          if (call !== undefined && what === 'settle') clerk.settle(call, size)
          else if (call !== undefined) clerk.void(call, toNanoUsd(size))
          else if (what === 'hold') open.push(...[clerk.hold(key, size * 500, budget) ?? []].flat())
          else if (what === 'refuse') clerk.refuse(key, size)
          else if (what === 'pass') clerk.at += size * 60_000 * 20
          else if (what === 'review' && open[0] !== undefined)
            clerk.note('review', open[0].requestId, { reason: 'gone' })
        }
        const findings = await verifyBooks(clerk.books, { pageRecords: 7 })
        expect(findings.faults).toEqual([])
        expect(findings.counts.open).toBe(open.length)
      }),
      { numRuns: 300 },
    )
  })
})

describe('damaged books', () => {
  it('tell a cost that was edited', async () => {
    const { books } = keepBooks()
    const number = books.rowOf('req_000001')
    books.editRow(number, { cost: toNanoUsd(1) })
    expect(await faultsOf(books)).toContain(
      `${number}: its hash is not that of the record before and its own content`,
    )
  })

  it('tell a cost that was edited by somebody who made all hashes anew', async () => {
    const { books } = keepBooks()
    const number = books.rowOf('req_000001')
    books.editRow(number, { cost: toNanoUsd(1) })
    books.rechain()
    expect(await faultsOf(books)).toEqual([
      `${number}: books 1 nano-dollars where its tokens cost 255000`,
      '-: key_a has spent 255000 nano-dollars in the hour 2026-10-12T09 by the store, 1 by the records',
    ])
  })

  it('tell a cost that is higher than its tokens', async () => {
    const { books } = keepBooks()
    const number = books.rowOf('req_000001')
    books.editRow(number, { cost: toNanoUsd(255_001) })
    books.rechain()
    expect(await faultsOf(books)).toContain(
      `${number}: books 255001 nano-dollars where its tokens cost 255000`,
    )
  })

  it('tell a row that was removed', async () => {
    const { books } = keepBooks()
    const number = books.rowOf('req_000001')
    books.chain = books.chain.filter((each) => each.number !== number)
    const faults = await faultsOf(books)
    expect(faults[0]).toBe(`${number}: is missing`)
    expect(faults).toContain(
      `${books.holdOf('req_000001')}: has no end, and the store does not take it for open`,
    )
    expect(faults).not.toContainEqual(expect.stringContaining('its hash'))
  })

  it('tell an end that was cut off', async () => {
    const { books } = keepBooks()
    const { last } = await books.head()
    const head = books.head.bind(books)
    books.chain = books.chain.slice(0, -2)
    books.head = async () => ({ ...(await head()), last })
    expect(await faultsOf(books)).toContain(
      `${last.number}: is the last record, and there are none behind ${last.number - 2}`,
    )
  })

  it('tell a second end of one hold', async () => {
    const clerk = keepBooks()
    const call = clerk.hold('key_a', 500)!
    clerk.settle(call, 0)
    clerk.settle(call, 0)
    const number = clerk.books.last.number
    expect(await faultsOf(clerk.books)).toEqual([
      `${number}: ends an operation that has ended before`,
    ])
  })

  it('tell an end without a hold', async () => {
    const clerk = keepBooks()
    const call = new Clerk().hold('key_a', 500)!
    clerk.void({ ...call, requestId: 'req_nowhere' })
    const { faults } = await verifyBooks(clerk.books)
    expect(faults).toMatchObject([
      { requestId: 'req_nowhere', what: 'ends an operation that has no hold' },
    ])
  })

  it('tell a hold without an end that the store takes for closed', async () => {
    const clerk = keepBooks()
    const call = clerk.hold('key_a', 500)!
    clerk.books.open.delete(call.requestId)
    expect(await faultsOf(clerk.books)).toEqual([
      `${clerk.books.last.number}: has no end, and the store does not take it for open`,
    ])
  })

  it('tell an operation that only the store takes for open', async () => {
    const { books } = keepBooks()
    books.open.add('req_ghost')
    const { faults } = await verifyBooks(books)
    expect(faults).toMatchObject([{ requestId: 'req_ghost' }])
  })

  it.each([
    ['hour', { hour: 1 }, 'is charged to another hour than its hold'],
    ['hour that never was', { hour: 1e17 }, 'is charged to another hour than its hold'],
    ['key', { keyId: 'key_other' }, 'is charged to another key than its hold'],
    ['amount', { held: toNanoUsd(1_000_000) }, 'says that 1000000 were held, and 700000 were'],
    ['negative cost', { cost: -5 as NanoUsd }, 'costs no amount of money'],
    ['fraction', { cost: 0.5 as NanoUsd }, 'costs no amount of money'],
    ['supplier', { supplier: 'nobody' }, 'was answered by nobody, which its hold does not name'],
    ['void call', { state: 'voided' }, 'is void and costs something'],
    ['refused call', { state: 'refused' }, 'was refused and still books something'],
    ['missing hold', { held: undefined }, 'ends a call without a hold'],
    ['early overrun', { overrun: toNanoUsd(5) }, 'runs over a hold that is not used up'],
  ] as const)('tell a row with the wrong %s', async (_name, change, what) => {
    const { books } = keepBooks()
    const number = books.rowOf('req_000001')
    books.editRow(number, change)
    books.rechain()
    expect(await faultsOf(books)).toContainEqual(expect.stringContaining(`${number}: ${what}`))
  })

  it('tell a hash that was flipped, and blame no record behind it', async () => {
    const { books } = keepBooks()
    books.chain = books.chain.map((each) => (each.number === 5 ? { ...each, hash: 'AAAA' } : each))
    expect(await faultsOf(books)).toEqual([
      '5: its hash is not that of the record before and its own content',
    ])
  })

  it('tell two records that were swapped', async () => {
    const { books } = keepBooks()
    const [one, other] = [books.chain[4]!, books.chain[5]!]
    books.chain[4] = { ...other, number: one.number }
    books.chain[5] = { ...one, number: other.number }
    const faults = await faultsOf(books)
    expect(faults[0]).toBe('5: its hash is not that of the record before and its own content')
  })

  it('tell what a key has spent when it is off by one', async () => {
    const { books } = keepBooks()
    const [name, amount] = [...books.sums][1]!
    books.sums.set(name, amount + 1)
    const [keyId] = name.split(' ')
    expect(await faultsOf(books)).toEqual([expect.stringContaining(`-: ${keyId} has spent`)])
    books.sums.delete(name)
    expect(await faultsOf(books)).toEqual([expect.stringContaining('spent 0 nano-dollars')])
  })

  it.each(['daily', 'monthly', 'rolling'] as const)(
    'tell a grant that a %s limit had no room for',
    async (period) => {
      const clerk = new Clerk()
      const budget = { limit: 1_000_000, period }
      const first = clerk.hold('key_a', 400_000, budget)!
      clerk.settle(first, 100)
      clerk.hold('key_a', 600_000, budget)
      const spent = 75_000
      clerk.at += HOUR_MS
      clerk.hold('key_b', 1_000_000, budget)
      const last = clerk.hold('key_a', 1_000_000 - 600_000 - spent, budget)!
      expect((await verifyBooks(clerk.books)).faults).toEqual([])
      const number = clerk.books.holdOf(last.requestId)
      clerk.books.editHold(number, { amount: toNanoUsd(last.amount + 1) })
      clerk.books.rechain()
      expect(await faultsOf(clerk.books)).toEqual([
        `${number}: was granted 1 nano-dollars above its limit of 1000000`,
      ])
    },
  )

  it('tell an overrun that was lost', async () => {
    const { books } = keepBooks()
    const number = books.numberOf((record) => record.type === 'audit' && record.row.overrun > 0)
    books.editRow(number, { overrun: toNanoUsd(0) })
    books.rechain()
    expect(await faultsOf(books)).toEqual([
      `${number}: books 700000 nano-dollars where its tokens cost 1215000`,
    ])
  })

  it('tell a hold whose time goes back, and one with the wrong hour', async () => {
    const clerk = keepBooks()
    clerk.at -= DAY_MS
    clerk.hold('key_c', 5)
    const { number } = clerk.books.last
    expect(await faultsOf(clerk.books)).toEqual([
      `${number}: its time is before that of an earlier hold`,
    ])
    clerk.books.editHold(1, { hour: 3 })
    clerk.books.rechain()
    expect(await faultsOf(clerk.books)).toContain('1: its hour is not that of its time')
  })

  it('tell a review of what is not open, and terms that cannot be read', async () => {
    const clerk = keepBooks()
    clerk.note('review', 'req_000001', { reason: 'gone' })
    const { number } = clerk.books.last
    expect(await faultsOf(clerk.books)).toEqual([
      `${number}: puts an operation into review that is not open`,
    ])
    clerk.books.editHold(1, { terms: TERMS.replace('150000', '1.5') })
    clerk.books.rechain()
    expect(await faultsOf(clerk.books)).toContain(
      `${clerk.books.rowOf('req_000001')}: is held on terms that cannot be read`,
    )
  })

  it('keep the first hundred faults and count all', async () => {
    const clerk = new Clerk()
    for (let index = 0; index < 150; index += 1) clerk.settle(clerk.hold('key_a', 500_000)!, 1)
    for (let index = 1; index <= 150; index += 1)
      clerk.books.editRow(index * 2, { details: { maxTokens: 1 } })
    const findings = await verifyBooks(clerk.books)
    expect(findings.faults.length).toBe(100)
    expect(findings.faultCount).toBe(150)
  })
})

describe('books that were closed by the month', () => {
  async function closed(): Promise<Clerk> {
    const clerk = keepBooks()
    for (const requestId of clerk.books.open) {
      const number = clerk.books.holdOf(requestId)
      const { record } = clerk.books.chain[number - 1]!
      if (record.type === 'hold') clerk.settle(record.hold, 10)
    }
    const through = clerk.books.last
    clerk.at = Date.UTC(2026, 10, 1, 2)
    const november = clerk.hold('key_a', 200_000, { limit: 2_000_000, period: 'monthly' })!
    const totals = await clerk.books.totals(0, november.hour)
    const accounts = new Map(totals.map(({ account, amount }) => [account, amount]))
    const note = monthNote(clerk.at, { month: '2026-10', through, accounts })
    clerk.books.put({ type: 'note', note })
    clerk.settle(november, 10)
    return clerk
  }

  it('are clean', async () => {
    expect((await verifyBooks((await closed()).books)).faults).toEqual([])
  })

  it('tell a balance that is not theirs', async () => {
    const { books } = await closed()
    const number = books.numberOf(
      (record) => record.type === 'note' && record.note.kind === 'month',
    )
    const { record } = books.chain[number - 1]!
    const body = record.type === 'note' ? record.note.body : ''
    const broken = body.replace(/"key\/key_a","(\d+)"/, '"key/key_a","7"')
    books.edit(number, (each) =>
      each.type === 'note' ? { ...each, note: { ...each.note, body: broken } } : each,
    )
    books.rechain()
    const faults = await faultsOf(books)
    expect(faults).toContain(`${number}: closes 2026-10 with accounts that do not sum to zero`)
    expect(faults).toContainEqual(expect.stringContaining('with another balance: key/key_a is 7'))
  })

  it('tell a place that is not the end of the month', async () => {
    const { books } = await closed()
    const number = books.numberOf(
      (record) => record.type === 'note' && record.note.kind === 'month',
    )
    books.edit(number, (each) =>
      each.type === 'note'
        ? {
            ...each,
            note: { ...each.note, body: each.note.body.replace(/"through":\d+/, '"through":3') },
          }
        : each,
    )
    books.rechain()
    expect(await faultsOf(books)).toEqual([
      `${number}: closes 2026-10 at a place where it does not end`,
    ])
  })

  it('tell what is booked in a month that is closed, and a month that is closed twice', async () => {
    const clerk = await closed()
    const { books } = clerk
    const note = books.chain.find(
      ({ record }) => record.type === 'note' && record.note.kind === 'month',
    )!
    books.put(note.record)
    clerk.at = Date.UTC(2026, 9, 30)
    const late = clerk.hold('key_a', 500_000)!
    clerk.settle(late, 1)
    const faults = await faultsOf(books)
    expect(faults).toContainEqual(expect.stringContaining('closes 2026-10 for a second time'))
    expect(faults).toContainEqual(expect.stringContaining('is held in a month that is closed'))
    expect(faults).toContainEqual(expect.stringContaining('ends a call of a month that is closed'))
  })

  it('tell a month that was closed over an open call', async () => {
    const clerk = new Clerk()
    const call = clerk.hold('key_a', 100)!
    clerk.at = Date.UTC(2026, 10, 3)
    const note = monthNote(clerk.at, {
      month: '2026-10',
      through: clerk.books.last,
      accounts: new Map(),
    })
    clerk.books.put({ type: 'note', note })
    expect(await faultsOf(clerk.books)).toEqual([
      `2: closes 2026-10 although ${call.requestId} was open`,
    ])
  })
})

describe('books that go on from an earlier version', () => {
  it('are checked against limits from the first whole period on', async () => {
    const clerk = new Clerk()
    clerk.books.base = { number: 40, hash: '' }
    const daily: Budget = { limit: 100, period: 'daily' }
    clerk.hold('key_a', 200_000, { limit: 200_000, period: 'daily' })
    clerk.at += DAY_MS
    clerk.hold('key_a', 80, daily)
    const findings = await verifyBooks(clerk.books)
    expect(findings.faults).toEqual([])
    expect(findings.counts).toMatchObject({ records: 2, unchecked: 1 })
    clerk.books.editHold(42, { amount: toNanoUsd(101) })
    clerk.books.rechain()
    expect(await faultsOf(clerk.books)).toEqual([
      '42: was granted 1 nano-dollars above its limit of 100',
    ])
  })
})

it('a check of books that are being archived is begun again', async () => {
  const { books } = keepBooks()
  const head = books.head.bind(books)
  let asked = 0
  books.head = async (): Promise<LedgerHead> => {
    asked += 1
    if (asked === 2) await books.forget(books.chain[5]!)
    return head()
  }
  const read = books.records.bind(books)
  books.records = async (after, limit) => (await read(after, limit)).slice(after === 0 ? 6 : 0)
  expect(verifyBooks(books)).rejects.toThrow(BooksMoved)
})

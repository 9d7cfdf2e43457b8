// What a key has spent and holds, to the millisecond and the nano-dollar, and the few ways that an operation
// can go. Every other way is a fault, and a fault changes nothing.
import { hourOf } from '../core/hour.ts'
import { afterAll, beforeAll, describe, expect, it } from 'bun:test'
import {
  array,
  assert,
  constant,
  constantFrom,
  integer,
  nat,
  oneof,
  property,
  record,
} from 'fast-check'
import type { AuditRow } from '../core/audit.ts'
import type { BudgetPeriod } from '../core/key.ts'
import { toNanoUsd } from '../core/money.ts'
import { endOf, holdOf } from '../../test/fakes/ledger.ts'
import { Book, type Operation } from './book.ts'
import { LedgerFault } from './fault.ts'
import { Purse } from './purse.ts'

const PERIODS: readonly BudgetPeriod[] = ['daily', 'monthly', 'rolling']
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const NOON = Date.UTC(2026, 0, 15, 12)
const MIDNIGHT = Date.UTC(2026, 0, 16)
const FEBRUARY = Date.UTC(2026, 1, 1)

function purseOf(period: BudgetPeriod, limit?: number): Purse {
  const purse = new Purse('key_1')
  purse.period = period
  purse.limit = limit === undefined ? undefined : toNanoUsd(limit)
  return purse
}

function spend(purse: Purse, at: number, amount: number): void {
  purse.spend(hourOf(at), toNanoUsd(amount))
}

describe('a daily budget', () => {
  it('counts the UTC day, and starts over with its first millisecond', () => {
    const purse = purseOf('daily', 100)
    spend(purse, MIDNIGHT - DAY_MS - 1, 1)
    spend(purse, MIDNIGHT - DAY_MS, 10)
    spend(purse, MIDNIGHT - 1, 20)
    expect(purse.used(MIDNIGHT - 1)).toBe(toNanoUsd(30))
    expect(purse.rest(MIDNIGHT - 1)).toBe(70)
    expect(purse.resetsAt(MIDNIGHT - 1)).toBe(MIDNIGHT)
    expect(purse.used(MIDNIGHT)).toBe(toNanoUsd(0))
    expect(purse.rest(MIDNIGHT)).toBe(100)
    expect(purse.resetsAt(MIDNIGHT)).toBe(MIDNIGHT + DAY_MS)
  })
})

describe('a monthly budget', () => {
  it('counts the UTC month, and starts over with its first millisecond', () => {
    const purse = purseOf('monthly', 100)
    spend(purse, Date.UTC(2025, 11, 31, 23), 1)
    spend(purse, Date.UTC(2026, 0, 1), 10)
    spend(purse, FEBRUARY - 1, 20)
    expect(purse.used(FEBRUARY - 1)).toBe(toNanoUsd(30))
    expect(purse.resetsAt(FEBRUARY - 1)).toBe(FEBRUARY)
    expect(purse.used(FEBRUARY)).toBe(toNanoUsd(0))
    expect(purse.resetsAt(FEBRUARY)).toBe(Date.UTC(2026, 2, 1))
  })

  it('of January still counts its first hour in its last', () => {
    const purse = purseOf('monthly')
    spend(purse, Date.UTC(2026, 0, 1), 7)
    for (let day = 1; day <= 31; day++) purse.used(Date.UTC(2026, 0, day, 23))
    expect(purse.used(FEBRUARY - 1)).toBe(toNanoUsd(7))
  })
})

describe('a rolling budget', () => {
  it('counts 720 hours, and each leaves in one piece', () => {
    const purse = purseOf('rolling', 100)
    spend(purse, NOON, 10)
    spend(purse, NOON + HOUR_MS + 5, 20)
    const end = NOON + 720 * HOUR_MS
    expect(purse.resetsAt(NOON + 2 * HOUR_MS)).toBe(end)
    expect(purse.used(end - 1)).toBe(toNanoUsd(30))
    expect(purse.used(end)).toBe(toNanoUsd(20))
    expect(purse.resetsAt(end)).toBe(end + HOUR_MS)
    expect(purse.used(end + HOUR_MS)).toBe(toNanoUsd(0))
  })

  it('resets never while nothing is spent', () => {
    const purse = purseOf('rolling', 100)
    expect(purse.resetsAt(NOON)).toBeUndefined()
    spend(purse, NOON, 1)
    expect(purse.resetsAt(NOON)).toBe(NOON + 720 * HOUR_MS)
    expect(purse.resetsAt(NOON + 800 * HOUR_MS)).toBeUndefined()
  })
})

describe('money that is held', () => {
  it('is neither spent nor left', () => {
    const purse = purseOf('daily', 100)
    purse.keep(hourOf(NOON), 30)
    spend(purse, NOON, 50)
    expect([purse.used(NOON), purse.held(NOON), purse.rest(NOON)].map(Number)).toEqual([50, 30, 20])
    purse.keep(hourOf(NOON), -30)
    expect(purse.rest(NOON)).toBe(50)
  })

  it.each(PERIODS)('since an earlier period does not burden the new one: %s', (period) => {
    const purse = purseOf(period, 100)
    purse.keep(hourOf(NOON), 90)
    const later = NOON + 31 * DAY_MS
    expect(purse.held(NOON)).toBe(toNanoUsd(90))
    expect(purse.held(later)).toBe(toNanoUsd(0))
    expect(purse.rest(later)).toBe(100)
    purse.keep(hourOf(NOON), -90)
    spend(purse, NOON, 90)
    expect(purse.rest(later)).toBe(100)
  })

  it('cannot be let go twice', () => {
    const purse = purseOf('daily', 100)
    purse.keep(hourOf(NOON), 30)
    purse.keep(hourOf(NOON), -30)
    expect(() => purse.keep(hourOf(NOON), -30)).toThrow(LedgerFault)
    expect(() => purse.keep(hourOf(NOON + HOUR_MS), -1)).toThrow(LedgerFault)
    expect(purse.held(NOON)).toBe(toNanoUsd(0))
  })

  it('past the exact range is refused, and leaves nothing behind', () => {
    const purse = purseOf('daily')
    purse.keep(hourOf(NOON), Number.MAX_SAFE_INTEGER - 1)
    expect(Number(purse.held(NOON))).toBe(Number.MAX_SAFE_INTEGER - 1)
    expect(() => purse.keep(hourOf(NOON), 2)).toThrow(RangeError)
    // Each hour is exact by itself, and the day is not.
    expect(() => purse.keep(hourOf(NOON) + 1, 2)).toThrow(RangeError)
    purse.keep(hourOf(NOON), 1 - Number.MAX_SAFE_INTEGER)
    purse.period = 'monthly'
    expect(purse.held(NOON)).toBe(toNanoUsd(0))
  })
})

describe('a change of the budget', () => {
  it('of its period counts the same hours by the new one', () => {
    const purse = purseOf('daily', 100)
    spend(purse, NOON - 20 * DAY_MS, 1)
    spend(purse, NOON - DAY_MS, 2)
    spend(purse, NOON, 4)
    purse.keep(hourOf(NOON - DAY_MS), 8)
    const seen = (): readonly (number | undefined)[] => [
      purse.used(NOON),
      purse.held(NOON),
      purse.rest(NOON),
    ]
    expect(seen()).toEqual([4, 0, 96])
    purse.period = 'monthly'
    expect(seen()).toEqual([6, 8, 86])
    purse.period = 'rolling'
    expect(seen()).toEqual([7, 8, 85])
    purse.period = 'daily'
    spend(purse, NOON, 16)
    expect(seen()).toEqual([20, 0, 80])
  })

  it('of its limit holds at once, also below what is spent', () => {
    const purse = purseOf('daily', 100)
    spend(purse, NOON, 60)
    expect(purse.rest(NOON)).toBe(40)
    purse.limit = toNanoUsd(50)
    expect(purse.rest(NOON)).toBe(-10)
    purse.limit = undefined
    expect(purse.rest(NOON)).toBeUndefined()
    expect(purse.used(NOON)).toBe(toNanoUsd(60))
  })
})

describe('a purse', () => {
  it('forgets hours that no period looks back to', () => {
    const purse = purseOf('rolling')
    spend(purse, NOON, 1)
    spend(purse, NOON + 10 * DAY_MS, 2)
    purse.used(NOON + 40 * DAY_MS)
    expect([...purse.hours()]).toEqual([[hourOf(NOON + 10 * DAY_MS), toNanoUsd(2)]])
  })

  it('sums exactly, whatever was spent and held when, and however often it was asked', () => {
    // So large that a sum in dollars, or in any other fraction, would be off.
    const amounts = oneof(nat(1000), {
      weight: 9,
      arbitrary: integer({ min: 2 ** 47, max: 2 ** 48 }),
    })
    const waits = oneof(
      { weight: 30, arbitrary: constant(0) },
      constantFrom(1, HOUR_MS - 1, HOUR_MS, 5 * DAY_MS),
    )
    const steps = array(record({ wait: waits, spent: amounts, held: amounts }), {
      maxLength: 31,
      size: 'max',
    })
    assert(
      property(array(constantFrom(...PERIODS), { minLength: 1 }), steps, (periods, steps) => {
        const purse = purseOf('daily', Number.MAX_SAFE_INTEGER)
        const taken: { at: number; spent: bigint; held: bigint }[] = []
        let now = NOON
        for (const [index, { wait, spent, held }] of steps.entries()) {
          now += wait
          spend(purse, now, spent)
          purse.keep(hourOf(now), held)
          taken.push({ at: now, spent: BigInt(spent), held: BigInt(held) })
          const period = periods[index % periods.length] ?? 'daily'
          purse.period = period
          const counted = taken.filter(({ at }) => isCounted(period, hourOf(at), hourOf(now)))
          const used = counted.reduce((sum, each) => sum + each.spent, 0n)
          const kept = counted.reduce((sum, each) => sum + each.held, 0n)
          expect(BigInt(purse.used(now))).toBe(used)
          expect(BigInt(purse.held(now))).toBe(kept)
          expect(BigInt(purse.rest(now) ?? 0)).toBe(BigInt(Number.MAX_SAFE_INTEGER) - used - kept)
        }
      }),
      { numRuns: 500 },
    )
  })
})

/** The definition of a period, in words of its own. */
function isCounted(period: BudgetPeriod, hour: number, now: number): boolean {
  if (period === 'rolling') return now - hour < 720
  const [then, today] = [hour, now].map((each) => new Date(each * HOUR_MS).toISOString())
  const length = period === 'daily' ? 'YYYY-MM-DD'.length : 'YYYY-MM'.length
  return then?.slice(0, length) === today?.slice(0, length)
}

/* oxlint-disable node/no-process-env -- the zone of a process can be set nowhere else */
describe('on a machine with summer time', () => {
  const zone = process.env['TZ']
  beforeAll(() => void (process.env['TZ'] = 'Europe/Berlin'))
  afterAll(() => {
    if (zone === undefined) delete process.env['TZ']
    else process.env['TZ'] = zone
  })

  it('a day is the same UTC day when the clocks change', () => {
    const change = Date.UTC(2026, 2, 29, 1)
    expect(new Date(change - 1).getTimezoneOffset()).not.toBe(new Date(change).getTimezoneOffset())
    const purse = purseOf('daily', 100)
    spend(purse, Date.UTC(2026, 2, 28, 23), 1)
    spend(purse, Date.UTC(2026, 2, 29), 10)
    spend(purse, change, 20)
    expect(purse.used(Date.UTC(2026, 2, 30) - 1)).toBe(toNanoUsd(30))
    expect(purse.resetsAt(change)).toBe(Date.UTC(2026, 2, 30))
    expect(purse.used(Date.UTC(2026, 2, 30))).toBe(toNanoUsd(0))
  })
})
/* oxlint-enable node/no-process-env */

/** A book in which one call of a key with a budget of 1000 has been granted 100. */
function openBook(): { readonly book: Book; readonly purse: Purse; readonly operation: Operation } {
  const book = new Book()
  const purse = book.purse('key_1')
  purse.limit = toNanoUsd(1000)
  return { book, purse, operation: book.grant(holdOf({ at: NOON })) }
}

function end(book: Book, operation: Operation, row: AuditRow): void {
  book.beginEnd(operation, row)
  book.end(operation, row)
}

describe('an operation', () => {
  it('is held until its end is durable, then free, and its cost is spent', () => {
    const { book, purse, operation } = openBook()
    const row = endOf(operation, 60)
    book.beginEnd(operation, row)
    expect([purse.used(NOON), purse.held(NOON), purse.running].map(Number)).toEqual([0, 100, 1])
    book.end(operation, row)
    expect([purse.used(NOON), purse.held(NOON), purse.running].map(Number)).toEqual([60, 0, 0])
    expect(operation.state).toBe('settled')
    expect(book.find(operation.hold.requestId)).toBeUndefined()
    expect(book.openCount).toBe(0)
  })

  it('can be granted exactly what is left, and not one more', () => {
    const { book, purse } = openBook()
    book.grant(holdOf({ at: NOON, amount: toNanoUsd(900) }))
    expect(purse.rest(NOON)).toBe(0)
    book.grant(holdOf({ at: NOON, amount: toNanoUsd(0) }))
    expect(() => book.grant(holdOf({ at: NOON, amount: toNanoUsd(1) }))).toThrow(LedgerFault)
  })

  it('that is void costs nothing', () => {
    const { book, purse, operation } = openBook()
    end(book, operation, endOf(operation, undefined))
    expect(purse.rest(NOON)).toBe(1000)
    expect(operation.state).toBe('voided')
  })

  it('that never became durable leaves nothing', () => {
    const { book, purse, operation } = openBook()
    book.withdraw(operation)
    expect(purse.rest(NOON)).toBe(1000)
    expect(purse.running).toBe(0)
    expect(book.openCount).toBe(0)
  })

  it('is charged to the hour of its hold, whenever it ends', () => {
    const { book, purse, operation } = openBook()
    purse.period = 'daily'
    expect(purse.rest(MIDNIGHT)).toBe(1000)
    end(book, operation, endOf(operation, 60))
    expect(purse.rest(MIDNIGHT)).toBe(1000)
    expect([...purse.hours()]).toEqual([[hourOf(NOON), toNanoUsd(60)]])
  })

  it('in review counts as held, and can be ended', () => {
    const { book, purse, operation } = openBook()
    book.review(operation, NOON + 1)
    expect(purse.rest(NOON)).toBe(900)
    end(book, operation, endOf(operation, 40))
    expect(purse.rest(NOON)).toBe(960)
  })

  it('may cost more than was held where the operator wants that', () => {
    const { book, purse, operation } = openBook()
    end(book, operation, endOf(operation, 1500))
    expect(purse.rest(NOON)).toBe(-500)
  })

  it('of an earlier process is taken over, whatever the limit is by now', () => {
    const book = new Book()
    const purse = book.purse('key_1')
    purse.limit = toNanoUsd(10)
    book.adoptSpent({ ownerId: 'key_1', hour: hourOf(NOON), amount: toNanoUsd(7) })
    const hold = holdOf({ at: NOON })
    const operation = book.adopt({
      hold,
      reviewAt: NOON + 5,
      asked: [{ supplier: 'second' }],
      outputTokens: 3,
    })
    expect(operation).toMatchObject({ state: 'review', reviewAt: NOON + 5, outputTokens: 3 })
    expect(operation.asked).toEqual([{ supplier: 'second' }])
    expect([purse.used(NOON), purse.held(NOON), purse.rest(NOON)].map(Number)).toEqual([
      7, 100, -97,
    ])
    expect([...book.open()]).toEqual([operation])
  })
})

describe('no operation', () => {
  const TOO_MUCH = toNanoUsd(901)

  it.each<readonly [what: string, grant: (book: Book, known: Operation) => unknown]>([
    ['is granted more than is left', (book) => book.grant(holdOf({ at: NOON, amount: TOO_MUCH }))],
    ['is granted less than nothing', (book) => book.grant(holdOf({ amount: toNanoUsd(-1) }))],
    ['is granted twice', (book, { hold }) => book.grant(hold)],
    [
      'is taken over twice',
      (book, { hold }) => book.adopt({ hold, reviewAt: undefined, asked: [], outputTokens: 0 }),
    ],
  ])('%s', (_, grant) => {
    const { book, purse, operation } = openBook()
    expect(() => grant(book, operation)).toThrow(LedgerFault)
    expect(purse.rest(NOON)).toBe(900)
    expect(purse.running).toBe(1)
    expect(book.openCount).toBe(1)
  })

  it.each<readonly [what: string, change: Partial<AuditRow>]>([
    ["with another call's row", { requestId: 'req_other' }],
    ["with another key's row", { keyId: 'key_2' }],
    ['in another hour', { hour: hourOf(NOON) + 1 }],
    ['without an hour', { hour: undefined }],
    ['with another hold', { held: toNanoUsd(99) }],
    ['below nothing', { cost: toNanoUsd(-1) }],
    ['with an overrun below nothing', { overrun: toNanoUsd(-1) }],
    ['as void, at a cost', { state: 'voided' }],
    ['as refused', { state: 'refused' }],
  ])('ends %s', (_, change) => {
    const { book, purse, operation } = openBook()
    expect(() => book.beginEnd(operation, endOf(operation, 50, change))).toThrow(LedgerFault)
    expect(operation.isEnding).toBe(false)
    end(book, operation, endOf(operation, 50))
    expect(purse.rest(NOON)).toBe(950)
  })

  const row = (operation: Operation): AuditRow => endOf(operation, 50)

  it.each<readonly [what: string, move: (book: Book, operation: Operation) => void]>([
    ['ends again', (book, operation) => book.beginEnd(operation, row(operation))],
    ['ends again, begun or not', (book, operation) => book.end(operation, row(operation))],
    ['goes into review', (book, operation) => book.review(operation, NOON)],
    ['is withdrawn', (book, operation) => book.withdraw(operation)],
  ])('that has ended %s', (_, move) => {
    const { book, purse, operation } = openBook()
    end(book, operation, row(operation))
    expect(() => move(book, operation)).toThrow(LedgerFault)
    expect([purse.used(NOON), purse.held(NOON), purse.running].map(Number)).toEqual([50, 0, 0])
  })

  it.each<readonly [what: string, move: (book: Book, operation: Operation) => void]>([
    ['ends twice', (book, operation) => book.beginEnd(operation, row(operation))],
    ['goes into review', (book, operation) => book.review(operation, NOON)],
    ['is withdrawn', (book, operation) => book.withdraw(operation)],
  ])('whose end is on its way %s', (_, move) => {
    const { book, purse, operation } = openBook()
    book.beginEnd(operation, row(operation))
    expect(() => move(book, operation)).toThrow(LedgerFault)
    book.end(operation, row(operation))
    expect([purse.used(NOON), purse.held(NOON), purse.running].map(Number)).toEqual([50, 0, 0])
  })

  it('in review is withdrawn or reviewed again', () => {
    const { book, purse, operation } = openBook()
    book.review(operation, NOON)
    expect(() => book.withdraw(operation)).toThrow(LedgerFault)
    expect(() => book.review(operation, NOON)).toThrow(LedgerFault)
    expect(purse.held(NOON)).toBe(toNanoUsd(100))
  })

  it('ends that was not begun', () => {
    const { book, purse, operation } = openBook()
    expect(() => book.end(operation, row(operation))).toThrow(LedgerFault)
    expect(purse.held(NOON)).toBe(toNanoUsd(100))
  })
})

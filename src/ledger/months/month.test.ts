// A month is closed once, when it is over and every call of it has ended, and it ends where the next begins.
import { describe, expect, it } from 'bun:test'
import { array, assert, asyncProperty, integer } from 'fast-check'
import { Clerk } from '../../../test/fakes/books.ts'
import type { HoldRecord } from '../../core/record.ts'
import { createLog } from '../../observe/log.ts'
import { hoursOf, readMonthNote, type MonthNote } from './checkpoint.ts'
import { closeMonth, Months, monthsToClose } from './month.ts'
import { verifyBooks } from '../check/verify.ts'

const HOUR_MS = 3_600_000
const OCTOBER = hoursOf('2026-10')
const NOVEMBER_MS = Date.UTC(2026, 10, 1)

function closerOf(clerk: Clerk, open: readonly HoldRecord[] = []): Months {
  return new Months({
    ledger: clerk.books,
    append: clerk.books.append,
    now: () => clerk.at,
    oldestOpenHour: () =>
      open.length === 0 ? undefined : Math.min(...open.map(({ hour }) => hour)),
    log: createLog({ write: () => {}, now: () => 0, isTerminal: true }),
  })
}

async function notesOf({ books }: Clerk): Promise<readonly MonthNote[]> {
  return (await books.checkpoints()).map((note) => readMonthNote(note)!)
}

describe('months to close', () => {
  const state = {
    now: NOVEMBER_MS + HOUR_MS,
    lastClosed: undefined,
    firstHour: OCTOBER.from + 5,
    oldestOpenHour: undefined,
  }

  it.each([
    ['an hour after their end', {}, ['2026-10']],
    ['not before that', { now: NOVEMBER_MS + HOUR_MS - 1 }, []],
    ['not while a call of them runs', { oldestOpenHour: OCTOBER.to - 1 }, []],
    ['while later calls run', { oldestOpenHour: OCTOBER.to }, ['2026-10']],
    ['not twice', { lastClosed: '2026-10' }, []],
    ['not before there was a call', { firstHour: undefined }, []],
    [
      'all that were missed',
      { now: Date.UTC(2027, 1, 3) },
      ['2026-10', '2026-11', '2026-12', '2027-01'],
    ],
    [
      'up to the first in which a call runs',
      { now: Date.UTC(2027, 1, 3), oldestOpenHour: hoursOf('2026-12').from },
      ['2026-10', '2026-11'],
    ],
  ] as const)('are those: %s', (_name, change, months) => {
    expect(monthsToClose({ ...state, ...change })).toEqual([...months])
  })
})

describe('a month that is closed', () => {
  it('ends just before the first hold of the next, whatever ends later', async () => {
    const clerk = new Clerk()
    const first = clerk.hold('key_a', 500_000)!
    clerk.settle(first, 100)
    const late = clerk.hold('key_a', 500_000)!
    clerk.refuse('key_a')
    const through = clerk.books.last
    clerk.at = NOVEMBER_MS
    const next = clerk.hold('key_a', 500_000)!
    clerk.settle(late, 200)
    clerk.settle(next, 300)
    clerk.at = NOVEMBER_MS + HOUR_MS
    await closeMonth(clerk.books, clerk.books.append, { month: '2026-10', at: clerk.at })
    const [note] = await notesOf(clerk)
    expect(note).toMatchObject({
      month: '2026-10',
      through: { number: through.number, hash: through.hash },
    })
    expect([...note!.accounts]).toEqual([
      ['key/key_a', 75_000n + 135_000n],
      ['supplier/first', -210_000n],
    ])
    expect((await verifyBooks(clerk.books)).faults).toEqual([])
  })

  it('ends with the last record while the next has no hold', async () => {
    const clerk = new Clerk()
    clerk.settle(clerk.hold('key_a', 500_000)!, 100)
    const through = clerk.books.last
    clerk.at = NOVEMBER_MS + HOUR_MS
    await closeMonth(clerk.books, clerk.books.append, { month: '2026-10', at: clerk.at })
    expect((await notesOf(clerk))[0]?.through.number).toBe(through.number)
    expect((await verifyBooks(clerk.books)).faults).toEqual([])
  })

  it('is found in books of any length', async () => {
    await assert(
      asyncProperty(
        array(integer({ min: 0, max: 3 }), { maxLength: 300, size: 'max' }),
        integer({ min: 0, max: 300 }),
        async (kinds, turn) => {
          const clerk = new Clerk()
          for (const [index, kind] of kinds.entries()) {
            if (index === turn) clerk.at = NOVEMBER_MS
            if (kind === 0) clerk.settle(clerk.hold('key_a', 500_000)!, 1)
            else if (kind === 1) clerk.refuse('key_a')
            else clerk.note('progress', 'req_x', { outputTokens: 1 })
          }
          clerk.at = NOVEMBER_MS + HOUR_MS
          await closeMonth(clerk.books, clerk.books.append, { month: '2026-10', at: clerk.at })
          const [note] = await notesOf(clerk)
          const next = clerk.books.chain.find(
            ({ record }) => record.type === 'hold' && record.hold.hour >= OCTOBER.to,
          )
          expect(note!.through.number).toBe(
            next === undefined ? clerk.books.last.number - 1 : next.number - 1,
          )
          expect((await verifyBooks(clerk.books)).faults).toEqual([])
        },
      ),
      { numRuns: 60 },
    )
  })
})

describe('the look for months', () => {
  it('closes each month once, also over restarts, and months without a call', async () => {
    const clerk = new Clerk()
    clerk.settle(clerk.hold('key_a', 500_000)!, 100)
    expect(await closerOf(clerk).run()).toEqual([])
    clerk.at = Date.UTC(2026, 11, 5)
    expect(await closerOf(clerk).run()).toEqual(['2026-10', '2026-11'])
    expect(await closerOf(clerk).run()).toEqual([])
    clerk.settle(clerk.hold('key_a', 500_000)!, 100)
    clerk.at = Date.UTC(2027, 0, 5)
    expect(await closerOf(clerk).run()).toEqual(['2026-12'])
    const notes = await notesOf(clerk)
    expect(notes.map(({ month }) => month)).toEqual(['2026-10', '2026-11', '2026-12'])
    expect(notes[1]?.accounts.size).toBe(0)
    expect((await verifyBooks(clerk.books)).faults).toEqual([])
  })

  it('waits for calls that have no end', async () => {
    const clerk = new Clerk()
    const call = clerk.hold('key_a', 500_000)!
    const open = [call]
    const months = closerOf(clerk, open)
    clerk.at = NOVEMBER_MS + 5 * HOUR_MS
    expect(await months.run()).toEqual([])
    open.pop()
    clerk.settle(call, 3)
    expect(await months.run()).toEqual(['2026-10'])
  })

  it('comes with the hour and reads nothing between', async () => {
    const clerk = new Clerk()
    clerk.settle(clerk.hold('key_a', 500_000)!, 100)
    let looks = 0
    const checkpoints = clerk.books.checkpoints.bind(clerk.books)
    clerk.books.checkpoints = async () => {
      looks += 1
      return checkpoints()
    }
    const months = closerOf(clerk)
    const pass = (ms: number): number => {
      clerk.at += ms
      months.tick()
      return looks
    }
    expect(pass(1000)).toBe(0)
    expect(pass(HOUR_MS)).toBe(1)
    // Joins the one that runs.
    await months.run()
    for (let hour = 0; hour < 48; hour += 1) expect(pass(HOUR_MS)).toBe(1)
    expect(pass(NOVEMBER_MS - clerk.at)).toBe(1)
    expect(pass(HOUR_MS)).toBe(2)
    await months.run()
    expect((await notesOf(clerk)).map(({ month }) => month)).toEqual(['2026-10'])
  })
})

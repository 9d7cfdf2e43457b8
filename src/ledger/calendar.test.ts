// The books' time under clocks that are set forward, back and by a little: no period starts over by mistake,
// and none is opened again.
import { hourOf } from '../core/hour.ts'
import { describe, expect, it } from 'bun:test'
import { array, assert, constantFrom, integer, oneof, property, record } from 'fast-check'
import { createFakeClock, type FakeClock } from '../../test/fakes/clock.ts'
import { Calendar, doubtsOf } from './calendar.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const START = Date.UTC(2026, 0, 15, 12)

function open(notBefore = 0): {
  readonly clock: FakeClock
  readonly calendar: Calendar
  readonly jumps: number[]
} {
  const clock = createFakeClock(START)
  const jumps: number[] = []
  const calendar = new Calendar(clock, notBefore, (jumpMs) => jumps.push(jumpMs))
  // A gateway asks at least once a second.
  clock.everySecond({ tick: () => void calendar.now() })
  return { clock, calendar, jumps }
}

describe('the calendar', () => {
  it('goes with the clock', () => {
    const { clock, calendar, jumps } = open()
    expect(calendar.now()).toBe(START)
    clock.advance(DAY_MS / 4 + 1)
    expect(calendar.now()).toBe(START + DAY_MS / 4 + 1)
    expect(jumps).toEqual([])
  })

  it('follows a clock that is drawn forward little by little, and says nothing', () => {
    const { clock, calendar, jumps } = open()
    for (let step = 0; step < 60; step++) {
      clock.jump(500)
      clock.advance(1000)
    }
    expect(calendar.now()).toBe(clock.now())
    expect(jumps).toEqual([])
  })

  it('waits for a clock that is drawn back little by little, and never goes back with it', () => {
    const { clock, calendar, jumps } = open()
    expect(calendar.now()).toBe(START)
    clock.jump(-2000)
    expect(calendar.now()).toBe(START)
    clock.advance(1999)
    expect(calendar.now()).toBe(START)
    clock.advance(2)
    expect(calendar.now()).toBe(START + 1)
    expect(jumps).toEqual([])
  })

  it('lets a leap second pass unnoticed', () => {
    const { clock, calendar, jumps } = open()
    clock.advance(DAY_MS / 2 - 1)
    const before = calendar.now()
    clock.jump(-1000)
    expect(calendar.now()).toBe(before)
    clock.advance(1001)
    expect(calendar.now()).toBe(START + DAY_MS / 2)
    expect(jumps).toEqual([])
  })
})

describe('a clock that is set a day forward', () => {
  it('is not believed for ten minutes, and reported once', () => {
    const { clock, calendar, jumps } = open()
    clock.jump(DAY_MS)
    expect(calendar.now()).toBe(START)
    clock.advance(10 * MINUTE_MS - 1)
    expect(calendar.now()).toBe(START + 10 * MINUTE_MS - 1)
    expect(jumps).toEqual([DAY_MS])
  })

  it('is believed when it went on as it should for ten minutes', () => {
    const { clock, calendar, jumps } = open()
    clock.jump(DAY_MS)
    calendar.now()
    clock.advance(10 * MINUTE_MS)
    expect(calendar.now()).toBe(START + DAY_MS + 10 * MINUTE_MS)
    clock.advance(HOUR_MS)
    expect(calendar.now()).toBe(clock.now())
    expect(jumps).toEqual([DAY_MS])
  })

  it('leaves no trace when it is set right in time', () => {
    const { clock, calendar, jumps } = open()
    clock.jump(DAY_MS)
    clock.advance(9 * MINUTE_MS)
    clock.jump(-DAY_MS)
    clock.advance(30 * MINUTE_MS)
    expect(calendar.now()).toBe(START + 39 * MINUTE_MS)
    expect(jumps).toEqual([DAY_MS])
  })

  it('has to hold for ten minutes anew after it was set right and wrong again', () => {
    const { clock, calendar, jumps } = open()
    for (let times = 0; times < 3; times++) {
      clock.jump(DAY_MS)
      clock.advance(9 * MINUTE_MS)
      clock.jump(-DAY_MS)
      clock.advance(MINUTE_MS)
    }
    expect(calendar.now()).toBe(START + 30 * MINUTE_MS)
    expect(jumps).toEqual([DAY_MS, DAY_MS, DAY_MS])
  })

  it('has to hold for ten minutes anew when it is set once more', () => {
    const { clock, calendar, jumps } = open()
    clock.jump(DAY_MS)
    clock.advance(9 * MINUTE_MS)
    clock.jump(HOUR_MS)
    clock.advance(9 * MINUTE_MS)
    expect(calendar.now()).toBe(START + 18 * MINUTE_MS)
    clock.advance(MINUTE_MS + 1000)
    expect(calendar.now()).toBe(clock.now())
    expect(jumps).toEqual([DAY_MS, DAY_MS + HOUR_MS])
  })

  it('is doubted the same when it is a machine that slept', () => {
    const { clock, calendar, jumps } = open()
    // Elapsed time does not count the sleep.
    clock.jump(DAY_MS)
    clock.advance(1000)
    expect(calendar.now()).toBe(START + 1000)
    clock.advance(10 * MINUTE_MS)
    expect(calendar.now()).toBe(START + DAY_MS + 10 * MINUTE_MS + 1000)
    expect(jumps).toEqual([DAY_MS])
  })
})

describe('a clock that is set a day back', () => {
  it('goes on as before for ten minutes, then stands until the clock has caught up', () => {
    const { clock, calendar, jumps } = open()
    clock.jump(-DAY_MS)
    clock.advance(9 * MINUTE_MS)
    expect(calendar.now()).toBe(START + 9 * MINUTE_MS)
    clock.advance(DAY_MS)
    const stood = calendar.now()
    expect(stood).toBeWithin(START + 9 * MINUTE_MS, START + 11 * MINUTE_MS)
    clock.advance(2 * MINUTE_MS)
    expect(calendar.now()).toBe(clock.now())
    expect(clock.now()).toBeGreaterThan(stood)
    expect(jumps).toEqual([-DAY_MS])
  })
})

describe('a start', () => {
  it('with books ahead of the clock stands where the books are', () => {
    const { clock, calendar, jumps } = open(START + HOUR_MS)
    expect(calendar.now()).toBe(START + HOUR_MS)
    clock.advance(HOUR_MS)
    expect(calendar.now()).toBe(START + HOUR_MS)
    clock.advance(1)
    expect(calendar.now()).toBe(START + HOUR_MS + 1)
    expect(jumps).toEqual([])
  })

  it('with books a moment ahead is nothing to speak of', () => {
    const { calendar, jumps } = open(START + 2000)
    expect(calendar.now()).toBe(START + 2000)
    expect(jumps).toEqual([])
  })

  it('with books of long ago takes the clock as it is', () => {
    const { calendar, jumps } = open(START - 400 * DAY_MS)
    expect(calendar.now()).toBe(START)
    expect(jumps).toEqual([])
  })
})

describe('what is said of the clock at a start', () => {
  it.each([
    ['without books', 0],
    ['with books of now', START],
    ['with books a moment ahead', START + 2000],
    ['after a month without a call', START - 35 * DAY_MS],
  ])('is nothing %s', (_, newest) => {
    expect(doubtsOf(newest, START)).toBeUndefined()
  })

  it('is that time stands still where the books are ahead, and by how much', () => {
    const said = doubtsOf(START + HOUR_MS, START)
    expect(said).toStartWith(
      'the clock is 3600 s behind the books, which end at 2026-01-15T13:00:00.000Z',
    )
    expect(said).toContain('stands still')
    expect(said).not.toContain('ten minutes')
  })

  it('is that all budgets have started over where the books are older than any period', () => {
    const said = doubtsOf(START - 35 * DAY_MS - 1, START)
    expect(said).toStartWith('the clock is 35 days past the end of the books, 2025-12-11')
    expect(said).toContain('set it right')
  })
})

const steps = array(
  record({
    jump: oneof(constantFrom(0, 0, DAY_MS, -DAY_MS), integer({ min: -5000, max: 5000 })),
    wait: constantFrom(1, 999, 1000, MINUTE_MS, 10 * MINUTE_MS, DAY_MS),
  }),
  { maxLength: 40 },
)

describe('whatever is done to the clock', () => {
  it('time never goes back, and is never ahead of what the clock has shown', () => {
    assert(
      property(steps, (steps) => {
        const clock = createFakeClock(START)
        const calendar = new Calendar(clock, 0, () => {})
        let last = calendar.now()
        let shown = clock.now()
        for (const { jump, wait } of steps) {
          clock.jump(jump)
          clock.sleep(wait)
          shown = Math.max(shown + wait, clock.now())
          const now = calendar.now()
          expect(now).toBeGreaterThanOrEqual(last)
          expect(now).toBeLessThanOrEqual(shown)
          last = now
        }
      }),
      { numRuns: 1000 },
    )
  })
})

describe('hours', () => {
  it('begin with their first millisecond', () => {
    expect(hourOf(START)).toBe(START / HOUR_MS)
    expect(hourOf(START - 1)).toBe(START / HOUR_MS - 1)
    expect(hourOf(START + HOUR_MS - 1)).toBe(START / HOUR_MS)
  })
})

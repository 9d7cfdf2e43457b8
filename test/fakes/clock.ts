// A clock that moves only when it is told to. Twelve minutes pass in one call.
import { Chain } from '../../src/core/chain.ts'
import type { Clock, Ticker } from '../../src/core/clock.ts'

export interface FakeClock extends Clock {
  /** Lets time pass, with a tick for every second of it. */
  advance(ms: number): void
  /** Lets time pass with one tick at its end, as for a machine that was asleep. */
  sleep(ms: number): void
  /** Sets the wall clock, as people and time servers do. No time passes by it. */
  jump(ms: number): void
  /** How many wait for the next tick, beside those that always do. */
  listeners(): number
  /** Whoever waits now waits for as long as the gateway runs, and is not counted. */
  settle(): void
}

export function createFakeClock(start = Date.UTC(2026, 0, 15, 12)): FakeClock {
  const tickers = new Chain<Ticker>()
  let passed = 0
  let jumped = 0
  let standing = 0
  const tick = (): void => {
    for (const ticker of tickers) ticker.tick()
  }
  return {
    now: () => start + passed + jumped,
    elapsed: () => passed,
    everySecond: (ticker) => tickers.join(ticker),
    after(ms, ticker) {
      const due = passed + ms
      const place = tickers.join({
        tick() {
          if (passed < due) return
          place.leave()
          ticker.tick()
        },
      })
      return place
    },
    advance(ms) {
      const end = passed + ms
      while (passed < end) {
        passed = Math.min(end, passed + 1000)
        tick()
      }
    },
    sleep(ms) {
      passed += ms
      tick()
    },
    jump(ms) {
      jumped += ms
    },
    listeners: () => Math.max(0, tickers.size - standing),
    settle() {
      standing = tickers.size
    },
  }
}

// A clock that moves only when it is told to. Twelve minutes pass in one call.
import { Chain } from '../../src/core/chain.ts'
import type { Clock, Ticker } from '../../src/core/clock.ts'

export interface FakeClock extends Clock {
  /** Lets time pass, with a tick for every second of it. */
  advance(ms: number): void
  /** How many wait for the next tick. */
  listeners(): number
}

export function createFakeClock(start = Date.UTC(2026, 0, 15, 12)): FakeClock {
  const tickers = new Chain<Ticker>()
  let passed = 0
  return {
    now: () => start + passed,
    elapsed: () => passed,
    everySecond: (ticker) => tickers.join(ticker),
    advance(ms) {
      const end = passed + ms
      while (passed < end) {
        passed = Math.min(end, passed + 1000)
        for (const ticker of tickers) ticker.tick()
      }
    },
    listeners: () => tickers.size,
  }
}

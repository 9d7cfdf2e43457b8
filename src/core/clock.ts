// Time as a value that is handed in. Nothing on a call's way asks the machine for the time or sets a
// timer of its own, so a test can let twelve minutes pass in no time at all.
import { Chain, type Place } from './chain.ts'

/** Who wants to know that time passes: an object, because a function made for every call costs more. */
export interface Ticker {
  tick(): void
}

export interface Clock {
  /** Wall time in milliseconds since 1970, for what people read. */
  now(): number
  /** Milliseconds that never jump, for measuring and for deadlines. */
  elapsed(): number
  /** Calls `tick` about once a second until the place is left. */
  everySecond(ticker: Ticker): Place
  /** Calls `tick` once after this long, unless the place is left before. For rare waits: it sets a timer. */
  after(ms: number, ticker: Ticker): Place
}

/** One timer for the whole process: a timer per call would cost more than the call's own work. */
export function createSystemClock(): Clock {
  const tickers = new Chain<Ticker>()
  let timer: ReturnType<typeof setInterval> | undefined

  const stopWhenIdle = (): void => {
    if (tickers.size > 0 || timer === undefined) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    now: () => Date.now(),
    elapsed: () => performance.now(),
    everySecond(ticker) {
      timer ??= setInterval(() => {
        for (const each of tickers) each.tick()
        // Stopping here and not at the last removal spares busy times a timer per call.
        stopWhenIdle()
      }, 1000)
      return tickers.join(ticker)
    },
    after(ms, ticker) {
      const waiting = setTimeout(() => ticker.tick(), ms)
      return { leave: () => clearTimeout(waiting) }
    },
  }
}

// Time as a value that is handed in. Nothing on a call's way asks the machine for the time or sets a
// timer of its own, so a test can let twelve minutes pass in no time at all.

export interface Clock {
  /** Wall time in milliseconds since 1970, for what people read. */
  now(): number
  /** Milliseconds that never jump, for measuring and for deadlines. */
  elapsed(): number
  /** Calls `tick` about once a second until the returned function is called. */
  everySecond(tick: () => void): () => void
}

/** One timer for the whole process: a timer per call would cost more than the call's own work. */
export function createSystemClock(): Clock {
  const listeners = new Set<() => void>()
  let timer: ReturnType<typeof setInterval> | undefined

  const stopWhenIdle = (): void => {
    if (listeners.size > 0 || timer === undefined) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    now: () => Date.now(),
    elapsed: () => performance.now(),
    everySecond(tick) {
      listeners.add(tick)
      timer ??= setInterval(() => {
        for (const listener of listeners) listener()
        // Stopping here and not at the last removal spares busy times a timer per call.
        stopWhenIdle()
      }, 1000)
      return () => {
        listeners.delete(tick)
      }
    },
  }
}

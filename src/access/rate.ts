// How many calls a key may make in a minute, exactly: the last sixty seconds before every call are
// counted, whatever the clock on the wall says. What is refused does not count.
import type { KeyRecord } from '../core/key.ts'
import { GatewayError } from '../core/problem.ts'

/** What a key has left after a call, as headers tell it. */
export interface RateState {
  readonly limit: number
  readonly remaining: number
  /** Until there is room for one call more. */
  readonly resetMs: number
}

const WINDOW_MS = 60_000
const ROOM_AT_FIRST = 16
/** With more windows than this, those that have emptied are given up when another is made. */
const WINDOWS_KEPT = 1024

export class Rates {
  readonly #windows = new Map<string, RateWindow>()

  /** Counts a call of the key; undefined where it has no limit. `now` never jumps. */
  take({ id, rateLimitRpm: limit }: KeyRecord, now: number): RateState | undefined {
    if (limit === undefined) return undefined
    const window = this.#windows.get(id) ?? this.#open(id, now)
    const waitMs = window.take(now, limit)
    const state = { limit, ...window.state(now, limit) }
    if (waitMs > 0) throw tooFast(state, waitMs)
    return state
  }

  /** Throws where a call would be refused now. Counts nothing. */
  check({ id, rateLimitRpm: limit }: KeyRecord, now: number): void {
    const window = limit === undefined ? undefined : this.#windows.get(id)
    if (limit === undefined || window === undefined) return
    const waitMs = window.waitMs(now, limit)
    if (waitMs > 0) throw tooFast({ limit, ...window.state(now, limit) }, waitMs)
  }

  #open(id: string, now: number): RateWindow {
    if (this.#windows.size >= WINDOWS_KEPT)
      for (const [other, window] of this.#windows)
        if (window.isEmpty(now)) this.#windows.delete(other)
    const window = new RateWindow()
    this.#windows.set(id, window)
    return window
  }
}

/** The times of the calls of the last minute, oldest first, in a ring that grows with them. */
export class RateWindow {
  #times = new Float64Array(ROOM_AT_FIRST)
  #first = 0
  #count = 0

  /** Takes a place and returns 0, or says how long there is none. */
  take(now: number, limit: number): number {
    const waitMs = this.waitMs(now, limit)
    if (waitMs > 0) return waitMs
    if (this.#count === this.#times.length) this.#grow()
    this.#times[(this.#first + this.#count) % this.#times.length] = now
    this.#count += 1
    return 0
  }

  /** How long there is no place; 0 where there is one. */
  waitMs(now: number, limit: number): number {
    this.#expire(now)
    return this.#count >= limit ? this.#time(this.#count - limit) + WINDOW_MS - now : 0
  }

  state(now: number, limit: number): { readonly remaining: number; readonly resetMs: number } {
    const resetMs = this.#count === 0 ? 0 : this.#time(0) + WINDOW_MS - now
    return { remaining: Math.max(0, limit - this.#count), resetMs }
  }

  isEmpty(now: number): boolean {
    this.#expire(now)
    return this.#count === 0
  }

  #expire(now: number): void {
    while (this.#count > 0 && this.#time(0) <= now - WINDOW_MS) {
      this.#first = (this.#first + 1) % this.#times.length
      this.#count -= 1
    }
  }

  #time(index: number): number {
    return this.#times[(this.#first + index) % this.#times.length]!
  }

  #grow(): void {
    const grown = new Float64Array(this.#times.length * 2)
    for (let index = 0; index < this.#count; index++) grown[index] = this.#time(index)
    this.#times = grown
    this.#first = 0
  }
}

/** In the style that clients know, and read for themselves. */
export function rateHeaders({ limit, remaining, resetMs }: RateState): Record<string, string> {
  return {
    'x-ratelimit-limit-requests': String(limit),
    'x-ratelimit-remaining-requests': String(remaining),
    'x-ratelimit-reset-requests': printWait(resetMs),
  }
}

function printWait(ms: number): string {
  const whole = Math.ceil(ms)
  if (whole >= WINDOW_MS) return '1m0s'
  return whole < 1000 ? `${whole}ms` : `${whole / 1000}s`
}

function tooFast(state: RateState, waitMs: number): GatewayError {
  const retryAfter = Math.ceil(waitMs / 1000)
  return new GatewayError(
    'rate_limit_exceeded',
    `This key may make ${state.limit} calls a minute. Try again in ${retryAfter} s, or have its limit raised.`,
    { retryAfter, headers: rateHeaders(state), details: { limit_rpm: state.limit } },
  )
}

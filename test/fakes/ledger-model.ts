// The ledger in small: sums by key and hour, what is held, and a time that goes on. Written apart from the
// ledger and by the words that define it, so that a mistake in one does not hide in the other.
import type { BudgetPeriod, KeyRecord } from '../../src/core/key.ts'
import type { FakeClock } from './clock.ts'

const HOUR_MS = 3_600_000
/** What is no jump, and how long a jump must last. */
const SLIGHT_MS = 2000
const DOUBT_MS = 600_000

interface Sum {
  readonly keyId: string
  readonly hour: number
  readonly amount: number
}

/** A call that is held. */
export interface Held extends Sum {
  readonly inputTokens: number
  outputTokens: number
  reviewAt?: number
}

export class Model {
  readonly budgets = new Map<string, KeyRecord>()
  readonly spent: Sum[] = []
  /** By request id: with a durable hold, and without one yet. */
  readonly open = new Map<string, Held>()
  readonly asked = new Map<string, Held>()

  used(keyId: string, now: number): number {
    return this.#sum(this.spent, keyId, now)
  }

  held(
    keyId: string,
    now: number,
    ofWhom: Iterable<Held> = [...this.open.values(), ...this.asked.values()],
  ): number {
    return this.#sum(ofWhom, keyId, now)
  }

  reviews(): readonly Held[] {
    return [...this.open.values()].filter(({ reviewAt }) => reviewAt !== undefined)
  }

  rest(keyId: string, now: number, ofWhom?: Iterable<Held>): number {
    const limit = this.budgets.get(keyId)?.budgetLimit ?? Infinity
    return limit - this.used(keyId, now) - this.held(keyId, now, ofWhom)
  }

  #sum(items: Iterable<Sum>, keyId: string, now: number): number {
    const period = this.budgets.get(keyId)?.budgetPeriod ?? 'monthly'
    let sum = 0
    for (const each of items)
      if (each.keyId === keyId && isCounted(period, each.hour, Math.floor(now / HOUR_MS)))
        sum += each.amount
    return sum
  }
}

function isCounted(period: BudgetPeriod, hour: number, now: number): boolean {
  if (period === 'rolling') return now - hour < 720
  if (period === 'daily') return Math.floor(hour / 24) === Math.floor(now / 24)
  return monthOf(hour) === monthOf(now)
}

function monthOf(hour: number): number {
  const date = new Date(hour * HOUR_MS)
  return date.getUTCFullYear() * 12 + date.getUTCMonth()
}

/** The time of the books: a jump counts when it was seen for ten minutes, and no time comes back. */
export class Time {
  readonly #clock: FakeClock
  #trusted: number
  #last: number
  #seen: { readonly offset: number; readonly since: number } | undefined

  constructor(clock: FakeClock, notBefore: number) {
    this.#clock = clock
    this.#trusted = clock.now() - clock.elapsed()
    this.#last = notBefore
  }

  now(): number {
    const elapsed = this.#clock.elapsed()
    const offset = this.#clock.now() - elapsed
    const isSame = Math.abs(offset - (this.#seen?.offset ?? Infinity)) <= SLIGHT_MS
    this.#seen = isSame && this.#seen ? this.#seen : { offset, since: elapsed }
    const isSlight = Math.abs(offset - this.#trusted) <= SLIGHT_MS
    if (isSlight || elapsed - this.#seen.since >= DOUBT_MS) this.#trusted = offset
    // What is slight is no jump: the next one has to hold by itself.
    if (isSlight) this.#seen = undefined
    this.#last = Math.max(this.#last, this.#trusted + elapsed)
    return this.#last
  }
}

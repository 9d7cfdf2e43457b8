// Waiting for the last record of a call: until it is durable, but not for ever.
import type { AuditRow } from '../core/audit.ts'
import type { Place } from '../core/chain.ts'
import type { Clock, Ticker } from '../core/clock.ts'
import type { Operation } from './book.ts'

/** How long the end of an answer waits for the end of its books, and how often that is looked at. */
const END_WAIT_MS = 2_000
const TICK_MS = 1_000

/** Whose end it is, and who is told what became of it: an object, because functions made for every call cost more. */
export interface Ends {
  readonly ledger: EndingLedger
  readonly operation: Operation
  readonly row: AuditRow
}

export interface EndingLedger {
  ended(operation: Operation, row: AuditRow): void
  delayed(operation: Operation, row: AuditRow, cause: unknown): void
}

export class Ending implements Ticker {
  /** True when it is durable, false when it is not yet, or cannot be. */
  readonly outcome: Promise<boolean>
  readonly #clock: Clock
  readonly #since: number
  readonly #place: Place
  #resolve: (isDurable: boolean) => void = () => {}

  constructor(clock: Clock, written: Promise<void>, ends: Ends) {
    this.#clock = clock
    this.#since = clock.elapsed()
    this.#place = clock.everySecond(this)
    this.outcome = new Promise((resolve) => (this.#resolve = resolve))
    void this.#follow(written, ends)
  }

  async #follow(written: Promise<void>, { ledger, operation, row }: Ends): Promise<void> {
    try {
      await written
    } catch (cause) {
      ledger.delayed(operation, row, cause)
      this.#settle(false)
      return
    }
    ledger.ended(operation, row)
    this.#settle(true)
  }

  tick(): void {
    if (this.#clock.elapsed() - this.#since > END_WAIT_MS - TICK_MS) this.#settle(false)
  }

  #settle(isDurable: boolean): void {
    this.#place.leave()
    this.#resolve(isDurable)
  }
}

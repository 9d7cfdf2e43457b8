// Closing a month: once it is over and every call of it has ended, a note says what it came to and where its
// records end. Nothing is booked in it any more, and what is older may be archived.
import { hourOf } from '../../core/hour.ts'
import type { Ticker } from '../../core/clock.ts'
import type { HoldRecord } from '../../core/record.ts'
import type { Log } from '../../observe/log.ts'
import type { ChainPlace, LedgerRepository, Store } from '../../store/store.ts'
import { hoursOf, monthOf, monthNote, readMonthNote } from './checkpoint.ts'

export interface MonthsState {
  /** By the books' own time. */
  readonly now: number
  /** The last month that is closed; undefined where none is. */
  readonly lastClosed: string | undefined
  /** Of the first hold there is; undefined where there is none. */
  readonly firstHour: number | undefined
  /** Of the oldest call without an end; undefined where there is none. */
  readonly oldestOpenHour: number | undefined
}

/** In which nothing that was still on its way may have been missed. */
const HOURS_WAITED = 1
/** Records that are looked at together when one is searched for. */
const PAGE_RECORDS = 64

/** Months that are over and can be closed, oldest first. */
export function monthsToClose(state: MonthsState): readonly string[] {
  const { now, lastClosed, firstHour, oldestOpenHour = Number.POSITIVE_INFINITY } = state
  const months: string[] = []
  let hour = lastClosed === undefined ? firstHour : hoursOf(lastClosed).to
  while (hour !== undefined) {
    const month = monthOf(hour)
    const { to } = hoursOf(month)
    if (hourOf(now) < to + HOURS_WAITED || oldestOpenHour < to) break
    months.push(month)
    hour = to
  }
  return months
}

/** Appends the note that closes a month. Every call that was held in it or before must have ended. */
export async function closeMonth(
  ledger: LedgerRepository,
  append: Store['append'],
  { month, at }: { readonly month: string; readonly at: number },
): Promise<void> {
  const { from, to } = hoursOf(month)
  const through = await findCut(ledger, to)
  const totals = await ledger.totals(from, to)
  const accounts = new Map(totals.map(({ account, amount }) => [account, amount]))
  await append([{ type: 'note', note: monthNote(at, { month, through, accounts }) }])
}

/** The place just before the first hold of this hour or a later one, or else the last there is. */
async function findCut(ledger: LedgerRepository, hour: number): Promise<ChainPlace> {
  const { base, last } = await ledger.head()
  let low = base.number
  let high = last.number
  // Times of holds never go back, so those of earlier hours all come before those of later ones.
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    // oxlint-disable-next-line no-await-in-loop -- each answer halves what is left
    const found = await firstHold(ledger, middle, last.number)
    if (found === undefined || found.hold.hour >= hour) high = middle
    else low = found.number
  }
  const next = await firstHold(ledger, low, last.number)
  if (next === undefined) return last
  return next.number - 1 === base.number ? base : placeAt(ledger, next.number - 1)
}

/** Of the first hold that is here. */
export async function findFirstHour(ledger: LedgerRepository): Promise<number | undefined> {
  const { base, last } = await ledger.head()
  return (await firstHold(ledger, base.number, last.number))?.hold.hour
}

interface NumberedHold {
  readonly number: number
  readonly hold: HoldRecord
}

/** The first hold behind a place. */
async function firstHold(
  ledger: LedgerRepository,
  after: number,
  through: number,
): Promise<NumberedHold | undefined> {
  let place = after
  while (place < through) {
    // oxlint-disable-next-line no-await-in-loop -- a page begins where the one before ended
    const page = await ledger.records(place, PAGE_RECORDS)
    for (const { number, record } of page)
      if (record.type === 'hold') return { number, hold: record.hold }
    place = page.at(-1)?.number ?? through
  }
  return undefined
}

async function placeAt(ledger: LedgerRepository, number: number): Promise<ChainPlace> {
  const [found] = await ledger.records(number - 1, 1)
  if (found?.number !== number) throw new Error(`Record ${number} of the books is missing.`)
  return { number, hash: found.hash }
}

export interface MonthParts {
  readonly ledger: LedgerRepository
  readonly append: Store['append']
  /** The books' own time. */
  readonly now: () => number
  /** Of the oldest call without a durable end; undefined where there is none. */
  readonly oldestOpenHour: () => number | undefined
  readonly log: Log
}

/** Looks once an hour, and reads nothing while there is nothing to close. */
export class Months implements Ticker {
  readonly #parts: MonthParts
  #hour: number
  /** Before this hour there is nothing to do; unknown until somebody has looked. */
  #notBefore = 0
  #running: Promise<readonly string[]> | undefined

  constructor(parts: MonthParts) {
    this.#parts = parts
    // Not at once: reading starts a thread that many a short life of a process never needs.
    this.#hour = hourOf(parts.now())
  }

  /** Of the clock. */
  tick(): void {
    const hour = hourOf(this.#parts.now())
    if (hour === this.#hour) return
    this.#hour = hour
    if (hour < this.#notBefore) return
    this.run().catch((thrown: unknown) =>
      this.#parts.log.note('warn', 'a month could not be closed; this is tried again in an hour', {
        cause: String(thrown),
      }),
    )
  }

  /** Closes what can be closed, and says which months those were. */
  run(): Promise<readonly string[]> {
    this.#running ??= this.#close().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #close(): Promise<readonly string[]> {
    const { ledger, append, now, oldestOpenHour, log } = this.#parts
    const notes = await ledger.checkpoints()
    const lastClosed = notes.map(readMonthNote).findLast((note) => note !== undefined)?.month
    const firstHour = lastClosed === undefined ? await findFirstHour(ledger) : undefined
    const state = { now: now(), lastClosed, firstHour, oldestOpenHour: oldestOpenHour() }
    const months = monthsToClose(state)
    for (const month of months) {
      // oxlint-disable-next-line no-await-in-loop -- in their order
      await closeMonth(ledger, append, { month, at: now() })
      log.note('info', `the books of ${month} are closed`)
    }
    const last = months.at(-1) ?? lastClosed
    const next = last === undefined ? firstHour : hoursOf(last).to
    this.#notBefore = next === undefined ? 0 : hoursOf(monthOf(next)).to + HOURS_WAITED
    return months
  }
}

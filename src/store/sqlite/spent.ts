// What a start must know of what keys and wallets have spent. Thousands with seven hundred hours each are
// millions of sums, so only who counts by the hour is told each hour, and the rest whole days.
import { hourOf, HOURS_KEPT } from '../../core/hour.ts'
import type { Database } from 'bun:sqlite'
import { toNanoUsd } from '../../core/money.ts'
import type { SpentHour } from '../../core/record.ts'
import { asRow, findInteger, readAmount, readInteger, readText } from './rows.ts'

const DAY_HOURS = 24
/** Days that are told by the hour, whatever the period, today among them: a day that has not ended is no sum. */
const EXACT_DAYS = 2

// What a key paid by the records that are here, and by those that are not: both count alike. What a wallet
// paid is one sum in any case.
const OWNERS = `
  SELECT names.number, id, coalesce(budget_period, spending_period, '') AS period
  FROM (
    SELECT number, substr(name, 5) AS id FROM names WHERE name >= 'key/' AND name < 'key0'
    UNION ALL
    SELECT number, substr(name, 8) FROM names WHERE name >= 'before/' AND name < 'before0'
    UNION ALL
    SELECT number, substr(name, 7) FROM names WHERE name >= 'payer/' AND name < 'payer0'
  ) AS names LEFT JOIN keys USING (id) LEFT JOIN wallets USING (id)`

const NEXT_HOUR = 'SELECT min(hour) AS hour FROM sums WHERE hour >= ?'

// What is too large for a number is as good as the largest: no limit of a budget is higher.
const OF_HOUR = `
  SELECT account, min(amount, ${Number.MAX_SAFE_INTEGER}) AS amount FROM sums
  WHERE hour = ? AND amount > 0`

interface Owner {
  readonly id: string
  readonly isRolling: boolean
}

/** `now` is the books' time. In the order of the hours. */
export function loadSpent(database: Database, now: number): readonly SpentHour[] {
  const owners = readOwners(database)
  const today = dayOf(hourOf(now))
  const exactFrom = (today - EXACT_DAYS + 1) * DAY_HOURS
  const spent = new SpentList()
  const next = database.query(NEXT_HOUR)
  const ofHour = database.query(OF_HOUR)
  let hour = findInteger(asRow(next.get(today * DAY_HOURS - HOURS_KEPT)), 'hour')
  while (hour !== undefined) {
    spent.begin(hour)
    for (const found of ofHour.all(hour)) {
      const row = asRow(found)
      const owner = owners.get(readInteger(row, 'account'))
      if (owner === undefined) continue
      const isExact = owner.isRolling || hour >= exactFrom
      spent.add(owner.id, readAmount(row, 'amount'), isExact)
    }
    hour = findInteger(asRow(next.get(hour + 1)), 'hour')
  }
  return spent.end()
}

function readOwners(database: Database): ReadonlyMap<number, Owner> {
  const rows = database.query(OWNERS).all().map(asRow)
  return new Map(
    rows.map((row) => [
      readInteger(row, 'number'),
      { id: readText(row, 'id'), isRolling: row['period'] === 'rolling' },
    ]),
  )
}

/** Adds up an hour and its day at a time. */
class SpentList {
  readonly #list: SpentHour[] = []
  readonly #ofHour = new Map<string, number>()
  readonly #ofDay = new Map<string, number>()
  #hour = 0

  begin(hour: number): void {
    this.#close(this.#ofHour, this.#hour)
    if (dayOf(hour) !== dayOf(this.#hour)) this.#closeDay()
    this.#hour = hour
  }

  add(ownerId: string, amount: number, isExact: boolean): void {
    const sums = isExact ? this.#ofHour : this.#ofDay
    sums.set(ownerId, Math.min((sums.get(ownerId) ?? 0) + amount, Number.MAX_SAFE_INTEGER))
  }

  end(): readonly SpentHour[] {
    this.#close(this.#ofHour, this.#hour)
    this.#closeDay()
    return this.#list
  }

  /** At its last hour: the sum leaves a period no sooner than any part of it would. */
  #closeDay(): void {
    this.#close(this.#ofDay, (dayOf(this.#hour) + 1) * DAY_HOURS - 1)
  }

  #close(sums: Map<string, number>, hour: number): void {
    for (const [ownerId, amount] of sums)
      this.#list.push({ ownerId, hour, amount: toNanoUsd(amount) })
    sums.clear()
  }
}

function dayOf(hour: number): number {
  return Math.floor(hour / DAY_HOURS)
}

// Looks at the records one after another, in the order of the chain, and keeps no more of them than is
// open: each must follow from those before it. What is wrong is noted, and the walk goes on.
import { HOUR_MS, hourOf } from '../../core/hour.ts'
import type { AuditRow } from '../../core/audit.ts'
import type { HoldRecord, LedgerRecord, NoteRecord } from '../../core/record.ts'
import { SUM_MAX, type BalanceSum, type ChainedRecord, type ChainPlace } from '../../store/store.ts'
import { Bills } from './bill.ts'
import {
  hoursOf,
  monthOf,
  readMonthNote,
  type CarriedOperation,
  type MonthNote,
} from '../months/checkpoint.ts'
import { bookTo, entriesOf, sumOf, type Accounts } from '../entries.ts'
import { Excess } from './excess.ts'
import { FaultList, type Counts } from './findings.ts'
import { OVERRUN_MAX } from '../cost/price.ts'
import { Payers } from './payers.ts'
import { Taken } from './taken.ts'
import { ChainWalk } from './walk.ts'

/** Ends that are remembered, to tell a second end from one that never had a hold. */
const ENDED_KEPT = 4096

/** What is known before the first record is looked at. */
export interface Opening {
  /** The record before the first. */
  readonly after: ChainPlace
  /** Operations whose holds are before it; undefined where nobody knows. */
  readonly open: readonly CarriedOperation[] | undefined
  /** The hour from which on no hold is before it, given the hour of the first hold behind it. */
  completeFrom(firstHour: number): number
}

/** A call that was held and has no end yet. */
export interface OpenHold extends CarriedOperation {
  /** These two are undefined where the hold is before the first record. */
  readonly number: number | undefined
  readonly terms: string | undefined
  isInReview: boolean
}

interface KeyBook {
  readonly taken: Taken
  /** By hour. */
  readonly spent: Map<number, bigint>
  readonly excess: Excess
}

/** Where a month begins. */
interface Cut {
  readonly month: string
  /** Just before its first hold. */
  readonly place: ChainPlace
  /** The hold before that. */
  readonly lastHold: number
}

export class Examiner {
  readonly faults = new FaultList()
  readonly remarks = new FaultList()
  readonly counts: Counts = {
    records: 0,
    operations: 0,
    settled: 0,
    voided: 0,
    refused: 0,
    open: 0,
    inReview: 0,
    unchecked: 0,
  }
  readonly open = new Map<string, OpenHold>()
  readonly keys = new Map<string, KeyBook>()
  readonly months = new Map<string, Accounts>()
  readonly walk: ChainWalk
  readonly payers: Payers
  /** Undefined until a hold has been seen. */
  completeFrom: number | undefined
  readonly #opening: Opening
  readonly #bills = new Bills()
  readonly #ended = new Recent(ENDED_KEPT)
  readonly #closed = new Set<string>()
  /** One for each month with a hold, in order. */
  readonly #cuts: Cut[] = []
  #lastHold = 0
  #lastAt = 0

  constructor(opening: Opening) {
    this.#opening = opening
    this.walk = new ChainWalk(opening.after, this.faults)
    const { faults, remarks } = this
    this.payers = new Payers({ faults, remarks, isWhole: opening.after.hash === '' })
    for (const each of opening.open ?? []) {
      const held = { ...each, number: undefined, terms: undefined, isInReview: false }
      this.open.set(each.requestId, held)
      this.#keyBook(each.keyId).taken.add(each.hour, BigInt(each.amount))
      this.payers.carry(each)
    }
  }

  see(chained: ChainedRecord): void {
    const before = this.walk.last
    this.walk.see(chained)
    this.counts.records += 1
    const { number, record } = chained
    if (record.type === 'hold') this.#hold(number, record.hold, before)
    else if (record.type === 'audit') this.#audit(number, record.row, record)
    else this.#note(number, record.note)
  }

  /** From here on the records are the store's: what was spent is added up anew. */
  beginStore(balances: readonly BalanceSum[]): void {
    for (const { spent } of this.keys.values()) spent.clear()
    this.payers.begin(balances)
  }

  #hold(number: number, hold: HoldRecord, before: ChainPlace): void {
    const { at, hour, requestId, keyId } = hold
    const fault = (what: string): void => this.faults.add(what, number, requestId)
    this.completeFrom ??= this.#opening.completeFrom(hour)
    this.payers.completeFrom = this.completeFrom
    this.counts.operations += 1
    if (at < this.#lastAt) fault('its time is before that of an earlier hold')
    if (hour !== hourOf(at)) fault('its hour is not that of its time')
    if (this.open.has(requestId)) fault('holds an operation that is held already')
    if (this.#closed.has(monthOf(hour))) fault('is held in a month that is closed')
    const amount = readAmount(hold.amount)
    if (amount === undefined) fault('holds no amount of money')
    this.#lastAt = Math.max(at, this.#lastAt)
    this.#cut(monthOf(hour), before)
    this.#lastHold = number
    const book = this.#keyBook(keyId)
    const isWithin = this.#checkLimit(number, hold, book)
    const isPaid = this.payers.hold(number, hold, amount ?? 0n)
    if (!isWithin || !isPaid) this.counts.unchecked += 1
    book.taken.add(hour, amount ?? 0n)
    this.open.set(requestId, {
      requestId,
      keyId,
      hour,
      amount: Number(amount ?? 0),
      number,
      payer: hold.payer,
      terms: hold.terms,
      isInReview: false,
    })
  }

  /** What was spent and held when it was granted left room for it. False where the records do not tell. */
  #checkLimit(number: number, hold: HoldRecord, { taken, excess }: KeyBook): boolean {
    const { limit, period, amount, requestId } = hold
    if (limit === undefined) return true
    if (period === undefined) {
      this.faults.add('has a limit and no period', number, requestId)
      return true
    }
    const { window, amount: before } = taken.within(period, hold.at)
    if (window.from < (this.completeFrom ?? 0) * HOUR_MS) return false
    const beyond = before + (readAmount(amount) ?? 0n) - BigInt(limit)
    if (beyond <= 0n) return true
    const list = excess.excuses(number, beyond) ? this.remarks : this.faults
    list.add(`was granted ${beyond} nano-dollars above its limit of ${limit}`, number, requestId)
    return true
  }

  #audit(number: number, row: AuditRow, record: LedgerRecord): void {
    if (row.state === 'refused') return this.#refusal(number, row)
    const fault = (what: string): void => this.faults.add(what, number, row.requestId)
    this.counts[row.state] += 1
    const cost = readAmount(row.cost)
    const overrun = readAmount(row.overrun)
    if (cost === undefined || overrun === undefined) return fault('costs no amount of money')
    if (row.hour === undefined || row.held === undefined) return fault('ends a call without a hold')
    const hold = this.#take(number, row)
    this.#checkCost(number, row)
    if (hold !== undefined) this.#checkBill(number, row, hold)
    if (this.#closed.has(monthOf(row.hour))) fault('ends a call of a month that is closed')
    const book = this.#keyBook(row.keyId)
    book.spent.set(row.hour, (book.spent.get(row.hour) ?? 0n) + cost)
    book.taken.add(row.hour, cost)
    if (row.cost > row.held) book.excess.add(number, cost - BigInt(row.held))
    this.payers.end(number, row, hold)
    bookTo(this.#accounts(monthOf(row.hour)), entriesOf(record))
  }

  #refusal(number: number, row: AuditRow): void {
    this.counts.refused += row.count
    const { held, hour, cost, overrun, requestId } = row
    if (held !== undefined || hour !== undefined || cost !== 0 || overrun !== 0)
      this.faults.add('was refused and still books something', number, requestId)
  }

  /** The hold that this row ends; from here on it is open no more. */
  #take(number: number, row: AuditRow): OpenHold | undefined {
    const fault = (what: string): void => this.faults.add(what, number, row.requestId)
    const hold = this.open.get(row.requestId)
    if (hold === undefined) {
      if (this.#ended.has(row.requestId)) fault('ends an operation that has ended before')
      else if (this.#mayBeOlder(row))
        this.remarks.add('has its hold in an earlier archive', number, row.requestId)
      else fault('ends an operation that has no hold')
      return undefined
    }
    this.open.delete(row.requestId)
    this.#ended.add(row.requestId)
    this.#keyBook(hold.keyId).taken.add(hold.hour, -BigInt(hold.amount))
    if (row.keyId !== hold.keyId) fault(`is charged to another key than its hold: ${hold.keyId}`)
    if (row.hour !== hold.hour) fault(`is charged to another hour than its hold: ${hold.hour}`)
    if (row.held !== hold.amount) fault(`says that ${row.held} were held, and ${hold.amount} were`)
    return hold
  }

  #mayBeOlder({ hour = 0 }: AuditRow): boolean {
    if (this.#opening.open !== undefined) return false
    return this.completeFrom === undefined || hour < this.completeFrom
  }

  #checkCost(number: number, { state, cost, overrun, held = cost, requestId }: AuditRow): void {
    const fault = (what: string): void => this.faults.add(what, number, requestId)
    if (state === 'voided' && (cost !== 0 || overrun !== 0)) fault('is void and costs something')
    // What was held is used up before anything runs over it.
    if (overrun > 0 && cost < held) fault('runs over a hold that is not used up')
    if (cost > held && overrun > 0)
      fault('charges the key beyond its hold, and the operator as well')
    else if (cost > held)
      this.remarks.add(
        `costs the key ${cost - held} nano-dollars more than was held`,
        number,
        requestId,
      )
  }

  #checkBill(number: number, row: AuditRow, { terms }: OpenHold): void {
    if (terms === undefined || row.supplier === undefined) return
    const fault = (what: string): void => this.faults.add(what, number, row.requestId)
    const named = this.#bills.suppliers(terms, row.supplier)
    if (named === undefined) return fault('is held on terms that cannot be read')
    if (named.length === 0)
      return fault(`was answered by ${row.supplier}, which its hold does not name`)
    const bill = this.#bills.of(row, terms)
    if (bill === undefined) return
    const booked = BigInt(row.cost) + BigInt(row.overrun)
    const isCut = booked === mostBooked(row) && bill.most > booked
    if (isCut) {
      this.remarks.add(
        `is booked at the most that is: its tokens cost up to ${bill.most}`,
        number,
        row.requestId,
      )
      return
    }
    if (booked >= bill.least && booked <= bill.most) return
    const due = bill.least === bill.most ? `${bill.least}` : `${bill.least} to ${bill.most}`
    fault(`books ${booked} nano-dollars where its tokens cost ${due}`)
  }

  #note(number: number, note: NoteRecord): void {
    if (note.kind === 'month') return this.#month(number, note)
    if (note.kind === 'credit') return this.payers.credit(number, note)
    if (note.kind !== 'review') return
    const hold = this.open.get(note.requestId ?? '')
    if (hold !== undefined) hold.isInReview = true
    else this.faults.add('puts an operation into review that is not open', number, note.requestId)
  }

  #month(number: number, record: NoteRecord): void {
    const fault = (what: string): void => this.faults.add(what, number)
    const note = readMonthNote(record)
    if (note === undefined) return fault('closes no month that can be read')
    const { month, accounts } = note
    const { from, to } = hoursOf(month)
    if (this.#closed.has(month)) fault(`closes ${month} for a second time`)
    this.#closed.add(month)
    for (const { hour, requestId } of this.open.values())
      if (hour < to) fault(`closes ${month} although ${requestId} was open`)
    this.#checkCut(number, note)
    if (isInexact(accounts)) {
      this.remarks.add(`closes ${month} with amounts that are too large to be exact`, number)
      return
    }
    if (sumOf(accounts) !== 0n) fault(`closes ${month} with accounts that do not sum to zero`)
    if (this.completeFrom === undefined || from < this.completeFrom) {
      this.remarks.add(`closes ${month}, of which some records are in the archive`, number)
      return
    }
    const difference = findDifference(accounts, this.#accounts(month))
    if (difference !== undefined) fault(`closes ${month} with another balance: ${difference}`)
  }

  /** A month's records end behind its last hold, and before the first one of a later month. */
  #checkCut(number: number, { month, through }: MonthNote): void {
    const later = this.#cuts.find((cut) => cut.month > month)
    const { place, lastHold } = later ?? { place: undefined, lastHold: this.#lastHold }
    const isBetween = through.number >= lastHold && through.number <= (place?.number ?? number - 1)
    const hash = through.number === place?.number ? place.hash : this.walk.hashOf(through.number)
    if (!isBetween || (hash !== undefined && hash !== through.hash))
      this.faults.add(`closes ${month} at a place where it does not end`, number)
  }

  #cut(month: string, place: ChainPlace): void {
    const last = this.#cuts.at(-1)
    if (last === undefined || month > last.month)
      this.#cuts.push({ month, place, lastHold: this.#lastHold })
  }

  #keyBook(keyId: string): KeyBook {
    const known = this.keys.get(keyId)
    if (known !== undefined) return known
    const book = { taken: new Taken(), spent: new Map<number, bigint>(), excess: new Excess() }
    this.keys.set(keyId, book)
    return book
  }

  #accounts(month: string): Accounts {
    const known = this.months.get(month)
    if (known !== undefined) return known
    const accounts: Accounts = new Map()
    this.months.set(month, accounts)
    return accounts
  }
}

/** The last texts that were added. */
class Recent {
  readonly #kept = new Set<string>()
  readonly #ring: string[] = []
  readonly #size: number
  #next = 0

  constructor(size: number) {
    this.#size = size
  }

  has(text: string): boolean {
    return this.#kept.has(text)
  }

  add(text: string): void {
    const oldest = this.#ring[this.#next]
    if (oldest !== undefined) this.#kept.delete(oldest)
    this.#ring[this.#next] = text
    this.#kept.add(text)
    this.#next = (this.#next + 1) % this.#size
  }
}

/** Undefined for what is none: below zero, or no whole number that is exact. */
function readAmount(amount: number): bigint | undefined {
  return Number.isSafeInteger(amount) && amount >= 0 ? BigInt(amount) : undefined
}

/** Beyond it a usage is not believed, whatever it would cost. */
function mostBooked({ held }: AuditRow): bigint {
  return BigInt(Math.min((held ?? 0) + OVERRUN_MAX, Number.MAX_SAFE_INTEGER))
}

/** A sum of the store stands still at some height, and others go on. */
function isInexact(accounts: ReadonlyMap<string, bigint>): boolean {
  return accounts.values().some((amount) => amount >= SUM_MAX || amount <= -SUM_MAX)
}

function findDifference(said: ReadonlyMap<string, bigint>, found: Accounts): string | undefined {
  for (const account of new Set([...said.keys(), ...found.keys()])) {
    const [one = 0n, other = 0n] = [said.get(account), found.get(account)]
    if (one !== other) return `${account} is ${one} there and ${other} by the records`
  }
  return undefined
}

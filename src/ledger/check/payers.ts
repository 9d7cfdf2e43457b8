// Who paid, by the records: what was put into each wallet, charged to it and held of it, and whether it could pay when
// it was asked. Kept apart from the state that calls are admitted by, so that no mistake of the one hides in the other.
import { HOUR_MS } from '../../core/hour.ts'
import type { AuditRow } from '../../core/audit.ts'
import type { PayerTerms } from '../../core/payer.ts'
import type { HoldRecord, NoteRecord } from '../../core/record.ts'
import { readCredit } from '../../store/credit.ts'
import { readPayer } from '../../store/payer.ts'
import { SUM_MAX, type BalanceSum } from '../../store/store.ts'
import type { CarriedOperation } from '../months/checkpoint.ts'
import { Excess } from './excess.ts'
import type { FaultList } from './findings.ts'
import { Taken } from './taken.ts'

interface WalletBook {
  /** Undefined where what was in it before the first record is not known. */
  balance: bigint | undefined
  held: bigint
  readonly taken: Taken
  readonly excess: Excess
  /** By the records that the store has. */
  credited: bigint
  charged: bigint
}

export interface PayersParts {
  readonly faults: FaultList
  readonly remarks: FaultList
  /** Nothing is before the first record, so every wallet was empty there. */
  readonly isWhole: boolean
}

export class Payers {
  readonly #faults: FaultList
  readonly #remarks: FaultList
  readonly #wallets = new Map<string, WalletBook>()
  /** The hour from which on no hold is missing. */
  completeFrom = 0
  #isWhole: boolean

  constructor({ faults, remarks, isWhole }: PayersParts) {
    this.#faults = faults
    this.#remarks = remarks
    this.#isWhole = isWhole
  }

  /** An operation whose hold is before the first record. */
  carry({ payer, hour, amount }: CarriedOperation): void {
    const terms = payer === undefined ? undefined : readPayer(payer)
    if (terms !== undefined) this.#keep(terms, hour, BigInt(amount))
  }

  /** From here on the records are the store's, which says what was in each wallet before them. */
  begin(balances: readonly BalanceSum[]): void {
    const before = new Map(balances.map((each) => [each.walletId, each.before]))
    for (const [walletId, book] of this.#wallets) {
      const said = before.get(walletId) ?? 0n
      if (book.balance !== undefined && !isAsMuch(said, book.balance))
        this.#faults.add(
          `${walletId} had ${said} nano-dollars before the records of the store by the store, ${book.balance} by the archive`,
        )
    }
    this.#isWhole = true
    for (const [walletId, said] of before) this.#book(walletId).balance = said
    for (const book of this.#wallets.values()) {
      book.balance ??= 0n
      book.credited = 0n
      book.charged = 0n
    }
  }

  /** False where the records do not tell whether there was enough. */
  hold(number: number, hold: HoldRecord, amount: bigint): boolean {
    if (hold.payer === undefined) return true
    const terms = readPayer(hold.payer)
    if (terms === undefined) {
      this.#faults.add('is held for a payer that cannot be read', number, hold.requestId)
      return true
    }
    // A free call asks for nothing.
    const isKnown = amount === 0n || this.#check(number, hold, terms, amount)
    this.#keep(terms, hold.hour, amount)
    return isKnown
  }

  #check(number: number, hold: HoldRecord, terms: PayerTerms, amount: bigint): boolean {
    const isFunded = this.#checkFunds(number, hold, terms, amount)
    const isWithin = this.#checkLimit(number, hold, terms, amount)
    return isFunded && isWithin
  }

  /** What was in it with its line, and not held, was enough. */
  #checkFunds(
    number: number,
    { requestId }: HoldRecord,
    { wallet, line }: PayerTerms,
    amount: bigint,
  ): boolean {
    if (line === null) return true
    const { balance, held, excess } = this.#book(wallet)
    if (balance === undefined) return false
    const beyond = held + amount - balance - BigInt(line)
    if (beyond <= 0n) return true
    const list = excess.excuses(number, beyond) ? this.#remarks : this.#faults
    list.add(`was granted ${beyond} nano-dollars beyond what ${wallet} had`, number, requestId)
    return true
  }

  #checkLimit(
    number: number,
    { at, requestId }: HoldRecord,
    { wallet, limit, period }: PayerTerms,
    amount: bigint,
  ): boolean {
    if (limit === null || period === null) return true
    const { taken, excess } = this.#book(wallet)
    const { window, amount: before } = taken.within(period, at)
    if (window.from < this.completeFrom * HOUR_MS) return false
    const beyond = before + amount - BigInt(limit)
    if (beyond <= 0n) return true
    const list = excess.excuses(number, beyond) ? this.#remarks : this.#faults
    list.add(
      `was granted ${beyond} nano-dollars above the spending limit of ${wallet}, ${limit}`,
      number,
      requestId,
    )
    return true
  }

  /** `hold`: what this row ends; undefined where that is not here. */
  end(number: number, row: AuditRow, hold: CarriedOperation | undefined): void {
    const fault = (what: string): void => this.#faults.add(what, number, row.requestId)
    if (hold !== undefined && hold.payer !== row.payer)
      fault('is paid by another than its hold says')
    const held = hold?.payer === undefined ? undefined : readPayer(hold.payer)
    if (hold !== undefined && held !== undefined) this.#keep(held, hold.hour, -BigInt(hold.amount))
    if (row.payer === undefined) return
    const terms = readPayer(row.payer)
    if (terms === undefined) fault('is paid by a payer that cannot be read')
    else this.#charge(number, row, terms)
  }

  #charge(number: number, { cost, hour = 0, held = cost }: AuditRow, { wallet }: PayerTerms): void {
    const book = this.#book(wallet)
    const amount = BigInt(cost)
    const charged = book.charged + amount
    // Where the store's sum stands still, what is in the wallet does, too.
    if (book.balance !== undefined) book.balance -= upTo(charged) - upTo(book.charged)
    book.charged = charged
    book.taken.add(hour, amount)
    if (cost > held) book.excess.add(number, BigInt(cost - held))
  }

  credit(number: number, note: NoteRecord): void {
    const credit = readCredit(note)
    if (credit === undefined)
      return this.#faults.add('is a credit that cannot be read', number, note.requestId)
    const book = this.#book(credit.wallet)
    const amount = BigInt(credit.amount)
    book.credited += amount
    if (book.balance !== undefined) book.balance += amount
  }

  /** The store must have come to the same. */
  compare(balances: readonly BalanceSum[]): void {
    const said = new Map(balances.map((each) => [each.walletId, each]))
    for (const walletId of new Set([...said.keys(), ...this.#wallets.keys()])) {
      const { credited = 0n, charged = 0n } = said.get(walletId) ?? {}
      const book = this.#book(walletId)
      if (!isAsMuch(credited, book.credited))
        this.#faults.add(
          `${walletId} was credited ${credited} nano-dollars by the store, ${book.credited} by the records`,
        )
      if (!isAsMuch(charged, book.charged))
        this.#faults.add(
          `${walletId} was charged ${charged} nano-dollars by the store, ${book.charged} by the records`,
        )
    }
  }

  /** A negative amount lets go. */
  #keep({ wallet }: PayerTerms, hour: number, amount: bigint): void {
    const book = this.#book(wallet)
    book.held += amount
    book.taken.add(hour, amount)
  }

  #book(walletId: string): WalletBook {
    const known = this.#wallets.get(walletId)
    if (known !== undefined) return known
    const book: WalletBook = {
      balance: this.#isWhole ? 0n : undefined,
      held: 0n,
      taken: new Taken(),
      excess: new Excess(),
      credited: 0n,
      charged: 0n,
    }
    this.#wallets.set(walletId, book)
    return book
  }
}

/** At its bound an amount of the store stands for that and more. */
function isAsMuch(said: bigint, found: bigint): boolean {
  if (said >= SUM_MAX) return found >= said
  return said <= -SUM_MAX ? found <= said : found === said
}

function upTo(sum: bigint): bigint {
  return sum < SUM_MAX ? sum : SUM_MAX
}
